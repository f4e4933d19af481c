//! `cargo xtask readme`: generates the figures and the picture of README.md from records, and its
//! example from the page of `tollgate-rsa`. `tidy` compares the files.

use tollgate_record::{Record, jsonl};
use tollgate_report::{chart, markdown};

use crate::finding::Finding;
use crate::workspace::{File, Workspace, shell};

const PAGE: &str = "README.md";
const PICTURE: &str = "docs/speed.svg";
/// The records of the picture and of the first table.
const RECORDS: &str = "records/speed.jsonl";
/// The records of the second table, from an Intel processor.
const INTEL: &str = "records/speed-intel.jsonl";
/// The source of the example: the first one of this page, without the lines that rustdoc hides.
const EXAMPLE: &str = "engine/rsa/README.md";

/// Writes the generated files.
pub(crate) fn write() -> crate::Result<bool> {
    let sh = shell()?;
    for (path, text) in make(&Workspace::read()?).map_err(|finding| finding.to_string())? {
        sh.write_file(path, text)?;
    }
    Ok(true)
}

/// Returns a finding for each generated file that is out of date.
pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let made = match make(workspace) {
        Ok(made) => made,
        Err(finding) => return vec![finding],
    };
    let differs = |(path, text): (&str, String)| {
        let there = workspace.file(path).map_or("", |file| &file.text);
        let what = format!("out of date with {RECORDS}, {INTEL} or {EXAMPLE}");
        Finding::outdated((path, there), &text, what, "run: cargo xtask readme")
    };
    made.into_iter().filter_map(differs).collect()
}

fn make(workspace: &Workspace) -> Result<[(&'static str, String); 2], Finding> {
    let [page, example, records, intel] = [PAGE, EXAMPLE, RECORDS, INTEL].map(|path| {
        let missing = || Finding::new(path, 1, "the file is missing", "see records/README.md");
        workspace.file(path).ok_or_else(missing)
    });
    let (records, intel) = (read(records?)?, read(intel?)?);
    let block = example?.text.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    let block = block.ok_or_else(|| Finding::new(EXAMPLE, 1, "no example", "write one"))?;
    let shown: Vec<&str> = block.lines().filter(|line| !line.starts_with("# ")).collect();
    let text = between(&page?.text, "example", &format!("```rust\n{}\n```\n", shown.join("\n")))?;
    let figures = markdown::speed(&records) + "\n" + &markdown::speed(&intel);
    Ok([(PAGE, between(&text, "figures", &figures)?), (PICTURE, chart::speed(&records))])
}

fn read(file: &File) -> Result<Vec<Record>, Finding> {
    jsonl::read_all(file.text.as_bytes()).map_err(|error| {
        let line = usize::try_from(error.line).unwrap_or(1);
        Finding::new(&file.path, line, error.to_string(), "make it as records/README.md says")
    })
}

/// Returns `page` with `part` between the markers of this name, and an empty line before and after
/// `part`.
fn between(page: &str, name: &str, part: &str) -> Result<String, Finding> {
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->\n"));
    let missing = |marker: &str| {
        let what = format!("no line {}", marker.trim_end());
        Finding::new(PAGE, 1, what, "put it back")
    };
    let (above, rest) = page.split_once(&begin).ok_or_else(|| missing(&begin))?;
    let (_, below) = rest.split_once(&end).ok_or_else(|| missing(&end))?;
    Ok(format!("{above}{begin}\n{part}\n{end}{below}"))
}

#[cfg(test)]
mod tests {
    use super::{EXAMPLE, INTEL, PAGE, PICTURE, RECORDS, check, make};
    use crate::workspace::{Workspace, fake};

    const RECORD: &str = concat!(
        r#"{"schema":1,"subject":"operation/rsa-2048/sign?by=openssl","quantity":"#,
        r#""operations_per_s","unit":"per_s","estimate":{"point":4440.0,"interval":[4400.0,"#,
        r#"4500.0],"samples":51},"kind":"measured","machine":{"cpu":"Some Processor 9000","#,
        r#""features":[],"vetoed":[],"logical_cores":null,"kernel":null,"virtualised":null,"#,
        r#""core_clock_hz":null},"versions":{"openssl":"3.0.19"},"commit":null,"conditions":{},"#,
        r#""taken_at":"2026-11-20T20:00:49Z"}"#,
        "\n",
    );
    const EMPTY: &str = "Top.\n<!-- example: begin -->\n<!-- example: end -->\nMiddle.\n\
        <!-- figures: begin -->\nold\n<!-- figures: end -->\nBottom.\n";

    fn workspace(page: &str, picture: &str, records: &str) -> Workspace {
        let example = "A crate.\n\n```rust\n# hidden();\nshown();\n```\n";
        let sources = [(RECORDS, records), (INTEL, RECORD), (EXAMPLE, example)];
        fake::workspace(&[], &[&[(PAGE, page), (PICTURE, picture)], &sources[..]].concat())
    }

    #[test]
    fn generated_files_are_accepted_and_edited_ones_found() {
        let made = make(&workspace(EMPTY, "", RECORD)).map_err(|finding| finding.to_string());
        let [(_, page), (_, picture)] = made.unwrap();
        for part in
            ["Top.\n", "```rust\nshown();\n```", "Middle.", "RSA-2048 sign | 4.44k", "Bottom.\n"]
        {
            assert!(page.contains(part), "{part:?} in\n{page}");
        }
        assert!(!page.contains("hidden") && !page.contains("old"), "{page}");
        assert!(picture.contains("OpenSSL 3.0.19"), "{picture}");
        assert_eq!(check(&workspace(&page, &picture, RECORD)), []);

        let line = 1 + page.lines().position(|line| line.contains("4.44k")).unwrap();
        let [only] = &check(&workspace(&page.replace("4.44k", "9.99k"), &picture, RECORD))[..]
        else {
            panic!("one finding")
        };
        assert_eq!((&*only.file, only.line), (PAGE, line));
        // With other records, both the picture and the page are out of date.
        let newer = workspace(&page, &picture, &RECORD.replace("4440.0", "4450.0"));
        assert_eq!(check(&newer).len(), 2);
        let unfinished = format!("{RECORD}{{\n");
        for (workspace, start) in [
            (Workspace::default(), "records/speed.jsonl:1: the file is missing"),
            (workspace(EMPTY, "", &unfinished), "records/speed.jsonl:2: "),
            (workspace("", "", RECORD), "README.md:1: no line <!-- example: begin -->"),
        ] {
            let [only] = &check(&workspace)[..] else { panic!("one finding") };
            assert!(only.to_string().starts_with(start), "{only}");
        }
    }
}
