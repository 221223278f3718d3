//! One budget for the memory that clients make the server hold.
//!
//! Clients decide how large requests are, how much their decoded form takes, how large responses
//! are and how long they stay unsent. So all of that is reserved here before it is allocated, per
//! connection and for the server as a whole; a reservation that does not fit waits briefly or is
//! refused. A quarter of the budget is for the buffers of connections; one client may use three
//! quarters of that.
//!
//! An allocator keeps freed pages for a while, so released bytes still count as freed bytes. When
//! they no longer fit into the budget, the allocator is asked to return them to the system.
//!
//! The decoded form of small requests that run on the reactor is not reserved: there is at most one
//! of them per thread.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// Reservations up to this size may use the remainder after large ones have been refused, so that
/// small requests are served while someone fills the memory with large ones.
const SMALL_BYTES: usize = 64 << 10;
/// The minimum share of a connection: the largest request fits.
const LEAST_SHARE_BYTES: usize = 32 << 20;
/// How often a waiting reservation retries without being notified.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);
/// Freed pages are returned to the system no more often than after this many bytes.
const MIN_PURGE_BYTES: usize = 16 << 20;

/// The memory budget of a server.
#[derive(Debug)]
pub(crate) struct Memory {
    /// For requests and responses.
    limit_bytes: usize,
    /// For the requests and responses of one connection.
    share_bytes: usize,
    used_bytes: AtomicUsize,
    /// Released since the allocator last returned its free pages to the system.
    freed_bytes: AtomicUsize,
    purge: fn(),
    /// For the buffers of connections.
    connections_limit_bytes: usize,
    connections_bytes: AtomicUsize,
    waiting: AtomicUsize,
    freed: Notify,
    refused: AtomicU64,
}

/// A reservation does not fit into the budget.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// The budget that the buffers of one more connection do not fit into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// That of the server.
    Server,
    /// The share of the client.
    Client,
}

impl NoRoom {
    /// The client whose connections must be closed to make room, or `None` if any would do.
    pub(crate) fn client(self, client: IpAddr) -> Option<IpAddr> {
        (self == Self::Client).then_some(client)
    }
}

impl Memory {
    /// `purge` makes the allocator return its free pages to the system.
    pub(crate) fn new(total_bytes: usize, purge: fn()) -> Self {
        let connections_limit_bytes = total_bytes / 4;
        let limit_bytes = total_bytes - connections_limit_bytes;
        Self {
            limit_bytes,
            share_bytes: (limit_bytes / 8).max(LEAST_SHARE_BYTES).min(limit_bytes),
            used_bytes: AtomicUsize::new(0),
            freed_bytes: AtomicUsize::new(0),
            purge,
            connections_limit_bytes,
            connections_bytes: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            freed: Notify::new(),
            refused: AtomicU64::new(0),
        }
    }

    /// Whether a reservation waits, or will soon.
    pub(crate) fn is_short(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
            || self.used_bytes.load(Ordering::Relaxed) > self.limit_bytes / 4 * 3
    }

    /// Returns freed pages to the system if they do not fit into the budget beside `used_bytes`.
    fn purge_beyond_budget(&self, used_bytes: usize) {
        let allowed_bytes = self.limit_bytes.saturating_sub(used_bytes).max(MIN_PURGE_BYTES);
        // Only the thread that resets the counter purges.
        if self.freed_bytes.load(Ordering::Relaxed) > allowed_bytes
            && self.freed_bytes.swap(0, Ordering::Relaxed) > allowed_bytes
        {
            (self.purge)();
        }
    }

    /// The bytes reserved now, connections included.
    pub(crate) fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed) + self.connections_bytes.load(Ordering::Relaxed)
    }

    /// The number of refused reservations.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

/// The reservations of one connection. They may outlive it: a call continues when its client
/// disconnects.
#[derive(Debug)]
pub(crate) struct Account {
    memory: Arc<Memory>,
    used_bytes: AtomicUsize,
    /// The part for the connection's own buffers.
    buffers_bytes: AtomicUsize,
    /// The buffers of all connections of the client.
    client_bytes: Arc<AtomicUsize>,
    /// Bytes of responses that the client has not read.
    unsent_bytes: AtomicUsize,
    /// Bytes of all responses that the client has read.
    taken_bytes: AtomicU64,
    /// How often the client had read everything.
    drained: AtomicU64,
}

