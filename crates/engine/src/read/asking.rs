//! Reads whose thread must not wait for the store.
//!
//! GetItem and Query ask the store one question, as a rule. An attempt to answer them [`asks`](asking): the first question
//! is taken down instead of being waited for, and the attempt ends. When the store has answered, the request is run
//! again, [with the answer at hand](with). To parse a request twice costs a fraction of what a thread costs that waits.

use std::cell::RefCell;

use keyloom_core::{Error, Result};
use keyloom_store::{Bytes, Direction, Expected, FirstPage, KeyRange};

/// What an attempt wants to know.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// The value of a key.
    Value(Vec<u8>),
    /// The beginning of a range.
    Page(KeyRange, Direction, Expected),
}

/// The answer to a question.
#[derive(Debug)]
pub(crate) enum Answer {
    Value(Option<Bytes>),
    Page(Option<FirstPage>),
}

/// What a read of the store on this thread means.
enum Mode {
    /// It is made, and waited for.
    Waiting,
    /// It is taken down, and the attempt ends.
    Asking(Option<Question>),
    /// It finds the answer to its question here, once.
    Answering(Option<(Question, Answer)>),
}

thread_local! {
    static MODE: RefCell<Mode> = const { RefCell::new(Mode::Waiting) };
}

/// Ends the mode of an attempt, also when it panics.
struct Ended;

impl Drop for Ended {
    fn drop(&mut self) {
        MODE.replace(Mode::Waiting);
    }
}

/// Runs an attempt up to its first question; none if it asks nothing, or something else.
pub(crate) fn asking<T>(attempt: impl FnOnce() -> Result<T>) -> Option<Question> {
    MODE.replace(Mode::Asking(None));
    let _ended = Ended;
    // Whatever it says, it has not read what it is about.
    drop(attempt());
    match MODE.replace(Mode::Waiting) {
        Mode::Asking(question) => question,
        Mode::Waiting | Mode::Answering(_) => None,
    }
}

/// Runs an attempt with the answer to its first question; none if it asks more than that, or something else: the table
/// that it asks about may be another one now.
pub(crate) fn with<T>(
    question: Question,
    answer: Answer,
    attempt: impl FnOnce() -> Result<T>,
) -> Option<Result<T>> {
    MODE.replace(Mode::Answering(Some((question, answer))));
    let _ended = Ended;
    let outcome = attempt();
    match MODE.replace(Mode::Waiting) {
        // It has asked again, and this was noted in place of the answer.
        Mode::Asking(_) => None,
        Mode::Waiting | Mode::Answering(_) => Some(outcome),
    }
}

/// Whether this is an attempt that only asks: it must leave no trace.
pub(crate) fn is_asking() -> bool {
    MODE.with_borrow(|mode| matches!(mode, Mode::Asking(_)))
}

/// The answer to a question, if there is one at hand. `None` if the store is to be asked; an error if this is an attempt
/// that must not wait for it.
pub(super) fn answer(question: impl FnOnce() -> Question) -> Result<Option<Answer>> {
    MODE.with_borrow_mut(|mode| match mode {
        Mode::Waiting => Ok(None),
        Mode::Asking(asked) => {
            asked.get_or_insert_with(question);
            Err(interrupted())
        }
        Mode::Answering(known) => match known.take() {
            Some((asked, answer)) if asked == question() => Ok(Some(answer)),
            _ => {
                *mode = Mode::Asking(None);
                Err(interrupted())
            }
        },
    })
}

/// Ends an attempt that must not wait and is about to read what is no question.
pub(crate) fn refuse_to_wait() -> Result<()> {
    MODE.with_borrow_mut(|mode| match mode {
        Mode::Waiting => Ok(()),
        Mode::Asking(_) => Err(interrupted()),
        Mode::Answering(_) => {
            *mode = Mode::Asking(None);
            Err(interrupted())
        }
    })
}

/// Clients never see it: the caller of an attempt checks what was asked.
fn interrupted() -> Error {
    Error::InternalServer("this read must not wait".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value_of(key: &str) -> Result<Option<Bytes>> {
        match answer(|| Question::Value(key.into()))? {
            Some(Answer::Value(value)) => Ok(value),
            _ => Ok(Some("from the store".into())),
        }
    }

    #[test]
    fn an_attempt_asks_once_and_is_answered_once() {
        assert_eq!(asking(|| value_of("a")), Some(Question::Value("a".into())));
        assert_eq!(asking(|| Ok(())), None);
        let asked = || Question::Value("a".into());
        let known = || Answer::Value(Some("known".into()));
        let answered = with(asked(), known(), || value_of("a"));
        assert_eq!(answered.unwrap().unwrap(), Some("known".into()));
        let twice = with(asked(), known(), || value_of("a").and_then(|_| value_of("b")));
        assert!(twice.is_none(), "the second question has no answer at hand");
        let waits = with(asked(), known(), || value_of("a").and_then(|_| refuse_to_wait()));
        assert!(waits.is_none());
        let other = with(asked(), known(), || value_of("b"));
        assert!(other.is_none(), "the answer is to another question");
        assert_eq!(value_of("a").unwrap(), Some("from the store".into()), "and that is over");
    }

    #[test]
    fn a_panic_ends_the_attempt() {
        let panicked =
            std::panic::catch_unwind(|| asking(|| -> Result<()> { panic!("on purpose") }));
        assert!(panicked.is_err() && !is_asking());
    }
}
