//! Pseudo-instructions.

/// A mnemonic and its operands.
type Statement = (String, Vec<String>);

/// Expands a pseudo-instruction; any other statement is returned unchanged. `value` returns the
/// value of an operand if it is known already.
pub(super) fn expand(
    name: &str,
    operands: Vec<String>,
    value: impl Fn(&str) -> Option<i64>,
) -> Result<Vec<Statement>, String> {
    let given: Vec<&str> = operands.iter().map(String::as_str).collect();
    let one = |name: &str, operands: &[&str]| {
        Ok(vec![(name.to_owned(), operands.iter().map(|&text| text.to_owned()).collect())])
    };
    match (name, given.as_slice()) {
        ("nop", []) => one("sethi", &["0", "%g0"]),
        ("mov", [state @ ("%y" | "%psr" | "%wim" | "%tbr"), rd]) => one("rd", &[state, rd]),
        ("mov", [b, state @ ("%y" | "%psr" | "%wim" | "%tbr")]) => one("wr", &["%g0", b, state]),
        ("wr", [b, state]) => one("wr", &["%g0", b, state]),
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
        ("b", _) => one("ba", &given),
        ("b,a", _) => one("ba,a", &given),
        ("bz", _) => one("be", &given),
        ("bnz", _) => one("bne", &given),
        ("blu", _) => one("bcs", &given),
        ("bgeu", _) => one("bcc", &given),
        ("bz,a", _) => one("be,a", &given),
        ("bnz,a", _) => one("bne,a", &given),
        ("blu,a", _) => one("bcs,a", &given),
        ("bgeu,a", _) => one("bcc,a", &given),
        _ => Ok(vec![(name.to_owned(), operands)]),
    }
}

/// Expands `set`, to one instruction if the value is known and one is enough.
fn set(constant: &str, rd: &str, value: Option<i64>) -> Result<Vec<Statement>, String> {
    let statement = |name: &str, operands: [String; 3]| {
        (name.to_owned(), operands.into_iter().filter(|text| !text.is_empty()).collect())
    };
    let high = statement("sethi", [format!("%hi({constant})"), rd.to_owned(), String::new()]);
    let low = statement("or", [rd.to_owned(), format!("%lo({constant})"), rd.to_owned()]);
    Ok(match value {
        Some(-4096..=4095) => {
            vec![statement("or", ["%g0".to_owned(), constant.to_owned(), rd.to_owned()])]
        }
        Some(value) if value & 0x3ff == 0 => vec![high],
        _ => vec![high, low],
    })
}
