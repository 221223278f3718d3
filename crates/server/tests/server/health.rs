//! A backend that refuses writes.

use std::sync::{Arc, Mutex};

use keyloom_engine::Reply;
use keyloom_server::{Backend, Health, Server};

use crate::client::{ask, config, counter, post};

/// Echoes, with a settable health.
#[derive(Default)]
struct Settable(Mutex<Health>);

impl Backend for Settable {
    fn call(&self, _target: &str, body: &[u8]) -> Reply {
        Reply { status: 200, body: body.to_vec() }
    }

    fn health(&self) -> Health {
        self.0.lock().unwrap().clone()
    }
}

const HEALTH: &str = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";

#[test]
fn a_store_that_refuses_writes_is_not_ready() {
    let patient = Arc::new(Settable::default());
    let server = Server::start(config(), Arc::clone(&patient)).unwrap();
    let response = ask(&server, HEALTH);
    assert_eq!((response.status, response.text()), (200, "ok\n"));
    assert_eq!(counter(&server, "keyloom_store_writable "), 1);
    let ill = Health::ReadOnly { reason: "no space left".into(), restart_needed: true };
    *patient.0.lock().unwrap() = ill;
    let response = ask(&server, HEALTH);
    let said = "writes are refused: no space left; restart needed\n";
    assert_eq!((response.status, response.text()), (503, said));
    assert_eq!(counter(&server, "keyloom_store_writable "), 0);
    assert_eq!(ask(&server, post("GetItem", "{}")).status, 200, "reads continue");
    *patient.0.lock().unwrap() = Health::Ready;
    assert_eq!(ask(&server, HEALTH).status, 200);
}

/// The server's end reports the health, too, so that the command can.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_servers_end_reports_refused_writes() {
    let ill = Health::ReadOnly { reason: "a sync failed".into(), restart_needed: true };
    for health in [Health::Ready, ill] {
        let server = Server::bind(config(), Settable(Mutex::new(health.clone()))).unwrap();
        assert_eq!(server.run(std::future::ready(())).await.unwrap(), health);
    }
}
