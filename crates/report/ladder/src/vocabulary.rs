//! How records that these tables read are spelled: quantities, parameters, conditions.

/// Core cycles of one operation. In a batch: of the batch, over its operations.
pub const CYCLES_PER_OPERATION: &str = "cycles_per_operation";
/// Nanoseconds of one operation. In a batch: of the batch, over its operations.
pub const NS_PER_OPERATION: &str = "ns_per_operation";
/// Operations per second of one thread.
pub const OPERATIONS_PER_S: &str = "operations_per_s";
/// The processor's bound of one operation, predicted by rung 0.
pub const BOUND_CYCLES_PER_OPERATION: &str = "bound_cycles_per_operation";
/// How many operations are done in the time in which the opponent, parameter [`AGAINST`], does one.
pub const TIMES_AS_FAST: &str = "times_as_fast";

/// Core cycles of one call of a kernel, all lanes together.
pub const CYCLES_PER_CALL: &str = "cycles_per_call";
/// Core cycles of one call of a kernel over its lanes.
pub const CYCLES_PER_LANE: &str = "cycles_per_lane";
/// The processor's bound of one call, predicted by rung 0.
pub const BOUND_CYCLES_PER_CALL: &str = "bound_cycles_per_call";

/// Parameter: whose code ran.
pub const BY: &str = "by";
/// Parameter: how many operations share a call; without it they are done one by one.
pub const BATCH: &str = "batch";
/// Parameter: whose code the figure is compared with.
pub const AGAINST: &str = "against";
/// Parameter: the exponent, as a number, or [`FULL`].
pub const EXPONENT: &str = "exponent";
/// Value of [`EXPONENT`]: as long as the modulus, no CRT.
pub const FULL: &str = "full";
/// Parameter: the clock that a published time belongs to, in MHz.
pub const CLOCK_MHZ: &str = "clock_mhz";
/// Parameter: the size of a modulus in bits.
pub const BITS: &str = "bits";
/// Parameter: words (digits or limbs) of a modulus.
pub const K: &str = "K";

/// Condition: the kernel that multiplied.
pub const KERNEL: &str = "kernel";
/// Condition: what binds a bound.
pub const LIMIT: &str = "limit";
/// Condition: for how long a row was measured, all contenders together.
pub const SECONDS_PER_ROW: &str = "seconds_per_row";
