//! Updates and projections.

use super::super::ast::{Path, Projection, Section, SetValue, Update};
use super::super::lexer::TokenKind;
use super::{Parser, Problem};
use crate::value::Str;

impl Parser<'_> {
    pub(super) fn projection(&mut self) -> Result<Projection, Problem> {
        let paths = self.list(Self::path)?;
        self.expect(TokenKind::End)?;
        Ok(Projection(paths))
    }

    pub(super) fn update(&mut self) -> Result<Update, Problem> {
        let mut sections = Vec::new();
        while sections.is_empty() || self.peek_kind() != TokenKind::End {
            let section = if self.take_keyword("SET") {
                Section::Set(self.list(Self::assignment)?)
            } else if self.take_keyword("REMOVE") {
                Section::Remove(self.list(Self::path)?)
            } else if self.take_keyword("ADD") {
                Section::Add(self.list(Self::path_and_value)?)
            } else if self.take_keyword("DELETE") {
                Section::Delete(self.list(Self::path_and_value)?)
            } else {
                return Err(self.unexpected());
            };
            sections.push(section);
        }
        Ok(Update(sections))
    }

    fn list<T>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<T, Problem>,
    ) -> Result<Vec<T>, Problem> {
        let mut elements = vec![element(self)?];
        while self.take(TokenKind::Comma) {
            elements.push(element(self)?);
        }
        Ok(elements)
    }

    fn path_and_value(&mut self) -> Result<(Path, Str), Problem> {
        let path = self.path()?;
        let value = self.expect(TokenKind::ValuePlaceholder)?;
        Ok((path, self.text_of(value).into()))
    }

    fn assignment(&mut self) -> Result<(Path, SetValue), Problem> {
        let path = self.path()?;
        self.expect(TokenKind::Equal)?;
        Ok((path, self.set_value()?))
    }

    /// An operand or a sum of two, in any number of parentheses: `((a) + b)`, but not `(a + b) + c`.
    fn set_value(&mut self) -> Result<SetValue, Problem> {
        let mut open = 0_usize;
        while self.take(TokenKind::Open) {
            open += 1;
        }
        let mut left = Some(self.bare_operand()?);
        let mut sum = None;
        let mut grouped = false;
        loop {
            if let Some(plus) = self.sign().filter(|_| left.is_some()) {
                self.position += 1;
                self.count_operator()?;
                let right = self.operand(false)?;
                sum = left.take().map(|left| {
                    if plus { SetValue::Plus(left, right) } else { SetValue::Minus(left, right) }
                });
                grouped = false;
            } else if open > 0 {
                self.expect(TokenKind::Close)?;
                open -= 1;
                self.redundant_parentheses |= grouped;
                grouped = true;
            } else {
                break;
            }
        }
        sum.or_else(|| left.map(SetValue::Operand)).ok_or_else(|| self.unexpected())
    }

    /// Whether the next token is `+` (true) or `-` (false).
    fn sign(&self) -> Option<bool> {
        match self.peek_kind() {
            TokenKind::Plus => Some(true),
            TokenKind::Minus => Some(false),
            _ => None,
        }
    }
}
