//! Exponentiations: squares, window products and the table, with the window that costs least.

use crate::form::{Count, Form};

/// The widest window that is looked at; no exponent up to 8192 bits wants a wider one.
const WINDOW_MAX_BITS: u32 = 10;

/// Multiply instructions of one exponentiation call by a secret exponent of `bits` bits on `k`
/// words, with a fixed window of `window` bits.
///
/// Counted: `bits - window` squares (the first window is read, not squared for), a product for each
/// further window, and a table of the powers 2 to 2^window - 1, even ones by squaring. Not counted:
/// entry into the Montgomery form and exit, and reading the table in constant time.
///
/// # Panics
///
/// If `window` is 0 or above 16, or `bits` is 0.
#[must_use]
pub fn secret_with_window(form: Form, k: u32, bits: u32, window: u32) -> Count {
    assert!(bits > 0, "an exponent has at least one bit");
    assert!((1..=16).contains(&window), "a window has 1 to 16 bits");
    let squares = bits.saturating_sub(window);
    let products = bits.div_ceil(window) - 1;
    let half_table = (1 << (window - 1)) - 1; // the powers 2 to 2^window - 1: as many even as odd
    form.square(k) * (squares + half_table) + form.product(k) * (products + half_table)
}

/// [`secret_with_window`] with the window that costs least.
///
/// # Panics
///
/// If `bits` is 0.
#[must_use]
pub fn secret(form: Form, k: u32, bits: u32) -> Count {
    (1..=WINDOW_MAX_BITS)
        .map(|window| secret_with_window(form, k, bits, window))
        .min()
        .expect("there are windows to choose from")
}

/// Multiply instructions of one exponentiation call by a public exponent of `bits` bits, `ones` of
/// them set, bit by bit: a square for every bit but the first, a product for every further bit set.
///
/// For 65537 (17 bits, 2 set) that is 16 squares and a product. Not counted: entry into the
/// Montgomery form. There is no exit for an odd exponent: its last product takes the plain base.
///
/// # Panics
///
/// If `bits` is 0 or `ones` is not in 1 to `bits`.
#[must_use]
pub fn public(form: Form, k: u32, bits: u32, ones: u32) -> Count {
    assert!((1..=bits).contains(&ones), "a public exponent has 1 to all of its bits set");
    form.square(k) * (bits - 1) + form.product(k) * (ones - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bit_at_a_time_is_square_and_multiply() {
        // Bits 2 to 1 of three: two squares, two products, no table.
        let expected = Form::Mulx.square(4) * 2 + Form::Mulx.product(4) * 2;
        assert_eq!(secret_with_window(Form::Mulx, 4, 3, 1), expected);
    }

    #[test]
    fn a_window_costs_what_the_exponentiation_does() {
        // 1024 bits, window 5: 1019 squares and 204 products; the table has 30 powers to make.
        let (square, product) = (Form::Madd52.square(20), Form::Madd52.product(20));
        let expected = square * (1019 + 15) + product * (204 + 15);
        assert_eq!(secret_with_window(Form::Madd52, 20, 1024, 5), expected);
    }

    #[test]
    fn the_best_window_grows_with_the_exponent() {
        let best = |bits| {
            (1..=WINDOW_MAX_BITS).min_by_key(|w| secret_with_window(Form::Madd52, 20, bits, *w))
        };
        assert_eq!(best(1), Some(1));
        assert!(best(64) < best(512) && best(512) < best(4096));
        // The widest is never the best, so none is missed.
        assert!(best(8192) < Some(WINDOW_MAX_BITS));
    }

    #[test]
    fn public_exponents_are_counted_bit_by_bit() {
        let (square, product) = (Form::Mulx.square(32), Form::Mulx.product(32));
        assert_eq!(public(Form::Mulx, 32, 17, 2), square * 16 + product); // 65537: 17 in all
        assert_eq!(public(Form::Mulx, 32, 2, 2), square + product); // 3
        assert_eq!(public(Form::Mulx, 32, 3, 3), square * 2 + product * 2); // 7
    }
}
