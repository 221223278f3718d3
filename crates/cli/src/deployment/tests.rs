//! Deploying to an embedded engine.

use keyloom_core::Operation;
use keyloom_design::cost::Prices;
use keyloom_design::{CheckReport, check_text};
use serde_json::{Value as Json, json};

use super::{Change, Deployment, Refused, Service, member};
use crate::trial::Engine;

impl Service for Engine {
    fn call(&self, operation: Operation, body: &Json) -> Result<Json, Refused> {
        match Engine::call(self, operation, body) {
            Ok(answer) => Ok(serde_json::from_slice(&answer).unwrap()),
            Err(refusal) => {
                Err(Refused { code: refusal.code, operation, message: refusal.message })
            }
        }
    }
}

fn prepare(design: &CheckReport, service: &dyn Service) -> Result<Deployment, Refused> {
    super::prepare(design, design.design.as_ref().unwrap(), service)
}

fn design(indexes: &str) -> CheckReport {
    let text = format!(
        "[table.app]\npartition_key = \"PK\"\nsort_key = \"SK\"\n{indexes}\n\
         [entity.E]\nPK = \"E#{{id}}\"\nSK = \"E\"\n[entity.E.fields]\nid = \"ulid\"\nname = \"string\"\n"
    );
    check_text("app.toml", &text, &Prices::default())
}

fn empty() -> Engine {
    Engine::empty()
}

fn deployed(design: &CheckReport, engine: &Engine) -> Deployment {
    let deployment = prepare(design, engine).unwrap();
    assert!(deployment.refusals.is_empty(), "{deployment:?}");
    for change in &deployment.changes {
        change.make(engine).unwrap();
    }
    deployment
}

fn words(deployment: &Deployment) -> Vec<String> {
    deployment.changes.iter().map(Change::describe).collect()
}

const ONE: &str = "[table.app.index.GSI1]\npartition_key = \"G1\"\n";
const TWO: &str = "[table.app.index.GSI1]\npartition_key = \"G1\"\n\
                   [table.app.index.GSI2]\npartition_key = \"G2\"\nsort_key = \"name\"\n";

#[test]
fn tables_are_created_once_and_then_settled() {
    let (engine, design) = (empty(), design("ttl = \"ends\"\nstream = \"new\""));
    let first = deployed(&design, &engine);
    assert_eq!(words(&first), ["create table `app`", "let items of table `app` end at `ends`"]);
    let second = prepare(&design, &engine).unwrap();
    assert!(second.changes.is_empty() && second.notes.is_empty(), "{second:?}");
    assert_eq!(second.settled, ["app"]);
}

#[test]
fn missing_indexes_are_added_one_at_a_time() {
    let engine = empty();
    deployed(&design(""), &engine);
    let grown = deployed(&design(TWO), &engine);
    assert_eq!(
        words(&grown),
        ["add index `GSI1` to table `app`", "add index `GSI2` to table `app`"]
    );
    assert_eq!(prepare(&design(TWO), &engine).unwrap().settled, ["app"]);
}

#[test]
fn an_index_that_is_not_in_the_design_is_left_alone() {
    let engine = empty();
    deployed(&design(TWO), &engine);
    let deployment = prepare(&design(ONE), &engine).unwrap();
    assert!(deployment.changes.is_empty() && deployment.refusals.is_empty(), "{deployment:?}");
    assert_eq!(
        deployment.notes,
        ["index `GSI2` of table `app` is not in the design; it is left as it is"]
    );
}

#[test]
fn what_would_lose_something_is_refused() {
    let engine = empty();
    deployed(&design(ONE), &engine);
    for (indexes, said) in [
        ("[table.app.index.GSI1]\npartition_key = \"G2\"\n", "never changed in place"),
        (
            "[table.app.index.GSI1]\npartition_key = \"G1\"\nprojection = \"keys\"\n",
            "projecting ALL, the design says (hash G1:S) projecting KEYS_ONLY",
        ),
        (
            "[table.app.index.LSI1]\nlocal = true\nsort_key = \"name\"\n",
            "local indexes are made with the table",
        ),
    ] {
        let deployment = prepare(&design(indexes), &engine).unwrap();
        let refusals = deployment.refusals.join("\n");
        assert!(refusals.contains(said), "{indexes}: {deployment:?}");
    }
}

#[test]
fn another_key_is_refused() {
    let engine = empty();
    deployed(&design(""), &engine);
    let text =
        "[table.app]\npartition_key = \"id\"\n[entity.E.fields]\nid = \"ulid\"\n[entity.E]\n";
    let other = check_text("app.toml", text, &Prices::default());
    let refusals = prepare(&other, &engine).unwrap().refusals;
    assert!(refusals[0].contains("a table's key never changes"), "{refusals:?}");
}

#[test]
fn a_key_attribute_of_another_type_is_refused_with_the_index_that_has_it() {
    let engine = empty();
    deployed(&design(ONE), &engine);
    let other = "[table.app.index.GSI9]\npartition_key = \"G1:N\"\n";
    let deployment = prepare(&design(other), &engine).unwrap();
    assert!(deployment.changes.is_empty(), "{deployment:?}");
    assert_eq!(
        deployment.refusals,
        [
            "index `GSI9` of table `app` is to have `G1` as N, but keys of the table have it as S: an \
          attribute has one type in all keys of a table; give the index's attribute another name, \
          or delete index `GSI1` first"
        ]
    );
}

