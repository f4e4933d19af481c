//! The counts of the cache of sessions.

/// The counts of the cache of sessions since the start of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounters {
    /// Number of sessions in memory now.
    pub sessions: u64,
    /// Number of sessions that clients offered and the server found.
    pub found: u64,
    /// Number of sessions of servers with these keys that clients offered and the server did not
    /// find.
    pub absent: u64,
    /// Number of new sessions.
    pub stored: u64,
    /// Number of sessions that made room for new ones.
    pub evicted: u64,
    /// The counts of Redis, if sessions are shared through it.
    pub redis: Option<RedisCounters>,
}

/// The counts of sessions in Redis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedisCounters {
    /// Number of workers that are connected now.
    pub workers: u64,
    /// Number of questions that Redis answered with a session.
    pub found: u64,
    /// Number of questions that Redis answered with no session.
    pub absent: u64,
    /// Number of questions that Redis answered with bytes that are not the session.
    pub unreadable: u64,
    /// Number of questions without an answer in time.
    pub unanswered: u64,
    /// Number of questions that were not asked, because Redis was not there or too many were open.
    pub unasked: u64,
    /// Number of sessions sent to Redis.
    pub stored: u64,
    /// Number of sessions not sent, because Redis was not there or too slow.
    pub unstored: u64,
    /// Number of connections to Redis that failed or were given up.
    pub failures: u64,
}
