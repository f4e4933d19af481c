//! Reads any bytes as the list of files of a trial, and as its disclosure; and any text as a name
//! in such a list, and as a field of a disclosure. The names of a list are different and stay in
//! the folder, and a list survives a round trip. Each field of a disclosure is a line, and so is
//! each error.
#![no_main]

#[macro_use]
extern crate tollgate;

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use serde_json::json;
use tollgate::error;
use toml::Value;

// these modules are private: compile the source files of the program
#[path = "../../ladder/cli/src/verbs/trial/disclosure.rs"]
mod disclosure;
#[path = "../../ladder/cli/src/verbs/trial/manifest.rs"]
#[allow(dead_code, reason = "a list that is made is for the program")]
mod manifest;
use disclosure::Disclosure;
use manifest::Manifest;

/// A disclosure; its first field is the sponsor.
const DISCLOSURE: &str = include_str!("../../docs/trial-disclosure.toml");

fuzz_target!(|bytes: &[u8]| {
    check_list(bytes);
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    check_disclosure(text);
    let file = json!({"name": text, "bytes": 0, "sha256": ""});
    let list = json!({
        "format": "tollgate-trial", "version": 1, "made_at": "", "made_by": "", "signer": "",
        "files": [file],
    });
    check_list(list.to_string().as_bytes());
    let (_, others) = DISCLOSURE.split_once("\ntester").expect("the field after the sponsor");
    check_disclosure(&format!("sponsor = {}\ntester{others}", Value::String(text.to_owned())));
});

fn check_list(bytes: &[u8]) {
    let manifest = match Manifest::parse(bytes) {
        Ok(manifest) => manifest,
        Err(error) => return assert_line(&error.to_string()),
    };
    let mut names = BTreeSet::new();
    for file in &manifest.files {
        assert_line(&file.name);
        let is_part = |part| !["", ".", ".."].contains(&part);
        assert!(file.name.split('/').all(is_part), "{:?}", file.name);
        assert!(names.insert(&file.name), "{:?} twice", file.name);
    }
    let again = serde_json::to_vec(&manifest).expect("a list can be written");
    assert_eq!(Manifest::parse(&again).ok(), Some(manifest));
}

fn check_disclosure(text: &str) {
    match Disclosure::from_toml(text) {
        Ok(disclosure) => {
            disclosure.fields().iter().for_each(|(_, field)| assert_line(field.trim()))
        }
        Err(error) => assert_line(&error.to_string()),
    }
}

fn assert_line(text: &str) {
    assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
}
