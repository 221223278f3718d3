//! Whether DynamoDB accepts a hand-written request at all.

use keyloom_core::expr::Bindings;
use keyloom_core::{AttributeValue, Number, Str};

use super::form::{RawForm, placeholders};
use super::{RawProblem, RawRule};
use crate::condition::{Comparison, Condition, Operand, Term, Test};
use crate::generate::sample;
use crate::key::attribute_of;
use crate::model::{Access, Index, KeyAttribute, KeyType, RawRead, Table};
use crate::plan::concrete::{FilterTest, ReadForm, ReadKind, SortCondition};
use crate::plan::request::Placeholder;
use crate::source::Span;

/// The request, or everything that is refused about it.
pub(super) fn check(access: &Access) -> Result<RawForm, Vec<RawProblem>> {
    let (Some(raw), Some(entity)) = (&access.raw, access.find.first()) else {
        return Err(Vec::new());
    };
    let table = &entity.table;
    let at = index_of(access, table, &raw.key);
    let index = table.indexes.get(at).unwrap_or_else(|| table.primary());
    let mut checker = Checker { access, raw, index, problems: Vec::new() };
    checker.one_condition_each();
    checker.partition();
    checker.sort_attributes();
    checker.filter();
    if !checker.problems.is_empty() {
        return Err(checker.problems);
    }
    Ok(RawForm::new(at, form(access, raw, table, index), table))
}

/// The index that the pattern names, or the first whose key has every attribute of the condition.
fn index_of(access: &Access, table: &Table, key: &Condition) -> usize {
    if let Some(chosen) = &access.index {
        let at = table.indexes.iter().position(|index| index.label() == chosen.value);
        return at.unwrap_or(0);
    }
    let fits = |index: &Index| key.terms.iter().all(|term| index.has_attribute(bare(&term.name)));
    table.indexes.iter().position(fits).unwrap_or(0)
}

fn bare(name: &str) -> &str {
    name.trim_start_matches('#')
}

struct Checker<'a> {
    access: &'a Access,
    raw: &'a RawRead,
    index: &'a Index,
    problems: Vec<RawProblem>,
}

