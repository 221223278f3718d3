//! How do I count faster than one partition takes? A counter in shards: additions go to a random one, the total is the sum.
//!
//! `cargo run -p keyloom --example sharded_counter`

#![expect(clippy::print_stdout, clippy::wildcard_imports, unreachable_pub, reason = "an example")]

use keyloom::prelude::*;

#[keyloom::design(table(counters, PK, SK))]
mod counters {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Debug)]
    #[entity(PK = "VIEWS#{page}#{shard}", SK = "COUNT")]
    pub struct Views {
        pub page: String,
        #[field(type = "shard", shards = 10)]
        pub shard: u32,
        #[field(counter)]
        pub count: u64,
    }

    /// The shards of one page's counter.
    #[derive(Access)]
    #[access(find = Views)]
    pub struct ShardsOf {
        pub page: String,
    }
}
use counters::*;

fn main() -> keyloom::Result<()> {
    let counters = Counters::open(Database::memory())?;
    std::thread::scope(|scope| {
        let count = || (0..250).try_for_each(|_| counters.count(Views::tally("home"), 1));
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(count)).collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(counted) => counted,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    println!("{} views", counters.total(Views::tally("home"))?);
    for shard in counters.query(ShardsOf { page: "home".into() }).collect()? {
        println!("  shard {}: {}", shard.shard, shard.count);
    }
    Ok(())
}
