//! The embedded database: DynamoDB's data plane over an ordered store.