impl Checker<'_> {
    fn report(&mut self, rule: RawRule, message: String, evidence: &str, fix: String) {
        let span: Span = self.raw.key_span;
        let evidence = evidence.to_owned();
        self.problems.push(RawProblem { rule, message, evidence, fix, span });
    }

    fn terms(&self, attribute: &str) -> Vec<&Term> {
        self.raw.key.terms.iter().filter(|term| bare(&term.name) == attribute).collect()
    }

    fn one_condition_each(&mut self) {
        let index = self.index;
        for attribute in index.attributes() {
            let terms = self.terms(&attribute.name);
            if let [first, second, ..] = terms.as_slice() {
                let message =
                    format!("`{}` has two conditions: `{first}` and `{second}`", attribute.name);
                let fix = "state the range on the field instead: where = \"… and at > ?\" compiles to one BETWEEN that stays below the prefix".to_owned();
                self.report(
                    RawRule::TwoConditions,
                    message,
                    "DynamoDB answers: KeyConditionExpressions must only contain one condition per key",
                    fix,
                );
            }
        }
        for term in &self.raw.key.terms {
            if !index.has_attribute(bare(&term.name)) {
                let message =
                    format!("`{}` is not a key attribute of {}", bare(&term.name), index.label());
                let fix = "name the index the condition is for: index = \"GSI1\"".to_owned();
                let evidence = "a key condition may mention only the keys of one index";
                self.report(RawRule::TwoConditions, message, evidence, fix);
                return;
            }
        }
    }

    fn partition(&mut self) {
        let index = self.index;
        for attribute in &index.hash {
            let terms = self.terms(&attribute.name);
            let equal = terms.iter().any(|term| term.test.is_equality());
            if equal {
                continue;
            }
            let message = match terms.first() {
                Some(term) => format!("the partition key takes = only, not `{term}`"),
                None => format!("the partition key `{}` has no condition", attribute.name),
            };
            let fix = partition_fix(attribute, terms.first().copied());
            self.report(
                RawRule::PartitionNotEqual,
                message,
                "partition keys are hashed: there is no range or prefix to read, and DynamoDB refuses the request",
                fix,
            );
        }
    }

    /// Equality from the left, one range on the last attribute used, nothing after it.
    fn sort_attributes(&mut self) {
        let index = self.index;
        let mut stopped: Option<&KeyAttribute> = None;
        for attribute in &index.range {
            let Some(term) = self.terms(&attribute.name).first().map(|term| (*term).clone()) else {
                stopped = stopped.or(Some(attribute));
                continue;
            };
            if let Some(stop) = stopped {
                let message = format!(
                    "`{}` has a condition, but `{}` before it is not pinned by =",
                    attribute.name, stop.name
                );
                let fix = format!(
                    "pin `{}` by =, or move `{}` before it in the key",
                    stop.name, attribute.name
                );
                let evidence = "sort key attributes are used from the left without a gap, and only the last one used may have a range";
                self.report(RawRule::TwoConditions, message, evidence, fix);
            }
            let begins = matches!(term.test, Test::BeginsWith(_));
            if begins && attribute.kind == KeyType::N {
                let message =
                    format!("`{}` is a number, and begins_with works on texts", attribute.name);
                let fix = "use a range: between ? and ?".to_owned();
                self.report(RawRule::TwoConditions, message, "DynamoDB refuses it", fix);
            }
            if !term.test.is_equality() {
                stopped = stopped.or(Some(attribute));
            }
            if !is_key_test(&term.test) {
                let message = format!("`{term}` is not a key condition");
                let fix = "use =, <, <=, >, >=, between or begins_with".to_owned();
                let evidence = "no OR, NOT, IN, <> or contains on keys";
                self.report(RawRule::TwoConditions, message, evidence, fix);
            }
        }
    }

    fn filter(&mut self) {
        let index = self.index;
        let Some(filter) = &self.raw.filter else { return };
        let tests = filter_tests(self.access, filter);
        for (term, (_, test)) in filter.terms.iter().zip(&tests) {
            if !index.has_attribute(bare(&term.name)) {
                let refused = filter_refusal(test);
                self.problems.extend(refused.map(|answer| RawProblem {
                    rule: RawRule::FilterRefused,
                    message: format!("the filter `{term}` is refused"),
                    evidence: format!("DynamoDB answers: {answer}"),
                    fix: "compare texts, numbers and bytes by order, booleans and documents by = and <> only".to_owned(),
                    span: self.raw.filter_span,
                }));
                continue;
            }
            self.problems.push(RawProblem {
                rule: RawRule::FilterOnKey,
                message: format!(
                    "the filter `{term}` is on `{}`, a key attribute of {}",
                    bare(&term.name),
                    index.label()
                ),
                evidence: "DynamoDB answers: Filter Expression can only contain non-primary key attributes".to_owned(),
                fix: "put what you filter by into the key: a depth prefix (`{depth}#{path}`) or a parent index gives the children of a node".to_owned(),
                span: self.raw.filter_span,
            });
        }
    }
}

/// What DynamoDB answers to a filter that it does not take: each operator has its types, and BETWEEN its order.
fn filter_refusal(test: &FilterTest<Placeholder>) -> Option<String> {
    let mut values: Vec<(Str, AttributeValue)> = Vec::new();
    let text = test.expression("#f", |operand, part| {
        let name = format!(":f{part}");
        let other = match test {
            FilterTest::Between(low, high) => Some(if part == "_from" { high } else { low }),
            _ => None,
        };
        values.push((name.as_str().into(), sample_of(operand, other)));
        name
    });
    let text = text.to_string();
    let names = Some(vec![("#f".into(), "f".into())]);
    let values = Some(values).filter(|values| !values.is_empty());
    let bound = Bindings::new(names, values).and_then(|mut bindings| bindings.filter(&text));
    bound.err().map(|error| error.message())
}

/// The value of an operand. An input may have any of its type: that of the other end of a range, so that nothing but the
/// types decides.
fn sample_of(operand: &Placeholder, other: Option<&Placeholder>) -> AttributeValue {
    let is_input = |operand: &Placeholder| !placeholders(&operand.text).is_empty();
    let stated = other.filter(|other| other.kind == operand.kind && !is_input(other));
    let text = match (is_input(operand), stated) {
        (true, Some(other)) => other.text.as_str(),
        (true, None) => "1",
        (false, _) => operand.text.as_str(),
    };
    match (operand.kind, text.parse::<Number>()) {
        ("N", Ok(number)) => AttributeValue::N(number),
        ("BOOL", _) => AttributeValue::Bool(text == "true"),
        _ => AttributeValue::from(text),
    }
}

