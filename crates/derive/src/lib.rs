//! The macros of Keyloom: a design as a Rust module, checked at compile time.
//!
//! 1. `read`: tables from the attribute, entities and access patterns from the module's structs.
//! 2. `file`: all of it as a design file, every value with the Rust token it came from.
//! 3. `check`: the file goes through the design crate's parser and planner; what they find points at the tokens.
//! 4. `expand`: the code. The file itself becomes a constant, so the program runs the design that was checked.

mod arg;
mod check;
mod expand;
mod file;
mod key_value;
mod model;
mod patch;
mod read;
#[cfg(test)]
mod round_trip;
mod rust_type;
mod serde_attributes;
mod shard;
mod toml;

use proc_macro::TokenStream;
use quote::quote;
use syn::{ItemMod, parse_macro_input};

/// Makes a module a design: tables, entities and access patterns, checked when it compiles.
///
/// ```ignore
/// #[keyloom::design(table(tasks, PK, SK, index(GSI1, GSI1PK, GSI1SK)))]
/// mod tasks {
///     #[derive(Entity, Serialize, Deserialize)]
///     #[entity(PK = "PROJECT#{project_id}", SK = "TASK#{task_id}", GSI1PK = "TASK#{task_id}", GSI1SK = "METADATA")]
///     pub struct Task { pub project_id: String, pub task_id: String, pub title: String }
///
///     #[derive(Access)]
///     #[access(find = Task, order = "task_id")]
///     pub struct TasksInProject { pub project_id: String }
/// }
/// ```
///
/// - `table(NAME, PARTITION, SORT, ttl = …, type_attribute = …, index(NAME, PARTITION, SORT, projection = "keys"))`;
///   several attributes: `pk(a, b)`, `sk(c)`; a type other than text: `"PK:N"`.
/// - `write(NAME, …)`, `relationship(NAME, …)`, `unique(NAME, entity = …, fields(…), by = …)`, `allow(RULE, …)`: the sections
///   of design files. `title = "…"` and `description = "…"` are those of `[design]`.
/// - `#[entity(KEY_ATTRIBUTE = "TEMPLATE", …, table = …, unique(field, …), when(KEY_ATTRIBUTE = "condition"),
///   counted_in(Entity::field), shard(name, shards = 8, by(field)))]`, and the volumes of design files: `count`, `size`,
///   `growth`, `size_growth`, `lives`.
/// - `#[field(type = "ulid", max = 200, values("A", "B"), width = 6, version, ttl, …)]`
/// - More shards later: `shard(name, shards = 16, earlier(8), by(field))`. Reads look in both places, writes move items to
///   the new one, `Table::reshard` moves the rest, and then `earlier` can go.
/// - While items come from an earlier design: `#[entity(was(old::Note))]`, `#[field(was = "title")]`,
///   `#[access(was(old::NotesOf))]`; `Notes::during::<old::OldNotes>(…)` is the client meanwhile.
/// - A counter in shards: `#[field(counter)]` beside `#[field(type = "shard", shards = 8)]`, and `Entity::tally(…)`.
/// - `#[access(find = Entity, where = "…", order = "… desc", limit = 50, index = …, via = …, consistent, name = "…")]`.
///   Without `where`, every field of the struct must be equal. `find(A, B)` gives an enum.
/// - The comment of an entity or a pattern is its description, in one paragraph; `description = "…"` beside its other words
///   states another text.
///
/// The module gets a struct named like the module in camel case, which implements `Design`; every entity gets
/// `Entity::at(…)` for its key and `Entity::patch(…)` for changes without reading.
#[proc_macro_attribute]
pub fn design(args: TokenStream, input: TokenStream) -> TokenStream {
    let args = parse_macro_input!(args as arg::Args);
    let mut module = parse_macro_input!(input as ItemMod);
    let made = read::module(args.0, &mut module).and_then(|read| {
        file::check_types(&read)?;
        let toml = file::write(&read, None)?;
        let design = check::check(&read, &toml)?;
        let epochs = 0..shard::epochs(&read);
        let earlier: Vec<_> =
            epochs.map(|epoch| file::write(&read, Some(epoch))).collect::<Result<_, _>>()?;
        Ok(expand::module(&read, &design, &toml, &earlier))
    });
    match made {
        Ok(code) => {
            if let Some((_, items)) = &mut module.content {
                items.push(syn::Item::Verbatim(code));
            }
            quote!(#module).into()
        }
        Err(error) => {
            // The structs stay, so that their users do not add errors of their own.
            read::strip(&mut module);
            let errors = error.to_compile_error();
            quote!(#module #errors).into()
        }
    }
}

const OUTSIDE: &str =
    "this belongs inside a module with #[keyloom::design(table(…))], which knows the tables";

fn outside() -> TokenStream {
    syn::Error::new(proc_macro2::Span::call_site(), OUTSIDE).to_compile_error().into()
}

/// Makes a struct an entity of the design module that it stands in; see the `design` attribute.
#[proc_macro_derive(Entity, attributes(entity, field))]
pub fn entity(_input: TokenStream) -> TokenStream {
    outside()
}

/// Makes a struct an access pattern of the design module that it stands in; see the `design` attribute.
#[proc_macro_derive(Access, attributes(access))]
pub fn access(_input: TokenStream) -> TokenStream {
    outside()
}

/// Lets an enum without data stand in keys: its values are the variants' names, or what `#[serde(rename)]` calls them.
#[proc_macro_derive(KeyValue)]
pub fn key_value(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as syn::DeriveInput);
    key_value::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
