//! Access patterns: conditions become one question per field, inputs get names.

use std::sync::Arc;

use super::Resolver;
use super::literal::{part_role, untestable};
use crate::condition::{self, Comparison, Condition, Term, parse_order};
use crate::diagnostic::{Code, Diagnostic};
use crate::draft::AccessDraft;
use crate::model::{
    Access, End, Entity, Field, Input, InputRole, Operand, OrderBy, Question, RawRead, Table, Test,
};
use crate::source::{Span, Spanned};
use crate::suggest::did_you_mean;

/// The most conditions of one pattern.
const MAX_CONDITIONS: usize = 100;

impl Resolver<'_> {
    pub(super) fn access(&mut self, draft: AccessDraft) -> Option<Access> {
        let name = draft.name.value.clone();
        let find: Vec<Arc<Entity>> =
            draft.find.iter().filter_map(|entity| self.entity_named(entity, &name)).collect();
        let via = match &draft.via {
            Some(via) => Some(self.entity_named(via, &name)?),
            None => None,
        };
        if find.len() != draft.find.len() || find.is_empty() {
            return None;
        }
        let before = self.diagnostics.len();
        self.check_one_table(&find, &draft);
        let asked: Vec<Arc<Entity>> = via.iter().cloned().chain(find.iter().cloned()).collect();
        let asked =
            if via.is_some() { asked.get(..1).unwrap_or_default() } else { asked.as_slice() };
        let Conditions { terms, alternatives, inputs } = match &draft.condition {
            Some(text) => self.conditions(text, asked, &name),
            None => Conditions::default(),
        };
        let order = draft.order.as_ref().map(|text| self.order(text, asked, &name));
        for field in &draft.returns {
            for entity in &find {
                self.has_field(entity, &field.value, field.span, &name);
            }
        }
        let table = find.first().map(|entity| entity.table.clone())?;
        self.check_by_hand(&draft, !alternatives.is_empty());
        let index = draft.index.and_then(|index| self.pinned_index(index, &table, &name));
        let raw = match &draft.key {
            Some(key) => {
                let sound = self.diagnostics.len() == before;
                let raw = self.raw(key, draft.filter.as_ref(), &table, &name);
                // A request that cannot be read is reported; what `where` says can be planned all the same.
                if raw.is_none() && (terms.is_empty() || !sound) {
                    return None;
                }
                raw
            }
            None => None,
        };
        if raw.is_none() && self.is_broken_since(before) && draft.key.is_none() {
            return None;
        }
        Some(Access {
            name,
            span: draft.name.span,
            find,
            via,
            terms,
            alternatives,
            inputs,
            order: order.unwrap_or_default(),
            limit: draft.limit,
            index,
            returns: draft.returns.into_iter().map(|field| field.value).collect(),
            consistent: draft.consistent,
            rate: draft.rate,
            items: draft.items,
            all_pages: draft.all_pages,
            keeps: draft.keeps,
            max_requests: draft.max_requests,
            raw,
            description: draft.description.map(|text| text.value).unwrap_or_default(),
            implied_by: None,
        })
    }

    /// A `filter` belongs to a `key`, and a `key` is one request.
    fn check_by_hand(&mut self, draft: &AccessDraft, is_several: bool) {
        let problem = match (&draft.key, &draft.filter) {
            (None, Some(filter)) => {
                let message = "`filter` belongs to a hand-written `key`";
                Diagnostic::error(Code::BadCondition, filter.span, message)
                    .fix(Some("put the condition into `where`; the planner decides".to_owned()))
            }
            (Some(key), _) if is_several => {
                let message = "a hand-written `key` is one request, and `or` asks for several";
                Diagnostic::error(Code::BadCondition, key.span, message)
                    .fix(Some("leave `key` out, and the planner writes the requests".to_owned()))
            }
            _ => return,
        };
        self.report(problem.about(draft.name.value.clone()));
    }

    fn check_one_table(&mut self, find: &[Arc<Entity>], draft: &AccessDraft) {
        let Some(first) = find.first() else { return };
        let stranger = find.iter().find(|entity| entity.table.name != first.table.name);
        if let Some(stranger) = stranger {
            let message = format!(
                "`{}` is in table `{}` and `{}` in `{}`",
                first.name, first.table.name, stranger.name, stranger.table.name
            );
            let problem = Diagnostic::error(Code::BadValue, draft.name.span, message)
                .because("one access pattern reads one table")
                .fix(Some("write one access pattern for each table".to_owned()))
                .about(draft.name.value.clone());
            self.report(problem);
        }
    }

    fn pinned_index(
        &mut self,
        index: Spanned<String>,
        table: &Table,
        subject: &str,
    ) -> Option<Spanned<String>> {
        if index.value == "table" || table.index(&index.value).is_some() {
            return Some(index);
        }
        let known: Vec<&str> =
            table.secondary().iter().filter_map(|index| index.name.as_deref()).collect();
        let message = format!("table `{}` has no index `{}`", table.name, index.value);
        let problem = Diagnostic::error(Code::UnknownName, index.span, message)
            .fix(did_you_mean(&index.value, known.into_iter().chain(["table"])))
            .about(subject);
        self.report(problem);
        None
    }

    /// Lists, sets and maps come in no order.
    fn has_order(&mut self, find: &[Arc<Entity>], name: &str, span: Span, subject: &str) -> bool {
        let document = |e: &Arc<Entity>| e.field(name).filter(|field| !field.is_scalar()).cloned();
        let Some(field) = find.iter().find_map(document) else { return true };
        let message =
            format!("`order` does not work on `{name}`, which is a {}", field.type_name());
        let problem = Diagnostic::error(Code::BadCondition, span, message)
            .because("rows come in the order of keys, and no key holds a list, a set or a map")
            .fix(Some("order by a field that has one value".to_owned()));
        self.report(problem.about(subject));
        false
    }

    fn order(
        &mut self,
        text: &Spanned<String>,
        find: &[Arc<Entity>],
        subject: &str,
    ) -> Vec<OrderBy> {
        let terms = match parse_order(&text.value) {
            Ok(terms) => terms,
            Err(error) => {
                self.bad_condition(error, text, subject);
                return Vec::new();
            }
        };
        let mut order = Vec::new();
        for term in terms {
            let span = self.inside(text, term.span);
            let known = find.iter().all(|e| self.has_field(e, &term.field, span, subject));
            // Times have one order, however precisely they are kept.
            let times = find.iter().all(|e| e.field(&term.field).is_some_and(Field::is_time));
            let known = known && self.has_order(find, &term.field, span, subject);
            if known && (times || self.is_one_type(find, &term.field, span, subject)) {
                order.push(OrderBy { field: term.field, descending: term.descending, span });
            }
        }
        order
    }

    fn raw(
        &mut self,
        key: &Spanned<String>,
        filter: Option<&Spanned<String>>,
        table: &Table,
        subject: &str,
    ) -> Option<RawRead> {
        let key_condition = self.parsed(key, subject)?;
        let known = table.key_attributes();
        for term in &key_condition.terms {
            let bare = term.name.trim_start_matches('#');
            if known.iter().any(|attribute| attribute.name == bare) {
                continue;
            }
            let span = self.inside(key, term.name_span);
            let names: Vec<&str> = known.iter().map(|attribute| attribute.name.as_str()).collect();
            let message =
                format!("`{bare}` is not a key attribute of table `{}` or its indexes", table.name);
            let problem = Diagnostic::error(Code::UnknownName, span, message)
                .fix(did_you_mean(bare, names))
                .about(subject);
            self.report(problem);
            return None;
        }
        let parsed_filter = match filter {
            Some(text) => Some(self.parsed(text, subject)?),
            None => None,
        };
        Some(RawRead {
            key: key_condition,
            key_span: key.span,
            filter: parsed_filter,
            filter_span: filter.map_or(Span::NONE, |text| text.span),
        })
    }

    fn parsed(&mut self, text: &Spanned<String>, subject: &str) -> Option<Condition> {
        match condition::parse(&text.value) {
            Ok(condition) => Some(condition),
            Err(error) => {
                self.bad_condition(error, text, subject);
                None
            }
        }
    }

    /// The conditions of `where`, and what its alternatives have in common.
    fn conditions(
        &mut self,
        text: &Spanned<String>,
        asked: &[Arc<Entity>],
        subject: &str,
    ) -> Conditions {
        let parsed = match condition::parse_any(&text.value) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.bad_condition(error, text, subject);
                return Conditions::default();
            }
        };
        // A condition that several alternatives share is read once, so that its inputs have one name.
        let mut distinct: Vec<&Term> = Vec::new();
        for term in parsed.iter().flat_map(|condition| &condition.terms) {
            if distinct.iter().all(|known| known.span != term.span) {
                distinct.push(term);
            }
        }
        if distinct.len() > MAX_CONDITIONS {
            let message = format!(
                "`where` has {} conditions, and {MAX_CONDITIONS} are the most",
                distinct.len()
            );
            let problem = Diagnostic::error(Code::BadCondition, text.span, message);
            self.report(
                problem
                    .because("DynamoDB takes 300 operators in one expression")
                    .fix("list the values with in, or make several patterns of it".to_owned())
                    .about(subject),
            );
            return Conditions::default();
        }
        let mut inputs = Inputs::of(&distinct);
        let mut read: Vec<(Span, Question)> = Vec::new();
        for term in distinct {
            let question = self.question(term, text, asked, &mut inputs, subject);
            read.extend(question.map(|question| (term.span, question)));
        }
        let alternatives: Vec<Vec<Question>> = parsed
            .iter()
            .map(|condition| {
                let terms = condition.terms.iter();
                let own = terms.filter_map(|term| read.iter().find(|(span, _)| *span == term.span));
                self.joined(own.map(|(_, question)| question.clone()), subject)
            })
            .collect();
        Conditions::new(alternatives, inputs.list)
    }

    fn question(
        &mut self,
        term: &Term,
        text: &Spanned<String>,
        asked: &[Arc<Entity>],
        inputs: &mut Inputs,
        subject: &str,
    ) -> Option<Question> {
        let span = self.inside(text, term.span);
        let name_span = self.inside(text, term.name_span);
        let known = asked.iter().all(|e| self.has_field(e, &term.name, name_span, subject));
        let field = asked.first().and_then(|entity| entity.field(&term.name)).cloned();
        let (true, Some(field)) = (known, field) else { return None };
        if !self.is_one_type(asked, &term.name, name_span, subject) {
            return None;
        }
        if let Some(problem) = untestable(&term.test, &field, span) {
            self.report(problem.about(subject));
            return None;
        }
        let test = self.test(&term.test, &field, inputs, span, subject)?;
        Some(Question { field: term.name.clone(), test, span })
    }

    /// One question per field; several ranges on a field become one.
    fn joined(&mut self, all: impl Iterator<Item = Question>, subject: &str) -> Vec<Question> {
        let mut questions: Vec<Question> = Vec::new();
        for Question { field, test, span } in all {
            let same = questions.iter_mut().find(|question| question.field == field);
            match same {
                None => questions.push(Question { field, test, span }),
                Some(question) => {
                    if !merge(&mut question.test, test) {
                        let message = format!("two conditions on `{field}` do not make one range");
                        let problem = Diagnostic::error(Code::BadCondition, span, message)
                            .fix(Some("keep one, or write `between ? and ?`".to_owned()))
                            .about(subject);
                        self.report(problem);
                    }
                }
            }
        }
        questions
    }

    /// One value is compared with the fields of all entities, so they must be of one kind.
    fn is_one_type(
        &mut self,
        asked: &[Arc<Entity>],
        name: &str,
        span: Span,
        subject: &str,
    ) -> bool {
        let mut fields = asked.iter().filter_map(|entity| Some((entity, entity.field(name)?)));
        let Some((first, one)) = fields.next() else { return true };
        let class = one.comparison_class();
        let Some((second, other)) = fields.find(|(_, other)| other.comparison_class() != class)
        else {
            return true;
        };
        let message = format!(
            "`{name}` is a {} in `{}` and a {} in `{}`",
            one.type_name(),
            first.name,
            other.type_name(),
            second.name
        );
        let problem = Diagnostic::error(Code::BadCondition, span, message)
            .because("values of different types are never equal, and have no common order")
            .fix(Some("give both fields one type, or write one access pattern for each".to_owned()))
            .about(subject);
        self.report(problem);
        false
    }

    fn test(
        &mut self,
        test: &condition::Test,
        field: &Field,
        inputs: &mut Inputs,
        span: Span,
        subject: &str,
    ) -> Option<Test> {
        let mut operand = |written: &condition::Operand, role: InputRole| {
            self.operand(written, field, role, inputs, span, subject)
        };
        Some(match test {
            condition::Test::Compare(Comparison::Equal, value) => {
                Test::Equal(operand(value, InputRole::Value)?)
            }
            condition::Test::Compare(Comparison::NotEqual, value) => {
                Test::NotEqual(operand(value, InputRole::Value)?)
            }
            condition::Test::Compare(comparison, value) => {
                let lower = matches!(comparison, Comparison::Greater | Comparison::GreaterOrEqual);
                let inclusive =
                    matches!(comparison, Comparison::GreaterOrEqual | Comparison::LessOrEqual);
                let role = if lower { InputRole::Low } else { InputRole::High };
                let end = Some(End { operand: operand(value, role)?, inclusive });
                if lower {
                    Test::Range { low: end, high: None }
                } else {
                    Test::Range { low: None, high: end }
                }
            }
            condition::Test::Between(low, high) => {
                let mut end =
                    |value, role| Some(End { operand: operand(value, role)?, inclusive: true });
                let low = end(low, InputRole::Low)?;
                let high = end(high, InputRole::High)?;
                Test::Range { low: Some(low), high: Some(high) }
            }
            condition::Test::BeginsWith(value) => {
                Test::BeginsWith(operand(value, InputRole::Prefix)?)
            }
            condition::Test::In(values) => Test::In(
                values
                    .iter()
                    .map(|value| operand(value, InputRole::Value))
                    .collect::<Option<Vec<_>>>()?,
            ),
            condition::Test::Exists => Test::Exists,
            condition::Test::Missing => Test::Missing,
            condition::Test::Contains(value) => {
                Test::Contains(operand(value, part_role(field, value))?)
            }
            condition::Test::Lacks(value) => Test::Lacks(operand(value, part_role(field, value))?),
        })
    }

    fn operand(
        &mut self,
        written: &condition::Operand,
        field: &Field,
        role: InputRole,
        inputs: &mut Inputs,
        span: Span,
        subject: &str,
    ) -> Option<Operand> {
        let text = match written {
            condition::Operand::Input(name) => {
                return Some(Operand::Input(inputs.add(name.as_deref(), &field.name, role)));
            }
            condition::Operand::Text(text) | condition::Operand::Number(text) => text.clone(),
            condition::Operand::Boolean(flag) => flag.to_string(),
        };
        self.literal(field, &text, role, span, subject).map(Operand::Value)
    }
}