fn partition_fix(attribute: &KeyAttribute, term: Option<&Term>) -> String {
    let text = term.and_then(|term| match term.test.operands().first() {
        Some(Operand::Text(text)) => Some(text.clone()),
        _ => None,
    });
    let split = text.as_deref().and_then(|text| {
        let parts: Vec<&str> = text.trim_end_matches('#').split('#').collect();
        (parts.len() > 2).then(|| {
            (
                parts.iter().take(2).copied().collect::<Vec<_>>().join("#"),
                parts.iter().skip(2).copied().collect::<Vec<_>>().join("#"),
            )
        })
    });
    let moved = match split {
        Some((head, tail)) => {
            format!(
                "(a) move the tail into the sort key: {} = \"{head}\" and the sort key begins with \"{tail}#\"",
                attribute.name
            )
        }
        None => format!("(a) move what varies from `{}` into the sort key", attribute.name),
    };
    format!(
        "{moved};\n(b) add an index whose partition key is what you know (or native attributes);\n(c) query every value of a declared list or shard"
    )
}

fn is_key_test(test: &Test) -> bool {
    match test {
        Test::Compare(comparison, _) => *comparison != Comparison::NotEqual,
        Test::Between(..) | Test::BeginsWith(_) => true,
        Test::In(_) | Test::Exists | Test::Missing | Test::Contains(_) | Test::Lacks(_) => false,
    }
}

fn form(access: &Access, raw: &RawRead, table: &Table, index: &Index) -> ReadForm<Placeholder> {
    let term_of = |name: &str| raw.key.terms.iter().find(|term| bare(&term.name) == name);
    let mut equal = Vec::new();
    let mut sort = None;
    for attribute in index.attributes() {
        let Some(term) = term_of(&attribute.name) else { break };
        let value = |operand: &Operand| placeholder(attribute, operand);
        let condition = match &term.test {
            Test::Compare(Comparison::Equal, operand) => {
                equal.push((attribute.name.clone(), value(operand)));
                continue;
            }
            Test::Compare(comparison, operand) => {
                SortCondition::Compare(*comparison, value(operand))
            }
            Test::Between(low, high) => SortCondition::Between(value(low), value(high)),
            Test::BeginsWith(operand) => SortCondition::BeginsWith(value(operand)),
            _ => break,
        };
        sort = Some((attribute.name.clone(), condition));
        break;
    }
    let all = equal.len() == index.attributes().count();
    let primary = index.name.is_none();
    let kind = if all && primary && raw.filter.is_none() { ReadKind::Get } else { ReadKind::Query };
    let descending = access.order.first().is_some_and(|term| term.descending);
    ReadForm {
        kind,
        table: table.name.clone(),
        index: index.name.clone(),
        equal,
        sort,
        filter: raw.filter.as_ref().map(|f| filter_tests(access, f)).unwrap_or_default(),
        forward: !descending,
        limit: access.limit,
        consistent: access.consistent,
        all_attributes: false,
    }
}

fn placeholder(attribute: &KeyAttribute, operand: &Operand) -> Placeholder {
    let text = match operand {
        Operand::Input(Some(name)) => format!("{{{name}}}"),
        Operand::Input(None) => format!("{{{}}}", attribute.name),
        Operand::Text(text) | Operand::Number(text) => text.clone(),
        Operand::Boolean(flag) => flag.to_string(),
    };
    Placeholder { kind: attribute.kind.as_str(), text }
}

fn filter_tests(access: &Access, filter: &Condition) -> Vec<(String, FilterTest<Placeholder>)> {
    // An input has the type of the attribute that it is compared with.
    let kind_of = |name: &str| {
        let field = access.find.iter().find_map(|entity| entity.field(name));
        field.map_or("S", |field| match attribute_of(field, &sample(field, 1)) {
            AttributeValue::N(_) | AttributeValue::Ns(_) => "N",
            AttributeValue::Bool(_) => "BOOL",
            _ => "S",
        })
    };
    let value = |operand: &Operand, name: &str| {
        let (kind, text) = match operand {
            Operand::Input(Some(own)) => (kind_of(name), format!("{{{own}}}")),
            Operand::Input(None) => (kind_of(name), format!("{{{name}}}")),
            Operand::Text(text) => ("S", text.clone()),
            Operand::Number(text) => ("N", text.clone()),
            Operand::Boolean(flag) => ("BOOL", flag.to_string()),
        };
        Placeholder { kind, text }
    };
    filter
        .terms
        .iter()
        .map(|term| {
            let name = bare(&term.name).to_owned();
            let test = term.test.map(|operand| value(operand, &name));
            (name, test)
        })
        .collect()
}
