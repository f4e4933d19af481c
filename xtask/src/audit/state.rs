//! The state of registers, flags and stack at one point of a function.

use std::collections::BTreeMap;

use crate::kernels::Row;
use crate::machine_code::instruction::{Gpr, MASKS, Memory, RSP};

/// An abstract value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Computed from public arguments and constants: a length, a pointer, a counter.
    Public,
    /// Any other value, such as one read from memory.
    Secret,
    /// An address in the stack frame; public.
    Frame(Place),
    /// A pointer to a struct with public fields only; public.
    Struct(Struct),
    /// The address of a function, which the loader writes to this slot; public.
    Code(u64),
}

/// A pointer to a struct or to an array of structs: a declared argument, or a pointer read through
/// such an argument. At depth 1 the fields are public: lengths, and pointers to secrets. At a depth
/// of 2 or more the fields are pointers to such structs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Struct {
    pub(crate) argument: Gpr,
    pub(crate) depth: u8,
}

impl Struct {
    /// Returns the value of the struct's fields.
    pub(crate) fn field(self) -> Value {
        match self.depth {
            0 | 1 => Value::Public,
            depth => Value::Struct(Self { depth: depth - 1, ..self }),
        }
    }
}

/// A place on the stack, as an offset in bytes from the stack pointer on entry. If the function has
/// aligned the stack pointer by an unknown number of bytes, the offset is from the aligned pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) alignments: usize,
    pub(crate) offset: i64,
}

impl Place {
    pub(crate) fn at(self, bytes: i64) -> Self {
        Self { offset: self.offset.wrapping_add(bytes), ..self }
    }

    /// Returns whether this place belongs to the caller: it is above the return address.
    fn is_argument(self) -> bool {
        self.alignments == 0 && self.offset >= 8
    }
}

impl Value {
    pub(crate) fn is_secret(self) -> bool {
        self == Self::Secret
    }

    pub(crate) fn secret_if(secret: bool) -> Self {
        if secret { Self::Secret } else { Self::Public }
    }

