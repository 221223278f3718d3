//! How do I keep an email unique, and how do two writers not lose each other's changes?
//!
//! `cargo run -p keyloom --example unique_email`

#![expect(clippy::print_stdout, clippy::wildcard_imports, reason = "an example")]

use keyloom::prelude::*;

#[keyloom::design(table(accounts, PK, SK))]
mod accounts {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug)]
    #[entity(PK = "USER#{id}", SK = "PROFILE", unique(email))]
    pub struct User {
        pub id: u64,
        pub email: String,
        pub logins: u32,
        #[field(version)]
        pub version: u64,
    }
}
use accounts::*;

fn main() -> keyloom::Result<()> {
    let accounts = Accounts::open(Database::memory())?;
    let user = |id, email: &str| User { id, email: email.into(), logins: 0, version: 0 };
    accounts.create(&user(1, "ann@example.com"))?;
    if let Err(error) = accounts.create(&user(2, "ann@example.com")) {
        println!("refused: {error}");
    }
    // Many writers, no lost update: the version is compared, and the closure runs again on a conflict.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    if let Err(error) = accounts.update(User::at(1u64), |user| user.logins += 1) {
                        println!("{error}");
                    }
                }
            });
        }
    });
    println!("{:?}", accounts.get(User::at(1u64))?);
    // A new email frees the old one, in one transaction.
    accounts.update(User::at(1u64), |user| user.email = "ann@work.example".into())?;
    accounts.create(&user(2, "ann@example.com"))?;
    Ok(())
}
