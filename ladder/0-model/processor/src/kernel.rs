//! The kernels of this project as work: what a call asks of each resource of a machine.
//!
//! Multiplications are those that the kernels declare and `cargo xtask audit` checks
//! ([`Issued`]); of loads, registers and chains only what a call cannot do without is counted, so
//! that a bound stays one.

use crate::form::Form;
use crate::issued::{Issued, Size};
use crate::limit::{Bound, Demand, Limit, Weighed};
use crate::machine::{Machine, RegisterFile};
use crate::sourced::Rate;

/// What a kernel is called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Words, and digits that a product multiplies by.
    pub size: Size,
    /// Words of a tile; where there are no tiles, K.
    pub tile: u32,
    /// Numbers that a call computes.
    pub numbers: u32,
}

/// A kernel: a product or a square.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Its name: file and function.
    pub name: &'static str,
    family: Family,
    is_square: bool,
}

/// What numbers are made of and how they are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Blocks,
    BlocksPortable,
    Halves,
    Lanes,
    LanesPortable,
    Limbs,
    LimbsPortable,
}

/// Limbs of each number in `amm52_blocks_portable`, whatever its size.
const BLOCKS_PORTABLE_LIMBS: u32 = 67;

impl Kernel {
    /// Every kernel.
    pub const ALL: [Self; 10] = {
        use Family::{Blocks, BlocksPortable, Halves, Lanes, LanesPortable, Limbs, LimbsPortable};
        const fn product(name: &'static str, family: Family) -> Kernel {
            Kernel { name, family, is_square: false }
        }
        const fn square(name: &'static str, family: Family) -> Kernel {
            Kernel { name, family, is_square: true }
        }
        [
            product("amm52_mb8_ifma", Lanes),
            square("ams52_mb8_ifma", Lanes),
            product("amm52_blocks_ifma", Blocks),
            product("amm64_mulx", Limbs),
            square("ams64_mulx", Limbs),
            product("amm52_mb8_avx2", Halves),
            square("ams52_mb8_avx2", Halves),
            product("amm64_portable", LimbsPortable),
            product("amm52_mb8_portable", LanesPortable),
            product("amm52_blocks_portable", BlocksPortable),
        ]
    };

