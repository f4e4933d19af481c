//! What `audit` expects of the kernels' machine code: a row for each function of
//! `tollgate_mont::kernels`.

use crate::machine_code::Function;
use crate::machine_code::instruction::{Gpr, Instruction};

mod table;
mod work;

pub(crate) use table::TABLE;

/// Where kernels live.
pub(crate) const PREFIX: &str = "tollgate_mont::kernels::";

/// The declaration of a kernel, or of a tile that it calls.
pub(crate) struct Row {
    /// Module and function, below [`PREFIX`].
    pub(crate) path: &'static str,
    /// Arguments that are passed by value and secret. All others are public: lengths and pointers.
    pub(crate) secret: &'static [Gpr],
    /// The same for arguments on the stack, in bytes above the stack pointer on entry.
    pub(crate) secret_stack: &'static [i64],
    /// Arguments that point to structs of pointers and lengths, with a depth: 1 for a struct or an
    /// array of structs, 2 for an array of pointers to such. This declaration makes the fields public.
    pub(crate) structs: &'static [(Gpr, u8)],
    /// The reason for its branches.
    pub(crate) branches: &'static str,
    /// Parameters of each instance, as they stand between `<` and `>`; empty without.
    pub(crate) instances: &'static [&'static str],
    /// Its multiplications, by its parameters; `false` and `true` are 0 and 1.
    pub(crate) work: fn(&[u64]) -> Work,
}

/// Multiplications of a function: outside loops, and in each pass of its loops, which may be of
/// several kinds. LLVM may unroll a loop or split passes off: copies of a pass count as passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) once: Multiplies,
    pub(crate) passes: Vec<Multiplies>,
}

/// Instructions that multiply, and the carry chains that belong to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Multiplies {
    pub(crate) vpmadd52luq: u64,
    pub(crate) vpmadd52huq: u64,
    pub(crate) mulx: u64,
    pub(crate) adcx: u64,
    pub(crate) adox: u64,
    pub(crate) vpmuludq: u64,
}

/// Names of the fields of [`Multiplies`], in their order.
pub(crate) const NAMES: [&str; 6] =
    ["vpmadd52luq", "vpmadd52huq", "mulx", "adcx", "adox", "vpmuludq"];

impl Multiplies {
    pub(crate) const NONE: Self =
        Self { vpmadd52luq: 0, vpmadd52huq: 0, mulx: 0, adcx: 0, adox: 0, vpmuludq: 0 };

    /// Low and high halves of products of digits.
    pub(crate) const fn halves(low: u64, high: u64) -> Self {
        Self { vpmadd52luq: low, vpmadd52huq: high, ..Self::NONE }
    }

    /// Products of limbs, and both chains.
    pub(crate) const fn limbs(mulx: u64, adcx: u64, adox: u64) -> Self {
        Self { mulx, adcx, adox, ..Self::NONE }
    }

    /// Products of half digits.
    pub(crate) const fn half_digits(vpmuludq: u64) -> Self {
        Self { vpmuludq, ..Self::NONE }
    }

    pub(crate) const fn counts(self) -> [u64; 6] {
        [self.vpmadd52luq, self.vpmadd52huq, self.mulx, self.adcx, self.adox, self.vpmuludq]
    }

    /// Subtracts others; `None` if there are fewer.
    pub(crate) fn less(self, other: Self) -> Option<Self> {
        Some(Self {
            vpmadd52luq: self.vpmadd52luq.checked_sub(other.vpmadd52luq)?,
            vpmadd52huq: self.vpmadd52huq.checked_sub(other.vpmadd52huq)?,
            mulx: self.mulx.checked_sub(other.mulx)?,
            adcx: self.adcx.checked_sub(other.adcx)?,
            adox: self.adox.checked_sub(other.adox)?,
            vpmuludq: self.vpmuludq.checked_sub(other.vpmuludq)?,
        })
    }

    /// All multiplications.
    pub(crate) const fn total(self) -> u64 {
        self.vpmadd52luq + self.vpmadd52huq + self.mulx + self.vpmuludq
    }

    /// Of some instructions.
    pub(crate) fn of<'a>(code: impl Iterator<Item = &'a Instruction>) -> Self {
        let mut counts = [0; 6];
        for instruction in code {
            // LLVM uses the signed instruction if it knows that no sign bit is set.
            let mnemonic =
                if instruction.mnemonic == "vpmuldq" { "vpmuludq" } else { &instruction.mnemonic };
            if let Some(at) = NAMES.iter().position(|name| *name == mnemonic) {
                counts[at] += 1;
            }
        }
        let [vpmadd52luq, vpmadd52huq, mulx, adcx, adox, vpmuludq] = counts;
        Self { vpmadd52luq, vpmadd52huq, mulx, adcx, adox, vpmuludq }
    }
}

impl Work {
    /// Straight through.
    pub(crate) fn once(once: Multiplies) -> Self {
        Self { once, passes: Vec::new() }
    }

    /// Nothing but passes of one kind.
    pub(crate) fn rows(pass: Multiplies) -> Self {
        Self { once: Multiplies::NONE, passes: vec![pass] }
    }
}

impl Row {
    /// Numbers of a parameter list: `20, true` are 20 and 1.
    pub(crate) fn numbers(parameters: &str) -> Vec<u64> {
        let number = |word: &str| match word.trim() {
            "true" => 1,
            "false" => 0,
            word => word.parse().unwrap_or(0),
        };
        parameters.split(',').map(number).collect()
    }
}

/// The row that declares a function, and the function's parameters, by its demangled name.
pub(crate) fn declared<'a>(rows: &'a [Row], name: &str) -> Option<(&'a Row, &'static str)> {
    let name = name.strip_prefix(PREFIX)?;
    let (path, parameters) = match name.split_once("::<") {
        Some((path, rest)) => (path, rest.strip_suffix('>')?),
        None => (name, ""),
    };
    rows.iter().filter(|row| row.path == path).find_map(|row| {
        Some((row, *row.instances.iter().find(|instance| **instance == parameters)?))
    })
}

/// The full name of an instance.
fn name(row: &Row, parameters: &str) -> String {
    match parameters {
        "" => format!("{PREFIX}{}", row.path),
        parameters => format!("{PREFIX}{}::<{parameters}>", row.path),
    }
}

/// Memcheck watches these.
pub(crate) fn is_portable(name: &str) -> bool {
    name.contains("portable")
}

/// Functions without a row, and rows without a function. Portable kernels have no row.
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
        for instance in row.instances {
            let name = name(row, instance);
            if !functions.iter().any(|function| function.name == name) {
                found.push(format!(
                    "{name}: declared, but not in the binary; make it #[inline(never)], or remove \
                     its row",
                ));
            }
        }
    }
    found
}
