//! Execution of programs: windows, delay slots, traps, memory, the console, and failures.

use tollgate_leon2::machine::{Ending, Failure};
use tollgate_leon2::memory::CONSOLE;
use tollgate_leon2::{Assembler, InstructionSet, Machine, Program, Timing, elf};

fn assemble(source: &str) -> Program {
    let set = InstructionSet::sparc();
    Assembler::new(&set).assemble(source).unwrap_or_else(|error| panic!("{error}"))
}

fn machine(source: &str) -> Machine {
    Machine::new(InstructionSet::sparc(), Timing::leon2(), &assemble(source)).unwrap()
}

/// Returns the status with which a program ends.
fn status(source: &str) -> u32 {
    match machine(source).run(1_000_000) {
        Ok(Ending::Exit(status)) => status,
        other => panic!("{other:?}"),
    }
}

fn failure(source: &str) -> Failure {
    machine(source).run(1_000_000).unwrap_err()
}

#[test]
fn windows_are_stored_and_loaded_at_any_depth_of_calls() {
    // The sum of 1 to 100. Each call has its own window; there are 8 windows.
    let source = "
_start: mov 100, %o0
        call sum
        nop
        ta 0
sum:    save %sp, -96, %sp
        mov %i0, %l3            ! a local, to be there again afterwards
        tst %i0
        be out
        mov 0, %o0
        call sum
        sub %i0, 1, %o0
out:    add %l3, %o0, %i0
        ret
        restore";
    let mut deep = machine(source);
    assert_eq!(deep.run(1_000_000), Ok(Ending::Exit(5050)));
    let (spills, fills) = deep.windows_moved();
    // 102 windows, of which 7 can be in use.
    assert_eq!((spills, fills), (95, 95));
}

#[test]
fn restore_writes_to_the_previous_window() {
    assert_eq!(status("mov 5, %o1; save %sp, -96, %sp; restore %i1, 7, %o0; ta 0"), 12);
    // save computes with the old window and writes to the new one.
    assert_eq!(status("mov 5, %o1; save %o1, 1, %l0; mov %l0, %o0; ta 0"), 6);
    assert_eq!(
        status("mov 3, %o0; mov 9, %l0; save; mov 1, %l0; restore; add %l0, %o0, %o0; ta 0"),
        12
    );
}

#[test]
fn delay_slots_are_executed_or_annulled() {
    for (source, expected) in [
        ("clr %o0; ba over; inc %o0; inc 16, %o0; over: ta 0", 1),
        ("clr %o0; ba,a over; inc %o0; inc 16, %o0; over: ta 0", 0),
        ("clr %o0; cmp %g0, 0; be,a over; inc %o0; inc 16, %o0; over: ta 0", 1),
        ("clr %o0; cmp %g0, 0; bne,a over; inc %o0; inc 16, %o0; over: ta 0", 16),
        ("clr %o0; cmp %g0, 0; bne over; inc %o0; inc 16, %o0; over: ta 0", 17),
        ("clr %o0; bn,a over; inc %o0; inc 16, %o0; over: ta 0", 16),
        // A jump in a delay slot: one instruction at the first target, then the second target.
        (
            "clr %o0; ba first; ba second; inc 64, %o0
             first: inc 1, %o0; inc 2, %o0; second: inc 4, %o0; ta 0",
            5,
        ),
        // A jump that is not taken and annuls the instruction at the first target.
        (
            "clr %o0; cmp %g0, 0; ba first; bne,a second; inc 64, %o0
             first: inc 1, %o0; inc 2, %o0; second: inc 4, %o0; ta 0",
            6,
        ),
        ("set f, %o1; jmpl %o1, %o2; mov 1, %o0; f: sub %o7, %o2, %o3; ta 0", 1),
    ] {
        assert_eq!(status(source), expected, "{source}");
    }
}

