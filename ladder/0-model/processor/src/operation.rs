//! RSA operations: exponentiations with conversion to and from Montgomery form.
//!
//! Blinding, fault check, padding and everything that does not multiply are not counted.

use core::ops::{Add, Mul};

use crate::form::{Count, Form};

/// The widest window considered; no exponent up to 8192 bits needs a wider one.
const WINDOW_MAX_BITS: u32 = 10;

/// Calls of a kernel, all on one modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calls {
    /// Montgomery squares.
    pub squares: u32,
    /// Montgomery products.
    pub products: u32,
}

impl Calls {
    /// Returns calls of `products` products and no squares.
    #[must_use]
    pub const fn products(products: u32) -> Self {
        Self { squares: 0, products }
    }

    /// Returns the multiply instructions of these calls on `k` words.
    pub fn count(self, form: Form, k: u32) -> Count {
        form.square(k) * self.squares + form.product(k) * self.products
    }
}

impl Add for Calls {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { squares: self.squares + other.squares, products: self.products + other.products }
    }
}

impl Mul<u32> for Calls {
    type Output = Self;
    fn mul(self, times: u32) -> Self {
        Self { squares: self.squares * times, products: self.products * times }
    }
}

/// Returns the calls of the private operation with CRT: two exponentiations with exponents of
/// `prime_bits` bits on `k` words each.
///
/// Counted per prime: two products to enter Montgomery form (the input has two halves), the
/// exponentiation with the best window, and one product to leave Montgomery form. Counted once: one
/// product by `q_inv`. Lane blocks need neither the product to leave Montgomery form nor the
/// product by `q_inv`, because the constants of the recombination include both.
///
/// # Panics
///
/// If `prime_bits` is 0.
#[must_use]
pub fn private_calls(form: Form, k: u32, prime_bits: u32) -> Calls {
    let entered = secret(form, k, prime_bits) + Calls::products(2);
    match form {
        Form::Blocks52 => entered * 2,
        _ => (entered + Calls::products(1)) * 2 + Calls::products(1),
    }
}

/// Returns the calls of the private operation without CRT: one exponentiation with an exponent of
/// `bits` bits on `k` words, one product to enter Montgomery form and one product to leave it. The
/// exponent is as long as the modulus.
///
/// # Panics
///
/// If `bits` is 0.
#[must_use]
pub fn private_full_calls(form: Form, k: u32, bits: u32) -> Calls {
    secret(form, k, bits) + Calls::products(2)
}

/// Returns the calls of the public operation with an exponent of `bits` bits, of which `ones` are
/// set: the exponentiation and one product to enter Montgomery form.
///
/// # Panics
///
/// If `bits` is 0 or `ones` is not in 1 to `bits`.
#[must_use]
pub fn public_calls(bits: u32, ones: u32) -> Calls {
    public(bits, ones) + Calls::products(1)
}

/// Returns the calls of one exponentiation by a secret exponent of `bits` bits with a fixed window
/// of `window` bits.
///
/// Counted are `bits - window` squares (the first window needs none), a product for each further
/// window, and a table of the powers 2 to 2^window - 1, whose even powers are squares. Not counted
/// are the conversion to and from Montgomery form, and reading the table in constant time.
fn secret_with_window(bits: u32, window: u32) -> Calls {
    assert!(bits > 0, "an exponent has at least one bit");
    let half_table = (1 << (window - 1)) - 1; // half of the powers 2 to 2^window - 1 are even
    Calls {
        squares: bits.saturating_sub(window) + half_table,
        products: bits.div_ceil(window) - 1 + half_table,
    }
}

/// [`secret_with_window`] with the window that takes the fewest multiply instructions of `form` on
/// `k` words.
fn secret(form: Form, k: u32, bits: u32) -> Calls {
    (1..=WINDOW_MAX_BITS)
        .map(|window| secret_with_window(bits, window))
        .min_by_key(|calls| calls.count(form, k))
        .expect("there are windows to choose from")
}

