//! Bad machine code, planted: every rule must find what it is for, and name the kernel, the address
//! and the instruction.

use super::check;
use crate::kernels::{Instance, Multiplies, Row, Work};
use crate::machine_code::Program;
use crate::machine_code::instruction::RSI;

const ROWS: [Row; 3] = [
    Row {
        path: "good",
        secret: &[],
        secret_stack: &[],
        branches: "rows",
        instances: &[Instance { parameters: "", stack: 2 }],
        work: |_| Work::once(Multiplies::NONE),
    },
    Row {
        path: "by_value",
        secret: &[RSI],
        secret_stack: &[8],
        branches: "rows",
        instances: &[Instance { parameters: "", stack: 2 }],
        work: |_| Work::once(Multiplies::NONE),
    },
    Row {
        path: "leaf",
        secret: &[],
        secret_stack: &[],
        branches: "rows",
        instances: &[Instance { parameters: "20, true", stack: 0 }],
        work: |_| Work::once(Multiplies::NONE),
    },
];

/// A row of its own for what a test plants: rdi and rdx point, rsi and rcx are lengths.
const LEAF: &str = "\
0000000000009000 <tollgate_mont::kernels::leaf::<20, true>>:
    9000:\tmov    rax,QWORD PTR [rdi+rsi*8]
    9004:\tret
";
const BY_VALUE: &str = "\
0000000000008000 <tollgate_mont::kernels::by_value>:
    8000:\tmov    rax,QWORD PTR [rsp+0x8]
    8004:\timul   rax,rsi
    8008:\tmov    QWORD PTR [rdi],rax
    800b:\tret
";
const RELOCATIONS: &str = "\
0000000000003000 R_X86_64_GLOB_DAT  memset@GLIBC_2.2.5
0000000000003008 R_X86_64_GLOB_DAT  core_panicking_panic@X
0000000000003010 R_X86_64_GLOB_DAT  qsort@GLIBC_2.2.5
";

fn program(code: &str) -> Program {
    Program::parse(code, RELOCATIONS, "tollgate_mont::kernels::")
}

/// Findings for a kernel `good` that runs these instructions, one per line, at 1000, 1001, ...
fn planted(lines: &[&str]) -> Vec<String> {
    let mut code = String::from("0000000000001000 <tollgate_mont::kernels::good>:\n");
    for (at, line) in lines.iter().enumerate() {
        code += &format!("    {:x}:\t{line}\n", 0x1000 + at);
    }
    code += "    10ff:\tret\n";
    check(&program(&[&code, BY_VALUE, LEAF].concat()), &ROWS).0
}

fn only(lines: &[&str], at: &str, what: &str) {
    let found = planted(lines);
    let [one] = &found[..] else { panic!("one finding, not {found:#?}") };
    assert!(one.starts_with(&format!("tollgate_mont::kernels::good at {at}: ")), "{one}");
    assert!(one.contains(what), "{one}");
}

#[test]
fn loops_on_lengths_and_constants_pass() {
    let passes = [
        "push   rbx",
        "sub    rsp,0x48",
        "mov    QWORD PTR [rsp+0x8],rsi", // a length, put away
        "xor    eax,eax",
        "mov    r8,QWORD PTR [rdi+rax*8]", // secret from here on
        "mulx   r9,r10,QWORD PTR [rdx+rax*8]",
        "adcx   r10,r8",
        "mov    QWORD PTR [rdi+rax*8],r10",
        "vpaddq zmm0,zmm1,ZMMWORD PTR [rdx]",
        "inc    rax",
        "cmp    rax,QWORD PTR [rsp+0x8]", // and read again
        "jne    1004 <good+0x4>",
        "seta   cl",
        "test   cl,cl", // the byte alone is public
        "je     1010 <good+0x10>",
        "call   QWORD PTR [rip+0x1]        # 3008 <_DYNAMIC+0x8>",
        "add    rsp,0x48",
        "pop    rbx",
    ];
    assert_eq!(planted(&passes), Vec::<String>::new());
}

