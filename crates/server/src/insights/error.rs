//! Refusals as CloudWatch states them.

use std::borrow::Cow;

use super::value::Value;

/// Why an operation was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CloudwatchError {
    /// The exception's name in the model.
    shape: Cow<'static, str>,
    /// The same in the query protocol, where it may have another name.
    pub(super) code: Cow<'static, str>,
    pub(super) status: u16,
    pub(super) message: String,
}

impl CloudwatchError {
    /// One that has the same name everywhere.
    pub(super) fn new(code: &'static str, status: u16, message: impl Into<String>) -> Self {
        Self { shape: code.into(), code: code.into(), status, message: message.into() }
    }

    fn bad_request(shape: &'static str, code: &'static str, message: impl Into<String>) -> Self {
        Self { shape: shape.into(), ..Self::new(code, 400, message) }
    }

    /// A parameter's value cannot be used.
    pub(super) fn value_of(message: impl Into<String>) -> Self {
        Self::bad_request("InvalidParameterValueException", "InvalidParameterValue", message)
    }

    /// A parameter is missing.
    pub(super) fn missing(name: &str) -> Self {
        let message = format!("The parameter {name} is required.");
        Self::bad_request("MissingRequiredParameterException", "MissingParameter", message)
    }

    /// The request cannot be read.
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::bad_request("SerializationException", "MalformedInput", message)
    }

    /// There is no such rule.
    pub(super) fn no_such_rule(name: &str) -> Self {
        let message = format!(
            "The rule {name} does not exist. DynamoDB's UpdateContributorInsights makes rules, and \
             DescribeInsightRules lists those that are enabled."
        );
        Self::new("ResourceNotFoundException", 404, message)
    }

    /// CloudWatch may have this operation; this server does not.
    pub(super) fn unknown_operation(name: &str) -> Self {
        let message = format!(
            "The operation {name:?} of CloudWatch is not known here. This server answers \
             GetInsightRuleReport and DescribeInsightRules; its metrics are at GET /metrics."
        );
        Self::bad_request("UnknownOperationException", "InvalidAction", message)
    }

    /// The server holds all that it may.
    pub(super) fn no_memory() -> Self {
        let message = "The server is out of memory for requests; try again.";
        Self::new("ServiceUnavailable", 503, message)
    }

    /// The operation broke.
    pub(super) fn broken() -> Self {
        let message = "The request processing has failed because of an unknown error, exception or \
                       failure.";
        let shape = "InternalServiceFault".into();
        Self { shape, ..Self::new("InternalServiceError", 500, message) }
    }

    /// The body in the newer protocols.
    pub(super) fn value(&self) -> Value {
        let name = format!("com.amazonaws.cloudwatch#{}", self.shape);
        Value::record([("__type", name.into()), ("message", self.message.clone().into())])
    }

    /// Whose fault it was, in the query protocol's words.
    pub(super) fn fault(&self) -> &'static str {
        if self.status < 500 { "Sender" } else { "Receiver" }
    }

    /// The header that gives clients of the newer protocols the query protocol's error code.
    pub(super) fn query_error(&self) -> String {
        format!("{};{}", self.code, self.fault())
    }
}

impl From<keyloom_engine::Error> for CloudwatchError {
    /// What the server refuses for any service: signatures, and bodies that are too large.
    fn from(error: keyloom_engine::Error) -> Self {
        Self::new(error.code(), error.status(), error.message())
    }
}