#[test]
fn arithmetic_is_that_of_the_manual() {
    for (source, expected) in [
        ("set 0xffffffff, %o1; umul %o1, %o1, %o2; rd %y, %o0; ta 0", 0xffff_fffe),
        ("mov -3, %o1; smul %o1, 5, %o0; ta 0", (-15_i32).cast_unsigned()),
        ("mov -3, %o1; smul %o1, 5, %o2; rd %y, %o0; ta 0", u32::MAX),
        ("mov 1, %o1; wr %o1, %y; nop; nop; nop; udiv %g0, 3, %o0; ta 0", 0x5555_5555),
        ("mov 5, %o1; wr %o1, %y; nop; nop; nop; udiv %g0, 3, %o0; ta 0", u32::MAX), // too large
        (
            "mov -1, %o1; wr %o1, %y; nop; nop; nop; mov -7, %o2; sdiv %o2, 2, %o0; ta 0",
            (-3_i32).cast_unsigned(),
        ),
        ("wr %g0, %y; set 0x80000000, %o1; nop; sdiv %o1, 1, %o0; ta 0", 0x7fff_ffff), // cut
        ("set 0xffffffff, %o1; addcc %o1, 1, %g0; addx %g0, 0, %o0; ta 0", 1),
        ("subcc %g0, 1, %g0; subx %g0, %g0, %o0; ta 0", u32::MAX),
        ("mov -8, %o1; sra %o1, 1, %o0; ta 0", (-4_i32).cast_unsigned()),
        ("mov -8, %o1; mov 33, %o2; srl %o1, %o2, %o0; ta 0", 0x7fff_fffc), // by 1: five bits count
        ("mov 4, %o1; taddcc %o1, 4, %o0; bvs bad; nop; ta 0; bad: mov 99, %o0; ta 0", 8),
        ("mov 4, %o1; taddcc %o1, 5, %o0; bvs bad; nop; ta 0; bad: mov 99, %o0; ta 0", 99),
    ] {
        assert_eq!(status(source), expected, "{source}");
    }
    // 32 steps of mulscc and one more step to shift, as the multiplication in the manual's appendix
    // does. The product is Y:rd.
    let steps = "mulscc %o2, %o1, %o2; ".repeat(32);
    let source = format!(
        "mov 1234, %o1; mov 567, %o0; wr %o0, %y; andcc %g0, 0, %o2; nop; nop; {steps}
         mulscc %o2, %g0, %o2; rd %y, %o0; ta 0"
    );
    assert_eq!(status(&source), 1234 * 567);
}

#[test]
fn memory_is_big_endian_and_signs_are_kept() {
    let data = ".align 8; data: .word 0x81828384, 0x05060708";
    for (load, expected) in [
        ("ld [%l0], %o0", 0x8182_8384),
        ("ldub [%l0 + 1], %o0", 0x82),
        ("ldsb [%l0 + 1], %o0", 0xffff_ff82),
        ("lduh [%l0 + 2], %o0", 0x8384),
        ("ldsh [%l0 + 2], %o0", 0xffff_8384),
        ("ldd [%l0], %o2; mov %o3, %o0", 0x0506_0708),
        ("ldstub [%l0], %o1; ld [%l0], %o0; sub %o0, %o1, %o0", 0xff82_8384 - 0x81),
        ("mov 7, %o0; swap [%l0 + 4], %o0; ld [%l0 + 4], %o1; add %o0, %o1, %o0", 0x0506_070f),
        ("mov 0x99, %o1; stb %o1, [%l0 + 3]; sth %o1, [%l0]; ld [%l0], %o0", 0x0099_8399),
        ("mov 1, %o2; mov 2, %o3; std %o2, [%l0]; ldd [%l0], %o0; add %o0, %o1, %o0", 3),
        ("ldd [%l0], %g0; mov %g1, %o0", 0x0506_0708),
        ("std %g0, [%l0]; ld [%l0], %o0", 0),
    ] {
        assert_eq!(status(&format!("set data, %l0; {load}; ta 0; {data}")), expected, "{load}");
    }
}

#[test]
fn the_console_and_the_write_call_print_bytes() {
    let source = format!(
        "set {CONSOLE:#x}, %l0
         mov 'H', %o1
         ta 0"
    );
    assert!(Assembler::new(&InstructionSet::sparc()).assemble(&source).is_err(), "no characters");
    let source = format!(
        "set {CONSOLE:#x}, %l0; mov 72, %o1; stb %o1, [%l0 + 3]; ld [%l0 + 4], %o2; mov 105, %o1
         st %o1, [%l0]
         mov 4, %g1; mov 1, %o0; set text, %o1; mov 8, %o2; ta 0x10
         mov 1, %g1; mov 3, %o0; ta 0x10
         text: .ascii \", there\\n\""
    );
    let mut machine = machine(&source);
    assert_eq!(machine.run(100), Ok(Ending::Exit(3)));
    assert_eq!(String::from_utf8(machine.memory_mut().take_console()).unwrap(), "Hi, there\n");
}

