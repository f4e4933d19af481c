//! `tollgate simulate`: valid and invalid programs, and the study's products.

use std::fs;

use tollgate_record::{Kind, Record};

use crate::program::{figure, line, recorded, refused, run, said, scratch};

/// Returns the output of `simulate run` for a file with this content.
fn simulated(name: &str, content: &[u8], more: &[&str]) -> std::process::Output {
    let file = scratch(name);
    fs::write(&file, content).unwrap();
    run(&[&["simulate", "run", file.name()], more].concat())
}

const HELLO: &str = "
_start: set     0x80000070, %l0
        set     text, %l1
next:   ldub    [%l1], %o1
        tst     %o1
        be      done
        nop
        st      %o1, [%l0]
        ba      next
        add     %l1, 1, %l1
done:   ta      0
text:   .asciz  \"hello\\n\"
";

#[test]
fn run_prints_output_and_cycles() {
    let text = said(&simulated("hello.s", HELLO.as_bytes(), &["--profile", "--trace", "2"]));
    for part in
        ["sethi %hi(0x80000000), %l0", "\nhello\n", "ended with status 0: 51 instr", "next "]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    let output = simulated("seven.s", b"mov 7, %o0; ta 0", &[]);
    assert_eq!(output.status.code(), Some(1), "a status that is not 0");
    said(&simulated("flat", &[0x90, 0x10, 0x20, 0, 0x91, 0xd0, 0x20, 0], &["--flat", "0x1000"]));
}

#[test]
fn every_error_is_one_line() {
    for (name, content, more, why) in [
        ("a.s", "bad: ld [%g0 + 2], %o0", &[][..], "at 0x40000000 (bad): ld [2], %o0: address"),
        ("b.s", "a: ba a; nop", &["--limit", "1000"], "has not ended after 1000 instructions"),
        ("c.s", "nop\nfoo", &[], "line 2: foo is not an instruction"),
        ("d.s", "umac %o0, %o1", &["--plain"], "umac is not an instruction"),
        ("e.s", ".word 0xffffffff", &[], "0xffffffff, which is no instruction"),
        ("f", "\u{7f}ELF\u{1}\u{2}", &[], "truncated"),
        ("g", "what is this", &[], "--flat"),
        ("h.s", "nop", &["--timing", "/nowhere.toml"], "/nowhere.toml: "),
    ] {
        refused(&simulated(name, content.as_bytes(), more), why);
    }
    let timing = scratch("bad.toml");
    fs::write(&timing, "name = \"x\"\nsource = 3\n").unwrap();
    let more = ["--timing", timing.name()];
    refused(&simulated("i.s", b"nop", &more), "timing file: line 2: ");
}

#[test]
fn the_study_prints_the_cycles_of_every_routine() {
    let svg = scratch("study.svg");
    let text = said(&line("simulate study --products --bits 512 --svg", &[svg.name()]));
    // Three results that were compared with the VHDL: V8 rolled and unrolled by 8, and the
    // extension fully unrolled.
    for part in ["5,756", "5,090", "2,032", "1.79x", "CIOS, extended", "squaring, V8"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(fs::read_to_string(&svg).unwrap().starts_with("<svg"));
    refused(&run(&["simulate", "study", "--bits", "1000"]), "multiples of 512");
    refused(&run(&["simulate", "study", "--headline", "--products"]), "cannot be used with");
}

/// Returns the figure of the only record with this subject.
fn cycles(records: &[Record], subject: &str) -> f64 {
    let found: Vec<&Record> =
        records.iter().filter(|record| record.subject.to_string() == subject).collect();
    let [one] = found.as_slice() else { panic!("{subject}: {found:?}") };
    one.estimate.point()
}

#[test]
fn the_study_is_written_as_records() {
    let (output, products) = recorded("simulate study --products --bits 512", &[]);
    assert_eq!(output.status.code(), Some(0));
    for (subject, expected) in [
        ("fips?arithmetic=v8&bits=512&issue=blocking&loops=index&slots=1", 5756.0),
        ("fips?arithmetic=v8&bits=512&issue=blocking&loops=unrolled-8&slots=1", 5090.0),
        ("fips?arithmetic=extended&bits=512&issue=blocking&loops=full&slots=1", 2032.0),
        ("fips?arithmetic=extended&bits=512&loops=full", 6596.0), // bytes of code
    ] {
        assert_eq!(cycles(&products, &format!("simulation/leon-2/{subject}")), expected);
    }
    for (subject, expected) in [
        ("fips?arithmetic=extended&bits=512&loops=full&slots=3", 1490.0),
        ("fips?arithmetic=rv64im&bits=512&loops=full&slots=3", 2002.0),
    ] {
        assert_eq!(cycles(&products, &format!("simulation/rv64/{subject}")), expected);
    }
    let counted = |quantity: &str| {
        let subject = "simulation/rv64/fips?arithmetic=rv64im&bits=512&loops=full";
        figure(&products, subject, quantity).estimate.point()
    };
    let instructions = counted("instructions_per_call");
    assert_eq!(instructions, 1346.0); // without loops, each instruction runs once
    assert_eq!(counted("code_bytes"), 4.0 * instructions);
    let published = products.iter().filter(|record| matches!(record.kind, Kind::Published { .. }));
    assert_eq!(published.count(), 1, "the paper's figure");

    // The main result in the ladder's report: executed, with and without the extension.
    let json = scratch("headline.jsonl");
    let file = json.name();
    let text = said(&line("simulate study --headline --json", &[file]));
    for part in ["12.4M", "22.3M", "1.80 times", "about 12.5M"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let page = scratch("headline.html");
    let table = said(&run(&["report", file, "--report", page.name()]));
    let line = table.lines().find(|line| line.contains("LEON-2 that multiplies")).unwrap();
    assert!(line.contains("12.4M") && line.contains("12.5M [GTS07] 2007"), "{table}");
}
