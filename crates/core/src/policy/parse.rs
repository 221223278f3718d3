//! From JSON to a policy, or to the reason why the document cannot be evaluated.

use std::fmt;
use std::net::IpAddr;

use super::condition::{Condition, Operand, Operator, Test};
use super::key::ConditionKey;
use super::pattern::{ArnPattern, Pattern, Syntax};
use super::principal::{Named, PrincipalElement};
use super::{Effect, Policy, PolicyType, Selection, Statement, time};
use crate::json::{self, Json, JsonObject};
use crate::number::Number;

/// Why a document is refused: the element and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// Where: `Statement[1].Condition.StringEquals`; empty for the document itself.
    pub element: String,
    /// What is wrong.
    pub problem: String,
    /// The same in AWS's words, where they are known.
    pub in_aws_words: Option<String>,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.element.as_str() {
            "" => f.write_str(&self.problem),
            element => write!(f, "{element}: {}", self.problem),
        }
    }
}

impl std::error::Error for PolicyError {}

type Result<T> = std::result::Result<T, PolicyError>;

fn refuse<T>(element: &str, problem: impl Into<String>) -> Result<T> {
    Err(PolicyError { element: element.to_owned(), problem: problem.into(), in_aws_words: None })
}

fn refuse_as<T>(element: &str, problem: impl Into<String>, in_aws_words: String) -> Result<T> {
    let refused = refuse(element, problem);
    refused.map_err(|error| PolicyError { in_aws_words: Some(in_aws_words), ..error })
}

/// An element that a statement must have is not there.
fn missing<T>(path: &str, element: &str) -> Result<T> {
    let problem = format!("the element {element} is missing");
    refuse_as(path, problem, format!("Missing required field {element}"))
}

impl Policy {
    /// Parses the policy of a user or role.
    pub fn identity(text: &str) -> Result<Self> {
        Self::parse(text, PolicyType::Identity)
    }

    /// Parses the policy of a table or stream, whose statements name principals.
    pub fn resource(text: &str) -> Result<Self> {
        Self::parse(text, PolicyType::Resource)
    }

    fn parse(text: &str, of: PolicyType) -> Result<Self> {
        let Ok(document) = json::parse(text.as_bytes()) else {
            let words = "This policy contains invalid Json";
            return refuse_as("", "the document is not JSON", words.to_owned());
        };
        let document = object(&document, "")?;
        members(document, "", &["Version", "Id", "Statement"])?;
        let version = document.get("Version").map(|version| string(version, "Version"));
        let variables = match version.transpose()? {
            Some("2012-10-17") => true,
            None | Some("2008-10-17") => false,
            Some(other) => {
                return refuse("Version", format!("'{other}' is not 2012-10-17 or 2008-10-17"));
            }
        };
        if let Some(id) = document.get("Id") {
            string(id, "Id")?;
        }
        let statements: Vec<(String, &Json<'_>)> = match document.get("Statement") {
            None => return missing("", "Statement"),
            Some(Json::Array(list)) => {
                let path = |(index, one)| (format!("Statement[{index}]"), one);
                list.iter().enumerate().map(path).collect()
            }
            Some(one) => vec![("Statement".to_owned(), one)],
        };
        if statements.is_empty() {
            let words = "Could not parse the policy: Statement is empty!";
            return refuse_as("Statement", "there must be a statement", words.to_owned());
        }
        let mut reader = Reader { of, variables, sids: Vec::new() };
        let read = statements.iter().map(|(path, json)| reader.statement(path, json));
        Ok(Self { statements: read.collect::<Result<_>>()? })
    }
}

struct Reader {
    of: PolicyType,
    /// Whether `${…}` is a variable.
    variables: bool,
    sids: Vec<String>,
}

const ELEMENTS: [&str; 9] = [
    "Sid",
    "Effect",
    "Principal",
    "NotPrincipal",
    "Action",
    "NotAction",
    "Resource",
    "NotResource",
    "Condition",
];

