//! How the records of this rung are spelled: quantities, parameters, conditions.
//!
//! Subjects are those of the measured record with `fleet` for its first segment, so that
//! `server/x?by=tollgate` becomes `fleet/x?by=tollgate`, with the demand as one more parameter.

/// Who predicts.
pub const BY_FLEET: &str = "fleet";

/// Sessions per second of one core that does nothing else.
pub const SESSIONS_PER_S_PER_CORE: &str = "sessions_per_s_per_core";
/// Payload bits per second of one core that does nothing else.
pub const BITS_PER_S_PER_CORE: &str = "bits_per_s_per_core";
/// Cores for a demand, not rounded.
pub const CORES: &str = "cores";
/// Cores for a demand, rounded up.
pub const WHOLE_CORES: &str = "whole_cores";
/// Cores of one machine that a demand leaves over.
pub const CORES_LEFT: &str = "cores_left";
/// Machines for a demand, rounded up.
pub const MACHINES: &str = "machines";

/// Cost of a million sessions, in the currency that the parameter [`CURRENCY`] names.
pub const COST_PER_MILLION: &str = "cost_per_million_sessions";
/// Price of a machine over the sessions per second that it serves, in the currency that the
/// parameter [`CURRENCY`] names.
pub const PRICE_PER_SESSION_PER_S: &str = "price_per_session_per_s";
/// Joules of a million sessions; there is no such record where the power is unknown.
pub const JOULES_PER_MILLION: &str = "joules_per_million_sessions";
/// Share of the CPU time that one engine saves against another, parameter [`AGAINST`].
pub const SAVED_SHARE: &str = "saved_share";
/// What it saves for a million sessions, in the currency that the parameter [`CURRENCY`] names.
pub const SAVED_PER_MILLION: &str = "saved_per_million_sessions";
/// What it saves in a year of the demand, in the currency that the parameter [`CURRENCY`] names.
pub const SAVED_PER_YEAR: &str = "saved_per_year";
/// Cores that it saves at the demand, not rounded.
pub const SAVED_CORES: &str = "saved_cores";

/// Share of the sessions that have to wait.
pub const WAITING_SHARE: &str = "waiting_share";
/// Mean wait in nanoseconds.
pub const WAIT_NS_MEAN: &str = "wait_ns_mean";
/// Mean response time in nanoseconds.
pub const RESPONSE_NS_MEAN: &str = "response_ns_mean";
/// The response time in nanoseconds that 99 of 100 sessions do not exceed.
pub const RESPONSE_NS_P99: &str = "response_ns_p99";
/// The load at which the mean response time is twice the service time.
pub const LOAD_WHERE_DOUBLE: &str = "load_where_response_doubles";
/// How many times the capacity of another engine, parameter [`AGAINST`].
pub const CAPACITY_GAIN: &str = "capacity_gain";
/// How many times as short as another engine's is the mean response time, at one arrival rate.
pub const RESPONSE_GAIN: &str = "response_gain";
/// Sessions that wait when a burst ends.
pub const BACKLOG_SESSIONS: &str = "backlog_sessions";
/// The longest wait that a burst causes, in nanoseconds.
pub const BACKLOG_WAIT_NS: &str = "backlog_wait_ns_max";
/// From the end of a burst until the queue is empty, in nanoseconds.
pub const BACKLOG_DRAIN_NS: &str = "backlog_drain_ns";

/// Parameter: a link, in 10^9 bits per second.
pub const LINK_GBPS: &str = "link_gbps";
/// Parameter: a rate of sessions per second.
pub const SESSIONS_PER_S: &str = "sessions_per_s";
/// Parameter: the currency of a cost.
pub const CURRENCY: &str = "currency";
/// Parameter: whose code a figure is compared with.
pub const AGAINST: &str = "against";
/// Parameter: cores behind a line.
pub const STATION_CORES: &str = "station_cores";
/// Parameter: where sessions wait: `one_queue`, `queue_per_core` or `sharing`.
pub const LINE: &str = "line";
/// Parameter: busy share of a core's time.
pub const LOAD: &str = "load";

/// Parameter: sessions per second during a burst.
pub const BURST_PER_S: &str = "burst_per_s";
/// Parameter: length of a burst in nanoseconds.
pub const BURST_NS: &str = "burst_ns";

/// Condition: how full cores may run.
pub const UTILISATION: &str = "utilisation";
/// Condition: cores of one machine.
pub const CORES_PER_MACHINE: &str = "cores_per_machine";
/// Condition: price of a core and hour.
pub const PRICE_PER_CORE_HOUR: &str = "price_per_core_hour";
/// Condition: `unknown`, or the power it was computed from.
pub const ENERGY: &str = "energy";
/// Condition: the formula.
pub const MODEL: &str = "model";
/// Condition: squared coefficient of variation of the service time.
pub const SCV: &str = "service_time_scv";
/// Condition: mean service time in nanoseconds.
pub const SERVICE_NS: &str = "service_time_ns_mean";
