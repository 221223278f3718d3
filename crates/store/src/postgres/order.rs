//! The order of submitted transactions: what later ones see of them, and which may share a flight.
//!
//! Several lanes take groups from one queue. A transaction that has read or overwrites the value of
//! one that is not decided yet comes into the same flight, or into one that is sent after the other
//! has committed, so lanes never wait for each other in the database.
//!
//! Another lane than the first flies only if that pays: a flight costs the database some work
//! whatever it carries, but who waits for a flight under way waits for its sync, too, and the
//! database syncs several flights at once.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use foldhash::fast::RandomState;
use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use super::core::Core;
use super::member::{Earlier, Member, Revision};
use crate::CommitError;
use crate::submission::{Commit, Submission};
use crate::transaction::{Ticket, WriteSet};

/// A group has at most so many transactions and bytes.
const GROUP: usize = 64;
const GROUP_BYTES: usize = 4 << 20;

/// What a flight costs: who would wait for less than this for another flight to land does wait.
const COST: Duration = Duration::from_micros(500);

/// A flight that takes so many times as long as usual is no longer waited for.
const OVERDUE: u32 = 2;

/// A value that is submitted and not yet decided.
#[derive(Debug, Clone)]
pub(super) struct PendingValue {
    pub(super) value: Option<Bytes>,
    pub(super) revision: Revision,
    pub(super) ticket: Ticket,
}

/// What is submitted and not yet decided.
#[derive(Default)]
pub(super) struct Order {
    state: Mutex<State>,
    decided: Condvar,
    /// Wakes lanes that have nothing to do.
    pub(super) arrived: Notify,
}

#[derive(Default)]
struct State {
    overlay: HashMap<Bytes, PendingValue, RandomState>,
    undecided: BTreeSet<Ticket>,
    last: Ticket,
    waiting: VecDeque<Member>,
    /// When the flights under way were sent, by lane.
    flights: HashMap<usize, Instant>,
    /// How long flights take, on average.
    usual: Duration,
    /// How many groups have committed.
    commits: u64,
    /// The lookups under way, by the number of commits at their beginning.
    lookups: BTreeMap<u64, usize>,
    /// What was committed since the first of them began, and by which commit.
    recent: HashMap<Bytes, (PendingValue, u64), RandomState>,
    committed: VecDeque<(u64, Bytes)>,
}

/// What a lane may do now.
pub(super) enum Turn {
    Fly(Vec<Member>),
    /// Nothing before this much time has passed, unless it is woken.
    Wait(Duration),
    /// Nothing, until it is woken.
    Rest,
}

impl Order {
    /// The pending value of a key.
    pub(super) fn newest(&self, key: &[u8]) -> Option<PendingValue> {
        self.state.lock().overlay.get(key).cloned()
    }

    /// Gives a transaction its place after those it has seen: `enqueue` returns it unless somebody
    /// else takes care of it. Later transactions see these values.
    pub(super) fn place(
        &self,
        mut member: Member,
        values: WriteSet,
        enqueue: impl FnOnce(Member) -> Option<Member>,
    ) -> Submission {
        let mut state = self.state.lock();
        let ticket = state.last + 1;
        (member.ticket, member.keys) = (ticket, values.keys().cloned().collect());
        member.after.extend(state.overwritten(&values));
        member.after.retain(|earlier| state.undecided.contains(earlier));
        let (revision, done) = (member.revision, Arc::clone(&member.done));
        state.waiting.extend(enqueue(member));
        state.last = ticket;
        state.undecided.insert(ticket);
        for (key, value) in values {
            state.overlay.insert(key, PendingValue { value, revision, ticket });
        }
        // Else a lane that lands takes it; but one must look whether that takes too long.
        let is_needed = matches!(state.waiting.len(), 1 | GROUP..)
            || state.pays_to_wait(Instant::now()).is_none();
        drop(state);
        if is_needed {
            self.arrived.notify_one();
        }
        Submission::pending(done, Arc::new(Driven))
    }

