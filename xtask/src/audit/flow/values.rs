//! The effect of an instruction on the values.

use super::Walk;
use crate::audit::state::{Place, State, Struct, Value};
use crate::machine_code::instruction::{Gpr, Instruction, Memory, Operand, RAX, RDX, RSP};

impl Walk<'_> {
    /// Executes an instruction on vectors or masks. A result in a general register or in the flags
    /// is secret.
    pub(super) fn vector(&mut self, at: &Instruction, state: &mut State) {
        if accesses_by_mask(at) {
            self.find(at, "a load or store by a mask: times may depend on the mask");
        }
        let compares = ["ptest", "comis", "ktest", "kortest"];
        if compares.iter().any(|name| at.mnemonic.contains(name)) {
            (state.carry, state.flags) = (true, true);
        } else if let Some(destination) = at.operands.first() {
            let mut value = Value::Secret;
            for &source in &at.operands[1..] {
                value = self.read(state, at, source);
            }
            if !is_copy(at) {
                value = Value::Secret;
            }
            self.check_field(at, state, *destination, value);
            write(state, *destination, value);
        }
    }

    /// Reports a secret that is stored in a struct: a later read would take it for public.
    pub(super) fn check_field(
        &mut self,
        at: &Instruction,
        state: &State,
        to: Operand,
        value: Value,
    ) {
        if let Operand::Memory(memory) = to
            && state.structure(memory).is_some()
            && value.is_secret()
        {
            self.find(at, "a secret goes into a struct whose fields are public");
        }
    }

    pub(super) fn general(&mut self, at: &Instruction, state: &mut State) {
        let name = at.mnemonic.as_str();
        let operands = &at.operands[..];
        let same = operands.len() == 2 && operands[0] == operands[1];
        match (name, operands) {
            ("xor" | "sub", [destination, _]) if same => {
                (state.carry, state.flags) = (false, false);
                write(state, *destination, Value::Public);
                if let Operand::Gpr(register, _) = destination {
                    state.bytes[*register] = Some(0);
                }
            }
            ("add" | "sub", [Operand::Gpr(register, 8), source])
                if self.moved(state, at, *register, *source).is_some() =>
            {
                let moved = self.moved(state, at, *register, *source);
                state.set(*register, moved.map_or(Value::Public, Value::Struct));
                (state.carry, state.flags) = (false, false);
            }
            ("lea", [destination, Operand::Memory(memory)]) => {
                let value = self.address(state, *memory);
                write(state, *destination, value);
            }
            ("add" | "sub" | "and", [Operand::Gpr(register, 8), Operand::Immediate(number)])
                if matches!(state.register(*register), Value::Frame(_)) =>
            {
                let Value::Frame(place) = state.register(*register) else { return };
                let place = match name {
                    "add" => place.at(*number),
                    "sub" => place.at(number.wrapping_neg()),
                    _ => Place { alignments: place.alignments + 1, offset: 0 },
                };
                state.set(*register, Value::Frame(place));
                (state.carry, state.flags) = (false, false);
            }
            ("cmp" | "test" | "bt", sources) => {
                let secret = self.any_secret(state, at, sources);
                (state.carry, state.flags) = (secret, secret);
                if let ("test", [Operand::Gpr(register, 1), Operand::Immediate(mask)]) =
                    (name, sources)
                {
                    let mask = mask.to_le_bytes()[0];
                    state.zero = state.bytes[*register].map(|byte| byte & mask == 0);
                }
            }
            ("mul" | "div" | "idiv", [source]) | ("imul", [source]) => {
                let secret = self.any_secret(state, at, &[*source])
                    | self.register(state, RAX).is_secret()
                    | (name != "mul" && self.register(state, RDX).is_secret());
                if secret && name.ends_with("div") {
                    self.find(at, "the time of a division depends on a secret");
                }
                state.set(RAX, Value::secret_if(secret));
                state.set(RDX, Value::secret_if(secret));
                (state.carry, state.flags) = (secret, secret);
            }
            ("mulx", [high, low, source]) => {
                let secret =
                    self.any_secret(state, at, &[*source]) | self.register(state, RDX).is_secret();
                write(state, *low, Value::secret_if(secret));
                write(state, *high, Value::secret_if(secret));
            }
            ("xchg", [a, b]) => {
                let (x, y) = (self.read(state, at, *a), self.read(state, at, *b));
                write(state, *a, y);
                write(state, *b, x);
            }
            ("cqo" | "cdq", []) => {
                let sign = plain(self.register(state, RAX));
                state.set(RDX, sign);
            }
            ("cdqe" | "cwde", []) => {}
            ("mov" | "movabs" | "movzx" | "movsx" | "movsxd", [destination, source]) => {
                let value = self.read(state, at, *source);
                let whole = match source {
                    Operand::Gpr(_, bytes) => *bytes == 8,
                    Operand::Memory(memory) => memory.bytes == 8,
                    _ => false,
                };
                let value = if whole { value } else { plain(value) };
                let byte = match source {
                    Operand::Immediate(number) => Some(number.to_le_bytes()[0]),
                    Operand::Gpr(register, _) if name == "mov" => state.bytes[*register],
                    _ => None,
                };
                let lowest = match source {
                    Operand::Gpr(from, _) => Some(state.part_is_secret(*from, 1)),
                    _ => None,
                };
                self.check_field(at, state, *destination, value);
                write(state, *destination, value);
                if let Operand::Gpr(register, _) = destination {
                    state.bytes[*register] = byte;
                    if let Some(secret) = lowest.filter(|_| name == "mov") {
                        state.lowest[*register] = secret;
                    }
                }
            }
            _ => self.arithmetic(at, state),
        }
    }

    /// Executes an instruction that computes one value from its sources and, depending on the
    /// instruction, from its destination and the flags.
    fn arithmetic(&mut self, at: &Instruction, state: &mut State) {
        let Some((destination, sources)) = at.operands.split_first() else {
            return self.find(at, "an instruction that this audit does not know");
        };
        let mut secret = self.any_secret(state, at, sources);
        let destination_secret =
            |walk: &mut Self, state: &State| walk.any_secret(state, at, &[*destination]);
        match at.mnemonic.as_str() {
            "add" | "sub" | "and" | "or" | "xor" | "shl" | "sal" | "shr" | "sar" | "shld"
            | "shrd" | "rol" | "ror" | "neg" => {
                secret |= destination_secret(self, state);
                (state.carry, state.flags) = (secret, secret);
            }
            "imul" => {
                secret |= at.operands.len() == 2 && destination_secret(self, state);
                (state.carry, state.flags) = (secret, secret);
            }
            "adc" | "sbb" => {
                // x - x - carry depends on the carry only
                let same = at.operands.len() == 2 && at.operands[0] == at.operands[1];
                secret = state.carry || !same && (secret || destination_secret(self, state));
                (state.carry, state.flags) = (secret, secret);
            }
            "rcl" | "rcr" => {
                secret |= destination_secret(self, state) || state.carry;
                (state.carry, state.flags) = (secret, secret);
            }
            "adcx" => {
                secret |= destination_secret(self, state) || state.carry;
                state.carry = secret;
            }
            "adox" => {
                secret |= destination_secret(self, state) || state.flags;
                state.flags = secret;
            }
            "inc" | "dec" => {
                secret |= destination_secret(self, state);
                state.flags = secret;
            }
            "not" | "bswap" => secret |= destination_secret(self, state),
            "rorx" | "shlx" | "shrx" | "sarx" => {}
            "andn" | "bzhi" | "bextr" | "blsr" | "blsi" | "popcnt" | "lzcnt" | "tzcnt" => {
                (state.carry, state.flags) = (secret, secret);
            }
            name if name.starts_with("set") => secret = state.carry || state.flags,
            name if name.starts_with("cmov") => {
                secret |= destination_secret(self, state) || state.carry || state.flags;
            }
            _ => return self.find(at, "an instruction that this audit does not know"),
        }
        self.check_field(at, state, *destination, Value::secret_if(secret));
        write(state, *destination, Value::secret_if(secret));
    }

    /// Returns a pointer to a struct that was moved by a public number.
    pub(super) fn moved(
        &mut self,
        state: &State,
        at: &Instruction,
        register: Gpr,
        source: Operand,
    ) -> Option<Struct> {
        match (at.mnemonic.as_str(), self.register(state, register), self.read(state, at, source)) {
            (_, Value::Struct(structure), Value::Public)
            | ("add", Value::Public, Value::Struct(structure)) => Some(structure),
            _ => None,
        }
    }

    pub(super) fn any_secret(
        &mut self,
        state: &State,
        at: &Instruction,
        sources: &[Operand],
    ) -> bool {
        let values = sources.iter().map(|&source| self.read(state, at, source).is_secret());
        values.fold(false, |any, secret| any | secret)
    }

    /// Returns the value of a register. Marks an argument as read.
    pub(super) fn register(&mut self, state: &State, register: Gpr) -> Value {
        if state.is_argument(register) {
            self.seen.reads.insert(register);
        }
        state.register(register)
    }

    pub(super) fn read(&mut self, state: &State, at: &Instruction, operand: Operand) -> Value {
        match operand {
            Operand::Gpr(register, 8) => self.register(state, register),
            Operand::Gpr(register, bytes) => {
                self.register(state, register);
                Value::secret_if(state.part_is_secret(register, bytes))
            }
            Operand::Immediate(_) => Value::Public,
            Operand::Vector(register) => state.vector(register),
            // constants of the program are addressed relative to the instruction pointer
            Operand::Memory(memory) if memory.base.is_none() && at.target.is_some() => {
                let slot =
                    at.target.filter(|slot| memory.bytes == 8 && self.program.is_slot(*slot));
                slot.map_or(Value::Public, Value::Code)
            }
            Operand::Memory(memory) => {
                if let Some(Struct { argument, .. }) = state.structure(memory) {
                    self.seen.through.insert(argument);
                }
                state.load(memory)
            }
        }
    }

    /// Returns the address that `lea` computes.
    pub(super) fn address(&mut self, state: &State, memory: Memory) -> Value {
        if let Some(place) = state.place(memory) {
            return Value::Frame(place);
        }
        if let Some(structure) = state.structure(memory) {
            return Value::Struct(structure);
        }
        let registers = [memory.base, memory.index].into_iter().flatten();
        let values = registers.map(|register| self.register(state, register).is_secret());
        Value::secret_if(values.fold(false, |any, secret| any | secret))
    }
}

