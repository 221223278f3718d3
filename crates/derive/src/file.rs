//! The module as a design file.

use proc_macro2::Span;
use syn::ext::IdentExt as _;

use crate::arg::{Text, Value};
use crate::model::{Access, Entity, Field, Module, Table, Unique};
use crate::read::camel_case;
use crate::rust_type::Kind;
use crate::shard;
use crate::toml::Toml;

/// Writes the design file of a module: as it is, or with the numbers of shards of an earlier epoch.
pub(crate) fn write(module: &Module, epoch: Option<usize>) -> syn::Result<Toml> {
    let mut toml = Toml::default();
    if let Some((_, first)) = module.about.first() {
        toml.section(&["design"], first.span);
    }
    for (name, text) in &module.about {
        toml.text(name, text);
    }
    for table in &module.tables {
        write_table(&mut toml, table, module);
    }
    for entity in &module.entities {
        write_entity(&mut toml, entity, module, epoch)?;
    }
    for entity in &module.entities {
        for unique in &entity.uniques {
            write_unique(&mut toml, entity, unique, module)?;
        }
    }
    for access in module.accesses.iter().filter(|access| !access.implied) {
        write_access(&mut toml, access);
    }
    for (kind, section) in &module.sections {
        toml.section(&[kind, &section.name.value], section.name.span);
        for (name, value) in &section.members {
            toml.pair(name, value);
        }
    }
    for allow in &module.allows {
        toml.element("allow");
        for (name, value) in allow {
            toml.pair(name, value);
        }
    }
    Ok(toml)
}

fn write_table(toml: &mut Toml, table: &Table, module: &Module) {
    let span = table.name.span;
    let keys = |toml: &mut Toml, name: &str, keys: &[Text]| match keys {
        [] => {}
        [one] => toml.text(name, one),
        several => toml.texts(name, several, span),
    };
    toml.section(&["table", &table.name.value], span);
    keys(toml, "partition_key", &table.partition);
    keys(toml, "sort_key", &table.sort);
    for (name, value) in &table.options {
        toml.pair(name, value);
    }
    let stated = table.options.iter().any(|(name, _)| name.value == "ttl");
    let here = module.entities.iter().filter(|entity| is_in(entity, table, module));
    let ttl = here.flat_map(|entity| &entity.fields).find(|field| field.ttl);
    if let Some(field) = ttl.filter(|_| !stated) {
        toml.text("ttl", &Text::new(field.attribute.clone(), field.name.span()));
    }
    for index in &table.indexes {
        toml.section(&["table", &table.name.value, "index", &index.name.value], index.name.span);
        keys(toml, "partition_key", &index.partition);
        keys(toml, "sort_key", &index.sort);
        for (name, value) in &index.options {
            toml.pair(name, value);
        }
    }
}

fn is_in(entity: &Entity, table: &Table, module: &Module) -> bool {
    match &entity.table {
        Some(name) => name.value == table.name.value,
        None => module.tables.len() == 1,
    }
}

/// The table of an entity; the only one if it names none.
pub(crate) fn table_of<'m>(entity: &Entity, module: &'m Module) -> syn::Result<&'m Table> {
    module.tables.iter().find(|table| is_in(entity, table, module)).ok_or_else(|| {
        let (span, message) = match &entity.table {
            Some(name) => (name.span, format!("the design has no table `{}`", name.value)),
            None => (entity.span, "say which table it is in: #[entity(table = …)]".to_owned()),
        };
        syn::Error::new(span, message)
    })
}

fn write_entity(
    toml: &mut Toml,
    entity: &Entity,
    module: &Module,
    epoch: Option<usize>,
) -> syn::Result<()> {
    let table = table_of(entity, module)?;
    let name = entity.name.to_string();
    toml.section(&["entity", &name], entity.span);
    toml.text("table", &Text::new(&table.name.value, entity.span));
    if !entity.description.is_empty() {
        toml.text("description", &Text::new(&entity.description, entity.span));
    }
    for (name, value) in &entity.options {
        toml.pair(name, value);
    }
    if !entity.was.is_empty() {
        let name = |path: &Text| {
            let name = path.value.rsplit("::").next().unwrap_or_default();
            Text::new(name, path.span)
        };
        let names: Vec<Text> = entity.was.iter().map(name).collect();
        toml.texts("was", &names, entity.span);
    }
    for (attribute, template) in &entity.keys {
        let when = entity.whens.iter().find(|(name, _)| name.value == attribute.value);
        match when {
            Some((name, condition)) => {
                let template =
                    (Text::new("template", template.span), Value::Text(template.clone()));
                let when = (Text::new("when", name.span), Value::Text(condition.clone()));
                toml.table(attribute, &[template, when]);
            }
            None => toml.pair(attribute, &Value::Text(template.clone())),
        }
    }
    if let Some((name, _)) = entity
        .whens
        .iter()
        .find(|(name, _)| entity.keys.iter().all(|(key, _)| key.value != name.value))
    {
        let message = format!("`{}` has no key `{}`", entity.name, name.value);
        return Err(syn::Error::new(name.span, message));
    }
    toml.section(&["entity", &name, "fields"], entity.span);
    for field in &entity.fields {
        let options = shard::at_epoch(&field.options, &field.earlier, epoch);
        let field = &Field { options, ..copy(field) };
        let in_keys = used_in_keys(entity, &field.attribute);
        if in_keys && field.seconds {
            let message =
                "a time to live that is a `Timestamp` cannot be in a key: use `u64` for it";
            return Err(syn::Error::new(field.name.span(), message));
        }
        write_field(toml, field, in_keys)?;
    }
    for shard in &entity.shards {
        let span = shard.name.span;
        let by = shard.by.iter().cloned().map(Value::Text).collect();
        let mut members = vec![member("type", "shard", span)];
        members.extend(shard::at_epoch(&shard.options, &shard.earlier, epoch));
        members.push((Text::new("by", span), Value::List(by)));
        toml.table(&shard.name, &members);
    }
    Ok(())
}

