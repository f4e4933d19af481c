//! RSA operations: exponentiations with conversion to and from Montgomery form.
//!
//! Blinding, fault check, padding and everything that does not multiply are not counted.

use crate::exponent::{self, Calls};
use crate::form::Form;

/// The calls of the private operation with CRT: two exponentiations with exponents of `prime_bits`
/// bits on `k` words each.
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
    let entered = exponent::secret(form, k, prime_bits) + Calls::products(2);
    match form {
        Form::Blocks52 => entered * 2,
        _ => (entered + Calls::products(1)) * 2 + Calls::products(1),
    }
}

/// The calls of the private operation without CRT: one exponentiation with an exponent of `bits`
/// bits on `k` words, one product to enter Montgomery form and one product to leave it. The
/// exponent is as long as the modulus.
///
/// # Panics
///
/// If `bits` is 0.
#[must_use]
pub fn private_full_calls(form: Form, k: u32, bits: u32) -> Calls {
    exponent::secret(form, k, bits) + Calls::products(2)
}

/// The calls of the public operation with an exponent of `bits` bits, of which `ones` are set: the
/// exponentiation and one product to enter Montgomery form.
///
/// # Panics
///
/// If `bits` is 0 or `ones` is not in 1 to `bits`.
#[must_use]
pub fn public_calls(bits: u32, ones: u32) -> Calls {
    exponent::public(bits, ones) + Calls::products(1)
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::form::Count;
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
}
