//! Which bound belongs to which kernel: the joint between `mont` and `processor`.

use tollgate_mont::{BlockKernel, Blocks, Kernel as _, LaneKernel, LimbKernel, Shape};
use tollgate_processor::{Bound, Calls, Count, Form, Machine, operation};

use crate::contenders::What;
use crate::keys::Key;

/// A kernel of ours, whatever its numbers are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Family {
    /// Digits of one number, or two, in lane blocks.
    Blocks(BlockKernel),
    /// Digits of eight numbers.
    Lanes(LaneKernel),
    /// Limbs of one number.
    Limbs(LimbKernel),
}

impl Family {
    /// What multiplies in a single operation with moduli of so many bits at most.
    pub(crate) fn single(kernel: LimbKernel, bits: u32) -> Self {
        match kernel {
            LimbKernel::Blocks(kernel) if lane_blocks(bits).is_some() => Self::Blocks(kernel),
            LimbKernel::Blocks(_) | LimbKernel::Mulx(_) | LimbKernel::Portable => {
                Self::Limbs(kernel.on_limbs())
            }
        }
    }

    /// The name of its product.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Blocks(kernel) => kernel.name(),
            Self::Lanes(kernel) => kernel.name(),
            Self::Limbs(kernel) => kernel.name(),
        }
    }

    /// The name of its square, which may be that of its product.
    pub(crate) fn square_name(self) -> &'static str {
        match self {
            Self::Blocks(kernel) => kernel.square_name(),
            Self::Lanes(kernel) => kernel.square_name(),
            Self::Limbs(kernel) => kernel.square_name(),
        }
    }

    /// Whether it can take a modulus of so many bits.
    pub(crate) fn does(self, bits: u32) -> bool {
        !matches!(self, Self::Blocks(_)) || lane_blocks(bits).is_some()
    }

    /// Numbers that one call multiplies.
    pub(crate) fn numbers(self, bits: u32) -> u32 {
        match self {
            Self::Blocks(_) => lane_blocks(bits)
                .map_or(1, |blocks| u32::try_from(blocks.numbers()).expect("1 or 2")),
            Self::Lanes(_) | Self::Limbs(_) => self.form().lanes(),
        }
    }

    /// What its products are made of.
    pub(crate) fn form(self) -> Form {
        match self {
            Self::Blocks(BlockKernel::Ifma(..)) => Form::Blocks52,
            Self::Lanes(LaneKernel::Ifma(_)) => Form::Karatsuba52,
            Self::Lanes(LaneKernel::Avx2(_)) => Form::Halves52,
            Self::Lanes(LaneKernel::Portable) => Form::Mul52,
            Self::Limbs(LimbKernel::Mulx(_)) => Form::Mulx,
            // the model of blocks multiplies limbs too
            Self::Blocks(BlockKernel::Portable)
            | Self::Limbs(LimbKernel::Blocks(_) | LimbKernel::Portable) => Form::Mul,
        }
    }

    /// Words of a modulus of so many bits.
    pub(crate) fn words(self, bits: u32) -> u32 {
        let bits = usize::try_from(bits).expect("at most 8192");
        let words = match (self, Blocks::of_bits(bits)) {
            (Self::Blocks(BlockKernel::Ifma(..)), Some(blocks)) => blocks.rows(),
            (Self::Lanes(_), _) => Shape::digits(bits).k(),
            (Self::Blocks(_) | Self::Limbs(_), _) => Shape::limbs(bits).k(),
        };
        u32::try_from(words).expect("at most 160")
    }
}

/// The lane blocks for a modulus of so many bits.
fn lane_blocks(bits: u32) -> Option<Blocks> {
    Blocks::of_bits(usize::try_from(bits).expect("at most 8192"))
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
