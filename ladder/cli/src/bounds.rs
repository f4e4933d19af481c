//! Maps kernels of `mont` to bounds of `processor`.

use tollgate_mont::{BlockKernel, Blocks, Kernel as _, LaneKernel, LimbKernel, Shape};
use tollgate_processor::{
    Analysis, Bound, Call, Calls, Demand, Form, Kernel, Machine, Size, operation,
};

use crate::keys::{Key, KeyOperation};

/// A kernel of this project, in any representation of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Family {
    /// A kernel for one or two numbers, whose digits are in lane blocks.
    Blocks(BlockKernel),
    /// A kernel for the digits of eight numbers, one in each lane.
    Lanes(LaneKernel),
    Limbs(LimbKernel),
}

impl Family {
    /// Returns the kernel of a single operation with moduli of at most `bits` bits.
    pub(crate) fn single(kernel: LimbKernel, bits: u32) -> Self {
        match kernel {
            LimbKernel::Blocks(kernel) if lane_blocks(bits).is_some() => Self::Blocks(kernel),
            limbs => Self::Limbs(limbs.on_limbs()),
        }
    }

    /// Returns the name of the kernel's product function.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Blocks(kernel) => kernel.name(),
            Self::Lanes(kernel) => kernel.name(),
            Self::Limbs(kernel) => kernel.name(),
        }
    }

    /// Returns the name of the kernel's square function. Some kernels use their product function
    /// for squares, too.
    pub(crate) fn square_name(self) -> &'static str {
        match self {
            Self::Blocks(kernel) => kernel.square_name(),
            Self::Lanes(kernel) => kernel.square_name(),
            Self::Limbs(kernel) => kernel.square_name(),
        }
    }

    /// Returns whether the kernel supports a modulus of `bits` bits.
    pub(crate) fn does(self, bits: u32) -> bool {
        !matches!(self, Self::Blocks(_)) || lane_blocks(bits).is_some()
    }

    /// Returns the number of independent products that one call computes.
    pub(crate) fn numbers(self, bits: u32) -> u32 {
        match self {
            Self::Blocks(_) => lane_blocks(bits)
                .map_or(1, |blocks| u32::try_from(blocks.numbers()).expect("1 or 2")),
            Self::Lanes(_) | Self::Limbs(_) => self.form().lanes(),
        }
    }

    /// Returns the model of the kernel's products.
    pub(crate) fn form(self) -> Form {
        match self {
            Self::Blocks(BlockKernel::Ifma(..)) => Form::Blocks52,
            Self::Lanes(LaneKernel::Ifma(_)) => Form::Karatsuba52,
            Self::Lanes(LaneKernel::AvxIfma(_)) => Form::NarrowMadd52,
            Self::Lanes(LaneKernel::Avx512(_)) => Form::WideHalves52,
            Self::Lanes(LaneKernel::Avx2(_)) => Form::Halves52,
            Self::Lanes(LaneKernel::Portable) => Form::Mul52,
            Self::Limbs(LimbKernel::Mulx(_)) => Form::Mulx,
            // the portable kernel of lane blocks multiplies limbs, too
            Self::Blocks(BlockKernel::Portable)
            | Self::Limbs(LimbKernel::Blocks(_) | LimbKernel::Portable) => Form::Mul,
        }
    }

    /// Returns the number of words in a modulus of `bits` bits.
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

/// Returns the lane blocks for two moduli of `bits` bits.
fn lane_blocks(bits: u32) -> Option<Blocks> {
    Blocks::of_bits(usize::try_from(bits).expect("at most 8192"))
}

/// Returns the lane blocks for an operation: for both primes if it is a signature, otherwise for n
/// alone.
fn lane_blocks_of(what: KeyOperation, bits: u32) -> Option<Blocks> {
    match what {
        KeyOperation::Sign => lane_blocks(bits),
        _ => Blocks::of_bits(usize::try_from(bits).expect("at most 8192")),
    }
}

/// Returns whether a measurement of `kernel` covers the products of this operation. If two moduli
/// fit in lane blocks, only the call for two moduli is measured.
pub(crate) fn is_measured(kernel: Family, bits: u32, what: KeyOperation) -> bool {
    !matches!(kernel, Family::Blocks(_)) || lane_blocks_of(what, bits) == lane_blocks(bits)
}

/// Returns the call of a kernel on moduli of `bits` bits. A call on lane blocks takes two moduli.
/// `None` if the kernel does not support this size.
pub(crate) fn call(kernel: Kernel, bits: u32) -> Option<Call> {
    call_for(KeyOperation::Sign, kernel, bits)
}

fn call_for(what: KeyOperation, kernel: Kernel, bits: u32) -> Option<Call> {
    let size = usize::try_from(bits).ok()?;
    let small = |count: usize| u32::try_from(count).expect("at most 160");
    if kernel.name.contains("blocks") {
        let blocks = lane_blocks_of(what, bits)?;
        let (k, rows) = (small(blocks.k()), small(blocks.rows()));
        let numbers = small(blocks.numbers());
        return Some(Call { size: Size { k, rows }, tile: k, numbers });
    }
    let lanes = kernel.name.contains("mb8");
    let shape = if lanes { Shape::digits(size) } else { Shape::limbs(size) };
    let numbers = if lanes { 8 } else { 1 };
    Some(Call { size: Size::words(small(shape.k())), tile: small(shape.tile()), numbers })
}

