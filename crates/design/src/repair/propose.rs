//! What a rule would write instead.

use super::text::{after_header, in_line, in_section, template, without_line, without_section};
use crate::check::CheckReport;
use crate::cost::Prices;
use crate::lint::{Finding, index_subject};
use crate::model::{Access, Design, Entity, EntityKey, FieldKind, Index};
use crate::plan::{Plan, Problem};
use crate::synth::texts_with_index;

/// Rules about patterns that other keys would prove.
const PROVABLE: [&str; 5] = ["A01", "A03", "A04", "A06", "K05"];

/// A changed text that may take a finding away.
pub(super) struct Proposal {
    pub(super) text: String,
    /// What it does, if that is not what the finding says.
    pub(super) told: Option<&'static str>,
}

/// What may take a finding away, the best first.
pub(super) fn texts(report: &CheckReport, finding: &Finding, prices: &Prices) -> Vec<Proposal> {
    let Some(design) = &report.design else { return Vec::new() };
    let case = Case { report, design, text: report.source.text(), finding, prices };
    let own = case.proposals().into_iter().flatten().map(|text| Proposal { text, told: None });
    let keys = if PROVABLE.contains(&finding.rule) { case.indexes() } else { Vec::new() };
    let keys = keys.into_iter().map(|text| Proposal { text, told: Some("these keys prove it") });
    own.chain(keys).collect()
}

struct Case<'a> {
    report: &'a CheckReport,
    design: &'a Design,
    text: &'a str,
    finding: &'a Finding,
    prices: &'a Prices,
}

impl<'a> Case<'a> {
    fn proposals(&self) -> Vec<Option<String>> {
        match self.finding.rule {
            "K01" => self.fields().map(|at| in_line(self.text, at, ", plain = true", "")).collect(),
            "K02" => vec![self.escaped()],
            "K09" => self
                .fields()
                .map(|at| in_line(self.text, at, "\"datetime:loose\"", "\"datetime\""))
                .collect(),
            "K10" => vec![
                self.ordered("none"),
                self.ordered("reject"),
                self.ordered("percent"),
                self.escape_order(),
            ],
            "K14" => {
                self.fields().map(|at| in_line(self.text, at, ", optional = true", "")).collect()
            }
            "P09" => vec![self.limited()],
            "P11" => vec![self.shards()],
            "I01" => vec![self.without_index()],
            "I04" => vec![after_header(self.text, self.finding.span.start(), &self.finding.fix)],
            "I09" => vec![self.pattern().and_then(|(access, _)| {
                without_line(self.text, access.span.start(), "consistent")
            })],
            "A03" => vec![self.moved()],
            "A07" => vec![self.together("put"), self.together("create"), self.in_transaction()],
            "A13" | "K06" | "K07" | "K08" | "E04" | "E05" => {
                vec![self.without_key(false), self.without_key(true)]
            }
            "A14" => vec![self.wide()],
            "U01" => vec![self.with_id()],
            "U05" => vec![self.identified()],
            "T01" => self.seconds(),
            "W01" => vec![self.given()],
            "D07" => vec![without_section(self.text, self.finding.span.start())],
            _ => Vec::new(),
        }
    }