/// What `where` says.
#[derive(Default)]
struct Conditions {
    /// What all alternatives have in common.
    terms: Vec<Question>,
    /// What each alternative has besides; none without `or`.
    alternatives: Vec<Vec<Question>>,
    inputs: Vec<Input>,
}

impl Conditions {
    fn new(alternatives: Vec<Vec<Question>>, inputs: Vec<Input>) -> Self {
        let first = alternatives.first().cloned().unwrap_or_default();
        let (terms, _): (Vec<Question>, Vec<Question>) = first
            .into_iter()
            .partition(|term| alternatives.iter().all(|alternative| alternative.contains(term)));
        let mut rest: Vec<Vec<Question>> = Vec::new();
        for mut alternative in alternatives {
            alternative.retain(|term| !terms.contains(term));
            if !rest.contains(&alternative) {
                rest.push(alternative);
            }
        }
        // An alternative without a condition of its own makes the others superfluous.
        if rest.iter().any(Vec::is_empty) {
            rest.clear();
        }
        Self { terms, alternatives: rest, inputs }
    }
}

/// Names for inputs: the field's, with `_from` and `_to` for two ends of a range.
struct Inputs {
    list: Vec<Input>,
    twice: Vec<String>,
}

impl Inputs {
    fn of(terms: &[&Term]) -> Self {
        let mut asked: Vec<&str> = Vec::new();
        for term in terms {
            let unnamed = term
                .test
                .operands()
                .into_iter()
                .filter(|operand| matches!(operand, condition::Operand::Input(None)));
            asked.extend(unnamed.map(|_| term.name.as_str()));
        }
        asked.sort_unstable();
        let twice = asked
            .array_windows::<2>()
            .filter(|[a, b]| a == b)
            .map(|[name, _]| (*name).to_owned())
            .collect();
        Self { list: Vec::new(), twice }
    }

