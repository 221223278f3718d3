//! Steps: a write with a condition, and the error that a failed condition means.

use keyloom_api::Expression;
use keyloom_api::items::{
    ConditionInput, DeleteItemInput, PutItemInput, UpdateItemInput, WriteReturns,
};
use keyloom_api::transactions::{TransactAction, TransactEdit, TransactWriteItemsInput};
use keyloom_core::error::CancellationCode;
use keyloom_core::expr::{Change, Update};
use keyloom_core::{Error as Refusal, Item};

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::retry::{Attempt, AttemptError, Retry};

/// One write of a group that succeeds or fails as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) action: TransactAction,
    pub(crate) refused: Refused,
}

/// What a failed condition means.
#[derive(Clone, Debug)]
pub(crate) enum Refused {
    AlreadyExists {
        entity: &'static str,
        key: String,
    },
    NotFound {
        entity: &'static str,
        key: String,
    },
    NotUnique {
        entity: &'static str,
        rule: String,
    },
    Conflict {
        entity: &'static str,
        key: String,
    },
    /// There is no item, or it has other values in fields that never change.
    Fixed {
        entity: &'static str,
        key: String,
        fields: String,
    },
    /// The migration has been switched meanwhile.
    Switched,
    /// No special meaning: the database's error is returned.
    Plain,
}

impl Refused {
    /// The error, given the item that the condition was tested on.
    pub(super) fn into_error(self, plain: Refusal, found: Option<&Item>) -> Error {
        match self {
            Self::AlreadyExists { entity, key } => Error::AlreadyExists { entity, key },
            Self::NotFound { entity, key } => Error::NotFound { entity, key },
            Self::NotUnique { entity, rule } => Error::NotUnique { entity, rule },
            Self::Conflict { entity, key } => Error::Conflict { entity, key, attempts: 1 },
            Self::Fixed { entity, key, fields: field } => match found {
                Some(_) => Error::Immutable { entity, key, field },
                None => Error::NotFound { entity, key },
            },
            Self::Switched => Error::Switched,
            Self::Plain => Error::Database(plain),
        }
    }
}

impl Step {
    pub(crate) fn new(
        table: &str,
        edit: TransactEdit,
        condition: ConditionInput,
        refused: Refused,
    ) -> Self {
        let action = TransactAction {
            table_name: table.to_owned(),
            edit,
            condition,
            // After a lost response, the stored item shows whether the write was ours.
            return_item_on_failure: true,
        };
        Self { action, refused }
    }
}

/// Runs all steps or none: one as a single request, several as a transaction.
pub(crate) fn run(backend: &Backend, retry: &Retry, mut steps: Vec<Step>) -> Result<()> {
    match steps.pop() {
        None => Ok(()),
        Some(step) if steps.is_empty() && !matches!(step.action.edit, TransactEdit::Check(_)) => {
            run_alone(backend, retry, step)
        }
        Some(last) => {
            steps.push(last);
            run_together(backend, retry, steps, None)
        }
    }
}

fn run_alone(backend: &Backend, retry: &Retry, step: Step) -> Result<()> {
    let Step { action, refused } = step;
    let operation = match &action.edit {
        TransactEdit::Put(_) => "PutItem",
        TransactEdit::Update(..) => "UpdateItem",
        TransactEdit::Delete(_) | TransactEdit::Check(_) => "DeleteItem",
    };
    // Puts and deletes have the same result when repeated; an update may add.
    let repeatable = !matches!(&action.edit, TransactEdit::Update(_, update) if adds(update));
    let done = retry.run(operation, repeatable, |attempt| match send_alone(backend, &action) {
        Err(AttemptError::Refused(Refusal::ConditionalCheckFailed { item }))
            if was_ours(&action.edit, item.as_ref(), attempt) =>
        {
            Ok(())
        }
        other => other,
    });
    match done {
        Err(Error::Database(Refusal::ConditionalCheckFailed { item })) => {
            let plain = Refusal::ConditionalCheckFailed { item: item.clone() };
            Err(refused.into_error(plain, item.as_ref()))
        }
        other => other,
    }
}

/// Whether an update changes the item again when it is repeated.
fn adds(update: &Expression<Update>) -> bool {
    match update {
        Expression::Text(text) => text.contains("ADD"),
        Expression::Tree(tree) => {
            tree.actions().iter().any(|action| matches!(action.change, Change::Add(_)))
        }
    }
}

/// Whether a condition failed only because an earlier attempt, whose answer was lost, had been carried out.
fn was_ours(edit: &TransactEdit, found: Option<&Item>, attempt: Attempt) -> bool {
    attempt.after_unknown
        && match edit {
            TransactEdit::Put(item) => found == Some(item),
            TransactEdit::Delete(_) => found.is_none(),
            TransactEdit::Update(..) | TransactEdit::Check(_) => false,
        }
}

fn send_alone(backend: &Backend, action: &TransactAction) -> Result<(), AttemptError> {
    let (table_name, condition) = (action.table_name.clone(), action.condition.clone());
    let returns =
        WriteReturns { item_on_failure: condition.expression.is_some(), ..WriteReturns::default() };
    match &action.edit {
        TransactEdit::Put(item) => {
            backend.put_item(PutItemInput { table_name, item: item.clone(), condition, returns })
        }
        TransactEdit::Update(key, update) => backend.update_item(UpdateItemInput {
            table_name,
            key: key.clone(),
            update: Some(update.clone()),
            condition,
            returns,
            ..UpdateItemInput::default()
        }),
        TransactEdit::Delete(key) | TransactEdit::Check(key) => backend
            .delete_item(DeleteItemInput { table_name, key: key.clone(), condition, returns }),
    }
    .map(drop)
}

/// Runs all steps or none, in a transaction.
pub(crate) fn run_together(
    backend: &Backend,
    retry: &Retry,
    steps: Vec<Step>,
    token: Option<String>,
) -> Result<()> {
    // The token makes a repeated transaction the same one, also when an answer was lost.
    let token = token.or_else(|| (!backend.is_embedded()).then(client_token));
    let done = retry.run("TransactWriteItems", token.is_some(), |_| {
        backend.transact_write(TransactWriteItemsInput {
            actions: steps.iter().map(|step| step.action.clone()).collect(),
            client_request_token: token.clone(),
            ..TransactWriteItemsInput::default()
        })
    });
    match done {
        Err(Error::Database(Refusal::TransactionCanceled(reasons))) => {
            let code = CancellationCode::ConditionalCheckFailed;
            let failed = |(at, _): &(usize, &Step)| {
                reasons.get(*at).is_some_and(|reason| reason.code == code)
            };
            let failed: Vec<(usize, &Step)> = steps.iter().enumerate().filter(failed).collect();
            // After a switch of a migration, the other conditions were checked against the old tables: report the switch.
            let switched =
                failed.iter().find(|(_, step)| matches!(step.refused, Refused::Switched));
            let at = switched.or(failed.first()).map(|(at, _)| *at);
            match at.and_then(|at| steps.get(at)) {
                Some(step) => {
                    let plain = Refusal::TransactionCanceled(reasons.clone());
                    let found = at.and_then(|at| reasons.get(at)?.item.as_ref());
                    Err(step.refused.clone().into_error(plain, found))
                }
                None => Err(Error::Database(Refusal::TransactionCanceled(reasons))),
            }
        }
        other => other,
    }
}

/// A random idempotency token for a transaction.
pub(crate) fn client_token() -> String {
    let half = || getrandom::u64().unwrap_or_default();
    format!("{:016x}{:016x}", half(), half())
}
