//! Follows public values through a function. Finds the places that need a public value but get a
//! secret one.
//!
//! The following values are public:
//!
//! * the arguments of a kernel (lengths and pointers), except those that the table of kernels
//!   declares secret;
//! * constants, values computed from public values, and their copies on the stack;
//! * fields of structs, if the table declares that an argument points to the struct (see
//!   [`super::state::Struct`]), and their copies in vectors.
//!
//! All other memory, other vectors, and masks are secret.
//!
//! A part is a closure, or a library function instantiated for one. The audit follows a part at
//! each call, path by path, with the state of that call.

use std::collections::{BTreeMap, BTreeSet};

use super::state::{State, Value};
use crate::kernels::{self, Row};
use crate::machine_code::instruction::{
    Gpr, Instruction, Memory, Operand, RAX, RCX, RDI, RDX, RSI, RSP,
};
use crate::machine_code::{Function, Program};

mod values;

use values::{is_vector, move_stack, top, write};

/// The registers of arguments, in order.
pub(crate) const ARGUMENTS: [Gpr; 6] = [RDI, RSI, RDX, RCX, 8, 9];
/// Registers that a call may change.
const VOLATILE: [Gpr; 9] = [RAX, RCX, RDX, RSI, RDI, 8, 9, 10, 11];

/// The audit's observations in a function.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Keyed by address and text: a finding in a loop is reported only once.
    pub(crate) findings: BTreeSet<(u64, String)>,
    /// Arguments that are read: registers, and places above the return address.
    pub(crate) reads: BTreeSet<Gpr>,
    pub(crate) reads_stack: BTreeSet<i64>,
    /// Arguments that are passed unchanged to a callee, with the callee's address.
    pub(crate) passed: BTreeSet<(u64, Gpr)>,
    /// Arguments that point to structs and are used: to read a field, or as an argument of a
    /// callee.
    pub(crate) through: BTreeSet<Gpr>,
    /// Calls of functions of the program, with the state at the call.
    pub(crate) calls: BTreeMap<u64, Call>,
    /// Addresses of the parts that were followed at their calls.
    pub(crate) parts: BTreeSet<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) callee: String,
    /// The callee's address.
    pub(crate) address: u64,
    pub(crate) secret: BTreeSet<Gpr>,
    /// The state of the caller, which contains the callee's stack arguments.
    state: State,
    /// The number of bytes between the callee's stack pointer on entry and the caller's stack
    /// pointer at the call.
    pushed: i64,
}

impl Call {
    /// Returns whether the callee finds a secret at this offset above its stack pointer.
    pub(crate) fn stack_is_secret(&self, offset: i64) -> bool {
        let Value::Frame(top) = self.state.register(RSP) else { return true };
        self.state.slot(top.at(offset - self.pushed)).is_secret()
    }

    /// Returns whether an argument points to a struct of this depth: either a struct that the
    /// caller received, or one on the caller's stack whose first field is public.
    pub(crate) fn is_struct(&self, register: Gpr, depth: u8) -> bool {
        let deep = |value: Value, depth: u8| match value {
            Value::Struct(structure) => structure.depth >= depth,
            value => depth == 0 && !value.is_secret(),
        };
        match self.state.register(register) {
            Value::Frame(place) => {
                let field = self.state.slot(place);
                deep(field, depth - 1) || matches!(field, Value::Frame(_))
            }
            value => deep(value, depth),
        }
    }
}

/// Where execution continues after an instruction.
enum Next {
    On,
    Jump(u64),
    Either(u64),
    End,
}

/// Maximum nesting of parts, such as a closure in a library function instantiated for it.
const DEPTH_MAX: usize = 4;
/// Maximum number of instructions on all paths through a part.
const STEPS_MAX: usize = 1000;

struct Walk<'a> {
    program: &'a Program,
    rows: &'a [Row],
    /// The first and last address of the function or part that is being followed.
    bounds: (u64, u64),
    /// Nesting of parts.
    depth: usize,
    /// The joined states at the function's returns.
    returns: Option<State>,
    seen: Seen,
}

/// Follows a function from its entry. Its row names secret arguments and structs.
pub(crate) fn follow(program: &Program, rows: &[Row], function: &Function, row: &Row) -> Seen {
    let seen = Seen::default();
    let mut walk = Walk { program, rows, bounds: (0, 0), depth: 0, returns: None, seen };
    walk.run(function, State::on_entry(&ARGUMENTS, row));
    walk.seen
}

