//! Compressed objects with their checksums.

use std::io::{self, Write};

use flate2::write::GzEncoder;
use keyloom_api::transfers::Failure;
use md5::{Digest, Md5};

use crate::buckets::Upload;

/// The MD5 checksum of a text.
#[expect(clippy::unnecessary_wraps, reason = "without the codecs there is none")]
pub(super) fn checksum(text: &[u8]) -> Result<[u8; 16], Failure> {
    Ok(Md5::digest(text).into())
}

/// An object that is compressed while it is written.
pub(super) struct Compressed(GzEncoder<Hashed>);

impl Compressed {
    #[expect(clippy::unnecessary_wraps, reason = "without the codecs there is none")]
    pub(super) fn new(upload: Box<dyn Upload>) -> Result<Self, Failure> {
        let object = Hashed { md5: Md5::new(), upload };
        Ok(Self(GzEncoder::new(object, flate2::Compression::default())))
    }

    /// Completes the object: the checksum of what it holds, and the bucket's tag.
    pub(super) fn finish(self) -> Result<([u8; 16], Option<String>), Failure> {
        let object = self.0.finish()?;
        let etag = object.upload.finish()?;
        Ok((object.md5.finalize().into(), etag))
    }
}

impl Write for Compressed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// An object whose checksum is computed while it is written.
struct Hashed {
    md5: Md5,
    upload: Box<dyn Upload>,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.upload.write(bytes)?;
        self.md5.update(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.upload.flush()
    }
}
