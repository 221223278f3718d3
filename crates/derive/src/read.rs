//! Reading the module: tables from the attribute, entities and access patterns from its structs.

use syn::ext::IdentExt as _;
use syn::spanned::Spanned;
use syn::{Fields, Ident, Item, ItemMod, ItemStruct};

use crate::arg::{Arg, Text, Value, derives, documentation, take_args, take_derive};
use crate::model::{Access, Counter, Entity, Field, Index, Module, Section, Shard, Table, Unique};
use crate::rust_type::{Kind, kind_of};
use crate::serde_attributes;

/// Reads a module and takes our attributes out of it.
pub(crate) fn module(args: Vec<Arg>, module: &mut ItemMod) -> syn::Result<Module> {
    let mut design = Ident::new(&camel_case(&module.ident.to_string()), module.ident.span());
    let (mut tables, mut allows, mut sections) = (Vec::new(), Vec::new(), Vec::new());
    let mut about = Vec::new();
    for arg in args {
        match arg {
            Arg::List(name, parts) if name.value == "table" => tables.push(table(&name, parts)?),
            Arg::List(name, parts) if name.value == "allow" => allows.push(allow(parts)?),
            Arg::List(name, parts) if SECTIONS.contains(&name.value.as_str()) => {
                let kind = SECTIONS.iter().find(|kind| **kind == name.value);
                sections.push((*kind.unwrap_or(&"write"), section(&name, parts)?));
            }
            Arg::Pair(name, value) if name.value == "title" => {
                about.push(("name", value.text()?.clone()));
            }
            Arg::Pair(name, value) if name.value == "description" => {
                about.push(("description", value.text()?.clone()));
            }
            Arg::Pair(name, value) if name.value == "name" => {
                let text = value.text()?;
                design = Ident::new(&text.value, text.span);
            }
            other => {
                let message = "write table(NAME, PARTITION_KEY, SORT_KEY, …), write(NAME, entity = …, …), relationship(NAME, from = …, to = …), unique(NAME, entity = …, …), allow(RULE, reason = \"…\"), title = \"…\", description = \"…\" or name = NAME";
                return Err(syn::Error::new(other.name().span, message));
            }
        }
    }
    if tables.is_empty() {
        let message = "a design needs a table: #[keyloom::design(table(tasks, PK, SK))]";
        return Err(syn::Error::new(module.ident.span(), message));
    }
    let span = module.ident.span();
    let Some((_, items)) = &mut module.content else {
        let message =
            "the items of a design must stand in the module itself: write `mod name { … }`";
        return Err(syn::Error::new(span, message));
    };
    let (mut entities, mut accesses) = (Vec::new(), Vec::new());
    for item in items {
        serde_attributes::find_serde(item);
        let Item::Struct(item) = item else { continue };
        if take_derive(&mut item.attrs, "Entity")? {
            entities.push(entity(item)?);
        } else if take_derive(&mut item.attrs, "Access")? {
            accesses.push(access(item)?);
        }
    }
    Ok(Module { design, about, tables, allows, sections, entities, accesses })
}

/// Sections that stand for themselves, as in design files.
const SECTIONS: [&str; 3] = ["write", "relationship", "unique"];

/// `write("change a role", entity = Grant, kind = "update", sets(role))`
fn section(keyword: &Text, args: Vec<Arg>) -> syn::Result<Section> {
    let mut args = args.into_iter();
    let Some(Arg::Word(name)) = args.next() else {
        let message = format!("the {} has no name: write it first", keyword.value);
        return Err(syn::Error::new(keyword.span, message));
    };
    Ok(Section { name, members: args.map(Arg::member).collect::<syn::Result<_>>()? })
}

/// `allow(P01, subject = "Task", reason = "…")`
fn allow(args: Vec<Arg>) -> syn::Result<Vec<(Text, Value)>> {
    args.into_iter()
        .map(|arg| match arg {
            Arg::Word(rule) => Ok((Text::new("rule", rule.span), Value::Text(rule))),
            Arg::Pair(name, value) => Ok((name, value)),
            Arg::List(name, _) => {
                Err(syn::Error::new(name.span, "write allow(RULE, reason = \"…\")"))
            }
        })
        .collect()
}

