//! Execution of the base instructions.

use super::state::{NOWHERE, State};
use crate::isa::{Instruction, Meaning, Syntax};
use crate::trap::Trap;

/// A decoded instruction, prepared for repeated execution: its second source is always
/// `r[rs2] + constant`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) meaning: Meaning,
    pub(super) rd: u8,
    pub(super) rs1: u8,
    pub(super) rs2: u8,
    pub(super) annuls: bool,
    /// The result for `sethi`; the distance in bytes for a branch.
    pub(super) constant: u32,
}

impl Op {
    pub(super) fn new(i: &Instruction) -> Self {
        let constant = i.constant.cast_unsigned();
        Self {
            meaning: i.row.meaning,
            rd: if i.rd == 0 && !i.row.stores() { NOWHERE } else { i.rd },
            rs1: i.rs1,
            rs2: i.rs2,
            annuls: i.row.bits >> 29 & 1 != 0 && i.row.syntax == Syntax::Branch,
            constant: match i.row.syntax {
                Syntax::Sethi => constant << 10,
                Syntax::Branch | Syntax::Call => constant << 2,
                _ => constant,
            },
        }
    }

    /// Returns whether the instruction may change `npc`.
    pub(super) fn jumps(&self) -> bool {
        matches!(self.meaning, Meaning::Branch(_) | Meaning::Call | Meaning::Jmpl)
    }
}

/// The effect of a jump.
pub(super) struct Jump {
    /// The instruction after the next one; `None` if the jump is not taken.
    pub(super) target: Option<u32>,
    /// True if the instruction after the jump is skipped.
    pub(super) annuls: bool,
}

impl State {
    /// Executes an instruction other than a jump.
    #[inline(always)]
    pub(super) fn execute(&mut self, op: &Op) -> Result<(), Trap> {
        let a = self.reg(op.rs1);
        let b = self.reg(op.rs2).wrapping_add(op.constant);
        let value = match op.meaning {
            Meaning::Custom(custom) => custom(&mut self.accumulator, a, b),
            Meaning::Sethi => op.constant,
            Meaning::Add => a.wrapping_add(b),
            Meaning::Addcc => self.add_cc(a, b, false),
            Meaning::Addx => a.wrapping_add(b).wrapping_add(self.c.into()),
            Meaning::Addxcc => self.add_cc(a, b, self.c),
            Meaning::Sub => a.wrapping_sub(b),
            Meaning::Subcc => self.sub_cc(a, b, false),
            Meaning::Subx => a.wrapping_sub(b).wrapping_sub(self.c.into()),
            Meaning::Subxcc => self.sub_cc(a, b, self.c),
            Meaning::And => a & b,
            Meaning::Andcc => self.logic_cc(a & b),
            Meaning::Andn => a & !b,
            Meaning::Andncc => self.logic_cc(a & !b),
            Meaning::Or => a | b,
            Meaning::Orcc => self.logic_cc(a | b),
            Meaning::Orn => a | !b,
            Meaning::Orncc => self.logic_cc(a | !b),
            Meaning::Xor => a ^ b,
            Meaning::Xorcc => self.logic_cc(a ^ b),
            Meaning::Xnor => !(a ^ b),
            Meaning::Xnorcc => self.logic_cc(!(a ^ b)),
            Meaning::Sll => a << (b & 31),
            Meaning::Srl => a >> (b & 31),
            Meaning::Sra => (a.cast_signed() >> (b & 31)).cast_unsigned(),
            Meaning::Umul => self.product(u64::from(a) * u64::from(b)),
            Meaning::Umulcc => {
                let low = self.product(u64::from(a) * u64::from(b));
                self.logic_cc(low)
            }
            Meaning::Smul => self.signed_product(a, b),
            Meaning::Smulcc => {
                let low = self.signed_product(a, b);
                self.logic_cc(low)
            }
            Meaning::Ld => u32::from_be_bytes(self.memory.load(a.wrapping_add(b))?),
            Meaning::Ldub => self.memory.load::<1>(a.wrapping_add(b))?[0].into(),
            Meaning::Lduh => u16::from_be_bytes(self.memory.load(a.wrapping_add(b))?).into(),
            Meaning::Ldsb => {
                let byte = i8::from_be_bytes(self.memory.load(a.wrapping_add(b))?);
                i32::from(byte).cast_unsigned()
            }
            Meaning::Ldsh => {
                let half = i16::from_be_bytes(self.memory.load(a.wrapping_add(b))?);
                i32::from(half).cast_unsigned()
            }
            Meaning::St => {
                return self.memory.store(a.wrapping_add(b), self.reg(op.rd).to_be_bytes());
            }
            Meaning::RdY => self.y,
            Meaning::WrY => {
                self.y = a ^ b;
                return Ok(());
            }
            _ => return self.execute_rare(op, a, b),
        };
        self.put(op.rd, value);
        Ok(())
    }

