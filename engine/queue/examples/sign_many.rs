//! Signs as fast as one thread can through a queue without workers, many digests at a time:
//!
//! ```text
//! sign_many KEY.pem [AT ONCE] [SECONDS]
//! ```
//!
//! `engine/c/examples/loop.c` does the same in C, with a socket for each request.
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "a program, small counts")]

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use tollgate_queue::{Config, Queue, Signing, Work};
use tollgate_rsa::{Hash, PrivateKey};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: sign_many KEY.pem [AT ONCE] [SECONDS]")?;
    let at_once = arguments.next().map_or(Ok(64), |word| word.parse())?;
    let seconds = arguments.next().map_or(Ok(1.), |word| word.parse())?;
    let key = Arc::new(PrivateKey::from_pem(&std::fs::read_to_string(path)?)?);
    let work = Work::SignPkcs1v15 { hash: Hash::Sha256 };
    let queue = Queue::of_this_processor(Config::default())?;
    let caller = queue.caller()?;

    let mut signatures = vec![vec![0; key.size()]; at_once];
    let (begin, mut count) = (Instant::now(), 0_u64);
    while begin.elapsed() < Duration::from_secs_f64(seconds) {
        let digests: Vec<[u8; 32]> =
            (count..).take(at_once).map(|number| [number.to_le_bytes()[0]; 32]).collect();
        let mut requests: Vec<Signing<'_>> = digests
            .iter()
            .zip(&mut signatures)
            .map(|(digest, signature)| Signing::new(&key, work, digest, signature))
            .collect();
        caller.sign_many(&mut requests)?;
        for request in &requests {
            request.outcome()?;
            count += 1;
        }
    }
    let rate = count as f64 / begin.elapsed().as_secs_f64();
    let fill = queue.stats()?.mean_fill();
    println!("{at_once} at once: {rate:.0} signatures/s, {fill:.2} in a batch");
    Ok(())
}