    /// What a lane may do now. A lane that flies must [land](Self::land).
    pub(super) fn turn(&self, lane: usize) -> Turn {
        let mut state = self.state.lock();
        let ready = state.ready();
        if ready.is_empty() {
            return Turn::Rest;
        }
        let (now, is_full) = (Instant::now(), ready.len() >= GROUP);
        if !is_full && let Some(wait) = state.pays_to_wait(now) {
            return Turn::Wait(wait);
        }
        let group = state.take(&ready);
        state.flights.insert(lane, now);
        if !state.waiting.is_empty() {
            self.arrived.notify_one();
        }
        Turn::Fly(group)
    }

    /// Wakes all lanes, so that they see that the store is closed.
    pub(super) fn wake_all(&self) {
        self.arrived.notify_waiters();
        self.arrived.notify_one();
    }

    /// A lane's flight is over.
    pub(super) fn land(&self, lane: usize, has_committed: bool) {
        let mut state = self.state.lock();
        let Some(sent) = state.flights.remove(&lane) else { return };
        if has_committed {
            let took = sent.elapsed();
            state.usual = if state.usual.is_zero() { took } else { (state.usual * 7 + took) / 8 };
        }
    }

    /// Leaves those in a group that need not wait for others; the rest waits in the queue.
    pub(super) fn keep_ready(&self, group: &mut Vec<Member>) {
        let mut state = self.state.lock();
        group.sort_unstable_by_key(|member| member.ticket);
        let mut together = HashSet::new();
        let must_wait = |member: &mut Member| {
            let is_ready = state.is_ready(member, &together);
            together.extend(is_ready.then_some(member.ticket));
            !is_ready
        };
        let rest: Vec<Member> = group.extract_if(.., must_wait).collect();
        state.waiting.extend(rest);
        // Lanes number the records of a group in the order of the queue.
        state.waiting.make_contiguous().sort_unstable_by_key(|member| member.ticket);
    }

    /// Announces the outcome of transactions.
    pub(super) fn finish(&self, members: Vec<Member>, outcome: &Result<(), CommitError>) {
        let mut state = self.state.lock();
        state.commits += u64::from(outcome.is_ok());
        for member in &members {
            state.undecided.remove(&member.ticket);
            for key in &member.keys {
                if state.overlay.get(key).is_some_and(|value| value.ticket == member.ticket) {
                    let decided = state.overlay.remove(key);
                    if let Some(value) = decided.filter(|_| outcome.is_ok()) {
                        state.keep(key, value);
                    }
                }
            }
        }
        drop(state);
        self.decided.notify_all();
        for member in members {
            drop(member.guards);
            if let Some(task) = member.done.finish(outcome.clone()) {
                // A waker may panic, for example when its executor has shut down.
                let _ = catch_unwind(AssertUnwindSafe(|| task.wake()));
            }
        }
    }

    /// A lookup begins: after so many commits.
    fn begin_lookup(&self) -> u64 {
        let mut state = self.state.lock();
        let commits = state.commits;
        *state.lookups.entry(commits).or_default() += 1;
        commits
    }

    /// What was committed of a key after so many commits.
    fn decided_since(&self, key: &[u8], commits: u64) -> Option<PendingValue> {
        let state = self.state.lock();
        let (value, commit) = state.recent.get(key)?;
        (*commit > commits).then(|| value.clone())
    }

    /// A lookup that began after so many commits is over.
    fn end_lookup(&self, commits: u64) {
        let mut state = self.state.lock();
        if let Some(count) = state.lookups.get_mut(&commits) {
            *count -= 1;
            if *count == 0 {
                state.lookups.remove(&commits);
                state.forget();
            }
        }
    }

    /// Waits until everything submitted before is decided.
    pub(super) fn settle(&self) {
        let mut state = self.state.lock();
        let last = state.last;
        while state.undecided.first().is_some_and(|first| *first <= last) {
            self.decided.wait(&mut state);
        }
    }
}