    /// Executes rare instructions, separate from the frequent ones for speed.
    #[inline(never)]
    fn execute_rare(&mut self, op: &Op, a: u32, b: u32) -> Result<(), Trap> {
        let address = a.wrapping_add(b);
        let value = match op.meaning {
            Meaning::Ldd => {
                let bytes = self.memory.load::<8>(address)?;
                let pair = u64::from_be_bytes(bytes);
                self.put_pair(op.rd, pair);
                return Ok(());
            }
            Meaning::Stb => {
                return self.memory.store(address, [(self.reg(op.rd) & 0xff) as u8]);
            }
            Meaning::Sth => {
                return self
                    .memory
                    .store(address, ((self.reg(op.rd) & 0xffff) as u16).to_be_bytes());
            }
            Meaning::Std => {
                let pair = u64::from(self.reg(op.rd)) << 32 | u64::from(self.reg(op.rd | 1));
                return self.memory.store(address, pair.to_be_bytes());
            }
            Meaning::Ldstub => {
                let byte = self.memory.load::<1>(address)?[0];
                self.memory.store(address, [0xff])?;
                byte.into()
            }
            Meaning::Swap => {
                let word = u32::from_be_bytes(self.memory.load(address)?);
                // The register is read and written; %g0 reads as zero.
                let stored = if op.rd == NOWHERE { 0 } else { self.reg(op.rd) };
                self.memory.store(address, stored.to_be_bytes())?;
                word
            }
            Meaning::Taddcc | Meaning::TaddccTv | Meaning::Tsubcc | Meaning::TsubccTv => {
                self.tagged(op.meaning, a, b)?
            }
            Meaning::Mulscc => {
                let shifted = a >> 1 | u32::from(self.n != self.v) << 31;
                let added = if self.y & 1 != 0 { b } else { 0 };
                self.y = self.y >> 1 | (a & 1) << 31;
                self.add_cc(shifted, added, false)
            }
            Meaning::Udiv | Meaning::Udivcc | Meaning::Sdiv | Meaning::Sdivcc => {
                self.divide(op.meaning, a, b)?
            }
            Meaning::Save => {
                self.rotate(-1, Trap::WindowOverflow)?;
                address
            }
            Meaning::Restore => {
                self.rotate(1, Trap::WindowUnderflow)?;
                address
            }
            Meaning::Trap(condition) if self.holds(condition) => {
                return Err(Trap::Software((address & 0x7f) as u8));
            }
            Meaning::Flush => {
                self.flushed = true;
                return Ok(());
            }
            Meaning::Unimp => return Err(Trap::Illegal),
            // stbar, or a trap that is not taken.
            _ => return Ok(()),
        };
        self.put(op.rd, value);
        Ok(())
    }

    /// Executes a jump.
    #[inline(always)]
    pub(super) fn jump(&mut self, op: &Op, pc: u32) -> Result<Jump, Trap> {
        let target = pc.wrapping_add(op.constant);
        match op.meaning {
            Meaning::Branch(condition) => {
                let taken = self.holds(condition);
                let annuls = op.annuls && (!taken || condition == 8);
                Ok(Jump { target: taken.then_some(target), annuls })
            }
            Meaning::Call => {
                self.put(15, pc);
                Ok(Jump { target: Some(target), annuls: false })
            }
            _ => self.jump_by_register(op, pc),
        }
    }

