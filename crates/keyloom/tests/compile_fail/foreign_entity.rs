use keyloom::prelude::*;

#[keyloom::design(table(notes, PK, SK))]
mod notes {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "NOTE#{number}", SK = "NOTE")]
    pub struct Note {
        pub number: u32,
    }
}

#[keyloom::design(table(tasks, PK, SK))]
mod tasks {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "TASK#{number}", SK = "TASK")]
    pub struct Task {
        pub number: u32,
    }
}

fn main() {
    let table = notes::Notes::open(Database::memory()).unwrap();
    table.put(&tasks::Task { number: 1 }).unwrap();
}
