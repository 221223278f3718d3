//! How do I store relations and read them from both sides? An adjacency list with an inverted index.
//!
//! `cargo run -p keyloom --example adjacency_list`

#![expect(clippy::print_stdout, clippy::wildcard_imports, unreachable_pub, reason = "an example")]

use keyloom::prelude::*;

#[keyloom::design(table(social, PK, SK, index(Inverted, GSI1PK, GSI1SK)))]
mod social {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(PK = "USER#{user}", SK = "PROFILE")]
    pub struct User {
        pub user: String,
        pub followers: u64,
    }

    /// `user` follows `followed`; the followed user's item counts it in the same transaction.
    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(
        PK = "USER#{follower}",
        SK = "FOLLOWS#{user}",
        GSI1PK = "FOLLOWED#{user}",
        GSI1SK = "BY#{follower}",
        counted_in(User::followers)
    )]
    pub struct Follow {
        pub follower: String,
        pub user: String,
    }

    #[derive(Access)]
    #[access(find = Follow, where = "follower = ?", order = "user")]
    pub struct FollowedBy {
        pub follower: String,
    }

    #[derive(Access)]
    #[access(find = Follow, where = "user = ?", order = "follower")]
    pub struct FollowersOf {
        pub user: String,
    }
}
use social::*;

fn main() -> keyloom::Result<()> {
    let social = Social::open(Database::memory())?;
    for user in ["ann", "bob", "cy"] {
        social.create(&User { user: user.into(), followers: 0 })?;
    }
    for (follower, user) in [("ann", "bob"), ("cy", "bob"), ("bob", "ann")] {
        social.create(&Follow { follower: follower.into(), user: user.into() })?;
    }
    println!("ann follows {:?}", social.query(FollowedBy { follower: "ann".into() }).collect()?);
    println!(
        "bob is followed by {:?}",
        social.query(FollowersOf { user: "bob".into() }).collect()?
    );
    println!("{:?}", social.get(User::at("bob"))?);
    Ok(())
}
