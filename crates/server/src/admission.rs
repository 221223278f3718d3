//! Decides whether a new connection is served, and tells a refused client why.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use crate::access::Peer;
use crate::clients::ClientSlot;
use crate::memory::{Account, NoRoom};
use crate::open_connections::{OpenConnection, OpenConnections};
use crate::shared::Shared;
use crate::stalls::Activity;

/// The memory of an idle connection: the buffer for a small head, a task and its state. TLS needs the same
/// again.
const CONNECTION_BYTES: usize = 24 << 10;
/// How often idle connections are closed for a new one, and how long it waits for them each time.
const CLOSING_ROUNDS: u32 = 16;
const CLOSING_STEPS: u32 = 4;
const CLOSING_STEP: Duration = Duration::from_millis(1);
/// Refused connections that are kept open until their client has read the response.
const MAX_LINGERING: usize = 64;
const LINGER_TIMEOUT: Duration = Duration::from_secs(1);

/// What a connection holds: it counts as open until all of this is dropped.
pub(crate) struct ConnectionSlot {
    pub(crate) activity: Arc<Activity>,
    _open: OpenConnection,
    _client_slot: ClientSlot,
    _permit: OwnedSemaphorePermit,
}

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// The server has as many connections as it may.
    TooMany,
    /// The client has as many connections as it may.
    TooManyOfClient,
    /// Memory for the connection's buffers.
    Memory(NoRoom),
}

impl Refusal {
    /// Closes idle connections in favour of a new one of this client. Returns whether there are any.
    fn makes_room(self, connections: &OpenConnections, client: IpAddr) -> bool {
        match self {
            Self::TooMany => connections.close_longest_idle(None),
            // The operator's limit is not a shortage.
            Self::TooManyOfClient => false,
            Self::Memory(no_room) => connections.close_longest_idle(no_room.client(client)),
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::TooMany => "The server has too many open connections; try again.",
            Self::TooManyOfClient | Self::Memory(NoRoom::Client) => {
                "This client has too many open connections; close some and try again."
            }
            Self::Memory(NoRoom::Server) => {
                "The server is out of memory for connections; try again."
            }
        }
    }
}

/// Admits connections to one server.
pub(crate) struct Admission {
    pub(crate) connections: Arc<Semaphore>,
    lingering: Arc<Semaphore>,
}

impl Admission {
    /// Allows this many connections.
    pub(crate) fn new(max_connections: u32) -> Self {
        Self {
            connections: Arc::new(Semaphore::new(max_connections as usize)),
            lingering: Arc::new(Semaphore::new(MAX_LINGERING)),
        }
    }

    /// Returns a slot for a new connection, closing idle ones if there is no room; or answers it with a 503.
    pub(crate) async fn admit(
        &self,
        shared: &Shared,
        stream: TcpStream,
        client: SocketAddr,
        is_encrypted: bool,
    ) -> Option<(TcpStream, ConnectionSlot)> {
        let peer = Peer { address: client.ip(), is_encrypted };
        match self.take_within(shared, peer).await {
            Ok(slot) => Some((stream, slot)),
            Err(refusal) => {
                shared.metrics.connections_refused.add(1);
                if !is_encrypted {
                    self.refuse(stream, refusal);
                }
                None
            }
        }
    }

    async fn take_within(&self, shared: &Shared, peer: Peer) -> Result<ConnectionSlot, Refusal> {
        let mut taken = self.take(shared, peer);
        for _ in 0..CLOSING_ROUNDS {
            match taken {
                Err(refusal) if refusal.makes_room(&shared.connections, peer.address) => {}
                _ => break,
            }
            for _ in 0..CLOSING_STEPS {
                sleep(CLOSING_STEP).await;
                taken = self.take(shared, peer);
                if taken.is_ok() {
                    break;
                }
            }
        }
        taken
    }

    fn take(&self, shared: &Shared, peer: Peer) -> Result<ConnectionSlot, Refusal> {
        let bytes = if peer.is_encrypted { 2 * CONNECTION_BYTES } else { CONNECTION_BYTES };
        let permit = Arc::clone(&self.connections).try_acquire_owned();
        let permit = permit.map_err(|_| Refusal::TooMany)?;
        let client_slot = shared.clients.enter(peer.address).ok_or(Refusal::TooManyOfClient)?;
        let account = Account::open(&shared.memory, client_slot.buffers_bytes(), bytes);
        let activity = Arc::new(Activity::new(account.map_err(Refusal::Memory)?, peer));
        let open = shared.connections.insert(Arc::clone(&activity));
        Ok(ConnectionSlot { activity, _open: open, _client_slot: client_slot, _permit: permit })
    }

    /// Sends a 503. Closing a socket with unread data resets it, and the client may lose the response: so
    /// a few refused connections are read until their clients close them.
    fn refuse(&self, mut stream: TcpStream, refusal: Refusal) {
        let response = response(refusal.message());
        let _ = stream.try_write(response.as_bytes());
        let Ok(permit) = Arc::clone(&self.lingering).try_acquire_owned() else { return };
        tokio::spawn(async move {
            let reading = async {
                stream.shutdown().await?;
                let mut discarded = [0; 1024];
                while stream.read(&mut discarded).await? > 0 {}
                std::io::Result::Ok(())
            };
            let _ = timeout(LINGER_TIMEOUT, reading).await;
            drop(permit);
        });
    }
}

fn response(message: &str) -> String {
    let body = format!(
        r#"{{"__type":"com.amazon.coral.availability#ServiceUnavailableException","message":"{message}"}}"#
    );
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n\
         content-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}
