//! The designs with traps, whose verdicts are known, on the engine: what is proven of them must hold there, too.

use std::fs;
use std::path::Path;

use keyloom_design::Design;
use keyloom_design::plan::Plan;

use super::judge::{Counter, Judged};
use super::{Options, Trial};

#[test]
fn designs_with_traps_keep_their_promises() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../design/tests/adversary");
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    paths.sort();
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for path in &paths {
        let name = path.file_stem().unwrap().to_string_lossy();
        // Files with an error have nothing to try.
        let (Some(design), _) = Design::parse(&name, &fs::read_to_string(path).unwrap()) else {
            continue;
        };
        let options = Options { items: 60, seed: 1, calls: 3 };
        let trial = match Trial::prepare(design, options, &mut |_| {}) {
            Ok(trial) => trial,
            Err(refusal) => {
                wrong.push(format!("{name}: {refusal}"));
                continue;
            }
        };
        // Thousands of requests for each call take longer than all the rest.
        let is_narrow = |plan: &Plan| plan.first_calls().is_none_or(|calls| calls <= 1000.0);
        for (access, plan) in trial.patterns().filter(|(_, plan)| is_narrow(plan)) {
            let outcome = trial.judge(access, plan);
            tried += 1;
            if let Judged::Broken { why } = &outcome.judged {
                wrong.push(format!("{name}, {}: {why}", outcome.name));
            }
            if let Some(Counter::NotShown { why }) = &outcome.counter {
                wrong.push(format!("{name}, {}: no counter-example: {why}", outcome.name));
            }
        }
    }
    assert!(tried > 200, "{tried} patterns");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
