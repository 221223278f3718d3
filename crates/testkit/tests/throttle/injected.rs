//! Refusals on order.

use super::*;

#[test]
fn every_tenth_write_to_one_table_is_refused_and_nothing_else() {
    let load = Throttled::with_orders("inject=table=Orders:write:every=10");
    let statuses: Vec<u16> = (0..30).map(|number| load.put(order(number)).0).collect();
    let refused: Vec<usize> =
        (0..30).filter(|number| statuses[*number] == 400).map(|number| number + 1).collect();
    assert_eq!(refused, [10, 20, 30]);
    let get = json!({"TableName": "Orders", "Key": order(1)});
    assert!((0..30).all(|_| load.call("GetItem", &get).0 == 200));
    assert_eq!(load.count(), 27);
}

#[test]
fn random_refusals_are_the_same_in_every_run_of_a_seed() {
    let fates = |rules: &str| {
        let load = Throttled::with_orders(rules);
        (0..300).map(|number| load.put(order(number)).0).collect::<Vec<_>>()
    };
    let first = fates("inject=0.1,seed=1");
    assert_eq!(first, fates("inject=0.1,seed=1"));
    assert_ne!(first, fates("inject=0.1,seed=2"));
    let refused = first.iter().filter(|status| **status == 400).count();
    assert!((15..=50).contains(&refused), "{refused}");
}

#[test]
fn the_reason_is_the_one_that_was_ordered() {
    let load = Throttled::with_orders("inject=index=byStatus:first=1:reason=account");
    let pending = || json!({"id": {"S": "a"}, "status": {"S": "PENDING"}});
    assert_eq!(load.put(order("b")).0, 200);
    let (_, reply) = load.put(pending());
    assert_eq!(reason(&reply).0, "IndexWriteAccountLimitExceeded");
    assert!(reply["__type"].as_str().unwrap().ends_with("#RequestLimitExceeded"), "{reply}");
    assert_eq!(load.put(pending()).0, 200);
}
