//! Makes a contradiction small: whatever can be left out without losing it is left out.

use keyloom_design::Design;

use crate::bed::Found;
use crate::case::{Case, Values};
use crate::spec::Spec;
use crate::trial::Outcome;

/// A contradiction with as little as possible around it.
pub(crate) fn shrink(found: &Found) -> (Spec, Case) {
    let records = &found.population.records;
    let rows = records.iter().map(|record| (record.entity.name.clone(), record.values.clone()));
    let case =
        Case { pattern: found.pattern.clone(), inputs: found.inputs.clone(), rows: rows.collect() };
    let mut spec = found.spec.clone();
    spec.patterns.retain(|pattern| pattern.name == found.pattern);
    let mut small = Shrink { spec, case, found };
    while small.step() {}
    (small.spec, small.case)
}

struct Shrink<'a> {
    spec: Spec,
    case: Case,
    found: &'a Found,
}

impl Shrink<'_> {
    /// Takes a change over if the same claim is still broken.
    fn keep(&mut self, spec: Spec, case: Case) -> bool {
        let (design, _) = Design::parse("case.toml", &spec.text());
        let outcome = design.and_then(|design| case.outcome(&design));
        let kept = matches!(outcome, Some(Outcome::Broken(broken))
            if broken.claim == self.found.broken.claim);
        if kept {
            self.spec = spec;
            self.case = case;
        }
        kept
    }

    /// Tries to leave out each of so many parts, the last first.
    fn each(&mut self, count: usize, change: impl Fn(&mut Spec, &mut Case, usize)) -> bool {
        let mut changed = false;
        for at in (0..count).rev() {
            let (mut spec, mut case) = (self.spec.clone(), self.case.clone());
            change(&mut spec, &mut case, at);
            changed |= self.keep(spec, case);
        }
        changed
    }

    fn step(&mut self) -> bool {
        let mut changed = self.rows();
        changed |= self.each(self.spec.entities.len(), |spec, case, at| {
            let entity = spec.entities.remove(at);
            case.rows.retain(|(name, _)| *name != entity.name);
        });
        changed |= self.each(self.spec.tables.len(), |spec, _, at| {
            spec.tables.remove(at);
        });
        changed |= self.each(self.spec.others.len(), |spec, _, at| {
            spec.others.remove(at);
        });
        for table in 0..self.spec.tables.len() {
            changed |= self.table(table);
        }
        for entity in 0..self.spec.entities.len() {
            changed |= self.entity(entity);
        }
        changed | self.pattern()
    }

    fn rows(&mut self) -> bool {
        let mut changed = false;
        let mut size = self.case.rows.len() / 2;
        while size > 0 {
            let mut at = 0;
            while at < self.case.rows.len() {
                let mut case = self.case.clone();
                let end = (at + size).min(case.rows.len());
                case.rows.drain(at..end);
                if self.keep(self.spec.clone(), case) {
                    changed = true;
                } else {
                    at += size;
                }
            }
            size /= 2;
        }
        for row in 0..self.case.rows.len() {
            let fields: Vec<String> = self.case.rows[row].1.keys().cloned().collect();
            changed |= self.each(fields.len(), |_, case, at| {
                let values: &mut Values = &mut case.rows[row].1;
                values.remove(&fields[at]);
            });
        }
        changed
    }

    fn table(&mut self, table: usize) -> bool {
        let indexes = self.spec.tables[table].indexes.len();
        let mut changed = self.each(indexes, |spec, _, at| {
            let gone = spec.tables[table].indexes.remove(at);
            let own = spec.tables[table].name.clone();
            for entity in spec.entities.iter_mut().filter(|entity| entity.table == own) {
                entity.keys.retain(|(name, ..)| {
                    matches!(name.as_str(), "PK" | "SK")
                        || !(gone.partition.contains(name) || gone.sort.contains(name))
                });
            }
        });
        for index in 0..self.spec.tables[table].indexes.len() {
            if self.spec.tables[table].indexes[index].projection.is_some() {
                changed |=
                    self.each(1, |spec, _, _| spec.tables[table].indexes[index].projection = None);
            }
        }
        changed
            | self.each(self.spec.tables[table].settings.len(), |spec, _, at| {
                spec.tables[table].settings.remove(at);
            })
    }

    fn entity(&mut self, entity: usize) -> bool {
        let keys = self.spec.entities[entity].keys.len();
        let mut changed = self.each(keys, |spec, _, at| {
            spec.entities[entity].keys.remove(at);
        });
        for key in 0..self.spec.entities[entity].keys.len() {
            if self.spec.entities[entity].keys[key].2.is_some() {
                changed |= self.each(1, |spec, _, _| spec.entities[entity].keys[key].2 = None);
            }
            changed |= self.template(entity, key);
        }
        let fields = self.spec.entities[entity].fields.len();
        changed
            | self.each(fields, |spec, _, at| {
                spec.entities[entity].fields.remove(at);
            })
    }

    /// Leaves out the parts of a key template.
    fn template(&mut self, entity: usize, key: usize) -> bool {
        let parts: Vec<String> =
            self.spec.entities[entity].keys[key].1.split('#').map(str::to_owned).collect();
        if parts.len() < 2 {
            return false;
        }
        for at in 0..parts.len() {
            let mut fewer = parts.clone();
            fewer.remove(at);
            let mut spec = self.spec.clone();
            spec.entities[entity].keys[key].1 = fewer.join("#");
            if self.keep(spec, self.case.clone()) {
                return true;
            }
        }
        false
    }

    fn pattern(&mut self) -> bool {
        // A relationship makes its own.
        let Some(pattern) = self.spec.patterns.first().cloned() else { return false };
        let mut changed = self.each(pattern.settings.len(), |spec, _, at| {
            spec.patterns[0].settings.remove(at);
        });
        changed |= self.each(pattern.find.len(), |spec, _, at| {
            spec.patterns[0].find.remove(at);
        });
        changed |= self.each(pattern.order.len(), |spec, _, at| {
            spec.patterns[0].order.remove(at);
        });
        changed
            | self.each(pattern.terms.len(), |spec, case, at| {
                spec.patterns[0].terms.remove(at);
                // Inputs that nobody asks for any more are refused.
                let rest = spec.patterns[0].terms.join(" ");
                case.inputs.retain(|name, _| {
                    let field = name.split("_from").next().unwrap_or(name);
                    let field = field.split("_to").next().unwrap_or(field).trim_end_matches("_2");
                    rest.contains(field)
                });
            })
    }
}
