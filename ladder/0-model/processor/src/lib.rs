//! Analytic processor model: limits are functions, a bound is their maximum and keeps its name.
//!
//! A [`Machine`] gives a core's rate per cycle for each resource. Each figure has its source, and a
//! rate may be "unknown". A [`Demand`] gives the amounts of the same resources that a piece of work
//! uses. [`Machine::limits`] divides the demand by the rate for each [`Limit`]. [`Bound::new`]
//! keeps the largest quotient and its name.
//!
//! The demand has several sources. A [`Form`] gives the minimum number of multiplications of a
//! Montgomery product or square by a kernel of this project. A [`Kernel`] adds loads, registers and
//! dependency chains. [`operation`] gives the calls of an RSA operation. A [`Routine`] describes a
//! product on any other processor and is part of that processor's machine file.
//! [`host`] gives the bound of a calibrated host.
//!
//! Everything here is arithmetic: this crate measures nothing and holds no figure of the machine
//! that it runs on.
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
//! let kernel = Kernel::new("amm52_mb8_ifma").expect("it is one of the kernels");
//! let call = Call { size: Size::words(20), tile: 20, numbers: 8 };
//! let bound = machine.kernel(kernel, call).expect("its rate is known").bound;
//! assert_eq!(bound.to_string(), "100 cycles, limited by vpmadd52");
//! # Ok::<(), tollgate_record::BadFile>(())
//! ```

pub mod bound;
pub mod form;
pub mod host;
pub mod issued;
pub mod kernel;
pub mod limit;
pub mod machine;
pub mod machines;
pub mod operation;
pub mod product;
pub mod routine;
pub mod sourced;

pub use bound::{Analysis, Bound, UnknownLimit};
pub use form::{Count, Form};
pub use issued::{Issued, Size};
pub use kernel::{Call, Kernel};
pub use limit::{Demand, Limit};
pub use machine::{Machine, RegisterFile};
pub use operation::Calls;
pub use product::Product;
pub use routine::{Digits, Routine};
pub use sourced::{BadNumber, Mark, Rate, Registers, Uses};
