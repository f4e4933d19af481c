//! Exponentiations: squares, window products and the table, with the cheapest window.

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
    /// `products` products and no square.
    #[must_use]
    pub const fn products(products: u32) -> Self {
        Self { squares: 0, products }
    }

    /// The multiply instructions of these calls on `k` words.
    #[must_use]
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

/// The calls of one exponentiation by a secret exponent of `bits` bits with a fixed window of
/// `window` bits.
///
/// Counted are `bits - window` squares (the first window needs none), a product for each further
/// window, and a table of the powers 2 to 2^window - 1, whose even powers are squares. Not counted
/// are the conversion to and from Montgomery form, and reading the table in constant time.
///
/// # Panics
///
/// If `window` is 0 or above 16, or `bits` is 0.
#[must_use]
pub fn secret_with_window(bits: u32, window: u32) -> Calls {
    assert!(bits > 0, "an exponent has at least one bit");
    assert!((1..=16).contains(&window), "a window has 1 to 16 bits");
    let half_table = (1 << (window - 1)) - 1; // half of the powers 2 to 2^window - 1 are even
    Calls {
        squares: bits.saturating_sub(window) + half_table,
        products: bits.div_ceil(window) - 1 + half_table,
    }
}

/// [`secret_with_window`] with the window that takes the fewest multiply instructions of `form` on
/// `k` words.
///
/// # Panics
///
/// If `bits` is 0.
#[must_use]
pub fn secret(form: Form, k: u32, bits: u32) -> Calls {
    (1..=WINDOW_MAX_BITS)
        .map(|window| secret_with_window(bits, window))
        .min_by_key(|calls| calls.count(form, k))
        .expect("there are windows to choose from")
}

/// The calls of one exponentiation, bit by bit, by a public exponent of `bits` bits, of which
/// `ones` are set. The exponentiation takes a square for every bit but the first, and a product for
/// every set bit but the first.
///
/// For 65537 (17 bits, 2 of them set) this is 16 squares and one product. The conversion to
/// Montgomery form is not counted. An odd exponent needs no conversion back, because its last
/// product multiplies by the base in plain form.
/// # Panics
///
/// If `bits` is 0 or `ones` is not in 1 to `bits`.
#[must_use]
pub fn public(bits: u32, ones: u32) -> Calls {
    assert!((1..=bits).contains(&ones), "a public exponent has 1 to all of its bits set");
    Calls { squares: bits - 1, products: ones - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

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
