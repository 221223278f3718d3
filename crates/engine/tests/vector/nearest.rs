//! Searches against a naive judge: random writes, then every index must answer as a sort would.

use std::collections::BTreeMap;

use keyloom_engine::{Database, SearchVectorsInput};
use proptest::prelude::*;
use serde_json::json;

use crate::{index, item, ok, put, search_schema, table};

const DIMENSIONS: usize = 3;

/// What happens to one of a few items.
#[derive(Clone, Debug)]
enum Step {
    Put { pk: u8, vector: Option<[i8; DIMENSIONS]>, tenant: Option<bool>, category: Option<bool> },
    Delete { pk: u8 },
}

#[derive(Clone, Debug)]
struct Row {
    vector: [f32; DIMENSIONS],
    tenant: Option<bool>,
    category: Option<bool>,
}

fn step() -> impl Strategy<Value = Step> {
    let vector = prop::option::weighted(0.9, any::<[i8; DIMENSIONS]>());
    let put = (0..20u8, vector, any::<Option<bool>>(), any::<Option<bool>>())
        .prop_map(|(pk, vector, tenant, category)| Step::Put { pk, vector, tenant, category });
    prop_oneof![4 => put, 1 => (0..20u8).prop_map(|pk| Step::Delete { pk })]
}

fn name(flag: bool) -> &'static str {
    if flag { "yes" } else { "no" }
}

/// Applies the steps to the database and, as simply as can be, to a map.
fn apply(db: &Database, steps: &[Step]) -> BTreeMap<u8, Row> {
    let mut rows = BTreeMap::new();
    for step in steps {
        match step {
            Step::Delete { pk } => {
                ok(db, "DeleteItem", json!({"TableName": "docs", "Key": {"pk": {"S": key(*pk)}}}));
                rows.remove(pk);
            }
            Step::Put { pk, vector, tenant, category } => {
                let mut more = json!({});
                for (name_of, flag) in [("tenant", tenant), ("category", category)] {
                    if let Some(flag) = flag {
                        more[name_of] = name(*flag).into();
                    }
                }
                let floats = vector.map(|vector| vector.map(f32::from));
                let mut item = item(&key(*pk), &floats.unwrap_or_default(), more);
                rows.remove(pk);
                match floats {
                    None => drop(item.as_object_mut().unwrap().remove("embedding")),
                    Some(vector) => {
                        rows.insert(*pk, Row { vector, tenant: *tenant, category: *category });
                    }
                }
                put(db, item);
            }
        }
    }
    rows
}

fn key(pk: u8) -> String {
    format!("{pk:03}")
}

/// The score as a textbook has it, at the precision of the answer.
fn score(function: &str, a: &[f32], b: &[f32]) -> f32 {
    let pairs = || a.iter().zip(b).map(|(a, b)| (f64::from(*a), f64::from(*b)));
    let dot: f64 = pairs().map(|(a, b)| a * b).sum();
    let norm = |v: &[f32]| v.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    let score = match function {
        "EUCLIDEAN" => pairs().map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt(),
        "DOT_PRODUCT" => dot,
        _ if norm(a) == 0.0 || norm(b) == 0.0 => 1.0,
        _ => 1.0 - dot / (norm(a) * norm(b)),
    };
    score as f32
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn searches_agree_with_a_naive_judge(
        steps in prop::collection::vec(step(), 1..60),
        query in any::<[i8; DIMENSIONS]>(),
        top_k in 1..25usize,
        tenant in any::<bool>(),
        category in any::<Option<bool>>(),
    ) {
        let db = Database::memory();
        let functions = ["COSINE", "EUCLIDEAN", "DOT_PRODUCT"];
        let mut indexes: Vec<_> =
            functions.iter().map(|function| index(function, function, json!([]))).collect();
        indexes.push(index("schema", "EUCLIDEAN", search_schema()));
        ok(&db, "CreateTable", table("docs", &["pk", "tenant", "category"], json!(indexes)));
        let rows = apply(&db, &steps);
        let query = query.map(f32::from);

        for (name_of, function) in functions.iter().map(|f| (*f, *f)).chain([("schema", "EUCLIDEAN")]) {
            let scoped = name_of == "schema";
            let mut input = SearchVectorsInput {
                table_name: "docs".into(),
                index_name: name_of.into(),
                search_vector: query.to_vec(),
                top_k,
                ..SearchVectorsInput::default()
            };
            if scoped {
                let filter = category.map(|_| " AND category = :c").unwrap_or_default();
                input.condition = Some(format!("tenant = :t{filter}"));
                let mut values = vec![(":t".into(), name(tenant).into())];
                values.extend(category.map(|flag| (":c".into(), name(flag).into())));
                input.values = Some(values);
            }
            let found: Vec<(String, f32)> = db
                .search_vectors(&input)
                .unwrap()
                .into_results()
                .unwrap()
                .into_iter()
                .map(|r| (r.item.get("pk").unwrap().as_s().unwrap().to_owned(), r.score as f32))
                .collect();

            let passes = |row: &Row| {
                !scoped
                    || row.tenant == Some(tenant)
                        && category.is_none_or(|category| row.category == Some(category))
            };
            let mut expected: Vec<(String, f32)> = rows
                .iter()
                .filter(|(_, row)| passes(row))
                .map(|(pk, row)| (key(*pk), score(function, &query, &row.vector)))
                .collect();
            let sign = if function == "DOT_PRODUCT" { -1.0 } else { 1.0 };
            expected.sort_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)));
            prop_assert_eq!(found.len(), expected.len().min(top_k), "{}", name_of);
            // The keys may differ where scores agree to the last bit that is reported.
            for ((found_key, found_score), (_, wanted)) in found.iter().zip(&expected) {
                prop_assert!((found_score - wanted).abs() <= 1e-6 * wanted.abs().max(1.0));
                let own = expected.iter().find(|(key, _)| key == found_key);
                prop_assert!(own.is_some_and(|(_, own)| (own - found_score).abs() <= 1e-6 * own.abs().max(1.0)));
            }
        }
    }
}
