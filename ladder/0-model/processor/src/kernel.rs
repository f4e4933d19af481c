//! The demand of a call of each kernel of this project.
//!
//! The kernels declare their multiplications, and `cargo xtask audit` checks these declarations
//! ([`Issued`]). For loads, registers and dependency chains, the demand counts only the minimum.
//! The result is therefore a lower bound.

use crate::bound::Analysis;
use crate::form::Form;
use crate::issued::{Issued, Size};
use crate::limit::{Demand, Limit};
use crate::machine::{Machine, RegisterFile};

/// The parameters of a kernel call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The size of the operands.
    pub size: Size,
    /// The number of words in a tile; K in a kernel without tiles.
    pub tile: u32,
    /// The number of numbers that a call computes.
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

/// The representation of numbers and the method of reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Blocks,
    BlocksPortable,
    Halves,
    Lanes,
    LanesPortable,
    Limbs,
    LimbsPortable,
    NarrowLanes,
    WideHalves,
}

/// The number of limbs of each number in `amm52_blocks_portable`, whatever its size.
const BLOCKS_PORTABLE_LIMBS: u32 = 67;

impl Kernel {
    /// Every kernel.
    pub const ALL: [Self; 14] = {
        use Family::{
            Blocks, BlocksPortable, Halves, Lanes, LanesPortable, Limbs, LimbsPortable,
            NarrowLanes, WideHalves,
        };
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
            product("amm52_mb8_avxifma", NarrowLanes),
            square("ams52_mb8_avxifma", NarrowLanes),
            product("amm52_mb8_avx512", WideHalves),
            square("ams52_mb8_avx512", WideHalves),
            product("amm52_mb8_avx2", Halves),
            square("ams52_mb8_avx2", Halves),
            product("amm64_portable", LimbsPortable),
            product("amm52_mb8_portable", LanesPortable),
            product("amm52_blocks_portable", BlocksPortable),
        ]
    };

    /// Returns the kernel of this name.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kernel| kernel.name == name)
    }

    /// Returns the methods of multiplication and reduction of this kernel. Each method has its own
    /// bound.
    pub const fn algorithm(self, call: Call) -> &'static str {
        match (self.family, call.size.k) {
            (Family::Lanes, 30) => "Karatsuba, fold rows",
            (Family::Lanes, 40) => "Karatsuba, fold rows by halves",
            (Family::Lanes | Family::NarrowLanes | Family::Blocks, _) => "schoolbook, fold rows",
            (Family::Halves | Family::WideHalves, _) => "Karatsuba halves, fold rows",
            (
                Family::Limbs
                | Family::LimbsPortable
                | Family::LanesPortable
                | Family::BlocksPortable,
                _,
            ) => "schoolbook, textbook rows",
        }
    }

    /// Returns the demand of one call. The number of registers of `machine` determines how many
    /// words are loaded again.
    pub fn demand(self, call: Call, machine: &Machine) -> Demand {
        let vector = machine.registers.get(&RegisterFile::Vector);
        let registers = vector.map(|registers| registers.count());
        match self.family {
            Family::Lanes => self.on_lanes(call, registers),
            Family::Blocks => self.on_blocks(call, registers),
            Family::Limbs => self.on_limbs(call.size.k),
            Family::NarrowLanes => {
                let multiplies = self.issued(call.size);
                Demand::new([(Limit::Vpmadd52Ymm, multiplies), (Limit::Issue, multiplies)])
            }
            Family::Halves => self.on_halves(call, Limit::PmuludqRow),
            Family::WideHalves => self.on_halves(call, Limit::PmuludqRowZmm),
            Family::LimbsPortable => rows_of_mul(Form::Mul.product(call.size.k).get()),
            Family::LanesPortable => rows_of_mul(Form::Mul52.product(call.size.k).get()),
            Family::BlocksPortable => {
                let rows = call.size.rows * BLOCKS_PORTABLE_LIMBS;
                rows_of_mul(f64::from(2 * rows * call.numbers))
            }
        }
    }

    /// Returns the demand of `times` calls, divided by the count of numbers that each call
    /// computes.
    pub fn calls(self, call: Call, machine: &Machine, times: u32) -> Demand {
        self.demand(call, machine).over(f64::from(call.numbers)).times(times)
    }

    /// Returns the multiply instructions that the kernel declares.
    fn issued(self, size: Size) -> f64 {
        Issued::new(self.name).map_or(0.0, |issued| issued.count(size).get())
    }

    /// A product of half digits also takes an addition.
    fn on_halves(self, call: Call, rows: Limit) -> Demand {
        let multiplies = self.issued(call.size);
        Demand::new([(rows, multiplies), (Limit::Issue, 2.0 * multiplies)])
    }

    /// A tile of W digits needs W accumulators, W factors, a digit and a top word. A row takes 2W
    /// `vpmadd52`. In a reduction, each digit depends on the digit before it, except within a block
    /// (K = 40).
    fn on_lanes(self, call: Call, registers: Option<u32>) -> Demand {
        let (k, tile) = (f64::from(call.size.k), f64::from(call.tile));
        let multiplies = self.issued(call.size);
        let rows = multiplies / (2.0 * tile);
        // A product loads one digit in each row; the folded digits are already in registers.
        let loads = if self.is_square { k } else { k * k / tile };
        let chain = if call.size.k == 40 { k / 2.0 } else { k };
        // A shift and an addition carry out of each folded digit, and out of each digit of the
        // result. In a square, additions double the columns.
        let carries = 2.0 * (k - 1.0) + 2.0 * (k - 1.0);
        let others = if self.is_square { carries + 2.0 * k - 1.0 } else { carries };
        with_registers(multiplies, others, loads, chain, rows, 2 * call.tile + 2, registers)
    }

    /// A block of K digits needs 2K accumulators, K digits of y, K digits of the modulus, a digit
    /// and a sum. A folded digit is added two columns higher.
    fn on_blocks(self, call: Call, registers: Option<u32>) -> Demand {
        let rows = f64::from(call.size.rows);
        // If two numbers share the lanes, a shuffle provides the digit.
        let loads = if call.numbers == 1 { rows } else { 0.0 };
        let live = 4 * call.size.k + 2;
        // A row copies the folded digit to all lanes, carries out of it by a shift and an addition,
        // and adds the two sums of a column. If two numbers share the lanes, it copies a digit of
        // x, too.
        let others = if call.numbers == 1 { 4.0 * rows } else { 5.0 * rows };
        let chain = rows / 2.0;
        with_registers(self.issued(call.size), others, loads, chain, rows, live, registers)
    }

    /// Returns the demand of a product of limbs: MULX with a factor from memory, ADCX and ADOX.
    /// Each row of the reduction waits for two multiplies in turn: first the one that computes
    /// `m_i`, then `m_i m_0`.
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

