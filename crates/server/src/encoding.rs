//! gzip compression and decompression.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// Why a compressed body could not be decompressed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum GunzipError {
    /// Not gzip, or truncated.
    Malformed,
    /// Decompresses to more than the limit.
    TooLarge,
}

/// Decompresses `packed`, up to `max_bytes`: a few kilobytes of gzip can expand to gigabytes.
pub(crate) fn gunzip(packed: &[u8], max_bytes: usize) -> Result<Vec<u8>, GunzipError> {
    let mut plain = Vec::with_capacity(packed.len().saturating_mul(4).min(max_bytes));
    let mut decoder = MultiGzDecoder::new(packed).take(max_bytes as u64 + 1);
    decoder.read_to_end(&mut plain).map_err(|_| GunzipError::Malformed)?;
    if plain.len() > max_bytes { Err(GunzipError::TooLarge) } else { Ok(plain) }
}

/// Compresses `plain`, if that makes it smaller.
pub(crate) fn gzip(plain: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 4), Compression::fast());
    encoder.write_all(plain).ok()?;
    encoder.finish().ok().filter(|packed| packed.len() < plain.len())
}

/// Whether an `Accept-Encoding` header allows gzip.
pub(crate) fn accepts_gzip(header: &str) -> bool {
    header.split(',').any(|choice| {
        let mut parts = choice.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let refused = parts.any(|part| {
            part.strip_prefix("q=").is_some_and(|q| q.trim().parse::<f32>().is_ok_and(|q| q <= 0.0))
        });
        named && !refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_round_trips_and_declines_incompressible_data() {
        let plain = b"{\"S\":\"value\"}".repeat(500);
        let packed = gzip(&plain).unwrap();
        assert!(packed.len() < plain.len() / 10);
        assert_eq!(gunzip(&packed, plain.len()), Ok(plain));
        assert_eq!(gzip(b"x"), None);
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let packed = gzip(&vec![0; 1 << 20]).unwrap();
        assert_eq!(gunzip(&packed, (1 << 20) - 1), Err(GunzipError::TooLarge));
        assert!(gunzip(&packed, 1 << 20).is_ok());
    }

    #[test]
    fn garbage_and_truncated_gzip_are_malformed() {
        let packed = gzip(&vec![7; 1000]).unwrap();
        assert_eq!(gunzip(b"{}", 10), Err(GunzipError::Malformed));
        assert_eq!(gunzip(&packed[..packed.len() - 4], 1000), Err(GunzipError::Malformed));
    }

    #[test]
    fn accept_encoding_is_read_by_token_and_weight() {
        for yes in ["gzip", "deflate, gzip", "GZIP;q=0.5", "br;q=1, gzip ; q=0.1"] {
            assert!(accepts_gzip(yes), "{yes}");
        }
        for no in ["", "identity", "gzip;q=0", "gzip; q=0.0", "xgzip", "gzipped"] {
            assert!(!accepts_gzip(no), "{no}");
        }
    }
}
