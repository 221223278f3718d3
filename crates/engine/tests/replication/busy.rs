//! Copies between regions that are all being written.

use super::{ALL, World};

/// More than one message takes.
const ITEMS: u64 = 1000;

/// Lets each link send a question and a message, one link after the other; all regions are written meanwhile.
fn send_a_little(world: &World, number: &mut u64) {
    let pairs = ALL.into_iter().flat_map(|from| ALL.map(|to| (from, to)));
    let mut links: Vec<_> = pairs.filter(|(from, to)| from != to).collect();
    // None is always before another.
    links.rotate_left((*number / 18 % 6) as usize);
    if (*number / 18).is_multiple_of(2) {
        links.reverse();
    }
    for (from, to) in links {
        for region in ALL {
            *number += 1;
            world.put(region, *number * 7 % ITEMS, &number.to_string());
        }
        for other in ALL {
            world.cut(from, other, other != to);
        }
        world.network.0.lock().unwrap().until_cut = Some(2);
        world.db(from).run_maintenance().unwrap();
        world.network.0.lock().unwrap().until_cut = None;
    }
    world.network.0.lock().unwrap().cut.clear();
}

/// A copy has writes of third regions that are sooner there than from their own region. They are no reason for
/// another copy.
#[test]
fn copies_end_while_all_regions_are_written() {
    let mut world = World::new(&ALL);
    let [us, eu, ap] = ALL;
    world.create(us);
    for sk in 0..ITEMS {
        world.put(us, sk, "first");
    }
    for other in [eu, ap] {
        world.replicate(us, "Create", other);
    }
    world.settle();
    let mut number = 0;
    let backup = world.stores[ap].fork();
    for _ in 0..3 {
        send_a_little(&world, &mut number);
    }
    // The others copy the table to it, and it copies what it gets back of its own to them.
    world.start_on(ap, backup);
    for _ in 0..14 {
        send_a_little(&world, &mut number);
        // These two have lost nothing.
        assert_eq!(
            (world.status(us, eu), world.status(eu, us)),
            ("ACTIVE".into(), "ACTIVE".into())
        );
    }
    for region in ALL {
        for other in ALL.iter().filter(|other| **other != region) {
            assert_eq!(world.status(region, other), "ACTIVE", "{region} {other}");
        }
    }
    world.settle();
    for region in ALL {
        assert_eq!(world.values(region), world.values(us), "{region}");
    }
    world.verify();
}
