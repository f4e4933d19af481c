//! Compiles the emulation of the driver; the signer's tests use this file too.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Returns the library, which is compiled once.
pub(crate) fn compiled() -> &'static Path {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libcuda.so.1");
        compile(&[], &library);
        library
    })
}

/// Compiles the library with more options.
pub(crate) fn compile(more: &[&str], library: &Path) {
    let copy = library.with_extension(std::process::id().to_string());
    let options = ["-std=c++17", "-O2", "-fpeel-loops", "-Wall", "-Wextra", "-Werror"];
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cuda/device/emulated_driver.cpp");
    let mut compiler = Command::new("g++");
    compiler.args(options).args(more).args(["-shared", "-fPIC", "-o"]).arg(&copy).arg(source);
    let status = compiler.status().expect("the emulation needs g++: install the package g++");
    assert!(status.success(), "g++ compiles the emulation");
    std::fs::rename(&copy, library).expect("a file of this process");
}
