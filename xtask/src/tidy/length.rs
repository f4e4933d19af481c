//! Lines of at most 100 columns; kernels of at most 400 lines.

use super::Finding;
use crate::house::House;

const COLUMNS_MAX: usize = 100;
const KERNEL_LINES_MAX: usize = 400;

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in house.rust_files() {
        for (at, line) in file.text.lines().enumerate() {
            let columns = line.chars().count();
            // An address cannot be broken.
            if columns > COLUMNS_MAX && !line.contains("://") {
                let what = format!("{columns} columns");
                let remedy = format!("break the line at {COLUMNS_MAX}");
                findings.push(Finding::new(&file.path, at + 1, what, remedy));
            }
        }
        let lines = file.text.lines().count();
        if file.path.contains("/kernels/") && lines > KERNEL_LINES_MAX {
            let what = format!("a kernel of {lines} lines, more than {KERNEL_LINES_MAX}");
            let remedy = "make sizes parameters, or give a second algorithm its own file";
            findings.push(Finding::new(&file.path, KERNEL_LINES_MAX + 1, what, remedy));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS_MAX, KERNEL_LINES_MAX, check};
    use crate::house::{House, made_up};

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let house = House { crates: Vec::new(), files: vec![made_up::file(path, text)] };
        check(&house).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn columns_are_characters_not_bytes() {
        let full = "é".repeat(COLUMNS_MAX);
        assert!(lines("a.rs", &full).is_empty());
        assert_eq!(lines("a.rs", &format!("\n{full}é\n")), [2]);
        assert!(lines("a.md", &format!("{full}é")).is_empty());
    }

    #[test]
    fn an_address_may_be_long() {
        assert!(lines("a.rs", &format!("// https://{}", "x".repeat(COLUMNS_MAX))).is_empty());
    }

    #[test]
    fn a_kernel_of_too_many_lines_is_refused_elsewhere_it_is_not() {
        let text = "\n".repeat(KERNEL_LINES_MAX);
        assert!(lines("mont/src/kernels/a.rs", &text).is_empty());
        let text = "\n".repeat(KERNEL_LINES_MAX + 1);
        assert_eq!(lines("mont/src/kernels/a.rs", &text), [KERNEL_LINES_MAX + 1]);
        assert!(lines("mont/src/exp.rs", &text).is_empty());
    }
}