#[test]
fn a_branch_on_what_was_loaded() {
    only(
        &["cmp    QWORD PTR [rdi],0x0", "je     10ff <good>"],
        "1001",
        "branch depends on a secret",
    );
    only(&["mov    eax,DWORD PTR [rdi]", "dec    eax", "jne    10ff <good>"], "1002", "jne");
}

#[test]
fn a_branch_on_a_carry() {
    let lines = ["mov    rax,QWORD PTR [rdi]", "adcx   rax,rsi", "jb     10ff <good>"];
    only(&lines, "1002", "jb 10ff");
    // dec leaves the carry of the sum
    let lines = ["add    QWORD PTR [rdi],rcx", "dec    rsi", "jae    10ff <good>"];
    only(&lines, "1002", "jae");
    assert!(
        planted(&["add    QWORD PTR [rdi],rcx", "dec    rsi", "jne    10ff <good>"]).is_empty()
    );
}

#[test]
fn a_branch_on_a_mask_or_a_vector() {
    only(&["kortestb k1,k1", "jb     10ff <good>"], "1001", "branch");
    let lines = ["kmovb  eax,k1", "test   eax,eax", "jne    10ff <good>"];
    only(&lines, "1002", "branch");
    only(&["vptest ymm0,ymm1", "je     10ff <good>"], "1001", "branch");
}

#[test]
fn a_secret_that_reaches_the_branch_over_a_loop_or_the_stack() {
    let lines = [
        "xor    eax,eax",
        "cmp    rax,rsi", // public the first time, secret the second
        "je     10ff <good>",
        "mov    rax,QWORD PTR [rdi]",
        "jmp    1001 <good+0x1>",
    ];
    only(&lines, "1002", "branch");
    let lines = [
        "mov    rax,QWORD PTR [rdi]",
        "mov    QWORD PTR [rsp-0x8],rax",
        "mov    rcx,QWORD PTR [rsp-0x8]",
        "test   rcx,rcx",
        "je     10ff <good>",
    ];
    only(&lines, "1004", "branch");
    // a vector overwrites the length that was put away
    let lines = [
        "mov    QWORD PTR [rsp-0x40],rsi",
        "vmovdqu64 ZMMWORD PTR [rsp-0x60],zmm0",
        "cmp    rcx,QWORD PTR [rsp-0x40]",
        "je     10ff <good>",
    ];
    let found = planted(&lines);
    assert!(found.iter().any(|found| found.contains("at 1003: a branch")), "{found:#?}");
}

#[test]
fn an_address_of_what_was_loaded() {
    let index = ["mov    rax,QWORD PTR [rdi]", "mov    rcx,QWORD PTR [rdx+rax*8]"];
    only(&index, "1001", "address depends on a secret: mov rcx,QWORD PTR [rdx+rax*8]");
    let store = ["mov    rax,QWORD PTR [rdi]", "mov    QWORD PTR [rax],rcx"];
    only(&store, "1001", "address");
    let vector = ["vmovq  rax,xmm0", "vmovdqa64 zmm1,ZMMWORD PTR [rdx+rax*1]"];
    only(&vector, "1001", "address");
    // an address that is only computed reads nothing
    assert!(planted(&["mov    rax,QWORD PTR [rdi]", "lea    rcx,[rdx+rax*8]"]).is_empty());
}

#[test]
fn a_gather_and_a_scatter() {
    only(&["vpgatherqq zmm0{k1},QWORD PTR [rdi+zmm1*8]"], "1000", "a gather");
    only(&["vpscatterqq QWORD PTR [rdi+zmm1*8]{k1},zmm0"], "1000", "scatter");
}

#[test]
fn a_division_of_a_secret() {
    let lines = ["mov    rax,QWORD PTR [rdi]", "xor    edx,edx", "div    rsi"];
    only(&lines, "1002", "division");
    assert!(planted(&["mov    rax,rcx", "xor    edx,edx", "div    rsi"]).is_empty());
}