fn member(name: &str, value: &str, span: Span) -> (Text, Value) {
    (Text::new(name, span), Value::Text(Text::new(value, span)))
}

fn write_field(toml: &mut Toml, field: &Field, in_keys: bool) -> syn::Result<()> {
    let span = field.name.span();
    let name = Text::new(field.attribute.clone(), span);
    let listed = field.options.iter().any(|(name, _)| name.value == "values");
    let stated = match (&field.stated, field.kind.design_type()) {
        (Some(stated), _) => stated.clone(),
        (None, _) if listed => Text::new("string", span),
        (None, Some(known)) => Text::new(known, span),
        (None, None) if in_keys => {
            let message = format!(
                "`{}` is used in a key, and its type does not say how it is written there: add #[field(type = \"string\")] or #[field(values(\"A\", \"B\"))]",
                field.name
            );
            return Err(syn::Error::new(span, message));
        }
        (None, None) => Text::new("map", span),
    };
    if field.options.is_empty() && !field.optional {
        toml.pair(&name, &Value::Text(stated));
        return Ok(());
    }
    let mut members = vec![(Text::new("type", stated.span), Value::Text(stated))];
    members.extend(field.options.iter().cloned());
    if field.optional {
        members.push((Text::new("optional", span), Value::Bool(true, span)));
    }
    toml.table(&name, &members);
    Ok(())
}

/// The names of a template's fields, with the formats that it states.
pub(crate) fn template_fields(template: &str) -> Vec<(String, Option<String>)> {
    let mut fields = Vec::new();
    let text = template.replace("{{", "").replace("}}", "");
    for part in text.split('{').skip(1) {
        let inside = part.split('}').next().unwrap_or_default();
        match inside.split_once(':') {
            Some((name, format)) => fields.push((name.to_owned(), Some(format.to_owned()))),
            None => fields.push((inside.to_owned(), None)),
        }
    }
    fields
}

/// Whether a condition mentions a field.
pub(crate) fn mentions(condition: &str, field: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    condition.split(|c| !word(c)).any(|part| part == field)
}

/// Whether keys, unique rules or shards of an entity use a field.
pub(crate) fn used_in_keys(entity: &Entity, field: &str) -> bool {
    let own = entity.keys.iter().any(|(attribute, template)| {
        attribute.value == field
            || template_fields(&template.value).iter().any(|(name, _)| name == field)
    });
    own || entity.whens.iter().any(|(_, condition)| mentions(&condition.value, field))
        || entity.shards.iter().any(|shard| shard.by.iter().any(|by| by.value == field))
        || entity.uniques.iter().any(|unique| unique.fields.iter().any(|f| f.value == field))
}

/// The name of the entity that guards unique fields.
fn guard_name(entity: &Entity, unique: &Unique) -> String {
    let fields: String = unique.fields.iter().map(|field| camel_case(&field.value)).collect();
    format!("{}{fields}Guard", entity.name)
}

