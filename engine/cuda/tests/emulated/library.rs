//! The library of `device/emulated_driver.cpp`, and its functions for tests.

use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::path::{Path, PathBuf};

use libloading::Library;
use tollgate_cpu::memcheck;
use tollgate_cuda::{Device, Gpu, OpenError};

use crate::compiled::compiled;

/// A limit that no test should reach.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// The place of the jobs among the memories of a batch.
const JOBS: usize = 2;

/// Values that a test changes.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    Version,
    Devices,
    Major,
    Minor,
    Hangs,
    Fails,
    Corrupts,
    SingleToDouble,
}

/// A copy of the library for one test: a library has one state for each file.
pub(crate) struct EmulatedDriver {
    pub(crate) path: PathBuf,
    library: Library,
}

impl EmulatedDriver {
    pub(crate) fn new() -> Self {
        Self::copy_of(compiled())
    }

    pub(crate) fn copy_of(compiled: &Path) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = compiled.with_file_name(format!("driver-{}-{number}", std::process::id()));
        std::fs::copy(compiled, &path).unwrap();
        // SAFETY: the library has no initialisers with requirements.
        let library = unsafe { Library::new(&path) }.unwrap();
        Self { path, library }
    }

    /// Returns a function of the library.
    fn function<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the callers have the type of the function.
        *unsafe { self.library.get::<F>(name) }.unwrap()
    }

    pub(crate) fn set(&self, value: Value, is: c_int) {
        let emulate: extern "C" fn(c_int, c_int) = self.function("emulate");
        emulate(value as c_int, is);
    }

    /// Changes one bit, the next time that a group gets to a stage.
    pub(crate) fn inject(&self, stage: c_int, group: u32, bit: u32) {
        let inject: extern "C" fn(c_int, u32, u32) = self.function("emulate_fault");
        inject(stage, group, bit);
    }

    /// Returns `amm(x, y)`, or with `is_fold` `fold(x)`, where y is R^3 mod m.
    pub(crate) fn arithmetic(
        &self,
        is_fold: bool,
        (lanes, words): (u32, u32),
        [x, y, m]: [&[u32]; 3],
        k0: u32,
    ) -> Vec<u32> {
        type Arithmetic = unsafe extern "C" fn(
            c_int,
            u32,
            u32,
            *mut u32,
            *const u32,
            *const u32,
            *const u32,
            u32,
        );
        let n = (lanes * words) as usize;
        assert_eq!((x.len(), y.len(), m.len()), (if is_fold { 2 * n } else { n }, n, n));
        let mut z = vec![0; n];
        let function: Arithmetic = self.function("emulate_arithmetic");
        let (to, x, y, m) = (z.as_mut_ptr(), x.as_ptr(), y.as_ptr(), m.as_ptr());
        // SAFETY: the lengths were checked.
        unsafe { function(is_fold.into(), lanes, words, to, x, y, m, k0) };
        z
    }

    /// Returns `amm52(x, y)`.
    pub(crate) fn doubles(&self, [x, y, m]: [&[f64]; 3], k0: u64) -> Vec<f64> {
        type Doubles = unsafe extern "C" fn(u32, *mut f64, *const f64, *const f64, *const f64, u64);
        assert!(x.len() == m.len() && y.len() == m.len());
        let mut z = vec![0.0; m.len()];
        let function: Doubles = self.function("emulate_doubles");
        let limbs = u32::try_from(m.len()).unwrap();
        // SAFETY: the lengths were checked.
        unsafe { function(limbs, z.as_mut_ptr(), x.as_ptr(), y.as_ptr(), m.as_ptr(), k0) };
        z
    }

    /// Returns `fold52(base)`.
    pub(crate) fn fold52(&self, base: &[u32], [rr, rrr, m]: [&[f64]; 3], k0: u64) -> Vec<f64> {
        type Fold = unsafe extern "C" fn(
            u32,
            *mut f64,
            *const u32,
            *const f64,
            *const f64,
            *const f64,
            u64,
        );
        assert!(rr.len() == m.len() && rrr.len() == m.len() && base.len() * 32 / 52 <= 2 * m.len());
        let mut x = vec![0.0; m.len()];
        let function: Fold = self.function("emulate_fold52");
        let limbs = u32::try_from(m.len()).unwrap();
        let [rr, rrr, m] = [rr, rrr, m].map(<[f64]>::as_ptr);
        // SAFETY: the lengths were checked.
        unsafe { function(limbs, x.as_mut_ptr(), base.as_ptr(), rr, rrr, m, k0) };
        x
    }

    /// Returns `true` if the primitives of the GPU have the results of the emulation.
    pub(crate) fn has_equal_primitives(&self, x: f64, y: f64, s: i64, is_whole: bool) -> bool {
        let function: extern "C" fn(f64, f64, i64, c_int) -> c_int =
            self.function("emulate_equal_primitives");
        function(x, y, s, is_whole.into()) == 1
    }

    /// Returns the column of a limb.
    pub(crate) fn column(&self, limb: f64) -> i64 {
        let function: extern "C" fn(f64) -> i64 = self.function("emulate_column");
        function(limb)
    }

    /// Returns the bytes of a key and of a pair.
    pub(crate) fn sizes(&self, bits: u32) -> [u32; 2] {
        let mut sizes = [0; 2];
        let [key, pair] = &mut sizes;
        let function: extern "C" fn(u32, &mut u32, &mut u32) = self.function("emulate_sizes");
        function(bits, key, pair);
        sizes
    }

    /// Returns the contents of a memory of the device, in the order of allocation.
    pub(crate) fn memory(&self, number: usize) -> Vec<u8> {
        self.memory_in_place(number).to_vec()
    }

    /// Marks all but the jobs for memcheck.
    pub(crate) fn mark_secret(&self) {
        let memories = (0..8).filter(|memory| *memory != JOBS);
        memories.for_each(|memory| memcheck::mark_secret(self.memory_in_place(memory)));
    }

    fn memory_in_place(&self, number: usize) -> &[u8] {
        let mut start = core::ptr::null();
        let function: extern "C" fn(usize, &mut *const u8) -> usize =
            self.function("emulate_memory");
        let len = function(number, &mut start);
        // SAFETY: the library returns memory of this length, which it never frees; no work runs.
        unsafe { core::slice::from_raw_parts(start, len) }
    }

    pub(crate) fn open(&self) -> Result<Gpu, OpenError> {
        Gpu::open_with(&self.path)
    }

    pub(crate) fn device(&self) -> Box<dyn Device> {
        Box::new(self.open().unwrap())
    }
}

impl Drop for EmulatedDriver {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
