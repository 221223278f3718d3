//! `when`: the items that have a sparse key.

use super::Resolver;
use super::literal::untestable;
use crate::condition::{self, Comparison};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Field, InputRole};
use crate::source::Spanned;
use crate::suggest::did_you_mean;

impl Resolver<'_> {
    /// The condition under which a key is written.
    pub(super) fn when(
        &mut self,
        text: &Spanned<String>,
        fields: &[Field],
        entity: &str,
    ) -> Option<condition::Condition> {
        let parsed = match condition::parse(&text.value) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.bad_condition(error, text, entity);
                return None;
            }
        };
        let before = self.diagnostics.len();
        for term in &parsed.terms {
            let span = self.inside(text, term.name_span);
            if let Some(field) = fields.iter().find(|field| field.name == term.name) {
                self.when_term(term, field, text, entity);
            } else {
                let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
                let message = format!("entity `{entity}` has no field `{}`", term.name);
                let problem = Diagnostic::error(Code::UnknownName, span, message)
                    .fix(did_you_mean(&term.name, known))
                    .about(entity);
                self.report(problem);
            }
            let is_input =
                |operand: &&condition::Operand| matches!(operand, condition::Operand::Input(_));
            if term.test.operands().iter().any(is_input) {
                let message = "`when` is decided by the item alone and has no inputs";
                let problem = Diagnostic::error(Code::BadCondition, span, message)
                    .fix(Some("compare with a value: when = \"status = 'open'\"".to_owned()))
                    .about(entity);
                self.report(problem);
                return None;
            }
        }
        (!self.is_broken_since(before)).then_some(parsed)
    }

    /// A condition of `when` must be one that some item satisfies: its values are values of the field.
    fn when_term(
        &mut self,
        term: &condition::Term,
        field: &Field,
        text: &Spanned<String>,
        entity: &str,
    ) {
        let span = self.inside(text, term.span);
        if let Some(problem) = untestable(&term.test, field, span) {
            self.report(problem.about(entity));
            return;
        }
        let is_end = matches!(&term.test, condition::Test::Between(..))
            || matches!(&term.test, condition::Test::Compare(comparison, _)
                if !matches!(comparison, Comparison::Equal | Comparison::NotEqual));
        let role = match &term.test {
            condition::Test::BeginsWith(_) => InputRole::Prefix,
            condition::Test::Contains(_) | condition::Test::Lacks(_) if field.is_text() => {
                InputRole::Prefix
            }
            _ if is_end => InputRole::Low,
            _ => InputRole::Value,
        };
        for operand in term.test.operands() {
            let written = match operand {
                condition::Operand::Input(_) => continue,
                condition::Operand::Text(text) | condition::Operand::Number(text) => text.clone(),
                condition::Operand::Boolean(flag) => flag.to_string(),
            };
            self.literal(field, &written, role, span, entity);
        }
    }
}
