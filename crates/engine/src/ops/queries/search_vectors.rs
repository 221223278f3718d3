//! SearchVectors.

use std::ops::Bound;

use keyloom_api::queries::{SearchVectorsInput, SearchVectorsOutput};
use keyloom_core::capacity::{ReadMode, Units, vector_search_bytes};
use keyloom_core::error::message::vector as message;
use keyloom_core::error::request;
use keyloom_core::expr::{Projection, ResolvedKeyCondition, ResolvedSearch, SearchCondition};
use keyloom_core::image::{Row, Stored};
use keyloom_core::observation::{Question, Touch, Work};
use keyloom_core::schema::VectorIndexSchema;
use keyloom_core::size::item_size;
use keyloom_core::{AttributeValue, Item, Number, Operation, Result, limits};
use keyloom_store::KeyRange;

use crate::catalog::record::Phase;
use crate::catalog::{Table, VectorIndex};
use crate::database::{Database, Inner};
use crate::observe::{self, Ended};
use crate::vector::{EntryRef, Hit, Query, Search};
use crate::{layout, store_error};

impl Database {
    /// Finds the items whose vectors are nearest to a vector, in a vector index.
    ///
    /// Every vector of the index, or of the partition that the condition names, is compared, so the
    /// answer is exact and takes time in proportion to their number.
    pub fn search_vectors(&self, input: &SearchVectorsInput) -> Result<SearchVectorsOutput> {
        self.inner().on_current_tables(true, || run(self.inner(), input))
    }
}

pub(crate) fn call(database: &Inner, body: &[u8]) -> Result<Vec<u8>> {
    let input = SearchVectorsInput::decode(body)?;
    run(database, &input)?.encode(input.return_consumed_capacity)
}

fn run(database: &Inner, input: &SearchVectorsInput) -> Result<SearchVectorsOutput> {
    if !(1..=limits::MAX_VECTOR_RESULTS).contains(&input.top_k) {
        return Err(message::top_k_out_of_range(input.top_k, limits::MAX_VECTOR_RESULTS));
    }
    if !input.search_vector.iter().all(|float| float.is_finite()) {
        return Err(message::search_vector_invalid());
    }
    let (condition, projection) = input.expressions()?;
    let table = database.catalog.table(&input.table_name)?;
    let index = searchable(database, &table, &input.index_name)?;
    let dimensions = index.schema.dimensions;
    if input.search_vector.len() != dimensions {
        return Err(message::search_vector_size(input.search_vector.len(), dimensions));
    }
    let ResolvedSearch { hash, filters } = SearchCondition::resolve(condition, &index.schema)?;
    let search = Search {
        range: KeyRange::prefix(&layout::partition(index.keyspace, hash.as_deref())?),
        dimensions,
        query: Query::new(index.schema.distance, &input.search_vector),
        filters,
        top_k: input.top_k,
    };
    let Some(observing) = database.observe(Operation::SearchVectors) else {
        return Ok(found(database, &search, index, projection.as_ref())?.0);
    };
    let condition = hash.as_deref().map(|value| ResolvedKeyCondition {
        hash: vec![value.clone()],
        range_prefix: Vec::new(),
        range: None,
    });
    let asked = Asked { table: &table, index, condition, limit: input.top_k };
    let read = Ended::of_read(projection.is_some(), ReadMode::Eventual);
    observing.admit_read(&[asked.touch(&search.range, 0)], read)?;
    let (output, scanned) = found(database, &search, index, projection.as_ref())?;
    let ended =
        Ended { question: Some(asked.question(scanned)), returned: output.results.len(), ..read };
    let bytes = usize::try_from(output.search_bytes).unwrap_or(usize::MAX);
    observing.done(&[asked.touch(&search.range, bytes)], ended);
    Ok(output)
}

