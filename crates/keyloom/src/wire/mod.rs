//! The wire protocol from the client's side: inputs to JSON, JSON to outputs, error bodies to errors.

#[cfg(feature = "remote")]
mod consumed;
#[cfg(feature = "remote")]
pub(crate) mod member;
mod object;
mod request;
#[cfg(feature = "remote")]
mod response;

#[cfg(feature = "remote")]
pub(crate) use consumed::{Arm, Consumed};
pub(crate) use keyloom_api::error::error_from;
pub(crate) use object::Object;
pub(crate) use request::Request;
#[cfg(feature = "remote")]
pub(crate) use response::{
    attributes, found_and_left, items_in_order, left_writes, one_item, page, statement_errors,
};
