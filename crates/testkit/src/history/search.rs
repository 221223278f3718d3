//! The search for a sequential order of a concurrent history, after Wing and Gong, with Lowe's
//! memory of what was tried.
//!
//! Events are sorted by their beginning. A node of the search is a set of events that have happened
//! and the state they led to. Because an event that ended before another began must happen first,
//! such a set is all events up to a point, and a few beyond it: as many as there were threads.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;

use super::Event;

/// A sequential machine.
pub trait Machine {
    /// What it remembers.
    type State: Clone + Eq + Hash + Debug;
    /// What it can be asked.
    type Operation: Debug;
    /// What it answers.
    type Answer: Debug;

    /// The state after the operation, if the machine would have given this answer.
    fn step(
        state: &Self::State,
        operation: &Self::Operation,
        answer: &Self::Answer,
    ) -> Option<Self::State>;
}

/// A node of the search.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node<S> {
    /// All events before this one have happened.
    first: usize,
    /// Events at or after `first` that have happened, sorted.
    ahead: Vec<usize>,
    state: S,
}

/// Why no order exists: how far the search came, for the reader of a failed test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoOrder {
    /// How many events could be put in order.
    pub ordered: usize,
    /// How many nodes were visited.
    pub visited: usize,
    /// The state there, and the events of which none could come next.
    pub stuck: String,
}

/// Looks for an order of the history that the machine could have produced from `initial`. Gives the
/// number of nodes visited.
pub fn find_order<M: Machine>(
    initial: M::State,
    history: &[Event<M::Operation, M::Answer>],
) -> Result<usize, NoOrder> {
    let mut events: Vec<&Event<M::Operation, M::Answer>> = history.iter().collect();
    events.sort_by_key(|event| event.invoked);
    let mut known = HashSet::new();
    let mut open = vec![Node { first: 0, ahead: Vec::new(), state: initial }];
    let mut farthest = NoOrder { ordered: 0, visited: 0, stuck: String::new() };
    let mut visited = 0;
    while let Some(node) = open.pop() {
        visited += 1;
        if node.first == events.len() {
            return Ok(visited);
        }
        let candidates = candidates(&events, &node);
        let ordered = node.first + node.ahead.len();
        if ordered >= farthest.ordered {
            let next: Vec<_> = candidates.iter().filter_map(|&n| events.get(n)).collect();
            let stuck = format!("{:?}, then one of {next:#?}", node.state);
            farthest = NoOrder { ordered, visited: 0, stuck };
        }
        // The last one pushed is tried first: the one that ended first.
        for &position in &candidates {
            let Some(event) = events.get(position) else { continue };
            let Some(state) = M::step(&node.state, &event.operation, &event.answer) else {
                continue;
            };
            let next = node.after(position, state);
            if known.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    Err(NoOrder { visited, ..farthest })
}

impl<S> Node<S> {
    /// The node after one more event.
    fn after(&self, position: usize, state: S) -> Self {
        let mut ahead = self.ahead.clone();
        let place = ahead.partition_point(|&other| other < position);
        ahead.insert(place, position);
        let done = ahead.iter().enumerate().take_while(|(n, p)| **p == self.first + n).count();
        ahead.drain(..done);
        Self { first: self.first + done, ahead, state }
    }
}

/// The events that may come next, the earliest to end last: those that have not happened, and began
/// before any other such event ended.
fn candidates<O, A, S>(events: &[&Event<O, A>], node: &Node<S>) -> Vec<usize> {
    let mut earliest_end = u64::MAX;
    let mut candidates = Vec::new();
    for (position, event) in events.iter().enumerate().skip(node.first) {
        if event.invoked > earliest_end {
            break;
        }
        if node.ahead.binary_search(&position).is_err() {
            earliest_end = earliest_end.min(event.returned);
            candidates.push((event.returned, position));
        }
    }
    candidates.sort_unstable_by(|a, b| b.cmp(a));
    candidates.into_iter().map(|(_, position)| position).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A register: `(true, n)` writes, `(false, n)` reads n.
    struct Register;

    impl Machine for Register {
        type State = u32;
        type Operation = (bool, u32);
        type Answer = ();

        fn step(state: &u32, &(is_write, value): &(bool, u32), (): &()) -> Option<u32> {
            (is_write || *state == value).then_some(value)
        }
    }

    fn check(history: &[(bool, u32, u64, u64)]) -> bool {
        let events: Vec<Event<(bool, u32), ()>> = history
            .iter()
            .map(|&(is_write, value, invoked, returned)| Event {
                operation: (is_write, value),
                answer: (),
                invoked,
                returned,
            })
            .collect();
        find_order::<Register>(0, &events).is_ok()
    }

    const WRITE: bool = true;
    const READ: bool = false;

    #[test]
    fn good_histories_are_accepted() {
        assert!(check(&[]));
        // One after the other.
        assert!(check(&[(WRITE, 1, 0, 1), (READ, 1, 2, 3)]));
        // The reads overlap the write: one sees it, the earlier does not.
        assert!(check(&[(WRITE, 1, 0, 9), (READ, 0, 1, 2), (READ, 1, 3, 4)]));
        // Two writes at once, in either order.
        assert!(check(&[(WRITE, 1, 0, 5), (WRITE, 2, 1, 4), (READ, 1, 6, 7)]));
        assert!(check(&[(WRITE, 1, 0, 5), (WRITE, 2, 1, 4), (READ, 2, 6, 7)]));
    }

    #[test]
    fn bad_histories_are_rejected() {
        // A stale read: the write had ended.
        assert!(!check(&[(WRITE, 1, 0, 1), (READ, 0, 2, 3)]));
        // A value from nowhere.
        assert!(!check(&[(READ, 7, 0, 1)]));
        // New, then old again, while the write is still under way.
        assert!(!check(&[(WRITE, 1, 0, 9), (READ, 1, 1, 2), (READ, 0, 3, 4)]));
        // Two readers that disagree on the order of two writes.
        let writes = [(WRITE, 1, 0, 20), (WRITE, 2, 1, 20)];
        let reads = [(READ, 1, 21, 22), (READ, 2, 23, 24)];
        assert!(!check(&[writes, reads].concat()));
    }

    #[test]
    fn the_report_says_how_far_it_came() {
        let event = |value, at| Event {
            operation: (READ, value),
            answer: (),
            invoked: at,
            returned: at + 1,
        };
        let stuck = find_order::<Register>(0, &[event(0, 0), event(5, 2)]).unwrap_err();
        assert_eq!(stuck.ordered, 1);
        assert!(stuck.stuck.contains('5'), "{}", stuck.stuck);
    }
}
