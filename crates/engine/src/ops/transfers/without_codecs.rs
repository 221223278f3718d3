//! What a build without the feature `transfers` says of compressed objects: it can neither write nor read them.

use std::convert::Infallible;
use std::io::{self, Read, Write};

use keyloom_api::transfers::{Compression, Failure};

use crate::buckets::Upload;

const REASON: &str = "this program was built without the feature `transfers` of keyloom, which exports and compressed \
                      imports need";

/// The MD5 checksum of a text.
pub(super) fn checksum(_text: &[u8]) -> Result<[u8; 16], Failure> {
    Err(io::Error::new(io::ErrorKind::Unsupported, REASON).into())
}

/// An object that is compressed while it is written: there is none.
pub(super) struct Compressed(Infallible);

impl Compressed {
    pub(super) fn new(_upload: Box<dyn Upload>) -> Result<Self, Failure> {
        Err(io::Error::new(io::ErrorKind::Unsupported, REASON).into())
    }

    pub(super) fn finish(self) -> Result<([u8; 16], Option<String>), Failure> {
        match self.0 {}
    }
}

impl Write for Compressed {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}

/// The content of an object. Reading a compressed one fails.
pub fn content<'a>(source: impl Read + 'a, compression: Compression) -> Box<dyn Read + 'a> {
    match compression {
        Compression::None => Box::new(source),
        Compression::Gzip | Compression::Zstd => Box::new(Unreadable),
    }
}

struct Unreadable;

impl Read for Unreadable {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(io::ErrorKind::Unsupported, REASON))
    }
}