/// Returns the calls of one exponentiation, bit by bit, by a public exponent of `bits` bits, of
/// which `ones` are set. The exponentiation takes a square for every bit but the first, and a
/// product for every set bit but the first.
///
/// For 65537 (17 bits, 2 of them set) this is 16 squares and one product. The conversion to
/// Montgomery form is not counted. An odd exponent needs no conversion back, because its last
/// product multiplies by the base in plain form.
fn public(bits: u32, ones: u32) -> Calls {
    assert!((1..=bits).contains(&ones), "a public exponent has 1 to all of its bits set");
    Calls { squares: bits - 1, products: ones - 1 }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::limit::Limit;
    use crate::machine::Machine;
    use crate::sourced::{Mark, Rate};

    fn two_vector_multipliers() -> Machine {
        let rate = Rate::per_cycle(2.0, Mark::Assumed, "by definition").unwrap();
        Machine::with_rates("two per cycle", [(Limit::Vpmadd52, rate)])
    }

    /// The expected figures were computed by hand, in cycles per operation at two VPMADD52 per
    /// cycle, to three or four digits. They include the product `h * q` without reduction.
    #[test]
    fn private_operations_have_the_bounds_computed_by_hand() {
        let machine = two_vector_multipliers();
        for (form, digits, prime_bits, cycles) in [
            (Form::Madd52, 10, 512, 26_300.0),
            (Form::Madd52, 20, 1024, 201_100.0),
            (Form::Madd52, 30, 1536, 663_300.0),
            (Form::Madd52, 40, 2048, 1_555_000.0),
            (Form::Karatsuba52, 30, 1536, 606_000.0),
            (Form::Karatsuba52, 40, 2048, 1_260_000.0),
        ] {
            let calls = private_calls(form, digits, prime_bits).count(form, digits);
            let call = calls + form.plain_product(digits);
            let bound = machine.bound(form, Count(call.0.div_ceil(8))).unwrap();
            let off = (bound.cycles.get() / cycles - 1.0).abs();
            assert!(off < 0.002, "{form:?}, {prime_bits}: {bound}, not {cycles}");
            assert_eq!(bound.limit, Limit::Vpmadd52);
        }
    }

    #[test]
    fn crt_saves_most_of_three_quarters() {
        for (form, k) in [(Form::Madd52, 20), (Form::Mulx, 16), (Form::Mul, 16)] {
            let crt = private_calls(form, k, 1024).count(form, k);
            let full = private_full_calls(form, 2 * k, 2048).count(form, 2 * k);
            let ratio = full.get() / crt.get();
            assert!((3.5..4.2).contains(&ratio), "{form:?}: {ratio}");
        }
    }

    #[test]
    fn a_verification_is_eighteen_products() {
        assert_eq!(public_calls(17, 2), Calls { squares: 16, products: 2 });
    }

    #[test]
    fn one_bit_at_a_time_is_square_and_multiply() {
        // Three bits, with a window of one bit: two squares, two products, no table.
        let calls = secret_with_window(3, 1);
        assert_eq!(calls, Calls { squares: 2, products: 2 });
        let expected = Form::Mulx.square(4) * 2 + Form::Mulx.product(4) * 2;
        assert_eq!(calls.count(Form::Mulx, 4), expected);
    }

    #[test]
    fn a_window_of_5_bits_has_the_known_counts() {
        // 1024 bits, window 5: 1019 squares and 204 products. The table takes 30 more calls.
        let expected = Calls { squares: 1019 + 15, products: 204 + 15 };
        assert_eq!(secret_with_window(1024, 5), expected);
    }

    #[test]
    fn the_best_window_grows_with_the_exponent() {
        let best = |bits| {
            (1..=WINDOW_MAX_BITS)
                .min_by_key(|w| secret_with_window(bits, *w).count(Form::Madd52, 20))
        };
        assert_eq!(best(1), Some(1));
        assert!(best(64) < best(512) && best(512) < best(4096));
        // The widest window is never the best one, so the range is wide enough.
        assert!(best(8192) < Some(WINDOW_MAX_BITS));
    }

    #[test]
    fn public_exponents_are_counted_bit_by_bit() {
        assert_eq!(public(17, 2), Calls { squares: 16, products: 1 }); // 65537: 17 in all
        assert_eq!(public(2, 2), Calls { squares: 1, products: 1 }); // 3
        assert_eq!(public(3, 3), Calls { squares: 2, products: 2 }); // 7
    }
}
