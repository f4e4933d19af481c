//! The words of records: rungs, quantities, parameters, conditions.
//!
//! Writers and readers of records share these constants. A measured, a predicted and a published
//! figure of one subject have the same quantity and differ in their kind; a bound is a separate
//! quantity.

use crate::Quantity;

/// Rung 0, as the author of a prediction. Subjects begin with `model`.
pub const MODEL_RUNG: &str = "0-model";
/// Rung 1. Subjects begin with `kernel`.
pub const KERNEL_RUNG: &str = "1-kernel";
/// Rung 2. Subjects begin with `operation`.
pub const OPERATION_RUNG: &str = "2-operation";
/// Rung 3. Subjects begin with `session`.
pub const SESSION_RUNG: &str = "3-session";
/// Rung 5. Subjects begin with `fleet`.
pub const FLEET_RUNG: &str = "5-fleet";

/// Core cycles of one Montgomery product of one pair of numbers: `model/itanium/amm?bits=1024`.
pub const CYCLES_PER_PRODUCT: Quantity = Quantity::known("cycles_per_product");
/// Condition: the assumption of a model's figure, in words.
pub const ASSUMPTION: &str = "assumption";
/// Condition: the quality of the weakest number behind a figure of a model: `stated` in a public
/// document, `measured`, `derived`, `assumed` or `unverified`.
pub const MARK: &str = "mark";
/// Condition: the origin of a published figure: `estimated` or `measured` by its authors.
pub const ORIGIN: &str = "origin";

/// Core cycles of one operation; for a batch, the cycles of the batch divided by its operations.
pub const CYCLES_PER_OPERATION: Quantity = Quantity::known("cycles_per_operation");
/// Time of one operation in nanoseconds; for a batch, the time of the batch divided by its
/// operations.
pub const NS_PER_OPERATION: Quantity = Quantity::known("ns_per_operation");
/// Operations per second of one thread; with [`BY`]`=`[`GPU`], of a GPU.
pub const OPERATIONS_PER_S: Quantity = Quantity::known("operations_per_s");
/// The processor's bound of one operation, predicted by rung 0.
pub const BOUND_CYCLES_PER_OPERATION: Quantity = Quantity::known("bound_cycles_per_operation");
/// The speed relative to the implementation in the parameter [`AGAINST`]: the number of operations
/// in the time of one operation of that implementation.
pub const TIMES_AS_FAST: Quantity = Quantity::known("times_as_fast");

/// Value of [`BY`]: batches on a GPU, `operation/rsa-2048/private?batch=4224&by=gpu`. Condition:
/// the name of the GPU.
pub const GPU: &str = "gpu";
/// Condition: the clock of a GPU in MHz while it worked.
pub const GPU_CLOCK_MHZ: &str = "gpu_clock_mhz";
/// Condition: the version of the driver of a GPU.
pub const GPU_DRIVER: &str = "gpu_driver";
/// Numbers of the exponentiations on a GPU: `words` or `doubles`.
pub const GPU_NUMBERS: &str = "gpu_numbers";
/// Condition: the limit of the power of a GPU in watts.
pub const GPU_POWER_LIMIT_W: &str = "gpu_power_limit_w";
/// Condition: the number of results that were compared with right ones; all were right.
pub const COMPARED: &str = "compared";
/// Time in nanoseconds to prepare a batch and to copy its operands to a GPU.
pub const LOAD_NS_PER_BATCH: Quantity = Quantity::known("load_ns_per_batch");
/// Time in nanoseconds that a GPU computes for a batch.
pub const EXECUTE_NS_PER_BATCH: Quantity = Quantity::known("execute_ns_per_batch");
/// Time in nanoseconds to copy the results of a batch from a GPU.
pub const STORE_NS_PER_BATCH: Quantity = Quantity::known("store_ns_per_batch");
/// The rest of the time of a batch in nanoseconds.
pub const NOTIFY_NS_PER_BATCH: Quantity = Quantity::known("notify_ns_per_batch");
/// The time of a whole batch in nanoseconds that 50 of 100 batches do not exceed.
pub const BATCH_NS_P50: Quantity = Quantity::known("batch_ns_p50");
/// The time of a whole batch in nanoseconds that 99 of 100 batches do not exceed.
pub const BATCH_NS_P99: Quantity = Quantity::known("batch_ns_p99");
/// CPU time of the calling thread in nanoseconds for one operation on a GPU.
pub const CPU_NS_PER_OPERATION: Quantity = Quantity::known("cpu_ns_per_operation");
/// Operations on a GPU for a joule of its energy.
pub const OPERATIONS_PER_JOULE: Quantity = Quantity::known("operations_per_joule");

