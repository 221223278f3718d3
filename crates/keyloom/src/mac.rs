//! HMAC-SHA256, for requests and cursors.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The authentication code of a text under a key.
pub(crate) fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    // HMAC takes keys of every length, so there is nothing to fail.
    Hmac::<Sha256>::new_from_slice(key)
        .map(|mut mac| {
            mac.update(text);
            mac.finalize().into_bytes().to_vec()
        })
        .unwrap_or_default()
}

/// Whether a code is that of a text under a key, in a time that does not tell how much of it is right.
pub(crate) fn is_mac(key: &[u8], text: &[u8], code: &[u8]) -> bool {
    Hmac::<Sha256>::new_from_slice(key).is_ok_and(|mut mac| {
        mac.update(text);
        mac.verify_slice(code).is_ok()
    })
}
