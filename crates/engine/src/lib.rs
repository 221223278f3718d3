//! The embedded database: DynamoDB's data plane over an ordered store.

pub use keyloom_core::Error;

/// An embedded database.
#[derive(Debug)]
pub struct Database {}

impl Database {
    /// A database in memory, gone when the last handle is dropped.
    pub fn memory() -> Self {
        Self {}
    }

    /// Runs one operation as the wire protocol states it: the target (`DynamoDB_20120810.PutItem`)
    /// and the JSON body.
    pub fn call(&self, target: &str, _body: &[u8]) -> Reply {
        Reply::from(&Error::UnknownOperation(target.to_owned()))
    }
}

/// What goes back over the wire: an HTTP status and a JSON body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The JSON body.
    pub body: Vec<u8>,
}

impl From<&Error> for Reply {
    fn from(error: &Error) -> Self {
        let kind = format!("{}#{}", error.namespace(), error.code());
        let body = format!("{{\"__type\":{kind:?},\"message\":{:?}}}", error.message());
        Self { status: error.status(), body: body.into_bytes() }
    }
}
