//! Time-bucketed partitions: `SENSOR#123#2023-05` holds May, so a range over a year is twelve queries.

use crate::error::{BuildError, RangeError};
use crate::format::{FieldFormat, FieldType};
use crate::range::{FieldCondition, KeyRange, Operator, Term};
use crate::template::Template;
use crate::time::{Precision, Timestamp};
use crate::value::Value;

/// One query of several: a partition and the range of sort keys in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketRange {
    /// The partition key.
    pub partition_key: String,
    /// The sort keys wanted in that partition.
    pub range: KeyRange,
}

/// The queries that cover a time range, oldest first; reversed, newest first. They are made one at a time, so that a
/// reader who has enough can stop early.
#[derive(Clone, Debug)]
pub struct Buckets<'t> {
    partition: &'t Template,
    sort: &'t Template,
    partition_values: Vec<(String, Value<'static>)>,
    sort_values: Vec<(String, Value<'static>)>,
    condition: FieldCondition<'static>,
    precision: Precision,
    /// The next bucket at each end, as steps of the precision.
    next: i64,
    last: i64,
}

/// Lists the partitions and sort-key ranges for a condition on time, where the partition template cuts time into
/// buckets and the sort template holds the whole time under the same name.
///
/// ```
/// use keyloom_keys::{FieldCondition, Template, bucket_ranges};
///
/// let partition = Template::parse("SENSOR#{sensor}#{at:month}")?;
/// let sort = Template::parse("{at:datetime}")?;
/// let condition = FieldCondition::between("at", "2023-11-20", "2024-01-10");
/// let buckets = bucket_ranges(&partition, &sort, &[("sensor", "123".into())], &condition)?;
/// let newest_first: Vec<_> = buckets.rev().collect::<Result<_, _>>()?;
/// assert_eq!(newest_first.len(), 3);
/// assert_eq!(newest_first[0].partition_key, "SENSOR#123#2024-01");
/// assert_eq!(newest_first[0].range.upper(), "2024-01-10T23:59:59Z");
/// assert_eq!(newest_first[2].range.lower(), "2023-11-20T00:00:00Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn bucket_ranges<'t>(
    partition: &'t Template,
    sort: &'t Template,
    bound: &[(&str, Value<'_>)],
    condition: &FieldCondition<'_>,
) -> Result<Buckets<'t>, RangeError> {
    let name = condition.field();
    let not_bucketed = |reason: String| RangeError::NotBucketed { reason };
    let precision = partition
        .field(name)
        .filter(|field| field.format().is_bucket())
        .and_then(|field| field.format().precision())
        .ok_or_else(|| {
            not_bucketed(format!("partition template `{partition}` has no time bucket named `{name}`, such as `{{{name}:month}}`"))
        })?;
    if sort.field(name).is_none_or(|field| field.format().precision() <= Some(precision)) {
        return Err(not_bucketed(format!(
            "sort template `{sort}` has no field `{name}` finer than the bucket, so the range could not be cut exactly"
        )));
    }
    if let Some((unknown, _)) =
        bound.iter().find(|(name, _)| partition.field(name).is_none() && sort.field(name).is_none())
    {
        let known =
            partition.fields().chain(sort.fields()).map(|field| field.name().to_owned()).collect();
        let template = format!("{partition}` with `{sort}");
        return Err(RangeError::Build(BuildError::Unknown {
            template,
            field: (*unknown).to_owned(),
            known,
        }));
    }
    let (from, to) = time_range(condition)?;
    let values_of = |template: &Template| -> Vec<(String, Value<'static>)> {
        let known = bound.iter().filter(|(name, _)| template.field(name).is_some());
        known.map(|(name, value)| ((*name).to_owned(), value.clone().into_owned())).collect()
    };
    Ok(Buckets {
        partition,
        sort,
        partition_values: values_of(partition),
        sort_values: values_of(sort),
        condition: condition.clone().into_owned(),
        precision,
        next: precision.index_of(from),
        last: precision.index_of(to),
    })
}

/// The first and last millisecond that a condition allows.
fn time_range(condition: &FieldCondition<'_>) -> Result<(i64, i64), RangeError> {
    let field = || condition.field().to_owned();
    let format = FieldFormat::new(FieldType::DateTimeMs)
        .map_err(|error| RangeError::NotBucketed { reason: error.to_string() })?;
    let (mut from, mut to) = (None::<i128>, None::<i128>);
    for term in condition.terms() {
        let (operator, value) = match term {
            Term::Compare(operator, value) => (*operator, value.clone()),
            Term::BeginsWith(text) => (Operator::Eq, Value::from(text.as_ref())),
        };
        let (first, last) = format
            .span(&value)
            .map_err(|error| RangeError::Build(BuildError::value(condition.field(), error)))?;
        let (low, high) = match operator {
            Operator::Eq => (Some(first), Some(last)),
            Operator::Ge => (Some(first), None),
            Operator::Gt => (Some(last.saturating_add(1)), None),
            Operator::Le => (None, Some(last)),
            Operator::Lt => (None, Some(first.saturating_sub(1))),
        };
        from = from.max(low);
        to = match (to, high) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    let (Some(from), Some(to)) = (from, to) else {
        return Err(RangeError::Unbounded { field: field() });
    };
    if from > to {
        return Err(RangeError::Empty { field: field() });
    }
    let (least, greatest) = format.ordinals().unwrap_or_default();
    let clamp = |ordinal: i128| i64::try_from(ordinal.clamp(least, greatest)).unwrap_or_default();
    Ok((clamp(from), clamp(to)))
}

impl Buckets<'_> {
    /// The most queries that can come; fewer if some buckets turn out empty.
    pub fn remaining(&self) -> u64 {
        self.last.saturating_sub(self.next).saturating_add(1).max(0).unsigned_abs()
    }

    fn at(&self, index: i64) -> Result<BucketRange, RangeError> {
        let time = Timestamp::from_millis(self.precision.start_of(index)).at(self.precision);
        let mut values: Vec<(&str, Value<'_>)> = self
            .partition_values
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        values.push((self.condition.field(), Value::Time(time)));
        let partition_key = self.partition.build(&values)?;
        let bound: Vec<(&str, Value<'_>)> =
            self.sort_values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let clipped = self.condition.clone().and(Term::Compare(Operator::Eq, Value::Time(time)));
        Ok(BucketRange { partition_key, range: self.sort.range(&bound, Some(&clipped))? })
    }
}

impl Iterator for Buckets<'_> {
    type Item = Result<BucketRange, RangeError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.next <= self.last {
            let index = self.next;
            self.next += 1;
            match self.at(index) {
                Err(RangeError::Empty { .. }) => {}
                found => return Some(found),
            }
        }
        None
    }
}

impl DoubleEndedIterator for Buckets<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        while self.next <= self.last {
            let index = self.last;
            self.last -= 1;
            match self.at(index) {
                Err(RangeError::Empty { .. }) => {}
                found => return Some(found),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(
        partition: &str,
        sort: &str,
        condition: &FieldCondition<'_>,
    ) -> Result<Vec<BucketRange>, RangeError> {
        let (partition, sort) =
            (Template::parse(partition).unwrap(), Template::parse(sort).unwrap());
        bucket_ranges(&partition, &sort, &[], condition)?.collect()
    }

    #[test]
    fn buckets_cover_the_range_and_no_more() {
        let condition = FieldCondition::half_open("at", "2024-02-28T23:00:00Z", "2024-03-01");
        let found = keys("D#{at:date}", "{at:datetime:ms}#{id}", &condition).unwrap();
        let partitions: Vec<_> = found.iter().map(|bucket| bucket.partition_key.as_str()).collect();
        assert_eq!(partitions, ["D#2024-02-28", "D#2024-02-29"]);
        assert_eq!(found[0].range.lower(), "2024-02-28T23:00:00.000Z#");
        assert_eq!(found[1].range.upper(), "2024-02-29T23:59:59.999Z#\u{10FFFF}");
    }

    #[test]
    fn a_range_needs_both_ends_and_a_bucket() {
        let open = FieldCondition::ge("at", "2024-01-01");
        assert!(matches!(
            keys("D#{at:date}", "{at:datetime}", &open),
            Err(RangeError::Unbounded { .. })
        ));
        let closed = FieldCondition::between("at", "2024-01-01", "2024-01-02");
        assert!(matches!(
            keys("D#{id}", "{at:datetime}", &closed),
            Err(RangeError::NotBucketed { .. })
        ));
        assert!(matches!(
            keys("D#{at:date}", "{at:month}", &closed),
            Err(RangeError::NotBucketed { .. })
        ));
        let reversed = FieldCondition::between("at", "2024-01-03", "2024-01-02");
        assert!(matches!(
            keys("D#{at:date}", "{at:datetime}", &reversed),
            Err(RangeError::Empty { .. })
        ));
    }

    #[test]
    fn descending_sort_keys_are_cut_as_well() {
        let condition = FieldCondition::eq("at", "2024");
        let found = keys("Y#{at:month}", "{at:date:desc}", &condition).unwrap();
        assert_eq!(found.len(), 12);
        assert!(found[1].range.contains("7975-97-70"), "29 February, complemented");
        assert!(!found[1].range.contains("7975-97-69"));
    }
}
