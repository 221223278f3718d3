//! What the console's API answers: designs, plans, heat, findings. The server has its routes and rules; here is what they
//! say, by the same code as the commands of the same names.

mod design;
mod files;
mod heat;
mod new;
mod observed;
mod recognize;
mod run;
mod simulate;
mod tables;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use keyloom::Backend;
use keyloom_design::cost::Prices;
use keyloom_design::{CheckReport, Design};
use keyloom_server::{Console, ConsoleQuestion, ConsoleReply, ConsoleRequest};
use serde_json::{Value as Json, json};

use crate::config::Config;
use crate::design_file::{checked, is_input, name_of, text_of};
use crate::output::Failure;

pub(crate) use self::observed::Observed;

/// The console of one database.
pub(crate) struct DesignConsole {
    /// Where its requests go.
    pub(crate) backend: Backend,
    pub(crate) designs: Vec<DesignFile>,
    pub(crate) observed: Observed,
    /// The endpoint that the pages are about.
    pub(crate) endpoint: String,
    /// How requests are throttled, where that is known.
    pub(crate) throttle: Option<String>,
    pub(crate) is_read_only: bool,
    /// What this project says of rules.
    pub(crate) config: Config,
}

/// A design that the console shows.
pub(crate) struct DesignFile {
    /// Unique among the designs.
    name: String,
    place: DesignPlace,
    /// The text last checked, and what came of it.
    checked: Mutex<Option<(String, Arc<CheckReport>)>>,
}

enum DesignPlace {
    File(PathBuf),
    /// What standard input said.
    Input(String),
}

/// An error that the page shows: its status, its code and its message.
pub(crate) struct Refusal {
    status: u16,
    code: &'static str,
    message: String,
}

type Answer = Result<ConsoleReply, Refusal>;

impl Refusal {
    fn new(status: u16, code: &'static str, message: impl ToString) -> Self {
        Self { status, code, message: message.to_string() }
    }

    /// The request says something that cannot be.
    fn wrong(message: impl ToString) -> Self {
        Self::new(400, "ValidationException", message)
    }

    /// There is nothing that could answer.
    fn missing(message: impl ToString) -> Self {
        Self::new(404, "NotFound", message)
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(reason) => Self::wrong(reason),
            Failure::ClosedPipe => Self::new(500, "InternalServerError", "The answer was lost"),
        }
    }
}

impl From<keyloom::Error> for Refusal {
    fn from(error: keyloom::Error) -> Self {
        match &error {
            keyloom::Error::Database(refused) => Self::new(400, refused.code(), refused.message()),
            keyloom::Error::Pattern { reason, .. } => Self::wrong(reason),
            keyloom::Error::Cursor(reason) => Self::wrong(reason),
            _ => Self::new(502, "Unreachable", error),
        }
    }
}

impl DesignFile {
    /// The designs of these files, with a name for each: that of its file, made unique.
    pub(crate) fn of(paths: &[PathBuf]) -> Result<Vec<Self>, Failure> {
        let mut files: Vec<Self> = Vec::new();
        for path in paths {
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            let stem = stem.filter(|_| !is_input(path)).unwrap_or_else(|| "design".to_owned());
            let place = if is_input(path) {
                DesignPlace::Input(text_of(path)?)
            } else {
                DesignPlace::File(path.clone())
            };
            let is_taken = |name: &str| files.iter().any(|file| file.name == name);
            let numbered = (2..).map(|number| format!("{stem}-{number}"));
            let name = std::iter::once(stem.clone()).chain(numbered).find(|name| !is_taken(name));
            files.push(Self { name: name.unwrap_or(stem), place, checked: Mutex::default() });
        }
        Ok(files)
    }

    fn path(&self) -> Option<&Path> {
        match &self.place {
            DesignPlace::File(path) => Some(path),
            DesignPlace::Input(_) => None,
        }
    }

    /// What messages call it.
    fn shown_name(&self) -> String {
        self.path().map_or_else(|| self.name.clone(), name_of)
    }

