use keyloom::prelude::*;

#[keyloom::design(table(shop, PK, SK))]
mod shop {
    use super::*;

    #[derive(Entity, Serialize, Deserialize)]
    #[entity(PK = "USER#{user}", SK = "ORDER#{number}")]
    pub struct Order {
        pub user: String,
        pub number: u32,
    }

    #[derive(Access)]
    #[access(find = Order, name = "orders: User to Order", implied)]
    pub struct OrdersOf {
        pub user: String,
    }
}

fn main() {}