/// Core cycles of one call of a kernel, all lanes together.
pub const CYCLES_PER_CALL: Quantity = Quantity::known("cycles_per_call");
/// Core cycles of one call of a kernel, divided by its lanes.
pub const CYCLES_PER_LANE: Quantity = Quantity::known("cycles_per_lane");
/// The processor's bound of one call, predicted by rung 0.
pub const BOUND_CYCLES_PER_CALL: Quantity = Quantity::known("bound_cycles_per_call");

/// Parameter: the implementation.
pub const BY: &str = "by";
/// Parameter: the number of operations in a call; without it, operations run one by one. Condition
/// of a predicted session: the number of operations with the server's key in a batch.
pub const BATCH: &str = "batch";
/// Parameter: the implementation that the figure is compared with.
pub const AGAINST: &str = "against";
/// Parameter: the exponent, as a number, or [`FULL`].
pub const EXPONENT: &str = "exponent";
/// Parameter: the registered name of a session's key agreement group.
pub const GROUP: &str = "group";
/// Parameter: the registered name of a session's cipher suite.
pub const SUITE: &str = "suite";
/// Value of [`EXPONENT`]: the private exponent, without CRT; it is as long as the modulus. Value of
/// [`SESSIONS`]: full handshakes.
pub const FULL: &str = "full";
/// Parameter: the clock, in MHz, for which a time was published.
pub const CLOCK_MHZ: &str = "clock_mhz";
/// Parameter: the size of a modulus in bits.
pub const BITS: &str = "bits";
/// Parameter: the number of words (digits or limbs) in a modulus.
pub const K: &str = "K";

/// Arithmetic of a simulated core: the instructions of SPARC V8.
pub const V8: &str = "v8";
/// Arithmetic of a simulated core: the base instructions and those of the multiply-add extension.
pub const EXTENDED: &str = "extended";
/// First segment of the subjects of the engine, `engine/rsa-2048/sign?by=engine&threads=16`; and
/// value of [`BY`]: operations through the engine.
pub const ENGINE: &str = "engine";
/// Parameter: the number of threads that submit requests.
pub const THREADS: &str = "threads";
/// Operations per second, divided by those of direct calls without the engine. The parameter
/// [`AGAINST`] names the implementation that is called directly.
pub const OPERATIONS_PER_S_RATIO: Quantity = Quantity::known("operations_per_s_ratio");
/// Mean number of requests in a call.
pub const MEAN_FILL: Quantity = Quantity::known("mean_fill");
/// The response time that 99 of 100 requests do not exceed, in service times of a full batch; the
/// condition [`SERVICE_NS`] gives the service time.
pub const RESPONSE_SERVICES_P99: Quantity = Quantity::known("response_services_p99");

/// Parameter: the plan that splits a batch, unless it follows from the measured costs:
/// [`BUILT_IN`].
pub const PLAN: &str = "plan";
/// Value of [`PLAN`]: the plan that is built into the program.
pub const BUILT_IN: &str = "built-in";
/// Condition: the calls of a batch, lanes in brackets: `[8] + 2 + 1`.
pub const CUT: &str = "cut";
/// Condition: the form of a call: one operation alone, a pair of operations, or one operation in
/// each lane.
pub const FORM: &str = "form";
/// Condition: the cost of each form, as a multiple of the cost of a single operation.
pub const COSTS: &str = "costs";

/// Condition: the number of operands that a call computes in parallel.
pub const LANES: &str = "lanes";
/// Condition: the kernel that multiplied.
pub const KERNEL: &str = "kernel";
/// Condition: the limit that sets a bound.
pub const LIMIT: &str = "limit";
/// Condition: the duration of the measurement of a row, all contenders together.
pub const SECONDS_PER_ROW: &str = "seconds_per_row";

