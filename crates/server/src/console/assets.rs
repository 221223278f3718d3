//! The console's finished files, embedded and compressed by `build.rs`. They hold no data, so they need no credentials.

use bytes::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;

use crate::encoding::Coding;
use crate::response::{Answer, HttpResponse};

/// A file of the console.
struct Asset {
    /// Its path under `/keyloom/`; the first page is `index.html`.
    name: &'static str,
    plain_bytes: usize,
    packed: &'static [u8],
}

static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/console_assets.rs"));

/// Only the console's own files may run or style the page, and it may only talk to this server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// The file at a path under `/keyloom/`, if there is one.
pub(super) fn answer(path: &str, head: &Parts) -> Option<HttpResponse> {
    let name = if path.is_empty() { "index.html" } else { path };
    let asset = ASSETS.iter().find(|asset| asset.name == name)?;
    let accepts = head.headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let is_packed = accepts.and_then(Coding::accepted) == Some(Coding::Gzip);
    let body = if is_packed {
        Bytes::from_static(asset.packed)
    } else {
        Coding::Gzip.unpack(asset.packed, asset.plain_bytes).ok()?.into()
    };
    let mut response = Answer::other(200, media_type(name), body).into_response();
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value| headers.insert(name, HeaderValue::from_static(value));
    if is_packed {
        set(header::CONTENT_ENCODING, Coding::Gzip.name());
    }
    set(header::VARY, "accept-encoding");
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    // Files in `assets` carry a hash of their content in their names.
    let is_fixed = name.starts_with("assets/");
    let lifetime = if is_fixed { "public, max-age=31536000, immutable" } else { "no-cache" };
    set(header::CACHE_CONTROL, lifetime);
    Some(response)
}

/// By the end of the name.
fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "json" | "map" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
