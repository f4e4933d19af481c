//! Compiles the emulation of the driver; the signer's tests use this file too.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Returns the library, which is compiled once.
pub(crate) fn compiled() -> &'static Path {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let own = folder.join(format!("libcuda-{}", std::process::id()));
        let result = folder.join("libcuda.so.1");
        let options = ["-std=c++17", "-O2", "-fpeel-loops", "-Wall", "-Wextra", "-Werror"];
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../cuda/device/emulated_driver.cpp");
        let mut compiler = Command::new("g++");
        compiler.args(options).args(["-shared", "-fPIC", "-o"]).arg(&own).arg(source);
        let status = compiler.status().expect("the emulation needs g++: install the package g++");
        assert!(status.success(), "g++ compiles the emulation");
        std::fs::rename(&own, &result).expect("a file of this process");
        result
    })
}