    /// The kernel of this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kernel| kernel.name == name)
    }

    /// How it multiplies and reduces: each has its own bound.
    #[must_use]
    pub const fn algorithm(self, call: Call) -> &'static str {
        match (self.family, call.size.k) {
            (Family::Lanes, 30) => "Karatsuba, fold rows",
            (Family::Lanes, 40) => "Karatsuba, fold rows by halves",
            (Family::Lanes | Family::Blocks, _) => "schoolbook, fold rows",
            (Family::Halves, _) => "Karatsuba halves, fold rows",
            (
                Family::Limbs
                | Family::LimbsPortable
                | Family::LanesPortable
                | Family::BlocksPortable,
                _,
            ) => "schoolbook, textbook rows",
        }
    }

    /// What a call takes of each resource, on a machine with these registers.
    #[must_use]
    pub fn demand(self, call: Call, machine: &Machine) -> Demand {
        let vector = machine.registers.get(&RegisterFile::Vector);
        let registers = vector.map(|registers| registers.count());
        match self.family {
            Family::Lanes => self.on_lanes(call, registers),
            Family::Blocks => self.on_blocks(call, registers),
            Family::Limbs => self.on_limbs(call.size.k),
            Family::Halves => {
                let multiplies = self.issued(call.size);
                // each product is added somewhere
                Demand::new([(Limit::PmuludqRow, multiplies), (Limit::Issue, 2.0 * multiplies)])
            }
            Family::LimbsPortable => rows_of_mul(Form::Mul.product(call.size.k).get()),
            Family::LanesPortable => rows_of_mul(Form::Mul52.product(call.size.k).get()),
            Family::BlocksPortable => {
                let rows = call.size.rows * BLOCKS_PORTABLE_LIMBS;
                rows_of_mul(f64::from(2 * rows * call.numbers))
            }
        }
    }

    /// What one number of a call takes, so many times.
    #[must_use]
    pub fn calls(self, call: Call, machine: &Machine, times: u32) -> Demand {
        self.demand(call, machine).over(f64::from(call.numbers)).times(times)
    }

    /// Multiply instructions, as declared and checked.
    fn issued(self, size: Size) -> f64 {
        Issued::of(self.name).map_or(0.0, |issued| issued.count(size).get())
    }

    /// A tile of W digits: W accumulators and W factors beside a digit and a top; a row takes 2W of
    /// `vpmadd52`. Digits of a reduction wait for each other, but for those of a block (K = 40).
    fn on_lanes(self, call: Call, registers: Option<u32>) -> Demand {
        let (k, tile) = (f64::from(call.size.k), f64::from(call.tile));
        let multiplies = self.issued(call.size);
        let rows = multiplies / (2.0 * tile);
        // a product's digit in each of its rows; a digit that is folded is in a register already
        let loads = if self.is_square { k } else { k * k / tile };
        let chain = if call.size.k == 40 { k / 2.0 } else { k };
        with_registers(multiplies, loads, chain, rows, 2 * call.tile + 2, registers)
    }

    /// A block of K digits: 2K accumulators, and K digits of y and of the modulus, beside a digit
    /// and a sum. A digit that was taken away comes back two columns higher.
    fn on_blocks(self, call: Call, registers: Option<u32>) -> Demand {
        let rows = f64::from(call.size.rows);
        // where two numbers share the lanes, a shuffle brings a digit, not a load
        let loads = if call.numbers == 1 { rows } else { 0.0 };
        let live = 4 * call.size.k + 2;
        with_registers(self.issued(call.size), loads, rows / 2.0, rows, live, registers)
    }

    /// A product of limbs: MULX with a factor from memory, ADCX and ADOX. In each row of the
    /// reduction `m_i` waits for its multiply, and what it is added to for another.
    fn on_limbs(self, k: u32) -> Demand {
        let form = if self.is_square { Form::Mulx.square(k) } else { Form::Mulx.product(k) };
        let words = f64::from(k);
        let products = form.get() - words;
        Demand::new([
            (Limit::MulxRow, products),
            (Limit::Mulx, products),
            (Limit::MulxChain, 2.0 * words),
            (Limit::Loads, products),
            (Limit::Issue, 3.0 * products + words),
        ])
    }
}

/// Rows of MUL with a factor from memory, ADD and ADC.
fn rows_of_mul(multiplies: f64) -> Demand {
    Demand::new([(Limit::MulRow, multiplies), (Limit::Issue, 3.0 * multiplies)])
}

/// VPMADD52 with its chain, and loads: as long as `live` words fit the registers only of digits,
/// else what does not fit once more in each row.
fn with_registers(
    multiplies: f64,
    loads: f64,
    chain: f64,
    rows: f64,
    live: u32,
    registers: Option<u32>,
) -> Demand {
    let spilled = registers.map_or(0, |registers| live.saturating_sub(registers));
    let spills = if spilled == 0 { 0.0 } else { loads + rows * f64::from(spilled) };
    Demand::new([
        (Limit::Vpmadd52, multiplies),
        (Limit::Vpmadd52Chain, chain),
        (Limit::LoadsZmm, loads),
        (Limit::Residency, spills),
        (Limit::Issue, multiplies),
    ])
}

/// A change of a machine, and where it takes the bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Lever {
    /// Whose rate is doubled; of a latency: halved.
    pub limit: Limit,
    /// The rate as it is.
    pub now: Rate,
    /// The bound then.
    pub bound: Bound,
}

impl Machine {
    /// The bound of one number of a call of a kernel, by every limit that is known. `None` if
    /// nothing is known of what multiplies.
    #[must_use]
    pub fn kernel(&self, kernel: Kernel, call: Call) -> Option<Weighed> {
        Some(self.weigh(&kernel.demand(call, self))?.shared_by(call.numbers))
    }

