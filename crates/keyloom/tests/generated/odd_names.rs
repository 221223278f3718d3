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
    #[entity(PK = "ODD#{id}", SK = "NAMES")]
    pub struct Odd {
        #[field(type = "token:20")]
        pub id: String,
        #[serde(rename = "Self")]
        #[field(type = "string:20")]
        pub self__: String,
        #[serde(rename = "self")]
        #[field(type = "string:20")]
        pub self___: String,
        #[field(type = "string:20")]
        pub self_: String,
        #[field(type = "string:20")]
        pub r#final: String,
        #[serde(rename = "a-b")]
        #[field(type = "string:20")]
        pub f_a_b_: String,
        #[serde(rename = "a+b")]
        #[field(type = "string:20")]
        pub f_a_b__: String,
        #[field(type = "string:20")]
        pub f_a_b: String,
    }

    /// Two
    /// lines.
    #[derive(Access)]
    #[access(find = Odd, name = "odd key", where = "id = :id")]
    pub struct OddKeyPattern {
        pub id: String,
    }
}
