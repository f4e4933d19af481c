//! Units, estimates with intervals, machine fingerprints, and JSON Lines of figures.