#[test]
fn settings_of_a_table_that_is_there_become_those_of_the_design() {
    let first = "ttl = \"ends\"\nclass = \"infrequent-access\"\n";
    for (before, after, changes) in [
        (
            "",
            "billing = \"provisioned\"\n",
            vec!["change table `app`: billed PROVISIONED instead of PAY_PER_REQUEST"],
        ),
        (
            "billing = \"provisioned\"\n",
            "",
            vec!["change table `app`: billed PAY_PER_REQUEST instead of PROVISIONED"],
        ),
        (
            "",
            "stream = \"both\"\n",
            vec!["change table `app`: a stream that holds NEW_AND_OLD_IMAGES"],
        ),
        ("", "ttl = \"ends\"\n", vec!["let items of table `app` end at `ends`"]),
        ("ttl = \"ends\"\n", "", vec!["no longer let items of table `app` end at `ends`"]),
        (
            "ttl = \"ends\"\n",
            "ttl = \"expires\"\n",
            vec![
                "no longer let items of table `app` end at `ends`",
                "let items of table `app` end at `expires`",
            ],
        ),
        (
            first,
            "",
            vec![
                "change table `app`: class STANDARD instead of STANDARD_INFREQUENT_ACCESS",
                "no longer let items of table `app` end at `ends`",
            ],
        ),
    ] {
        let engine = empty();
        deployed(&design(&format!("{before}{ONE}")), &engine);
        let wanted = design(&format!("{after}{ONE}"));
        let drift = prepare(&wanted, &engine).unwrap();
        assert!(
            drift.differs() && drift.refusals.is_empty() && drift.notes.is_empty(),
            "{drift:?}"
        );
        assert_eq!(words(&drift), changes);
        // Interrupted after the first of them, it goes on with the rest.
        drift.changes.first().unwrap().make(&engine).unwrap();
        let rest = deployed(&wanted, &engine);
        assert_eq!(words(&rest), changes.get(1..).unwrap());
        let settled = prepare(&wanted, &engine).unwrap();
        assert!(!settled.differs(), "{before} → {after}: {settled:?}");
    }
}

#[test]
fn a_new_index_comes_after_the_billing_and_is_billed_like_it() {
    const PROVISIONED: &str = "billing = \"provisioned\"\n";
    for (first, then, throughput) in [
        (PROVISIONED, "", Json::Null),
        ("", PROVISIONED, json!({ "ReadCapacityUnits": 1, "WriteCapacityUnits": 1 })),
    ] {
        let engine = empty();
        deployed(&design(first), &engine);
        let grown = deployed(&design(&format!("{then}{ONE}")), &engine);
        let [Change::Settings { .. }, Change::AddIndex { index, .. }] = grown.changes.as_slice()
        else {
            panic!("{grown:?}")
        };
        assert_eq!(*member(index, "/ProvisionedThroughput"), throughput);
        assert_eq!(prepare(&design(&format!("{then}{ONE}")), &engine).unwrap().settled, ["app"]);
    }
}

#[test]
fn a_table_that_a_lost_answer_has_made_counts_as_made() {
    let (engine, design) = (empty(), design(ONE));
    let deployment = deployed(&design, &engine);
    for change in &deployment.changes {
        change.make(&engine).unwrap();
    }
}

#[test]
fn a_table_that_somebody_else_has_made_otherwise_is_refused() {
    let engine = empty();
    let deployment = prepare(&design(ONE), &engine).unwrap();
    deployed(&design(""), &engine);
    let refused = deployment.changes[0].make(&engine).unwrap_err();
    assert!(refused.to_string().contains("made by somebody else meanwhile"), "{refused}");
}

/// An endpoint without time to live, as some that stand in for DynamoDB are.
struct Endless(Engine);

impl Service for Endless {
    fn call(&self, operation: Operation, body: &Json) -> Result<Json, Refused> {
        if operation.name().ends_with("TimeToLive") {
            let code = "UnknownOperationException".to_owned();
            return Err(Refused { code, operation, message: String::new() });
        }
        Service::call(&self.0, operation, body)
    }
}

#[test]
fn an_endpoint_without_time_to_live_is_noted() {
    let (endpoint, design) = (Endless(empty()), design("ttl = \"ends\""));
    let said = "the endpoint has no time to live: items of table `app` do not end at `ends`";
    let first = prepare(&design, &endpoint).unwrap();
    let notes: Vec<_> = first.changes.iter().map(|c| c.make(&endpoint).unwrap()).collect();
    assert_eq!(notes, [None, Some(said.to_owned())]);
    let second = prepare(&design, &endpoint).unwrap();
    assert!(second.changes.is_empty(), "{second:?}");
    assert_eq!(second.notes, [said]);
}

#[test]
fn provisioned_tables_get_the_units_that_their_rates_ask_for() {
    let text = "[table.app]\npartition_key = \"PK\"\nsort_key = \"SK\"\nbilling = \"provisioned\"\n\
                [table.app.index.GSI1]\npartition_key = \"G1\"\n\
                [entity.E]\nPK = \"E#{id}\"\nSK = \"E\"\nG1 = \"N#{name}\"\nsize = \"1 KB\"\n\
                [entity.E.fields]\nid = \"ulid\"\nname = \"string\"\n\
                [access.\"one\"]\nfind = \"E\"\nwhere = \"id = ?\"\nrate = \"80/s\"\n\
                [write.\"new\"]\nentity = \"E\"\nkind = \"put\"\nrate = \"30/s\"\n";
    let report = check_text("app.toml", text, &Prices::default());
    assert!(report.is_whole, "{:?}", report.findings);
    let engine = empty();
    let deployment = deployed(&report, &engine);
    assert_eq!(
        words(&deployment),
        ["create table `app` (40 read and 30 write units a second) \
          with `GSI1` (1 read and 30 write units a second)"]
    );
    assert_eq!(prepare(&report, &engine).unwrap().settled, ["app"]);
}
