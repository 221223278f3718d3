//! Compiles bound fields and a condition to one range of keys.

use std::borrow::Cow;

use super::edge::End;
use super::text::{BeginningError, Ends, TextField, sole_equality, written_beginning};
use super::{FieldCondition, KeyRange, Operator, RangeKind, Term};
use crate::error::{BuildError, RangeError, ValueError, excerpt};
use crate::format::{FieldFormat, FieldType};
use crate::template::{Field, Segment, Template};
use crate::value::Value;

impl Template {
    /// The range of keys whose leading fields have the values given and whose next field satisfies the condition.
    ///
    /// ```
    /// use keyloom_keys::{FieldCondition, RangeKind, Template};
    ///
    /// let order = Template::parse("ORDER#{placed_at:datetime}#{order_id:token}")?;
    /// let range = order.range(&[], Some(&FieldCondition::between("placed_at", "2024-01-01", "2024-01-31")))?;
    /// assert_eq!(range.lower(), "ORDER#2024-01-01T00:00:00Z#");
    /// assert_eq!(range.upper(), "ORDER#2024-01-31T23:59:59Z#\u{10FFFF}");
    /// assert_eq!(range.kind(), &RangeKind::Between);
    ///
    /// let all = order.range(&[], None)?;
    /// assert_eq!(all.prefix(), Some("ORDER#"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range(
        &self,
        bound: &[(&str, Value<'_>)],
        condition: Option<&FieldCondition<'_>>,
    ) -> Result<KeyRange, RangeError> {
        let (prefix, count) = self.bind(bound)?;
        self.check_closed(count)?;
        let Some(condition) = condition else { return Ok(self.range_below(prefix, count)) };
        self.conditioned(prefix, count, condition.field())?.compile(condition.terms())
    }

    /// The ranges of several conditions on the same next field, each as [`Template::range`] makes it; the values of an
    /// enumeration are written once for all.
    ///
    /// ```
    /// use keyloom_keys::{FieldCondition, Template};
    ///
    /// let order = Template::parse("ORDER#{status:enum:open|paid|sent}#{id:ulid}")?;
    /// let pairs = [("open", "paid"), ("paid", "sent")];
    /// let pairs = pairs.map(|(low, high)| FieldCondition::between("status", low, high));
    /// assert!(order.ranges(&[], "status", &pairs)?.all(|range| range.is_ok()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ranges<'r>(
        &'r self,
        bound: &[(&str, Value<'_>)],
        field: &str,
        conditions: &'r [FieldCondition<'_>],
    ) -> Result<impl Iterator<Item = Result<KeyRange, RangeError>> + 'r, RangeError> {
        let (prefix, count) = self.bind(bound)?;
        self.check_closed(count)?;
        let conditioned = self.conditioned(prefix, count, field)?;
        Ok(conditions.iter().map(move |condition| {
            self.next_field(count, condition.field())?;
            conditioned.compile(condition.terms())
        }))
    }

