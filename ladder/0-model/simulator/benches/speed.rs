//! Simulated instructions per second on one core, with the study's code.
#![allow(clippy::print_stdout, reason = "a benchmark says what it measured")]

use std::time::Instant;

use tollgate_simulator::Timing;
use tollgate_simulator::routines::{
    Algorithm, Arithmetic, Exponentiation, Inputs, Loops, Routine, Window,
};

fn main() {
    for arithmetic in [Arithmetic::Plain, Arithmetic::Extended] {
        for loops in [Loops::Index, Loops::Unrolled(4), Loops::Full] {
            let words = 32;
            let Inputs { a, b, p } = Inputs::patterned(words);
            let multiply = Routine::new(Algorithm::Fips, arithmetic, loops, words)
                .expect("it is one of the routines");
            let it = Exponentiation { multiply, square: None, window: Window::Sliding(5) };
            // The best of five: other load only lowers the rate.
            let rates = (0..5).map(|_| {
                let start = Instant::now();
                let raised = it.run(&Timing::leon2(), [&a, &b, &p]).expect("it is right");
                #[allow(clippy::cast_precision_loss, reason = "some ten million")]
                let instructions = raised.counts.instructions as f64;
                instructions / start.elapsed().as_secs_f64() / 1e6
            });
            let best = rates.fold(0.0, f64::max);
            println!("{multiply}: {best:.0} million instructions per second");
        }
    }
}