/// Core cycles of a server for one session: `session/rsa-2048/tls13?by=tollgate&bytes=0`. With the
/// parameter [`PART`], the cycles of one part.
pub const CYCLES_PER_SESSION: Quantity = Quantity::known("cycles_per_session");
/// Parameter: a part of a session's cost.
pub const PART: &str = "part";
/// Value of [`PART`]: the RSA private-key operation.
pub const PART_RSA: &str = "rsa";
/// Value of [`PART`]: the signature with a key that is not RSA.
pub const PART_SIGNATURE: &str = "signature";
/// Value of [`PART`]: an ephemeral key pair and its agreement.
pub const PART_KEY_EXCHANGE: &str = "key-exchange";
/// Value of [`PART`]: PRF or HKDF, and the hashes of the transcript.
pub const PART_KEY_SCHEDULE: &str = "key-schedule";
/// Value of [`PART`]: encryption of records; for an AEAD this includes their authentication.
pub const PART_RECORDS: &str = "records";
/// Value of [`PART`]: the MAC of records, if it is separate from their encryption.
pub const PART_MAC: &str = "mac";
/// Value of [`PART`]: the rest of the TLS library, without the primitives above.
pub const PART_LIBRARY: &str = "library";
/// Value of [`PART`]: the operating system: TCP and system calls.
pub const PART_SYSTEM: &str = "system";
/// Value of [`PART`]: the server's own code; only a profile of a running server has it.
pub const PART_SERVER: &str = "server";
/// Value of [`PART`]: functions that no rule of a profile knows.
pub const PART_UNKNOWN: &str = "unknown";
/// Value of [`PART`]: the time in which the server's cores wait; not a part of the cost.
pub const PART_IDLE: &str = "idle";
/// Parameter: a detail of a part, from a profile: `part=system&detail=kernel-tcp`; or a half of a
/// hybrid key exchange: `part=key-exchange&detail=ml-kem`.
pub const DETAIL: &str = "detail";
/// Value of [`DETAIL`]: key pair and agreement on an elliptic curve.
pub const DETAIL_CURVES: &str = "elliptic-curves";
/// Value of [`DETAIL`]: the encapsulation of a secret to a key that is known.
pub const DETAIL_KEM: &str = "ml-kem";
/// Value of [`DETAIL`]: a public key is read: its hash, and the matrix that it expands to.
pub const DETAIL_KEM_KEY: &str = "ml-kem-key";
/// Value of [`DETAIL`]: the work of the library around the operations of a key exchange.
pub const DETAIL_EVP: &str = "evp";
/// Condition: the event that `perf` sampled, `cycles` or `cpu-clock`.
pub const SAMPLED_EVENT: &str = "sampled_event";
/// Condition: the number of samples of a profile.
pub const SAMPLES: &str = "samples";
/// Condition: the CPU time of all samples, divided by the CPU time that the system accounted.
pub const SAMPLED_SHARE: &str = "sampled_share";
/// Condition: the number of connections in flight.
pub const CONNECTIONS: &str = "connections";
/// Parameter: the client that loaded a server, if several are compared: `minimal`, `rustls`, `curl`
/// or `s_time`.
pub const CLIENT: &str = "client";
/// Parameter: the payload of a session in bytes. If bodies have several sizes, it is their mean,
/// and the subject also has the parameter [`SIZES`].
pub const BYTES: &str = "bytes";
/// Parameter: the smallest, the median and the largest size of bodies of several sizes:
/// `15-511-974`.
pub const SIZES: &str = "sizes";
/// Parameter: the content of a session without payload: [`HANDSHAKE`].
pub const EXCHANGE: &str = "exchange";
/// Value of [`EXCHANGE`]: a handshake and nothing else.
pub const HANDSHAKE: &str = "handshake";

