//! What stands for `insights` in a server that is built without it: no request is one for CloudWatch.

use std::sync::Arc;
use std::time::Instant;

use hyper::http::request::Parts;

use crate::body::RequestBody;
use crate::memory::Reservation;
use crate::response::HttpResponse;
use crate::shared::Shared;

/// The protocol of a request for CloudWatch: there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {}

impl Wire {
    pub(crate) fn of_path(_path: &str) -> Option<Self> {
        None
    }

    pub(crate) fn of_target(_target: &str) -> Option<Self> {
        None
    }

    pub(crate) fn of_form(_head: &Parts) -> Option<Self> {
        None
    }
}

#[expect(clippy::unused_async, reason = "as its counterpart")]
pub(crate) async fn answer(
    _shared: &Arc<Shared>,
    _started: Instant,
    wire: Wire,
    _head: Parts,
    _input: (&mut RequestBody, &mut Reservation),
) -> HttpResponse {
    match wire {}
}
