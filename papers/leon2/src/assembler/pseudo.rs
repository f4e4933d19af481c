//! Pseudo-instructions.

/// A mnemonic and its operands.
type Statement = (String, Vec<String>);

/// Expands a pseudo-instruction; any other statement is returned unchanged. `value` returns the
/// value of an operand if this value is already known.
pub(super) fn expand(
    name: &str,
    operands: Vec<String>,
    value: impl Fn(&str) -> Option<i64>,
) -> Vec<Statement> {
    let given: Vec<&str> = operands.iter().map(String::as_str).collect();
    let one = |name: &str, operands: &[&str]| vec![statement(name, operands)];
    match (name, given.as_slice()) {
        ("nop", []) => one("sethi", &["0", "%g0"]),
        ("mov", ["%y", rd]) => one("rd", &["%y", rd]),
        ("mov" | "wr", [b, "%y"]) => one("wr", &["%g0", b, "%y"]),
        ("mov", [b, rd]) => one("or", &["%g0", b, rd]),
        ("cmp", [a, b]) => one("subcc", &[a, b, "%g0"]),
        ("tst", [a]) => one("orcc", &["%g0", a, "%g0"]),
        ("btst", [b, a]) => one("andcc", &[a, b, "%g0"]),
        ("clr", [address]) if address.starts_with('[') => one("st", &["%g0", address]),
        ("clr", [rd]) => one("or", &["%g0", "%g0", rd]),
        ("neg", [rd]) => one("sub", &["%g0", rd, rd]),
        ("neg", [a, rd]) => one("sub", &["%g0", a, rd]),
        ("not", [rd]) => one("xnor", &[rd, "%g0", rd]),
        ("not", [a, rd]) => one("xnor", &[a, "%g0", rd]),
        ("inc", [rd]) => one("add", &[rd, "1", rd]),
        ("inc", [by, rd]) => one("add", &[rd, by, rd]),
        ("dec", [rd]) => one("sub", &[rd, "1", rd]),
        ("dec", [by, rd]) => one("sub", &[rd, by, rd]),
        ("inccc", [rd]) => one("addcc", &[rd, "1", rd]),
        ("deccc", [rd]) => one("subcc", &[rd, "1", rd]),
        ("ret", []) => one("jmpl", &["%i7 + 8", "%g0"]),
        ("retl", []) => one("jmpl", &["%o7 + 8", "%g0"]),
        ("jmp", [address]) => one("jmpl", &[address, "%g0"]),
        ("call", [address]) if address.starts_with('%') => one("jmpl", &[address, "%o7"]),
        ("save" | "restore", []) => one(name, &["%g0", "%g0", "%g0"]),
        ("set", [constant, rd]) => set(constant, rd, value(constant)),
        _ => {
            let (stem, annul) = name.strip_suffix(",a").map_or((name, ""), |stem| (stem, ",a"));
            let real = match stem {
                "b" => "ba",
                "bz" => "be",
                "bnz" => "bne",
                "blu" => "bcs",
                "bgeu" => "bcc",
                other => other,
            };
            vec![(format!("{real}{annul}"), operands)]
        }
    }
}

fn statement(name: &str, operands: &[&str]) -> Statement {
    (name.to_owned(), operands.iter().map(|&text| text.to_owned()).collect())
}

/// Expands `set`. The result is one instruction if the value is known and one instruction is
/// enough.
fn set(constant: &str, rd: &str, value: Option<i64>) -> Vec<Statement> {
    let high = statement("sethi", &[&format!("%hi({constant})"), rd]);
    match value {
        Some(-4096..=4095) => vec![statement("or", &["%g0", constant, rd])],
        Some(value) if value & 0x3ff == 0 => vec![high],
        _ => vec![high, statement("or", &[rd, &format!("%lo({constant})"), rd])],
    }
}
