//! `tollgate papers`: the table of everything, and programs on the simulated processor.

use std::fs;

use tollgate_record::Kind;

use crate::program::{line, recorded, refused, run, said, scratch, shown};

/// Returns the output of a program on the simulated processor, for a file with this content.
fn simulated(name: &str, content: &[u8], more: &[&str]) -> std::process::Output {
    let file = scratch(name);
    fs::write(&file, content).unwrap();
    run(&[&["papers", "leon2", file.name()], more].concat())
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
fn a_program_prints_its_output_and_its_cycles() {
    let text = said(&simulated("hello.s", HELLO.as_bytes(), &["--profile"]));
    for part in ["hello\n", "ended with status 0: 51 instr", "next "] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let output = simulated("seven.s", b"mov 7, %o0; ta 0", &[]);
    assert_eq!(output.status.code(), Some(1), "a status that is not 0");
}

#[test]
fn every_error_is_one_line() {
    for (name, content, more, why) in [
        ("a.s", "bad: ld [%g0 + 2], %o0", &[][..], "at 0x40000000 (bad): ld [2], %o0: address"),
        ("c.s", "nop\nfoo", &[], "line 2: foo is not an instruction"),
        ("e.s", ".word 0xffffffff", &[], "0xffffffff, which is no instruction"),
        ("f", "\u{7f}ELF\u{1}\u{2}", &[], "truncated"),
        ("g", "what is this", &[], "neither an ELF file nor an assembly file"),
        ("h.s", "nop", &["--timing", "/nowhere.toml"], "/nowhere.toml: "),
    ] {
        refused(&simulated(name, content.as_bytes(), more), why);
    }
    let timing = scratch("bad.toml");
    fs::write(&timing, "name = \"x\"\nsource = 3\n").unwrap();
    let more = ["--timing", timing.name()];
    refused(&simulated("i.s", b"nop", &more), "timing file: line 2: ");
    refused(&run(&["papers", "itanium", timing.name()]), "only leon2 runs a program");
}

#[test]
fn each_publication_shows_its_figures_and_its_study() {
    let itanium = said(&line("papers itanium", &[]));
    for part in ["1248", "+2.3 %", "operands stay in registers", "-39.0 %", "xma.lu"] {
        assert!(itanium.contains(part), "{part} in {itanium}");
    }
    assert!(!itanium.contains("[HP01]"), "{itanium}");
    let leon2 = said(&line("papers leon2", &[]));
    for part in ["12.5M", "12.4M", "FIPS, extended", "5250"] {
        assert!(leon2.contains(part), "{part} in {leon2}");
    }
    assert!(said(&line("papers ssl-rate", &[])).contains("RC4-128"));
}

#[test]
fn pkeu_shows_published_and_measured_figures() {
    let (output, records) = recorded("papers pkeu -z 0.05", &[]);
    let stdout = shown(&output);
    for row in ["512 / 512", "512 / 3", "1024 / 1024", "1024 / 3", "2048 / 2048", "2048 / 3"] {
        let line = stdout.lines().find(|line| line.starts_with(row));
        assert!(line.is_some_and(|line| line.contains("published")), "{row} in\n{stdout}");
    }
    assert!(stdout.contains("406.50"), "{stdout}");
    let published = records.iter().filter(|record| matches!(record.kind, Kind::Published { .. }));
    assert_eq!(published.count(), 48);
    if cfg!(target_arch = "x86_64") {
        let ours = |text: &str| {
            let of_a_size = text.lines().filter(|line| line.starts_with(char::is_numeric));
            of_a_size.filter(|line| line.contains(" ours ")).count()
        };
        assert_eq!(ours(&stdout), 6, "{stdout}");
    }
}

#[test]
fn internet_measures_every_method() {
    let (output, records) = recorded("papers internet -z 0.2", &[]);
    let stdout = shown(&output);
    for part in ["amm64_single_step", "ams64_karatsuba", "[ETI10]", "6.38M"] {
        assert!(stdout.contains(part), "{part:?} in\n{stdout}");
    }
    let measured = records.iter().filter(|record| record.kind == Kind::Measured).count();
    // four products and three squares, the engine's product and its square if it has one
    assert!([16, 18].contains(&measured), "{measured}");
}
