//! Feature proofs and their veto, the cycle counter, the core clock, and calibration probes.
