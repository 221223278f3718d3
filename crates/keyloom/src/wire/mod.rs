//! Answers of an endpoint, decoded.

#[cfg(feature = "remote")]
mod consumed;
#[cfg(feature = "remote")]
pub(crate) mod member;
#[cfg(feature = "remote")]
mod response;

#[cfg(feature = "remote")]
pub(crate) use consumed::{Arm, Consumed};
pub(crate) use keyloom_api::Request;
pub(crate) use keyloom_api::error::error_from;
#[cfg(feature = "remote")]
pub(crate) use response::{
    attributes, found_and_left, items_in_order, left_writes, one_item, page, statement_errors,
};
