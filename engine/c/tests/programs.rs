//! Compiles programs in C and C++ with the system's compilers against an installed library, and
//! runs them, also under valgrind and with the address sanitizer.
#![allow(clippy::print_stdout, reason = "a test that does not run says so")]

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

const C: &str = env!("CARGO_MANIFEST_DIR");
const TMP: &str = env!("CARGO_TARGET_TMPDIR");
/// Warnings that every program must be free of.
const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];
const SANITIZER: [&str; 3] = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-g"];

/// The prefix under which the library of this build is installed.
static INSTALLED: LazyLock<PathBuf> = LazyLock::new(|| {
    let prefix = Path::new(TMP).join("prefix");
    let folder = env::current_exe().expect("a running program has a path");
    let newest = fs::read_dir(folder.parent().expect("a program is in a folder"))
        .expect("the folder of this program")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libtollgate_c") && name.ends_with(".a")
        })
        .max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok())
        .expect("cargo makes the static library with the tests");
    let of = |name: &str, value: &Path| format!("{name}={}", value.display());
    run(Command::new("make").args(["-C", C, "install"]).args([
        of("PREFIX", &prefix),
        of("OUT", &Path::new(TMP).join("out")),
        of("ARCHIVE", &newest),
    ]));
    prefix
});

/// Runs a command to its end, which must be good, and returns what it printed.
#[track_caller]
fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{command:?}: {status}\n{said}{}", String::from_utf8_lossy(&stderr));
    said
}

/// Returns whether a tool is installed. With `CI=true` it must be.
fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok_and(|out| out.status.success());
    let is_needed = env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(found || !is_needed, "{tool} is missing and CI=true requires it: install {tool}");
    if !found {
        println!("not run: {tool} is missing");
    }
    found
}

fn vector(name: &str) -> String {
    format!("{C}/../../vectors/keys/{name}.pem")
}

/// Compiles a file of this crate as pkg-config says, and returns the program.
#[track_caller]
fn compile(compiler: &str, source: &str, kind: &str, options: &[&str]) -> PathBuf {
    let library = INSTALLED.join("lib");
    let flags = run(Command::new("pkg-config")
        .args(["--cflags", "--libs", "tollgate"])
        .env("PKG_CONFIG_PATH", library.join("pkgconfig")));
    let name = format!("{}-{compiler}-{kind}", source.replace(['/', '.'], "-"));
    let program = Path::new(TMP).join(name);
    run(Command::new(compiler)
        .args(STRICT)
        .args(options)
        .arg(Path::new(C).join(source))
        .arg("-o")
        .arg(&program)
        .args(flags.split_whitespace())
        .arg(format!("-Wl,-rpath,{}", library.display())));
    program
}

/// The arguments of `checks`.
fn keys() -> [String; 3] {
    ["rsa-2048", "rsa-1024", "rsa-2048.pub"].map(vector)
}

#[test]
fn programs_of_both_compilers_use_every_function() {
    for (compiler, plus) in [("gcc", "g++"), ("clang", "clang++")] {
        if !has(compiler) || !has(plus) {
            continue;
        }
        let checks = compile(compiler, "tests/checks.c", "plain", &["-std=c11", "-O2"]);
        assert_eq!(run(Command::new(checks).args(keys())), "all checks passed\n");
        let sign = compile(compiler, "examples/sign.c", "plain", &["-std=c99"]);
        let said = run(Command::new(sign).arg(vector("rsa-2048")));
        assert!(said.ends_with("a batch of 20 signatures is valid\n"), "{said}");
        let sign = compile(plus, "examples/sign.cpp", "plain", &["-std=c++11"]);
        let said = run(Command::new(sign).arg(vector("rsa-2048")));
        assert!(said.ends_with("a batch of 20 signatures is valid\n"), "{said}");
    }
}

#[test]
fn the_address_sanitizer_finds_nothing() {
    for compiler in ["gcc", "clang"] {
        if !has(compiler) {
            continue;
        }
        let options = [&["-std=c11"][..], &SANITIZER].concat();
        let checks = compile(compiler, "tests/checks.c", "sanitizer", &options);
        let said = run(Command::new(checks).args(keys()).arg("careful"));
        assert_eq!(said, "all checks passed\n");
    }
    let options = [&["-std=c++11"][..], &SANITIZER].concat();
    let sign = compile("g++", "examples/sign.cpp", "sanitizer", &options);
    run(Command::new(sign).arg(vector("rsa-1024")));
}

