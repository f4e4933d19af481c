//! Calibrate, warm up, sample, pair and interleave, estimate.