impl State {
    /// Keeps a committed value for lookups that may not have seen it.
    fn keep(&mut self, key: &Bytes, value: PendingValue) {
        if !self.lookups.is_empty() {
            self.recent.insert(key.clone(), (value, self.commits));
            self.committed.push_back((self.commits, key.clone()));
        }
    }

    /// Forgets what all lookups under way must have seen.
    fn forget(&mut self) {
        let first = self.lookups.keys().next().copied().unwrap_or(u64::MAX);
        while let Some((commit, key)) = self.committed.pop_front_if(|(commit, _)| *commit <= first)
        {
            if self.recent.get(&key).is_some_and(|(_, newest)| *newest == commit) {
                self.recent.remove(&key);
            }
        }
    }

    /// The transactions whose values these overwrite.
    fn overwritten(&self, values: &WriteSet) -> Earlier {
        values.keys().filter_map(|key| self.overlay.get(key)).map(|value| value.ticket).collect()
    }

    /// Whether all that a transaction comes after are decided, or fly with it.
    fn is_ready(&self, member: &Member, together: &HashSet<Ticket>) -> bool {
        let is_over = |ticket: &Ticket| !self.undecided.contains(ticket);
        member.after.iter().all(|earlier| is_over(earlier) || together.contains(earlier))
    }

    /// The positions of those that may share the next flight.
    fn ready(&self) -> Vec<usize> {
        let (mut positions, mut together, mut bytes) = (Vec::new(), HashSet::new(), 0);
        for (position, member) in self.waiting.iter().enumerate() {
            if positions.len() == GROUP || bytes >= GROUP_BYTES {
                break;
            }
            if self.is_ready(member, &together) {
                together.insert(member.ticket);
                bytes += member.bytes();
                positions.push(position);
            }
        }
        positions
    }

    /// How long to wait for a flight under way rather than to send another.
    fn pays_to_wait(&self, now: Instant) -> Option<Duration> {
        let elapsed = self.flights.values().map(|sent| now.duration_since(*sent)).max()?;
        let left = self.usual.saturating_sub(elapsed);
        let overdue = (self.usual * OVERDUE + COST).saturating_sub(elapsed);
        (left < COST && !overdue.is_zero()).then_some(overdue)
    }

    fn take(&mut self, positions: &[usize]) -> Vec<Member> {
        let mut taken = positions.iter().copied().peekable();
        let mut group = Vec::with_capacity(positions.len());
        let mut rest = VecDeque::with_capacity(self.waiting.len() - positions.len());
        for (position, member) in std::mem::take(&mut self.waiting).into_iter().enumerate() {
            match taken.next_if_eq(&position) {
                Some(_) => group.push(member),
                None => rest.push_back(member),
            }
        }
        self.waiting = rest;
        group
    }
}

/// A lookup without a lock: what is committed after its beginning is kept until its end, since it may or may not see it.
pub(super) struct LookupSince {
    core: Arc<Core>,
    commits: u64,
}

impl LookupSince {
    pub(super) fn begin(core: &Arc<Core>) -> Self {
        Self { core: Arc::clone(core), commits: core.order.begin_lookup() }
    }

    /// What was committed of a key since the lookup began.
    pub(super) fn decided(&self, key: &[u8]) -> Option<PendingValue> {
        self.core.order.decided_since(key, self.commits)
    }
}

impl Drop for LookupSince {
    fn drop(&mut self) {
        self.core.order.end_lookup(self.commits);
    }
}

/// Lanes have tasks of their own, so nobody has to lead.
struct Driven;

impl Commit for Driven {
    fn is_busy(&self) -> bool {
        true
    }

    fn lead(&self) {}

