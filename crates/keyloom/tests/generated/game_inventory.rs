use keyloom::prelude::*;

#[keyloom::design(
    table(game, pk, sk, separator = "::"),
    title = "Game inventory",
    description = "What an account owns, by type and category",
)]
pub mod game_inventory {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(pk = "account_{account_id}", sk = "inventory::{category}::{item_id}")]
    pub struct Item {
        #[field(type = "token", max = 20)]
        pub account_id: String,
        #[field(values("armor", "weapon", "potion"))]
        pub category: String,
        #[field(type = "token", max = 30)]
        pub item_id: String,
        pub level: u8,
    }

    #[derive(Access)]
    #[access(find = Item, name = "all inventory", where = "account_id = :account_id", limit = 100)]
    pub struct AllInventory {
        pub account_id: String,
    }

    #[derive(Access)]
    #[access(find = Item, name = "inventory of a category", where = "account_id = :account_id and category = :category", limit = 100)]
    pub struct InventoryOfACategory {
        pub account_id: String,
        pub category: String,
    }

    #[derive(Access)]
    #[access(find = Item, name = "all armor, as printed", where = "account_id = :account_id and category = 'armor'", key = "pk = \"account_{account_id}\" and begins_with(sk, \"inventory::armor::\")")]
    pub struct AllArmorAsPrinted {
        pub account_id: String,
    }

    #[derive(Access)]
    #[access(find = Item, name = "one item", where = "account_id = :account_id and category = :category and item_id = :item_id")]
    pub struct OneItem {
        pub account_id: String,
        pub category: String,
        pub item_id: String,
    }
}