    fn entity(&self) -> Option<&'a Entity> {
        self.design.entity(&self.finding.subject).map(AsRef::as_ref)
    }

    fn pattern(&self) -> Option<(&'a Access, &'a Plan)> {
        let access = self.design.access(&self.finding.subject)?;
        let plan = self.report.plans.iter().find(|plan| plan.name == access.name)?;
        Some((access, plan))
    }

    /// Where the fields of the entity are declared that the finding names.
    fn fields(&self) -> impl Iterator<Item = usize> + 'a {
        let message = self.finding.message.clone();
        let fields = self.entity().into_iter().flat_map(|entity| &entity.fields);
        fields
            .filter(move |field| message.contains(&format!("`{}`", field.name)))
            .filter(|field| field.span.is_some())
            .map(|field| field.span.start())
    }

    fn escaped(&self) -> Option<String> {
        let table = &self.entity()?.table;
        let at = table.span.start();
        in_section(self.text, at, "escape = \"none\"", "escape = \"reject\"")
    }

    /// The separator and what sorts before it, written so that values keep their order.
    fn ordered(&self, now: &str) -> Option<String> {
        let at = self.entity()?.table.span.start();
        in_section(self.text, at, &format!("escape = \"{now}\""), "escape = \"order\"")
    }

    fn escape_order(&self) -> Option<String> {
        after_header(self.text, self.entity()?.table.span.start(), "escape = \"order\"")
    }

    fn limited(&self) -> Option<String> {
        let (access, _) = self.pattern()?;
        after_header(self.text, access.span.start(), "limit = 100")
    }

    /// The design without an index, and without the keys that only it has.
    fn without_index(&self) -> Option<String> {
        let found = self.design.tables().iter().find_map(|table| {
            let mut own = table.secondary().iter();
            let index = own.find(|index| index_subject(table, index) == self.finding.subject)?;
            Some((table, index))
        });
        let (table, index) = found?;
        let others = table.indexes.iter().filter(|other| other.name != index.name);
        let kept: Vec<&str> =
            others.flat_map(Index::attributes).map(|key| key.name.as_str()).collect();
        let mut keys: Vec<(usize, &str)> = Vec::new();
        for entity in self.design.entities_in(table) {
            let own = entity.keys.iter().filter(|key| {
                let is_of_it = index.has_attribute(&key.attribute);
                is_of_it && !key.shape.is_native() && !kept.contains(&key.attribute.as_str())
            });
            keys.extend(own.map(|key| (entity.span.start(), key.attribute.as_str())));
        }
        // From the end of the file on, so that what comes before keeps its place.
        let index_at = self.finding.span.start();
        keys.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        let (after, before): (Vec<_>, Vec<_>) =
            keys.into_iter().partition(|(at, _)| *at > index_at);
        let mut text = self.text.to_owned();
        for (at, attribute) in after {
            text = without_line(&text, at, attribute)?;
        }
        text = without_section(&text, index_at)?;
        for (at, attribute) in before {
            text = without_line(&text, at, attribute)?;
        }
        Some(text)
    }

    fn shards(&self) -> Option<String> {
        let needed = self.finding.fix.strip_prefix("shards = ")?;
        let shard = self.entity()?.fields.iter().find_map(|field| match &field.kind {
            FieldKind::Shard(shards)
                if self.finding.message.contains(&format!("`{}`", field.name)) =>
            {
                Some((field.span.start(), shards.count))
            }
            _ => None,
        });
        let (at, count) = shard?;
        in_line(self.text, at, &format!("shards = {count}"), &format!("shards = {needed}"))
    }

    /// The key with the order's field in front.
    fn moved(&self) -> Option<String> {
        let (_, plan) = self.pattern()?;
        plan.problems.iter().find_map(|problem| {
            let Problem::Order { moved: Some(moved), .. } = problem else { return None };
            let key = self.design.entity(&moved.entity)?.key(&moved.attribute)?;
            template(self.text, key.span.start(), key.shape.template().text(), &moved.template)
        })
    }

    fn together(&self, kind: &str) -> Option<String> {
        let write = self.design.writes().iter().find(|write| write.name == self.finding.subject)?;
        let from = format!("kind = \"{kind}\"");
        in_section(self.text, write.span.start(), &from, "kind = \"transact\"")
    }

    fn in_transaction(&self) -> Option<String> {
        let write = self.design.writes().iter().find(|write| write.name == self.finding.subject)?;
        after_header(self.text, write.span.start(), "kind = \"transact\"")
    }

    /// The pattern without what was written by hand.
    fn without_key(&self, index: bool) -> Option<String> {
        let (access, _) = self.pattern()?;
        access.raw.as_ref()?;
        let at = access.span.start();
        let mut text = without_line(self.text, at, "key")?;
        text = without_line(&text, at, "filter").unwrap_or(text);
        if index { without_line(&text, at, "index") } else { Some(text) }
    }

    fn wide(&self) -> Option<String> {
        let (access, plan) = self.pattern()?;
        let line = format!("max_requests = {:.0}", plan.first_calls()?);
        let text = without_line(self.text, access.span.start(), "max_requests");
        after_header(text.as_deref().unwrap_or(self.text), access.span.start(), &line)
    }

    fn last_key(&self) -> Option<&'a EntityKey> {
        let entity = self.entity()?;
        entity.primary_key().parts().last().filter(|part| !part.shape.is_native())
    }

    fn extended(&self, more: &str) -> Option<String> {
        let key = self.last_key()?;
        let old = key.shape.template();
        let new = format!("{}{}{more}", old.text(), old.template().separator());
        template(self.text, key.span.start(), old.text(), &new)
    }

    fn with_id(&self) -> Option<String> {
        let taken = self.entity()?.field("id").is_some();
        self.extended(if taken { "{id}" } else { "{id:ulid}" })
    }

    fn identified(&self) -> Option<String> {
        let entity = self.entity()?;
        let names =
            entity.unique_by.iter().filter(|name| self.finding.fix.contains(&format!("`{name}`")));
        let fields: Vec<String> = names.map(|name| format!("{{{name}}}")).collect();
        self.extended(&fields.join(entity.table.separator.as_str()))
    }

    fn seconds(&self) -> Vec<Option<String>> {
        let Some(entity) = self.entity() else { return Vec::new() };
        let Some(ttl) = entity.table.ttl.as_ref().and_then(|ttl| entity.field(ttl)) else {
            return Vec::new();
        };
        let kind = format!("\"{}\"", ttl.type_name());
        vec![in_line(self.text, ttl.span.start(), &kind, "\"number\"")]
    }

    fn given(&self) -> Option<String> {
        let at = self
            .report
            .design
            .as_ref()?
            .writes()
            .iter()
            .position(|write| write.name == self.finding.subject)?;
        let (write, plan) = (self.design.writes().get(at)?, self.report.writes.get(at)?);
        let mut names: Vec<&str> = write.given.iter().map(String::as_str).collect();
        for lack in plan.effects.iter().flat_map(|effect| &effect.lacks) {
            if !names.contains(&lack.as_str()) {
                names.push(lack);
            }
        }
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        let line = format!("given = [{}]", quoted.join(", "));
        let text = without_line(self.text, write.span.start(), "given");
        after_header(text.as_deref().unwrap_or(self.text), write.span.start(), &line)
    }

    /// Keys that prove the pattern, in an index that there is or in a new one.
    fn indexes(&self) -> Vec<String> {
        let pattern = self.pattern().filter(|(access, _)| access.raw.is_none());
        let Some((access, _)) = pattern else { return Vec::new() };
        texts_with_index(self.design, &access.name, self.prices)
    }
}