#[test]
fn stored_code_is_executed_after_a_flush() {
    let source = "
        set new, %l0
        set old, %l1
        clr %o0
        mov 2, %l2
again:  ld [%l0], %o1
old:    add %o0, 1, %o0
        st %o1, [%l1]
        flush %l1
        subcc %l2, 1, %l2
        bne again
        nop
        ta 0
new:    add %o0, 16, %o0";
    assert_eq!(status(source), 17);
}

#[test]
fn a_failure_says_where_and_why() {
    for (source, words) in [
        (
            "mov 2, %o1; bad: ld [%o1 + 1], %o0; ta 0",
            vec!["(bad)", "ld [%o1 + 1], %o0", "0x00000003 is misaligned", "%o1 = 0x2"],
        ),
        (
            "set 0x10000000, %o1; st %g0, [%o1]",
            vec!["no memory at address 0x10000000", "at 0x40000004"],
        ),
        ("ldd [%g0 + 4], %o0", vec!["misaligned"]),
        ("start: nop; .word 0xffffffff", vec!["0xffffffff, which is no instruction", "start+0x4"]),
        ("unimp 5", vec!["unimp", "illegal"]),
        ("udiv %o0, %g0, %o1", vec!["division by zero"]),
        ("mov 4, %o1; taddcctv %o1, 1, %o2", vec!["tag overflow"]),
        ("ta 5", vec!["software trap 5"]),
        ("mov 99, %g1; ta 0x10", vec!["exit", "write"]),
        ("jmp %g0 + 2; nop", vec!["misaligned"]),
        ("jmp %g0 + 4; nop", vec!["at 0x00000004", "no memory"]),
        (
            "clr %sp; save; save; save; save; save; save; mov 1, %sp; save; save; save",
            vec!["window"],
        ),
    ] {
        let text = failure(source).to_string();
        for word in words {
            assert!(text.contains(word), "{source}: {text} does not say {word}");
        }
        assert!(!text.contains('\n'));
    }
}

#[test]
fn a_program_without_end_stops_at_its_limit() {
    let mut endless = machine("again: ba again; nop");
    assert_eq!(endless.run(1_000_000), Ok(Ending::Limit));
    assert_eq!(endless.instructions(), 1_000_000);
    assert_eq!(endless.run(1), Ok(Ending::Limit));
    assert_eq!(endless.instructions(), 1_000_001);
}

#[test]
fn the_profile_has_all_cycles() {
    let machine_of = machine;
    let mut machine = machine_of(
        "_start: mov 10, %l0; again: call leaf; nop; subcc %l0, 1, %l0; bne again; nop; ta 0
         leaf: umul %o0, %o1, %o2; retl; nop",
    );
    machine.run(1_000).unwrap();
    let profile = machine.profile();
    let sum: u64 = profile.iter().map(|share| share.cycles).sum();
    assert_eq!(sum, machine.cycles());
    let leaf = profile.iter().find(|share| share.name == "leaf").unwrap();
    assert_eq!((leaf.cycles, leaf.instructions), (10 * 4, 10 * 3));
    // A flush discards the code, but not its counts.
    let source = "mov 10, %l0; again: flush %g0; subcc %l0, 1, %l0; bne again; nop; last: ta 0";
    let mut machine = machine_of(source);
    machine.run(1_000).unwrap();
    let profile = machine.profile();
    assert_eq!((profile[0].name.as_str(), profile[0].cycles), ("again", 40));
    assert_eq!(profile.iter().map(|share| share.cycles).sum::<u64>(), machine.cycles());
}

#[test]
fn sources_with_mistakes_name_the_line() {
    let set = InstructionSet::sparc();
    for (source, line, word) in [
        ("nop\nfoo %o0", 2, "foo is not an instruction"),
        ("add %o0, %o1", 1, "add takes other operands: add rs1, rs2 or constant, rd"),
        ("nop\n\nba nowhere\nnop", 3, "nowhere is not defined"),
        ("add %o0, 5000, %o1", 1, "-4096 to 4095"),
        ("add %o0, 5, %o8", 1, "%o8 is not a register"),
        ("a: nop\na: nop", 2, "a is already defined"),
        ("ld %o0, %o1", 1, "not an address in [ ]"),
        ("ldd [%o0], %o1", 1, "even register"),
        (".word 1 +", 1, "a number is missing"),
        (".byte 256", 1, "does not fit 8 bits"),
        (".foo", 1, "not a directive"),
        ("ta 300", 1, "0 to 127"),
        ("sll %o0, 32, %o0", 1, "0 to 31"),
        (".align 3", 1, "power of two"),
        (".skip 0x7fffffff", 1, "bytes: give a number from 0"),
        ("add %o0, , %o1", 1, "missing"),
        ("ld [%o0, %o1", 1, "closing bracket"),
        ("umac %o0, %o1", 1, "umac is not an instruction"),
        (".ascii \"abc", 1, "quotation"),
        ("set 0x123456789, %o0", 1, "does not fit 32 bits"),
        ("nop 1", 1, "nop"),
    ] {
        let error = Assembler::new(&set).assemble(source).unwrap_err();
        assert_eq!(error.line, line, "{source}: {error}");
        assert!(error.to_string().contains(word), "{source}: {error}");
    }
}

