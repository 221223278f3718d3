//! Lenient parsing of keys that another program built: parses what it can and reports each deviation.

use super::{Field, Segment, Template};
use crate::error::excerpt;
use crate::value::Value;

/// A difference between a key and what [`Template::build`] would have built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// The byte offset in the key.
    pub at: usize,
    /// The field, if the deviation is in one.
    pub field: Option<String>,
    /// The deviation in words.
    pub problem: String,
}

/// The result of lenient parsing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LenientParse<'k> {
    /// The fields that could be parsed.
    pub values: Vec<(String, Value<'k>)>,
    /// All deviations; empty for keys that [`Template::parse_key`] accepts.
    pub deviations: Vec<Deviation>,
}

impl LenientParse<'_> {
    /// The canonical key, if every field could be parsed.
    pub fn canonical(&self, template: &Template) -> Option<String> {
        let values: Vec<(&str, Value<'_>)> =
            self.values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        template.build(&values).ok()
    }
}

impl Template {
    /// Parses as much of a key as possible: unpadded numbers, identifiers in the wrong case, times with an offset or
    /// another fraction. Each deviation is reported.
    ///
    /// ```
    /// use keyloom_keys::Template;
    ///
    /// let version = Template::parse("V#{version:u32:4}#{at:datetime}")?;
    /// let read = version.parse_lenient("V#2#2023-05-15T16:22:10+02:00");
    /// assert_eq!(read.deviations.len(), 2);
    /// assert_eq!(read.canonical(&version).as_deref(), Some("V#0002#2023-05-15T14:22:10Z"));
    /// # Ok::<(), keyloom_keys::TemplateError>(())
    /// ```
    pub fn parse_lenient<'k>(&self, key: &'k str) -> LenientParse<'k> {
        let mut read = LenientParse::default();
        let mut at = 0;
        for (index, segment) in self.segments().iter().enumerate() {
            let rest = key.get(at..).unwrap_or_default();
            match segment {
                Segment::Literal(literal) => {
                    if !rest.starts_with(literal.as_str()) {
                        read.report(at, None, format!("`{literal}` is missing"));
                        return read;
                    }
                    at += literal.len();
                }
                Segment::Field(field) => {
                    at += self.read_leniently(index, field, at, rest, &mut read);
                }
            }
        }
        if at < key.len() {
            let rest = excerpt(key.get(at..).unwrap_or_default());
            read.report(at, None, format!("`{rest}` is left over"));
        }
        read
    }

    /// Parses one field and returns its length.
    fn read_leniently<'k>(
        &self,
        index: usize,
        field: &Field,
        at: usize,
        rest: &'k str,
        read: &mut LenientParse<'k>,
    ) -> usize {
        let name = field.name().to_owned();
        let format = field.format();
        let strict = self.steps.get(index).and_then(|step| self.extent(*step, rest));
        if let Some(text) = strict.and_then(|length| rest.get(..length))
            && let Ok(value) = format.decode_with(text, self.codec())
        {
            read.values.push((name, value));
            return text.len();
        }
        let next = self.segments().get(index + 1).and_then(Segment::as_literal);
        let length = next.and_then(|literal| rest.find(literal)).unwrap_or(rest.len());
        let text = rest.get(..length).unwrap_or_default();
        let problem = match format.decode_with(text, self.codec()) {
            Err(error) => error.to_string(),
            Ok(_) => "its width differs".to_owned(),
        };
        read.report(at, Some(&name), problem);
        if !text.is_empty()
            && let Ok(value) = Value::parse_for(format, text)
        {
            read.values.push((name, value));
        }
        text.len()
    }
}

impl LenientParse<'_> {
    fn report(&mut self, at: usize, field: Option<&str>, problem: String) {
        self.deviations.push(Deviation { at, field: field.map(str::to_owned), problem });
    }
}
