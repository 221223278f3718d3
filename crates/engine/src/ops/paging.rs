//! Pages of listings, and the tokens that name where a page ended.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use keyloom_core::Result;
use keyloom_core::error::table as message;

/// The first `limit` entries that are `wanted`, and whether there are more.
pub(crate) fn page<T>(
    entries: impl Iterator<Item = T>,
    limit: usize,
    wanted: impl FnMut(&T) -> bool,
) -> (Vec<T>, bool) {
    let mut page: Vec<T> = entries.filter(wanted).take(limit.saturating_add(1)).collect();
    let more = page.len() > limit;
    page.truncate(limit);
    (page, more)
}

/// The token for a page that ended with this name.
pub(crate) fn token(last: &str) -> String {
    BASE64.encode(last)
}

/// The name that a token stands for; none without a token.
pub(crate) fn decode_token(token: Option<&str>) -> Result<Option<String>> {
    let decode = |token| String::from_utf8(BASE64.decode(token).ok()?).ok();
    token.map(|token| decode(token).ok_or_else(message::next_token_invalid)).transpose()
}
