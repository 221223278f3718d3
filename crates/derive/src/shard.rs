//! Shards: numbers that changed over time, and counters that are spread over them.

use syn::spanned::Spanned;

use crate::arg::{Text, Value};
use crate::file::used_in_keys;
use crate::model::{Entity, Field, Module};

/// The options of a shard field with the number of shards of an epoch; epoch 0 is the last one before now.
pub(crate) fn at_epoch(
    options: &[(Text, Value)],
    earlier: &[Text],
    epoch: Option<usize>,
) -> Vec<(Text, Value)> {
    let before = epoch.and_then(|epoch| earlier.get(epoch).or(earlier.last()));
    let mut options = options.to_vec();
    if let Some(number) = before {
        for (_, value) in options.iter_mut().filter(|(name, _)| name.value == "shards") {
            *value = Value::Number(number.clone());
        }
    }
    options
}

/// How many epochs came before the present one.
pub(crate) fn epochs(module: &Module) -> usize {
    let numbers = module.entities.iter().flat_map(|entity| {
        let calculated = entity.shards.iter().map(|shard| shard.earlier.len());
        calculated.chain(entity.fields.iter().map(|field| field.earlier.len()))
    });
    numbers.max().unwrap_or(0)
}

/// The field that holds the number of a random shard.
pub(crate) fn random(entity: &Entity) -> Option<&Field> {
    let is_shard =
        |field: &&Field| field.stated.as_ref().is_some_and(|stated| stated.value == "shard");
    entity.fields.iter().find(is_shard)
}

/// Why a counter cannot stand in a key.
pub(crate) const UNREAD: &str = "a counter changes without being read, so no key can hold it";

/// What epochs and counters demand of an entity.
pub(crate) fn check(entity: &Entity) -> syn::Result<()> {
    let calculated = entity.shards.iter().flat_map(|shard| &shard.earlier);
    for number in calculated.chain(entity.fields.iter().flat_map(|field| &field.earlier)) {
        if number.value.parse::<u32>().is_err() {
            let message = "an earlier number of shards was expected: earlier(8)";
            return Err(syn::Error::new(number.span, message));
        }
        if !entity.uniques.is_empty() {
            let message = "the guards of unique fields name the place of their item, so an entity with `unique` keeps its number of shards";
            return Err(syn::Error::new(number.span, message));
        }
    }
    let mut counters = entity.fields.iter().filter(|field| field.counter);
    let Some(counter) = counters.next() else { return Ok(()) };
    let wrong = |span, message: String| Err(syn::Error::new(span, message));
    if let Some(second) = counters.next() {
        return wrong(
            second.name.span(),
            "an entity counts one thing: make another for this one".into(),
        );
    }
    if !counter.kind.is_whole_number() || counter.optional {
        return wrong(
            counter.ty.span(),
            "a counter is a whole number, such as `u64` or `i64`".into(),
        );
    }
    let Some(shard) = random(entity).filter(|shard| used_in_keys(entity, &shard.attribute)) else {
        let message = format!(
            "`{}` counts in shards, and no key of `{}` has one: add #[field(type = \"shard\", shards = 8)] shard: u32 and put {{shard}} into the partition key",
            counter.name, entity.name
        );
        return wrong(counter.name.span(), message);
    };
    if !entity.uniques.is_empty() || !entity.counters.is_empty() {
        return wrong(
            counter.name.span(),
            "a counter can be neither unique nor counted itself".into(),
        );
    }
    if used_in_keys(entity, &counter.attribute) {
        return wrong(counter.name.span(), UNREAD.into());
    }
    for field in &entity.fields {
        let known = field.counter || field.optional || field.version || field.name == shard.name;
        if !known && !used_in_keys(entity, &field.attribute) {
            let message = format!(
                "a shard of a counter is made by the first that counts, who knows nothing of `{}`: make it an `Option`",
                field.name
            );
            return wrong(field.name.span(), message);
        }
    }
    Ok(())
}
