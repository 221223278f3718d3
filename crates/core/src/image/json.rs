//! Writes stored values as JSON, directly from their bytes.

use super::reader::{Read, Reader};
use super::room::Room;
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
    let mut room = reader.text_len() + marks * 4 / 3 + 4 * marks.min(MANY_MARKS) + 32;
    loop {
        out.resize(start + room, 0);
        let writer = Writer { reader, room: Room::new(out.get_mut(start..).unwrap_or_default()) };
        match writer.attributes(count, 0).map(|writer| writer.room.left()) {
            Ok(Ok(left)) => {
                out.truncate(start + room - left);
                return Ok(());
            }
            // The required size is now known.
            Ok(Err(missing)) => room += missing,
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
    room: Room<'o>,
}

impl<'a, T: Text<'a>> Writer<'a, '_, T> {
    /// Writes `count` attributes, which must use up the input, as an object.
    fn attributes(self, count: usize, depth: usize) -> Read<Self> {
        let Self { mut reader, mut room } = self;
        if count == 0 {
            room.fixed(b"{");
        }
        for position in 0..count {
            room.fixed(if position == 0 { b"{\"" } else { b",\"" });
            reader.write_string(&mut room)?;
            match reader.tag()? {
                // Most are strings and short numbers, which are inlined.
                Tag::S => {
                    room.fixed(b"\":{\"S\":\"");
                    reader.write_string(&mut room)?;
                    room.fixed(b"\"}");
                }
                Tag::N => {
                    room.fixed(b"\":{\"N\":\"");
                    room = written(&reader.number()?, room);
                    room.fixed(b"\"}");
                }
                Tag::True => room.fixed(b"\":{\"BOOL\":true}"),
                Tag::False => room.fixed(b"\":{\"BOOL\":false}"),
                tag => {
                    room.fixed(b"\":");
                    Self { reader, room } = Self { reader, room }.value(tag, depth)?;
                }
            }
        }
        room.fixed(b"}");
        reader.finish()?;
        Ok(Self { reader, room })
    }

    /// Writes one value.
    fn value(mut self, tag: Tag, depth: usize) -> Read<Self> {
        match tag {
            Tag::S => {
                self.room.fixed(b"{\"S\":\"");
                self.reader.write_string(&mut self.room)?;
                self.room.fixed(b"\"}");
            }
            Tag::N => {
                self.room.fixed(b"{\"N\":\"");
                self.room = written(&self.reader.number()?, self.room);
                self.room.fixed(b"\"}");
            }
            Tag::True => self.room.fixed(b"{\"BOOL\":true}"),
            Tag::False => self.room.fixed(b"{\"BOOL\":false}"),
            Tag::Null => self.room.fixed(b"{\"NULL\":true}"),
            tag => self = self.large(tag, depth)?,
        }
        Ok(self)
    }

    /// Writes a binary or a container.
    fn large(mut self, tag: Tag, depth: usize) -> Read<Self> {
        self.room.slice(json::opening(tag.attribute_type()));
        match tag {
            Tag::Ss => {
                self = self.members(|mut writer| {
                    writer.room.fixed(b"\"");
                    writer.reader.write_string(&mut writer.room)?;
                    writer.room.fixed(b"\"");
                    Ok(writer)
                })?;
            }
            Tag::Ns => {
                self = self.members(|mut writer| {
                    writer.room.fixed(b"\"");
                    writer.room = written(&writer.reader.number()?, writer.room);
                    writer.room.fixed(b"\"");
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
                let writer = Writer { reader: body, room: self.room };
                self.room = writer.attributes(count, deeper(depth)?)?.room;
            }
            _ => self.binary()?,
        }
        self.room.fixed(b"}");
        Ok(self)
    }

    /// Writes the members of a set or a list.
    fn members(mut self, write: impl Fn(Self) -> Read<Self>) -> Read<Self> {
        let mut body = self.reader.body()?;
        let count = body.length()?;
        self.room.fixed(b"[");
        let mut writer = Writer { reader: body, room: self.room };
        for position in 0..count {
            if position > 0 {
                writer.room.fixed(b",");
            }
            writer = write(writer)?;
        }
        writer.reader.finish()?;
        self.room = writer.room;
        self.room.fixed(b"]");
        Ok(self)
    }

    fn binary(&mut self) -> Read<()> {
        self.room.fixed(b"\"");
        self.room.base64(self.reader.bytes()?);
        self.room.fixed(b"\"");
        Ok(())
    }
}

/// Writes a number.
#[inline(always)]
fn written<'o>(number: &Number, mut room: Room<'o>) -> Room<'o> {
    let Some(natural) = number.as_u64() else { return written_in_pieces(number, room) };
    room.natural(natural);
    room
}

fn written_in_pieces<'o>(number: &Number, mut room: Room<'o>) -> Room<'o> {
    number.write_pieces(|piece| room.slice(piece));
    room
}
