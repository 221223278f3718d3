//! Serializability of transactions that append to lists, after Elle.
//!
//! Every transaction appends elements that nobody else appends, or reads whole lists. So a read
//! tells the order in which its lists were written, and which transaction came before and after the
//! read. These dependencies, together with the order in time, must have no cycle.

use std::collections::BTreeMap;

/// The number of a list.
pub type ListId = usize;
/// An element, appended once in the whole history.
pub type Element = u64;

/// What a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Appended one element to each of these lists.
    Appended(Vec<(ListId, Element)>),
    /// Was refused: its elements must never be seen.
    Refused(Vec<(ListId, Element)>),
    /// Read these lists.
    Read(Vec<(ListId, Vec<Element>)>),
}

/// A transaction and when it began and ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// What it did.
    pub deed: Deed,
    /// The moment just before.
    pub invoked: u64,
    /// The moment just after.
    pub returned: u64,
}

/// Why a history is not serializable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Anomaly {
    /// Two reads of a list of which neither is the beginning of the other.
    Fork(ListId, Vec<Element>, Vec<Element>),
    /// An element that a refused transaction, or none, had appended.
    NotAppended(ListId, Element),
    /// An element that is there twice.
    Twice(ListId, Element),
    /// Transactions that each come before the next, and the last before the first.
    Cycle(Vec<usize>),
}

/// How a history looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Transactions that appended or read.
    pub transactions: usize,
    /// Dependencies between them, without the order in time.
    pub dependencies: usize,
}

/// Looks for an anomaly. Elements that no read has seen are not judged: read all lists at the end.
pub fn check(history: &[Transaction]) -> Result<Shape, Anomaly> {
    let writers = writers(history);
    let orders = orders(history)?;
    for (list, order) in &orders {
        for (position, element) in order.iter().enumerate() {
            if !writers.contains_key(&(*list, *element)) {
                return Err(Anomaly::NotAppended(*list, *element));
            }
            if order.iter().take(position).any(|earlier| earlier == element) {
                return Err(Anomaly::Twice(*list, *element));
            }
        }
    }
    let mut graph = Graph::new(history.len());
    add_dependencies(&mut graph, history, &writers, &orders);
    let dependencies = graph.edges;
    add_time(&mut graph, history);
    if let Some(mut cycle) = graph.cycle() {
        // Moments are nodes, too, but not transactions.
        cycle.retain(|&node| node < history.len());
        return Err(Anomaly::Cycle(cycle));
    }
    let done = history.iter().filter(|t| !matches!(t.deed, Deed::Refused(_)));
    Ok(Shape { transactions: done.count(), dependencies })
}

/// Which transaction appended which element.
fn writers(history: &[Transaction]) -> BTreeMap<(ListId, Element), usize> {
    let mut writers = BTreeMap::new();
    for (position, transaction) in history.iter().enumerate() {
        if let Deed::Appended(appends) = &transaction.deed {
            writers.extend(appends.iter().map(|append| (*append, position)));
        }
    }
    writers
}

/// The longest read of each list, of which all others must be beginnings.
fn orders(history: &[Transaction]) -> Result<BTreeMap<ListId, Vec<Element>>, Anomaly> {
    let mut orders: BTreeMap<ListId, Vec<Element>> = BTreeMap::new();
    for transaction in history {
        let Deed::Read(reads) = &transaction.deed else { continue };
        for (list, elements) in reads {
            let longest = orders.entry(*list).or_default();
            if !elements.starts_with(longest) && !longest.starts_with(elements) {
                return Err(Anomaly::Fork(*list, longest.clone(), elements.clone()));
            }
            if elements.len() > longest.len() {
                longest.clone_from(elements);
            }
        }
    }
    Ok(orders)
}

fn add_dependencies(
    graph: &mut Graph,
    history: &[Transaction],
    writers: &BTreeMap<(ListId, Element), usize>,
    orders: &BTreeMap<ListId, Vec<Element>>,
) {
    let writer = |list: ListId, element: Option<&Element>| {
        element.and_then(|element| writers.get(&(list, *element)).copied())
    };
    for (list, order) in orders {
        for pair in order.windows(2) {
            graph.connect(writer(*list, pair.first()), writer(*list, pair.last()));
        }
    }
    for (position, transaction) in history.iter().enumerate() {
        let Deed::Read(reads) = &transaction.deed else { continue };
        for (list, elements) in reads {
            // It read what this one wrote, and did not read what the next one wrote.
            graph.connect(writer(*list, elements.last()), Some(position));
            let next = orders.get(list).and_then(|order| order.get(elements.len()));
            graph.connect(Some(position), writer(*list, next));
        }
    }
}

/// Adds the order in time through a chain of moments, which takes far fewer edges than all pairs.
fn add_time(graph: &mut Graph, history: &[Transaction]) {
    let mut ends: Vec<(u64, usize)> = history
        .iter()
        .enumerate()
        .filter(|(_, transaction)| !matches!(transaction.deed, Deed::Refused(_)))
        .map(|(position, transaction)| (transaction.returned, position))
        .collect();
    ends.sort_unstable();
    let first_moment = graph.next.len();
    for (place, (_, position)) in ends.iter().enumerate() {
        let moment = graph.add_node();
        graph.connect(Some(*position), Some(moment));
        if place > 0 {
            graph.connect(Some(moment - 1), Some(moment));
        }
    }
    for (_, position) in &ends {
        let Some(transaction) = history.get(*position) else { continue };
        let ended_before = ends.partition_point(|(returned, _)| *returned < transaction.invoked);
        if ended_before > 0 {
            graph.connect(Some(first_moment + ended_before - 1), Some(*position));
        }
    }
}

