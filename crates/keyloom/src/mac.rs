//! HMAC-SHA256, for request signatures and cursors.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The authentication code of a text under a key.
pub(crate) fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    // HMAC accepts keys of any length, so this cannot fail.
    Hmac::<Sha256>::new_from_slice(key)
        .map(|mut mac| {
            mac.update(text);
            mac.finalize().into_bytes().to_vec()
        })
        .unwrap_or_default()
}

/// Whether a code is that of a text under a key, compared in constant time.
pub(crate) fn is_mac(key: &[u8], text: &[u8], code: &[u8]) -> bool {
    Hmac::<Sha256>::new_from_slice(key).is_ok_and(|mut mac| {
        mac.update(text);
        mac.verify_slice(code).is_ok()
    })
}
