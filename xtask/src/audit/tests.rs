//! Each test plants an error. The rule must find it and name the kernel, the address and the
//! instruction.

use super::check;
use crate::kernels::work::{nothing, row};
use crate::kernels::{self, Row};
use crate::machine_code::Program;
use crate::machine_code::instruction::{RDI, RSI};

const ROWS: [Row; 4] = [
    row("good", "", nothing),
    Row { secret: &[RSI], secret_stack: &[8], ..row("by_value", "", nothing) },
    row("leaf", "20, true", nothing),
    // an array of pointers to structs, and a struct
    Row { structs: &[(RDI, 2), (RSI, 1)], ..row("structs", "", nothing) },
];

/// Callees of planted code: rdi and rdx are pointers, rsi and rcx lengths.
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
const STRUCTS: &str = "\
0000000000007800 <tollgate_mont::kernels::structs>:
    7800:\tmov    rax,QWORD PTR [rdi]
    7801:\tmov    rcx,QWORD PTR [rsi]
    7802:\tret
";
const RELOCATIONS: &str = "\
0000000000002ff8 R_X86_64_RELATIVE  *ABS*+0x0000000000007800
0000000000003000 R_X86_64_GLOB_DAT  memset@GLIBC_2.2.5
0000000000003008 R_X86_64_GLOB_DAT  core_panicking_panic@X
0000000000003010 R_X86_64_GLOB_DAT  qsort@GLIBC_2.2.5
";

fn program(code: &str) -> Program {
    Program::parse(code, RELOCATIONS, &["tollgate_mont::kernels::"])
}

/// Returns a kernel at this address: the given instructions, one byte apart, and a return.
fn kernel(name: &str, address: usize, lines: &[&str]) -> String {
    let mut code = format!("{address:016x} <tollgate_mont::kernels::{name}>:\n");
    for (at, line) in lines.iter().enumerate() {
        code += &format!("    {:x}:\t{line}\n", address + at);
    }
    code + &format!("    {:x}:\tret\n", address + 0xff)
}

/// Returns the findings for a program of these functions.
fn found(functions: &[&str]) -> Vec<String> {
    check(&program(&functions.concat()), &ROWS)
}

/// Returns the findings for a kernel `good` with these instructions at 1000, 1001, ...
fn planted(lines: &[&str]) -> Vec<String> {
    found(&[&kernel("good", 0x1000, lines), BY_VALUE, LEAF, STRUCTS])
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
        "mov    QWORD PTR [rsp+0x8],rsi", // spills a length
        "xor    eax,eax",
        "mov    r8,QWORD PTR [rdi+rax*8]", // secret from here on
        "mulx   r9,r10,QWORD PTR [rdx+rax*8]",
        "adcx   r10,r8",
        "mov    QWORD PTR [rdi+rax*8],r10",
        "vpaddq zmm0,zmm1,ZMMWORD PTR [rdx]",
        "inc    rax",
        "cmp    rax,QWORD PTR [rsp+0x8]", // reads the length again
        "jne    1004 <good+0x4>",
        "seta   cl",
        "test   cl,cl", // only this byte is public
        "je     1010 <good+0x10>",
        "call   QWORD PTR [rip+0x1]        # 3008 <_DYNAMIC+0x8>",
        "add    rsp,0x48",
        "pop    rbx",
    ];
    assert_eq!(planted(&passes), Vec::<String>::new());
}