/// Takes all of our attributes out, so that a module with one mistake does not seem to have many.
pub(crate) fn strip(module: &mut ItemMod) {
    for item in module.content.iter_mut().flat_map(|(_, items)| items) {
        let Item::Struct(item) = item else { continue };
        for name in ["Entity", "Access"] {
            // What cannot be read stays for the compiler to report.
            let _ = take_derive(&mut item.attrs, name);
        }
        item.attrs.retain(|a| !a.path().is_ident("entity") && !a.path().is_ident("access"));
        for field in &mut item.fields {
            field.attrs.retain(|attribute| !attribute.path().is_ident("field"));
        }
    }
}

/// `task_manager` is `TaskManager`.
pub(crate) fn camel_case(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| {
            first.to_uppercase().chain(letters).collect::<String>()
        })
    });
    words.collect()
}

fn words(args: Vec<Arg>) -> syn::Result<Vec<Text>> {
    args.into_iter()
        .map(|arg| match arg {
            Arg::Word(text) => Ok(text),
            other => Err(syn::Error::new(other.name().span, "a name was expected")),
        })
        .collect()
}

fn one_or_more(value: &Value) -> syn::Result<Vec<Text>> {
    match value {
        Value::List(values) => values.iter().map(|value| value.text().cloned()).collect(),
        value => Ok(vec![value.text()?.clone()]),
    }
}

/// Name, partition key and sort key stand first; the rest is named.
fn table(keyword: &Text, args: Vec<Arg>) -> syn::Result<Table> {
    let mut table = Index {
        name: keyword.clone(),
        partition: Vec::new(),
        sort: Vec::new(),
        options: Vec::new(),
    };
    let mut indexes = Vec::new();
    let mut rest = Vec::new();
    for arg in args {
        match arg {
            Arg::List(name, parts) if name.value == "index" => {
                let mut index = Index {
                    name: name.clone(),
                    partition: Vec::new(),
                    sort: Vec::new(),
                    options: Vec::new(),
                };
                keyed(&mut index, parts, &name)?;
                indexes.push(index);
            }
            other => rest.push(other),
        }
    }
    keyed(&mut table, rest, keyword)?;
    let Index { name, partition, sort, options } = table;
    Ok(Table { name, partition, sort, indexes, options })
}

fn keyed(into: &mut Index, args: Vec<Arg>, keyword: &Text) -> syn::Result<()> {
    let mut position = 0;
    for arg in args {
        match arg {
            Arg::Word(text) if position < 3 => {
                match position {
                    0 => into.name = text,
                    1 => into.partition = vec![text],
                    _ => into.sort = vec![text],
                }
                position += 1;
            }
            Arg::Word(name) => into.options.push((name.clone(), Value::Bool(true, name.span))),
            Arg::Pair(name, value) => match name.value.as_str() {
                "pk" => into.partition = one_or_more(&value)?,
                "sk" => into.sort = one_or_more(&value)?,
                _ => into.options.push((name, value)),
            },
            Arg::List(name, parts) => match name.value.as_str() {
                "pk" => into.partition = words(parts)?,
                "sk" => into.sort = words(parts)?,
                _ => into.options.push(Arg::List(name, parts).member()?),
            },
        }
    }
    if position == 0 {
        let message = format!("the {} has no name", keyword.value);
        return Err(syn::Error::new(keyword.span, message));
    }
    Ok(())
}

fn entity(item: &mut ItemStruct) -> syn::Result<Entity> {
    let args = take_args(&mut item.attrs, "entity")?;
    if !item.generics.params.is_empty() {
        let message = "an entity cannot be generic: each has a name and keys of its own";
        return Err(syn::Error::new(item.generics.span(), message));
    }
    serde_attributes::refuse_serde(
        &item.attrs,
        &["rename_all", "deny_unknown_fields", "transparent", "tag"],
    )?;
    let mut entity = Entity {
        name: item.ident.clone(),
        visibility: item.vis.clone(),
        span: item.ident.span(),
        description: documentation(&item.attrs),
        derives: derives(&item.attrs),
        table: None,
        keys: Vec::new(),
        whens: Vec::new(),
        options: Vec::new(),
        fields: Vec::new(),
        shards: Vec::new(),
        uniques: Vec::new(),
        counters: Vec::new(),
        was: Vec::new(),
    };
    for arg in args {
        entity_arg(&mut entity, arg)?;
    }
    let Fields::Named(fields) = &mut item.fields else {
        return Err(syn::Error::new(entity.span, "an entity has named fields"));
    };
    for field in &mut fields.named {
        entity.fields.push(field_of(field)?);
    }
    crate::shard::check(&entity)?;
    Ok(entity)
}

