//! What the console's API can be asked, and what it takes to ask it.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use hyper::Method;
use percent_encoding::percent_decode_str;

/// A question of the console's API, by the end of its path: `designs/NAME/check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleQuestion {
    /// `GET designs/NAME`: the design, its findings, plans and pictures.
    Design,
    /// `POST designs/NAME/check`: the same for an edited text.
    Check,
    /// `PUT designs/NAME`: writes the file.
    Save,
    /// `POST designs/NAME/run`: runs an access pattern.
    Run,
    /// `POST designs/NAME/recognize`: the entities and key parts of items.
    Recognize,
    /// `GET tables`: a page of tables.
    Tables,
    /// `GET heat`: load over time and key space; with `POST`, of the recording in the body.
    Heat,
    /// `GET doctor`: findings about what was observed; with `POST`, about the recording in the body.
    Doctor,
    /// `POST simulate`: a design under load.
    Simulate,
    /// `POST new`: a design from what is stored, asked and written.
    New,
    /// `GET migrations`: their states.
    Migrations,
    /// `GET cluster`: the servers on one store.
    Cluster,
    /// `POST load`: writes the items of a file.
    Load,
    /// `GET dump`: the items of a table as a file.
    Dump,
}

/// A question with all that it says.
#[derive(Debug)]
pub struct ConsoleRequest<'a> {
    /// The question of the console.
    pub question: ConsoleQuestion,
    /// The design it is about; empty if it is about none.
    pub name: String,
    /// The query of its URL.
    query: &'a str,
    /// The body of the request.
    pub body: &'a [u8],
}

/// An answer of the console's API.
#[derive(Debug)]
pub struct ConsoleReply {
    /// The HTTP status.
    pub status: u16,
    /// The media type.
    pub content_type: &'static str,
    /// The body of the response.
    pub body: ConsoleBody,
}

/// The body of an answer.
pub enum ConsoleBody {
    /// All of it.
    Whole(Vec<u8>),
    /// Written on a thread of its own while it is sent, however long it is. Where that fails, the connection breaks off, so
    /// that nobody takes the beginning for the whole.
    Streamed(ConsoleWriter),
}

/// Writes a body piece by piece.
pub type ConsoleWriter = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send>;

impl fmt::Debug for ConsoleBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(bytes) => f.debug_tuple("Whole").field(&bytes.len()).finish(),
            Self::Streamed(_) => f.write_str("Streamed"),
        }
    }
}

impl ConsoleReply {
    /// A JSON answer.
    pub fn json(value: &serde_json::Value) -> Self {
        Self::with_status(200, value.to_string())
    }

    /// The error that the page shows.
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        Self::with_status(status, error_text(code, message))
    }

    fn with_status(status: u16, json: String) -> Self {
        let body = ConsoleBody::Whole(json.into_bytes());
        Self { status, content_type: "application/json", body }
    }
}

/// An error as JSON.
pub(super) fn error_text(code: &str, message: &str) -> String {
    serde_json::json!({ "error": code, "message": message }).to_string()
}

impl<'a> ConsoleRequest<'a> {
    pub(super) fn new(asked: &Asked, query: &'a str, body: &'a [u8]) -> Self {
        Self { question: asked.question, name: asked.name.clone(), query, body }
    }

    /// The value of a parameter of the URL.
    pub fn parameter(&self, name: &str) -> Option<Cow<'a, str>> {
        self.query.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            // Browsers write a space as `+` in a query.
            (key == name).then(|| match percent_decode_str(value).decode_utf8_lossy() {
                text if value.contains('+') => {
                    drop(text);
                    let spaced = value.replace('+', " ");
                    Cow::Owned(percent_decode_str(&spaced).decode_utf8_lossy().into_owned())
                }
                text => text,
            })
        })
    }
}

/// A question and the design it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) question: ConsoleQuestion,
    pub(super) name: String,
}

