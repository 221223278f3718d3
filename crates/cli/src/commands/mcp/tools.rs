//! The tools, and the command line that each one is.

use serde_json::{Map, Value, json};

/// A tool of an assistant.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    description: &'static str,
    /// Whether it takes a design, as a file or as text.
    design: Design,
    arguments: &'static [Argument],
    /// The exit code that is an answer like any other: `check` ends with 1 if it finds something.
    finds_with: Option<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Design {
    /// The first word of the command line.
    First,
    /// The design is an optional argument.
    Option,
    None,
}

/// An argument besides the design.
#[derive(Debug)]
struct Argument {
    name: &'static str,
    description: &'static str,
    kind: Kind,
    is_required: bool,
}

/// How an argument stands on the command line.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A word of its own.
    Word,
    /// `--flag TEXT`.
    Text(&'static str),
    /// `--flag N`, up to a bound: an assistant must not be able to take all memory.
    Number(&'static str, u64),
    /// `--flag`, if true.
    Switch(&'static str),
    /// `--set NAME=VALUE` for each member.
    Inputs,
}

/// The most items for `try`, whose memory grows with them.
const MAX_ITEMS: u64 = 100_000;

/// The most indexes that a table of DynamoDB can have: twenty global and five local ones.
const MAX_INDEXES: u64 = 25;

const fn optional(name: &'static str, kind: Kind, description: &'static str) -> Argument {
    Argument { name, description, kind, is_required: false }
}

const fn required(name: &'static str, kind: Kind, description: &'static str) -> Argument {
    Argument { name, description, kind, is_required: true }
}

const INPUTS: Argument = optional(
    "inputs",
    Kind::Inputs,
    "Values of the pattern's inputs by name, such as {\"project_id\": \"p1\"}",
);

pub(super) static TOOLS: &[Tool] = &[
    Tool {
        name: "check",
        description: "Prove each access pattern of a design or show a counter-example, and report the mistakes that DynamoDB accepts \
            silently, with fixes that were checked",
        design: Design::First,
        arguments: &[optional(
            "deny",
            Kind::Text("--deny"),
            "What else counts as failure: warnings or unproven",
        )],
        finds_with: Some(1),
    },
    Tool {
        name: "explain",
        description: "The exact requests of one access pattern, its cost, what is proven about it, and why other indexes fail; without a \
            pattern, the list of patterns",
        design: Design::First,
        arguments: &[optional("pattern", Kind::Word, "The name of the access pattern"), INPUTS],
        finds_with: None,
    },
    Tool {
        name: "synth",
        description: "Find keys and the fewest indexes that prove every access pattern of a design whose keys are missing, with the reason \
            why no design of this family has fewer",
        design: Design::First,
        arguments: &[
            optional("keep", Kind::Text("--keep"), "Key attributes to keep, such as PK,SK"),
            optional(
                "max_indexes",
                Kind::Number("--max-indexes", MAX_INDEXES),
                "The most indexes of a table",
            ),
            optional("lsi", Kind::Switch("--lsi"), "Whether indexes may be local"),
        ],
        finds_with: Some(1),
    },
    Tool {
        name: "try",
        description: "Load generated items into a real engine, run every access pattern and compare with brute force",
        design: Design::First,
        arguments: &[optional(
            "items",
            Kind::Number("--items", MAX_ITEMS),
            "How many items of each entity",
        )],
        finds_with: Some(1),
    },
    Tool {
        name: "simulate",
        description: "At which multiple of its load each access pattern first fails and why, what it costs, and which change of the design \
            moves the limit; the design states volumes and rates",
        design: Design::First,
        arguments: &[optional("scale", Kind::Text("--scale"), "Multiples, such as 1,10,100")],
        finds_with: None,
    },
    Tool {
        name: "query",
        description: "Run an access pattern against an endpoint and return its rows; only reads",
        design: Design::First,
        arguments: &[
            required("pattern", Kind::Word, "The name of the access pattern"),
            INPUTS,
            optional(
                "from",
                Kind::Text("--from"),
                "A URL, `aws`, or a data directory; by default the endpoint of keyloom.toml, or http://127.0.0.1:8000",
            ),
            optional("region", Kind::Text("--region"), "AWS region"),
        ],
        finds_with: None,
    },
    Tool {
        name: "doctor",
        description: "Hot keys, anti-patterns and recommendations from the requests that a running Keyloom server has seen",
        design: Design::Option,
        arguments: &[optional("endpoint", Kind::Text("--endpoint"), "The URL of the server")],
        finds_with: None,
    },
    Tool {
        name: "rule",
        description: "What a rule of `check` means: what goes wrong, a wrong and a right design, when to allow it",
        design: Design::None,
        arguments: &[required("id", Kind::Word, "The id of the rule, such as K07")],
        finds_with: None,
    },
];

/// The tool of this name.
pub(super) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// The tools as the protocol lists them.
pub(super) fn list() -> Vec<Value> {
    let one = |tool: &Tool| {
        let mut properties = Map::new();
        if tool.design != Design::None {
            let file = "Path of the design file; give this or `text`";
            let text = "The design itself, as TOML; give this or `file`";
            properties.insert("file".into(), json!({"type": "string", "description": file}));
            if tool.design == Design::First {
                properties.insert("text".into(), json!({"type": "string", "description": text}));
            }
        }
        for argument in tool.arguments {
            let kind = match argument.kind {
                Kind::Word | Kind::Text(_) => "string",
                Kind::Number(..) => "integer",
                Kind::Switch(_) => "boolean",
                Kind::Inputs => "object",
            };
            let mut schema = json!({"type": kind, "description": argument.description});
            if let (Kind::Number(_, most), Some(schema)) = (argument.kind, schema.as_object_mut()) {
                schema.extend([("minimum".into(), json!(0)), ("maximum".into(), json!(most))]);
            }
            properties.insert(argument.name.into(), schema);
        }
        let required: Vec<&str> = tool
            .arguments
            .iter()
            .filter(|argument| argument.is_required)
            .map(|argument| argument.name)
            .collect();
        json!({
            "name": tool.name,
            "description": tool.description,
            "inputSchema": {"type": "object", "properties": properties, "required": required, "additionalProperties": false},
            "annotations": {"readOnlyHint": true},
        })
    };
    TOOLS.iter().map(one).collect()
}

/// A command line, and what is given to it as standard input.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) arguments: Vec<String>,
    pub(super) input: String,
    finds_with: Option<i32>,
}

impl Line {
    /// Whether a command that ended so has failed.
    pub(super) fn is_failure(&self, code: Option<i32>) -> bool {
        code != Some(0) && (code.is_none() || code != self.finds_with)
    }
}

impl Tool {
    /// The command line; the error says which argument is wrong.
    pub(super) fn line(&self, given: &Value) -> Result<Line, String> {
        let given = given.as_object().ok_or("the arguments must be an object")?;
        self.check_names(given)?;
        let mut line = Line { finds_with: self.finds_with, ..Line::default() };
        line.arguments.push(self.name.to_owned());
        self.add_design(given, &mut line)?;
        let (mut words, mut flags) = (Vec::new(), Vec::new());
        for argument in self.arguments {
            match given.get(argument.name).filter(|value| !value.is_null()) {
                Some(value) => argument.add(value, &mut words, &mut flags)?,
                None if argument.is_required => {
                    return Err(format!(
                        "`{}` is missing: {}",
                        argument.name, argument.description
                    ));
                }
                None => {}
            }
        }
        line.arguments.extend(flags);
        // What stands behind the two dashes is never taken for an option.
        line.arguments.push("--".to_owned());
        line.arguments.extend(words);
        Ok(line)
    }

    fn check_names(&self, given: &Map<String, Value>) -> Result<(), String> {
        let design: &[&str] = match self.design {
            Design::First => &["file", "text"],
            Design::Option => &["file"],
            Design::None => &[],
        };
        let names =
            self.arguments.iter().map(|argument| argument.name).chain(design.iter().copied());
        let names: Vec<&str> = names.collect();
        match given.keys().find(|name| !names.contains(&name.as_str())) {
            Some(name) => {
                Err(format!("there is no argument `{name}`; there are {}", names.join(", ")))
            }
            None => Ok(()),
        }
    }

    fn add_design(&self, given: &Map<String, Value>, line: &mut Line) -> Result<(), String> {
        let member = |name: &str| given.get(name).filter(|value| !value.is_null());
        let text_of = |name: &str, value: &Value| {
            value.as_str().map(str::to_owned).ok_or_else(|| format!("`{name}` must be a string"))
        };
        let (file, text) = (member("file"), member("text"));
        match (self.design, file, text) {
            (Design::None, ..) | (Design::Option, None, _) => {}
            (Design::Option, Some(file), _) => {
                line.arguments
                    .extend(["--design".to_owned(), not_an_option(text_of("file", file)?)]);
            }
            (Design::First, Some(file), None) => {
                line.arguments.push(not_an_option(text_of("file", file)?));
            }
            (Design::First, None, Some(text)) => {
                line.arguments.push("-".to_owned());
                line.input = text_of("text", text)?;
            }
            (Design::First, ..) => return Err("give the design as `file` or as `text`".into()),
        }
        Ok(())
    }
}

/// A path that no command takes for an option.
fn not_an_option(path: String) -> String {
    if path.starts_with('-') { format!("./{path}") } else { path }
}

impl Argument {
    fn add(
        &self,
        value: &Value,
        words: &mut Vec<String>,
        flags: &mut Vec<String>,
    ) -> Result<(), String> {
        let wrong = |kind: &str| format!("`{}` must be {kind}", self.name);
        match self.kind {
            Kind::Word => words.push(value.as_str().ok_or_else(|| wrong("a string"))?.to_owned()),
            Kind::Text(flag) => {
                let text = value.as_str().ok_or_else(|| wrong("a string"))?;
                flags.push(format!("{flag}={text}"));
            }
            Kind::Number(flag, most) => {
                let number = value.as_u64().filter(|number| *number <= most);
                let number =
                    number.ok_or_else(|| wrong(&format!("a whole number, at most {most}")))?;
                flags.push(format!("{flag}={number}"));
            }
            Kind::Switch(flag) => {
                if value.as_bool().ok_or_else(|| wrong("true or false"))? {
                    flags.push(flag.to_owned());
                }
            }
            Kind::Inputs => {
                for (name, value) in value.as_object().ok_or_else(|| wrong("an object"))? {
                    let text = match value {
                        Value::String(text) => text.clone(),
                        other => other.to_string(),
                    };
                    flags.push(format!("--set={name}={text}"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(tool: &str, given: &Value) -> Result<Line, String> {
        find(tool).unwrap_or_else(|| unreachable!()).line(given)
    }

    #[test]
    fn arguments_become_a_command_line() {
        let given = json!({"text": "[table.a]", "pattern": "-x", "inputs": {"id": "1", "n": 2}});
        let line = line("query", &given).unwrap_or_default();
        assert_eq!(line.input, "[table.a]");
        let words = ["query", "-", "--set=id=1", "--set=n=2", "--", "-x"];
        assert_eq!(line.arguments, words);
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (tool, given, said) in [
            ("check", json!({}), "as `file` or as `text`"),
            ("check", json!({"file": "a", "text": "b"}), "as `file` or as `text`"),
            ("check", json!({"file": 1}), "`file` must be a string"),
            ("check", json!({"fiel": "a"}), "no argument `fiel`"),
            ("query", json!({"file": "a"}), "`pattern` is missing"),
            ("synth", json!({"file": "a", "max_indexes": "two"}), "must be a whole number"),
            ("synth", json!({"file": "a", "lsi": 1}), "must be true or false"),
            ("explain", json!({"file": "a", "inputs": []}), "must be an object"),
            ("rule", json!({"id": "K01", "file": "a"}), "no argument `file`"),
        ] {
            let reason = line(tool, &given).err().unwrap_or_default();
            assert!(reason.contains(said), "{tool} {given}: {reason}");
        }
    }

    #[test]
    fn a_file_is_never_an_option() {
        let line = line("check", &json!({"file": "--format"})).unwrap_or_default();
        assert_eq!(line.arguments, ["check", "./--format", "--"]);
    }
}
