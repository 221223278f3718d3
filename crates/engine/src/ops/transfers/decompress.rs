//! Decompression of objects in bounded memory, whatever they contain.

use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;
use keyloom_api::transfers::Compression;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The largest window of zstd, and so the memory that a frame can demand: what `zstd --long` writes and the
/// command `zstd` reads without being asked.
const MAX_WINDOW_BYTES: u64 = 128 * 1024 * 1024;

/// The content of an object.
pub fn content<'a>(source: impl Read + 'a, compression: Compression) -> Box<dyn Read + 'a> {
    match compression {
        Compression::None => Box::new(source),
        Compression::Gzip => Box::new(MultiGzDecoder::new(source)),
        Compression::Zstd => Box::new(Zstd::new(source)),
    }
}

/// The frames of a zstd stream, one after the other. The decoder itself reads one.
struct Zstd<R> {
    source: BufReader<R>,
    decoder: FrameDecoder,
    is_inside: bool,
}

impl<R: Read> Zstd<R> {
    fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW_BYTES);
        Self { source: BufReader::new(source), decoder, is_inside: false }
    }

    /// Begins the next frame that has content; false if there is none.
    fn begin(&mut self) -> io::Result<bool> {
        let mut first = [0];
        loop {
            if self.source.read(&mut first)? == 0 {
                return Ok(false);
            }
            match self.decoder.reset(first.as_slice().chain(&mut self.source)) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = (&mut self.source).take(u64::from(length));
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(error) => return Err(damaged(&error.to_string())),
            }
        }
    }

    /// Ends a frame, whose content must be what was compressed.
    fn end(&mut self) -> io::Result<()> {
        self.is_inside = false;
        match self.decoder.get_checksum_from_data() {
            Some(stated) if self.decoder.get_calculated_checksum() != Some(stated) => {
                Err(damaged("the checksum is not that of the content"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_inside {
                self.is_inside = self.begin()?;
                if !self.is_inside {
                    return Ok(0);
                }
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 {
                return Ok(count);
            }
            if self.decoder.is_finished() {
                self.end()?;
            } else {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut self.source, one);
                decoded.map_err(|error| damaged(&error.to_string()))?;
            }
        }
    }
}

fn damaged(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("it is not zstd: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `printf 'hello\n' | zstd -c` writes, with its checksum.
    const HELLO: [u8; 19] = [
        0x28, 0xB5, 0x2F, 0xFD, 0x04, 0x58, 0x31, 0x00, 0x00, 0x68, 0x65, 0x6C, 0x6C, 0x6F, 0x0A,
        0x53, 0x88, 0xBD, 0x91,
    ];
    /// A frame to be skipped, with three bytes.
    const SKIPPED: [u8; 11] = [0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3];

    fn unzstd(bytes: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        content(bytes, Compression::Zstd).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn all_frames_are_read() {
        assert_eq!(unzstd(&[]).unwrap(), "");
        assert_eq!(unzstd(&HELLO).unwrap(), "hello\n");
        let several = [&SKIPPED[..], &HELLO, &SKIPPED, &HELLO].concat();
        assert_eq!(unzstd(&several).unwrap(), "hello\nhello\n");
    }

    #[test]
    fn damage_is_noticed() {
        for length in 1..HELLO.len() {
            assert!(unzstd(&HELLO[..length]).is_err(), "cut to {length}");
        }
        // The sixth byte is the size of the window, which is not content.
        for position in (0..HELLO.len()).filter(|position| *position != 5) {
            let mut damaged = HELLO;
            damaged[position] ^= 0x41;
            assert_ne!(unzstd(&damaged).ok().as_deref(), Some("hello\n"), "byte {position}");
        }
        assert!(unzstd(&[&HELLO[..], b"text"].concat()).is_err());
    }

    #[test]
    fn a_frame_cannot_demand_memory_without_limit() {
        // No single segment, and a window of two to the power of 41.
        let greedy = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0xF8, 0x01, 0x00, 0x00];
        let said = unzstd(&greedy).unwrap_err().to_string();
        assert!(said.to_lowercase().contains("window"), "{said}");
    }
}
