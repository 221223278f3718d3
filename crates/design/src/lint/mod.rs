//! stub
pub struct Rule { pub id: &'static str }
pub const RULES: &[Rule] = &[Rule{id:"K01"}];
pub fn rule(id: &str) -> Option<&'static Rule> { RULES.iter().find(|r| r.id == id) }