impl Walk<'_> {
    /// Follows all paths from here until nothing changes.
    fn run(&mut self, function: &Function, entry: State) {
        let code = &function.code;
        let (Some(first), Some(last)) = (code.first(), code.last()) else { return };
        self.bounds = (first.address, last.address);
        let at: BTreeMap<u64, usize> =
            code.iter().enumerate().map(|(i, c)| (c.address, i)).collect();
        let mut states: Vec<Option<State>> = vec![None; code.len()];
        // Follow each path of a part separately: a loop over two streams then runs exactly twice.
        let mut paths = Vec::new();
        let mut left = STEPS_MAX;
        states[0] = Some(entry.clone());
        paths.push(entry);
        let mut work = vec![0];
        while let Some(i) = work.pop() {
            let path = if self.depth > 0 { paths.pop() } else { states[i].clone() };
            let Some(mut state) = path else { continue };
            left -= usize::from(self.depth > 0);
            if left == 0 {
                return self.find(
                    &code[i],
                    "a closure with more instructions on its paths than this audit follows",
                );
            }
            let next = self.step(&code[i], &mut state);
            let target = |address: &u64| at.get(address).copied();
            let ways = match next {
                Next::On => vec![Some(i + 1)],
                Next::Jump(address) => vec![target(&address)],
                Next::Either(address) => vec![Some(i + 1), target(&address)],
                Next::End => vec![],
            };
            for way in ways {
                match way.and_then(|way| Some((way, states.get_mut(way)?))) {
                    Some((way, _)) if self.depth > 0 => {
                        paths.push(state.clone());
                        work.push(way);
                    }
                    None => self.find(&code[i], "control leaves the function"),
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
    }

    /// Follows a part at its call, as if the part were inlined. Returns false if it never returns.
    fn run_part(&mut self, at: &Instruction, part: &Function, state: &mut State) -> bool {
        if self.depth == DEPTH_MAX {
            self.find(at, "closures nested deeper than this audit follows");
            return true;
        }
        let (bounds, returns) = (self.bounds, self.returns.take());
        self.depth += 1;
        self.run(part, state.clone());
        self.depth -= 1;
        let returned = core::mem::replace(&mut self.returns, returns);
        self.bounds = bounds;
        returned.map(|returned| *state = returned).is_some()
    }

    fn returned(&mut self, state: &State) {
        self.returns.get_or_insert_with(|| state.clone()).join(state);
    }

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
        if !at.is_jump() && !matches!(name, "mov" | "lea" | "nop" | "push" | "pop") {
            state.zero = None;
        }
        match name {
            "ret" => {
                self.returned(state);
                return Next::End;
            }
            "int3" | "ud2" => return Next::End,
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
        if let Some(place) = state.place(memory)
            && (place.alignments, place.offset >= 8) == (0, true)
        {
            self.seen.reads_stack.insert(place.offset);
        }
    }

    fn branch(&mut self, at: &Instruction, state: &State) -> Next {
        let secret = match at.mnemonic.as_str() {
            "jb" | "jae" => state.carry,
            "ja" | "jbe" => state.carry || state.flags,
            "jrcxz" | "jecxz" => state.register(RCX).is_secret(),
            _ => state.flags,
        };
        if secret {
            self.find(at, "a branch depends on a secret");
        }
        match (at.target, state.zero, at.mnemonic.as_str()) {
            (None, ..) | (_, Some(false), "je") | (_, Some(true), "jne") => Next::On,
            (Some(target), Some(true), "je") | (Some(target), Some(false), "jne") => {
                Next::Jump(target)
            }
            (Some(target), ..) => Next::Either(target),
        }
    }

    /// Returns the target of a jump or call: an address, a slot, or a value loaded from a slot.
    fn target(&mut self, at: &Instruction, state: &State) -> Option<u64> {
        match at.operands[..] {
            [Operand::Gpr(register, 8)] => match self.register(state, register) {
                Value::Code(slot) => Some(slot),
                _ => None,
            },
            _ => at.target,
        }
    }

    fn jump(&mut self, at: &Instruction, state: &mut State) -> Next {
        match self.target(at, state) {
            Some(target) if (self.bounds.0..=self.bounds.1).contains(&target) => Next::Jump(target),
            Some(target) => {
                let program = self.program;
                if let Some(part) = program.parts.get(&program.address(target)) {
                    self.seen.parts.insert(program.address(target));
                    if self.run_part(at, part, state) {
                        self.returned(state);
                    }
                } else {
                    self.call_to(at, state, target, 0);
                    forget(state);
                    self.returned(state);
                }
                Next::End
            }
            None => {
                self.find(at, "a jump to a computed address");
                Next::End
            }
        }
    }

    fn call(&mut self, at: &Instruction, state: &mut State) -> Next {
        let target = self.target(at, state);
        let program = self.program;
        let address = target.map(|target| program.address(target));
        if let Some((address, part)) = address.and_then(|at| Some((at, program.parts.get(&at)?))) {
            self.seen.parts.insert(address);
            move_stack(state, -8); // the return address
            state.store(top(8), Value::Public);
            let returns = self.run_part(at, part, state);
            move_stack(state, 8);
            return if returns { Next::On } else { Next::End };
        }
        let returns = match target {
            Some(target) => self.call_to(at, state, target, 8),
            None => {
                self.find(at, "a call of a computed address");
                true
            }
        };
        forget(state);
        if returns { Next::On } else { Next::End }
    }

    /// Records the call. Returns false if the callee never returns.
    fn call_to(&mut self, at: &Instruction, state: &State, target: u64, pushed: i64) -> bool {
        let Some(callee) = self.program.callee(target).map(str::to_owned) else {
            self.find(at, "a call of a function without a name");
            return true;
        };
        let secret = |register: &Gpr| state.register(*register).is_secret();
        if matches!(callee.as_str(), "memset" | "memcpy" | "memmove" | "bzero") {
            // Registers that must be public: pointers and lengths. The byte of memset is data.
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
        let row = kernels::declared(self.rows, &callee).map(|(row, _)| row);
        for (register, _) in row.iter().flat_map(|row| row.structs) {
            if let Value::Struct(structure) = state.register(*register) {
                self.seen.through.insert(structure.argument);
            }
        }
        let untouched = ARGUMENTS.into_iter().filter(|register| state.is_argument(*register));
        let address = self.program.address(target);
        self.seen.passed.extend(untouched.map(|register| (address, register)));
        let secret = ARGUMENTS.into_iter().filter(secret).collect();
        let call = Call { callee, address, secret, state: state.clone(), pushed };
        self.seen.calls.insert(at.address, call);
        true
    }
}

/// Forgets everything that a callee may change.
fn forget(state: &mut State) {
    for register in VOLATILE {
        state.set(register, Value::Secret);
    }
    state.forget_vectors();
    (state.carry, state.flags) = (true, true);
}

/// Returns whether a callee is a panic, after a failed check of public values.
fn never_returns(callee: &str) -> bool {
    ["panic", "_fail", "unwrap_failed", "expect_failed"].iter().any(|word| callee.contains(word))
}
