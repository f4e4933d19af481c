//! Lines for the operator.

use std::sync::Arc;

/// Prints a line for the operator.
pub(crate) type Say = Arc<dyn Fn(&str) + Send + Sync>;