/// Returns the demand of rows of MUL with a factor from memory, ADD and ADC.
fn rows_of_mul(multiplies: f64) -> Demand {
    Demand::new([(Limit::MulRow, multiplies), (Limit::Issue, 3.0 * multiplies)])
}

/// Returns the demand of VPMADD52 with its dependency chain and loads, and of `others`, the vector
/// operations that are not multiplies. If `live` words do not fit the registers, each row loads the
/// surplus words again.
fn with_registers(
    multiplies: f64,
    others: f64,
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
        (Limit::VectorZmm, multiplies + others),
        (Limit::LoadsZmm, loads),
        (Limit::Residency, spills),
        (Limit::Issue, multiplies + others),
    ])
}

impl Machine {
    /// Returns the bound of one number of a kernel call, by every known limit. `None` if no
    /// multiplier has a known rate.
    pub fn kernel(&self, kernel: Kernel, call: Call) -> Option<Analysis> {
        Some(self.analyse(&kernel.demand(call, self))?.shared_by(call.numbers))
    }
}

#[cfg(test)]
mod tests {

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
            let long = issued.kernel == "amm52_long_blocks_ifma"; // part of amm52_blocks_ifma
            assert_eq!(Kernel::new(issued.kernel).is_none(), long, "{}", issued.kernel);
        }
    }

    #[test]
    fn the_bound_of_a_kernel_is_that_of_its_declared_multiplies() {
        let lanes = zen5().kernel(Kernel::new("amm52_mb8_ifma").unwrap(), call(20, 20, 20, 8));
        let lanes = lanes.unwrap();
        assert_eq!(lanes.bound.limit, Limit::Vpmadd52);
        assert_eq!(lanes.bound.cycles.get(), 1601.0 / 2.0 / 8.0);
        // A chain of 20 digits, 4 cycles each, shared by eight numbers.
        assert_eq!(lanes.alone(Limit::Vpmadd52Chain).unwrap().get(), 20.0 * 4.0 / 8.0);
        let limbs = zen5().kernel(Kernel::new("amm64_mulx").unwrap(), call(16, 16, 8, 1)).unwrap();
        assert_eq!(limbs.bound.limit, Limit::MulxRow);
        assert_eq!(limbs.bound.cycles.get(), 512.0 / 0.87);
    }

    #[test]
    fn values_that_do_not_fit_the_registers_are_loaded_in_each_row() {
        let kernel = Kernel::new("amm52_mb8_ifma").unwrap();
        let spilled = |tile| {
            let analysis = zen5().kernel(kernel, call(30, 30, tile, 8)).unwrap();
            analysis.alone(Limit::Residency)
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
    fn a_bound_without_the_carry_chain_names_the_unknown_limit() {
        let zen4 = File::named("zen-4").unwrap().machine();
        let limbs = zen4.kernel(Kernel::new("amm64_mulx").unwrap(), call(16, 16, 8, 1)).unwrap();
        assert_eq!((limbs.bound.limit, limbs.bound.cycles.get()), (Limit::Mulx, 512.0));
        let row = limbs.unknown.iter().find(|unknown| unknown.limit == Limit::MulxRow).unwrap();
        assert!(row.at_most.unwrap() > limbs.bound.cycles);
        assert_eq!(zen4.kernel(Kernel::new("amm64_portable").unwrap(), call(16, 16, 8, 1)), None);
    }

    #[test]
    fn a_faster_unit_moves_the_bound_to_the_next_limit() {
        let machine = File::named("sapphire-rapids").unwrap().machine();
        let kernel = Kernel::new("amm52_mb8_ifma").unwrap();
        let bound = |m: &Machine| {
            let bound = m.kernel(kernel, call(20, 20, 20, 8)).unwrap().bound;
            (bound.limit, bound.cycles.get())
        };
        // 76 shifts and additions for carries share the two ports with the multiplies.
        assert_eq!(bound(&machine), (Limit::VectorZmm, 1677.0 / 2.0 / 8.0));
        let faster = machine.changed(Limit::VectorZmm, 4.0).unwrap();
        assert_eq!(bound(&faster), (Limit::Vpmadd52, 1601.0 / 2.0 / 8.0));
    }
}