    fn conditioned(
        &self,
        prefix: String,
        count: usize,
        name: &str,
    ) -> Result<Conditioned<'_>, RangeError> {
        let (segment, field) = self.next_field(count, name)?;
        let mut conditioned =
            Conditioned { template: self, prefix, segment, field, count, choices: Vec::new() };
        conditioned.choices = conditioned.listed();
        Ok(conditioned)
    }

    /// The prefix of all keys whose leading fields have these values and whose next field begins with a text. Unlike
    /// [`Template::prefix`], it may end inside a value.
    ///
    /// ```
    /// use keyloom_keys::Template;
    ///
    /// let order = Template::parse("ORDER#{placed_at:datetime}#{order_id:ulid}")?;
    /// assert_eq!(order.partial_prefix(&[], "placed_at", "2024-12")?, "ORDER#2024-12");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn partial_prefix(
        &self,
        bound: &[(&str, Value<'_>)],
        field: &str,
        text: &str,
    ) -> Result<String, RangeError> {
        let range = self.range(bound, Some(&FieldCondition::begins_with(field, text)))?;
        Ok(range.prefix().unwrap_or(range.lower()).to_owned())
    }

    /// All keys with a bound prefix.
    fn range_below(&self, prefix: String, bound: usize) -> KeyRange {
        let Some((segment, _)) = self.numbered_fields().nth(bound) else {
            return KeyRange::exact(prefix);
        };
        let lower = prefix.clone() + &self.edge(segment, End::Least);
        let upper = prefix.clone() + &self.edge(segment, End::Greatest);
        let kind = if prefix.is_empty() { RangeKind::All } else { RangeKind::Prefix(prefix) };
        KeyRange { lower, upper, kind }
    }

    /// Fields with the index of their segment.
    pub(crate) fn numbered_fields(&self) -> impl Iterator<Item = (usize, &Field)> {
        self.segments()
            .iter()
            .enumerate()
            .filter_map(|(at, segment)| Some((at, segment.as_field()?)))
    }

    fn next_field(&self, bound: usize, name: &str) -> Result<(usize, &Field), RangeError> {
        let Some(position) = self.fields().position(|field| field.name() == name) else {
            return Err(RangeError::Build(BuildError::Unknown {
                template: excerpt(self.text()),
                field: name.to_owned(),
                known: self.fields().map(|field| field.name().to_owned()).collect(),
            }));
        };
        let field = name.to_owned();
        match self.numbered_fields().nth(bound) {
            Some(next) if position == bound => Ok(next),
            Some((_, unbound)) if position > bound => {
                Err(RangeError::NotNext { field, unbound: unbound.name().to_owned() })
            }
            _ => Err(RangeError::AlreadyBound { field }),
        }
    }
}

/// A condition on the field that follows a bound prefix.
struct Conditioned<'t> {
    template: &'t Template,
    prefix: String,
    segment: usize,
    field: &'t Field,
    count: usize,
    /// The values of an enumeration.
    choices: Vec<Choice<'t>>,
}

/// A value of an enumeration, and the first and the last of its keys.
struct Choice<'t> {
    value: Cow<'t, str>,
    lower: String,
    upper: String,
}

