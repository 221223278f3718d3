//! Runs an access pattern with values from the console's form, by the one runner of plans.

use std::time::Instant;

use keyloom::{Cursor, PlanRunner, Retry};
use keyloom_design::plan::{Request, requests};
use keyloom_design::report::pattern_json;
use keyloom_server::ConsoleReply;
use serde_json::{Value as Json, json};

use super::recognize::recognized;
use super::{Answer, DesignConsole, Refusal, body, text, usable};
use crate::pattern::{find, read_inputs};
use crate::trial::wire_item;

/// Default and maximum page size, in items.
const PAGE: u64 = 50;
const MOST: u64 = 1000;

impl DesignConsole {
    pub(super) fn run(&self, name: &str, bytes: &[u8]) -> Answer {
        let report = self.usable(name)?;
        let design = usable(&report)?;
        let body = body(bytes)?;
        let (access, plan) = find(design, &report, text(&body, "pattern")?)?;
        let pairs = pairs(body.get("inputs").unwrap_or(&Json::Null))?;
        let inputs = read_inputs(access, plan, &pairs)?;
        let planned = requests(access, plan, &inputs).map_err(Refusal::wrong)?;
        let size = body.get("limit").and_then(Json::as_u64);
        let size = size.or(access.limit).unwrap_or(PAGE).clamp(1, MOST);
        // Any text is a cursor until it is used.
        let cursor = body.get("cursor").and_then(Json::as_str);
        let cursor = cursor.and_then(|text| text.parse::<Cursor>().ok());
        let began = Instant::now();
        let retry = Retry::default();
        let runner = PlanRunner::new(&self.backend, &retry);
        let page = runner.run_page(access, plan, &inputs, (size as usize, cursor.as_ref()))?;
        let took = began.elapsed();
        let table = access.asked().map(|entity| entity.table.name.clone()).unwrap_or_default();
        let rows = page.items.iter().map(|item| {
            let mut row = recognized(design, &table, item);
            if let Json::Object(members) = &mut row {
                members.insert("item".to_owned(), wire_item(item));
            }
            row
        });
        let explained = pattern_json(access, plan);
        Ok(ConsoleReply::json(&json!({
            "table": table,
            "requests": planned.iter().map(Request::to_json).collect::<Vec<_>>(),
            "rows": rows.collect::<Vec<_>>(),
            "cursor": page.cursor.map(|cursor| cursor.to_string()),
            "units": page.units.as_f64(),
            "proof": explained.get("proofs"),
            "verdict": explained.get("verdict"),
            "ms": took.as_secs_f64() * 1000.0,
        })))
    }
}

/// `input=value` for each input that has a value.
fn pairs(inputs: &Json) -> Result<Vec<String>, Refusal> {
    let Some(members) = inputs.as_object() else {
        return if inputs.is_null() {
            Ok(Vec::new())
        } else {
            Err(Refusal::wrong("`inputs` must be an object: {\"field\": value}"))
        };
    };
    let pair = |(name, value): (&String, &Json)| match value {
        Json::String(text) => Ok(format!("{name}={text}")),
        Json::Number(number) => Ok(format!("{name}={number}")),
        Json::Bool(flag) => Ok(format!("{name}={flag}")),
        _ => Err(Refusal::wrong(format_args!("`{name}` must be a text, a number, true or false"))),
    };
    members.iter().map(pair).collect()
}
