//! Writes stored values as JSON, directly from their bytes.

use super::buffer::Buffer;
use super::reader::{Read, Reader};
use super::text::Text;
use super::{Tag, deeper};
use crate::json;
use crate::number::Number;

/// The attribute section becomes the punctuation around the text, which is about four times as
/// long. If it is longer than this, most of it are binaries, which grow by a third in Base64.
const MANY_MARKS: usize = 4096;

/// Appends an item of `count` attributes as a JSON object.
pub(super) fn write_item<'a, T: Text<'a>>(
    reader: Reader<'a, T>,
    count: usize,
    out: &mut Vec<u8>,
) -> Read<()> {
    let start = out.len();
    let marks = reader.remaining();
    let mut capacity = reader.text_len() + marks * 4 / 3 + 4 * marks.min(MANY_MARKS) + 32;
    loop {
        out.resize(start + capacity, 0);
        let writer =
            Writer { reader, buffer: Buffer::new(out.get_mut(start..).unwrap_or_default()) };
        match writer.attributes(count, 0).map(|writer| writer.buffer.left()) {
            Ok(Ok(left)) => {
                out.truncate(start + capacity - left);
                return Ok(());
            }
            // The required size is now known.
            Ok(Err(missing)) => capacity += missing,
            Err(corrupt) => {
                out.truncate(start);
                return Err(corrupt);
            }
        }
    }
}

/// Reads values and writes them. Passed by value and returned, so that loops keep it in registers.
struct Writer<'a, 'o, T> {
    reader: Reader<'a, T>,
    buffer: Buffer<'o>,
}

impl<'a, T: Text<'a>> Writer<'a, '_, T> {
    /// Writes `count` attributes, which must use up the input, as an object.
    fn attributes(self, count: usize, depth: usize) -> Read<Self> {
        let Self { mut reader, mut buffer } = self;
        if count == 0 {
            buffer.fixed(b"{");
        }
        for position in 0..count {
            buffer.fixed(if position == 0 { b"{\"" } else { b",\"" });
            reader.write_string(&mut buffer)?;
            match reader.tag()? {
                // Most are strings and short numbers, which are inlined.
                Tag::S => {
                    buffer.fixed(b"\":{\"S\":\"");
                    reader.write_string(&mut buffer)?;
                    buffer.fixed(b"\"}");
                }
                Tag::N => {
                    buffer.fixed(b"\":{\"N\":\"");
                    buffer = written(&reader.number()?, buffer);
                    buffer.fixed(b"\"}");
                }
                Tag::True => buffer.fixed(b"\":{\"BOOL\":true}"),
                Tag::False => buffer.fixed(b"\":{\"BOOL\":false}"),
                tag => {
                    buffer.fixed(b"\":");
                    Self { reader, buffer } = Self { reader, buffer }.value(tag, depth)?;
                }
            }
        }
        buffer.fixed(b"}");
        reader.finish()?;
        Ok(Self { reader, buffer })
    }

    /// Writes one value.
    fn value(mut self, tag: Tag, depth: usize) -> Read<Self> {
        match tag {
            Tag::S => {
                self.buffer.fixed(b"{\"S\":\"");
                self.reader.write_string(&mut self.buffer)?;
                self.buffer.fixed(b"\"}");
            }
            Tag::N => {
                self.buffer.fixed(b"{\"N\":\"");
                self.buffer = written(&self.reader.number()?, self.buffer);
                self.buffer.fixed(b"\"}");
            }
            Tag::True => self.buffer.fixed(b"{\"BOOL\":true}"),
            Tag::False => self.buffer.fixed(b"{\"BOOL\":false}"),
            Tag::Null => self.buffer.fixed(b"{\"NULL\":true}"),
            tag => self = self.large(tag, depth)?,
        }
        Ok(self)
    }

    /// Writes a binary or a container.
    fn large(mut self, tag: Tag, depth: usize) -> Read<Self> {
        self.buffer.slice(json::opening(tag.attribute_type()));
        match tag {
            Tag::Ss => {
                self = self.members(|mut writer| {
                    writer.buffer.fixed(b"\"");
                    writer.reader.write_string(&mut writer.buffer)?;
                    writer.buffer.fixed(b"\"");
                    Ok(writer)
                })?;
            }
            Tag::Ns => {
                self = self.members(|mut writer| {
                    writer.buffer.fixed(b"\"");
                    writer.buffer = written(&writer.reader.number()?, writer.buffer);
                    writer.buffer.fixed(b"\"");
                    Ok(writer)
                })?;
            }
            Tag::Bs => {
                self = self.members(|mut writer| {
                    writer.binary()?;
                    Ok(writer)
                })?;
            }
            Tag::L => {
                let depth = deeper(depth)?;
                self = self.members(|mut writer| {
                    let tag = writer.reader.tag()?;
                    writer.value(tag, depth)
                })?;
            }
            Tag::M => {
                let mut body = self.reader.body()?;
                let count = body.length()?;
                let writer = Writer { reader: body, buffer: self.buffer };
                self.buffer = writer.attributes(count, deeper(depth)?)?.buffer;
            }
            _ => self.binary()?,
        }
        self.buffer.fixed(b"}");
        Ok(self)
    }

    /// Writes the members of a set or a list.
    fn members(mut self, write: impl Fn(Self) -> Read<Self>) -> Read<Self> {
        let mut body = self.reader.body()?;
        let count = body.length()?;
        self.buffer.fixed(b"[");
        let mut writer = Writer { reader: body, buffer: self.buffer };
        for position in 0..count {
            if position > 0 {
                writer.buffer.fixed(b",");
            }
            writer = write(writer)?;
        }
        writer.reader.finish()?;
        self.buffer = writer.buffer;
        self.buffer.fixed(b"]");
        Ok(self)
    }

    fn binary(&mut self) -> Read<()> {
        self.buffer.fixed(b"\"");
        self.buffer.base64(self.reader.bytes()?);
        self.buffer.fixed(b"\"");
        Ok(())
    }
}

/// Writes a number.
#[inline(always)]
fn written<'o>(number: &Number, mut buffer: Buffer<'o>) -> Buffer<'o> {
    let Some(natural) = number.as_u64() else { return written_in_pieces(number, buffer) };
    buffer.natural(natural);
    buffer
}

fn written_in_pieces<'o>(number: &Number, mut buffer: Buffer<'o>) -> Buffer<'o> {
    number.write_pieces(|piece| buffer.slice(piece));
    buffer
}
