//! The functions of NVIDIA's driver that this crate calls, from `libcuda.so.1`, opened at run time.
//! All `unsafe` of the crate is here, in `meter.rs` and in `secret.rs`; SOUNDNESS.md has the
//! argument.
#![allow(unsafe_code, reason = "functions of NVIDIA's driver")]

use core::error::Error as _;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};
use std::ffi::CString;
use std::path::Path;

use libloading::Library;

use crate::device::Failure;
use crate::secret::wipe;

/// The code of a call.
pub(crate) type Code = c_int;

pub(crate) const SUCCESS: Code = 0;
const NOT_READY: Code = 600;

/// A handle of the driver, which only it dereferences.
pub(crate) type Handle = NonNull<c_void>;

/// An address in a device's memory.
pub(crate) type Address = u64;

/// Declares the table of a library's functions, each with its symbol.
macro_rules! functions {
    ($($name:ident($($argument:ty),*);)*) => {
        #[allow(non_snake_case, reason = "the names of the driver")]
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) -> Code,)*
        }

        impl Functions {
            fn find(library: &Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $(
                        // SAFETY: the symbol is a function of the declared type.
                        $name: *unsafe { library.get(stringify!($name)) }
                            .map_err(|_| concat!("it has no function ", stringify!($name)))?,
                    )*
                })
            }
        }
    };
}

pub(crate) use functions;

// The types are those of CUDA 13.0's `cuda.h`.
functions! {
    cuCtxSetCurrent(*mut c_void);
    cuDeviceGet(*mut c_int, c_int);
    cuDeviceGetAttribute(*mut c_int, c_int, c_int);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGetName(*mut c_char, c_int, c_int);
    cuDevicePrimaryCtxRelease_v2(c_int);
    cuDevicePrimaryCtxRetain(*mut *mut c_void, c_int);
    cuDriverGetVersion(*mut c_int);
    cuEventCreate(*mut *mut c_void, c_uint);
    cuEventElapsedTime(*mut f32, *mut c_void, *mut c_void);
    cuEventQuery(*mut c_void);
    cuEventRecord(*mut c_void, *mut c_void);
    cuFuncSetAttribute(*mut c_void, c_int, c_int);
    cuGetErrorName(Code, *mut *const c_char);
    cuInit(c_uint);
    cuLaunchKernel(
        *mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void,
        *mut *mut c_void, *mut *mut c_void
    );
    cuMemAlloc_v2(*mut Address, usize);
    cuMemFreeHost(*mut c_void);
    cuMemHostAlloc(*mut *mut c_void, usize, c_uint);
    cuMemcpyDtoHAsync_v2(*mut c_void, Address, usize, *mut c_void);
    cuMemcpyHtoDAsync_v2(Address, *const c_void, usize, *mut c_void);
    cuMemsetD8Async(Address, u8, usize, *mut c_void);
    cuModuleGetFunction(*mut *mut c_void, *mut c_void, *const c_char);
    cuModuleLoadData(*mut *mut c_void, *const c_void);
    cuStreamCreate(*mut *mut c_void, c_uint);
}

/// The opened driver.
pub(crate) struct Driver {
    functions: Functions,
    /// Never closed: threads of the driver, and copies after a failure, may go on.
    _library: ManuallyDrop<Library>,
}

/// Calls a function of the driver; the code becomes a `Result` with the name of the call.
macro_rules! call {
    ($driver:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: `Functions` has the type of the function; each pointer argument is valid for the
        // call, or a handle that the driver returned.
        let code = unsafe { ($driver.functions.$name)($($argument),*) };
        $driver.check(code, stringify!($name))
    }};
}

impl Driver {
    /// Opens the library.
    pub(crate) fn open(library: &Path) -> Result<Self, String> {
        // SAFETY: the driver's initialisers have no requirements. The library stays open.
        let opened = unsafe { Library::new(library) };
        let library = opened.map_err(|error| one_line(&error))?;
        let functions = Functions::find(&library)?;
        Ok(Self { functions, _library: ManuallyDrop::new(library) })
    }

    fn check(&self, code: Code, call: &'static str) -> Result<(), Failure> {
        if code == SUCCESS { Ok(()) } else { Err(Failure::Call { call, why: self.name_of(code) }) }
    }

