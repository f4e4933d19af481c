//! Analytic processor model: limits are functions, a bound is their maximum and keeps its name.
//!
//! A [`Machine`] says how many of a thing a core finishes per cycle, each figure with its source;
//! unknown is a value. Work is a [`Demand`] on the same things. [`Machine::limits`] divides the one
//! by the other, once per [`Limit`], and [`Bound::of`] keeps the largest quotient and its name.
//!
//! Two kinds of work ask for things. A [`Form`] says what a Montgomery product or square of a
//! kernel of this project cannot do without; a [`Kernel`] what its calls ask for, loads, registers
//! and chains too; [`exponent`] and [`operation`] say how many calls an RSA operation is. A
//! [`Routine`] says the same of a product on a processor that is only described, and
//! stands in that processor's machine file. [`papers`] holds the four processors of a white paper
//! and the figures that it gives for them; [`host`] says what a calibrated host could do at best.
//!
//! Everything here is arithmetic: no figure of the machine it runs on is in this crate, and nothing
//! is measured.
//!
//! ```
//! use tollgate_processor::{Call, Kernel, Machine, Size};
//!
//! let machine = Machine::from_toml(r#"
//!     name = "a core with two 52-bit vector multipliers"
//!     [rates]
//!     vpmadd52_zmm = { per_cycle = 2.0, mark = "assumed", source = "an example" }
//!     mulx = { unknown = true }
//! "#)?;
//! // Eight products of 1024 bits, 20 digits each, in one tile.
//! let kernel = Kernel::of("amm52_mb8_ifma").expect("it is one of the kernels");
//! let call = Call { size: Size::words(20), tile: 20, numbers: 8 };
//! let bound = machine.kernel(kernel, call).expect("its rate is known").bound;
//! assert_eq!(bound.to_string(), "100 cycles, limited by vpmadd52");
//! # Ok::<(), tollgate_record::BadFile>(())
//! ```
#![forbid(unsafe_code)]

pub mod exponent;
pub mod form;
pub mod host;
pub mod issued;
pub mod kernel;
pub mod limit;
pub mod machine;
pub mod machines;
pub mod operation;
pub mod papers;
pub mod product;
pub mod routine;
pub mod schedule;
pub mod sourced;

pub use exponent::Calls;
pub use form::{Count, Form};
pub use issued::{Issued, Size};
pub use kernel::{Call, Kernel, Lever};
pub use limit::{Bound, Demand, LeftOut, Limit, Weighed};
pub use machine::{Machine, RegisterFile};
pub use product::Product;
pub use routine::{Digits, Routine};
pub use schedule::Schedule;
pub use sourced::{BadNumber, Mark, Rate, Registers, Uses};
