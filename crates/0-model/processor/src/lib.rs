//! Analytic processor model: limits are functions, a bound is their maximum and keeps its name.
