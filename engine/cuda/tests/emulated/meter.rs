//! Meters of a GPU, with a library in the place of NVIDIA's management library.

use core::ffi::{c_int, c_uint};
use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::Library;
use tollgate_cuda::Meter;

/// A compiled library, which is removed on drop.
struct EmulatedMeter(PathBuf);

impl EmulatedMeter {
    fn new(name: &str, options: &[&str]) -> Self {
        let name = format!("meter-{}-{name}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emulated/meter.cpp");
        let mut compiler = Command::new("g++");
        compiler.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]);
        let status = compiler.args(options).arg("-o").arg(&path).arg(source).status();
        assert!(status.expect("the emulation needs g++: install the package g++").success());
        Self(path)
    }

    fn open(&self) -> Library {
        // SAFETY: the library has no initialisers with requirements.
        unsafe { Library::new(&self.0) }.unwrap()
    }
}

impl Drop for EmulatedMeter {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Numbers of calls in `meter.cpp`.
const OPENING: [c_int; 3] = [1, 2, 3];
const READING: [c_int; 4] = [4, 5, 6, 7];

#[test]
fn figures_are_read_and_a_failing_call_has_none() {
    let emulated = EmulatedMeter::new("whole", &[]);
    let library = emulated.open();
    // SAFETY: these are the types of the functions.
    let set = unsafe { library.get::<extern "C" fn(c_int, c_uint)>("emulate_meter") }.unwrap();
    // SAFETY: as above.
    let users = unsafe { library.get::<extern "C" fn() -> c_int>("emulate_meter_users") }.unwrap();
    let meter = Meter::open_with(&emulated.0).unwrap();
    assert_eq!((meter.energy_mj(), meter.energy_mj()), (Some(9000), Some(11_000)));
    let is_there = || {
        [
            meter.energy_mj().is_some(),
            meter.clock_mhz() == Some(1980),
            meter.power_limit_mw() == Some(700_000),
            meter.driver_version().as_deref() == Some("580.65.06"),
        ]
    };
    assert_eq!(is_there(), [true; 4]);
    for (at, failing) in READING.into_iter().enumerate() {
        set(failing, 1);
        let expected: [bool; 4] = core::array::from_fn(|call| call != at);
        assert_eq!(is_there(), expected, "call {failing}");
    }
    assert_eq!(users(), 1);
    drop(meter);
    for failing in OPENING {
        set(failing, 1);
        assert!(Meter::open_with(&emulated.0).is_none(), "call {failing}");
    }
    for count in [0, 2] {
        set(0, count);
        assert!(Meter::open_with(&emulated.0).is_none(), "{count} GPUs");
    }
    assert_eq!(users(), 0, "each use has ended");
}

#[test]
fn without_a_whole_library_there_is_no_meter() {
    assert!(Meter::open_with(Path::new("no-such-library.so.1")).is_none());
    let part = EmulatedMeter::new("part", &["-DWITHOUT_VERSION"]);
    assert!(Meter::open_with(&part.0).is_none());
}