#[test]
fn valgrind_finds_nothing() {
    if !has("valgrind") {
        return;
    }
    let checks = compile("gcc", "tests/checks.c", "valgrind", &["-std=c11", "-g"]);
    // A test build of the library tells valgrind that secrets are undefined. So undefined values
    // are no errors here.
    let valgrind = |program: &Path| {
        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--error-exitcode=9", "--undef-value-errors=no"]);
        command.args(["--leak-check=full", "--errors-for-leak-kinds=definite"]).arg(program);
        command
    };
    // Small keys: valgrind takes some fifty times as long.
    let keys = ["rsa-1024", "rsa-2047", "rsa-2048.pub"].map(vector);
    assert_eq!(run(valgrind(&checks).args(keys).arg("careful")), "all checks passed\n");
    let sign = compile("g++", "examples/sign.cpp", "valgrind", &["-std=c++11", "-g"]);
    run(valgrind(&sign).arg(vector("rsa-1024")));
}

/// The static library has what the file for pkg-config says, and no more symbols than it needs.
#[test]
fn the_static_library_links() {
    let flags = run(Command::new("pkg-config")
        .args(["--static", "--cflags", "--libs", "tollgate"])
        .env("PKG_CONFIG_PATH", INSTALLED.join("lib/pkgconfig")));
    let program = Path::new(TMP).join("sign-static");
    run(Command::new("gcc")
        .arg(Path::new(C).join("examples/sign.c"))
        .arg("-o")
        .arg(&program)
        .args(flags.replace("-ltollgate", "-l:libtollgate.a").split_whitespace()));
    run(Command::new(program).arg(vector("rsa-2048")));
}

#[test]
fn the_shared_library_exports_the_functions_of_the_header_only() {
    let library = INSTALLED.join("lib/libtollgate.so.1");
    let said = run(Command::new("nm").args(["-D", "--defined-only"]).arg(&library));
    let exported: BTreeSet<&str> = said
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .filter(|name| *name != "TOLLGATE_0.1")
        .map(|name| name.strip_suffix("@@TOLLGATE_0.1").unwrap_or(name))
        .collect();
    let header = fs::read_to_string(INSTALLED.join("include/tollgate.h")).expect("the header");
    let declared: BTreeSet<&str> = header
        .lines()
        .filter(|line| !line.starts_with(['/', ' ', '#', '}']) && line.contains('('))
        .filter_map(|line| line.split('(').next()?.split([' ', '*']).next_back())
        .filter(|name| name.starts_with("tollgate_"))
        .collect();
    assert!(declared.len() >= 30, "{declared:?}");
    assert_eq!(exported, declared);
    let said = run(Command::new("readelf").arg("-d").arg(&library));
    assert!(said.contains("SONAME") && said.contains("[libtollgate.so.1]"), "{said}");
}

#[test]
fn an_event_loop_signs_in_batches() {
    let program = compile("gcc", "examples/loop.c", "plain", &["-std=gnu11", "-O2"]);
    let said = run(Command::new(program).args([&vector("rsa-2048"), "32", "0.5"]));
    let words: Vec<&str> = said.split_whitespace().collect();
    let ["32", "clients:", rate, "signatures/s,", fill, ..] = words[..] else { panic!("{said}") };
    assert!(rate.parse::<f64>().is_ok_and(|rate| rate > 0.), "{said}");
    // Without lanes, the queue runs requests in pairs or alone.
    assert!(fill.parse::<f64>().is_ok_and(|fill| fill >= 1.), "{said}");
}

/// The blocks of the guide: statements, then a function.
#[test]
fn the_examples_of_the_guide_compile() {
    let guide = fs::read_to_string(format!("{C}/../../docs/c.md")).expect("the guide");
    let blocks: Vec<&str> =
        guide.split("```c\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let [sign, serve] = blocks[..] else { panic!("two blocks") };
    let text = format!(
        "#include <stdio.h>\n#include <sys/epoll.h>\n#include <tollgate.h>\n\
         static void read_digest(tollgate_operation *o) {{ (void)o; }}\n\
         static void write_signature(tollgate_operation *o) {{ (void)o; }}\n\
         {serve}\nint main(int argc, char **argv) {{\n\
         if (argc == 1) serve(NULL, 0);\n\
         static char pem[1 << 16]; FILE *file = fopen(argv[1], \"rb\");\n\
         size_t pem_len = fread(pem, 1, sizeof pem, file); fclose(file);\n\
         {sign}\nfor (int i = 0; i < 256; i++) printf(\"%02x\", signature[i]);\n}}\n"
    );
    let source = Path::new(TMP).join("guide.c");
    fs::write(&source, text).expect("a file in cargo's folder");
    let program = compile("gcc", &source.display().to_string(), "plain", &["-std=c11"]);
    let said = run(Command::new(program).arg(vector("rsa-2048")));
    assert!(said.len() == 512 && !said.contains("00000000"), "{said}");
}

#[test]
fn python_signs() {
    if !has("python3") {
        return;
    }
    let library = INSTALLED.join("lib/libtollgate.so.1");
    let script = Path::new(C).join("examples/sign.py");
    let said = run(Command::new("python3").arg(script).arg(vector("rsa-2048")).arg(library));
    assert!(said.len() == 2 * 256 + 1 && said.trim().bytes().all(|b| b.is_ascii_hexdigit()));
}
