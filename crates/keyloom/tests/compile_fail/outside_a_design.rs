use keyloom::prelude::*;

#[derive(Entity, Serialize, Deserialize)]
#[entity(PK = "NOTE#{number}", SK = "NOTE")]
pub struct Note {
    pub number: u32,
}

fn main() {}