impl Asked {
    /// The question at a path under `/keyloom/api/`.
    pub(super) fn of(method: &Method, path: &str) -> Option<Self> {
        use ConsoleQuestion as Question;
        let (get, post) = (method == Method::GET, method == Method::POST);
        let plain = |question| Some(Self { question, name: String::new() });
        match path {
            "tables" if get => return plain(Question::Tables),
            "heat" if get || post => return plain(Question::Heat),
            "doctor" if get || post => return plain(Question::Doctor),
            "simulate" if post => return plain(Question::Simulate),
            "new" if post => return plain(Question::New),
            "migrations" if get => return plain(Question::Migrations),
            "cluster" if get => return plain(Question::Cluster),
            "load" if post => return plain(Question::Load),
            "dump" if get => return plain(Question::Dump),
            _ => {}
        }
        let rest = path.strip_prefix("designs/")?;
        let (name, step) = rest.split_once('/').unwrap_or((rest, ""));
        let question = match step {
            "" if get => Question::Design,
            "" if method == Method::PUT => Question::Save,
            "check" if post => Question::Check,
            "run" if post => Question::Run,
            "recognize" if post => Question::Recognize,
            _ => return None,
        };
        let name = percent_decode_str(name).decode_utf8().ok()?.into_owned();
        Some(Self { question, name })
    }
}

impl ConsoleQuestion {
    /// The action that the policies of an identity must allow, without its service.
    pub(super) fn action(self) -> &'static str {
        match self {
            Self::Design | Self::Check | Self::Recognize | Self::Simulate | Self::New => {
                "GetDesign"
            }
            Self::Save => "PutDesign",
            Self::Run => "RunPattern",
            Self::Tables | Self::Heat | Self::Doctor => "GetStatistics",
            Self::Migrations => "GetMigrations",
            Self::Cluster => "GetCluster",
            Self::Load => "Load",
            Self::Dump => "Dump",
        }
    }

    /// Whether it changes anything.
    pub(super) fn is_write(self) -> bool {
        matches!(self, Self::Save | Self::Load)
    }

    /// Memory for the work and its answer.
    pub(super) fn work_bytes(self) -> usize {
        match self {
            Self::Cluster | Self::Migrations | Self::Save | Self::Tables => 1 << 20,
            Self::Heat | Self::Recognize => 12 << 20,
            Self::Design | Self::Check | Self::Doctor | Self::Simulate | Self::New | Self::Load => {
                16 << 20
            }
            Self::Run => 24 << 20,
            // A page of items, and its text.
            Self::Dump => 8 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_questions_and_nothing_else_does() {
        let of = |method: Method, path| Asked::of(&method, path);
        let asked = |question, name: &str| Some(Asked { question, name: name.to_owned() });
        assert_eq!(of(Method::GET, "heat"), asked(ConsoleQuestion::Heat, ""));
        assert_eq!(of(Method::GET, "designs/a%20b%2Fc"), asked(ConsoleQuestion::Design, "a b/c"));
        assert_eq!(of(Method::PUT, "designs/a"), asked(ConsoleQuestion::Save, "a"));
        assert_eq!(of(Method::POST, "designs/a/run"), asked(ConsoleQuestion::Run, "a"));
        for (method, path) in [
            (Method::PUT, "heat"),
            (Method::GET, "designs"),
            (Method::GET, "designs/a/run"),
            (Method::POST, "designs/a/run/x"),
            (Method::DELETE, "designs/a"),
            (Method::GET, "designs/%ff"),
            (Method::GET, ""),
        ] {
            assert_eq!(of(method.clone(), path), None, "{method} {path}");
        }
    }

    #[test]
    fn parameters_are_decoded() {
        let asked = Asked { question: ConsoleQuestion::Heat, name: String::new() };
        let request = ConsoleRequest::new(&asked, "table=a%26b&index=&what=x+y%2Bz&flag", b"");
        assert_eq!(request.parameter("table").as_deref(), Some("a&b"));
        assert_eq!(request.parameter("index").as_deref(), Some(""));
        assert_eq!(request.parameter("what").as_deref(), Some("x y+z"));
        assert_eq!(request.parameter("flag").as_deref(), Some(""));
        assert_eq!(request.parameter("from"), None);
    }
}
