//! The permission that a PartiQL statement needs.

use keyloom_core::expr::{Condition, Path};
use keyloom_core::json::Json;
use keyloom_core::partiql::ast::{self, ReturningScope};
use keyloom_core::partiql::{self, Select, Statement, bind, keys};
use keyloom_core::policy::{Access, Known};
use keyloom_core::{AttributeValue, KeySchema, Operation, Result};
use keyloom_engine::{Database, GuardedTable};

use super::body::{Body, Collected};

/// The permission that a statement needs; none if the database refuses it before it accesses any table.
pub(super) fn needs(
    database: &Database,
    body: Body<'_>,
    enclosing: Option<Operation>,
) -> Option<Access> {
    let tree = partiql::parse(body.text("Statement")?).ok()?;
    let action = match &tree {
        ast::Statement::Select(_) => "PartiQLSelect",
        ast::Statement::Insert(_) => "PartiQLInsert",
        ast::Statement::Update(_) => "PartiQLUpdate",
        ast::Statement::Delete(_) => "PartiQLDelete",
        ast::Statement::Expression(_) if bind::is_exists(&tree) => "PartiQLSelect",
        ast::Statement::Expression(_) => return None,
    };
    let (name, index) = bind::target(&tree)?;
    let mut access = Access {
        action: format!("dynamodb:{action}"),
        resource: super::resource(database, name, index),
        leading_keys: Known::Unknown,
        attributes: Known::Unknown,
        enclosing_operation: enclosing.map(|operation| operation.name().to_owned()),
        ..Access::default()
    };
    if action == "PartiQLSelect" {
        access.full_table_scan = Known::Unknown;
    }
    let table = database.guarded_table(name);
    let parameters = body.list("Parameters").iter().map(partiql::parameter_from);
    let bound = parameters.collect::<Result<Vec<AttributeValue>>>();
    if let (Some(table), Ok(parameters)) = (table, bound)
        && let Ok(statement) = partiql::bind(&tree, parameters)
    {
        describe(&mut access, statement, &table);
    }
    if body.returns_item_on_failure() {
        access.attributes = Known::Unknown;
    }
    Some(access)
}

/// Adds what is known once the parameters are in their places.
fn describe(access: &mut Access, statement: Statement, table: &GuardedTable) {
    let key = &table.schema().key;
    let (mut leading, mut attributes) = (Collected::default(), Collected::default());
    match statement {
        Statement::Select(select) | Statement::Exists(select) => {
            return describe_read(access, &select, table);
        }
        Statement::Insert(insert) => {
            insert.item.keys().for_each(|name| attributes.add(name.as_str()));
            let hash = key.hash.first();
            leading.add_key(hash.and_then(|hash| insert.item.get(&hash.name)));
        }
        Statement::Update(update) => {
            add_paths(update.update.paths(), &mut attributes);
            add_one_item(update.condition, key, &mut leading, &mut attributes);
            access.return_values = Some(returned(update.returning).to_owned());
        }
        Statement::Delete(delete) => {
            add_one_item(delete.condition, key, &mut leading, &mut attributes);
            let all_old = delete.returning.then_some(ReturningScope::AllOld);
            access.return_values = Some(returned(all_old).to_owned());
        }
    }
    access.leading_keys = leading.known();
    access.attributes = attributes.known();
}

fn describe_read(access: &mut Access, select: &Select, table: &GuardedTable) {
    let schema = table.schema();
    let mut attributes = Collected::default();
    let columns = select.columns.iter().flatten().map(|column| &column.path);
    add_paths(columns.collect(), &mut attributes);
    add_paths(select.condition.iter().flat_map(Condition::paths).collect(), &mut attributes);
    access.attributes = attributes.known();
    let all = if select.index.is_some() { "ALL_PROJECTED_ATTRIBUTES" } else { "ALL_ATTRIBUTES" };
    let select_name = if select.columns.is_some() { "SPECIFIC_ATTRIBUTES" } else { all };
    access.select = Some(select_name.to_owned());
    let key = match &select.index {
        None => Some(&schema.key),
        Some(index) => schema.index(index).map(|index| &index.key),
    };
    match key.map(|key| keys::reads(select.condition.as_ref(), key)) {
        Some(Ok(Some(reads))) => {
            let mut leading = Collected::default();
            for read in &reads {
                leading.add_key(Some(&read.hash));
            }
            access.leading_keys = leading.known();
            access.full_table_scan = Known::Is(false);
        }
        Some(Ok(None)) => {
            access.leading_keys = Known::Absent;
            access.full_table_scan = Known::Is(true);
        }
        Some(Err(_)) | None => {}
    }
}

fn add_paths(paths: Vec<&Path>, attributes: &mut Collected) {
    for path in paths {
        attributes.add(path.attribute.as_str());
    }
}

/// Adds what the condition of a write says: the item by its key, and further attributes.
fn add_one_item(
    condition: Option<Condition>,
    key: &KeySchema,
    leading: &mut Collected,
    attributes: &mut Collected,
) {
    add_paths(condition.iter().flat_map(Condition::paths).collect(), attributes);
    let found = keys::one_item(condition, key);
    let hash = key.hash.first();
    leading.add_key(found.as_ref().and_then(|found| found.key.get(&hash?.name)));
}

/// What a write returns, in the words of `ReturnValues`.
fn returned(scope: Option<ReturningScope>) -> &'static str {
    match scope {
        None => "NONE",
        Some(ReturningScope::AllOld) => "ALL_OLD",
        Some(ReturningScope::AllNew) => "ALL_NEW",
        Some(ReturningScope::ModifiedOld) => "UPDATED_OLD",
        Some(ReturningScope::ModifiedNew) => "UPDATED_NEW",
    }
}

/// What the statements of a batch or a transaction need.
pub(super) fn needs_of_each(
    database: &Database,
    statements: &[Json<'_>],
    enclosing: Operation,
) -> Vec<Access> {
    let bodies = statements.iter().filter_map(Body::of);
    bodies.filter_map(|body| needs(database, body, Some(enclosing))).collect()
}
