//! Small stacks: what it takes to make an engine and to lead a batch, as on the stack of a job of
//! libcrypto, which has 32 KiB.
#![allow(clippy::unwrap_used, reason = "tests")]

use core::hint::black_box;
use std::sync::Arc;
use std::thread;

use tollgate_engine::{Config, Engine, Patience, Work};
use tollgate_rsa::{Hash, PrivateKey};

const PAINTED: usize = 256 << 10;
const PAINT: u8 = 0xa5;
/// What the measuring itself takes.
const OWN_BYTES: usize = 256;

/// The bytes of stack that `run` takes at most.
#[inline(never)]
fn depth(run: impl FnOnce()) -> usize {
    let here = 0_u8;
    // The compiler shall not conclude that nobody else writes below.
    let top = black_box(core::ptr::from_ref(&here).cast_mut());
    for depth in OWN_BYTES..PAINTED {
        // SAFETY: this thread's stack, which is far larger, below everything that is on it.
        unsafe { top.wrapping_sub(depth).write_volatile(PAINT) };
    }
    run();
    let untouched = (OWN_BYTES..PAINTED).rev().take_while(|&depth| {
        // SAFETY: as above.
        let byte = unsafe { top.wrapping_sub(depth).read_volatile() };
        byte == PAINT
    });
    PAINTED - untouched.count()
}

/// A fourth of the stack that the provider leads on when libcrypto runs it in a job.
const MAX: usize = 64 << 10;

#[test]
fn making_and_leading_fit_a_small_stack() {
    let measure = || {
        let mut made = None;
        let making = depth(|| made = Some(Engine::of_this_processor(Config::default()).unwrap()));
        assert!(making < MAX, "{making}");
        let caller = made.unwrap().caller().unwrap();
        let work = Work::SignPkcs1v15 { hash: Hash::Sha256 };
        let digest = Hash::Sha256.digest(b"a message");
        for pem in PEMS {
            let key = Arc::new(PrivateKey::from_pem(pem).unwrap());
            for count in [1, 2, 8] {
                let submit = |_| caller.submit(|job| job.load(&key, work, digest.as_ref()));
                let mut tickets: Vec<_> = (0..count).map(|i| submit(i).unwrap()).collect();
                let first = &mut tickets[0];
                let leading =
                    depth(|| drop(first.try_take_patiently(Patience::None).unwrap().unwrap()));
                assert!(leading < MAX, "{count} of {} bits: {leading}", key.bits());
            }
        }
    };
    thread::Builder::new().stack_size(4 << 20).spawn(measure).unwrap().join().unwrap();
}

const PEMS: [&str; 2] = [
    include_str!("../../../../vectors/keys/rsa-2048.pem"),
    include_str!("../../../../vectors/keys/rsa-8192.pem"),
];
