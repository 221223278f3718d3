//! The JSON Schema of design files, for editors.

/// A JSON Schema (draft 7), which TOML editors understand as well.
pub const SCHEMA: &str = include_str!("schema.json");

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::Design;

    /// Property names of one section of the schema.
    fn names(pointer: &str) -> Vec<String> {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let section = schema.pointer(pointer).unwrap_or_else(|| panic!("{pointer}"));
        section.as_object().unwrap().keys().cloned().collect()
    }

    /// The reader says which keys it knows when it meets one that it does not.
    #[test]
    fn the_schema_knows_every_key_that_the_reader_knows() {
        for (section, pointer) in [
            (
                "[table.app]\npartition_key = \"PK\"\n",
                "/properties/table/additionalProperties/properties",
            ),
            ("[access.a]\nfind = \"E\"\n", "/properties/access/additionalProperties/properties"),
            ("[write.w]\nentity = \"E\"\n", "/properties/write/additionalProperties/properties"),
            (
                "[unique.u]\nentity = \"E\"\nfields = \"a\"\n",
                "/properties/unique/additionalProperties/properties",
            ),
            (
                "[relationship.r]\nfrom = \"E\"\nto = \"E\"\n",
                "/properties/relationship/additionalProperties/properties",
            ),
            ("[[allow]]\nrule = \"K01\"\nreason = \"x\"\n", "/properties/allow/items/properties"),
        ] {
            for name in names(pointer) {
                // A wrong type is reported as such only for keys that are known.
                let text = format!("{section}{name} = 1979-05-27\n");
                let (_, problems) = Design::parse("t.toml", &text);
                let unknown = problems.iter().find(|p| p.message.contains("means nothing"));
                assert!(unknown.is_none(), "{pointer}/{name}: {unknown:?}");
            }
        }
    }

    #[test]
    fn unknown_keys_are_reported_with_the_keys_that_the_schema_lists() {
        let (_, problems) = Design::parse("t.toml", "[access.a]\nfind = \"E\"\nlimits = 3\n");
        let fix = problems.iter().find_map(|p| p.fix.clone()).unwrap();
        assert_eq!(fix, "did you mean `limit`?");
        assert!(
            names("/properties/access/additionalProperties/properties")
                .contains(&"limit".to_owned())
        );
    }
}