#[test]
fn one_use_of_a_secret_is_one_finding() {
    let branch = "a branch depends on a secret";
    let address = "an address depends on a secret";
    for (code, at, what) in [
        ("cmp    QWORD PTR [rdi],0x0; je     10ff <good>", "1001", branch),
        ("mov    eax,DWORD PTR [rdi]; dec    eax; jne    10ff <good>", "1002", "jne"),
        // carries; dec does not change the carry of the sum
        ("mov    rax,QWORD PTR [rdi]; adcx   rax,rsi; jb     10ff <good>", "1002", "jb 10ff"),
        ("add    QWORD PTR [rdi],rcx; dec    rsi; jae    10ff <good>", "1002", "jae"),
        // loads and stores by a mask
        ("vmovdqa64 zmm1{k1},ZMMWORD PTR [rdi]", "1000", "by a mask"),
        ("vpternlogq zmm1{k1},zmm2,ZMMWORD PTR [rdi],0xca", "1000", "by a mask"),
        ("vmovdqa64 ZMMWORD PTR [rdi]{k1},zmm0", "1000", "by a mask"),
        ("vpmaskmovq ymm0,ymm1,YMMWORD PTR [rdi]", "1000", "by a mask"),
        ("vpcompressq ZMMWORD PTR [rdi]{k1},zmm0", "1000", "by a mask"),
        // branches on masks and vectors
        ("kortestb k1,k1; jb     10ff <good>", "1001", branch),
        ("kmovb  eax,k1; test   eax,eax; jne    10ff <good>", "1002", branch),
        ("vptest ymm0,ymm1; je     10ff <good>", "1001", branch),
        // public the first time, secret the second
        (
            "xor eax,eax; cmp rax,rsi; je 10ff <good>; mov rax,QWORD PTR [rdi]; jmp 1001 \
             <good+0x1>",
            "1002",
            branch,
        ),
        (
            "mov rax,QWORD PTR [rdi]; mov QWORD PTR [rsp-0x8],rax; mov rcx,QWORD PTR [rsp-0x8]; \
             test rcx,rcx; je 10ff <good>",
            "1004",
            branch,
        ),
        (
            "mov    rax,QWORD PTR [rdi]; mov    rcx,QWORD PTR [rdx+rax*8]",
            "1001",
            "address depends on a secret: mov rcx,QWORD PTR [rdx+rax*8]",
        ),
        ("mov    rax,QWORD PTR [rdi]; mov    QWORD PTR [rax],rcx", "1001", address),
        ("vmovq  rax,xmm0; vmovdqa64 zmm1,ZMMWORD PTR [rdx+rax*1]", "1001", address),
        ("vpgatherqq zmm0{k1},QWORD PTR [rdi+zmm1*8]", "1000", "a gather"),
        ("vpscatterqq QWORD PTR [rdi+zmm1*8]{k1},zmm0", "1000", "scatter"),
        ("mov    rax,QWORD PTR [rdi]; xor    edx,edx; div    rsi", "1002", "time of a division"),
        ("call   QWORD PTR [rip+0x1]  # 3010 <_DYNAMIC>", "1000", "not audited: qsort"),
        ("call   rax", "1000", "computed address"),
        ("jmp    rsi", "1000", "computed address"),
        ("jmp    7000 <elsewhere>", "1000", "without a name"),
        // an address that the loader filled in
        ("mov    rbp,QWORD PTR [rip+0x1]  # 3010 <_DYNAMIC>; call   rbp", "1001", "audited: qsort"),
        ("mov    rdx,QWORD PTR [rdi]; call   QWORD PTR [rip+0x1]  # 3000 <_D>", "1001", "length"),
        ("mov    rcx,QWORD PTR [rdi]; rep stos QWORD PTR es:[rdi],rax", "1001", "length"),
        ("rdrand rax", "1000", "does not know: rdrand rax"),
        ("mov    rax,cr0", "1000", "does not know: mov rax,cr0"),
        ("(bad)", "1000", "does not know: (bad)"),
    ] {
        only(&code.split("; ").collect::<Vec<_>>(), at, what);
    }
    for code in [
        "add    QWORD PTR [rdi],rcx; dec    rsi; jne    10ff <good>",
        "vpternlogq zmm1{k1},zmm2,zmm3,0xca",
        // lea computes an address without a read
        "mov    rax,QWORD PTR [rdi]; lea    rcx,[rdx+rax*8]",
        "mov    rax,rcx; xor    edx,edx; div    rsi",
    ] {
        assert!(planted(&code.split("; ").collect::<Vec<_>>()).is_empty(), "{code}");
    }
    // a vector overwrites the length that was spilled
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
fn a_secret_passed_as_a_length() {
    let lines = ["mov    rsi,QWORD PTR [rdi]", "call   9000 <leaf>"];
    only(&lines, "1001", "a public argument of tollgate_mont::kernels::leaf::<20, true> is secret");
    // rcx is not an argument of the callee
    assert!(planted(&["mov    rcx,QWORD PTR [rdi]", "call   9000 <leaf>"]).is_empty());
    // by_value declares rsi and its stack argument as secret, but not rdi
    let lines = ["mov    rsi,QWORD PTR [rdi]", "push   rsi", "call   8000 <by_value>", "pop rax"];
    assert!(planted(&lines).is_empty());
    let lines = ["mov    rdi,QWORD PTR [rdi]", "push   rsi", "call   8000 <by_value>", "pop rax"];
    only(&lines, "1002", "a public argument");
}

#[test]
fn a_secret_argument_is_secret_and_in_its_declared_place() {
    let good = kernel("good", 0x1000, &[]);
    for (from, to, what) in [
        ("imul   rax,rsi", "mov    rax,QWORD PTR [rdi+rsi*8]", "by_value at 8004: an address"),
        ("[rsp+0x8]", "[rsp+0x10]", "declared secret, is never read"),
        // the compiler passes the secret in another register
        ("imul   rax,rsi", "imul   rax,rdx", "secret declared in rsi is"),
    ] {
        let found = found(&[&good, &BY_VALUE.replace(from, to), LEAF, STRUCTS]);
        assert!(found.len() == 1 && found[0].contains(what), "{found:#?}");
    }
}

/// Returns the findings for a kernel `structs` with these instructions. rdi points to an array of
/// pointers to structs, rsi to a struct.
fn planted_structs(lines: &[&str]) -> Vec<String> {
    found(&[&kernel("good", 0x1000, &[]), &kernel("structs", 0x7800, lines), BY_VALUE, LEAF])
}

#[test]
fn fields_of_a_struct_are_public_and_their_targets_secret() {
    let passes = [
        "mov    rax,QWORD PTR [rdi+rdx*8]", // a pointer to a struct
        "mov    rcx,QWORD PTR [rax+0x8]",   // a length in it
        "add    rsi,0x40",
        "lea    r8,[rsi+rdx*1]",
        "cmp    rcx,QWORD PTR [r8+0x18]", // another length
        "je     78ff <structs>",
        "mov    r9,QWORD PTR [r8]", // a pointer
        "vmovups xmm0,XMMWORD PTR [rax]",
        "vmovups XMMWORD PTR [rsp-0x10],xmm0", // a copy on the stack
        "mov    r10,QWORD PTR [rsp-0x8]",
        "mov    r11,QWORD PTR [r10+r9*8]",
    ];
    assert_eq!(planted_structs(&passes), Vec::<String>::new());
    for secret in [
        &["mov    rax,QWORD PTR [rdi]", "mov    rax,QWORD PTR [rax]", "cmp    [rax],rdx"][..],
        &["mov    rcx,QWORD PTR [rsi]", "mov    rcx,QWORD PTR [rcx]", "test   rcx,rcx"][..],
        &["mov    rax,QWORD PTR [rdx]", "add    rax,rsi", "test   rax,rax"][..],
    ] {
        let lines = [&["mov rbx,QWORD PTR [rdi]", "mov rbx,QWORD PTR [rsi]"], secret].concat();
        let found = planted_structs(&[&lines[..], &["je     78ff <structs>"]].concat());
        assert!(found.len() == 1 && found[0].contains("a branch depends"), "{found:#?}");
    }
    // storing a secret in a struct is a finding
    for store in ["mov    QWORD PTR [rsi],r8", "vmovdqu64 ZMMWORD PTR [rsi],zmm0"] {
        let read = ["mov rbx,QWORD PTR [rdi]", "mov rbx,QWORD PTR [rsi]"];
        let found = planted_structs(&[&read[..], &["mov    r8,QWORD PTR [rdx]", store]].concat());
        assert!(found.len() == 1 && found[0].contains("into a struct"), "{found:#?}");
    }
    // if two paths join, the pointer gets the smaller of their depths
    let lines = [
        "mov    rax,QWORD PTR [rsi]",
        "mov    rax,rdi",
        "cmp    rdx,rcx",
        "je     7805 <structs>",
        "mov    rax,QWORD PTR [rdi]",
        "mov    rax,QWORD PTR [rax]",
        "mov    rcx,QWORD PTR [rax]",
        "test   rcx,rcx",
        "je     78ff <structs>",
    ];
    let found = planted_structs(&lines);
    assert!(found.len() == 1 && found[0].contains("at 7808: a branch depends"), "{found:#?}");
}

#[test]
fn a_struct_in_another_register_and_one_that_the_caller_lacks() {
    let found = planted_structs(&["mov    rax,QWORD PTR [rdi]"]);
    assert!(found.len() == 1 && found[0].contains("declared in rsi is never read"), "{found:#?}");
    let call = "call   QWORD PTR [rip+0x1]  # 2ff8 <_DYNAMIC>";
    only(&["lea    rsi,[rsp-0x40]", call], "1001", "structs expects a pointer to a struct");
    // on the stack of the caller: a struct whose first field is a length, and pointers to it
    let lines = [
        "lea    rdi,[rsp-0x40]",
        "lea    rsi,[rsp-0x80]",
        "mov    QWORD PTR [rsp-0x40],rsi",
        "mov    QWORD PTR [rsp-0x80],rdx",
        call,
    ];
    assert_eq!(planted(&lines), Vec::<String>::new());
    let lines = lines.map(|line| line.replace("-0x80],rdx", "-0x78],rdx"));
    let found = planted(&lines.each_ref().map(String::as_str));
    assert!(found.iter().any(|found| found.contains("a pointer to a struct")), "{found:#?}");
}

/// `map` with closures, as the compiler generates it for an array of two. It loads through rdi and
/// rsi.
const PARTS: &str = "\
0000000000006000 <<[&mut tollgate_mont::X; 2]>::map::<tollgate_mont::kernels::good::{closure#0}>>:
    6000:\tpush   rbp
    6001:\tmov    r12,rdi
    6002:\tmov    al,0x1
    6003:\tmov    ebp,eax
    6004:\tmov    rdi,QWORD PTR [rsi]
    6005:\tadd    rsi,0x8
    6006:\tcall   6100 <tollgate_mont::kernels::good::{closure#0}>
    6007:\tmov    QWORD PTR [r12],rax
    6008:\tadd    r12,0x8
    6009:\txor    eax,eax
    600a:\ttest   bpl,0x1
    600b:\tjne    6003 <map>
    600c:\tpop    rbp
    600d:\tret

0000000000006100 <tollgate_mont::kernels::good::{closure#0}>:
    6100:\tlea    rax,[rdi+0x500]
    6101:\tret
";

#[test]
fn parts_are_followed_at_their_calls() {
    let lines = |second: &'static str| {
        [
            "lea    rsi,[rsp-0x40]",
            "mov    QWORD PTR [rsp-0x40],rdx",
            second,
            "lea    rdi,[rsp-0x60]",
            "sub    rsp,0x80",
            "call   6000 <<[&mut tollgate_mont::X; 2]>::map::<{closure#0}>>",
            "add    rsp,0x80",
            "mov    rax,QWORD PTR [rsp-0x58]",
            "mov    rax,QWORD PTR [rax]",
        ]
    };
    let found = |lines: &[&str]| {
        found(&[PARTS, "\n", &kernel("good", 0x1000, lines), BY_VALUE, LEAF, STRUCTS])
    };
    assert_eq!(found(&lines("mov    QWORD PTR [rsp-0x38],rcx")), Vec::<String>::new());
    // a secret in the second place stays in the second place
    let secret = found(&lines("vmovq  QWORD PTR [rsp-0x38],xmm0"));
    assert!(secret.len() == 1 && secret[0].contains("at 1008: an address"), "{secret:#?}");
    // a closure without a caller is not checked
    let lost = found(&["nop"]);
    assert!(lost.len() == 1 && lost[0].contains("no kernel with a row calls it"), "{lost:#?}");
}

#[test]
fn kernels_without_a_row_and_rows_without_a_kernel() {
    let program = program("0000000000001000 <tollgate_mont::kernels::new>:\n");
    let found = kernels::unmatched(&ROWS, &program.functions);
    assert_eq!(found.len(), 5, "{found:#?}");
    assert!(found[0].contains("kernels::new: no row declares it"));
    assert!(found[3].contains("leaf::<20, true>: declared, but not in the binary"));
}
