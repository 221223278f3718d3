//! A non-empty list: the writes of a request, and their results.

use std::{iter, slice, vec};

/// One element or more. A single element needs no allocation.
#[derive(Clone, Debug)]
pub(crate) struct OneOrMore<T> {
    first: T,
    rest: Vec<T>,
}

impl<T> OneOrMore<T> {
    /// A list of one.
    pub(crate) fn one(first: T) -> Self {
        Self { first, rest: Vec::new() }
    }

    /// The elements of `list`, unless it is empty.
    pub(crate) fn of(list: impl IntoIterator<Item = T>) -> Option<Self> {
        let mut list = list.into_iter();
        Some(Self { first: list.next()?, rest: list.collect() })
    }

    /// The first element.
    pub(crate) fn first(&self) -> &T {
        &self.first
    }

    /// The first element, by value.
    pub(crate) fn into_first(self) -> T {
        self.first
    }

    pub(crate) fn len(&self) -> usize {
        1 + self.rest.len()
    }

    pub(crate) fn iter(&self) -> iter::Chain<iter::Once<&T>, slice::Iter<'_, T>> {
        iter::once(&self.first).chain(&self.rest)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        iter::once(&mut self.first).chain(&mut self.rest)
    }

    /// What `each` makes of every element.
    pub(crate) fn map<'a, R>(&'a self, mut each: impl FnMut(&'a T) -> R) -> OneOrMore<R> {
        OneOrMore { first: each(&self.first), rest: self.rest.iter().map(each).collect() }
    }

    /// What `both` makes of every element and its counterpart in `other`; as many as the shorter list has.
    pub(crate) fn zip_with<U, R>(
        &self,
        other: OneOrMore<U>,
        mut both: impl FnMut(&T, U) -> R,
    ) -> OneOrMore<R> {
        OneOrMore {
            first: both(&self.first, other.first),
            rest: self.rest.iter().zip(other.rest).map(|(one, other)| both(one, other)).collect(),
        }
    }
}

impl<T, E> OneOrMore<Result<T, E>> {
    /// All values, or every error with its position.
    pub(crate) fn all_ok(self) -> Result<OneOrMore<T>, OneOrMore<(usize, E)>> {
        let mut values = Vec::with_capacity(self.rest.len());
        let mut errors = Vec::new();
        for (position, result) in (1..).zip(self.rest) {
            match result {
                Ok(value) => values.push(value),
                Err(error) => errors.push((position, error)),
            }
        }
        match self.first {
            Err(error) => Err(OneOrMore { first: (0, error), rest: errors }),
            Ok(first) => match OneOrMore::of(errors) {
                Some(errors) => Err(errors),
                None => Ok(OneOrMore { first, rest: values }),
            },
        }
    }
}

impl<T> IntoIterator for OneOrMore<T> {
    type Item = T;
    type IntoIter = iter::Chain<iter::Once<T>, vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        iter::once(self.first).chain(self.rest)
    }
}

impl<'a, T> IntoIterator for &'a OneOrMore<T> {
    type Item = &'a T;
    type IntoIter = iter::Chain<iter::Once<&'a T>, slice::Iter<'a, T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_keep_their_positions() {
        let judged = |results: Vec<Result<char, &'static str>>| {
            let judged = OneOrMore::of(results).unwrap().all_ok();
            judged.map(Vec::from_iter).map_err(Vec::from_iter)
        };
        assert_eq!(judged(vec![Ok('a')]), Ok(vec!['a']));
        assert_eq!(judged(vec![Ok('a'), Ok('b')]), Ok(vec!['a', 'b']));
        assert_eq!(judged(vec![Err("x"), Ok('b')]), Err(vec![(0, "x")]));
        assert_eq!(
            judged(vec![Ok('a'), Err("y"), Ok('c'), Err("z")]),
            Err(vec![(1, "y"), (3, "z")])
        );
        assert!(OneOrMore::<char>::of([]).is_none());
    }
}
