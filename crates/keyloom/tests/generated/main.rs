//! Modules that `keyloom generate rust` wrote from design files: they compile, and state the same design.
#![expect(clippy::unwrap_used, unreachable_pub, reason = "tests")]
#![expect(
    clippy::module_inception,
    clippy::struct_field_names,
    reason = "named as the design files name them"
)]
// Not `expect`: the compiler takes what is expected to be dead for alive, and then misses its warning.
#![allow(dead_code, reason = "the modules are compared, not used")]

use keyloom::designs::cost::Prices;
use keyloom::designs::{Design, check_text, rust_module};

/// What a check says, without the places.
fn findings(toml: &str) -> Vec<(&'static str, String, String, String)> {
    let report = check_text("design", toml, &Prices::default());
    let findings = report.findings.into_iter();
    let mut found: Vec<_> =
        findings.map(|found| (found.rule, found.subject, found.message, found.fix)).collect();
    found.extend(report.plans.iter().map(|plan| {
        ("plan", plan.name.clone(), plan.verdict.as_str().to_owned(), format!("{:?}", plan.proofs))
    }));
    found.sort();
    found
}

fn compare<D: keyloom::Design>(file: &str, module: &str, name: &str) {
    let design = Design::parse(name, file).0.unwrap();
    assert_eq!(rust_module(&design, name).unwrap(), module, "generate `{name}` anew");
    assert_eq!(findings(D::to_toml()), findings(file), "{name}");
    D::open(keyloom::Database::memory()).unwrap();
}

macro_rules! generated {
    ($($test:ident: $file:literal => $design:ident;)*) => {
        $(mod $test {
            include!(concat!(stringify!($test), ".rs"));

            #[test]
            fn states_its_file() {
                let file = include_str!($file);
                let module = include_str!(concat!(stringify!($test), ".rs"));
                super::compare::<$test::$design>(file, module, stringify!($test));
            }
        })*
    };
}
generated! {
    access_control: "../../../../examples/designs/access-control.toml" => AccessControl;
    enrollments: "../../../../examples/designs/enrollments.toml" => Enrollments;
    game_inventory: "../../../../examples/designs/game-inventory.toml" => GameInventory;
    key_anti_patterns: "../../../../examples/designs/key-anti-patterns.toml" => KeyAntiPatterns;
    every_word: "every_word.toml" => EveryWord;
    odd_names: "odd_names.toml" => OddNames;
}