#[test]
fn calls_of_what_is_not_known() {
    only(&["call   QWORD PTR [rip+0x1]  # 3010 <_DYNAMIC>"], "1000", "not audited: qsort");
    only(&["call   rax"], "1000", "computed address");
    only(&["jmp    rsi"], "1000", "computed address");
    only(&["jmp    7000 <elsewhere>"], "1000", "no name");
}

#[test]
fn a_length_of_what_was_loaded() {
    let lines = ["mov    rdx,QWORD PTR [rdi]", "call   QWORD PTR [rip+0x1]  # 3000 <_DYNAMIC>"];
    only(&lines, "1001", "length depends on a secret");
    let lines = ["mov    rcx,QWORD PTR [rdi]", "rep stos QWORD PTR es:[rdi],rax"];
    only(&lines, "1001", "length");
}

#[test]
fn a_secret_where_a_kernel_wants_a_length() {
    let lines = ["mov    rsi,QWORD PTR [rdi]", "call   9000 <leaf>"];
    only(&lines, "1001", "a public argument of tollgate_mont::kernels::leaf::<20, true> is secret");
    // rcx is no argument of it
    assert!(planted(&["mov    rcx,QWORD PTR [rdi]", "call   9000 <leaf>"]).is_empty());
    // by_value takes rsi and what is on the stack as secrets, but not rdi
    let lines = ["mov    rsi,QWORD PTR [rdi]", "push   rsi", "call   8000 <by_value>", "pop rax"];
    assert!(planted(&lines).is_empty());
    let lines = ["mov    rdi,QWORD PTR [rdi]", "push   rsi", "call   8000 <by_value>", "pop rax"];
    only(&lines, "1002", "a public argument");
}

#[test]
fn a_secret_argument_is_secret_and_stands_where_it_is_declared() {
    let code = BY_VALUE.replace("imul   rax,rsi", "mov    rax,QWORD PTR [rdi+rsi*8]");
    let good = "0000000000001000 <tollgate_mont::kernels::good>:\n    1000:\tret\n";
    let (found, _) = check(&program(&[good, &code, LEAF].concat()), &ROWS);
    assert!(found.len() == 1 && found[0].contains("by_value at 8004: an address"), "{found:#?}");
    let code = BY_VALUE.replace("[rsp+0x8]", "[rsp+0x10]");
    let (found, _) = check(&program(&[good, &code, LEAF].concat()), &ROWS);
    assert!(found.len() == 1 && found[0].contains("never read there"), "{found:#?}");
}

#[test]
fn more_of_the_stack_than_declared() {
    let lines = [
        "mov    rbp,rsp",
        "vmovdqu64 ZMMWORD PTR [rsp-0x40],zmm0",
        "vmovdqu64 ZMMWORD PTR [rbp-0x80],zmm0",
        "mov    rax,QWORD PTR [rsp+0x8]",
    ];
    let found = planted(&lines);
    assert_eq!(found, ["tollgate_mont::kernels::good: 3 stack references, declared are at most 2"]);
    assert!(planted(&lines[..3]).is_empty());
}

#[test]
fn an_instruction_that_is_not_known() {
    only(&["rdrand rax"], "1000", "does not know: rdrand rax");
    only(&["mov    rax,cr0"], "1000", "does not know: mov rax,cr0");
    only(&["(bad)"], "1000", "does not know: (bad)");
}

#[test]
fn kernels_without_a_row_and_rows_without_a_kernel() {
    let found = check(&program("0000000000001000 <tollgate_mont::kernels::new>:\n"), &ROWS).0;
    assert_eq!(found.len(), 4, "{found:#?}");
    assert!(found[0].contains("kernels::new: no row declares it"));
    assert!(found[3].contains("leaf::<20, true>: declared and not in the binary"));
}
