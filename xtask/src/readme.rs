//! `cargo xtask readme`: README.md shows what the records and the code say.
//!
//! The picture, and the parts of README.md between two markers, are made. `--check`, and `tidy`
//! with it, compare them with what would be made now.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use tollgate_record::{Record, jsonl};
use tollgate_report::{chart, markdown};

use crate::finding::Finding;
use crate::house::{File, House};

const PAGE: &str = "README.md";
const PICTURE: &str = "docs/speed.svg";
const RECORDS: &str = "records/speed.jsonl";
/// The first example in its documentation, without what rustdoc hides, is the page's example.
const CRATE: &str = "engine/rsa/src/lib.rs";
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A file as it should be.
struct Made {
    path: &'static str,
    text: String,
}

/// Writes what is made. Exit code 0: done; 1: something it is made from is not right; 2: a file
/// could not be read or written.
pub(crate) fn write() -> ExitCode {
    let made = match House::read().map(|house| make(&house)) {
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
    for Made { path, text } in made {
        if let Err(error) = fs::write(Path::new(ROOT).join(path), text) {
            eprintln!("xtask: {path}: {error}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// One finding for each made file that is not what it should be.
pub(crate) fn check(house: &House) -> Vec<Finding> {
    let made = match make(house) {
        Ok(made) => made,
        Err(finding) => return vec![finding],
    };
    let differs = |made: Made| {
        let there = house.file(made.path).map_or("", |file| &file.text);
        let mut lines = there.lines().zip(made.text.lines());
        let line = lines.position(|(is, should)| is != should).map_or(1, |at| at + 1);
        let what = format!("not what {RECORDS} and {CRATE} give");
        (there != made.text).then(|| Finding::new(made.path, line, what, "run: cargo xtask readme"))
    };
    made.into_iter().filter_map(differs).collect()
}

fn make(house: &House) -> Result<[Made; 2], Finding> {
    let records = records(file(house, RECORDS, "make it as records/README.md says")?)?;
    let page = file(house, PAGE, "write it")?;
    let example = example(file(house, CRATE, "name here where it went: xtask/src/readme.rs")?)?;
    let text = between(&page.text, "example", &example)?;
    let text = between(&text, "figures", &markdown::speed(&records))?;
    Ok([Made { path: PAGE, text }, Made { path: PICTURE, text: chart::speed(&records) }])
}

fn file<'a>(house: &'a House, path: &str, remedy: &str) -> Result<&'a File, Finding> {
    house.file(path).ok_or_else(|| Finding::new(path, 1, "the file is missing", remedy))
}

fn records(file: &File) -> Result<Vec<Record>, Finding> {
    jsonl::read_all(file.text.as_bytes()).map_err(|error| {
        let line = usize::try_from(error.line).unwrap_or(1);
        Finding::new(&file.path, line, error.to_string(), "make it as records/README.md says")
    })
}

/// The first example of a crate's documentation, fenced, without hidden lines.
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

/// `page` with `part` between the markers of that name, an empty line on either side.
fn between(page: &str, name: &str, part: &str) -> Result<String, Finding> {
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->\n"));
    let missing = |marker: &str| {
        let what = format!("no line {}", marker.trim_end());
        Finding::new(PAGE, 1, what, "put it back where the part stood")
    };
    let (above, rest) = page.split_once(&begin).ok_or_else(|| missing(&begin))?;
    let (_, below) = rest.split_once(&end).ok_or_else(|| missing(&end))?;
    Ok(format!("{above}{begin}\n{part}\n{end}{below}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{CRATE, PAGE, PICTURE, RECORDS, check, make};
    use crate::house::{House, made_up};

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

    fn house(page: &str, picture: &str, records: &str) -> House {
        let files = [(PAGE, page), (PICTURE, picture), (RECORDS, records), (CRATE, DOCS)];
        let files = files.map(|(path, text)| made_up::file(path, text)).into();
        House { crates: Vec::new(), files }
    }

    #[test]
    fn what_was_made_is_accepted_and_what_was_touched_is_found() {
        let [page, picture] = make(&house(EMPTY, "", RECORD)).map_err(|f| f.to_string()).unwrap();
        for part in ["Top.\n", "```rust\nshown();\n```", "Middle.", "RSA-2048 | 4.44k", "Bottom.\n"]
        {
            assert!(page.text.contains(part), "{part:?} in\n{}", page.text);
        }
        assert!(!page.text.contains("hidden") && !page.text.contains("old"), "{}", page.text);
        assert!(picture.text.contains("OpenSSL 3.0.19"), "{}", picture.text);
        assert_eq!(check(&house(&page.text, &picture.text, RECORD)), []);

        let places = |house: &House| -> Vec<(String, usize)> {
            check(house).into_iter().map(|finding| (finding.file, finding.line)).collect()
        };
        let line = 1 + page.text.lines().position(|line| line.contains("4.44k")).unwrap();
        let touched = page.text.replace("4.44k", "9.99k");
        let touched = house(&touched, &picture.text, RECORD);
        assert_eq!(places(&touched), [(PAGE.to_owned(), line)]);
        // Other records: picture and page are both old.
        let newer = house(&page.text, &picture.text, &RECORD.replace("4440.0", "4450.0"));
        assert_eq!(places(&newer).len(), 2);
    }

    #[test]
    fn what_cannot_be_made_is_one_finding() {
        let found =
            |house: &House| check(house).iter().map(ToString::to_string).collect::<Vec<_>>();
        let [only] = &found(&House::default())[..] else { panic!("one finding") };
        assert!(only.starts_with("records/speed.jsonl:1: the file is missing"), "{only}");
        let [only] = &found(&house(EMPTY, "", &format!("{RECORD}{{\n")))[..] else {
            panic!("one finding")
        };
        assert!(only.starts_with("records/speed.jsonl:2: "), "{only}");
        let [only] = &found(&house("<!-- example: begin -->\n", "", RECORD))[..] else {
            panic!("one finding")
        };
        assert!(only.starts_with("README.md:1: no line <!-- example: end -->"), "{only}");
    }
}
