//! Random pairs of designs and data, programs that write all the while, and a runner that is killed at any request.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keyloom::designs::{check_text, cost::Prices};
use keyloom::migrate::{Migration, MigrationPlan, Phase, Runner, Side, Step, Watch};
use keyloom::{Error, Result};
use keyloom_core::hash::SplitMix64;

use crate::pairs::pair;
use crate::world::World;

/// Programs that write between any two requests of the migration, and somebody who kills it.
struct Chaos {
    world: Mutex<World>,
    kills: Mutex<(SplitMix64, usize)>,
}

impl Watch for Chaos {
    fn before(&self, _operation: &'static str) -> Result<()> {
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        if world.writes > 0 && world.random.percent(25) {
            world.writes -= 1;
            world.write();
            if world.random.percent(10) {
                world.check_patterns();
            }
        }
        let (random, per_mille) = &mut *self.kills.lock().unwrap_or_else(PoisonError::into_inner);
        if random.below(1000) < *per_mille {
            return Err(Error::Config(KILLED.into()));
        }
        Ok(())
    }
}

const KILLED: &str = "killed";

struct Run {
    chaos: Arc<Chaos>,
    migration: Migration,
    /// Whether workers copy beside the follower, as `keyloom migrate run` has them.
    has_workers: bool,
}

impl Run {
    fn new(seed: u64) -> (Self, &'static str) {
        let mut random = SplitMix64::new(seed);
        let pair = pair(&mut random);
        let report = |text: &str| check_text("design", text, &Prices::default());
        let (old, new) = (report(&pair.old), report(&pair.new));
        assert!(
            old.is_whole && new.is_whole,
            "{}: {:?} {:?}",
            pair.name,
            old.findings,
            new.findings
        );
        let plan = MigrationPlan::between(&old, &new).unwrap();
        assert_eq!(plan.obstacles, [], "{}", pair.name);
        let world = World::new(plan, seed);
        let (backend, clock) = (world.backend(), world.clock.clone());
        let kills = Mutex::new((SplitMix64::new(seed ^ 0x77), random.below(3) * 15));
        let chaos = Arc::new(Chaos { world: Mutex::new(world), kills });
        let migration = Migration::new(backend, &old, &new).unwrap();
        let migration = migration
            .with_clock(clock)
            .with_segments(1 + random.below(3) as u32)
            .with_page_items(1 + random.below(5))
            .with_marker_age(Duration::ZERO)
            .with_watch(chaos.clone());
        (Self { chaos, migration, has_workers: seed.is_multiple_of(4) }, pair.name)
    }

    fn world<T>(&self, work: impl FnOnce(&mut World) -> T) -> T {
        work(&mut self.chaos.world.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets programs write so often from now on.
    fn allow(&self, writes: usize) {
        self.world(|world| world.writes = writes);
    }

    /// Does something until it was not killed.
    fn insist<T>(&self, mut work: impl FnMut(&mut Runner<'_>) -> Result<T>) -> T {
        for _ in 0..400 {
            let done = self.migration.runner(true).and_then(|mut runner| work(&mut runner));
            match done {
                Ok(done) => return done,
                Err(Error::Config(reason)) if reason == KILLED => self.follow_side(),
                Err(error) => panic!("{error}"),
            }
        }
        panic!("it was killed too often")
    }

    fn catch_up(&self) {
        self.insist(|runner| {
            if self.has_workers {
                return runner.catch_up_with(8, &|_| true).map(drop);
            }
            runner.catch_up()
        });
    }

    /// Programs use the form that the database says.
    fn follow_side(&self) {
        let (_, per_mille) = *self.chaos.kills.lock().unwrap();
        self.chaos.kills.lock().unwrap().1 = 0;
        let writes = self.world(|world| std::mem::take(&mut world.writes));
        if let Some(status) = self.migration.status().unwrap() {
            self.world(|world| world.side = status.side);
        }
        self.world(|world| world.writes = writes);
        self.chaos.kills.lock().unwrap().1 = per_mille;
    }

    fn side(&self) -> Side {
        self.follow_side();
        self.world(|world| world.side)
    }

    fn phase(&self) -> Phase {
        let per_mille = std::mem::take(&mut self.chaos.kills.lock().unwrap().1);
        let phase = self.migration.status().unwrap().unwrap().phase;
        self.chaos.kills.lock().unwrap().1 = per_mille;
        phase
    }

    /// Ends in the old design.
    fn roll_back(&self) {
        if self.side() == Side::New {
            // Whoever writes the new form has stopped.
            self.allow(0);
        }
        self.insist(|runner| match runner.rollback() {
            Err(Error::Migration(reason)) if reason.contains("is over") => Ok(()),
            other => other.map(drop),
        });
        assert_eq!(self.side(), Side::Old);
        assert_eq!(self.phase(), Phase::RolledBack);
        self.world(|world| {
            world.check_patterns();
            world.check_all(Side::Old);
        });
    }

    fn go(&self, random: &mut SplitMix64) {
        let way = random.below(3);
        self.allow(30);
        if way == 0 {
            let steps = random.below(25);
            let mut taken = 0;
            self.insist(|runner| {
                while taken < steps {
                    taken += 1;
                    if runner.step()? == Step::CaughtUp {
                        break;
                    }
                }
                Ok(())
            });
            return self.roll_back();
        }
        self.catch_up();
        self.world(World::check_patterns);
        self.allow(10);
        let verified = self.insist(|runner| runner.verify());
        assert_eq!(verified.problems, [], "after {} settled", verified.settled);
        // Whoever writes the old form has stopped.
        self.allow(0);
        self.insist(|runner| match runner.switch() {
            Err(Error::Migration(reason)) if reason.contains("use the new form already") => Ok(()),
            other => other,
        });
        assert_eq!(self.side(), Side::New);
        self.world(World::check_patterns);
        let one_way = !self.migration.plan().one_way.is_empty();
        if !one_way {
            self.allow(25);
            self.catch_up();
            self.allow(0);
            let verified = self.insist(|runner| runner.verify());
            assert_eq!(verified.problems, [], "backward, after {} settled", verified.settled);
            if way == 1 {
                return self.roll_back();
            }
        }
        self.allow(10);
        self.insist(|runner| match runner.contract() {
            Err(Error::Migration(reason)) if reason.contains("is over") => Ok(()),
            other => other.map(drop),
        });
        assert_eq!(self.phase(), Phase::Contracted);
        self.world(|world| {
            world.check_patterns();
            world.check_all(Side::New);
        });
    }
}

#[test]
fn nothing_is_lost_and_nothing_is_doubled() {
    let runs =
        std::env::var("KEYLOOM_MIGRATIONS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(50);
    let first: u64 = std::env::var("KEYLOOM_MIGRATION_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(1);
    let mut failed = Vec::new();
    for seed in first..first + runs {
        let (run, name) = Run::new(seed);
        let mut random = SplitMix64::new(seed ^ 0xfeed);
        if catch_unwind(AssertUnwindSafe(|| run.go(&mut random))).is_err() {
            failed.push(format!("seed {seed} ({name})"));
        }
    }
    assert!(failed.is_empty(), "{} of {runs} runs failed: {failed:#?}", failed.len());
}
