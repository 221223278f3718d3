//! Conditions: comparisons and functions joined by `AND`, `OR`, `NOT` and parentheses.
//!
//! An opening parenthesis may start a group of conditions, `(a = b AND c = d)`, or an operand, `(a)
//! = b`. Both are kept on one explicit stack until that is decided, so that a thousand parentheses
//! cost heap memory and no recursion.

use super::super::ast::{Comparator, Condition, Operand};
use super::super::lexer::TokenKind;
use super::{Parser, Problem};

/// An operator or parenthesis that waits for the condition after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pending {
    Not,
    And,
    Or,
    Open,
}

/// A condition, and whether it is in its own parentheses.
struct Term {
    condition: Condition,
    grouped: bool,
}

#[derive(Default)]
struct Stack {
    pending: Vec<Pending>,
    terms: Vec<Term>,
}

impl Stack {
    /// Applies the last pending operator to the last one or two terms.
    fn reduce(&mut self) {
        let (Some(operator), Some(right)) = (self.pending.pop(), self.terms.pop()) else { return };
        let condition = match operator {
            Pending::Not => Condition::Not(Box::new(right.condition)),
            Pending::And | Pending::Or => {
                let Some(left) = self.terms.pop() else { return };
                join(operator, left, right.condition)
            }
            Pending::Open => return,
        };
        self.terms.push(Term { condition, grouped: false });
    }

    fn reduce_while(&mut self, joins: &[Pending]) {
        while self.pending.last().is_some_and(|last| joins.contains(last)) {
            self.reduce();
        }
    }
}

/// `a AND b AND c` is one conjunction of three; `(a AND b) AND c` is one of two.
fn join(operator: Pending, left: Term, right: Condition) -> Condition {
    match (operator, left.condition) {
        (Pending::And, Condition::And(mut members)) if !left.grouped => {
            members.push(right);
            Condition::And(members)
        }
        (Pending::Or, Condition::Or(mut members)) if !left.grouped => {
            members.push(right);
            Condition::Or(members)
        }
        (Pending::And, left) => Condition::And(vec![left, right]),
        (_, left) => Condition::Or(vec![left, right]),
    }
}

impl Parser<'_> {
    pub(super) fn condition(&mut self) -> Result<Condition, Problem> {
        let mut stack = Stack::default();
        loop {
            if self.take_keyword("NOT") {
                self.count_operator()?;
                stack.pending.push(Pending::Not);
                continue;
            }
            if self.take(TokenKind::Open) {
                stack.pending.push(Pending::Open);
                continue;
            }
            let term = self.term(&mut stack.pending)?;
            stack.terms.push(term);
            self.close_groups(&mut stack)?;
            if self.take_keyword("AND") {
                self.count_operator()?;
                stack.reduce_while(&[Pending::And]);
                stack.pending.push(Pending::And);
            } else if self.take_keyword("OR") {
                self.count_operator()?;
                stack.reduce_while(&[Pending::And, Pending::Or]);
                stack.pending.push(Pending::Or);
            } else {
                return self.finish(stack);
            }
        }
    }

    /// After a term: applies `NOT` to it and closes the groups that end here.
    fn close_groups(&mut self, stack: &mut Stack) -> Result<(), Problem> {
        loop {
            stack.reduce_while(&[Pending::Not]);
            if self.peek_kind() != TokenKind::Close {
                return Ok(());
            }
            stack.reduce_while(&[Pending::And, Pending::Or]);
            if stack.pending.pop() != Some(Pending::Open) {
                return Err(self.unexpected());
            }
            self.position += 1;
            if let Some(term) = stack.terms.last_mut() {
                self.redundant_parentheses |= term.grouped;
                term.grouped = true;
            }
        }
    }

    fn finish(&mut self, mut stack: Stack) -> Result<Condition, Problem> {
        stack.reduce_while(&[Pending::And, Pending::Or]);
        let condition = stack.terms.pop().map(|term| term.condition);
        match condition {
            Some(condition) if self.peek_kind() == TokenKind::End && stack.pending.is_empty() => {
                Ok(condition)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A comparison, `BETWEEN`, `IN` or function; parentheses before it are already pending.
    fn term(&mut self, pending: &mut Vec<Pending>) -> Result<Term, Problem> {
        let mut operand = self.bare_operand()?;
        let mut grouped = false;
        while self.peek_kind() == TokenKind::Close && pending.last() == Some(&Pending::Open) {
            pending.pop();
            self.position += 1;
            self.redundant_parentheses |= grouped;
            grouped = !self.continue_path(&mut operand)?;
        }
        if let Some(comparator) = self.comparator() {
            self.count_operator()?;
            let right = self.operand(true)?;
            let condition = Condition::Compare { comparator, left: operand, right };
            return Ok(Term { condition, grouped: false });
        }
        if self.take_keyword("BETWEEN") {
            self.count_operator()?;
            let low = self.operand(true)?;
            if !self.take_keyword("AND") {
                return Err(self.unexpected());
            }
            let high = self.operand(true)?;
            return Ok(Term {
                condition: Condition::Between { operand, low, high },
                grouped: false,
            });
        }
        if self.take_keyword("IN") {
            self.count_operator()?;
            self.expect(TokenKind::Open)?;
            let candidates = self.operand_list(true)?;
            return Ok(Term { condition: Condition::In { operand, candidates }, grouped: false });
        }
        match operand {
            Operand::Call(call) => Ok(Term { condition: Condition::Call(call), grouped }),
            _ => Err(self.unexpected()),
        }
    }

    fn comparator(&mut self) -> Option<Comparator> {
        let comparator = match self.peek_kind() {
            TokenKind::Equal => Comparator::Equal,
            TokenKind::NotEqual => Comparator::NotEqual,
            TokenKind::Less => Comparator::Less,
            TokenKind::LessOrEqual => Comparator::LessOrEqual,
            TokenKind::Greater => Comparator::Greater,
            TokenKind::GreaterOrEqual => Comparator::GreaterOrEqual,
            _ => return None,
        };
        self.position += 1;
        Some(comparator)
    }
}
