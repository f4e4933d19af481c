//! Uses a queue of the C library in any order: a loop, calls that wait, wrong handles and NULL
//! pointers, an early end. Each call gives a documented code. Each operation ends
//! once, with the right signature or without any output; a cancelled one stays unchanged.
#![no_main]
#![allow(unsafe_code, reason = "functions of a C library")]

mod c_key;

use core::ffi::c_int;
use core::ptr;

use libfuzzer_sys::fuzz_target;
use tollgate_c::tollgate_code::*;
use tollgate_c::*;

const OPERATIONS: usize = 6;
const SIZE: usize = 64; // of the key and its signatures
const UNTOUCHED: u8 = 0xa5;
const NOT_ENDED: c_int = -1;

/// An operation with the place of its output, and the state that the program keeps of it.
struct Place {
    operation: tollgate_operation,
    digest: [u8; 32],
    /// The output, in the middle of bytes that must not change.
    memory: [u8; 3 * SIZE],
    is_in_loop: bool,
}

struct Key {
    key: *mut tollgate_private_key,
    public: *mut tollgate_public_key,
    scheme: tollgate_scheme,
}

thread_local! {
    static KEY: Key = key();
}

fn key() -> Key {
    let (key, public) = c_key::keys();
    let scheme = tollgate_scheme {
        kind: tollgate_scheme_kind::TOLLGATE_RSASSA_PKCS1V15 as c_int,
        hash: tollgate_hash::TOLLGATE_SHA256 as c_int,
        mgf_hash: 0,
        salt: 0,
        salt_len: 0,
        label: ptr::null(),
        label_len: 0,
    };
    Key { key, public, scheme }
}

const EMPTY: tollgate_operation = tollgate_operation {
    key: ptr::null(),
    scheme: ptr::null(),
    input: ptr::null(),
    input_len: 0,
    output: ptr::null_mut(),
    output_capacity: 0,
    output_len: 7,
    code: NOT_ENDED,
    context: ptr::null_mut(),
};

impl Place {
    fn new(number: u8) -> Self {
        Self {
            operation: EMPTY,
            digest: [number; 32],
            memory: [UNTOUCHED; 3 * SIZE],
            is_in_loop: false,
        }
    }

    /// Fills in the operation; some choices are mistakes.
    fn prepare(&mut self, key: &Key, choice: u8) -> *mut tollgate_operation {
        self.memory = [UNTOUCHED; 3 * SIZE];
        self.operation = tollgate_operation {
            key: if choice & 0x0f == 1 { ptr::null() } else { key.key },
            scheme: if choice & 0x0f == 2 { ptr::null() } else { &raw const key.scheme },
            input: self.digest.as_ptr(),
            input_len: if choice & 0x0f == 3 { 31 } else { 32 },
            output: self.memory[SIZE..].as_mut_ptr(),
            output_capacity: if choice & 0x0f == 4 { SIZE - 1 } else { SIZE },
            ..EMPTY
        };
        if choice & 0x0f == 5 { ptr::null_mut() } else { &raw mut self.operation }
    }

    /// Checks an operation that has ended, or one that was not accepted or cancelled.
    fn check(&mut self, key: &Key) {
        let outside = self.memory[..SIZE].iter().chain(&self.memory[2 * SIZE..]);
        assert!(outside.copied().all(|byte| byte == UNTOUCHED));
        let output = &self.memory[SIZE..2 * SIZE];
        if self.operation.code == 0 {
            assert_eq!(self.operation.output_len, SIZE);
            // SAFETY: all pointers are valid.
            let code = unsafe {
                tollgate_verify(
                    key.public,
                    &key.scheme,
                    self.digest.as_ptr(),
                    32,
                    output.as_ptr(),
                    SIZE,
                )
            };
            assert_eq!(code, 0, "a wrong signature");
        } else {
            let len = if self.operation.code == NOT_ENDED { 7 } else { 0 };
            assert!(output.iter().all(|&byte| byte == UNTOUCHED));
            assert_eq!(self.operation.output_len, len);
        }
        self.is_in_loop = false;
    }
}

/// Is a code that each of these functions may give at any time.
fn is_documented(code: c_int) -> bool {
    let fatal = [TOLLGATE_FAULT, TOLLGATE_PANIC, TOLLGATE_FORKED, TOLLGATE_UNAVAILABLE];
    (0..=TOLLGATE_PANIC as c_int).contains(&code) && fatal.iter().all(|&bad| bad as c_int != code)
}

fuzz_target!(|input: &[u8]| {
    let [capacity, steps @ ..] = input else { return };
    KEY.with(|key| run(key, usize::from(capacity % 8), steps));
});

fn run(key: &Key, capacity: usize, steps: &[u8]) {
    let mut places: Vec<Place> = (0..OPERATIONS as u8).map(Place::new).collect();
    let (mut queue, mut event_loop) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: places for handles.
    unsafe {
        assert_eq!(tollgate_queue_start(capacity, 0, &mut queue), 0);
        let code = tollgate_loop_new(queue, &mut event_loop);
        assert!(code == 0, "{code}");
    }
    let mut is_open = true;
    for step in steps.chunks_exact(2) {
        let [call, choice] = *step else { unreachable!("two bytes") };
        let number = usize::from(choice >> 4) % OPERATIONS;
        let place = &mut places[number];
        // A handle of another type, now and then.
        let asked: *const tollgate_queue = match call >> 4 {
            0 => ptr::null(),
            1 => event_loop.cast(),
            _ => queue,
        };
        let is_free = !place.is_in_loop;
        // SAFETY: pointers are NULL or valid; an operation in use is not submitted again.
        let code = unsafe {
            match call & 0x0f {
                0..=3 if is_free => {
                    let operation = place.prepare(key, choice);
                    let event_loop =
                        if asked == queue { event_loop } else { asked.cast_mut().cast() };
                    let code = tollgate_loop_submit(event_loop, operation);
                    place.is_in_loop = code == 0;
                    code
                }
                4..=7 if is_free => {
                    let operation = place.prepare(key, choice);
                    let code = tollgate_queue_run(asked, operation);
                    assert!(code != 0 || place.operation.code == 0);
                    place.check(key);
                    code
                }
                8..=10 => {
                    let mut done = ptr::null_mut();
                    let code = tollgate_loop_next(event_loop, &mut done);
                    if !done.is_null() {
                        let place = places
                            .iter_mut()
                            .find(|place| ptr::eq(&raw const place.operation, done))
                            .expect("an operation of this program");
                        assert!(place.is_in_loop, "it ended before");
                        place.check(key);
                    }
                    code
                }
                11 => {
                    let (mut requests, mut batches) = (0, 0);
                    let code = tollgate_queue_counts(asked, &mut requests, &mut batches);
                    assert!(batches <= requests);
                    code
                }
                12 if is_open && choice == 0 => {
                    is_open = false;
                    let code = tollgate_queue_free(queue);
                    queue = ptr::null_mut();
                    code
                }
                _ => 0,
            }
        };
        assert!(is_documented(code), "call {call:#x}, choice {choice:#x}: {code}");
    }
    // SAFETY: handles that were not freed yet.
    unsafe {
        assert_eq!(tollgate_loop_free(event_loop), 0);
        assert_eq!(tollgate_queue_free(queue), 0);
    }
    places.iter_mut().for_each(|place| place.check(key));
}
