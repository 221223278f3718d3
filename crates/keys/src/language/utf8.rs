//! Characters of several bytes, as part of a [`Language`].

use super::{Language, State};
use crate::byteset::ByteSet;

impl Language {
    /// All characters of two to four bytes from any of some states to one state, except U+10FFFF, which no value may
    /// contain. `byte` adds the way from states to a state by one byte of a set.
    pub(super) fn wide_characters(
        &mut self,
        from: &[State],
        to: State,
        byte: impl Fn(&mut Self, &[State], ByteSet, State),
    ) {
        let last = self.state();
        let (last_two, last_three) = (self.state(), self.state());
        byte(self, &[last], ByteSet::range(0x80, 0xBF), to);
        byte(self, &[last_two], ByteSet::range(0x80, 0xBF), last);
        byte(self, &[last_three], ByteSet::range(0x80, 0xBF), last_two);
        byte(self, from, ByteSet::range(0xC2, 0xDF), last);
        byte(self, from, ByteSet::range(0xE1, 0xEF).without(ByteSet::of(&[0xED])), last_two);
        byte(self, from, ByteSet::range(0xF1, 0xF3), last_three);
        // No overlong forms, no surrogates, nothing above U+10FFFE.
        let narrowed = [
            (0xE0, ByteSet::range(0xA0, 0xBF), last),
            (0xED, ByteSet::range(0x80, 0x9F), last),
            (0xF0, ByteSet::range(0x90, 0xBF), last_two),
            (0xF4, ByteSet::range(0x80, 0x8E), last_two),
        ];
        for (lead, second, next) in narrowed {
            let state = self.state();
            byte(self, from, ByteSet::of(&[lead]), state);
            byte(self, &[state], second, next);
        }
        let (plane, row, end) = (self.state(), self.state(), self.state());
        byte(self, from, ByteSet::of(&[0xF4]), plane);
        byte(self, &[plane], ByteSet::of(&[0x8F]), row);
        byte(self, &[row], ByteSet::range(0x80, 0xBE), last);
        byte(self, &[row], ByteSet::of(&[0xBF]), end);
        byte(self, &[end], ByteSet::range(0x80, 0xBE), to);
    }
}