impl Reader {
    fn statement(&mut self, path: &str, json: &Json<'_>) -> Result<Statement> {
        let statement = object(json, path)?;
        members(statement, path, &ELEMENTS)?;
        if let Some(sid) = statement.get("Sid") {
            let element = format!("{path}.Sid");
            let sid = string(sid, &element)?.to_owned();
            if self.sids.contains(&sid) {
                let words = "The Statement Ids in the policy are not unique".to_owned();
                return refuse_as(&element, format!("'{sid}' names two statements"), words);
            }
            self.sids.push(sid);
        }
        let element = format!("{path}.Effect");
        let effect = match statement.get("Effect").map(|effect| string(effect, &element)) {
            Some(Ok("Allow")) => Effect::Allow,
            Some(Ok("Deny")) => Effect::Deny,
            Some(Err(error)) => return Err(error),
            Some(Ok(other)) => return refuse(&element, format!("'{other}' is not Allow or Deny")),
            None => return missing(path, "Effect"),
        };
        let resource = Syntax { wildcards: true, variables: self.variables };
        Ok(Statement {
            effect,
            principal: self.principal(path, statement)?,
            actions: selection(path, statement, "Action", action)?,
            resources: selection(path, statement, "Resource", |text| {
                ArnPattern::parse(text, resource)
            })?,
            conditions: match statement.get("Condition") {
                Some(condition) => self.conditions(&format!("{path}.Condition"), condition)?,
                None => Vec::new(),
            },
        })
    }

    fn principal(
        &self,
        path: &str,
        statement: &JsonObject<'_>,
    ) -> Result<Option<PrincipalElement>> {
        let (name, inverted, json) =
            match (statement.get("Principal"), statement.get("NotPrincipal")) {
                (Some(_), Some(_)) => {
                    return refuse(path, "there can be only one of Principal and NotPrincipal");
                }
                (Some(json), None) => ("Principal", false, json),
                (None, Some(json)) => ("NotPrincipal", true, json),
                (None, None) if self.of == PolicyType::Identity => return Ok(None),
                (None, None) => return missing(path, "Principal"),
            };
        let element = format!("{path}.{name}");
        if self.of == PolicyType::Identity {
            return refuse(&element, "the policy of an identity names no principals");
        }
        if matches!(json, Json::Str(text) if text == "*") {
            return Ok(Some(PrincipalElement { inverted, principals: vec![Named::Anyone] }));
        }
        let kinds = object(json, &element)?;
        members(kinds, &element, &["AWS", "Service"])?;
        let mut principals = Vec::new();
        for (kind, names) in kinds.iter() {
            let element = format!("{element}.{kind}");
            for (element, name) in strings(names, &element)? {
                let named = if kind == "AWS" { Named::aws(name) } else { Ok(Named::Service) };
                principals.push(named.or_else(|problem| refuse(&element, problem))?);
            }
        }
        if principals.is_empty() {
            return refuse(&element, "there must be a principal");
        }
        Ok(Some(PrincipalElement { inverted, principals }))
    }

    fn conditions(&self, path: &str, json: &Json<'_>) -> Result<Vec<Condition>> {
        let mut conditions = Vec::new();
        let operators = object(json, path)?;
        distinct(operators, path)?;
        for (name, keys) in operators.iter() {
            let element = format!("{path}.{name}");
            let Some(operator) = Operator::parse(name) else {
                return refuse(&element, "there is no such condition operator");
            };
            let keys = object(keys, &element)?;
            distinct(keys, &element)?;
            for (name, values) in keys.iter() {
                let element = format!("{element}.{name}");
                let Some(key) = ConditionKey::parse(name) else {
                    return refuse(&element, "the condition key is not supported");
                };
                let operands = self.operands(&element, operator.test, values)?;
                conditions.push(Condition { operator, key, operands });
            }
        }
        Ok(conditions)
    }

    fn operands(&self, element: &str, test: Test, json: &Json<'_>) -> Result<Vec<Operand>> {
        let one = |element: &str, json: &Json<'_>| {
            let text = match json {
                Json::Str(text) => text.to_string(),
                Json::Bool(value) => value.to_string(),
                Json::Number(number) => number.as_str().to_owned(),
                _ => return refuse(element, "a value must be a string, a number or a boolean"),
            };
            self.operand(test, &text).or_else(|problem| refuse(element, problem))
        };
        match json {
            Json::Array(list) if list.is_empty() => refuse(element, "there must be a value"),
            Json::Array(list) => {
                let path = |index| format!("{element}[{index}]");
                list.iter().enumerate().map(|(index, json)| one(&path(index), json)).collect()
            }
            json => Ok(vec![one(element, json)?]),
        }
    }

    fn operand(&self, test: Test, text: &str) -> std::result::Result<Operand, String> {
        let syntax = |wildcards| Syntax { wildcards, variables: self.variables };
        match test {
            Test::StringEquals | Test::StringEqualsIgnoreCase => {
                Pattern::parse(text, syntax(false)).map(Operand::Text)
            }
            Test::StringLike => Pattern::parse(text, syntax(true)).map(Operand::Text),
            Test::Arn => ArnPattern::parse(text, syntax(true)).map(Operand::Arn),
            Test::Numeric(_) => match Number::parse(text) {
                Ok(number) => Ok(Operand::Number(number)),
                Err(_) => Err(format!("'{text}' is not a number")),
            },
            Test::Date(_) => time::parse(text)
                .map(Operand::Date)
                .ok_or_else(|| format!("'{text}' is not a date such as 2026-11-18T00:00:00Z")),
            Test::Bool | Test::Null => match text.to_ascii_lowercase().as_str() {
                "true" => Ok(Operand::Bool(true)),
                "false" => Ok(Operand::Bool(false)),
                _ => Err(format!("'{text}' is not true or false")),
            },
            Test::IpAddress => network(text).ok_or_else(|| {
                format!("'{text}' is not an IP address or a network such as 10.0.0.0/8")
            }),
        }
    }
}

