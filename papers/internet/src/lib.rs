//! The Montgomery products that \[ETI10\] compares, as code with the engine's contract.
//!
//! [`Method`] is an algorithm in limbs of 64 bits, in safe Rust without special instructions, so
//! that the methods can be compared with each other: schoolbook and Karatsuba, reduction word by
//! word and in a single step. `tollgate papers internet` measures them on the machine at hand. The
//! engine's kernels are faster. [`Numbers`] are the constants of a modulus that the methods need;
//! [`MethodKernel`] is a method with these constants, and implements `Kernel`.
//!
//! ```
//! use tollgate_internet::{Method, Numbers};
//! use tollgate_mont::{Kernel, Modulus, Shape};
//!
//! let m = Modulus::<u64>::new(&[0xffff_ffff_ffff_ffc5], Shape::limbs(64)).unwrap();
//! let numbers = Numbers::new(&m);
//! let kernel = Method::Cios.kernel(&numbers);
//! let (mut t, mut x, mut z) = (vec![0; m.scratch_words()], vec![0; m.k()], vec![0; m.k()]);
//! let mut three = vec![0; m.k()];
//! three[0] = 3;
//! kernel.amm(&mut x, &three, m.rr(), &m, &mut t); // to Montgomery form
//! kernel.ams(&mut z, &x, &m, &mut t);
//! kernel.amm(&mut x, &z, m.plain_one(), &m, &mut t); // and back
//! assert_eq!(x[0], 9);
//! ```

mod limbs;
mod method;
mod methods;
mod numbers;

pub use method::{Method, MethodKernel};
pub use numbers::Numbers;

/// The cores that fill a link of 10 Gbps, and all cores of the blade.
const CORES: [f64; 2] = [8.0, 12.0];

/// The price of the blade in USD.
const BLADE_USD: f64 = 3999.0;

/// Returns our figure with this name in `published.toml`, computed from other published figures.
#[must_use]
pub fn computed(name: &str) -> Option<f64> {
    let connections_per_s = 1200.0;
    match name {
        "transactions" => Some(CORES[0] * connections_per_s),
        "blade" => Some(BLADE_USD / (CORES[1] * connections_per_s)),
        _ => None,
    }
}
