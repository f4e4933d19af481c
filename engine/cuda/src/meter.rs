//! Energy, clock and power limit of a GPU, from NVIDIA's management library `libnvidia-ml.so.1`,
//! opened at run time. This module only reads: it has no function that changes a setting.
#![allow(unsafe_code, reason = "functions of NVIDIA's management library")]

use core::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr;
use std::path::Path;

use libloading::Library;

use crate::driver::{Code, SUCCESS, functions};

/// The management library.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// The clock of the multiprocessors, `NVML_CLOCK_SM`.
const CLOCK_SM: c_int = 1;

/// Bytes of the text of the driver's version, at most: `NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE`.
const VERSION_BYTES: u32 = 80;

// The types are those of CUDA 13.0's `nvml.h`.
functions! {
    nvmlDeviceGetClockInfo(*mut c_void, c_int, *mut c_uint);
    nvmlDeviceGetCount_v2(*mut c_uint);
    nvmlDeviceGetHandleByIndex_v2(c_uint, *mut *mut c_void);
    nvmlDeviceGetPowerManagementLimit(*mut c_void, *mut c_uint);
    nvmlDeviceGetTotalEnergyConsumption(*mut c_void, *mut c_ulonglong);
    nvmlInit_v2();
    nvmlShutdown();
    nvmlSystemGetDriverVersion(*mut c_char, c_uint);
}

/// The meters of the only GPU of this machine. A figure that it does not have is `None`.
pub struct Meter {
    functions: Functions,
    device: *mut c_void,
    /// Never closed: threads of the library may go on.
    _library: ManuallyDrop<Library>,
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").finish_non_exhaustive()
    }
}

/// Calls a function of the library; `Some` if it succeeded.
macro_rules! call {
    ($functions:expr, $name:ident($($argument:expr),*)) => {{
        // SAFETY: `Functions` has the type of the function; each pointer argument is valid for the
        // call, or a handle that the library returned.
        let code = unsafe { ($functions.$name)($($argument),*) };
        (code == SUCCESS).then_some(())
    }};
}

impl Meter {
    /// Opens the management library. `None` without it, or if it finds no GPU. Also `None` if it
    /// finds several: its first one need not be the one of [`Gpu`](crate::Gpu).
    #[must_use]
    pub fn open() -> Option<Self> {
        Self::open_with(Path::new(LIBRARY))
    }

    /// Opens another library with the same functions, as [`open`](Self::open).
    #[must_use]
    pub fn open_with(library: &Path) -> Option<Self> {
        // SAFETY: the library's initialisers have no requirements. It stays open while it is used.
        let library = unsafe { Library::new(library) }.ok()?;
        let functions = Functions::find(&library).ok()?;
        call!(functions, nvmlInit_v2())?;
        // From here on, a drop ends the use of the library.
        let mut meter =
            Self { functions, device: ptr::null_mut(), _library: ManuallyDrop::new(library) };
        let mut count = 0;
        call!(meter.functions, nvmlDeviceGetCount_v2(&raw mut count))?;
        if count != 1 {
            return None;
        }
        let mut device = ptr::null_mut();
        call!(meter.functions, nvmlDeviceGetHandleByIndex_v2(0, &raw mut device))?;
        meter.device = device;
        Some(meter)
    }

    /// Returns the energy in millijoules that the GPU has used since its driver was loaded. The
    /// counter moves in steps, some of them tens of milliseconds apart.
    #[must_use]
    pub fn energy_mj(&self) -> Option<u64> {
        let mut energy = 0;
        let device = self.device;
        call!(self.functions, nvmlDeviceGetTotalEnergyConsumption(device, &raw mut energy))?;
        Some(energy)
    }

    /// Returns the clock of the multiprocessors in MHz, now.
    #[must_use]
    pub fn clock_mhz(&self) -> Option<u32> {
        let mut clock = 0;
        call!(self.functions, nvmlDeviceGetClockInfo(self.device, CLOCK_SM, &raw mut clock))?;
        Some(clock)
    }

    /// Returns the limit of the GPU's power in milliwatts.
    #[must_use]
    pub fn power_limit_mw(&self) -> Option<u32> {
        let mut limit = 0;
        call!(self.functions, nvmlDeviceGetPowerManagementLimit(self.device, &raw mut limit))?;
        Some(limit)
    }

    /// Returns the version of NVIDIA's driver, such as `580.65.06`.
    #[must_use]
    pub fn driver_version(&self) -> Option<String> {
        let mut text = [0u8; VERSION_BYTES as usize];
        call!(self.functions, nvmlSystemGetDriverVersion(text.as_mut_ptr().cast(), VERSION_BYTES))?;
        let version = text.split(|&byte| byte == 0).next()?;
        Some(String::from_utf8_lossy(version).into_owned())
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        // Nothing is left to do if this fails.
        let _ = call!(self.functions, nvmlShutdown());
    }
}