pub(super) fn write(state: &mut State, operand: Operand, value: Value) {
    match operand {
        Operand::Gpr(register, bytes @ (1 | 2)) => {
            state.set_part(register, bytes, value.is_secret());
        }
        Operand::Gpr(register, 4) => state.set(register, plain(value)),
        Operand::Gpr(register, _) => state.set(register, value),
        Operand::Memory(memory) => state.store(memory, value),
        Operand::Vector(register) => state.set_vector(register, value),
        Operand::Immediate(_) => {}
    }
}

pub(super) fn move_stack(state: &mut State, bytes: i64) {
    if let Value::Frame(place) = state.register(RSP) {
        state.set(RSP, Value::Frame(place.at(bytes)));
    }
}

/// Returns the operand at the top of the stack.
pub(super) fn top(bytes: u32) -> Memory {
    Memory { base: Some(RSP), bytes, ..Memory::default() }
}

/// Returns the value after truncation or arithmetic. An address of the frame becomes an ordinary
/// public number.
fn plain(value: Value) -> Value {
    Value::secret_if(value.is_secret())
}

/// Returns whether an instruction copies whole words between vectors and memory, without a mask.
fn is_copy(at: &Instruction) -> bool {
    let moves = ["vmovdq", "vmovup", "vmovap", "movup", "movap", "movdq"];
    let masked = at.text.contains('{');
    at.operands.len() == 2 && !masked && moves.iter().any(|name| at.mnemonic.starts_with(name))
}

/// Returns whether a mask decides which words of memory an instruction loads or stores. A load of
/// none does not set the page's accessed bit, and takes longer while the bit is clear; a load after
/// a store takes longer for some masks.
fn accesses_by_mask(at: &Instruction) -> bool {
    let masks = ["{k", "vpmaskmov", "vmaskmov", "vpcompress", "vpexpand"];
    let memory = |operand: &Operand| matches!(operand, Operand::Memory(m) if !m.vector_index);
    masks.iter().any(|mask| at.text.contains(mask)) && at.operands.iter().any(memory)
}

/// Returns whether an instruction belongs to the vector and mask units.
pub(super) fn is_vector(at: &Instruction) -> bool {
    at.operands.iter().any(|operand| matches!(operand, Operand::Vector(_)))
}