fn write_unique(
    toml: &mut Toml,
    entity: &Entity,
    unique: &Unique,
    module: &Module,
) -> syn::Result<()> {
    let table = table_of(entity, module)?;
    let guard = guard_name(entity, unique);
    toml.section(&["entity", &guard], unique.span);
    toml.text("table", &Text::new(&table.name.value, unique.span));
    let description = format!("Keeps the unique fields of `{}`.", entity.name);
    toml.text("description", &Text::new(description, unique.span));
    if unique.keys.is_empty() {
        let names: Vec<&str> = unique.fields.iter().map(|field| field.value.as_str()).collect();
        let values: Vec<String> = names.iter().map(|name| format!("{{{name}}}")).collect();
        let template = format!("UNIQUE#{}#{}#{}", entity.name, names.join("-"), values.join("#"));
        for (at, key) in table.partition.iter().chain(&table.sort).enumerate() {
            let template = if at == 0 { template.as_str() } else { "UNIQUE" };
            toml.text(&key.value, &Text::new(template, unique.span));
        }
    }
    for (attribute, template) in &unique.keys {
        toml.pair(attribute, &Value::Text(template.clone()));
    }
    toml.section(&["entity", &guard, "fields"], unique.span);
    for name in &unique.fields {
        let field = entity.fields.iter().find(|field| field.attribute == name.value);
        let Some(field) = field else {
            let message = format!("`{}` has no field `{}`", entity.name, name.value);
            return Err(syn::Error::new(name.span, message));
        };
        write_field(toml, &Field { optional: false, ..copy(field) }, true)?;
    }
    toml.text("owner", &Text::new("string", unique.span));
    let names: Vec<&str> = unique.fields.iter().map(|field| field.value.as_str()).collect();
    toml.section(&["unique", &format!("{} {}", entity.name, names.join(" "))], unique.span);
    toml.text("entity", &Text::new(entity.name.to_string(), unique.span));
    toml.texts("fields", &unique.fields, unique.span);
    toml.text("by", &Text::new(guard, unique.span));
    Ok(())
}

fn copy(field: &Field) -> Field {
    Field {
        name: field.name.clone(),
        attribute: field.attribute.clone(),
        ty: field.ty.clone(),
        kind: field.kind,
        optional: field.optional,
        version: field.version,
        ttl: field.ttl,
        seconds: field.seconds,
        counter: field.counter,
        earlier: field.earlier.clone(),
        stated: field.stated.clone(),
        options: field.options.clone(),
    }
}

fn write_access(toml: &mut Toml, access: &Access) {
    toml.section(&["access", &access.title.value], access.span);
    match access.find.as_slice() {
        [one] => toml.text("find", one),
        several => toml.texts("find", several, access.span),
    }
    if !access.description.is_empty() {
        toml.text("description", &Text::new(&access.description, access.span));
    }
    let equal = || {
        let tests: Vec<String> =
            access.inputs.iter().map(|(name, _)| format!("{} = ?", name.unraw())).collect();
        Text::new(tests.join(" and "), access.span)
    };
    let condition = access.condition.clone().unwrap_or_else(equal);
    if !condition.value.is_empty() {
        toml.text("where", &condition);
    }
    for (name, value) in &access.options {
        toml.pair(name, value);
    }
}

/// What keys and patterns demand of Rust types.
pub(crate) fn check_types(module: &Module) -> syn::Result<()> {
    for entity in &module.entities {
        for field in &entity.fields {
            if let Some(stated) = &field.stated {
                check_format(field, &stated.value, stated.span)?;
                check_stored(field, stated)?;
            }
        }
        for (attribute, template) in &entity.keys {
            for (name, format) in template_fields(&template.value) {
                let Some(field) = entity.fields.iter().find(|f| f.attribute == name) else {
                    continue;
                };
                if field.kind.is_never_in_keys()
                    && field.stated.is_none()
                    && attribute.value != name
                {
                    let ty = &field.ty;
                    let message = format!(
                        "`{name}` is a `{}`, which cannot stand in a key: use a text, a whole number such as `u64`, `Timestamp`, `Ulid`, `Uuid`, `Decimal` or `bool`",
                        quote::quote!(#ty)
                    );
                    return Err(syn::Error::new(template.span, message));
                }
                if let Some(format) = format {
                    check_format(field, &format, template.span)?;
                }
            }
        }
    }
    Ok(())
}

fn check_format(field: &Field, format: &str, span: Span) -> syn::Result<()> {
    // What is no format at all, the design reports.
    let Ok(parsed) = keyloom_keys::FieldFormat::parse(format) else { return Ok(()) };
    if field.kind.fits(&parsed) {
        return Ok(());
    }
    let ty = &field.ty;
    let message = format!(
        "`{}` is a `{}`, which cannot be written as `{format}`",
        field.name,
        quote::quote!(#ty)
    );
    Err(syn::Error::new(span, message))
}

/// A text is stored as a text, whatever the design calls it.
fn check_stored(field: &Field, stated: &Text) -> syn::Result<()> {
    let unlike = Kind::stored_unlike_text(&stated.value).filter(|_| field.kind == Kind::Text);
    let Some(unlike) = unlike else { return Ok(()) };
    let (name, ty, stated_type) = (&field.name, &field.ty, &stated.value);
    let ty = quote::quote!(#ty);
    let message = format!(
        "`{name}` is a `{ty}`, which is stored as a text, and `{stated_type}` is stored as {unlike}, so that no filter would find it: give the field a Rust type that is {unlike}, or leave the type out and write the format where the key needs it, `{{{name}:…}}`"
    );
    Err(syn::Error::new(stated.span, message))
}