impl Account {
    /// Opens an account for a connection with buffers of this size. `client_bytes` counts the buffers of
    /// all connections of its client.
    pub(crate) fn open(
        memory: &Arc<Memory>,
        client_bytes: Arc<AtomicUsize>,
        buffers_bytes: usize,
    ) -> Result<Arc<Self>, NoRoom> {
        let account = Self {
            memory: Arc::clone(memory),
            used_bytes: AtomicUsize::new(0),
            buffers_bytes: AtomicUsize::new(0),
            client_bytes,
            unsent_bytes: AtomicUsize::new(0),
            taken_bytes: AtomicU64::new(0),
            drained: AtomicU64::new(0),
        };
        account.grow_buffers(buffers_bytes)?;
        Ok(Arc::new(account))
    }

    /// Reserves more for the connection's buffers. It is counted even if there is no room, until the
    /// connection ends: either it does so now, or others do.
    pub(crate) fn grow_buffers(&self, bytes: usize) -> Result<(), NoRoom> {
        self.buffers_bytes.fetch_add(bytes, Ordering::Relaxed);
        let of_client = self.client_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let of_all = self.memory.connections_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let limit_bytes = self.memory.connections_limit_bytes;
        if of_client > limit_bytes / 4 * 3 {
            Err(NoRoom::Client)
        } else if of_all > limit_bytes {
            Err(NoRoom::Server)
        } else {
            Ok(())
        }
    }

    /// The bytes of responses not yet read by the client.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.unsent_bytes.load(Ordering::Relaxed)
    }

    /// The bytes of responses read by the client.
    pub(crate) fn taken_bytes(&self) -> u64 {
        self.taken_bytes.load(Ordering::Relaxed)
    }

    /// How often all responses had been read.
    pub(crate) fn drained(&self) -> u64 {
        self.drained.load(Ordering::Relaxed)
    }

    pub(crate) fn take(&self, bytes: usize) {
        self.taken_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let bytes = self.buffers_bytes.load(Ordering::Relaxed);
        self.client_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.memory.connections_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Memory reserved for one request and its response, released when dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    account: Arc<Account>,
    bytes: usize,
}

impl Reservation {
    /// An empty reservation.
    pub(crate) fn new(account: &Arc<Account>) -> Self {
        Self { account: Arc::clone(account), bytes: 0 }
    }

    /// Moves the whole reservation out, leaving an empty one.
    pub(crate) fn take(&mut self) -> Self {
        let taken = Self::new(&self.account);
        std::mem::replace(self, taken)
    }

