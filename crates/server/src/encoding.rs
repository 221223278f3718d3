//! Compression of bodies, and the headers that negotiate it.

use std::io::{Read, Write};

use flate2::read::MultiGzDecoder;
use flate2::write::{GzEncoder, ZlibEncoder};
use flate2::{Compression, Decompress, FlushDecompress, Status};

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// gzip: deflate with a file's header and checksum. Several of them in a row are one body.
    Gzip,
    /// What HTTP calls deflate: the zlib format.
    Deflate,
}

/// Why a body could not be decompressed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UnpackError {
    /// Empty, truncated, or not of this coding.
    Malformed,
    /// Decompresses to more than the limit.
    TooLarge,
}

/// A `Content-Encoding` that is not supported.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownCoding;

impl Coding {
    /// In the order in which they are preferred if a client accepts anything.
    const ALL: [Self; 2] = [Self::Gzip, Self::Deflate];

    /// The name in headers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|coding| coding.name().eq_ignore_ascii_case(name))
    }

    /// The coding that a `Content-Encoding` header states; none if the body is not compressed.
    pub(crate) fn of_content(header: &str) -> Result<Option<Self>, UnknownCoding> {
        let header = header.trim();
        // Some SDKs name the encoding of the protocol's JSON here, which is no compression.
        let is_plain =
            ["", "identity", "amz-1.0"].iter().any(|one| header.eq_ignore_ascii_case(one));
        if is_plain { Ok(None) } else { Self::named(header).map(Some).ok_or(UnknownCoding) }
    }

    /// The coding that an `Accept-Encoding` header prefers, as DynamoDB reads it: the highest weight wins, of
    /// equal ones the first; `*` stands for the codings without a name of their own, after those with one; and
    /// uncompressed is chosen only if nothing else is.
    pub(crate) fn accepted(header: &str) -> Option<Self> {
        let choices = header.split(',').map(|choice| {
            let (name, parameters) = choice.split_once(';').unwrap_or((choice, ""));
            (name.trim(), weight(parameters))
        });
        let choices: Vec<(&str, f32)> = choices.collect();
        let named: Vec<(Self, f32)> = choices
            .iter()
            .filter_map(|(name, weight)| Some((Self::named(name)?, *weight)))
            .collect();
        let any = choices.iter().find(|(name, _)| *name == "*").map_or(0.0, |(_, weight)| *weight);
        let unnamed =
            Self::ALL.into_iter().filter(|one| named.iter().all(|(other, _)| other != one));
        let unnamed = unnamed.map(|coding| (coding, any));
        let mut best: Option<(Self, f32)> = None;
        for (coding, weight) in named.iter().copied().chain(unnamed) {
            if weight > best.map_or(0.0, |(_, best)| best) {
                best = Some((coding, weight));
            }
        }
        best.map(|(coding, _)| coding)
    }

    /// Decompresses `packed`, up to `max_bytes`: a few kilobytes can expand to gigabytes.
    pub(crate) fn unpack(self, packed: &[u8], max_bytes: usize) -> Result<Vec<u8>, UnpackError> {
        if packed.is_empty() {
            return Err(UnpackError::Malformed);
        }
        let mut plain = Vec::with_capacity(packed.len().saturating_mul(4).min(max_bytes));
        match self {
            Self::Gzip => {
                let mut decoder = MultiGzDecoder::new(packed).take(max_bytes as u64 + 1);
                decoder.read_to_end(&mut plain).map_err(|_| UnpackError::Malformed)?;
            }
            Self::Deflate => inflate(packed, max_bytes, &mut plain)?,
        }
        if plain.len() > max_bytes { Err(UnpackError::TooLarge) } else { Ok(plain) }
    }

    /// Compresses `plain`, if that makes it smaller.
    pub(crate) fn pack(self, plain: &[u8]) -> Option<Vec<u8>> {
        let (buffer, level) = (Vec::with_capacity(plain.len() / 4), Compression::fast());
        let packed = match self {
            Self::Gzip => {
                let mut encoder = GzEncoder::new(buffer, level);
                encoder.write_all(plain).ok()?;
                encoder.finish().ok()?
            }
            Self::Deflate => {
                let mut encoder = ZlibEncoder::new(buffer, level);
                encoder.write_all(plain).ok()?;
                encoder.finish().ok()?
            }
        };
        (packed.len() < plain.len()).then_some(packed)
    }
}