/// Words that are not key attributes.
const ENTITY_OPTIONS: [&str; 6] = ["count", "size", "max_size", "growth", "size_growth", "lives"];

fn entity_arg(entity: &mut Entity, arg: Arg) -> syn::Result<()> {
    match arg {
        Arg::Pair(name, value) if name.value == "table" => {
            entity.table = Some(value.text()?.clone());
        }
        Arg::Pair(name, value) if name.value == "description" => {
            entity.description.clone_from(&value.text()?.value);
        }
        Arg::Pair(name, value) if ENTITY_OPTIONS.contains(&name.value.as_str()) => {
            entity.options.push((name, value));
        }
        Arg::Pair(name, value) => entity.keys.push((name, value.text()?.clone())),
        Arg::List(name, parts) if name.value == "unique" => {
            let mut unique = Unique { span: name.span, fields: Vec::new(), keys: Vec::new() };
            for part in parts {
                match part {
                    Arg::Word(field) => unique.fields.push(field),
                    Arg::Pair(name, value) => unique.keys.push((name, value.text()?.clone())),
                    Arg::List(name, _) => {
                        return Err(syn::Error::new(name.span, "a field was expected"));
                    }
                }
            }
            entity.uniques.push(unique);
        }
        Arg::List(name, parts) if name.value == "identity" => {
            let fields = words(parts)?.into_iter().map(Value::Text).collect();
            entity.options.push((name, Value::List(fields)));
        }
        Arg::List(name, parts) if name.value == "when" => {
            for part in parts {
                let Arg::Pair(attribute, condition) = part else {
                    let message =
                        "write the key attribute and its condition: GSI1PK = \"featured = true\"";
                    return Err(syn::Error::new(part.name().span, message));
                };
                entity.whens.push((attribute, condition.text()?.clone()));
            }
        }
        Arg::List(name, parts) if name.value == "counted_in" => {
            for part in words(parts)? {
                let Some((keeper, field)) = part.value.split_once("::") else {
                    let message = "write the entity and the field that counts: Team::member_count";
                    return Err(syn::Error::new(part.span, message));
                };
                let (keeper, field) = (Text::new(keeper, part.span), field.to_owned());
                entity.counters.push(Counter { entity: keeper, field });
            }
        }
        Arg::List(name, parts) if name.value == "was" => entity.was.extend(words(parts)?),
        Arg::List(name, parts) if name.value == "shard" => entity.shards.push(shard(&name, parts)?),
        other => {
            let message = "write a key attribute with its template, such as PK = \"USER#{user_id}\"; or table = …, identity(…), unique(…), counted_in(…), shard(…), was(old::Name)";
            return Err(syn::Error::new(other.name().span, message));
        }
    }
    Ok(())
}

fn shard(keyword: &Text, args: Vec<Arg>) -> syn::Result<Shard> {
    let mut shard =
        Shard { name: keyword.clone(), options: Vec::new(), by: Vec::new(), earlier: Vec::new() };
    for arg in args {
        match arg {
            Arg::Word(name) => shard.name = name,
            Arg::Pair(name, value) => shard.options.push((name, value)),
            Arg::List(name, parts) if name.value == "by" => shard.by = words(parts)?,
            Arg::List(name, parts) if name.value == "earlier" => shard.earlier = words(parts)?,
            Arg::List(name, _) => {
                return Err(syn::Error::new(name.span, "write shard(NAME, shards = 8, by(FIELD))"));
            }
        }
    }
    if shard.by.is_empty() {
        let message = "say which fields the shard is calculated from: shard(shard, shards = 8, by(event_id)); for a random one, use a field with #[field(type = \"shard\", shards = 8)]";
        return Err(syn::Error::new(keyword.span, message));
    }
    Ok(shard)
}