    pub(crate) fn join(self, other: Self) -> Self {
        match (self, other) {
            _ if self == other => self,
            (Self::Struct(mine), Self::Struct(theirs)) if mine.argument == theirs.argument => {
                Self::Struct(Struct { depth: mine.depth.min(theirs.depth), ..mine })
            }
            _ => Self::secret_if(self.is_secret() || other.is_secret()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    registers: [Value; 16],
    /// One value for each vector register, which holds for all its words. Masks are secret.
    vectors: [Value; MASKS],
    /// The lowest byte of each register if it is a constant, and the zero flag. The audit needs
    /// both to follow loops that count to 2.
    pub(crate) bytes: [Option<u8>; 16],
    pub(crate) zero: Option<bool>,
    /// True if the lowest byte depends on a secret. It is separate since instructions may write
    /// this byte alone. After a copy it may be public although the other bytes are not.
    pub(crate) lowest: [bool; 16],
    /// A bit for each register that may still contain the caller's argument.
    arguments: u16,
    /// True if the carry flag, or any other flag, depends on a secret.
    pub(crate) carry: bool,
    pub(crate) flags: bool,
    /// Stored values, in words of 8 bytes. Any other place is an argument or has an unknown value.
    slots: BTreeMap<Place, Value>,
}

impl State {
    /// Returns the state on entry. Argument registers and stack arguments are public, except those
    /// that the row declares secret. Some arguments point to structs.
    pub(crate) fn on_entry(arguments: &[Gpr], row: &Row) -> Self {
        let mut state = Self {
            registers: [Value::Secret; 16],
            vectors: [Value::Secret; MASKS],
            bytes: [None; 16],
            zero: None,
            lowest: [true; 16],
            arguments: 0,
            carry: true,
            flags: true,
            slots: BTreeMap::new(),
        };
        for &register in arguments {
            let depth = row.structs.iter().find(|(argument, _)| *argument == register);
            let value = match depth {
                Some(&(argument, depth)) => Value::Struct(Struct { argument, depth }),
                None => Value::secret_if(row.secret.contains(&register)),
            };
            state.set(register, value);
            state.arguments |= 1 << register;
        }
        state.set(RSP, Value::Frame(Place { alignments: 0, offset: 0 }));
        let place = |&offset: &i64| Place { alignments: 0, offset };
        state.slots = row.secret_stack.iter().map(|at| (place(at), Value::Secret)).collect();
        state
    }

    pub(crate) fn register(&self, register: Gpr) -> Value {
        self.registers[register]
    }

    /// Returns whether the lowest `bytes` bytes of a register depend on a secret.
    pub(crate) fn part_is_secret(&self, register: Gpr, bytes: u32) -> bool {
        if bytes == 1 { self.lowest[register] } else { self.registers[register].is_secret() }
    }

    /// Returns whether a register may still contain the caller's argument.
    pub(crate) fn is_argument(&self, register: Gpr) -> bool {
        self.arguments >> register & 1 == 1
    }

    pub(crate) fn set(&mut self, register: Gpr, value: Value) {
        self.registers[register] = value;
        self.lowest[register] = value.is_secret();
        self.bytes[register] = None;
        self.arguments &= !(1 << register);
    }

    /// Writes the lowest one or two bytes of a register. The other bytes keep their values.
    pub(crate) fn set_part(&mut self, register: Gpr, bytes: u32, secret: bool) {
        self.bytes[register] = None;
        let whole = secret || self.registers[register].is_secret();
        self.registers[register] = Value::secret_if(whole);
        self.lowest[register] = secret || bytes != 1 && whole;
    }

    /// Joins the state of another path to the same instruction. Returns whether this state changed.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        let before = self.clone();
        for (mine, theirs) in self.registers.iter_mut().zip(other.registers) {
            *mine = mine.join(theirs);
        }
        for (mine, theirs) in self.vectors.iter_mut().zip(other.vectors) {
            *mine = mine.join(theirs);
        }
        for (mine, theirs) in self.bytes.iter_mut().zip(other.bytes) {
            *mine = mine.filter(|_| *mine == theirs);
        }
        self.zero = self.zero.filter(|_| self.zero == other.zero);
        for (mine, theirs) in self.lowest.iter_mut().zip(other.lowest) {
            *mine |= theirs;
        }
        self.arguments |= other.arguments;
        self.carry |= other.carry;
        self.flags |= other.flags;
        let places: Vec<Place> = self.slots.keys().chain(other.slots.keys()).copied().collect();
        for place in places {
            let value = self.slot(place).join(other.slot(place));
            self.slots.insert(place, value);
        }
        *self != before
    }

    /// Returns the place of an operand on the stack, if it is known.
    pub(crate) fn place(&self, memory: Memory) -> Option<Place> {
        match (memory.base.map(|base| self.registers[base]), memory.index) {
            (Some(Value::Frame(place)), None) => Some(place.at(memory.displacement)),
            _ => None,
        }
    }

    /// Returns the value of the 8 bytes at a place.
    pub(crate) fn slot(&self, place: Place) -> Value {
        let unknown = if place.is_argument() { Value::Public } else { Value::Secret };
        self.slots.get(&place).copied().unwrap_or(unknown)
    }

    /// Returns the struct that contains an operand. If a public value is added to the pointer, it
    /// is taken for an index.
    pub(crate) fn structure(&self, memory: Memory) -> Option<Struct> {
        let value = |register: Option<Gpr>| register.map(|register| self.registers[register]);
        match (value(memory.base), value(memory.index)) {
            (Some(Value::Struct(structure)), None | Some(Value::Public))
            | (Some(Value::Public), Some(Value::Struct(structure))) => Some(structure),
            _ => None,
        }
    }

    /// Returns the value that an operand reads, the same for each of its words.
    pub(crate) fn load(&self, memory: Memory) -> Value {
        if let Some(structure) = self.structure(memory) {
            return structure.field();
        }
        self.place(memory).map_or(Value::Secret, |place| {
            if memory.bytes == 8 {
                return self.slot(place);
            }
            // a narrow read may start inside a word
            let first = place.at(-place.offset.rem_euclid(8));
            let words = (place.offset - first.offset + i64::from(memory.bytes.max(1)) + 7) / 8;
            let others = (1..words).map(|word| self.slot(first.at(8 * word)));
            others.fold(self.slot(first), Value::join)
        })
    }

    /// Returns the value of each word of a vector or mask register.
    pub(crate) fn vector(&self, register: usize) -> Value {
        self.vectors.get(register).copied().unwrap_or(Value::Secret)
    }

    pub(crate) fn set_vector(&mut self, register: usize, value: Value) {
        if let Some(vector) = self.vectors.get_mut(register) {
            *vector = value;
        }
    }

    /// Makes all vectors unknown: a call may change any of them.
    pub(crate) fn forget_vectors(&mut self) {
        self.vectors = [Value::Secret; MASKS];
    }

    /// Stores a value. Ignores an operand at an unknown place: it is in an array of the kernel or
    /// outside the stack, and is never a spilled word.
    pub(crate) fn store(&mut self, memory: Memory, value: Value) {
        let Some(place) = self.place(memory) else { return };
        let first = place.at(-place.offset.rem_euclid(8));
        let words = (place.offset - first.offset + i64::from(memory.bytes) + 7) / 8;
        for word in 0..words {
            let at = first.at(8 * word);
            let whole = memory.bytes >= 8 && place == first;
            let value = if whole { value } else { value.join(self.slot(at)) };
            self.slots.insert(at, value);
        }
    }
}
