//! A whole design as one JSON document: what its file states, what is proven and found, and pictures of it. The console
//! shows it.

use keyloom_core::json::write_item;
use serde_json::{Map, Value as Json, json};

use super::json::{finding_json, pattern_json};
use crate::check::CheckReport;
use crate::docs;
use crate::generate::{GenerateOptions, generate};
use crate::key::Piece;
use crate::lint::Finding;
use crate::model::{
    Access, Billing, Design, Entity, EntityKey, Field, Index, IndexKind, InputRole, Operand,
    Projection, Table, Test,
};
use crate::plan::Plan;
use crate::source::Source;

/// Sample items of each entity, about.
const SAMPLES: usize = 3;

/// Everything about a design file, mistakes included.
pub fn design_json(report: &CheckReport) -> Json {
    let source = &report.source;
    let mut whole = json!({
        "text": source.text(),
        "whole": report.is_whole,
        "findings": report.findings.iter().map(|found| located(found, source)).collect::<Vec<_>>(),
        "suppressed": report.suppressed.iter().map(|(found, reason)| {
            json!({ "rule": found.rule, "subject": found.subject, "reason": reason })
        }).collect::<Vec<_>>(),
    });
    let (Some(design), Json::Object(members)) = (&report.design, &mut whole) else { return whole };
    let patterns = design.accesses().iter().zip(&report.plans);
    members.extend([
        ("title".to_owned(), json!(design.name())),
        ("description".to_owned(), json!(design.description())),
        ("tables".to_owned(), design.tables().iter().map(|table| table_json(table)).collect()),
        (
            "entities".to_owned(),
            design.entities().iter().map(|it| entity_json(design, it)).collect(),
        ),
        ("patterns".to_owned(), patterns.map(|(access, plan)| access_json(access, plan)).collect()),
        ("relationships".to_owned(), relationships(design)),
        ("samples".to_owned(), samples(design)),
        (
            "diagrams".to_owned(),
            json!({ "er": docs::er_svg(design), "keyMap": docs::key_map_svg(design) }),
        ),
    ]);
    whole
}

/// A finding with its whole place, and the text of the file as its change leaves it.
fn located(finding: &Finding, source: &Source) -> Json {
    let mut value = finding_json(finding, source);
    let Json::Object(members) = &mut value else { return value };
    let line_and_column = |offset: usize| {
        let before = source.text().get(..offset.min(source.text().len())).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(start..).unwrap_or_default().chars().count() + 1;
        (before.matches('\n').count() + 1, column)
    };
    members.insert("level".to_owned(), json!(finding.severity.as_str()));
    if finding.span.is_some() {
        let (line, column) = line_and_column(finding.span.start());
        let (end_line, end_column) = line_and_column(finding.span.end());
        members.insert(
            "span".to_owned(),
            json!({ "line": line, "column": column, "endLine": end_line, "endColumn": end_column }),
        );
    }
    let title = finding.fix.lines().next().unwrap_or_default().trim_end_matches([':', ';']);
    let applied = finding.change.as_ref().and_then(|change| change.apply(source.text()));
    let fix = match applied {
        Some(text) => json!({ "title": title, "advice": finding.fix, "text": text }),
        None if finding.fix.is_empty() => Json::Null,
        None => json!({ "title": title, "advice": finding.fix }),
    };
    members.insert("fix".to_owned(), fix);
    value
}

fn table_json(table: &Table) -> Json {
    let [partition, sort] = key_names(table.primary());
    json!({
        "name": table.name,
        "partitionKey": partition.first(),
        "sortKey": sort.first(),
        "attributes": table.key_attributes().iter().map(|it| {
            json!({ "name": it.name, "type": it.kind.as_str() })
        }).collect::<Vec<_>>(),
        "indexes": table.secondary().iter().map(index_json).collect::<Vec<_>>(),
        "ttl": table.ttl,
        "typeAttribute": table.type_attribute,
        "separator": table.separator,
        "billing": match table.billing {
            Billing::OnDemand => "on-demand",
            Billing::Provisioned => "provisioned",
        },
    })
}

fn key_names(index: &Index) -> [Vec<&str>; 2] {
    [&index.hash, &index.range].map(|part| part.iter().map(|it| it.name.as_str()).collect())
}

fn index_json(index: &Index) -> Json {
    let [partition, sort] = key_names(index);
    json!({
        "name": index.name,
        "local": index.kind == IndexKind::Local,
        "partitionKey": partition,
        "sortKey": sort,
        "projection": match &index.projection {
            Projection::All => json!("all"),
            Projection::Keys => json!("keys"),
            Projection::Include(names) => json!(names),
        },
    })
}

fn entity_json(design: &Design, entity: &Entity) -> Json {
    json!({
        "name": entity.name,
        "table": entity.table.name,
        "description": entity.description,
        "identity": entity.identity(),
        "fields": entity.fields.iter().map(|it| field_json(design, entity, it)).collect::<Vec<_>>(),
        "keys": entity.keys.iter().map(key_json).collect::<Vec<_>>(),
        "count": entity.volume.count,
        "size": entity.volume.size,
    })
}

