//! Which bound belongs to which kernel: the joint between `mont` and `processor`.

use tollgate_mont::{Kernel as _, LaneKernel, LimbKernel, Shape};
use tollgate_processor::{Bound, Calls, Count, Form, Machine, operation};

use crate::contenders::What;
use crate::keys::Key;

/// A kernel of ours, whatever its numbers are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Family {
    /// Digits of eight numbers.
    Lanes(LaneKernel),
    /// Limbs of one number.
    Limbs(LimbKernel),
}

impl Family {
    /// The name of its product.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lanes(kernel) => kernel.name(),
            Self::Limbs(kernel) => kernel.name(),
        }
    }

    /// The name of its square, which may be that of its product.
    pub(crate) fn square_name(self) -> &'static str {
        match self {
            Self::Lanes(kernel) => kernel.square_name(),
            Self::Limbs(kernel) => kernel.square_name(),
        }
    }

    /// What its products are made of.
    pub(crate) fn form(self) -> Form {
        match self {
            Self::Lanes(LaneKernel::Ifma(_)) => Form::Madd52,
            Self::Lanes(LaneKernel::Portable) => Form::Mul52,
            Self::Limbs(LimbKernel::Mulx(_)) => Form::Mulx,
            Self::Limbs(LimbKernel::Portable) => Form::Mul,
        }
    }

    /// Words of a modulus of so many bits.
    pub(crate) fn words(self, bits: u32) -> u32 {
        let bits = usize::try_from(bits).expect("at most 8192");
        let shape = match self {
            Self::Lanes(_) => Shape::digits(bits),
            Self::Limbs(_) => Shape::limbs(bits),
        };
        u32::try_from(shape.k()).expect("at most 160")
    }
}

/// The bound of one operation, if the machine's rates are known.
pub(crate) fn of_operation(
    machine: &Machine,
    kernel: Family,
    key: &Key,
    what: What,
) -> Option<Bound> {
    let (form, words) = (kernel.form(), kernel.words(modulus_bits(key, what)));
    let count: Count = match public_exponent(key, what) {
        Some((bits, ones)) => operation::public(form, words, bits, ones),
        None if what == What::Sign => operation::private(form, words, key.prime_bits()),
        None => operation::private_full(form, words, key.bits()),
    };
    machine.bound(form, count)
}

/// The calls of one operation, and the size in bits of the modulus that they work on.
pub(crate) fn calls_of_operation(kernel: Family, key: &Key, what: What) -> (Calls, u32) {
    let (form, modulus) = (kernel.form(), modulus_bits(key, what));
    let calls = match public_exponent(key, what) {
        Some((bits, ones)) => operation::public_calls(bits, ones),
        None if what == What::Sign => {
            operation::private_calls(form, kernel.words(modulus), modulus)
        }
        None => operation::private_full_calls(form, kernel.words(modulus), modulus),
    };
    (calls, modulus)
}

/// Bits of the modulus that an operation's products work on.
pub(crate) fn modulus_bits(key: &Key, what: What) -> u32 {
    match what {
        What::Sign => key.prime_bits(),
        What::PrivateFull | What::Public(_) | What::Verify => key.bits(),
    }
}

/// Bits of the public exponent of an operation that has one, and how many are set.
fn public_exponent(key: &Key, what: What) -> Option<(u32, u32)> {
    match what {
        What::Sign | What::PrivateFull => None,
        What::Public(e) => Some((u64::BITS - e.leading_zeros(), e.count_ones())),
        What::Verify => Some(bits_and_ones(&key.ours.public().exponent())),
    }
}

/// Bits of a big-endian number, from the highest one that is set, and how many are set.
fn bits_and_ones(number: &[u8]) -> (u32, u32) {
    let ones = number.iter().map(|byte| byte.count_ones()).sum();
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let rest = &number[zeros..];
    let top = rest.first().map_or(0, |byte| byte.leading_zeros());
    (u32::try_from(8 * rest.len()).expect("a short number") - top, ones)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_counted() {
        assert_eq!(bits_and_ones(&[1, 0, 1]), (17, 2));
        assert_eq!(bits_and_ones(&[0, 0, 7]), (3, 3));
        assert_eq!(bits_and_ones(&[0xff, 0xff]), (16, 16));
    }
}