/// Returns an ELF file of 32 bits, big-endian, for SPARC, with one segment and a symbol.
fn elf_file(code: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let half = |file: &mut Vec<u8>, value: u16| file.extend(value.to_be_bytes());
    let word = |file: &mut Vec<u8>, value: u32| file.extend(value.to_be_bytes());
    file.extend(b"\x7fELF\x01\x02\x01\0\0\0\0\0\0\0\0\0");
    half(&mut file, 2); // executable
    half(&mut file, 2); // SPARC
    let code_at = 84;
    let size = u32::try_from(code.len()).unwrap();
    let symbols = code_at + size;
    for value in [1, 0x10000, 52, symbols + 32 + 8, 0] {
        word(&mut file, value); // version, entry, program headers, section headers, flags
    }
    for value in [52, 32, 1, 40, 3, 2] {
        half(&mut file, value);
    }
    for value in [1, code_at, 0x10000, 0x10000, size, size + 64, 5, 4096] {
        word(&mut file, value);
    }
    file.extend(code);
    file.extend([0; 16]);
    for value in [1, 0x10000, 0] {
        word(&mut file, value); // name, value, size
    }
    file.extend([2, 0, 0, 1]); // a function, in section 1
    file.extend(b"\0begin\0\0");
    word(&mut file, 0);
    file.extend([0; 36]);
    for values in
        [[0, 2, 0, 0, symbols, 32, 2, 0, 0, 16], [0, 3, 0, 0, symbols + 32, 8, 0, 0, 0, 0]]
    {
        values.into_iter().for_each(|value| word(&mut file, value));
    }
    file
}

#[test]
fn elf_files_are_loaded_and_bad_ones_refused() {
    let code = assemble("mov 42, %o0; ta 0").segments[0].bytes.clone();
    let file = elf_file(&code);
    let program = elf::read(&file).unwrap();
    assert_eq!(program.symbols["begin"], 0x10000);
    assert_eq!(program.segments[0].zeros, 64);
    let mut machine = Machine::new(InstructionSet::sparc(), Timing::leon2(), &program).unwrap();
    assert_eq!(machine.run(10), Ok(Ending::Exit(42)));
    // A file truncated at any byte is an error.
    for length in 0..file.len() {
        assert!(elf::read(&file[..length]).is_err(), "{length}");
    }
    for (place, value, words) in [
        (0, 0, "no ELF file"),
        (4, 2, "64 bits"),
        (4, 7, "bad ELF file"),
        (5, 1, "little-endian"),
        (17, 1, "executable"),
        (19, 3, "processor 3"),
        (26, 0xff, "holds no instruction"),
        (52 + 3, 2, "nothing to load"),
        (52 + 17, 0xff, "truncated"),
    ] {
        let mut bad = file.clone();
        bad[place] = value;
        let error = elf::read(&bad).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn timing_files_with_missing_or_absurd_numbers_name_field_and_line() {
    let good = Timing::LEON2;
    for (from, to, words) in [
        ("store = 2\n", "", vec!["store"]),
        ("store = 2", "store = 0", vec!["slots.store: is 0", "from 1 to 16"]),
        ("store = 2", "store = -2", vec!["line 10"]),
        ("store = 2", "store = \"two\"", vec!["line 10"]),
        ("store = 2", "shop = 2", vec!["line 10", "shop"]),
        ("load_delay = 1", "load_delay = 3", vec!["interlocks.load_delay: is 3"]),
        ("32x32\"", "31x31\"", vec!["31x31"]),
        ("count = 8", "count = 99", vec!["windows.count: is 99"]),
        ("[slots]", "[slots", vec!["line"]),
    ] {
        assert!(good.contains(from), "{from}");
        let error = Timing::from_toml(&good.replacen(from, to, 1)).unwrap_err().to_string();
        words.iter().for_each(|word| assert!(error.contains(word), "{to}: {error}"));
    }
}
