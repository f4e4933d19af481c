//! `cargo xtask readme`: generates the figures, the example and the picture of README.md.
//!
//! Figures and picture come from records, the example from the documentation of `tollgate-rsa`.
//! `--check` and `tidy` compare the files with freshly generated ones.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use tollgate_record::{Record, jsonl};
use tollgate_report::{chart, markdown};

use crate::finding::Finding;
use crate::workspace::{File, Workspace};

const PAGE: &str = "README.md";
const PICTURE: &str = "docs/speed.svg";
/// The records of the picture and of the first table.
const RECORDS: &str = "records/speed.jsonl";
/// The records of the second table, from an Intel processor.
const INTEL: &str = "records/speed-intel.jsonl";
/// The source of the example: the first example in the documentation of this crate, without the
/// lines that rustdoc hides.
const CRATE: &str = "engine/rsa/src/lib.rs";
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A generated file.
struct Generated {
    path: &'static str,
    text: String,
}

/// Writes the generated files. Exit code 0: done; 1: a source has an error; 2: a file cannot be
/// read or written.
pub(crate) fn write() -> ExitCode {
    let made = match Workspace::read().map(|workspace| make(&workspace)) {
        Ok(Ok(made)) => made,
        Ok(Err(finding)) => {
            println!("{finding}");
            return ExitCode::FAILURE;
        }
        Err(error) => {
            eprintln!("xtask: {error}");
            return ExitCode::from(2);
        }
    };
    for Generated { path, text } in made {
        if let Err(error) = fs::write(Path::new(ROOT).join(path), text) {
            eprintln!("xtask: {path}: {error}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Returns a finding for each generated file that is out of date.
pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let made = match make(workspace) {
        Ok(made) => made,
        Err(finding) => return vec![finding],
    };
    let differs = |made: Generated| {
        let there = workspace.file(made.path).map_or("", |file| &file.text);
        let mut lines = there.lines().zip(made.text.lines());
        let line = lines.position(|(is, should)| is != should).map_or(1, |at| at + 1);
        let what = format!("out of date with {RECORDS}, {INTEL} or {CRATE}");
        (there != made.text).then(|| Finding::new(made.path, line, what, "run: cargo xtask readme"))
    };
    made.into_iter().filter_map(differs).collect()
}

fn make(workspace: &Workspace) -> Result<[Generated; 2], Finding> {
    let of = |path| records(file(workspace, path, "make it as records/README.md says")?);
    let (records, intel) = (of(RECORDS)?, of(INTEL)?);
    let page = file(workspace, PAGE, "write it")?;
    let example = example(file(workspace, CRATE, "correct the path in xtask/src/readme.rs")?)?;
    let text = between(&page.text, "example", &example)?;
    let figures = markdown::speed(&records) + "\n" + &markdown::speed(&intel);
    let text = between(&text, "figures", &figures)?;
    Ok([Generated { path: PAGE, text }, Generated { path: PICTURE, text: chart::speed(&records) }])
}

fn file<'a>(workspace: &'a Workspace, path: &str, remedy: &str) -> Result<&'a File, Finding> {
    workspace.file(path).ok_or_else(|| Finding::new(path, 1, "the file is missing", remedy))
}

fn records(file: &File) -> Result<Vec<Record>, Finding> {
    jsonl::read_all(file.text.as_bytes()).map_err(|error| {
        let line = usize::try_from(error.line).unwrap_or(1);
        Finding::new(&file.path, line, error.to_string(), "make it as records/README.md says")
    })
}

/// Returns the first example of a crate's documentation as a fenced block, without hidden lines.
fn example(file: &File) -> Result<String, Finding> {
    let docs = file.text.lines().filter_map(|line| line.strip_prefix("//!"));
    let mut docs = docs.map(|line| line.strip_prefix(' ').unwrap_or(line));
    let lines: Vec<&str> = docs
        .by_ref()
        .skip_while(|line| !line.starts_with("```"))
        .skip(1)
        .take_while(|line| !line.starts_with("```"))
        .filter(|line| *line != "#" && !line.starts_with("# "))
        .collect();
    if lines.is_empty() {
        return Err(Finding::new(&file.path, 1, "no example", "put one into the crate's docs"));
    }
    Ok(format!("```rust\n{}\n```\n", lines.join("\n")))
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

    use super::{CRATE, INTEL, PAGE, PICTURE, RECORDS, check, make};
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
    const DOCS: &str = "//! A crate.\n//!\n//! ```\n//! # hidden();\n//! shown();\n//! ```\n";
    const EMPTY: &str = "Top.\n<!-- example: begin -->\n<!-- example: end -->\nMiddle.\n\
        <!-- figures: begin -->\nold\n<!-- figures: end -->\nBottom.\n";

    fn workspace(page: &str, picture: &str, records: &str) -> Workspace {
        let intel = (INTEL, RECORD);
        let files = [(PAGE, page), (PICTURE, picture), (RECORDS, records), intel, (CRATE, DOCS)];
        fake::workspace(&[], &files)
    }

    #[test]
    fn accepts_generated_files_and_finds_edited_ones() {
        let [page, picture] =
            make(&workspace(EMPTY, "", RECORD)).map_err(|f| f.to_string()).unwrap();
        for part in ["Top.\n", "```rust\nshown();\n```", "Middle.", "RSA-2048 | 4.44k", "Bottom.\n"]
        {
            assert!(page.text.contains(part), "{part:?} in\n{}", page.text);
        }
        assert!(!page.text.contains("hidden") && !page.text.contains("old"), "{}", page.text);
        assert!(picture.text.contains("OpenSSL 3.0.19"), "{}", picture.text);
        assert_eq!(check(&workspace(&page.text, &picture.text, RECORD)), []);

        let places = |workspace: &Workspace| -> Vec<(String, usize)> {
            check(workspace).into_iter().map(|finding| (finding.file, finding.line)).collect()
        };
        let line = 1 + page.text.lines().position(|line| line.contains("4.44k")).unwrap();
        let touched = page.text.replacen("4.44k", "9.99k", 1);
        let touched = workspace(&touched, &picture.text, RECORD);
        assert_eq!(places(&touched), [(PAGE.to_owned(), line)]);
        // With other records, both the picture and the page are out of date.
        let newer = workspace(&page.text, &picture.text, &RECORD.replace("4440.0", "4450.0"));
        assert_eq!(places(&newer).len(), 2);
    }

    #[test]
    fn an_error_in_a_source_is_one_finding() {
        let unfinished = format!("{RECORD}{{\n");
        for (workspace, start) in [
            (Workspace::default(), "records/speed.jsonl:1: the file is missing"),
            (workspace(EMPTY, "", &unfinished), "records/speed.jsonl:2: "),
            (
                workspace("<!-- example: begin -->\n", "", RECORD),
                "README.md:1: no line <!-- example: end -->",
            ),
        ] {
            let [only] = &check(&workspace)[..] else { panic!("one finding") };
            assert!(only.to_string().starts_with(start), "{only}");
        }
    }
}
