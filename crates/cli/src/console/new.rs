//! A design from what is stored, asked and written: `keyloom new` in the console. Nothing is written; the page saves the file.

use std::time::{Duration, Instant};

use keyloom_design::cost::Prices;
use keyloom_design::report;
use keyloom_server::ConsoleReply;
use keyloom_simulate::{forecast, render};
use serde_json::{Value as Json, json};

use super::{Answer, Refusal, body};
use crate::commands::new::{Step, Talk};
use crate::commands::synth::{reasons, refusals};

/// Lines of one kind at most.
const MOST_LINES: usize = 100;
/// How long one question may take.
const LONGEST: Duration = Duration::from_secs(20);

pub(super) fn answer(bytes: &[u8]) -> Answer {
    let body = body(bytes)?;
    let name = body.get("name").and_then(Json::as_str).unwrap_or("design");
    let is_name = |it: &str| {
        (1..=64).contains(&it.len())
            && it.chars().all(|letter| letter.is_alphanumeric() || "-_".contains(letter))
    };
    if !is_name(name) {
        return Err(Refusal::wrong(format_args!(
            "`name` {name:?} is not 1 to 64 letters, digits, - and _"
        )));
    }
    let prices = Prices::default();
    let mut talk = Talk::new(format!("{name}.toml"), &prices);
    let (said, all_good) = take(&mut talk, &body)?;
    let mut reply = serde_json::Map::from_iter([("said".to_owned(), Json::from(said))]);
    if !talk.is_empty() && all_good {
        let found = talk.found(Duration::from_secs(10)).map_err(Refusal::wrong)?;
        let Some(best) = found.designs.first() else {
            return Err(Refusal::wrong("No keys were found"));
        };
        let options = keyloom_simulate::Options::default();
        let ahead = forecast(&best.report, |_| {}, &options, &prices);
        let pictures = render::pictures(&ahead, &prices);
        let pictures = pictures.into_iter().map(|(name, svg)| (name, Json::from(svg)));
        let mut simulated = render::json(&ahead);
        if let Json::Object(members) = &mut simulated {
            members.insert("pictures".to_owned(), pictures.collect());
        }
        let made = json!({
            "text": best.text,
            "design": report::design_json(&best.report),
            "indexes": best.indexes,
            "dollars_a_month": best.money().on_demand,
            "why": reasons(&found),
            "refused": refusals(&found),
            "proven": best.is_sound() && found.refused.is_empty(),
            "simulation": simulated,
        });
        reply.extend(made.as_object().cloned().unwrap_or_default());
    }
    Ok(ConsoleReply::json(&Json::Object(reply)))
}

/// Takes all lines; what each makes of the design, and whether all can be used.
fn take(talk: &mut Talk<'_>, body: &Json) -> Result<(Vec<Json>, bool), Refusal> {
    let (mut said, mut all_good) = (Vec::new(), true);
    let start = Instant::now();
    for (step, kind) in Step::ALL.into_iter().zip(["entities", "patterns", "writes"]) {
        for (number, line) in lines(body, kind)?.into_iter().enumerate() {
            if start.elapsed() > LONGEST {
                return Err(Refusal::wrong(format_args!(
                    "This takes longer than {} seconds here; `keyloom new` has the time",
                    LONGEST.as_secs()
                )));
            }
            let told = talk.answer(step, line);
            all_good &= told.is_ok();
            let (says, is_wrong) = match told {
                Ok(text) => (text, false),
                Err(reason) => (reason, true),
            };
            said.push(json!({ "kind": kind, "line": number, "says": says, "wrong": is_wrong }));
        }
    }
    Ok((said, all_good))
}

/// The lines of one kind.
fn lines<'j>(body: &'j Json, kind: &str) -> Result<Vec<&'j str>, Refusal> {
    let wrong = || {
        Refusal::wrong(format_args!("`{kind}` must be a list of up to {MOST_LINES} lines of text"))
    };
    let Some(list) = body.get(kind) else { return Ok(Vec::new()) };
    let list = list.as_array().filter(|list| list.len() <= MOST_LINES).ok_or_else(wrong)?;
    list.iter().map(|line| line.as_str().map(str::trim).ok_or_else(wrong)).collect()
}
