use keyloom::prelude::*;

#[keyloom::design(table(notes, PK, SK))]
mod notes {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "NOTE#{number}", SK = "NOTE")]
    pub struct Note {
        pub number: u32,
        #[field(immutable)]
        pub author: String,
        pub text: String,
    }
}

fn main() {
    let _ = notes::Note::patch(1u32).text("new");
    let _ = notes::Note::patch(1u32).author("bob");
}