fn field_json(design: &Design, entity: &Entity, field: &Field) -> Json {
    let leads_to = |other: &&std::sync::Arc<Entity>| {
        other.name != entity.name && other.identity() == [field.name.as_str()]
    };
    let reference = design.entities().iter().find(leads_to);
    json!({
        "name": field.name,
        "type": field.type_name(),
        "values": field.values(),
        "max": field.max_bytes,
        "optional": field.optional,
        "stored": field.is_stored(),
        "references": reference.map(|it| json!({ "entity": it.name, "field": field.name })),
    })
}

fn key_json(key: &EntityKey) -> Json {
    let piece = |piece: &Piece| match piece {
        Piece::Literal(text) => json!({ "literal": text }),
        Piece::Field(field) => {
            json!({ "field": field.name(), "format": field.format().to_string() })
        }
    };
    let template = key.shape.template();
    json!({
        "attribute": key.attribute,
        "template": template.text(),
        "native": key.shape.is_native(),
        "when": key.when.as_ref().map(ToString::to_string),
        "pieces": template.pieces().iter().map(piece).collect::<Vec<_>>(),
    })
}

fn access_json(access: &Access, plan: &Plan) -> Json {
    let mut value = pattern_json(access, plan);
    let Json::Object(members) = &mut value else { return value };
    let inputs = access.inputs.iter().map(|input| {
        let field = access.asked().and_then(|entity| entity.field(&input.field));
        json!({
            "name": input.name,
            "field": input.field,
            "op": op(access, &input.name, input.role),
            "type": field.map(Field::type_name),
            "values": field.and_then(Field::values),
        })
    });
    let proofs: Vec<Json> = super::proofs(plan)
        .into_iter()
        .map(|(claim, proof)| json!({ "claim": claim, "status": proof.as_str() }))
        .collect();
    let more = [
        ("find", json!(access.find.iter().map(|it| it.name.as_str()).collect::<Vec<_>>())),
        ("via", json!(access.via.as_ref().map(|it| it.name.as_str()))),
        ("table", json!(access.asked().map(|it| it.table.name.as_str()))),
        ("where", json!(access.where_text(Operand::describe))),
        ("inputs", inputs.collect()),
        ("order", json!(access.order_text())),
        ("limit", json!(access.limit)),
        ("rate", json!(access.rate.map(|rate| rate.average))),
        ("description", json!(access.description)),
        ("places", json!(plan.places())),
        ("cost", json!({ "ru": plan.estimate.read_units })),
        ("proofs", json!(proofs)),
    ];
    members.extend(more.map(|(name, value)| (name.to_owned(), value)));
    value
}

/// How an input is compared with its field.
fn op(access: &Access, input: &str, role: InputRole) -> &'static str {
    let uses = |operand: &Operand| matches!(operand, Operand::Input(name) if name == input);
    let inclusive = |end: &Option<crate::model::End>| {
        end.as_ref().filter(|end| uses(&end.operand)).map(|end| end.inclusive)
    };
    let found = access.questions().find_map(|question| match &question.test {
        Test::NotEqual(operand) if uses(operand) => Some("<>"),
        Test::In(operands) if operands.iter().any(uses) => Some("in"),
        Test::Contains(operand) if uses(operand) => Some("contains"),
        Test::Lacks(operand) if uses(operand) => Some("not contains"),
        Test::Range { low, high } => match (inclusive(low), inclusive(high)) {
            (Some(true), _) => Some(">="),
            (Some(false), _) => Some(">"),
            (_, Some(true)) => Some("<="),
            (_, Some(false)) => Some("<"),
            _ => None,
        },
        _ => None,
    });
    found.unwrap_or(match role {
        InputRole::Value => "=",
        InputRole::Low => ">=",
        InputRole::High => "<=",
        InputRole::Prefix => "begins_with",
    })
}

fn relationships(design: &Design) -> Json {
    design
        .relationships()
        .iter()
        .map(|it| json!({ "name": it.name, "from": it.from.name, "to": it.to.name }))
        .collect()
}

/// A few generated items of each table, as DynamoDB JSON.
fn samples(design: &Design) -> Json {
    let items = SAMPLES * design.entities().len();
    let rows = generate(design, &GenerateOptions { items, seed: 1, adversarial: false });
    let mut tables: Map<String, Json> = Map::new();
    for row in rows {
        let mut bytes = Vec::new();
        write_item(&row.item(), &mut bytes);
        let item: Json = serde_json::from_slice(&bytes).unwrap_or_default();
        let sample = json!({ "entity": row.entity.name, "item": item });
        let listed = tables.entry(row.entity.table.name.clone()).or_insert_with(|| json!([]));
        if let Json::Array(listed) = listed {
            listed.push(sample);
        }
    }
    Json::Object(tables)
}