/// A directed graph.
struct Graph {
    next: Vec<Vec<usize>>,
    edges: usize,
}

impl Graph {
    fn new(nodes: usize) -> Self {
        Self { next: vec![Vec::new(); nodes], edges: 0 }
    }

    fn add_node(&mut self) -> usize {
        self.next.push(Vec::new());
        self.next.len() - 1
    }

    /// Adds an edge, if both ends are known and not the same.
    fn connect(&mut self, from: Option<usize>, to: Option<usize>) {
        let (Some(from), Some(to)) = (from, to) else { return };
        if from == to {
            return;
        }
        if let Some(next) = self.next.get_mut(from) {
            next.push(to);
            self.edges += 1;
        }
    }

    /// The nodes of a cycle, in its order.
    fn cycle(&self) -> Option<Vec<usize>> {
        let mut finished = vec![false; self.next.len()];
        let mut on_path = vec![false; self.next.len()];
        for start in 0..self.next.len() {
            // Depth first, without recursion: the path, and how many edges of each node are done.
            let mut path = vec![(start, 0)];
            while let Some((node, done)) = path.last_mut() {
                if let (0, Some(flag)) = (*done, on_path.get_mut(*node)) {
                    *flag = true;
                }
                let (node, edge) = (*node, *done);
                *done += 1;
                match self.next.get(node).and_then(|next| next.get(edge)) {
                    Some(next) if on_path.get(*next) == Some(&true) => {
                        let cycle = path.iter().map(|(node, _)| *node);
                        return Some(cycle.skip_while(|node| node != next).collect());
                    }
                    Some(next) if finished.get(*next) == Some(&false) => path.push((*next, 0)),
                    Some(_) => {}
                    None => {
                        path.pop();
                        for (flags, value) in [(&mut finished, true), (&mut on_path, false)] {
                            if let Some(flag) = flags.get_mut(node) {
                                *flag = value;
                            }
                        }
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Deed::{Appended, Read, Refused};
    use super::*;

    fn history(deeds: &[(Deed, u64, u64)]) -> Vec<Transaction> {
        let transaction = |(deed, invoked, returned): &(Deed, u64, u64)| Transaction {
            deed: deed.clone(),
            invoked: *invoked,
            returned: *returned,
        };
        deeds.iter().map(transaction).collect()
    }

    fn append(lists: &[(ListId, Element)]) -> Deed {
        Appended(lists.to_vec())
    }

    fn read(lists: &[(ListId, &[Element])]) -> Deed {
        Read(lists.iter().map(|(list, elements)| (*list, elements.to_vec())).collect())
    }

    #[test]
    fn a_serial_history_is_accepted() {
        let shape = check(&history(&[
            (append(&[(0, 1), (1, 1)]), 0, 1),
            (Refused(vec![(0, 9)]), 2, 3),
            (append(&[(0, 2)]), 4, 5),
            (read(&[(0, &[1, 2]), (1, &[1])]), 6, 7),
        ]));
        assert_eq!(shape, Ok(Shape { transactions: 3, dependencies: 3 }));
    }

    #[test]
    fn overlapping_transactions_may_come_in_any_order() {
        let overlapping = [
            (append(&[(0, 1), (1, 1)]), 0, 9),
            (append(&[(0, 2), (1, 2)]), 0, 9),
            (read(&[(0, &[]), (1, &[])]), 1, 2),
            (read(&[(0, &[2, 1]), (1, &[2, 1])]), 10, 11),
        ];
        assert!(check(&history(&overlapping)).is_ok());
    }

    #[test]
    fn half_a_transaction_is_a_cycle() {
        // The read saw the append to one list and not to the other.
        let torn = [
            (append(&[(0, 1), (1, 1)]), 0, 9),
            (read(&[(0, &[1]), (1, &[])]), 0, 9),
            (read(&[(0, &[1]), (1, &[1])]), 10, 11),
        ];
        assert!(matches!(check(&history(&torn)), Err(Anomaly::Cycle(_))));
    }

    #[test]
    fn writers_that_interleave_are_a_cycle() {
        // The first is before the second on list 0, and after it on list 1.
        let woven = [
            (append(&[(0, 1), (1, 1)]), 0, 9),
            (append(&[(0, 2), (1, 2)]), 0, 9),
            (read(&[(0, &[1, 2]), (1, &[2, 1])]), 10, 11),
        ];
        assert!(matches!(check(&history(&woven)), Err(Anomaly::Cycle(_))));
    }

    #[test]
    fn a_stale_read_is_a_cycle_through_time() {
        let stale =
            [(append(&[(0, 1)]), 0, 1), (read(&[(0, &[])]), 2, 3), (read(&[(0, &[1])]), 4, 5)];
        assert!(matches!(check(&history(&stale)), Err(Anomaly::Cycle(_))));
    }

    #[test]
    fn forks_ghosts_and_doubles_are_named() {
        let writes = [(append(&[(0, 1)]), 0, 1), (append(&[(0, 2)]), 0, 1)];
        let with = |reads: &[Deed]| {
            let mut all = writes.to_vec();
            all.extend(reads.iter().map(|read| (read.clone(), 2, 3)));
            all.push((Refused(vec![(0, 7)]), 0, 1));
            check(&history(&all))
        };
        let fork = with(&[read(&[(0, &[1, 2])]), read(&[(0, &[2])])]);
        assert_eq!(fork, Err(Anomaly::Fork(0, vec![1, 2], vec![2])));
        assert_eq!(with(&[read(&[(0, &[7])])]), Err(Anomaly::NotAppended(0, 7)));
        assert_eq!(with(&[read(&[(0, &[1, 1])])]), Err(Anomaly::Twice(0, 1)));
    }
}