    fn name_of(&self, code: Code) -> String {
        let mut name = ptr::null();
        // SAFETY: the driver writes the address of a static text, or null.
        unsafe { (self.functions.cuGetErrorName)(code, &raw mut name) };
        if name.is_null() {
            return format!("error {code}");
        }
        // SAFETY: the driver's names are texts with a final zero that live as long as the library.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }

    pub(crate) fn init(&self) -> Result<(), Failure> {
        call!(self, cuInit(0))
    }

    pub(crate) fn version(&self) -> Result<c_int, Failure> {
        let mut version = 0;
        call!(self, cuDriverGetVersion(&raw mut version)).map(|()| version)
    }

    pub(crate) fn device_count(&self) -> Result<c_int, Failure> {
        let mut count = 0;
        call!(self, cuDeviceGetCount(&raw mut count)).map(|()| count)
    }

    pub(crate) fn device(&self, ordinal: c_int) -> Result<c_int, Failure> {
        let mut device = 0;
        call!(self, cuDeviceGet(&raw mut device, ordinal)).map(|()| device)
    }

    pub(crate) fn device_name(&self, device: c_int) -> Result<String, Failure> {
        let mut name = [0u8; 256];
        let room = c_int::try_from(name.len()).expect("256");
        call!(self, cuDeviceGetName(name.as_mut_ptr().cast(), room, device))?;
        Ok(name
            .split(|&byte| byte == 0)
            .next()
            .map_or_else(String::new, |name| String::from_utf8_lossy(name).into_owned()))
    }

    pub(crate) fn attribute(&self, attribute: c_int, device: c_int) -> Result<c_int, Failure> {
        let mut value = 0;
        call!(self, cuDeviceGetAttribute(&raw mut value, attribute, device)).map(|()| value)
    }

    pub(crate) fn retain_context(&self, device: c_int) -> Result<Handle, Failure> {
        let mut context = ptr::null_mut();
        call!(self, cuDevicePrimaryCtxRetain(&raw mut context, device))?;
        handle(context, "cuDevicePrimaryCtxRetain")
    }

    /// Ends the use of the context, which frees its memory, modules, streams and events.
    pub(crate) fn release_context(&self, device: c_int) -> Result<(), Failure> {
        call!(self, cuDevicePrimaryCtxRelease_v2(device))
    }

    /// Makes the context that of this thread.
    pub(crate) fn enter(&self, context: Handle) -> Result<(), Failure> {
        call!(self, cuCtxSetCurrent(context.as_ptr()))
    }

    pub(crate) fn stream(&self) -> Result<Handle, Failure> {
        const NON_BLOCKING: c_uint = 1;
        let mut stream = ptr::null_mut();
        call!(self, cuStreamCreate(&raw mut stream, NON_BLOCKING))?;
        handle(stream, "cuStreamCreate")
    }

    pub(crate) fn event(&self) -> Result<Handle, Failure> {
        let mut event = ptr::null_mut();
        call!(self, cuEventCreate(&raw mut event, 0))?;
        handle(event, "cuEventCreate")
    }

    pub(crate) fn record(&self, event: Handle, stream: Handle) -> Result<(), Failure> {
        call!(self, cuEventRecord(event.as_ptr(), stream.as_ptr()))
    }

    /// Returns `true` if the event has passed.
    pub(crate) fn has_passed(&self, event: Handle) -> Result<bool, Failure> {
        // SAFETY: the handle is an event of this driver.
        match unsafe { (self.functions.cuEventQuery)(event.as_ptr()) } {
            NOT_READY => Ok(false),
            code => self.check(code, "cuEventQuery").map(|()| true),
        }
    }

    pub(crate) fn milliseconds(&self, from: Handle, to: Handle) -> Result<f32, Failure> {
        let mut time = 0.0;
        call!(self, cuEventElapsedTime(&raw mut time, from.as_ptr(), to.as_ptr())).map(|()| time)
    }

    /// Loads machine code, or PTX, which `image` must end with a zero byte.
    pub(crate) fn load_module(&self, image: &[u8]) -> Result<Handle, Failure> {
        assert_eq!(image.last(), Some(&0), "PTX ends with a zero byte; more bytes harm no cubin");
        let mut module = ptr::null_mut();
        call!(self, cuModuleLoadData(&raw mut module, image.as_ptr().cast()))?;
        handle(module, "cuModuleLoadData")
    }

    pub(crate) fn function(&self, module: Handle, name: &str) -> Result<Handle, Failure> {
        let name = CString::new(name).expect("names of kernels have no zero byte");
        let mut function = ptr::null_mut();
        call!(self, cuModuleGetFunction(&raw mut function, module.as_ptr(), name.as_ptr()))?;
        handle(function, "cuModuleGetFunction")
    }

    pub(crate) fn allow_shared_memory(&self, function: Handle, bytes: u32) -> Result<(), Failure> {
        const MAX_DYNAMIC_SHARED_SIZE_BYTES: c_int = 8;
        let bytes = c_int::try_from(bytes).expect("at most 160 KiB");
        call!(self, cuFuncSetAttribute(function.as_ptr(), MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes))
    }

    pub(crate) fn allocate(&self, bytes: usize) -> Result<Address, Failure> {
        let mut address = 0;
        call!(self, cuMemAlloc_v2(&raw mut address, bytes)).map(|()| address)
    }

    pub(crate) fn clear(&self, to: Address, bytes: usize, stream: Handle) -> Result<(), Failure> {
        call!(self, cuMemsetD8Async(to, 0, bytes, stream.as_ptr()))
    }

    /// Copies from pinned memory, which must not change before an event that is recorded later has
    /// passed.
    pub(crate) fn load(
        &self,
        to: Address,
        from: &Pinned,
        at: core::ops::Range<usize>,
        stream: Handle,
    ) -> Result<(), Failure> {
        let part = &from.bytes()[at];
        call!(self, cuMemcpyHtoDAsync_v2(to, part.as_ptr().cast(), part.len(), stream.as_ptr()))
    }

    /// Copies to the beginning of pinned memory, which must not be used before an event that is
    /// recorded later has passed.
    pub(crate) fn store(
        &self,
        to: &mut Pinned,
        from: Address,
        bytes: usize,
        stream: Handle,
    ) -> Result<(), Failure> {
        let part = &mut to.bytes_mut()[..bytes];
        call!(self, cuMemcpyDtoHAsync_v2(part.as_mut_ptr().cast(), from, bytes, stream.as_ptr()))
    }

    /// Launches a kernel with one argument, which has the size and the layout that it declares.
    pub(crate) fn launch<A: Copy>(
        &self,
        function: Handle,
        blocks: u32,
        threads: u32,
        shared_bytes: u32,
        stream: Handle,
        argument: &A,
    ) -> Result<(), Failure> {
        let mut arguments = [ptr::from_ref(argument).cast_mut().cast::<c_void>()];
        let (arguments, none) = (arguments.as_mut_ptr(), ptr::null_mut());
        let (function, stream) = (function.as_ptr(), stream.as_ptr());
        call!(
            self,
            cuLaunchKernel(
                function,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                shared_bytes,
                stream,
                arguments,
                none
            )
        )
    }

    /// Allocates host memory that devices copy from and to directly.
    pub(crate) fn pin(&self, bytes: usize) -> Result<Pinned, Failure> {
        let mut memory = ptr::null_mut();
        call!(self, cuMemHostAlloc(&raw mut memory, bytes, 0))?;
        let start = handle(memory, "cuMemHostAlloc")?.cast::<u8>();
        // SAFETY: the driver has allocated this many bytes.
        unsafe { start.as_ptr().write_bytes(0, bytes) };
        Ok(Pinned { start, len: bytes })
    }

    /// Frees pinned memory that the device does not use.
    pub(crate) fn unpin(&self, memory: Pinned) -> Result<(), Failure> {
        let Pinned { start, .. } = memory;
        call!(self, cuMemFreeHost(start.as_ptr().cast()))
    }
}

/// Host memory that devices copy from and to. Never freed by a drop: the device may still use it.
pub(crate) struct Pinned {
    start: NonNull<u8>,
    len: usize,
}

impl Pinned {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `pin` allocated and wrote this many bytes, which this value owns.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; `&mut self` is the only use.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    pub(crate) fn wipe(&mut self, bytes: usize) {
        wipe(&mut self.bytes_mut()[..bytes]);
    }
}

/// A value of the driver that threads use one after the other.
pub(crate) struct OneAtATime<T: DriverState>(pub(crate) T);

/// State of handles and pinned memory, and otherwise of parts that are `Send`.
pub(crate) trait DriverState {}

// SAFETY: handles and pinned memory belong to the context, not to a thread; a thread makes the
// context its own before it uses them (`Driver::enter`), and `OneAtATime` cannot be shared.
unsafe impl<T: DriverState> Send for OneAtATime<T> {}

fn handle(pointer: *mut c_void, call: &'static str) -> Result<Handle, Failure> {
    NonNull::new(pointer).ok_or_else(|| Failure::Call { call, why: "null".to_owned() })
}

/// Returns the reason of the dynamic linker.
fn one_line(error: &libloading::Error) -> String {
    let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    reason.split_whitespace().collect::<Vec<_>>().join(" ")
}
