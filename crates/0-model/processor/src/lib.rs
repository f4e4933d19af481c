//! Analytic processor model: limits are functions, a bound is their maximum and keeps its name.
//!
//! A [`Machine`] says how many of an instruction a core finishes per cycle, each figure with its
//! source; unknown is a value. A [`Form`] says what a Montgomery product or square cannot do
//! without. [`Machine::bound`] divides the one by the other, once per limit, and keeps the largest
//! quotient and its [`Limit`]. [`exponent`] and [`operation`] add up products to RSA operations.
//!
//! Everything here is arithmetic: no figure of the machine it runs on is in this crate, and nothing
//! is measured. A bound belongs to the schoolbook form of the product; it is no prediction.
//!
//! ```
//! use tollgate_processor::{Form, Machine, operation};
//!
//! let machine = Machine::from_toml(r#"
//!     name = "a core with two 52-bit vector multipliers"
//!     [rates]
//!     vpmadd52_zmm_per_cycle = { value = 2.0, source = "an example" }
//!     mulx_per_cycle = { unknown = true }
//!     mulx_adcx_adox_per_cycle = { unknown = true }
//!     mul_adc_per_cycle = { unknown = true }
//! "#)?;
//! // RSA-2048: two primes of 1024 bits, 20 digits each.
//! let private = operation::private(Form::Madd52, 20, 1024);
//! let bound = machine.bound(Form::Madd52, private).expect("its rate is known");
//! assert_eq!(bound.to_string(), "204k cycles, limited by vpmadd52");
//! # Ok::<(), tollgate_processor::BadMachine>(())
//! ```
#![forbid(unsafe_code)]

pub mod exponent;
pub mod form;
pub mod limit;
pub mod machine;
pub mod operation;

pub use exponent::Calls;
pub use form::{Count, Form};
pub use limit::{Bound, Limit};
pub use machine::{BadMachine, Machine, Rate, Rates};