    /// Reserves more, or fails without change.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        let ceiling = self.limit_bytes();
        self.try_grow(bytes, ceiling).inspect_err(|Full| self.count_refusal())
    }

    /// Reserves more for a body that is being received. Bodies must leave room for their decoded
    /// form: if they filled the budget, none of them could be processed.
    pub(crate) fn grow_body(&mut self, bytes: usize) -> Result<(), Full> {
        let ceiling = self.account.memory.limit_bytes / 4 * 3;
        self.try_grow(bytes, ceiling).inspect_err(|Full| self.count_refusal())
    }

    /// `ceiling` is the total limit if this reservation is a large one.
    fn try_grow(&mut self, bytes: usize, ceiling: usize) -> Result<(), Full> {
        let (account, memory) = (&self.account, &self.account.memory);
        let wanted = self.bytes + bytes;
        let of_account = account.used_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let of_all = memory.used_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let ceiling = if wanted > SMALL_BYTES { ceiling } else { memory.limit_bytes };
        // A connection without other reservations may exceed its share: otherwise it could never
        // proceed.
        if of_all <= ceiling && (of_account <= memory.share_bytes || of_account == wanted) {
            memory.purge_beyond_budget(of_all);
            self.bytes = wanted;
            return Ok(());
        }
        account.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
        memory.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
        Err(Full)
    }

    fn count_refusal(&self) {
        self.account.memory.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Reserves more, waiting for up to `max_wait`. What could never fit is refused at once.
    pub(crate) async fn grow_within(
        &mut self,
        bytes: usize,
        max_wait: Duration,
    ) -> Result<(), Full> {
        let ceiling = self.limit_bytes();
        if self.try_grow(bytes, ceiling).is_ok() {
            return Ok(());
        }
        let memory = Arc::clone(&self.account.memory);
        if self.bytes + bytes > ceiling {
            return Err(Full).inspect_err(|Full| self.count_refusal());
        }
        let _waiting = Waiting::begin(&memory);
        let deadline = Instant::now() + max_wait;
        while Instant::now() < deadline {
            let _ = timeout(RETRY_INTERVAL, memory.freed.notified()).await;
            if self.try_grow(bytes, ceiling).is_ok() {
                return Ok(());
            }
        }
        self.count_refusal();
        Err(Full)
    }

    /// Waits until the connection is within its share, for work that is too small to be reserved
    /// itself.
    pub(crate) async fn turn_within(&mut self, max_wait: Duration) -> Result<(), Full> {
        self.grow_within(0, max_wait).await
    }

    /// Releases everything above this size.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let Some(freed) = self.bytes.checked_sub(bytes).filter(|freed| *freed > 0) else { return };
        self.bytes = bytes;
        self.account.used_bytes.fetch_sub(freed, Ordering::Relaxed);
        self.account.memory.used_bytes.fetch_sub(freed, Ordering::Relaxed);
        self.account.memory.freed_bytes.fetch_add(freed, Ordering::Relaxed);
        // Small amounts do not unblock anyone.
        if freed >= SMALL_BYTES && self.account.memory.waiting.load(Ordering::Relaxed) > 0 {
            self.account.memory.freed.notify_waiters();
        }
    }

    /// Adjusts the reservation to the size of a finished response. A small one is counted even if
    /// it does not fit: refusing it when its work is done would gain nothing. A large one waits.
    pub(crate) async fn settle(&mut self, bytes: usize, max_wait: Duration) -> Result<(), Full> {
        let Some(more) = bytes.checked_sub(self.bytes) else {
            self.shrink_to(bytes);
            return Ok(());
        };
        if bytes <= SMALL_BYTES {
            self.account.used_bytes.fetch_add(more, Ordering::Relaxed);
            self.account.memory.used_bytes.fetch_add(more, Ordering::Relaxed);
            self.bytes = bytes;
            return Ok(());
        }
        self.grow_within(more, max_wait).await
    }

    /// Counts the pages of a buffer that was freed while its reservation remains in use.
    pub(crate) fn count_freed(&self, bytes: usize) {
        self.account.memory.freed_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The total limit of the server.
    pub(crate) fn limit_bytes(&self) -> usize {
        self.account.memory.limit_bytes / 8 * 7
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

/// Counts a waiting reservation.
struct Waiting<'m>(&'m Memory);

impl<'m> Waiting<'m> {
    fn begin(memory: &'m Memory) -> Self {
        memory.waiting.fetch_add(1, Ordering::Relaxed);
        Self(memory)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An unsent response with its memory.
#[derive(Debug)]
pub(crate) struct Unsent {
    reservation: Reservation,
    bytes: usize,
}

impl Unsent {
    /// A response of this many bytes.
    pub(crate) fn new(reservation: Reservation, bytes: usize) -> Self {
        reservation.account.unsent_bytes.fetch_add(bytes, Ordering::Relaxed);
        Self { reservation, bytes }
    }

    /// The client has read some of it.
    pub(crate) fn take(&self, bytes: usize) {
        self.reservation.account.take(bytes);
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        let account = &self.reservation.account;
        if account.unsent_bytes.fetch_sub(self.bytes, Ordering::Relaxed) == self.bytes {
            account.drained.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn memory(mebibytes: usize) -> (Arc<Memory>, Arc<Account>) {
        // A quarter is for connections.
        let memory = Arc::new(Memory::new(mebibytes * MIB / 3 * 4, || ()));
        let account = Account::open(&memory, Arc::default(), 0).unwrap();
        (memory, account)
    }

    #[test]
    fn a_dropped_reservation_is_released() {
        let (memory, account) = memory(96);
        let mut one = Reservation::new(&account);
        one.grow(5 * MIB).unwrap();
        one.grow(MIB).unwrap();
        one.shrink_to(2 * MIB);
        assert_eq!(memory.used_bytes(), 2 * MIB);
        let taken = one.take();
        drop(one);
        assert_eq!(memory.used_bytes(), 2 * MIB);
        drop(taken);
        assert_eq!((memory.used_bytes(), memory.refused()), (0, 0));
    }

    #[test]
    fn large_requests_leave_room_for_small_ones() {
        let (memory, account) = memory(96);
        let other = Account::open(&memory, Arc::default(), 0).unwrap();
        let (mut large, mut small) = (Reservation::new(&account), Reservation::new(&other));
        assert_eq!(large.grow(85 * MIB), Err(Full));
        large.grow(84 * MIB).unwrap();
        assert_eq!(small.grow(MIB), Err(Full));
        for _ in 0..SMALL_BYTES / 1024 {
            small.grow(1024).unwrap();
        }
        assert_eq!(small.grow(1024), Err(Full), "no longer small");
        assert_eq!(memory.refused(), 3);
        assert_eq!(memory.used_bytes(), 84 * MIB + SMALL_BYTES);
    }

    #[tokio::test]
    async fn small_answers_are_never_lost_and_large_ones_wait() {
        let (memory, account) = memory(96);
        let other = Account::open(&memory, Arc::default(), 0).unwrap();
        let mut large = Reservation::new(&account);
        large.grow(84 * MIB).unwrap();
        let mut answer = Reservation::new(&other);
        let max_wait = Duration::from_millis(20);
        answer.settle(SMALL_BYTES, max_wait).await.unwrap();
        assert_eq!(answer.settle(SMALL_BYTES + 1, max_wait).await, Err(Full));
        let settled = tokio::join!(answer.settle(MIB, Duration::from_secs(20)), async {
            tokio::time::sleep(max_wait).await;
            drop(large);
        });
        assert_eq!((settled.0, memory.used_bytes()), (Ok(()), MIB));
        answer.settle(10, max_wait).await.unwrap();
        assert_eq!(memory.used_bytes(), 10);
    }

    #[test]
    fn freed_pages_are_returned_when_they_exceed_the_budget() {
        static PURGES: AtomicUsize = AtomicUsize::new(0);
        let purge = || _ = PURGES.fetch_add(1, Ordering::Relaxed);
        let memory = Arc::new(Memory::new(128 * MIB, purge));
        let account = Account::open(&memory, Arc::default(), 0).unwrap();
        let cycle = |mebibytes| Reservation::new(&account).grow(mebibytes * MIB).unwrap();
        for _ in 0..3 {
            cycle(30);
        }
        assert_eq!(PURGES.load(Ordering::Relaxed), 0, "90 of 96 MiB are freed, none is used");
        cycle(7);
        assert_eq!(PURGES.load(Ordering::Relaxed), 1);
        let other = Account::open(&memory, Arc::default(), 0).unwrap();
        let mut held = Reservation::new(&other);
        held.grow(80 * MIB).unwrap();
        cycle(4);
        assert_eq!(PURGES.load(Ordering::Relaxed), 1, "too little to purge again");
    }

    #[test]
    fn bodies_leave_room_for_their_decoded_form() {
        let (_memory, account) = memory(96);
        let mut body = Reservation::new(&account);
        assert_eq!(body.grow_body(73 * MIB), Err(Full));
        body.grow_body(72 * MIB).unwrap();
        body.grow(12 * MIB).unwrap();
    }

    #[test]
    fn a_connection_has_a_share_unless_it_has_nothing_else() {
        let (memory, account) = memory(96);
        let (mut one, mut two) = (Reservation::new(&account), Reservation::new(&account));
        one.grow(20 * MIB).unwrap();
        assert_eq!(two.grow(13 * MIB), Err(Full));
        two.grow(12 * MIB).unwrap();
        drop(one);
        two.grow(40 * MIB).unwrap();
        let other = Account::open(&memory, Arc::default(), 0).unwrap();
        Reservation::new(&other).grow(20 * MIB).unwrap();
    }

    #[test]
    fn connections_have_a_separate_budget() {
        let memory = Arc::new(Memory::new(4 * MIB, || ()));
        let (client, other) = (Arc::default(), Arc::default());
        let open = |client: &Arc<AtomicUsize>| Account::open(&memory, Arc::clone(client), 16 << 10);
        let mut accounts: Vec<_> = (0..48).map(|_| open(&client).unwrap()).collect();
        assert_eq!(open(&client).err(), Some(NoRoom::Client));
        accounts.extend((0..16).map(|_| open(&other).unwrap()));
        assert_eq!(open(&other).err(), Some(NoRoom::Server));
        assert_eq!(accounts[0].grow_buffers(1), Err(NoRoom::Client));
        drop(accounts);
        assert_eq!(memory.used_bytes(), 0);
        assert_eq!(client.load(Ordering::Relaxed) + other.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn who_waits_gets_what_is_freed_or_is_refused_in_time() {
        let (memory, account) = memory(96);
        let mut one = Reservation::new(&account);
        one.grow(30 * MIB).unwrap();
        let mut two = Reservation::new(&account);
        assert_eq!(two.grow_within(5 * MIB, Duration::from_millis(20)).await, Err(Full));
        let max_wait = Duration::from_secs(20);
        // A reservation that can never fit does not wait.
        assert_eq!(two.grow_within(500 * MIB, max_wait).await, Err(Full));
        let (waited, ()) = tokio::join!(two.grow_within(5 * MIB, max_wait), async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            drop(one);
        });
        assert_eq!(waited, Ok(()));
        assert_eq!(memory.used_bytes(), 5 * MIB);
    }

    #[test]
    fn an_answer_is_counted_until_it_is_dropped() {
        let (_memory, account) = memory(96);
        let answers: Vec<_> =
            (0..2).map(|_| Unsent::new(Reservation::new(&account), 100)).collect();
        answers[0].take(60);
        assert_eq!((account.unsent_bytes(), account.taken_bytes()), (200, 60));
        drop(answers);
        assert_eq!((account.unsent_bytes(), account.drained()), (0, 1));
    }
}
