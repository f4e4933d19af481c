//! Follows what is public through a function, and finds what must be public and is not.
//!
//! Public are the arguments of a kernel (lengths and pointers; the table of kernels names those
//! that are not), constants, what is computed of these, and where it is kept on the stack. All else
//! is secret: everything read through a pointer, and all vectors and masks.

use std::collections::{BTreeMap, BTreeSet};

use super::state::{Place, State, Value};
use crate::machine_code::instruction::{
    Gpr, Instruction, Memory, Operand, RAX, RCX, RDI, RDX, RSI, RSP,
};
use crate::machine_code::{Function, Program};

/// The registers of arguments, in their order.
pub(crate) const ARGUMENTS: [Gpr; 6] = [RDI, RSI, RDX, RCX, 8, 9];
/// What a call may change.
const VOLATILE: [Gpr; 9] = [RAX, RCX, RDX, RSI, RDI, 8, 9, 10, 11];

/// What the audit saw in a function.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// By address and kind, so that a loop says it once.
    pub(crate) findings: BTreeSet<(u64, String)>,
    /// Conditional jumps, all on public values if there is no finding.
    pub(crate) branches: BTreeSet<u64>,
    /// Instructions with an operand on the stack; pushes and pops are none.
    pub(crate) stack: BTreeSet<u64>,
    /// Argument registers, and places above the return address, that are read.
    pub(crate) reads: BTreeSet<Gpr>,
    pub(crate) reads_stack: BTreeSet<i64>,
    /// Calls of functions of the program: name, and what was secret then.
    pub(crate) calls: BTreeMap<u64, Call>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) callee: String,
    pub(crate) secret: BTreeSet<Gpr>,
    /// The state, of which the callee's stack arguments are read.
    state: State,
    /// Bytes from the callee's stack pointer on entry to the caller's now.
    pushed: i64,
}

impl Call {
    /// Whether the callee would find a secret so far above its stack pointer.
    pub(crate) fn stack_is_secret(&self, offset: i64) -> bool {
        let Value::Frame(top) = self.state.register(RSP) else { return true };
        self.state.slot(top.at(offset - self.pushed)).is_secret()
    }
}

/// Where control goes after an instruction.
enum Next {
    On,
    Jump(u64),
    Either(u64),
    End,
}

struct Walk<'a> {
    program: &'a Program,
    first: u64,
    last: u64,
    seen: Seen,
}

/// Follows a function from its entry, where `secrets` hold what must not be public.
pub(crate) fn follow(
    program: &Program,
    function: &Function,
    secret: &[Gpr],
    secret_stack: &[i64],
) -> Seen {
    let code = &function.code;
    let (Some(first), Some(last)) = (code.first(), code.last()) else { return Seen::default() };
    let at: BTreeMap<u64, usize> = code.iter().enumerate().map(|(i, c)| (c.address, i)).collect();
    let mut walk =
        Walk { program, first: first.address, last: last.address, seen: Seen::default() };
    let mut states: Vec<Option<State>> = vec![None; code.len()];
    states[0] = Some(State::on_entry(&ARGUMENTS, secret_stack, secret));
    let mut work = vec![0];
    while let Some(i) = work.pop() {
        let Some(mut state) = states[i].clone() else { continue };
        let next = walk.step(&code[i], &mut state);
        let target = |address: &u64| at.get(address).copied();
        let ways = match next {
            Next::On => vec![Some(i + 1)],
            Next::Jump(address) => vec![target(&address)],
            Next::Either(address) => vec![Some(i + 1), target(&address)],
            Next::End => vec![],
        };
        for way in ways {
            match way.and_then(|way| Some((way, states.get_mut(way)?))) {
                None => walk.find(&code[i], "goes on where there is no instruction"),
                Some((way, seen @ None)) => {
                    *seen = Some(state.clone());
                    work.push(way);
                }
                Some((way, Some(seen))) => {
                    if seen.join(&state) {
                        work.push(way);
                    }
                }
            }
        }
    }
    walk.seen
}