/// The answer, and how many entries were compared.
fn found(
    database: &Inner,
    search: &Search,
    index: &VectorIndex,
    projection: Option<&Projection>,
) -> Result<(SearchVectorsOutput, usize)> {
    let snapshot = database.store.snapshot().map_err(store_error)?;
    let (hits, scanned) = search.run(snapshot.as_ref())?;
    Ok((answer(&index.schema, projection, hits)?, scanned))
}

/// A search as an observer sees it.
struct Asked<'a> {
    table: &'a Table,
    index: &'a VectorIndex,
    condition: Option<ResolvedKeyCondition>,
    limit: usize,
}

impl Asked<'_> {
    /// The partition that is searched, or all of the index. Searches are paid by the byte.
    fn touch<'t>(&'t self, range: &'t KeyRange, bytes: usize) -> Touch<'t> {
        let key = match &range.lower {
            Bound::Included(key) | Bound::Excluded(key) => key.as_ref(),
            Bound::Unbounded => &[],
        };
        let place = observe::vector_place(self.table, self.index);
        observe::touch(place, key, Work::Read(Units::ZERO), bytes)
    }

    fn question(&self, scanned: usize) -> Question<'_> {
        Question {
            place: observe::vector_place(self.table, self.index),
            condition: self.condition.as_ref(),
            filter: None,
            limit: Some(self.limit),
            is_forward: true,
            is_continued: false,
            has_more: false,
            scanned,
        }
    }
}

/// The index of this name, if it can be searched.
fn searchable<'a>(database: &Inner, table: &'a Table, name: &str) -> Result<&'a VectorIndex> {
    let index = table.vector_index(name).ok_or_else(|| request::index_not_found(name))?;
    match index.life.phase(database.clock.now_ms()) {
        Phase::Active => Ok(index),
        Phase::Allocating | Phase::Backfilling => Err(message::index_backfilling(name)),
        Phase::Deleting => Err(request::index_not_found(name)),
    }
}

/// The answer to a search; results that would make it too large are left out, the worst first.
fn answer(
    index: &VectorIndexSchema,
    projection: Option<&Projection>,
    hits: Vec<Hit>,
) -> Result<SearchVectorsOutput> {
    let returns_vector = projection
        .is_some_and(|projection| projection.attributes().any(|name| name == index.attribute));
    let mut results = Vec::with_capacity(hits.len());
    let (mut read_bytes, mut answer_bytes) = (0, 0);
    for Hit { score, entry } in hits {
        let held = EntryRef::new(&entry, index.dimensions)?.image()?.size_bytes();
        let row = match projection {
            Some(projection) => Row::Item(projected(index, projection, &entry)?),
            None => {
                Row::Stored(Stored::new(entry.slice(EntryRef::image_start(index.dimensions)..)))
            }
        };
        answer_bytes += match &row {
            Row::Item(item) => item_size(item),
            Row::Stored(_) => held,
        };
        if answer_bytes > limits::MAX_VECTOR_RESPONSE_BYTES {
            break;
        }
        read_bytes += held;
        results.push((row, score));
    }
    let vectors = if returns_vector { results.len() } else { 0 };
    Ok(SearchVectorsOutput {
        search_bytes: vector_search_bytes(index.dimensions, results.len(), read_bytes, vectors),
        results,
        vector_attribute: index.attribute.clone(),
    })
}

/// What a projection keeps of an entry. The vector is that of the index: floats.
fn projected(index: &VectorIndexSchema, projection: &Projection, entry: &[u8]) -> Result<Item> {
    let entry = EntryRef::new(entry, index.dimensions)?;
    let mut item = entry.image()?.decode()?;
    if projection.attributes().any(|name| name == index.attribute) {
        let number = |float: f32| Ok(AttributeValue::N(Number::parse(&format!("{float:?}"))?));
        let vector = entry.vector().map(number).collect::<Result<_>>()?;
        item.insert(index.attribute.clone(), AttributeValue::L(vector));
    }
    Ok(projection.apply(&item))
}
