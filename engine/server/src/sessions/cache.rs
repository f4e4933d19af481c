//! The sessions in memory, and their counts.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use lru::LruCache;
use zeroize::Zeroizing;

use super::counters::{RedisCounters, SessionCounters};
use super::identifier::SessionId;

/// Parts with locks of their own, so that workers rarely wait for each other.
const SHARDS: usize = 16;
/// The longest encoded session that is kept, in bytes: one with a client's certificate is longer
/// than others.
pub(super) const SESSION_BYTES_MAX: usize = 8 * 1024;

/// How long a session is kept: as long as OpenSSL accepts it by default.
const LIFETIME: Duration = Duration::from_secs(2 * 60 * 60);

/// A session in DER, a secret.
pub(super) type Session = Arc<Zeroizing<Vec<u8>>>;

/// A part: its sessions, each with the time when it was kept.
type Shard = LruCache<SessionId, (Session, Instant)>;

/// The sessions in memory. Each part replaces the session that was not used for the longest time.
#[derive(Debug)]
pub(crate) struct Cache {
    shards: [Mutex<Shard>; SHARDS],
    /// The maximum number of sessions in a part.
    shard_max: usize,
    pub(super) counts: Counts,
    /// A worker has Redis; the last notice said so.
    pub(super) has_redis: AtomicBool,
}

/// Numbers that all workers change.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) found: AtomicU64,
    pub(super) absent: AtomicU64,
    pub(super) stored: AtomicU64,
    pub(super) evicted: AtomicU64,
    pub(super) redis_found: AtomicU64,
    pub(super) redis_absent: AtomicU64,
    pub(super) redis_unreadable: AtomicU64,
    pub(super) redis_unanswered: AtomicU64,
    pub(super) redis_unasked: AtomicU64,
    pub(super) redis_stored: AtomicU64,
    pub(super) redis_unstored: AtomicU64,
    pub(super) redis_failures: AtomicU64,
    pub(super) redis_workers: AtomicU64,
}

/// Adds one. Counters need no order among each other.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Cache {
    pub(crate) fn new(sessions_max: usize) -> Self {
        Self {
            // They grow with their sessions: a bound would allocate all of them at once.
            shards: core::array::from_fn(|_| Mutex::new(LruCache::unbounded())),
            shard_max: sessions_max.div_ceil(SHARDS),
            counts: Counts::default(),
            has_redis: AtomicBool::new(true),
        }
    }

    /// Keeps a session, and wipes old ones that nobody used. The one that was not used for the
    /// longest time makes room.
    pub(super) fn put(&self, id: SessionId, session: Session, now: Instant) {
        let mut shard = self.shard(&id).lock().unwrap_or_else(PoisonError::into_inner);
        while shard.peek_lru().is_some_and(|(_, (_, kept))| now.duration_since(*kept) > LIFETIME) {
            shard.pop_lru();
        }
        shard.put(id, (session, now));
        if shard.len() > self.shard_max {
            shard.pop_lru();
            count(&self.counts.evicted);
        }
    }

    /// Returns a session, which then is the one last used of its part. Wipes it if it is too old.
    pub(super) fn find(&self, id: &SessionId, now: Instant) -> Option<Session> {
        let mut shard = self.shard(id).lock().unwrap_or_else(PoisonError::into_inner);
        let (session, kept) = shard.get(id)?;
        if now.duration_since(*kept) <= LIFETIME {
            return Some(Arc::clone(session));
        }
        shard.pop(id);
        None
    }

    pub(super) fn contains(&self, id: &SessionId) -> bool {
        self.shard(id).lock().unwrap_or_else(PoisonError::into_inner).contains(id)
    }

    pub(super) fn remove(&self, id: &SessionId) {
        self.shard(id).lock().unwrap_or_else(PoisonError::into_inner).pop(id);
    }

    fn shard(&self, id: &SessionId) -> &Mutex<Shard> {
        // a random byte of each ID
        &self.shards[usize::from(id[super::identifier::NAME_BYTES]) % SHARDS]
    }

    /// Returns the counts; those of Redis only if the server uses it.
    pub(crate) fn counters(&self, uses_redis: bool) -> SessionCounters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let lengths = self
            .shards
            .iter()
            .map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner).len() as u64);
        let counts = &self.counts;
        SessionCounters {
            sessions: lengths.sum(),
            found: read(&counts.found),
            absent: read(&counts.absent),
            stored: read(&counts.stored),
            evicted: read(&counts.evicted),
            redis: uses_redis.then(|| RedisCounters {
                workers: read(&counts.redis_workers),
                found: read(&counts.redis_found),
                absent: read(&counts.redis_absent),
                unreadable: read(&counts.redis_unreadable),
                unanswered: read(&counts.redis_unanswered),
                unasked: read(&counts.redis_unasked),
                stored: read(&counts.redis_stored),
                unstored: read(&counts.redis_unstored),
                failures: read(&counts.redis_failures),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(text: &str) -> Session {
        Arc::new(Zeroizing::new(text.as_bytes().to_vec()))
    }

    #[test]
    fn the_session_that_was_not_used_longest_makes_room() {
        let (cache, now) = (Cache::new(2 * SHARDS), Instant::now());
        // all in one part
        let id = |last: u8| {
            let mut id = [0; 32];
            id[31] = last;
            id
        };
        cache.put(id(1), session("1"), now);
        cache.put(id(2), session("2"), now);
        assert!(cache.find(&id(1), now).is_some());
        assert!(cache.contains(&id(2)), "which does not use it");
        cache.put(id(3), session("3"), now);
        assert!(cache.find(&id(2), now).is_none());
        assert_eq!(cache.find(&id(1), now), Some(session("1")));
        assert_eq!(cache.find(&id(3), now), Some(session("3")));
        cache.remove(&id(3));
        assert!(!cache.contains(&id(3)));
        let counters = cache.counters(false);
        assert_eq!((counters.sessions, counters.evicted), (1, 1));

        let later = now + LIFETIME + Duration::from_secs(1);
        assert_eq!(cache.find(&id(1), later), None, "it is too old");
        assert!(!cache.contains(&id(1)), "and is forgotten");
        cache.put(id(4), session("4"), now);
        cache.put(id(5), session("5"), later);
        assert!(!cache.contains(&id(4)) && cache.contains(&id(5)));
    }

    #[test]
    fn all_parts_together_have_the_bound() {
        let cache = Cache::new(100);
        for _ in 0..1000 {
            let mut id = [0; 32];
            openssl::rand::rand_bytes(&mut id).unwrap();
            cache.put(id, session("x"), Instant::now());
        }
        let counters = cache.counters(false);
        assert!((80..=112).contains(&counters.sessions), "{counters:?}");
        assert_eq!(counters.sessions + counters.evicted, 1000);
    }
}