impl Walk<'_> {
    fn find(&mut self, at: &Instruction, what: &str) {
        self.seen.findings.insert((at.address, format!("{what}: {}", at.text)));
    }

    fn step(&mut self, at: &Instruction, state: &mut State) -> Next {
        let name = at.mnemonic.as_str();
        if let Some(memory) = at.memory()
            && !matches!(name, "lea" | "nop")
        {
            self.check_address(at, state, memory);
        }
        match name {
            "ret" | "int3" | "ud2" => return Next::End,
            "jmp" => return self.jump(at, state),
            "call" => return self.call(at, state),
            _ if at.is_jump() => return self.branch(at, state),
            "nop" | "endbr64" | "vzeroupper" => {}
            "push" => {
                let value = self.read(state, at, at.operands[0]);
                move_stack(state, -8);
                state.store(top(8), value);
            }
            "pop" => {
                let value = state.load(top(8));
                move_stack(state, 8);
                write(state, at.operands[0], value);
            }
            "movs" | "stos" if at.repeated => {
                for register in [RCX, RDI, RSI] {
                    let unread = name == "stos" && register == RSI;
                    if !unread && self.register(state, register).is_secret() {
                        self.find(at, "an address or length depends on a secret");
                    }
                }
            }
            _ if is_vector(at) => self.vector(at, state),
            _ => self.general(at, state),
        }
        Next::On
    }

    fn check_address(&mut self, at: &Instruction, state: &State, memory: Memory) {
        if memory.vector_index {
            self.find(at, "a gather or scatter");
        }
        for register in [memory.base, memory.index].into_iter().flatten() {
            if self.register(state, register).is_secret() {
                self.find(at, "an address depends on a secret");
            }
        }
        if state.is_frame(memory) {
            self.seen.stack.insert(at.address);
        }
        if let Some(place) = state.place(memory)
            && (place.alignments, place.offset >= 8) == (0, true)
        {
            self.seen.reads_stack.insert(place.offset);
        }
    }

    fn branch(&mut self, at: &Instruction, state: &State) -> Next {
        self.seen.branches.insert(at.address);
        let secret = match at.mnemonic.as_str() {
            "jb" | "jae" => state.carry,
            "ja" | "jbe" => state.carry || state.flags,
            "jrcxz" | "jecxz" => state.register(RCX).is_secret(),
            _ => state.flags,
        };
        if secret {
            self.find(at, "a branch depends on a secret");
        }
        at.target.map_or(Next::On, Next::Either)
    }

    fn jump(&mut self, at: &Instruction, state: &State) -> Next {
        match at.target {
            Some(target) if (self.first..=self.last).contains(&target) => Next::Jump(target),
            Some(target) => {
                self.call_to(at, state, target, 0);
                Next::End
            }
            None => {
                self.find(at, "a jump to a computed address");
                Next::End
            }
        }
    }

    fn call(&mut self, at: &Instruction, state: &mut State) -> Next {
        let returns = match at.target {
            Some(target) => self.call_to(at, state, target, 8),
            None => {
                self.find(at, "a call of a computed address");
                true
            }
        };
        for register in VOLATILE {
            state.set(register, Value::Secret);
        }
        (state.carry, state.flags) = (true, true);
        if returns { Next::On } else { Next::End }
    }

    /// Notes the call; whether it returns.
    fn call_to(&mut self, at: &Instruction, state: &State, target: u64, pushed: i64) -> bool {
        let Some(callee) = self.program.callee(target).map(str::to_owned) else {
            self.find(at, "a call of what has no name");
            return true;
        };
        let secret = |register: &Gpr| state.register(*register).is_secret();
        if matches!(callee.as_str(), "memset" | "memcpy" | "memmove" | "bzero") {
            // bzero has its length in rsi; the byte of memset is data
            let places: &[Gpr] = match callee.as_str() {
                "memset" => &[RDI, RDX],
                "bzero" => &[RDI, RSI],
                _ => &[RDI, RSI, RDX],
            };
            if places.iter().any(secret) {
                self.find(at, "an address or length depends on a secret");
            }
            places.iter().for_each(|&register| {
                self.register(state, register);
            });
            return true;
        }
        if never_returns(&callee) {
            return false;
        }
        // an argument that is passed on untouched is read by the callee, and counts as read here
        for register in ARGUMENTS {
            self.register(state, register);
        }
        let secret = ARGUMENTS.into_iter().filter(secret).collect();
        let call = Call { callee, secret, state: state.clone(), pushed };
        self.seen.calls.insert(at.address, call);
        true
    }

    /// Instructions on vectors and masks: what they put into a general register or the flags is
    /// secret.
    fn vector(&mut self, at: &Instruction, state: &mut State) {
        let compares = ["ptest", "comis", "ktest", "kortest"];
        if compares.iter().any(|name| at.mnemonic.contains(name)) {
            (state.carry, state.flags) = (true, true);
        } else if let Some(destination) = at.operands.first() {
            for &source in &at.operands[1..] {
                self.read(state, at, source);
            }
            write(state, *destination, Value::Secret);
        }
    }

    fn general(&mut self, at: &Instruction, state: &mut State) {
        let name = at.mnemonic.as_str();
        let operands = &at.operands[..];
        let same = operands.len() == 2 && operands[0] == operands[1];
        match (name, operands) {
            ("xor" | "sub", [destination, _]) if same => {
                (state.carry, state.flags) = (false, false);
                write(state, *destination, Value::Public);
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
            }
            ("mul" | "div" | "idiv", [source]) | ("imul", [source]) => {
                let secret = self.any_secret(state, at, &[*source])
                    | self.register(state, RAX).is_secret()
                    | (name != "mul" && self.register(state, RDX).is_secret());
                if secret && name.ends_with("div") {
                    self.find(at, "a division of a secret takes as long as it will");
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
                let value = if matches!(source, Operand::Gpr(_, 8)) { value } else { plain(value) };
                write(state, *destination, value);
            }
            _ => self.arithmetic(at, state),
        }
    }

    /// What reads all its sources, perhaps its destination and flags, and makes one value of them.
    fn arithmetic(&mut self, at: &Instruction, state: &mut State) {
        let Some((destination, sources)) = at.operands.split_first() else {
            return self.find(at, "an instruction that this audit does not know");
        };
        let mut secret = self.any_secret(state, at, sources);
        let own = |walk: &mut Self, state: &State| walk.any_secret(state, at, &[*destination]);
        match at.mnemonic.as_str() {
            "add" | "sub" | "and" | "or" | "xor" | "shl" | "sal" | "shr" | "sar" | "shld"
            | "shrd" | "rol" | "ror" | "neg" => {
                secret |= own(self, state);
                (state.carry, state.flags) = (secret, secret);
            }
            "imul" => {
                secret |= at.operands.len() == 2 && own(self, state);
                (state.carry, state.flags) = (secret, secret);
            }
            "adc" | "sbb" => {
                // x - x - carry depends on the carry alone
                let same = at.operands.len() == 2 && at.operands[0] == at.operands[1];
                secret = state.carry || !same && (secret || own(self, state));
                (state.carry, state.flags) = (secret, secret);
            }
            "adcx" => {
                secret |= own(self, state) || state.carry;
                state.carry = secret;
            }
            "adox" => {
                secret |= own(self, state) || state.flags;
                state.flags = secret;
            }
            "inc" | "dec" => {
                secret |= own(self, state);
                state.flags = secret;
            }
            "not" | "bswap" => secret |= own(self, state),
            "rorx" | "shlx" | "shrx" | "sarx" => {}
            "andn" | "bzhi" | "bextr" | "blsr" | "blsi" | "popcnt" | "lzcnt" | "tzcnt" => {
                (state.carry, state.flags) = (secret, secret);
            }
            name if name.starts_with("set") => secret = state.carry || state.flags,
            name if name.starts_with("cmov") => {
                secret |= own(self, state) || state.carry || state.flags;
            }
            _ => return self.find(at, "an instruction that this audit does not know"),
        }
        write(state, *destination, Value::secret_if(secret));
    }

    fn any_secret(&mut self, state: &State, at: &Instruction, sources: &[Operand]) -> bool {
        let values = sources.iter().map(|&source| self.read(state, at, source).is_secret());
        values.fold(false, |any, secret| any | secret)
    }

    /// A register's value; an argument counts as read.
    fn register(&mut self, state: &State, register: Gpr) -> Value {
        if state.is_argument(register) {
            self.seen.reads.insert(register);
        }
        state.register(register)
    }

    fn read(&mut self, state: &State, at: &Instruction, operand: Operand) -> Value {
        match operand {
            Operand::Gpr(register, 8) => self.register(state, register),
            Operand::Gpr(register, bytes) => {
                self.register(state, register);
                Value::secret_if(state.part_is_secret(register, bytes))
            }
            Operand::Immediate(_) => Value::Public,
            Operand::Vector => Value::Secret,
            // constants of the program stand beside the instruction pointer
            Operand::Memory(memory) if memory.base.is_none() && at.target.is_some() => {
                Value::Public
            }
            Operand::Memory(memory) => state.load(memory),
        }
    }

    /// What `lea` computes.
    fn address(&mut self, state: &State, memory: Memory) -> Value {
        if let Some(place) = state.place(memory) {
            return Value::Frame(place);
        }
        let registers = [memory.base, memory.index].into_iter().flatten();
        let values = registers.map(|register| self.register(state, register).is_secret());
        Value::secret_if(values.fold(false, |any, secret| any | secret))
    }
}

