//! The files and commands in `docs/kernel.md`.

use std::fs;

use super::program::{refused, run, said, scratch};

const PAGE: &str = include_str!("../../../../docs/kernel.md");

/// Returns the TOML blocks of the page.
fn files() -> Vec<String> {
    let blocks = PAGE.split("```toml\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

/// Returns the commands of the page, with this file instead of `mine.toml`.
fn lines(file: &str) -> Vec<Vec<String>> {
    let calls = PAGE.lines().filter_map(|line| line.strip_prefix("    tollgate "));
    let calls = calls.filter(|line| line.contains("--machine mine.toml"));
    let words = |line: &str| line.split(' ').map(|word| word.replace("mine.toml", file)).collect();
    calls.map(words).collect()
}

#[test]
fn a_processor_is_added_as_the_page_says() {
    let file = scratch("mine.toml");
    let name = file.name().to_owned();
    let [machine, routine] = files().try_into().unwrap();
    fs::write(&file, &machine).unwrap();
    let lines = lines(&name);
    assert_eq!(lines.len(), 4);
    let call = |line: &[String]| {
        let words: Vec<&str> = line.iter().map(String::as_str).collect();
        let text = said(&run(&words));
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        text
    };
    let all = call(&lines[0]);
    for kernel in ["amm52_mb8_ifma", "amm52_blocks_ifma", "amm64_mulx"] {
        assert!(all.contains(kernel), "{kernel} in {all}");
    }
    assert!(!all.contains("portable"), "the rate of its multiplies is not in the file: {all}");
    let sizes = call(&lines[1]);
    assert!(sizes.contains("8192") && sizes.contains("vpmadd52_zmm = 1 per cycle"), "{sizes}");
    assert!(call(&lines[2]).contains("-50.0 %"));

    // Put the page's routine and the throughput of its instruction in place of the kernels' rates.
    let is_rate = |line: &&str| line.starts_with("vpmadd52") || line.starts_with("mulx");
    let others: Vec<&str> = machine.lines().filter(|line| !is_rate(line)).collect();
    let rate = "multiplies = { per_cycle = 2, source = \"the manual\" }\n[registers]";
    fs::write(&file, others.join("\n").replace("[registers]", rate) + "\n" + &routine).unwrap();
    let called = call(&lines[3]);
    assert!(called.contains("my processor: a product of 1024 bits takes 520 cycles"), "{called}");

    // Provoke the error message that the page shows.
    let wrong = machine.replacen(
        "mark = \"stated\", source = \"the manual, table 12\"",
        "mark = \"stated\"",
        1,
    );
    fs::write(&file, wrong).unwrap();
    let why = "line 5: rates.vpmadd52_zmm: the number has no source: add source = \"...\"";
    refused(&run(&["kernel", "model", "--machine", &name]), why);
}

#[test]
fn invalid_machine_files_are_refused_with_line_and_field() {
    let file = scratch("wrong.toml");
    let name = file.name();
    let machine = &files()[0];
    for (from, to, why) in [
        ("per_cycle = 1, mark", "per_cycle = 1e30, mark", "line 5: rates.vpmadd52_zmm: a number"),
        ("name =", "title =", "title"),
        ("count = 32", "count = 0", "registers.vector: a number"),
        ("at_least = 2", "at_least = -1", "rates.loads: a number"),
        ("\"measured\"", "\"certain\"", "rates.loads_zmm"),
        ("[rates]", "[rate]", "rate"),
    ] {
        fs::write(&file, machine.replacen(from, to, 1)).unwrap();
        let output = run(&["kernel", "model", "--machine", name]);
        refused(&output, why);
        refused(&output, name);
    }
}
