use keyloom::prelude::*;

#[keyloom::design(
    table(events, pk, sk),
    title = "Keys with what queries need",
)]
pub mod key_anti_patterns {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(pk = "DEVICE#{device_id}", sk = "EVENT#{happened_at}#{event_id}", count = 30000000)]
    pub struct Event {
        #[field(type = "token", distinct = 50000, max = 30)]
        pub device_id: String,
        #[field(type = "datetime:ms")]
        pub happened_at: Timestamp,
        pub event_id: Ulid,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(pk = "USER#{user_id}#ORDER#{order_id}", sk = "DETAILS")]
    pub struct Order {
        #[field(type = "token", max = 30)]
        pub user_id: String,
        #[field(type = "token", max = 30)]
        pub order_id: String,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(pk = "OWNER#{owner_id}", sk = "{type}#{at}#{id}")]
    pub struct Thing {
        #[field(type = "token", max = 30)]
        pub owner_id: String,
        #[field(type = "token", max = 30)]
        pub r#type: String,
        #[field(type = "token", max = 30)]
        pub subtype: String,
        #[field(type = "token", max = 30)]
        pub category: String,
        #[field(type = "token", max = 30)]
        pub subcategory: String,
        pub at: Timestamp,
        pub id: Ulid,
        pub version: u16,
    }

    #[derive(Access)]
    #[access(find = Event, name = "events of a device", where = "device_id = :device_id", order = "happened_at desc", limit = 100)]
    pub struct EventsOfADevice {
        pub device_id: String,
    }

    #[derive(Access)]
    #[access(find = Order, name = "order", where = "user_id = :user_id and order_id = :order_id")]
    pub struct OrderPattern {
        pub user_id: String,
        pub order_id: String,
    }

    #[derive(Access)]
    #[access(find = Thing, name = "things of a type", where = "owner_id = :owner_id and type = :type", order = "at desc", limit = 100)]
    pub struct ThingsOfAType {
        pub owner_id: String,
        pub r#type: String,
    }
}
