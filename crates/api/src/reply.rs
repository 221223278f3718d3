//! What goes back over the wire.

use keyloom_core::Error;

/// The answer to a request: an HTTP status and a JSON body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The JSON body.
    pub body: Vec<u8>,
}

impl Reply {
    /// A successful reply with this body.
    pub fn ok(body: Vec<u8>) -> Self {
        Self { status: 200, body }
    }
}

impl From<&Error> for Reply {
    fn from(error: &Error) -> Self {
        Self { status: error.status(), body: crate::error::body_of(error) }
    }
}
