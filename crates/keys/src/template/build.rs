//! Building keys from field values.

use super::{Field, MAX_FIELDS, Segment, Template};
use crate::error::{BuildError, excerpt};
use crate::escape::SeparatorPolicy;
use crate::value::Value;

/// The longest whole number without padding: the smallest `i64`.
const MAX_PLAIN_DIGITS: usize = 20;

/// One value for each field, in template order.
type Slots<'v, 'a> = [Option<&'v Value<'a>>; MAX_FIELDS];

impl Template {
    /// Builds a key from names and values in any order.
    ///
    /// ```
    /// use keyloom_keys::Template;
    ///
    /// let order = Template::parse("USER#{user_id}#ORDER#{order_id}")?;
    /// let error = order.build(&[("user_id", "12#3".into()), ("order_id", "456".into())]).unwrap_err();
    /// assert!(error.to_string().starts_with("field `user_id`: `12#3` contains the separator `#` or ends with a part of it"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build(&self, values: &[(&str, Value<'_>)]) -> Result<String, BuildError> {
        // Values usually come in the order of the template.
        let in_order = values.len() == self.field_count
            && self.fields().zip(values).all(|(field, (name, _))| field.name() == *name);
        if in_order {
            return self.assemble(values.iter().map(|(_, value)| value));
        }
        let slots = self.slots(values)?;
        if values.len() < self.field_count {
            // Names were checked, so one is missing.
            let missing = self.fields().zip(&slots).find(|(_, slot)| slot.is_none());
            return Err(BuildError::Missing {
                template: excerpt(self.text()),
                field: missing.map(|(field, _)| field.name().to_owned()).unwrap_or_default(),
            });
        }
        self.assemble(slots.iter().flatten().copied())
    }

    /// Builds a key from one value for each field, from left to right.
    pub fn build_values(&self, values: &[Value<'_>]) -> Result<String, BuildError> {
        if values.len() != self.field_count {
            let template = excerpt(self.text());
            return Err(BuildError::Count {
                template,
                given: values.len(),
                fields: self.field_count,
            });
        }
        self.assemble(values.iter())
    }

    /// Builds the key of a sparse index: `None` if a value is absent, never a key with an empty part.
    ///
    /// ```
    /// use keyloom_keys::Template;
    ///
    /// let featured = Template::parse("{day:date}#ARTICLE#{id}")?;
    /// let absent = featured.build_sparse(&[("day", None), ("id", Some("A2".into()))])?;
    /// assert_eq!(absent, None);
    /// let day = Some("2023-05-19".into());
    /// let present = featured.build_sparse(&[("day", day), ("id", Some("A2".into()))])?;
    /// assert_eq!(present.as_deref(), Some("2023-05-19#ARTICLE#A2"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build_sparse(
        &self,
        values: &[(&str, Option<Value<'_>>)],
    ) -> Result<Option<String>, BuildError> {
        let present: Option<Vec<(&str, Value<'_>)>> =
            values.iter().map(|(name, value)| Some((*name, value.clone()?))).collect();
        present.map(|values| self.build(&values)).transpose()
    }

    /// Sorts named values into template order.
    pub(crate) fn slots<'v, 'a>(
        &self,
        values: &'v [(&str, Value<'a>)],
    ) -> Result<Slots<'v, 'a>, BuildError> {
        let mut slots: Slots<'v, 'a> = [None; MAX_FIELDS];
        for (name, value) in values {
            let at = self.fields().position(|field| field.name() == *name);
            let Some(slot) = at.and_then(|at| slots.get_mut(at)) else {
                return Err(BuildError::Unknown {
                    template: excerpt(self.text()),
                    field: (*name).to_owned(),
                    known: self.fields().map(|field| field.name().to_owned()).collect(),
                });
            };
            if slot.replace(value).is_some() {
                return Err(BuildError::Twice { field: (*name).to_owned() });
            }
        }
        Ok(slots)
    }

    /// Writes literals and values, one for each field, into one allocation.
    fn assemble<'v, 'a: 'v>(
        &self,
        values: impl Iterator<Item = &'v Value<'a>> + Clone,
    ) -> Result<String, BuildError> {
        let mut key = String::with_capacity(self.room_for(values.clone()));
        let mut values = values;
        for segment in &self.segments {
            match segment {
                Segment::Literal(literal) => key.push_str(literal),
                Segment::Field(field) => {
                    if let Some(value) = values.next() {
                        self.write(field, value, &mut key)?;
                    }
                }
            }
        }
        let limit = self.role().limit();
        if key.len() > limit {
            return Err(BuildError::KeyTooLong {
                template: excerpt(self.text()),
                bytes: key.len(),
                limit,
            });
        }
        Ok(key)
    }

    /// Appends one field's value.
    pub(crate) fn write(
        &self,
        field: &Field,
        value: &Value<'_>,
        out: &mut String,
    ) -> Result<(), BuildError> {
        field
            .format()
            .encode_into(value, self.codec(), out)
            .map_err(|error| BuildError::value(field.name(), error))
    }

    /// An upper estimate of the key's length, so that it is allocated once.
    fn room_for<'v, 'a: 'v>(&self, values: impl Iterator<Item = &'v Value<'a>>) -> usize {
        let varying = self.fields().zip(values).map(|(field, value)| match value {
            _ if field.format().is_fixed_width() => 0,
            Value::Text(text) if !field.format().is_guarded() => 2 * text.len() + 1,
            Value::Text(text) if self.policy() == SeparatorPolicy::Reject => text.len(),
            // An escape takes three bytes for one.
            Value::Text(text) => 3 * text.len(),
            Value::Bytes(bytes) => 2 * bytes.len() + 1,
            _ => MAX_PLAIN_DIGITS,
        });
        self.fixed_bytes + varying.sum::<usize>()
    }

    /// The prefix of keys with these leading fields, including the literal that follows them, and the number of fields.
    pub(crate) fn bind(&self, values: &[(&str, Value<'_>)]) -> Result<(String, usize), BuildError> {
        let slots = self.slots(values)?;
        let bound = slots.iter().take_while(|slot| slot.is_some()).count();
        let missing = self.fields().nth(bound);
        let gap = self.fields().zip(&slots).skip(bound).find(|(_, slot)| slot.is_some());
        if let (Some(missing), Some((given, _))) = (missing, gap) {
            return Err(BuildError::Gap {
                missing: missing.name().to_owned(),
                given: given.name().to_owned(),
            });
        }
        let mut prefix = String::with_capacity(self.room_for(slots.iter().flatten().copied()));
        let mut values = slots.iter().flatten();
        for segment in &self.segments {
            match segment {
                Segment::Literal(literal) => prefix.push_str(literal),
                Segment::Field(field) => match values.next() {
                    Some(value) => self.write(field, value, &mut prefix)?,
                    None => break,
                },
            }
        }
        Ok((prefix, bound))
    }

    /// Rejects a prefix that would end after a field of varying width that another field follows directly: the end of the
    /// first is known only from what follows both.
    pub(crate) fn check_closed(&self, bound: usize) -> Result<(), BuildError> {
        let mut open = None;
        let mut seen = 0;
        for segment in &self.segments {
            match segment {
                Segment::Literal(_) => open = None,
                Segment::Field(field) if seen == bound => {
                    return open.map_or(Ok(()), |open: &Field| {
                        Err(BuildError::Open {
                            field: open.name().to_owned(),
                            next: field.name().to_owned(),
                        })
                    });
                }
                Segment::Field(field) => {
                    seen += 1;
                    let format = field.format();
                    if !format.is_fixed_width() && !format.is_desc() {
                        open = Some(field);
                    }
                }
            }
        }
        Ok(())
    }

    /// The prefix of all keys whose leading fields have these values. It ends where a field ends, so `USER#1#` does not
    /// reach the keys of user 12.
    ///
    /// ```
    /// use keyloom_keys::Template;
    ///
    /// let order = Template::parse("USER#{user_id}#ORDER#{order_id}")?;
    /// assert_eq!(order.prefix(&[("user_id", "1".into())])?, "USER#1#ORDER#");
    /// assert_eq!(order.prefix(&[])?, "USER#");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefix(&self, values: &[(&str, Value<'_>)]) -> Result<String, BuildError> {
        let (prefix, bound) = self.bind(values)?;
        self.check_closed(bound)?;
        if bound == self.field_count {
            return Err(BuildError::WholeKey {
                below: format!("{prefix}{}", self.separator()),
                key: prefix,
            });
        }
        Ok(prefix)
    }

    /// The prefix of the keys that other templates put below a key of this one: the key and a separator.
    ///
    /// ```
    /// use keyloom_keys::Template;
    ///
    /// let product = Template::parse("PRODUCT#{product_id}")?;
    /// // Variants are `PRODUCT#TV-LG-55#VARIANT#Black`; the product TV-LG-550 stays out.
    /// assert_eq!(product.prefix_below(&[("product_id", "TV-LG-55".into())])?, "PRODUCT#TV-LG-55#");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefix_below(&self, values: &[(&str, Value<'_>)]) -> Result<String, BuildError> {
        Ok(self.build(values)? + self.separator())
    }
}