/// Decompresses the zlib format. The decoder of `flate2` that is a reader takes a truncated stream for a whole one.
fn inflate(packed: &[u8], max_bytes: usize, plain: &mut Vec<u8>) -> Result<(), UnpackError> {
    let mut decoder = Decompress::new(true);
    while plain.len() <= max_bytes {
        let read = usize::try_from(decoder.total_in()).unwrap_or(usize::MAX);
        let rest = packed.get(read..).unwrap_or_default();
        if plain.len() == plain.capacity() {
            plain.reserve(plain.len().max(1024));
        }
        let written = plain.len();
        let status = decoder.decompress_vec(rest, plain, FlushDecompress::None);
        match status.map_err(|_| UnpackError::Malformed)? {
            Status::StreamEnd if decoder.total_in() == packed.len() as u64 => return Ok(()),
            Status::StreamEnd => return Err(UnpackError::Malformed),
            _ if plain.len() == written && decoder.total_in() == packed.len() as u64 => {
                return Err(UnpackError::Malformed);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The weight that the parameters of a choice state: the first `q=`; 1 if there is none or it is not a number.
fn weight(parameters: &str) -> f32 {
    let stated = parameters.split_once("q=").map(|(_, stated)| stated);
    let stated = stated.and_then(|stated| stated.split(';').next());
    stated
        .and_then(|stated| stated.trim().parse::<f32>().ok())
        .map_or(1.0, |weight| weight.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_round_trip_and_incompressible_ones_are_declined() {
        let plain = b"{\"S\":\"value\"}".repeat(500);
        for coding in Coding::ALL {
            let packed = coding.pack(&plain).unwrap();
            assert!(packed.len() < plain.len() / 10);
            assert_eq!(coding.unpack(&packed, plain.len()), Ok(plain.clone()));
            assert_eq!(coding.pack(b"x"), None);
        }
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        for coding in Coding::ALL {
            let packed = coding.pack(&vec![0; 1 << 20]).unwrap();
            assert_eq!(coding.unpack(&packed, (1 << 20) - 1), Err(UnpackError::TooLarge));
            assert!(coding.unpack(&packed, 1 << 20).is_ok());
        }
    }

    #[test]
    fn empty_foreign_and_truncated_bodies_are_malformed() {
        for coding in Coding::ALL {
            let packed = coding.pack(&vec![7; 1000]).unwrap();
            assert_eq!(coding.unpack(b"", 10), Err(UnpackError::Malformed));
            assert_eq!(coding.unpack(b"{}", 10), Err(UnpackError::Malformed));
            for length in 1..packed.len() {
                let part = &packed[..length];
                assert_eq!(coding.unpack(part, 1000), Err(UnpackError::Malformed), "{length}");
            }
        }
    }

    /// Unlike gzip, deflate has no rule for several streams in a row; AWS refuses them.
    #[test]
    fn only_gzip_may_have_several_parts() {
        let twice = |coding: Coding| coding.pack(&[b'x'; 100]).unwrap().repeat(2);
        assert_eq!(Coding::Gzip.unpack(&twice(Coding::Gzip), 500), Ok(vec![b'x'; 200]));
        let refused = Coding::Deflate.unpack(&twice(Coding::Deflate), 500);
        assert_eq!(refused, Err(UnpackError::Malformed));
    }

    #[test]
    fn content_encodings_are_known_or_refused() {
        for (header, expected) in [
            ("gzip", Ok(Some(Coding::Gzip))),
            ("GZip", Ok(Some(Coding::Gzip))),
            ("deflate", Ok(Some(Coding::Deflate))),
            ("identity", Ok(None)),
            ("amz-1.0", Ok(None)),
            ("", Ok(None)),
            ("garbage", Err(UnknownCoding)),
            ("br", Err(UnknownCoding)),
            ("gzip, gzip", Err(UnknownCoding)),
        ] {
            assert_eq!(Coding::of_content(header), expected, "{header}");
        }
    }

    /// What a public test suite saw AWS choose, odd weights included.
    #[test]
    fn accept_encoding_is_read_as_aws_reads_it() {
        for (header, expected) in [
            ("identity", None),
            ("", None),
            ("br", None),
            ("x-gzip", None),
            ("gzip", Some(Coding::Gzip)),
            ("gzip, deflate", Some(Coding::Gzip)),
            ("br, identity, deflate, gzip", Some(Coding::Deflate)),
            ("GZIP, identity", Some(Coding::Gzip)),
            ("dog, gzip ,, cat", Some(Coding::Gzip)),
            ("gzip;q=0.8, deflate;q=0.5", Some(Coding::Gzip)),
            ("br, gzip;q=0, deflate; q = 0.5 , identity;q=0", Some(Coding::Deflate)),
            ("*", Some(Coding::Gzip)),
            ("*, deflate;q=0.5", Some(Coding::Gzip)),
            ("*, deflate", Some(Coding::Deflate)),
            ("*, identity", Some(Coding::Gzip)),
            ("*, gzip;q=0.5", Some(Coding::Deflate)),
            ("gzip ;q=0", None),
            ("identity;q=0", None),
            ("*;q=0", None),
            ("*;q=0.5,identity", Some(Coding::Gzip)),
            ("gzip;q=0.5,identity;q=0.8", Some(Coding::Gzip)),
            ("br;q=0.8,identity;q=0.5,*;q=0", None),
            ("\"gzip\"", None),
            ("gzip br", None),
            ("gzip:q=1", None),
            ("deflate;q=0.5, gzip;q=31", Some(Coding::Gzip)),
            ("gzip;q=31,deflate;q=51", Some(Coding::Gzip)),
            ("deflate;q=0.5, gzip;q=0.2", Some(Coding::Deflate)),
            ("deflate;q=0.5, gzip;q=1;q=0.2", Some(Coding::Gzip)),
            ("deflate;q=0.5,gzip;q=0.", Some(Coding::Deflate)),
            ("deflate;q=0.5,gzip;q=0.x", Some(Coding::Gzip)),
            ("deflate;q=0.5,gzip;q=0. x", Some(Coding::Gzip)),
            ("deflate;q=-0.5,gzip;q=0.2", Some(Coding::Gzip)),
            ("gzip;q= 0;q=1", None),
            ("gzip;q =0;q=1", Some(Coding::Gzip)),
            ("gzip; q=0;q=1", None),
            ("gzip;nq=0;q=1", None),
            ("gzip;q=0, gzip;q=1, gzip;q=0", Some(Coding::Gzip)),
            ("br,identity;q=0.5,gzip;q=0.0001", Some(Coding::Gzip)),
        ] {
            assert_eq!(Coding::accepted(header), expected, "{header}");
        }
    }
}
