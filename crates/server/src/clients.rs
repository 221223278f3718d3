//! Limits the connections of each client.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of connections of each client. A client is an IPv4 address or an IPv6 /64 network,
/// the smallest that one machine is assigned.
#[derive(Debug)]
pub(crate) struct Clients {
    max: u32,
    open: Mutex<HashMap<IpAddr, Usage>>,
}

/// What a client uses.
#[derive(Debug, Default)]
struct Usage {
    connections: u32,
    buffers_bytes: Arc<AtomicUsize>,
}

/// One connection of a client, released when dropped.
#[derive(Debug)]
pub(crate) struct ClientSlot {
    clients: Arc<Clients>,
    client: IpAddr,
    buffers_bytes: Arc<AtomicUsize>,
}

impl Clients {
    /// Allows this many connections per client.
    pub(crate) fn new(max: u32) -> Self {
        Self { max, open: Mutex::default() }
    }

    /// Adds a connection of a client; `None` if it has reached the limit.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<ClientSlot> {
        let client = client_of(address);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let usage = open.entry(client).or_default();
        if usage.connections >= self.max {
            return None;
        }
        usage.connections += 1;
        let buffers_bytes = Arc::clone(&usage.buffers_bytes);
        Some(ClientSlot { clients: Arc::clone(self), client, buffers_bytes })
    }
}

impl ClientSlot {
    /// Counts the buffers of all connections of the client.
    pub(crate) fn buffers_bytes(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.buffers_bytes)
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        let mut open = self.clients.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut usage) = open.entry(self.client) {
            usage.get_mut().connections -= 1;
            if usage.get().connections == 0 {
                usage.remove();
            }
        }
    }
}

/// The client that an address belongs to.
pub(crate) fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_own_count_which_is_removed_at_zero() {
        let clients = Arc::new(Clients::new(2));
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let (one, other) = (address("10.0.0.1"), address("10.0.0.2"));
        let first = clients.enter(one).unwrap();
        let second = clients.enter(address("::ffff:10.0.0.1")).unwrap();
        assert!(clients.enter(one).is_none());
        let third = clients.enter(other).unwrap();
        drop(first);
        let fourth = clients.enter(one).unwrap();
        drop((second, third, fourth));
        let fifth = clients.enter(address("2001:db8::1")).unwrap();
        let sixth = clients.enter(address("2001:db8::2")).unwrap();
        assert!(clients.enter(address("2001:db8::3")).is_none(), "one network is one client");
        assert!(clients.enter(address("2001:db8:0:1::1")).is_some());
        drop((fifth, sixth));
        assert!(clients.open.lock().unwrap().is_empty());
    }
}
