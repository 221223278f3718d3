//! Switches that make the planner wrong, for mutation testing: a test turns one on and expects the random designs to
//! find it.
//!
//! Builds without debug assertions have no switches. A switch holds on one thread, so that tests run side by side.

macro_rules! mutations {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// A proof that is left out, or a part of a plan that is wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Mutation {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Mutation {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),+];
        }
    };
}

mutations! {
    /// Rows: a sparse index is read as if it held every item.
    SparseIsWhole,
    /// Rows: what a key's `when` asks is taken to follow from any pattern.
    WhenIsImplied,
    /// Rows: an end that a condition leaves out is taken for one that it includes.
    EndsAreIncluded,
    /// Rows: what a text begins with is looked for in keys that write it in another form.
    FormsBeginAlike,
    /// Rows: the texts of any range are taken to lie next to each other.
    RangesLieTogether,
    /// Rows: the last of several periods is not read.
    LastPeriodIsLeft,
    /// Rows: entities under different partition keys are read by one request.
    PartitionsAreShared,
    /// Rows: entities with different sort keys are read by the range of the first.
    SortKeysAreAlike,
    /// Rows: what a filter drops counts towards the limit of the request.
    FilteredRowsCount,
    /// Rows: a link that tells the day is taken to tell the moment.
    LinksTellMoments,
    /// Rows: a hand-written request is taken for what `where` compiles to.
    HandsAreRight,
    /// Rows: a hand-written request is compared with the planned one on samples alone.
    SamplesProve,
    /// Purity: no entity has keys in the range of another.
    StrangersNeverMeet,
    /// Purity: entities are told apart by literals of which one begins with the other.
    BeginningsTellApart,
    /// Purity: a common beginning that ends inside a value is taken to end with it.
    PrefixesEndValues,
    /// Purity: no value contains the separator.
    SeparatorsAreSafe,
    /// Purity: the texts of times in any form are compared as if they sorted by time.
    LooseTimesSort,
    /// Purity: a part of a field in a key, such as its day, is taken for the field.
    PiecesTellFields,
    /// Purity: the periods around a beginning are all read.
    BeginningsArePeriods,
    /// Purity: conditions that no key expresses are dropped.
    ConditionsAreForgotten,
    /// Purity: the common range of several entities is taken to express the conditions of each.
    CommonRangesTell,
    /// Purity: nothing else has the keys that links lead to.
    LinksMeetTheirTargets,
    /// Order: rows of several requests are merged by what they do not return.
    RowsAlwaysMerge,
    /// Order: values of several entities are compared in whatever form each has.
    EntitiesWriteAlike,
    /// Order: rows of entities with different keys are taken to be interleaved.
    EntitiesInterleave,
    /// Order: a period that is given for a time is taken for one moment.
    PeriodsAreMoments,
    /// Order: keys that are turned round are read as if they were not.
    KeysAreUpright,
    /// Order: every text sorts like its value.
    TextsSortLikeValues,
    /// Order: fields that come first in a key sort nothing.
    FieldsBeforeDoNotSort,
    /// Order: a hand-written request that states a part of a field is taken to pin it.
    HandsPinPeriods,
    /// Limit: the first rows are the right ones in any order.
    LimitsNeedNoOrder,
    /// Limit: rows of other entities do not count.
    LimitsCountStrangers,
    /// Identity: any range holds one row at most.
    EveryKeyIsUnique,
    /// Identity: a period identifies what has moments in its key.
    PeriodsIdentify,
    /// Coverage: an index holds every attribute.
    IndexesHoldAll,
    /// Coverage: a key tells each field of which it holds a part.
    KeysTellTheirFields,
    /// Coverage: every item has the keys of every index.
    KeysAreAlwaysWritten,
    /// Coverage: an index through which links lead returns whole items.
    SecondStepsReturnAll,
    /// Consistency: a global index is read strongly.
    GlobalIndexesAreStrong,
    /// Requests: one period too few is counted.
    LastPeriodIsNotCounted,
    /// Requests: keys of an index are fetched by BatchGetItem.
    IndexesTakeBatches,
}

#[cfg(debug_assertions)]
std::thread_local! {
    /// A bit for each mutation.
    static ON_THIS_THREAD: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

#[cfg(debug_assertions)]
const fn bit(mutation: Mutation) -> u64 {
    1 << mutation as u64
}

/// Whether the planner is to be wrong in this way.
#[cfg(debug_assertions)]
pub(crate) fn is_on(mutation: Mutation) -> bool {
    ON_THIS_THREAD.with(|on| on.get() & bit(mutation) != 0)
}

/// Never in a build without debug assertions.
#[cfg(not(debug_assertions))]
pub(crate) const fn is_on(_: Mutation) -> bool {
    false
}

/// Makes the planner wrong in these ways while `run` runs on this thread.
#[cfg(debug_assertions)]
pub fn with<T>(mutations: &[Mutation], run: impl FnOnce() -> T) -> T {
    ON_THIS_THREAD.with(|on| on.set(mutations.iter().map(|one| bit(*one)).sum()));
    let outcome = run();
    ON_THIS_THREAD.with(|on| on.set(0));
    outcome
}
