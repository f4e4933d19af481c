//! Opens the report in a real browser, at desktop and phone widths, with light and dark colours. No
//! picture may be empty, no text cut off, and no parts may overlap.
//!
//! If chromium is not in the PATH, the tests say so and pass; with `CI=true` they fail.

use core::time::Duration;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use tollgate_record::Record;
use tollgate_record::vocabulary as word;
use tollgate_report::html;

use crate::{PICTURES, runs, synthetic};

/// Names of the browser's program.
const BROWSERS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Timeout of the browser.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The probe's output: the values reported under each name, such as `width` or `cut`.
type Found = BTreeMap<String, Vec<String>>;

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = BROWSERS.iter().flat_map(|name| folders.iter().map(move |dir| dir.join(name)));
    let found = places.into_iter().find(|place| place.is_file());
    if found.is_none() {
        let why = "no chromium in the PATH: the report was not opened in a browser";
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}; install it where CI=true");
        eprintln!("SKIPPED: {why}");
    }
    found
}

/// Opens the report of `records`.
fn opened(browser: &Path, name: &str, records: &[Record], width: u32, is_dark: bool) -> Found {
    opened_page(browser, name, &html::report(records), (width, is_dark))
}

/// Opens a page in a frame of `width` pixels and returns the results of its probe. A frame is
/// needed because a browser window cannot be as narrow as a phone.
fn opened_page(browser: &Path, name: &str, page: &str, (width, is_dark): (u32, bool)) -> Found {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{name}"));
    fs::create_dir_all(&folder).unwrap();
    let probe = format!("<script>{}</script></body>", include_str!("browser/probe.js"));
    let page = page.replace("</body>", &probe);
    fs::write(folder.join("report.html"), page).unwrap();
    let frame = include_str!("browser/frame.html").replace("WIDTH", &width.to_string());
    fs::write(folder.join("frame.html"), frame).unwrap();

    let scheme = if is_dark { 0 } else { 1 };
    let dump = folder.join("dump.html");
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--dump-dom"])
        .arg("--virtual-time-budget=10000")
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!("file://{}", folder.join("frame.html").display()))
        .stdout(File::create(&dump).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > TIMEOUT {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{} did not end within {TIMEOUT:?}", browser.display());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let dump = fs::read_to_string(dump).unwrap();
    let (_, rest) = dump.split_once("<pre id=\"found\">").expect("the frame's result");
    let mut found = Found::new();
    for line in rest.split_once("</pre>").unwrap().0.lines() {
        let (word, value) = line.split_once(' ').unwrap_or((line, ""));
        found.entry(word.to_owned()).or_default().push(value.to_owned());
    }
    assert_eq!(found.get("done"), Some(&vec![String::new()]), "the probe ended: {found:?}");
    found
}

fn number(found: &Found, word: &str) -> f64 {
    found.get(word).unwrap_or_else(|| panic!("no {word} in {found:?}"))[0].parse().unwrap()
}

fn assert_nothing_is_cut(found: &Found, width: u32) {
    assert!((number(found, "width") - f64::from(width)).abs() < 0.5, "{found:?}");
    assert!(number(found, "scroll") <= f64::from(width), "wider than the page: {found:?}");
    for word in ["over", "cut", "overlap"] {
        assert_eq!(found.get(word), None, "{word} at {width} pixels");
    }
    assert!(number(found, "contrast") >= 7.0, "text is hard to read: {found:?}");
}

#[test]
fn pictures_are_filled_and_nothing_overlaps() {
    let Some(browser) = browser() else { return };
    for (name, width, is_dark) in
        [("desk", 1280, false), ("phone", 390, false), ("phone-dark", 390, true)]
    {
        let found = opened(&browser, name, &synthetic::all(), width, is_dark);
        assert_nothing_is_cut(&found, width);
        assert_eq!(number(&found, "dark") > 0.5, is_dark, "the colours of the scheme");
        for id in PICTURES {
            assert!(number(&found, &format!("bars-{id}")) >= 6.0, "{id}: {found:?}");
        }
        assert!(number(&found, "curves") >= 2.0, "{found:?}");
    }
}

#[test]
fn pages_of_runs_are_filled_and_nothing_overlaps() {
    let Some(browser) = browser() else { return };
    let page = html::of_runs(&runs::all());
    for (name, width, is_dark) in [("runs-desk", 1280, false), ("runs-phone", 390, true)] {
        let found = opened_page(&browser, name, &page, (width, is_dark));
        assert_nothing_is_cut(&found, width);
        assert!(number(&found, "bars-scenario-1") >= 2.0, "{found:?}");
        // four of the rounds, three of the search
        assert!(number(&found, "curves") >= 7.0, "{found:?}");
    }
}

#[test]
fn one_rung_long_words_and_nothing_fit_a_phone() {
    let Some(browser) = browser() else { return };
    let found = opened(&browser, "speed", &synthetic::only(&["operation"]), 390, false);
    assert_nothing_is_cut(&found, 390);
    assert!(number(&found, "bars-operation-rates") >= 16.0, "{found:?}");
    let long = synthetic::all().into_iter().map(|mut record| {
        record.machine.cpu = "Processor".repeat(40);
        record.versions.insert("library".repeat(20), "1".repeat(200));
        record.conditions.insert("condition".repeat(20), "value".repeat(60));
        record.conditions.insert(word::LIMIT.into(), "limit".repeat(40));
        record.conditions.insert(word::MODEL.into(), "model".repeat(40));
        record
    });
    let found = opened(&browser, "long", &long.collect::<Vec<Record>>(), 390, false);
    assert_nothing_is_cut(&found, 390);
    let found = opened(&browser, "empty", &[], 390, false);
    assert_nothing_is_cut(&found, 390);
}