    fn add(&mut self, own: Option<&str>, field: &str, role: InputRole) -> String {
        let wanted = match (own, role) {
            (Some(name), _) => name.to_owned(),
            (None, InputRole::Low) if self.twice.iter().any(|name| name == field) => {
                format!("{field}_from")
            }
            (None, InputRole::High) if self.twice.iter().any(|name| name == field) => {
                format!("{field}_to")
            }
            (None, _) => field.to_owned(),
        };
        let mut name = wanted.clone();
        let mut number = 2;
        while self.list.iter().any(|input| input.name == name && own.is_none()) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        if self.list.iter().all(|input| input.name != name) {
            self.list.push(Input { name: name.clone(), field: field.to_owned(), role });
        }
        name
    }
}

/// Makes one range of two half ranges.
fn merge(into: &mut Test, other: Test) -> bool {
    match (into, other) {
        (Test::Range { low, high }, Test::Range { low: other_low, high: other_high }) => {
            let clash =
                (low.is_some() && other_low.is_some()) || (high.is_some() && other_high.is_some());
            if clash {
                return false;
            }
            *low = low.take().or(other_low);
            *high = high.take().or(other_high);
            true
        }
        (into @ Test::Exists, other) => {
            *into = other;
            true
        }
        (_, Test::Exists) => true,
        _ => false,
    }
}
