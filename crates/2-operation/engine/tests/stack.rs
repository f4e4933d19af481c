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

#[test]
fn making_and_leading_fit_a_small_stack() {
    let measure = || {
        let mut made = None;
        let making = depth(|| made = Some(Engine::of_this_processor(Config::default()).unwrap()));
        println!("making: {making}");
        let caller = made.unwrap().caller().unwrap();
        for bits in [2048, 3072, 4096, 8192] {
            let path =
                format!("{}/../../../vectors/keys/rsa-{bits}.pem", env!("CARGO_MANIFEST_DIR"));
            let key =
                Arc::new(PrivateKey::from_pem(&std::fs::read_to_string(path).unwrap()).unwrap());
            let digest = Hash::Sha256.digest(b"a message");
            let work = Work::SignPkcs1v15 { hash: Hash::Sha256 };
            for count in [1, 2, 8] {
                let mut tickets: Vec<_> = (0..count)
                    .map(|_| caller.submit(|job| job.load(&key, work, digest.as_ref())).unwrap())
                    .collect();
                let leading =
                    depth(|| drop(tickets[0].try_take_patiently(Patience::None).unwrap().unwrap()));
                println!("{bits} {count}: {leading}");
            }
        }
    };
    thread::Builder::new().stack_size(4 << 20).spawn(measure).unwrap().join().unwrap();
}