    /// What moves this bound: each known rate twice as good, where that helps, the best first.
    pub fn levers(&self, weigh: impl Fn(&Self) -> Option<Weighed>) -> Vec<Lever> {
        let Some(now) = weigh(self) else {
            return Vec::new();
        };
        let mut levers = Vec::new();
        for (limit, rate) in &self.rates {
            let Some(value) = rate.value() else {
                continue;
            };
            let better = if limit.is_in_cycles() { value / 2.0 } else { value * 2.0 };
            let then = self.changed(*limit, better).ok();
            if let Some(then) = then.and_then(|machine| weigh(&machine))
                && then.bound.cycles < now.bound.cycles
            {
                levers.push(Lever { limit: *limit, now: rate.clone(), bound: then.bound });
            }
        }
        levers.sort_by(|x, y| x.bound.cycles.get().total_cmp(&y.bound.cycles.get()));
        levers
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::machines::File;

    fn call(k: u32, rows: u32, tile: u32, numbers: u32) -> Call {
        Call { size: Size { k, rows }, tile, numbers }
    }

    fn zen5() -> Machine {
        File::named("zen-5").unwrap().machine()
    }

    #[test]
    fn every_kernel_that_declares_its_multiplies_is_here() {
        for issued in Issued::ALL {
            let long = issued.kernel == "amm52_long_blocks_ifma"; // goes by amm52_blocks_ifma
            assert_eq!(Kernel::of(issued.kernel).is_none(), long, "{}", issued.kernel);
        }
    }

    #[test]
    fn a_kernel_keeps_its_declared_multiplies_and_its_winner() {
        let lanes = zen5().kernel(Kernel::of("amm52_mb8_ifma").unwrap(), call(20, 20, 20, 8));
        let lanes = lanes.unwrap();
        assert_eq!(lanes.bound.limit, Limit::Vpmadd52);
        assert_eq!(lanes.bound.cycles.get(), 1601.0 / 2.0 / 8.0);
        // 20 digits wait for each other, 4 cycles each, and eight numbers share that
        assert_eq!(lanes.alone(Limit::Vpmadd52Chain).unwrap().get(), 20.0 * 4.0 / 8.0);
        let limbs = zen5().kernel(Kernel::of("amm64_mulx").unwrap(), call(16, 16, 8, 1)).unwrap();
        assert_eq!(limbs.bound.limit, Limit::MulxRow);
        assert_eq!(limbs.bound.cycles.get(), 512.0 / 0.87);
    }

    #[test]
    fn what_does_not_fit_the_registers_is_loaded_in_each_row() {
        let kernel = Kernel::of("amm52_mb8_ifma").unwrap();
        let spilled = |tile| {
            let weighed = zen5().kernel(kernel, call(30, 30, tile, 8)).unwrap();
            weighed.alone(Limit::Residency)
        };
        assert_eq!(spilled(15), None); // 32 words in 32 registers
        assert!(spilled(20).unwrap().get() > 0.0);
        let mut few = zen5();
        few.rates.insert(Limit::LoadsZmm, zen5().rates[&Limit::LoadsZmm].clone());
        let few = few.changed(Limit::LoadsZmm, 0.25).unwrap();
        let bound = few.kernel(kernel, call(20, 20, 20, 8)).unwrap().bound;
        assert_eq!(bound.limit, Limit::Residency);
    }

    #[test]
    fn a_bound_without_the_carry_chain_says_what_it_left_out() {
        let zen4 = File::named("zen-4").unwrap().machine();
        let limbs = zen4.kernel(Kernel::of("amm64_mulx").unwrap(), call(16, 16, 8, 1)).unwrap();
        assert_eq!((limbs.bound.limit, limbs.bound.cycles.get()), (Limit::Mulx, 512.0));
        let left = limbs.left_out.iter().find(|left| left.limit == Limit::MulxRow).unwrap();
        assert!(left.at_most.unwrap() > limbs.bound.cycles);
        assert_eq!(zen4.kernel(Kernel::of("amm64_portable").unwrap(), call(16, 16, 8, 1)), None);
    }

    #[test]
    fn a_second_multiplier_moves_the_bound_to_the_next_limit() {
        let machine = File::named("sapphire-rapids").unwrap().machine();
        let kernel = Kernel::of("amm52_mb8_ifma").unwrap();
        let levers = machine.levers(|m| m.kernel(kernel, call(20, 20, 20, 8)));
        assert_eq!(levers.len(), 1);
        assert_eq!(levers[0].limit, Limit::Vpmadd52);
        assert_eq!(levers[0].bound.cycles.get(), 1601.0 / 2.0 / 8.0);
    }
}
