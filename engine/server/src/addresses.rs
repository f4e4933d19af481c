//! The connections of each client address, of all workers.

use core::hash::BuildHasher as _;
use core::net::{IpAddr, Ipv6Addr};
use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::{Arc, Mutex, PoisonError};

/// Parts with locks of their own, so that workers rarely wait for each other.
const SHARDS: usize = 16;

/// Counts the connections of each address, up to a limit.
#[derive(Debug)]
pub(crate) struct Addresses {
    max: usize,
    hasher: RandomState,
    shards: [Mutex<HashMap<IpAddr, usize>>; SHARDS],
}

impl Addresses {
    pub(crate) fn new(max: usize) -> Self {
        Self { max, hasher: RandomState::new(), shards: Default::default() }
    }

    /// Counts a connection until the result is dropped. Returns `None` if the address has as many
    /// as are allowed.
    pub(crate) fn enter(self: &Arc<Self>, client: IpAddr) -> Option<Counted> {
        let network = network(client);
        let mut counts = self.shard(network).lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(network).or_default();
        if *count >= self.max {
            return None;
        }
        *count += 1;
        Some(Counted { addresses: Arc::clone(self), network })
    }

    fn shard(&self, network: IpAddr) -> &Mutex<HashMap<IpAddr, usize>> {
        let hash = self.hasher.hash_one(network) % SHARDS as u64;
        &self.shards[usize::try_from(hash).expect("below 16")]
    }
}

/// A site of IPv6 has a network of 64 bits, so its addresses count as one.
fn network(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

/// A counted connection.
#[derive(Debug)]
pub(crate) struct Counted {
    addresses: Arc<Addresses>,
    network: IpAddr,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let shard = self.addresses.shard(self.network);
        let mut counts = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_network_has_its_own_count() {
        let addresses = Arc::new(Addresses::new(2));
        let enter = |text: &str| addresses.enter(text.parse().unwrap());
        let first = enter("192.0.2.1").unwrap();
        let second = enter("::ffff:192.0.2.1").unwrap();
        assert!(enter("192.0.2.1").is_none());
        let other = [enter("192.0.2.2").unwrap(), enter("2001:db8::1").unwrap()];
        let same_network = enter("2001:db8::ffff:1").unwrap();
        assert!(enter("2001:db8::2").is_none());
        assert!(enter("2001:db8:0:1::2").is_some());
        drop(first);
        assert!(enter("192.0.2.1").is_some());
        drop((second, other, same_network));
        let left = addresses.shards.iter().map(|shard| shard.lock().unwrap().len());
        assert_eq!(left.sum::<usize>(), 0);
    }
}
