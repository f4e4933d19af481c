//! `tollgate simulate`: programs, good and bad, and the study's products.

use std::fs;

use crate::program::{refused, run, scratch};

/// A file with this in it, and what the program says of it.
fn simulated(name: &str, content: &[u8], more: &[&str]) -> std::process::Output {
    let file = scratch(name);
    fs::write(&file, content).unwrap();
    let output = run(&[&["simulate", "run", file.to_str().unwrap()], more].concat());
    fs::remove_file(&file).unwrap();
    output
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
fn a_program_is_run_and_its_cycles_are_said() {
    let output = simulated("hello.s", HELLO.as_bytes(), &["--profile", "--trace", "2"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    for part in
        ["sethi %hi(0x80000000), %l0", "\nhello\n", "ended with status 0: 51 instr", "next "]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    let output = simulated("seven.s", b"mov 7, %o0; ta 0", &[]);
    assert_eq!(output.status.code(), Some(1), "a status that is not 0");
    let flat =
        simulated("flat", &[0x90, 0x10, 0x20, 0, 0x91, 0xd0, 0x20, 0], &["--flat", "0x1000"]);
    assert_eq!(flat.status.code(), Some(0));
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    for (name, content, more, why) in [
        ("a.s", "bad: ld [%g0 + 2], %o0", &[][..], "at 0x40000000 (bad): ld [2], %o0: address"),
        ("b.s", "a: ba a; nop", &["--limit", "1000"], "has not ended after 1000 instructions"),
        ("c.s", "nop\nfoo", &[], "line 2: foo is no instruction"),
        ("d.s", "umac %o0, %o1", &["--plain"], "umac is no instruction"),
        ("e.s", ".word 0xffffffff", &[], "0xffffffff, which is no instruction"),
        ("f", "\u{7f}ELF\u{1}\u{2}", &[], "cut short"),
        ("g", "what is this", &[], "--flat"),
        ("h.s", "nop", &["--timing", "/nowhere.toml"], "/nowhere.toml: "),
    ] {
        refused(&simulated(name, content.as_bytes(), more), why);
    }
    let timing = scratch("bad.toml");
    fs::write(&timing, "name = \"x\"\nsource = 3\n").unwrap();
    let more = ["--timing", timing.to_str().unwrap()];
    refused(&simulated("i.s", b"nop", &more), "timing file: line 2: ");
    fs::remove_file(&timing).unwrap();
}

#[test]
fn the_study_has_the_cycles_of_every_routine() {
    let svg = scratch("study.svg");
    let arguments = ["simulate", "study", "--products", "--bits", "512", "--svg"];
    let output = run(&[&arguments[..], &[svg.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    // Three that were compared with the VHDL: V8 rolled and unrolled by 8, extended fully unrolled.
    for part in ["5,756", "5,090", "2,032", "1.79x", "CIOS, extended", "squaring, V8"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(fs::read_to_string(&svg).unwrap().starts_with("<svg"));
    fs::remove_file(&svg).unwrap();
    refused(&run(&["simulate", "study", "--bits", "1000"]), "multiples of 512");
}