fn field_of(field: &mut syn::Field) -> syn::Result<Field> {
    let args = take_args(&mut field.attrs, "field")?;
    serde_attributes::refuse_serde(&field.attrs, &["flatten", "skip"])?;
    let Some(name) = field.ident.clone() else {
        return Err(syn::Error::new(field.span(), "a field has a name"));
    };
    let attribute =
        serde_attributes::renamed(&field.attrs).unwrap_or_else(|| name.unraw().to_string());
    let (kind, optional) = kind_of(&field.ty);
    let mut found = Field {
        name,
        attribute,
        ty: field.ty.clone(),
        kind,
        optional,
        version: false,
        ttl: false,
        seconds: false,
        counter: false,
        earlier: Vec::new(),
        stated: None,
        options: Vec::new(),
    };
    for arg in args {
        match arg {
            Arg::Word(word) if word.value == "version" => found.version = true,
            Arg::Word(word) if word.value == "ttl" => found.ttl = true,
            Arg::Word(word) if word.value == "counter" => found.counter = true,
            Arg::Pair(name, value) if name.value == "type" => {
                found.stated = Some(value.text()?.clone());
            }
            Arg::List(name, parts) if name.value == "earlier" => found.earlier = words(parts)?,
            other => found.options.push(other.member()?),
        }
    }
    if found.ttl && found.kind == Kind::Time && found.stated.is_none() {
        serde_attributes::store_seconds(&mut found, &mut field.attrs)?;
    }
    check_field(&found)?;
    Ok(found)
}

fn check_field(field: &Field) -> syn::Result<()> {
    if field.version && (field.kind != Kind::Unsigned("u64") || field.optional) {
        return Err(syn::Error::new(field.ty.span(), "a version is a `u64`"));
    }
    if field.ttl && !field.kind.is_whole_number() {
        let message = "a time to live is a `Timestamp` or a whole number of seconds since 1970: use `Timestamp`, `u64`, \
                       or an `Option` of them";
        return Err(syn::Error::new(field.ty.span(), message));
    }
    Ok(())
}

fn access(item: &mut ItemStruct) -> syn::Result<Access> {
    let args = take_args(&mut item.attrs, "access")?;
    let mut access = Access {
        name: item.ident.clone(),
        visibility: item.vis.clone(),
        generics: item.generics.clone(),
        span: item.ident.span(),
        title: Text::new(item.ident.to_string(), item.ident.span()),
        description: documentation(&item.attrs),
        find: Vec::new(),
        condition: None,
        options: Vec::new(),
        inputs: Vec::new(),
        implied: false,
        was: None,
    };
    for arg in args {
        match arg {
            Arg::Word(word) if word.value == "implied" => access.implied = true,
            Arg::Pair(name, value) => match name.value.as_str() {
                "find" => access.find = one_or_more(&value)?,
                "name" => access.title = value.text()?.clone(),
                "where" => access.condition = Some(value.text()?.clone()),
                "description" => access.description.clone_from(&value.text()?.value),
                _ => access.options.push((name, value)),
            },
            Arg::List(name, parts) if name.value == "find" => access.find = words(parts)?,
            Arg::List(name, parts) if name.value == "was" => {
                access.was = words(parts)?.into_iter().next();
                if access.was.is_none() || !access.generics.params.is_empty() {
                    let message = "write the pattern of the earlier design: was(old::NotesOf)";
                    return Err(syn::Error::new(name.span, message));
                }
            }
            other => access.options.push(other.member()?),
        }
    }
    if access.find.is_empty() {
        let message = "say what the pattern finds: #[access(find = Task)]";
        return Err(syn::Error::new(access.span, message));
    }
    match &item.fields {
        Fields::Named(fields) => {
            for field in &fields.named {
                let name = field.ident.clone();
                access.inputs.extend(name.map(|name| (name, kind_of(&field.ty).0)));
            }
        }
        Fields::Unit => {}
        Fields::Unnamed(_) => {
            let message =
                "the inputs of an access pattern have names: struct Name { input: String }";
            return Err(syn::Error::new(access.span, message));
        }
    }
    Ok(access)
}