    fn call(&self) {}
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn submit(order: &Order, keys: &[&'static str], after: &[Ticket]) {
        let member = Member {
            ticket: 0,
            after: after.into(),
            revision: 1,
            reads: BTreeMap::new(),
            writes: BTreeMap::new(),
            keys: Vec::new(),
            appends: Vec::new(),
            adds: BTreeMap::new(),
            epoch: None,
            guards: Mutex::default(),
            done: Arc::default(),
        };
        let values = keys.iter().map(|key| ((*key).into(), None)).collect();
        drop(order.place(member, values, Some));
    }

    fn fly(order: &Order, lane: usize) -> Vec<Member> {
        match order.turn(lane) {
            Turn::Fly(group) => group,
            Turn::Wait(_) | Turn::Rest => Vec::new(),
        }
    }

    fn tickets(group: &[Member]) -> Vec<Ticket> {
        group.iter().map(|member| member.ticket).collect()
    }

    #[test]
    fn who_overwrites_or_has_read_what_flies_waits_for_it() {
        let order = Order::default();
        // A flight usually takes long: another lane does not wait for it.
        order.state.lock().usual = Duration::from_secs(10);
        submit(&order, &["a"], &[]);
        let first = fly(&order, 0);
        assert_eq!(tickets(&first), [1]);
        submit(&order, &["a"], &[]);
        submit(&order, &["b"], &[]);
        submit(&order, &["c"], &[1]);
        submit(&order, &["b", "d"], &[]);
        let second = fly(&order, 1);
        assert_eq!(tickets(&second), [3, 5], "2 overwrites what 1 writes, 4 has read it");
        assert!(matches!(order.turn(2), Turn::Rest));
        order.finish(first, &Ok(()));
        order.land(0, true);
        assert_eq!(tickets(&fly(&order, 0)), [2, 4]);
    }

    #[test]
    fn a_lookup_hears_of_what_was_committed_since_it_began() {
        let order = Order::default();
        let write = || {
            submit(&order, &["a"], &[]);
            let group = fly(&order, 0);
            let ticket = tickets(&group);
            order.finish(group, &Ok(()));
            order.land(0, true);
            ticket
        };
        write();
        let (first, ticket) = (order.begin_lookup(), write());
        let decided = |commits| order.decided_since(b"a", commits).map(|value| value.ticket);
        assert_eq!(decided(first).into_iter().collect::<Vec<_>>(), ticket);
        let second = order.begin_lookup();
        assert_eq!(decided(second), None, "it must see that one itself");
        submit(&order, &["a"], &[]);
        let refused = fly(&order, 0);
        order.finish(refused, &Err(CommitError::Conflict));
        assert_eq!(decided(second), None, "it was not committed");
        let last = write();
        order.end_lookup(first);
        assert_eq!(decided(second).into_iter().collect::<Vec<_>>(), last);
        order.end_lookup(second);
        let state = order.state.lock();
        assert!(state.recent.is_empty() && state.committed.is_empty(), "nobody needs it any more");
    }

    #[test]
    fn another_lane_flies_only_if_that_pays() {
        let order = Order::default();
        order.state.lock().usual = COST / 2;
        submit(&order, &["a"], &[]);
        assert_eq!(fly(&order, 0).len(), 1);
        submit(&order, &["b"], &[]);
        let Turn::Wait(wait) = order.turn(1) else { panic!("the flight is about to land") };
        std::thread::sleep(wait);
        assert_eq!(fly(&order, 1).len(), 1, "the flight is overdue");
        order.state.lock().usual = Duration::from_secs(1);
        for _ in 0..=GROUP {
            submit(&order, &[], &[]);
        }
        assert_eq!(fly(&order, 2).len(), GROUP, "enough for a flight of its own");
    }

    #[test]
    fn what_a_session_cannot_take_waits_in_its_order() {
        let order = Order::default();
        order.state.lock().usual = Duration::from_secs(10);
        submit(&order, &["a"], &[]);
        let flying = fly(&order, 0);
        submit(&order, &["a"], &[]);
        submit(&order, &["b"], &[]);
        submit(&order, &["a"], &[]);
        let mut session = std::mem::take(&mut order.state.lock().waiting).into();
        order.keep_ready(&mut session);
        assert_eq!(tickets(&session), [3]);
        order.finish(flying, &Ok(()));
        assert_eq!(tickets(&fly(&order, 1)), [2, 4]);
    }
}