fn write(state: &mut State, operand: Operand, value: Value) {
    match operand {
        Operand::Gpr(register, bytes @ (1 | 2)) => {
            state.set_part(register, bytes, value.is_secret());
        }
        Operand::Gpr(register, 4) => state.set(register, plain(value)),
        Operand::Gpr(register, _) => state.set(register, value),
        Operand::Memory(memory) => state.store(memory, value),
        Operand::Vector | Operand::Immediate(_) => {}
    }
}

fn move_stack(state: &mut State, bytes: i64) {
    if let Value::Frame(place) = state.register(RSP) {
        state.set(RSP, Value::Frame(place.at(bytes)));
    }
}

/// The operand at the top of the stack.
fn top(bytes: u32) -> Memory {
    Memory { base: Some(RSP), bytes, ..Memory::default() }
}

/// An address of the frame that was cut or computed with is any public number.
fn plain(value: Value) -> Value {
    Value::secret_if(value.is_secret())
}

/// Whether an instruction belongs to the vector and mask units.
fn is_vector(at: &Instruction) -> bool {
    at.operands.iter().any(|operand| matches!(operand, Operand::Vector))
}

/// Panics: a public check failed.
fn never_returns(callee: &str) -> bool {
    ["panic", "_fail", "unwrap_failed", "expect_failed"].iter().any(|word| callee.contains(word))
}
