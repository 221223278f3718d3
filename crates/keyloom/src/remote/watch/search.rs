//! Searches of vectors.

use keyloom_api::FromBody;
use keyloom_api::queries::SearchVectorsInput;
use keyloom_core::expr::{ResolvedKeyCondition, SearchCondition};
use keyloom_core::json::{self, Json};
use keyloom_core::key::encode_key_values;
use keyloom_core::observation::{Observation, Operation, Outcome, Question};

use super::account::vector_arm;
use super::described::Spot;
use super::look::Look;
use super::outcome;
use super::touches::Drawn;
use crate::retry::Failure;

impl Look<'_> {
    /// Tells of a search: which partition of which index, how many were found, how many bytes it is billed for.
    pub(super) fn search(&self, body: &[u8], sent: &Result<Vec<u8>, Failure>) -> Option<()> {
        let input = SearchVectorsInput::from_body(body).ok()?;
        let table = self.described(&input.table_name, Some(&input.index_name))?;
        let at = table.vector_position(&input.index_name)?;
        let schema = table.schema.vector_indexes.get(at)?;
        let hash = SearchCondition::resolve(input.expressions().ok()?.0, schema).ok()?.hash;
        let condition = hash.map(|value| ResolvedKeyCondition {
            hash: vec![value.as_ref().clone()],
            range_prefix: Vec::new(),
            range: None,
        });
        let partition =
            encode_key_values(condition.iter().flat_map(|condition| &condition.hash)).ok()?;
        let (outcome, answer) = match sent {
            Ok(body) => (Outcome::Done, found(body)),
            Err(failure) => match outcome::of(failure, &mut []) {
                Some(refused) => (refused.outcome, Found::default()),
                // Told as an error of the request.
                None => return Some(()),
            },
        };
        let look = self.of(Operation::SearchVectors);
        let question = Question {
            place: table.place(Spot::Vector(at)),
            condition: condition.as_ref(),
            filter: None,
            limit: Some(input.top_k),
            is_forward: true,
            is_continued: false,
            has_more: false,
            // How many vectors were compared is known to the endpoint alone.
            scanned: answer.results,
        };
        let touched =
            Drawn { bytes: answer.bytes, ..Drawn::range(&table, Spot::Vector(at), partition) };
        let observation = Observation {
            question: Some(question),
            returned: answer.results,
            is_projected: input.projection.is_some(),
            ..look.observation(outcome)
        };
        look.tell(&[touched], observation);
        Some(())
    }
}

/// What the answer to a search says.
#[derive(Default)]
struct Found {
    results: usize,
    /// What it is billed for, if the caller asked.
    bytes: usize,
}

fn found(body: &[u8]) -> Found {
    let Ok(Json::Object(answer)) = json::parse(body) else { return Found::default() };
    let results = match answer.get("SearchResults") {
        Some(Json::Array(results)) => results.len(),
        _ => 0,
    };
    let bytes = match answer.get("ConsumedCapacity") {
        Some(Json::Object(stated)) => vector_arm(stated).search_bytes.unwrap_or(0),
        _ => 0,
    };
    Found { results, bytes: usize::try_from(bytes).unwrap_or(usize::MAX) }
}
