//! What the thread of a reactor does for a store must not stop the reactor.

use std::sync::Arc;
use std::time::Duration;

use keyloom_store::Store;
use tokio::runtime::Builder;
use tokio_postgres::NoTls;

use crate::{connect, schema, shared};

#[test]
fn a_reactor_goes_on_while_a_long_key_is_looked_up() {
    let Some(server) = shared() else { return };
    let schema = schema();
    let store = Arc::new(connect(&server.url(&schema)));
    let place = format!("host=127.0.0.1 port={} user=keyloom dbname=postgres", server.port());
    // The connection below is a task of the one thread that the write is on, too.
    let reactor = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    reactor.block_on(async {
        let (client, connection) = tokio_postgres::connect(&place, NoTls).await.unwrap();
        tokio::spawn(connection);
        let found = store.look_up(&[b"key"], true).unwrap().await.unwrap();
        client
            .batch_execute(&format!("BEGIN; LOCK TABLE {schema}.kv IN ACCESS EXCLUSIVE MODE"))
            .await
            .unwrap();
        let writer = {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let transaction = store.begin_with(&[b"key"], Duration::from_secs(5), found);
                let mut transaction = transaction.unwrap().unwrap();
                transaction.put("key".into(), "value".into());
                // Where it lies has to be looked up.
                transaction.put(vec![b'k'; 2100].into(), "entry".into());
                transaction.submit().map(drop)
            })
        };
        let waiting = format!(
            "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = '{schema}.kv'::regclass"
        );
        while client.query(&waiting, &[]).await.unwrap().is_empty() && !writer.is_finished() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        assert!(!writer.is_finished(), "it waited for the database, and all tasks for it");
        client.batch_execute("COMMIT").await.unwrap();
        writer.await.unwrap().unwrap();
    });
    store.begin(&[]).unwrap().commit().unwrap();
}