/// Returns the bound of one call of the kernel with this name. It covers all numbers that the call
/// processes. `None` if the machine's rates are unknown.
pub(crate) fn of_call(machine: &Machine, name: &str, bits: u32) -> Option<Bound> {
    let kernel = Kernel::new(name)?;
    let call = call(kernel, bits)?;
    let Analysis { bound, .. } = machine.kernel(kernel, call)?;
    Some(Bound { cycles: bound.cycles * f64::from(call.numbers), ..bound })
}

/// Returns the bound of one operation. It covers squares and products and, with CRT, the
/// recombination. `None` if the machine's rates are unknown.
pub(crate) fn of_operation(
    machine: &Machine,
    kernel: Family,
    key: &Key,
    what: KeyOperation,
) -> Option<Bound> {
    let (calls, bits) = calls_of_operation(kernel, key, what);
    let square = Kernel::new(kernel.square_name())?;
    let product = Kernel::new(kernel.name())?;
    let squares = square.calls(call_for(what, square, bits)?, machine, calls.squares);
    let products = product.calls(call_for(what, product, bits)?, machine, calls.products);
    let mut demand = squares.and(products);
    if what == KeyOperation::Sign {
        demand = demand.and(recombination(machine, kernel, key));
    }
    Some(machine.analyse(&demand)?.bound)
}

/// Returns the recombination: two products modulo n if lane blocks of n's size exist, otherwise h *
/// q without reduction.
fn recombination(machine: &Machine, kernel: Family, key: &Key) -> Demand {
    if let Family::Blocks(blocks) = kernel {
        let product = Kernel::new(blocks.name());
        // the call for the modulus n alone, as in a verification
        let called = product.and_then(|product| {
            Some((product, call_for(KeyOperation::Verify, product, key.bits())?))
        });
        return called
            .map_or_else(Demand::default, |(product, call)| product.calls(call, machine, 2));
    }
    let form = kernel.form();
    let product = Demand::multiplies(form, form.plain_product(kernel.words(key.prime_bits())));
    product.over(f64::from(form.lanes()))
}

/// Returns the calls of one operation, and the size in bits of their modulus.
pub(crate) fn calls_of_operation(kernel: Family, key: &Key, what: KeyOperation) -> (Calls, u32) {
    let (form, modulus) = (kernel.form(), modulus_bits(key, what));
    let calls = match public_exponent(key, what) {
        Some((bits, ones)) => operation::public_calls(bits, ones),
        None if what == KeyOperation::Sign => {
            operation::private_calls(form, kernel.words(modulus), modulus)
        }
        None => operation::private_full_calls(form, kernel.words(modulus), modulus),
    };
    (calls, modulus)
}

/// Returns the size in bits of the modulus of an operation's products.
pub(crate) fn modulus_bits(key: &Key, what: KeyOperation) -> u32 {
    match what {
        KeyOperation::Sign => key.prime_bits(),
        KeyOperation::PrivateFull
        | KeyOperation::Public(_)
        | KeyOperation::Verify
        | KeyOperation::VerifyOnce => key.bits(),
    }
}

/// Returns the length in bits and number of set bits of the operation's public exponent, if it has
/// one.
fn public_exponent(key: &Key, what: KeyOperation) -> Option<(u32, u32)> {
    match what {
        KeyOperation::Sign | KeyOperation::PrivateFull => None,
        KeyOperation::Public(e) => Some((u64::BITS - e.leading_zeros(), e.count_ones())),
        KeyOperation::Verify | KeyOperation::VerifyOnce => {
            Some(bits_and_ones(&key.ours.public().exponent()))
        }
    }
}

/// Returns the length in bits of a big-endian number without leading zeros, and its number of set
/// bits.
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
    use tollgate_processor::{Limit, Mark, Rate};

    #[test]
    fn an_operation_is_its_calls_and_the_recombination() {
        let rate = Rate::per_cycle(1.0, Mark::Assumed, "by definition").unwrap();
        let machine = Machine::with_rates("a row each cycle", [(Limit::MulRow, rate)]);
        let kernel = Family::Limbs(LimbKernel::Portable);
        let key = Key::built_in(2048).unwrap();
        let (calls, bits) = calls_of_operation(kernel, &key, KeyOperation::Sign);
        let product = of_call(&machine, kernel.name(), bits).unwrap();
        assert_eq!((bits, product.cycles.get()), (1024, 528.0)); // 2 * 16^2 + 16
        let bound = of_operation(&machine, kernel, &key, KeyOperation::Sign).unwrap();
        let products = f64::from(calls.squares + calls.products) * 528.0 + 256.0; // h * q
        assert_eq!((bound.cycles.get(), bound.limit), (products, Limit::MulRow));
        let (calls, _) = calls_of_operation(kernel, &key, KeyOperation::Verify);
        let bound = of_operation(&machine, kernel, &key, KeyOperation::Verify).unwrap();
        let products = f64::from(calls.squares + calls.products) * 2080.0; // 2 * 32^2 + 32
        assert_eq!(bound.cycles.get(), products);
    }

    #[test]
    fn exponents_are_counted() {
        assert_eq!(bits_and_ones(&[1, 0, 1]), (17, 2));
        assert_eq!(bits_and_ones(&[0, 0, 7]), (3, 3));
        assert_eq!(bits_and_ones(&[0xff, 0xff]), (16, 16));
    }
}