impl<'t> Conditioned<'t> {
    /// The values of an enumeration in their order.
    fn listed(&self) -> Vec<Choice<'t>> {
        let choices = self.field.format().choices(self.template.codec());
        if choices.is_empty() {
            return Vec::new();
        }
        let [least, greatest] =
            [End::Least, End::Greatest].map(|end| self.template.edge(self.segment + 1, end));
        let key = |written: &str, edge: &str| format!("{}{written}{edge}", self.prefix);
        let choice = |(value, written): (Cow<'t, str>, String)| Choice {
            value,
            lower: key(&written, &least),
            upper: key(&written, &greatest),
        };
        choices.into_iter().map(choice).collect()
    }

    fn compile(&self, terms: &[Term<'_>]) -> Result<KeyRange, RangeError> {
        let format = self.field.format();
        if let [Term::BeginsWith(text)] = terms
            && !matches!(format.kind(), FieldType::Enum(_))
        {
            return self.beginning(text).map(|text| KeyRange::starting_with(&text));
        }
        if let FieldType::Enum(_) = format.kind() {
            return self.choices(terms);
        }
        if format.is_plain() {
            return self.plain(terms);
        }
        if format.ordinals().is_some() { self.scalar(terms) } else { self.text(terms) }
    }

    fn empty(&self) -> RangeError {
        RangeError::Empty { field: self.field.name().to_owned() }
    }

    fn value_error(&self, error: ValueError) -> RangeError {
        RangeError::Build(BuildError::value(self.field.name(), error))
    }

    /// All keys whose field has one value.
    fn equal(&self, value: &Value<'_>) -> Result<KeyRange, RangeError> {
        self.template.check_closed(self.count + 1)?;
        let mut prefix = self.prefix.clone();
        self.template.write(self.field, value, &mut prefix)?;
        for segment in self.template.segments().iter().skip(self.segment + 1) {
            match segment {
                Segment::Literal(literal) => prefix.push_str(literal),
                Segment::Field(_) => break,
            }
        }
        Ok(self.template.range_below(prefix, self.count + 1))
    }

    /// The bound prefix and the encoded prefix of the field.
    fn beginning(&self, text: &str) -> Result<String, RangeError> {
        if !self.field.format().is_fixed_width() {
            // A shorter value and the field after it could begin with the same text.
            self.template.check_closed(self.count + 1)?;
        }
        let written =
            written_beginning(self.template, self.field, text).map_err(|error| match error {
                BeginningError::Value(error) => self.value_error(error),
                BeginningError::NoBeginnings(reason) => RangeError::NoPrefix {
                    field: self.field.name().to_owned(),
                    reason: reason.to_owned(),
                },
            })?;
        let possible = self.field.format().language(self.template.codec());
        if !possible.has_beginning(written.as_bytes()) {
            let expected = format!("the beginning of {}", self.field.format().expected());
            return Err(self.value_error(ValueError::malformed(text, expected)));
        }
        if let Some(literal) =
            self.template.segments().get(self.segment + 1).and_then(Segment::as_literal)
            && (1..written.len())
                .any(|at| written.get(at..).is_some_and(|end| literal.starts_with(end)))
        {
            return Err(RangeError::NotContiguous {
                field: self.field.name().to_owned(),
                reason: format!(
                    "`{text}` ends as `{literal}` begins, so it also begins keys with a shorter value"
                ),
                fix: "use a separator of one character, or an escaping policy".to_owned(),
            });
        }
        Ok(format!("{}{written}", self.prefix))
    }

    /// The range over a scalar type (numbers, times, identifiers), by arithmetic on ordinals.
    fn scalar(&self, terms: &[Term<'_>]) -> Result<KeyRange, RangeError> {
        let format = self.field.format();
        let (mut least, mut greatest) = format.ordinals().unwrap_or_default();
        let mut beginnings = Vec::new();
        for term in terms {
            match term {
                Term::BeginsWith(text) => {
                    beginnings.push(KeyRange::starting_with(&self.beginning(text)?));
                }
                Term::Compare(operator, value) => {
                    let (from, to) = self
                        .span(*operator, value)
                        .map_err(|error| self.value_error(error))?
                        .ok_or_else(|| self.empty())?;
                    least = least.max(from);
                    greatest = greatest.min(to);
                }
            }
        }
        if least > greatest {
            return Err(self.empty());
        }
        if least == greatest && beginnings.is_empty() {
            return self.equal(&format.value_at(least));
        }
        let (first, last) = if format.is_desc() { (greatest, least) } else { (least, greatest) };
        let end = |ordinal, end| -> Result<String, BuildError> {
            let mut text = self.prefix.clone();
            self.template.write(self.field, &format.value_at(ordinal), &mut text)?;
            Ok(text + &self.template.edge(self.segment + 1, end))
        };
        self.intersection(end(first, End::Least)?, end(last, End::Greatest)?, &beginnings)
    }

    /// The first and last ordinal that satisfy a comparison; `None` if there are none.
    fn span(
        &self,
        operator: Operator,
        value: &Value<'_>,
    ) -> Result<Option<(i128, i128)>, ValueError> {
        let format = self.field.format();
        let (min, max) = format.ordinals().unwrap_or_default();
        let (first, last) = match bucketed(format, operator, value)? {
            Some(time) => format.span(&time)?,
            None => format.span(value)?,
        };
        Ok(match operator {
            Operator::Eq => Some((first, last)),
            Operator::Ge => Some((first, max)),
            Operator::Le => Some((min, last)),
            Operator::Gt => last.checked_add(1).map(|from| (from, max)),
            Operator::Lt => first.checked_sub(1).map(|to| (min, to)),
        })
    }

    /// The range over text or hex.
    fn text(&self, terms: &[Term<'_>]) -> Result<KeyRange, RangeError> {
        if let Some(value) = sole_equality(terms) {
            return self.equal(value);
        }
        if let Some(problem) = self.template.field_disorder(self.segment) {
            return Err(RangeError::NotContiguous {
                field: self.field.name().to_owned(),
                reason: problem.reason,
                fix: problem.fix,
            });
        }
        let text = TextField { template: self.template, field: self.field, segment: self.segment };
        let mut lower = self.template.edge(self.segment, End::Least);
        let mut upper = self.template.edge(self.segment, End::Greatest);
        let mut beginnings = Vec::new();
        for term in terms {
            match term {
                Term::BeginsWith(text) => {
                    beginnings.push(KeyRange::starting_with(&self.beginning(text)?));
                }
                Term::Compare(operator, value) => {
                    for end in text.ends(*operator, value)? {
                        match end {
                            Ends::Lower(end) => lower = lower.max(end),
                            Ends::Upper(end) => upper = upper.min(end),
                            Ends::Empty => return Err(self.empty()),
                        }
                    }
                }
            }
        }
        let mut lower = format!("{}{lower}", self.prefix);
        if lower.is_empty() {
            // No key is empty, and DynamoDB accepts no empty bound.
            lower.push(char::from(
                self.field.format().first_bytes(self.template.codec()).min().unwrap_or_default(),
            ));
        }
        self.intersection(lower, format!("{}{upper}", self.prefix), &beginnings)
    }

    fn intersection(
        &self,
        lower: String,
        upper: String,
        beginnings: &[KeyRange],
    ) -> Result<KeyRange, RangeError> {
        let mut range = KeyRange::between(lower, upper).ok_or_else(|| self.empty())?;
        for beginning in beginnings {
            range = range.intersect(beginning).ok_or_else(|| self.empty())?;
        }
        Ok(range)
    }

    /// The range over an unpadded number: only equality is contiguous.
    fn plain(&self, terms: &[Term<'_>]) -> Result<KeyRange, RangeError> {
        match sole_equality(terms) {
            Some(value) => self.equal(value),
            None => Err(RangeError::NotContiguous {
                field: self.field.name().to_owned(),
                reason: "unpadded numbers do not sort as numbers: 10 comes before 9".to_owned(),
                fix: "drop `plain`, so that the number is zero-padded".to_owned(),
            }),
        }
    }

    /// The range over an enumeration: the wanted values, if their keys are contiguous.
    fn choices(&self, terms: &[Term<'_>]) -> Result<KeyRange, RangeError> {
        let format = self.field.format();
        let mut wanted = Vec::with_capacity(self.choices.len());
        for choice in &self.choices {
            let mut holds = true;
            for term in terms {
                holds &= choice_satisfies(format, &choice.value, term)
                    .map_err(|error| self.value_error(error))?;
            }
            wanted.push((holds, choice));
        }
        let (found, others): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|(holds, _)| *holds);
        if let [(_, choice)] = found.as_slice()
            && self.template.check_closed(self.count + 1).is_ok()
        {
            return self.equal(&Value::Text(choice.value.clone()));
        }
        let lower = found.iter().map(|(_, choice)| &choice.lower).min();
        let upper = found.iter().map(|(_, choice)| &choice.upper).max();
        let (Some(lower), Some(upper)) = (lower, upper) else { return Err(self.empty()) };
        let between =
            others.iter().find(|(_, choice)| choice.upper >= *lower && choice.lower <= *upper);
        if let Some((_, choice)) = between {
            return Err(RangeError::NotContiguous {
                field: self.field.name().to_owned(),
                reason: format!("the keys with `{}` lie between the ones wanted", choice.value),
                fix: "ask for the values one by one".to_owned(),
            });
        }
        self.intersection(lower.clone(), upper.clone(), &[])
    }
}

/// The time bucket that contains a finer time, for equality: building truncates it, too.
fn bucketed(
    format: &FieldFormat,
    operator: Operator,
    value: &Value<'_>,
) -> Result<Option<Value<'static>>, ValueError> {
    if operator != Operator::Eq || !format.is_bucket() {
        return Ok(None);
    }
    let time = match value {
        Value::Time(time) => *time,
        Value::Text(text) => text.parse()?,
        _ => return Ok(None),
    };
    let precision = format.precision().filter(|precision| *precision < time.precision());
    Ok(precision.map(|precision| Value::Time(time.at(precision))))
}

fn choice_satisfies(
    format: &FieldFormat,
    choice: &str,
    term: &Term<'_>,
) -> Result<bool, ValueError> {
    Ok(match term {
        Term::BeginsWith(text) => choice.starts_with(format.fold(text).as_ref()),
        Term::Compare(operator, value) => {
            let text = value.as_str().ok_or_else(|| format.wrong_type(value))?;
            let text = format.fold(text);
            let text = text.as_ref();
            match operator {
                Operator::Eq => {
                    format.check_text(text)?;
                    choice == text
                }
                Operator::Lt => choice < text,
                Operator::Le => choice <= text,
                Operator::Gt => choice > text,
                Operator::Ge => choice >= text,
            }
        }
    })
}
