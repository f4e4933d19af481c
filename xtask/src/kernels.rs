//! The declarations that `audit` compares with the machine code of the kernels: a row for each
//! function of the modules of kernels.

use core::fmt;

use crate::machine_code::Function;
use crate::machine_code::instruction::{Gpr, Instruction};

mod table;
pub(crate) mod work;

pub(crate) use table::TABLE;

/// The module of the kernels of Montgomery products.
pub(crate) const MONT: &str = "tollgate_mont::kernels::";

/// All modules of kernels.
pub(crate) const PREFIXES: [&str; 3] =
    [MONT, "tollgate_curves::kernels::", "tollgate_curves::p256::kernels::"];

/// Returns the name below the module of kernels, if it is in one.
pub(crate) fn below(name: &str) -> Option<&str> {
    PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))
}

/// The declaration of a kernel, or of a tile that a kernel calls.
pub(crate) struct Row {
    /// Module and function, below one of [`PREFIXES`].
    pub(crate) path: &'static str,
    /// Arguments that are passed by value and secret. All others are public: lengths and pointers.
    pub(crate) secret: &'static [Gpr],
    /// Secret arguments on the stack, as offsets in bytes above the stack pointer on entry.
    pub(crate) secret_stack: &'static [i64],
    /// Arguments that point to structs of pointers and lengths, with a depth. Depth 1 is a struct
    /// or an array of structs, depth 2 an array of pointers to structs. The audit takes the fields
    /// for public.
    pub(crate) structs: &'static [(Gpr, u8)],
    /// Generic parameters of the instances, as written between `<` and `>`, with `; ` between
    /// instances. Empty if the function has no parameters.
    pub(crate) instances: &'static str,
    /// The multiplications of an instance, from its parameters; `false` and `true` are 0 and 1.
    pub(crate) work: fn(&[u64]) -> Work,
}

/// Multiplications of a function: outside loops, and in each pass of a loop. There may be several
/// kinds of passes. LLVM may unroll a loop or move passes out of it; each copy of a pass then
/// counts as a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) once: Multiplies,
    pub(crate) passes: Vec<Multiplies>,
}

/// Counts of the instructions that multiply and of their carry chains, in the order of [`NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Multiplies([u64; 6]);

const NAMES: [&str; 6] = ["vpmadd52luq", "vpmadd52huq", "mulx", "adcx", "adox", "vpmuludq"];

impl Multiplies {
    pub(crate) const NONE: Self = Self([0; 6]);

    /// Returns the counts of low and high halves of products of digits.
    pub(crate) const fn halves(low: u64, high: u64) -> Self {
        Self([low, high, 0, 0, 0, 0])
    }

    /// Returns the counts of products of limbs, and of the steps of both carry chains.
    pub(crate) const fn limbs(mulx: u64, adcx: u64, adox: u64) -> Self {
        Self([0, 0, mulx, adcx, adox, 0])
    }

    /// Returns the count of products of half digits.
    pub(crate) const fn half_digits(vpmuludq: u64) -> Self {
        Self([0, 0, 0, 0, 0, vpmuludq])
    }

    /// Subtracts other counts; `None` if a result would be negative.
    pub(crate) fn less(mut self, other: Self) -> Option<Self> {
        for (count, other) in self.0.iter_mut().zip(other.0) {
            *count = count.checked_sub(other)?;
        }
        Some(self)
    }

    /// Returns the number of all multiplications.
    pub(crate) fn total(self) -> u64 {
        let [low, high, mulx, _, _, vpmuludq] = self.0;
        low + high + mulx + vpmuludq
    }

    /// Counts the multiplications among these instructions.
    pub(crate) fn new<'a>(code: impl Iterator<Item = &'a Instruction>) -> Self {
        let mut counts = Self::NONE;
        for instruction in code {
            // LLVM uses the signed instruction if it knows that no sign bit is set.
            let mnemonic = instruction.mnemonic.replace("vpmuldq", "vpmuludq");
            if let Some(at) = NAMES.iter().position(|name| *name == mnemonic) {
                counts.0[at] += 1;
            }
        }
        counts
    }
}

/// Writes counts such as `20 mulx, 21 adcx`.
impl fmt::Display for Multiplies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = NAMES.into_iter().zip(self.0).filter(|(_, count)| *count > 0);
        let words: Vec<String> = counts.map(|(name, count)| format!("{count} {name}")).collect();
        match words.is_empty() {
            true => f.write_str("no multiplications"),
            false => f.write_str(&words.join(", ")),
        }
    }
}

impl Work {
    /// Creates a function without loops.
    pub(crate) fn once(once: Multiplies) -> Self {
        Self { once, passes: Vec::new() }
    }

    /// Creates a function with one kind of passes and no multiplications outside the loop.
    pub(crate) fn rows(pass: Multiplies) -> Self {
        Self { once: Multiplies::NONE, passes: vec![pass] }
    }
}

impl Row {
    const fn secret(self, secret: &'static [Gpr]) -> Self {
        Self { secret, ..self }
    }

    const fn secret_stack(self, secret_stack: &'static [i64]) -> Self {
        Self { secret_stack, ..self }
    }

    const fn structs(self, structs: &'static [(Gpr, u8)]) -> Self {
        Self { structs, ..self }
    }

    fn instances(&self) -> impl Iterator<Item = &'static str> {
        self.instances.split("; ")
    }

    /// Returns the numbers of a parameter list: 20 and 1 for `20, true`.
    pub(crate) fn numbers(parameters: &str) -> Vec<u64> {
        let number = |word: &str| match word.trim() {
            "true" => 1,
            "false" => 0,
            word => word.parse().unwrap_or(0),
        };
        parameters.split(',').map(number).collect()
    }
}

/// Returns the row for the function of this demangled name, and its generic parameters.
pub(crate) fn declared<'a>(rows: &'a [Row], name: &str) -> Option<(&'a Row, &'static str)> {
    let name = below(name)?;
    let (path, parameters) = match name.split_once("::<") {
        Some((path, rest)) => (path, rest.strip_suffix('>')?),
        None => (name, ""),
    };
    rows.iter()
        .filter(|row| row.path == path)
        .find_map(|row| Some((row, row.instances().find(|instance| *instance == parameters)?)))
}

/// Returns whether a kernel is portable. Memcheck checks portable kernels instead of the audit.
pub(crate) fn is_portable(name: &str) -> bool {
    name.contains("portable")
}

/// Returns a finding for each function without a row and each row without a function. Portable
/// kernels have no row.
pub(crate) fn unmatched(rows: &[Row], functions: &[Function]) -> Vec<String> {
    let mut found: Vec<String> = functions
        .iter()
        .filter(|function| declared(rows, &function.name).is_none())
        .filter(|function| !is_portable(&function.name))
        .map(|function| {
            let name = &function.name;
            format!("{name}: no row declares it; add one to xtask/src/kernels/table.rs")
        })
        .collect();
    for row in rows {
        for instance in row.instances() {
            let name = match instance {
                "" => row.path.to_owned(),
                parameters => format!("{}::<{parameters}>", row.path),
            };
            if !functions.iter().any(|function| below(&function.name) == Some(&name)) {
                found.push(format!(
                    "{name}: declared, but not in the binary; make it #[inline(never)], or remove \
                     its row",
                ));
            }
        }
    }
    found
}