    fn text(&self) -> Result<String, Failure> {
        match &self.place {
            DesignPlace::File(path) => text_of(path),
            DesignPlace::Input(text) => Ok(text.clone()),
        }
    }

    /// The design as it is now; checked anew only if its text has changed.
    pub(crate) fn report(&self, config: &Config) -> Result<Arc<CheckReport>, Failure> {
        let text = self.text()?;
        let mut known = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, report)) = known.as_ref().filter(|(checked, _)| *checked == text) {
            return Ok(Arc::clone(report));
        }
        let report = checked(&self.shown_name(), &text, &Prices::default(), config);
        let report = Arc::new(report);
        *known = Some((text, Arc::clone(&report)));
        Ok(report)
    }
}

impl DesignConsole {
    fn design(&self, name: &str) -> Result<&DesignFile, Refusal> {
        self.designs.iter().find(|file| file.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.designs.iter().map(|file| file.name.as_str()).collect();
            let known = if known.is_empty() {
                "none was given: start with --design FILE".to_owned()
            } else {
                format!("there is {}", known.join(", "))
            };
            Refusal::missing(format_args!("There is no design {name:?}; {known}"))
        })
    }

    /// A design that can be used.
    fn usable(&self, name: &str) -> Result<Arc<CheckReport>, Refusal> {
        let report = self.design(name)?.report(&self.config)?;
        usable(&report)?;
        Ok(report)
    }

    fn ask(&self, request: &ConsoleRequest<'_>) -> Answer {
        match request.question {
            ConsoleQuestion::Design => self.show(&request.name),
            ConsoleQuestion::Check => self.check(&request.name, request.body),
            ConsoleQuestion::Save => self.save(&request.name, request.body),
            ConsoleQuestion::Run => self.run(&request.name, request.body),
            ConsoleQuestion::Recognize => self.recognize(&request.name, request.body),
            ConsoleQuestion::Tables => self.tables(request),
            ConsoleQuestion::Heat => self.heat(request),
            ConsoleQuestion::Doctor => self.doctor(request),
            ConsoleQuestion::Simulate => self.simulate(request.body),
            ConsoleQuestion::New => new::answer(request.body),
            ConsoleQuestion::Migrations => self.migrations(),
            ConsoleQuestion::Cluster => self.cluster(),
            ConsoleQuestion::Load => self.load(request),
            ConsoleQuestion::Dump => self.dump(request),
        }
    }
}

impl Console for DesignConsole {
    fn info(&self) -> Json {
        let names: Vec<&str> = self.designs.iter().map(|file| file.name.as_str()).collect();
        let is_observed = self.observed.is_known();
        json!({
            "endpoint": self.endpoint,
            "throttle": self.throttle,
            "designs": names,
            "features": {
                "stats": is_observed,
                "heat": is_observed,
                "doctor": is_observed,
                "simulate": !names.is_empty(),
                "migrate": true,
                "cluster": self.observed.is_shared(),
            },
        })
    }

    fn answer(&self, request: &ConsoleRequest<'_>) -> ConsoleReply {
        self.ask(request).unwrap_or_else(|refusal| {
            ConsoleReply::error(refusal.status, refusal.code, &refusal.message)
        })
    }
}

/// The design of a checked file; why not, if it is not whole.
fn usable(report: &CheckReport) -> Result<&Design, Refusal> {
    report.design.as_ref().filter(|_| report.is_whole).ok_or_else(|| {
        let first = report.findings.first().map(|finding| finding.message.as_str());
        Refusal::wrong(format_args!(
            "{} is not a design that can be used: {}",
            report.source.name(),
            first.unwrap_or("it cannot be read")
        ))
    })
}

/// A JSON body.
fn body(bytes: &[u8]) -> Result<Json, Refusal> {
    serde_json::from_slice(bytes)
        .map_err(|error| Refusal::wrong(format_args!("The body is not JSON: {error}")))
}

/// A text of a JSON body.
fn text<'j>(body: &'j Json, name: &str) -> Result<&'j str, Refusal> {
    let found = body.get(name).and_then(Json::as_str);
    found.ok_or_else(|| Refusal::wrong(format_args!("The body must have the text `{name}`")))
}