/// Sessions per second that a server sustains.
pub const SESSIONS_PER_S: Quantity = Quantity::known("sessions_per_s");
/// CPU time of the server in nanoseconds, divided by its sessions.
pub const SERVER_CPU_NS_PER_SESSION: Quantity = Quantity::known("server_cpu_ns_per_session");
/// Operations with a server's key, divided by the runs of its engine: batches and single
/// operations.
pub const OPERATIONS_PER_BATCH: Quantity = Quantity::known("private_operations_per_batch");
/// CPU time of the load generator in nanoseconds, divided by its sessions.
pub const CLIENT_CPU_NS_PER_SESSION: Quantity = Quantity::known("client_cpu_ns_per_session");
/// Median time of TCP connect in nanoseconds: from opening the socket until the connection is
/// established.
pub const CONNECT_NS_P50: Quantity = Quantity::known("connect_ns_p50");
/// As [`CONNECT_NS_P50`]: 90th percentile.
pub const CONNECT_NS_P90: Quantity = Quantity::known("connect_ns_p90");
/// As [`CONNECT_NS_P50`]: 99th percentile.
pub const CONNECT_NS_P99: Quantity = Quantity::known("connect_ns_p99");
/// The quantiles of TCP connect times that records have.
pub const CONNECT_NS: [Quantity; 3] = [CONNECT_NS_P50, CONNECT_NS_P90, CONNECT_NS_P99];
/// Median time in nanoseconds from the `ClientHello` until the server confirms the handshake.
///
/// A full handshake of TLS 1.2 is confirmed by the server's Finished. In TLS 1.3, and in resumed
/// handshakes of TLS 1.2, it is confirmed by the first byte that the server sends only after it has
/// the client's Finished: a byte of a response, or of a `close_notify`. In records up to November
/// 2026 the time ends at the client's last handshake message instead.
pub const HANDSHAKE_NS_P50: Quantity = Quantity::known("handshake_ns_p50");
/// As [`HANDSHAKE_NS_P50`]: 90th percentile.
pub const HANDSHAKE_NS_P90: Quantity = Quantity::known("handshake_ns_p90");
/// As [`HANDSHAKE_NS_P50`]: 99th percentile.
pub const HANDSHAKE_NS_P99: Quantity = Quantity::known("handshake_ns_p99");
/// The quantiles of handshake times that records have.
pub const HANDSHAKE_NS: [Quantity; 3] = [HANDSHAKE_NS_P50, HANDSHAKE_NS_P90, HANDSHAKE_NS_P99];
/// Median time in nanoseconds of the whole transaction. It begins when the socket is opened; in an
/// open loop, it begins at the intended start. It ends with the last byte of the last response.
pub const TRANSACTION_NS_P50: Quantity = Quantity::known("transaction_ns_p50");
/// As [`TRANSACTION_NS_P50`]: 90th percentile.
pub const TRANSACTION_NS_P90: Quantity = Quantity::known("transaction_ns_p90");
/// As [`TRANSACTION_NS_P50`]: 99th percentile.
pub const TRANSACTION_NS_P99: Quantity = Quantity::known("transaction_ns_p99");
/// The quantiles of transaction times that records have.
pub const TRANSACTION_NS: [Quantity; 3] =
    [TRANSACTION_NS_P50, TRANSACTION_NS_P90, TRANSACTION_NS_P99];
/// The highest rate of arrivals, in sessions per second, that meets the objective in the parameter
/// [`SLO`]. The interval ends at the lowest rate that does not meet it.
pub const SESSIONS_PER_S_WITHIN: Quantity = Quantity::known("sessions_per_s_within");
/// Parameter: the objective: a quantile of the time from the intended start, and its limit:
/// `p99:20ms`.
pub const SLO: &str = "slo";
/// Parameter: the arrivals of an open loop: `poisson`, `constant`, `gamma`.
pub const ARRIVALS: &str = "arrivals";
/// Parameter: arrivals per second of an open loop.
pub const OFFERED_PER_S: &str = "offered_per_s";

/// The parameters that only an open loop has: without them, its subject is that of the closed loop.
pub const OF_OPEN_LOOPS: [&str; 2] = [ARRIVALS, OFFERED_PER_S];
/// Parameter: the number of sequential requests on each connection; one if it is absent.
pub const REQUESTS: &str = "requests";
/// Parameter: the share of transactions without TLS; zero if it is absent.
pub const PLAIN_SHARE: &str = "plain_share";
/// Parameter: the planned share of TLS sessions that are resumed; zero if it is absent.
pub const RESUMED_SHARE: &str = "resumed_share";
/// Parameter: the mechanism of resumption: `session-id`, `ticket`, `psk`, `early-data`.
pub const RESUMED_BY: &str = "resumed_by";
/// Parameter: the sessions of a figure, if some are resumed: [`FULL`] or [`RESUMED`]; all if it is
/// absent.
pub const SESSIONS: &str = "sessions";
/// Value of [`SESSIONS`]: resumed sessions.
pub const RESUMED: &str = "resumed";
/// Sessions per second, divided by those of the engine that the parameter [`AGAINST`] names.
pub const SESSIONS_PER_S_RATIO: Quantity = Quantity::known("sessions_per_s_ratio");
/// Server CPU time per session, divided by that of the engine that the parameter [`AGAINST`] names.
pub const SERVER_CPU_RATIO: Quantity = Quantity::known("server_cpu_per_session_ratio");
/// Client CPU time per session, divided by that of the client that the parameter [`AGAINST`] names.
pub const CLIENT_CPU_RATIO: Quantity = Quantity::known("client_cpu_per_session_ratio");

