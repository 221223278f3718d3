//! Stored values as JSON, straight from their bytes.

use super::reader::{Read, Reader};
use super::room::Room;
use super::text::Text;
use super::{Tag, deeper};
use crate::json;
use crate::number::Number;

/// Appends an item of `count` attributes as a JSON object.
pub(super) fn write_item<'a, T: Text<'a>>(
    reader: Reader<'a, T>,
    count: usize,
    out: &mut Vec<u8>,
) -> Read<()> {
    let start = out.len();
    // What most items need: their text, and the punctuation around each attribute.
    let mut room = reader.text_len() + 5 * reader.remaining() + 32;
    loop {
        out.resize(start + room, 0);
        let writer = Writer { reader, room: Room::new(out.get_mut(start..).unwrap_or_default()) };
        let written = writer.attributes(count, 0).map(|writer| writer.room.left());
        out.truncate(start + room - written.unwrap_or_default().unwrap_or(room));
        if written?.is_some() {
            return Ok(());
        }
        room *= 2;
    }
}

/// Reads values and writes them. It is handed over and back, so that loops have their own, which stay
/// in registers.
struct Writer<'a, 'o, T> {
    reader: Reader<'a, T>,
    room: Room<'o>,
}

impl<'a, T: Text<'a>> Writer<'a, '_, T> {
    /// Writes `count` attributes, which must be all there are, as an object.
    fn attributes(self, count: usize, depth: usize) -> Read<Self> {
        let Self { mut reader, mut room } = self;
        if count == 0 {
            room.fixed(b"{");
        }
        for position in 0..count {
            room.fixed(if position == 0 { b"{\"" } else { b",\"" });
            reader.write_string(&mut room)?;
            Self { reader, room } = Self { reader, room }.value::<true>(depth)?;
        }
        room.fixed(b"}");
        reader.finish()?;
        Ok(Self { reader, room })
    }

    /// Writes one value. That of an attribute begins with what ends its name: a quote and a colon.
    #[inline(always)]
    fn value<const NAMED: bool>(self, depth: usize) -> Read<Self> {
        let Self { mut reader, mut room } = self;
        match reader.tag()? {
            Tag::S => {
                room.open::<NAMED, _>(b"\":{\"S\":\"");
                reader.write_string(&mut room)?;
                room.fixed(b"\"}");
            }
            Tag::N => {
                room.open::<NAMED, _>(b"\":{\"N\":\"");
                let number = reader.number()?;
                match number.as_u64() {
                    Some(natural) => room.natural(natural),
                    None => room = written(&number, room),
                }
                room.fixed(b"\"}");
            }
            Tag::False => room.open::<NAMED, _>(b"\":{\"BOOL\":false}"),
            Tag::True => room.open::<NAMED, _>(b"\":{\"BOOL\":true}"),
            Tag::Null => room.open::<NAMED, _>(b"\":{\"NULL\":true}"),
            tag => {
                room.open::<NAMED, _>(b"\":");
                return Self { reader, room }.large(tag, depth);
            }
        }
        Ok(Self { reader, room })
    }

    /// Writes a binary, or a value that contains others.
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
                    writer.number()?;
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
                self = self.members(|writer| writer.value::<false>(depth))?;
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

    fn number(&mut self) -> Read<()> {
        let number = self.reader.number()?;
        number.write_pieces(|piece| self.room.slice(piece));
        Ok(())
    }

    fn binary(&mut self) -> Read<()> {
        self.room.fixed(b"\"");
        self.room.base64(self.reader.bytes()?);
        self.room.fixed(b"\"");
        Ok(())
    }
}

/// Writes a number of any form.
fn written<'o>(number: &Number, mut room: Room<'o>) -> Room<'o> {
    number.write_pieces(|piece| room.slice(piece));
    room
}
