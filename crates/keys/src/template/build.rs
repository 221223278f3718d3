//! Putting a key together.

use super::{Field, MAX_FIELDS, Segment, Template};
use crate::error::{BuildError, excerpt};
use crate::value::Value;

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
    /// assert!(error.to_string().starts_with("field `user_id`: `12#3` contains or runs into the separator `#`"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build(&self, values: &[(&str, Value<'_>)]) -> Result<String, BuildError> {
        let slots = self.slots(values)?;
        for (field, slot) in self.fields().zip(slots) {
            if slot.is_none() {
                return Err(BuildError::Missing {
                    template: excerpt(self.text()),
                    field: field.name().to_owned(),
                });
            }
        }
        self.assemble(&slots)
    }

    /// Builds a key from one value for each field, from left to right.
    pub fn build_values(&self, values: &[Value<'_>]) -> Result<String, BuildError> {
        let fields = self.fields().count();
        if values.len() != fields {
            return Err(BuildError::Count {
                template: excerpt(self.text()),
                given: values.len(),
                fields,
            });
        }
        let mut slots: Slots<'_, '_> = [None; MAX_FIELDS];
        for (slot, value) in slots.iter_mut().zip(values) {
            *slot = Some(value);
        }
        self.assemble(&slots)
    }

    /// Builds the key of a sparse index: no key at all when a value is absent, never a key with a hole.
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

    fn assemble(&self, slots: &Slots<'_, '_>) -> Result<String, BuildError> {
        let mut key = String::with_capacity(self.room_for(slots));
        let mut values = slots.iter().copied();
        for segment in &self.segments {
            match segment {
                Segment::Literal(literal) => key.push_str(literal),
                Segment::Field(field) => {
                    if let Some(value) = values.next().flatten() {
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

    /// Enough bytes for the key, so that it is allocated once.
    fn room_for(&self, slots: &Slots<'_, '_>) -> usize {
        let fields = self.fields().zip(slots).map(|(field, value)| {
            field.format().fixed_width().unwrap_or_else(|| match value {
                Some(Value::Text(text)) if field.format().is_guarded() => match self.policy() {
                    crate::SeparatorPolicy::Reject => text.len(),
                    _ => 3 * text.len(),
                },
                Some(Value::Text(text)) => 2 * text.len() + 1,
                Some(Value::Bytes(bytes)) => 2 * bytes.len() + 1,
                _ => 20,
            })
        });
        self.literal_bytes + fields.sum::<usize>()
    }

    /// The written prefix that binds the leading fields, with the literal text that follows them, and how many fields
    /// were bound.
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
        let mut prefix = String::with_capacity(self.room_for(&slots));
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
        if bound == self.fields().count() {
            return Err(BuildError::WholeKey {
                below: format!("{prefix}{}", self.separator()),
                key: prefix,
            });
        }
        Ok(prefix)
    }

    /// The prefix of keys that other templates put below a whole key of this one: the key and a separator.
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
