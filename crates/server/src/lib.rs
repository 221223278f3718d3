//! Keyloom over HTTP: the DynamoDB wire protocol.
