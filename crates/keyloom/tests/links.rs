//! Links to items whose keys are numbers, by the table and by an index.
#![expect(unreachable_pub, reason = "tests")]

use keyloom::prelude::*;

#[keyloom::design(
    table(parts, machine, "number:N", index(Serial, "serial:N")),
    table(recalls, PK, SK)
)]
mod workshop {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(table = "parts")]
    pub struct Part {
        pub machine: String,
        pub number: u32,
        pub serial: u64,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(table = "recalls", PK = "ORDER#{order}", SK = "PART#{machine}#{number}")]
    pub struct Ordered {
        pub order: String,
        pub machine: String,
        #[field(key_only)]
        pub number: u32,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(table = "recalls", PK = "RECALL#{recall}", SK = "SERIAL#{serial}")]
    pub struct Recalled {
        pub recall: String,
        pub serial: u64,
    }

    #[derive(Access)]
    #[access(find = Part, via = "Ordered")]
    pub struct PartsOfOrder {
        pub order: String,
    }

    #[derive(Access)]
    #[access(find = Part, via = "Recalled")]
    pub struct PartsOfRecall {
        pub recall: String,
    }
}
use workshop::*;

#[test]
fn links_lead_to_keys_that_are_numbers() {
    let table = Workshop::open(Database::memory()).unwrap();
    let parts: Vec<Part> = (1..4)
        .map(|number| Part { machine: "m".into(), number, serial: 100 + u64::from(number) })
        .collect();
    for part in &parts {
        let (machine, number, serial) = (part.machine.clone(), part.number, part.serial);
        table.put(part).unwrap();
        table.put(&Ordered { order: "o".into(), machine, number }).unwrap();
        table.put(&Recalled { recall: "r".into(), serial }).unwrap();
    }
    // A link may outlive what it leads to.
    table.put(&Recalled { recall: "r".into(), serial: 999 }).unwrap();
    assert_eq!(table.query(PartsOfOrder { order: "o".into() }).collect().unwrap(), parts);
    assert_eq!(table.query(PartsOfRecall { recall: "r".into() }).collect().unwrap(), parts);
}
