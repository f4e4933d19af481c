//! The formula in the header of each kernel of Montgomery products is that of the model.

use tollgate_processor::Issued;

use crate::workspace::Workspace;

/// Returns a finding for each kernel whose header does not state the model's formula.
pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    Issued::ALL.iter().filter_map(|issued| header(workspace, issued)).collect()
}

fn header(workspace: &Workspace, issued: &Issued) -> Option<String> {
    let path = format!("engine/mont/src/kernels/{}.rs", issued.kernel);
    let formula = issued.formula;
    let Some(file) = workspace.file(&path) else {
        return Some(format!("{path}: is not there; tollgate_processor::issued has its formula"));
    };
    let said = paragraph(&file.text);
    let halves = issued.by_halves.unwrap_or_default();
    if said.is_empty() {
        return Some(format!("{path}: the header has no Counts; the model says {formula}"));
    }
    let right = said.starts_with(formula) && said.contains(halves);
    (!right).then(|| {
        let model = [formula, halves].join("; ");
        format!("{path}: Counts {said}; the model says {}", model.trim_end_matches("; "))
    })
}

/// Returns the header's text from `Counts` to the next keyword, as one line.
fn paragraph(text: &str) -> String {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("// Counts "));
    let first = lines.next().and_then(|line| line.strip_prefix("// Counts ")).unwrap_or_default();
    let more = lines.map_while(|line| line.strip_prefix("//  "));
    let words = core::iter::once(first).chain(more).flat_map(str::split_whitespace);
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::fake;

    #[test]
    fn a_header_must_state_the_formula() {
        let issued = Issued::of("amm52_mb8_ifma").expect("a kernel");
        let path = "engine/mont/src/kernels/amm52_mb8_ifma.rs";
        let workspace = |text: &str| fake::workspace(&[], &[(path, text)]);
        let right = "// Counts    4K^2 + 1 vpmadd52 a stream; by Karatsuba 3.5K^2 + 1 for K = 30,\n\
                     //           3.125K^2 + 2K + 1 for K = 40.\n";
        assert_eq!(header(&workspace(right), &issued), None);
        let (quotients, halves) = (right.replace("+ 1 v", "+ K v"), right.replace("3.5", "3"));
        for wrong in [&quotients, &halves, "// no count\n"] {
            let found = header(&workspace(wrong), &issued).expect("a wrong header");
            assert!(found.contains("4K^2 + 1 vpmadd52"), "{found}");
        }
        assert!(header(&Workspace::default(), &issued).is_some());
    }
}