/// Sessions per second of one dedicated core.
pub const SESSIONS_PER_S_PER_CORE: Quantity = Quantity::known("sessions_per_s_per_core");
/// Payload bits per second of one dedicated core.
pub const BITS_PER_S_PER_CORE: Quantity = Quantity::known("bits_per_s_per_core");
/// Number of cores for a demand, not rounded.
pub const CORES: Quantity = Quantity::known("cores");
/// Number of cores for a demand, rounded up.
pub const WHOLE_CORES: Quantity = Quantity::known("whole_cores");
/// Number of cores of one machine that a demand leaves free.
pub const CORES_LEFT: Quantity = Quantity::known("cores_left");
/// Number of machines for a demand, rounded up.
pub const MACHINES: Quantity = Quantity::known("machines");

/// Cost of a million sessions, in the currency that the parameter [`CURRENCY`] names.
pub const COST_PER_MILLION: Quantity = Quantity::known("cost_per_million_sessions");
/// Price of a machine, divided by its sessions per second, in the currency that the parameter
/// [`CURRENCY`] names. The condition [`TERM`] names the price.
pub const PRICE_PER_SESSION_PER_S: Quantity = Quantity::known("price_per_session_per_s");
/// Share of the CPU time that an engine saves, compared with the engine that the parameter
/// [`AGAINST`] names.
pub const SAVED_SHARE: Quantity = Quantity::known("saved_share");

/// Share of the sessions that have to wait.
pub const WAITING_SHARE: Quantity = Quantity::known("waiting_share");
/// Mean wait in nanoseconds.
pub const WAIT_NS_MEAN: Quantity = Quantity::known("wait_ns_mean");
/// Mean response time in nanoseconds.
pub const RESPONSE_NS_MEAN: Quantity = Quantity::known("response_ns_mean");
/// The response time in nanoseconds that 50 of 100 sessions or operations do not exceed.
pub const RESPONSE_NS_P50: Quantity = Quantity::known("response_ns_p50");
/// The response time in nanoseconds that 90 of 100 sessions or operations do not exceed.
pub const RESPONSE_NS_P90: Quantity = Quantity::known("response_ns_p90");
/// The response time in nanoseconds that 99 of 100 sessions or operations do not exceed.
pub const RESPONSE_NS_P99: Quantity = Quantity::known("response_ns_p99");
/// Parameter: a demand in sessions per second.
pub const DEMAND_PER_S: &str = "sessions_per_s";
/// Parameter: a link's rate in 10^9 bits per second.
pub const LINK_GBPS: &str = "link_gbps";
/// Parameter: the currency of a cost.
pub const CURRENCY: &str = "currency";
/// Parameter: the machine of a cost, as a price file names it.
pub const PRICED_MACHINE: &str = "machine";
/// Parameter: the number of cores that serve one or more queues.
pub const STATION_CORES: &str = "station_cores";
/// Parameter: the number of cores of a server, if several numbers are measured.
pub const SERVER_CORES: &str = "server_cores";
/// Parameter: the queue discipline: `one_queue` or `queue_per_core`.
pub const LINE: &str = "line";
/// Parameter: the share of a core's time in which it is busy; above 1 if more work arrives.
pub const LOAD: &str = "load";

/// Condition: the share of a core's time to use.
pub const UTILISATION: &str = "utilisation";
/// Condition: the number of cores of one machine.
pub const CORES_PER_MACHINE: &str = "cores_per_machine";
/// Condition: the price as a price file states it.
pub const PRICE: &str = "price";
/// Condition: origin and day of a price.
pub const PRICE_SOURCE: &str = "price_source";
/// Condition: the time for which a price is paid, [`ONCE`] or [`YEAR`].
pub const TERM: &str = "term";
/// Value of [`TERM`]: the machine is bought.
pub const ONCE: &str = "once";
/// Value of [`TERM`]: the machine is rented for a mean year.
pub const YEAR: &str = "year";
/// Condition: the formula.
pub const MODEL: &str = "model";
/// Condition: squared coefficient of variation of the service time.
pub const SCV: &str = "service_time_scv";
/// Condition: mean service time in nanoseconds.
pub const SERVICE_NS: &str = "service_time_ns_mean";
