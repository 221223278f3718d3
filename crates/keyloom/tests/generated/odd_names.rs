use keyloom::prelude::*;

#[keyloom::design(
    table(odd, PK, SK),
)]
pub mod odd_names {
    use super::*;

    /// Names that Rust has other uses for.
    ///
    /// The second paragraph.
    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "ODD#{id}", SK = "NAMES", description = "Names that Rust has other uses for.\n\nThe second paragraph.")]
    pub struct Odd {
        #[field(type = "token", max = 20)]
        pub id: String,
        #[serde(rename = "Self")]
        #[field(max = 20)]
        pub self__: String,
        #[serde(rename = "self")]
        #[field(max = 20)]
        pub self___: String,
        #[field(max = 20)]
        pub self_: String,
        #[field(max = 20)]
        pub r#final: String,
        #[serde(rename = "a-b")]
        #[field(max = 20)]
        pub f_a_b_: String,
        #[serde(rename = "a+b")]
        #[field(max = 20)]
        pub f_a_b__: String,
        #[field(max = 20)]
        pub f_a_b: String,
        #[field(type = "string:20:lower")]
        pub nick: String,
    }

    /// Two
    /// lines.
    #[derive(Access)]
    #[access(find = Odd, name = "odd key", where = "id = :id", description = "Two\nlines.")]
    pub struct OddKeyPattern {
        pub id: String,
    }
}