/// `Action` or `NotAction` (`Resource`, `NotResource`) of a statement.
fn selection<P>(
    path: &str,
    statement: &JsonObject<'_>,
    name: &str,
    parse: impl Fn(&str) -> std::result::Result<P, String>,
) -> Result<Selection<P>> {
    let inverse = format!("Not{name}");
    let (inverted, name, json) = match (statement.get(name), statement.get(&inverse)) {
        (Some(_), Some(_)) => {
            return refuse(path, format!("there can be only one of {name} and {inverse}"));
        }
        (Some(json), None) => (false, name, json),
        (None, Some(json)) => (true, inverse.as_str(), json),
        (None, None) => return missing(path, name),
    };
    let texts = strings(json, &format!("{path}.{name}"))?;
    let parsed =
        texts.iter().map(|(element, text)| parse(text).or_else(|problem| refuse(element, problem)));
    Ok(Selection { inverted, patterns: parsed.collect::<Result<_>>()? })
}

/// `*`, or a service and the name of an action, which may have wildcards.
fn action(text: &str) -> std::result::Result<Pattern, String> {
    let is_word = |word: &str, extra: &[u8]| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || extra.contains(&byte);
        !word.is_empty() && word.bytes().all(fits)
    };
    let is_action = text == "*"
        || text
            .split_once(':')
            .is_some_and(|(service, name)| is_word(service, b"") && is_word(name, b"*?"));
    if !is_action {
        return Err(format!("'{text}' is not an action such as dynamodb:GetItem"));
    }
    Pattern::parse(text, Syntax { wildcards: true, variables: false })
}

fn network(text: &str) -> Option<Operand> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let all = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.unwrap_or(all);
    (bits <= all).then_some(Operand::Network(address, bits))
}

fn object<'j, 'a>(json: &'j Json<'a>, element: &str) -> Result<&'j JsonObject<'a>> {
    match json {
        Json::Object(object) => Ok(object),
        _ if element.is_empty() => refuse("", "the document is not a JSON object"),
        _ => refuse(element, "it must be a JSON object"),
    }
}

fn string<'j>(json: &'j Json<'_>, element: &str) -> Result<&'j str> {
    match json {
        Json::Str(text) => Ok(text),
        _ => refuse(element, "it must be a string"),
    }
}

/// One string or a list of them, each with its path.
fn strings<'j>(json: &'j Json<'_>, element: &str) -> Result<Vec<(String, &'j str)>> {
    match json {
        Json::Array(list) if list.is_empty() => refuse(element, "there must be a value"),
        Json::Array(list) => {
            let one = |(index, json)| {
                let element = format!("{element}[{index}]");
                string(json, &element).map(|text| (element.clone(), text))
            };
            list.iter().enumerate().map(one).collect()
        }
        json => Ok(vec![(element.to_owned(), string(json, element)?)]),
    }
}

/// Refuses members that are not known, and any that is there twice.
fn members(object: &JsonObject<'_>, element: &str, known: &[&str]) -> Result<()> {
    match object.iter().find(|(name, _)| !known.contains(name)) {
        Some((name, _)) => refuse(element, format!("the element {name} is not supported here")),
        None => distinct(object, element),
    }
}

fn distinct(object: &JsonObject<'_>, element: &str) -> Result<()> {
    let mut names: Vec<&str> = object.iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    let mut pairs = names.iter().zip(names.iter().skip(1));
    match pairs.find(|(one, other)| one == other) {
        Some((name, _)) => refuse(element, format!("{name} is there twice")),
        None => Ok(()),
    }
}