    fn jump_by_register(&mut self, op: &Op, pc: u32) -> Result<Jump, Trap> {
        let target = self.reg(op.rs1).wrapping_add(self.reg(op.rs2)).wrapping_add(op.constant);
        if target & 3 != 0 {
            return Err(Trap::Misaligned(target));
        }
        self.put(op.rd, pc);
        Ok(Jump { target: Some(target), annuls: false })
    }

    #[inline(always)]
    fn add_cc(&mut self, a: u32, b: u32, carry: bool) -> u32 {
        let wide = u64::from(a) + u64::from(b) + u64::from(carry);
        let sum = (wide & 0xffff_ffff) as u32;
        self.v = (!(a ^ b) & (a ^ sum)) >> 31 != 0;
        self.c = wide >> 32 != 0;
        self.sign(sum)
    }

    #[inline(always)]
    fn sub_cc(&mut self, a: u32, b: u32, borrow: bool) -> u32 {
        let difference = a.wrapping_sub(b).wrapping_sub(borrow.into());
        self.v = ((a ^ b) & (a ^ difference)) >> 31 != 0;
        self.c = u64::from(a) < u64::from(b) + u64::from(borrow);
        self.sign(difference)
    }

    #[inline(always)]
    fn logic_cc(&mut self, value: u32) -> u32 {
        (self.v, self.c) = (false, false);
        self.sign(value)
    }

    #[inline(always)]
    fn sign(&mut self, value: u32) -> u32 {
        (self.n, self.z) = (value >> 31 != 0, value == 0);
        value
    }

    /// Writes the upper word to Y and returns the lower word.
    #[inline(always)]
    fn product(&mut self, product: u64) -> u32 {
        self.y = (product >> 32) as u32;
        (product & 0xffff_ffff) as u32
    }

    fn signed_product(&mut self, a: u32, b: u32) -> u32 {
        let product = i64::from(a.cast_signed()) * i64::from(b.cast_signed());
        self.product(product.cast_unsigned())
    }

    /// Returns the quotient, limited to 32 bits as the manual defines.
    fn divide(&mut self, meaning: Meaning, a: u32, b: u32) -> Result<u32, Trap> {
        if b == 0 {
            return Err(Trap::DivisionByZero);
        }
        let dividend = u64::from(self.y) << 32 | u64::from(a);
        let (quotient, cut) = if matches!(meaning, Meaning::Udiv | Meaning::Udivcc) {
            let quotient = dividend / u64::from(b);
            (u32::try_from(quotient).unwrap_or(u32::MAX), quotient >> 32 != 0)
        } else {
            // The least dividend divided by -1 is 2^63, which overflows, too.
            let quotient = dividend.cast_signed().saturating_div(i64::from(b.cast_signed()));
            let fits = i32::try_from(quotient);
            let kept = fits.unwrap_or(if quotient < 0 { i32::MIN } else { i32::MAX });
            (kept.cast_unsigned(), fits.is_err())
        };
        if matches!(meaning, Meaning::Udivcc | Meaning::Sdivcc) {
            self.logic_cc(quotient);
            self.v = cut;
        }
        Ok(quotient)
    }

    fn put_pair(&mut self, rd: u8, pair: u64) {
        // The first register of a pair is even; of %g0 and %g1 only %g1 is written.
        let first = rd & 63;
        self.put(first, (pair >> 32) as u32);
        let second = if first == NOWHERE { 1 } else { first | 1 };
        self.put(second, (pair & 0xffff_ffff) as u32);
    }

    /// Returns a sum or difference; V is also set, or the instruction traps, if a tag is set.
    fn tagged(&mut self, meaning: Meaning, a: u32, b: u32) -> Result<u32, Trap> {
        let adds = matches!(meaning, Meaning::Taddcc | Meaning::TaddccTv);
        let before = (self.n, self.z, self.v, self.c);
        let result = if adds { self.add_cc(a, b, false) } else { self.sub_cc(a, b, false) };
        self.v |= (a | b) & 3 != 0;
        if self.v && matches!(meaning, Meaning::TaddccTv | Meaning::TsubccTv) {
            (self.n, self.z, self.v, self.c) = before;
            return Err(Trap::Tag);
        }
        Ok(result)
    }
}
