use keyloom::prelude::*;

#[keyloom::design(
    table(app, PK, SK, index(GSI1, GSI1PK, GSI1SK)),
    title = "Every word",
    description = "A shop in which \"all\" is said.",
    unique("one buyer to an address", entity = Buyer, fields(email), by = Address),
    write("sell", entity(Sale, Shop), kind = "transact", kinds(Sale = "create", Shop = "check")),
    write("import", entity(Sale), kind = "put", items = 50),
    write("note", entity(Sale), kind = "update", appends(notes)),
    relationship("sales of a shop", from = Shop, to = Sale, kind = "one-to-many", direction = "backward"),
)]
pub mod every_word {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "SHOP#{shop}", SK = "SHOP")]
    pub struct Shop {
        #[field(type = "token")]
        pub shop: String,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "SHOP#{shop}#{at:month:compact}", SK = "SALE#{at}#{sale}", GSI1PK = "BUYER#{buyer:string:lower}", when(GSI1PK = "exists(buyer)"), GSI1SK = "{at:date:compact}#{sale}", when(GSI1SK = "exists(buyer)"), max_size = 4096, identity(shop, at, sale))]
    pub struct Sale {
        #[field(type = "token")]
        pub shop: String,
        #[field(key_only)]
        pub sale: Ulid,
        #[field(since = "2023-01-01", until = "2025-12-31")]
        pub at: Timestamp,
        pub buyer: Option<String>,
        #[field(max_items = 20, item_size = 50)]
        pub notes: Vec<String>,
    }

    /// Who buys.
    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "BUYER#{id}", SK = "BUYER", count = 1000, unique(phone, PK = "UNIQUE#Buyer#phone#{phone}", SK = "UNIQUE"))]
    pub struct Buyer {
        pub id: Ulid,
        pub email: String,
        #[field(max = 30)]
        pub phone: String,
    }

    /// Keeps one buyer to an address.
    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "ADDRESS#{email}", SK = "ADDRESS", count = 1000)]
    pub struct Address {
        pub email: String,
        pub since: Option<Timestamp>,
    }

    #[derive(Access)]
    #[access(find = Sale, name = "sales until a day", where = "shop = :shop and at <= :at", order = "at desc", limit = 10)]
    pub struct SalesUntilADay {
        pub shop: String,
        pub at: Timestamp,
    }

    #[derive(Access)]
    #[access(find = Sale, name = "sales of a shop or to a buyer", where = "at between '2024-01-01' and '2024-01-31' and (shop = :shop or buyer = :buyer)")]
    pub struct SalesOfAShopOrToABuyer {
        pub shop: String,
        pub buyer: String,
    }

    #[derive(Access)]
    #[access(find = Sale, name = "first sales, by hand", key = "PK = \"SHOP#{shop}#202401\" and begins_with(SK, \"SALE#\")")]
    pub struct FirstSalesByHand;

    #[derive(Access)]
    #[access(find = Shop, name = "sales of a shop: Sale to Shop", where = "shop = :shop", all_pages, implied)]
    pub struct SalesOfAShopSaleToShop {
        pub shop: String,
    }
}
