//! Statistical test for timing leaks: dudect's method, of O. Reparaz, J. Balasch, I. Verbauwhede,
//! *Dude, is my code constant time?* (DATE 2017).
//!
//! An operation is timed with inputs of two classes, fixed and random, in random order. Inputs are
//! created before anything is timed, next to each other in memory, so that the classes differ in
//! contents only. Welch's t-test compares the means of the classes. It is applied to all samples;
//! to the samples below each of a hundred thresholds, because interrupts can hide a leak; and to
//! squared deviations, for leaks that change the variance only. The largest |t| is the result.
//!
//! Some inputs, such as loaded keys, cannot be refilled in place. The classes then differ in the
//! places of their inputs too, and the places alone change the time. Such inputs are placed anew
//! many times ([`Leak::next_layout`]). The t-test then uses the difference of the means in each
//! layout: effects of memory change their sign between layouts, but a leak does not.
//!
//! A leak makes t grow with the square root of the number of samples. A small t only shows that
//! this number of samples on this machine revealed nothing.

use core::fmt;
use core::time::Duration;
use std::time::Instant;

use tollgate_calibrate::tsc;

use crate::welch::{Moments, Welch};

/// The |t| from which the paper considers a leak proven.
const T_MAX: f64 = 4.5;
/// Number of thresholds, as in the paper's program.
const CROPS: usize = 100;
/// The number of samples that determine the thresholds; they are not tested.
const CALIBRATION: usize = 10_000;
/// Minimum samples of a class for a test of squared deviations, which needs a stable mean.
const SETTLED: f64 = 5_000.0;
/// Minimum samples of a class for a test.
const FEWEST: f64 = 5_000.0;
/// Minimum samples of a class in a layout; with fewer, the layout's difference is not used.
const FEWEST_OF_LAYOUT: f64 = 100.0;
/// Minimum layouts for a test, unless there is only one layout.
const FEWEST_LAYOUTS: f64 = 30.0;

/// Duration of a test.
#[derive(Clone, Copy, Debug)]
pub struct LeakPlan {
    /// Maximum samples of both classes together.
    pub samples: usize,
    /// Maximum time.
    pub time: Duration,
}

/// An online test of the samples of an operation.
#[derive(Clone, Debug, Default)]
pub struct Leak {
    calibration: Vec<f64>,
    /// Ascending; empty until calibrated.
    crops: Vec<f64>,
    cropped: Vec<Test>,
    all: Test,
    squares: Test,
    /// Number of completed layouts.
    layouts: usize,
}

/// One t-test.
#[derive(Clone, Debug, Default)]
struct Test {
    /// Samples of all layouts.
    pooled: Welch,
    /// Samples of the current layout.
    layout: Welch,
    /// The differences of earlier layouts.
    differences: Moments,
    /// The variances that these differences would have if only the samples within a layout varied.
    explained: Moments,
}

impl Test {
    fn push(&mut self, random: bool, x: f64) {
        self.pooled.push(random, x);
        self.layout.push(random, x);
    }

    fn next_layout(&mut self) {
        let layout = core::mem::take(&mut self.layout);
        if layout.samples() >= FEWEST_OF_LAYOUT {
            self.differences.push(layout.difference());
            self.explained.push(layout.of_difference());
        }
    }

    /// Returns the spread of the layouts' differences, divided by the spread that their samples
    /// explain. It is about 1 if the layout does not matter.
    fn spread(&self) -> f64 {
        if self.differences.count() < 2.0 {
            return 1.0;
        }
        (self.differences.variance() / self.explained.mean()).sqrt()
    }

    /// Returns t of the layouts' differences, or t of the samples if there is one layout. 0 if
    /// there are too few layouts or samples.
    fn t(&self, layouts: usize) -> f64 {
        if layouts > 0 {
            if self.differences.count() < FEWEST_LAYOUTS { 0.0 } else { self.differences.t() }
        } else if self.pooled.samples() < FEWEST {
            0.0
        } else {
            self.pooled.t()
        }
    }
}

/// The result of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leakage {
    /// The largest |t| of all tests.
    pub t: f64,
    /// The share of samples that this test used; `None` for the test of squared deviations.
    pub kept: Option<f64>,
    /// Number of samples of both classes, without those for calibration.
    pub samples: u64,
    /// Number of memory layouts of the inputs. If there are several, the test uses the differences
    /// of the means in each layout.
    pub layouts: usize,
    /// The largest |t| of tests that ignore the layouts.
    pub pooled: f64,
    /// The spread of the layouts' differences, divided by the spread that their samples explain; 1
    /// if there is one layout.
    pub spread: f64,
    /// Means of the fixed and the random class, in ticks of the counter. They are means of the
    /// samples that this test used; for the test of squared deviations, of all samples.
    pub means: [f64; 2],
}

impl Leakage {
    /// Returns `true` if a leak is proven.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.t >= T_MAX
    }
}

impl fmt::Display for Leakage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "|t| {:.2} of {} samples", self.t, self.samples)?;
        if self.layouts > 1 {
            let Self { layouts, pooled, spread, .. } = self;
            write!(f, " in {layouts} layouts (pooled {pooled:.2}, spread {spread:.2})")?;
        }
        match self.kept {
            Some(kept) => write!(f, " (of those the fastest {:.0} %)", 100.0 * kept)?,
            None => write!(f, " (of squared deviations)")?,
        }
        let [fixed, random] = self.means;
        write!(f, ", fixed {fixed:.0}, random {random:.0} ticks")
    }
}

impl Leak {
    /// Adds the time of a run with a fixed or random input.
    pub fn push(&mut self, random: bool, ticks: f64) {
        if self.crops.is_empty() {
            self.calibration.push(ticks);
            if self.calibration.len() == CALIBRATION {
                self.calibrate();
            }
            return;
        }
        self.all.push(random, ticks);
        let kept = self.crops.partition_point(|crop| *crop <= ticks);
        for welch in &mut self.cropped[kept..] {
            welch.push(random, ticks);
        }
        if self.all.pooled.samples() >= SETTLED {
            let deviation = ticks - self.all.pooled.mean(random);
            self.squares.push(random, deviation * deviation);
        }
    }

    /// Chooses the thresholds: the quantiles 1 - 2^(-i/10), i = 1, 2, .... They are dense where
    /// most samples are.
    fn calibrate(&mut self) {
        self.calibration.sort_by(f64::total_cmp);
        let mut share = 1.0_f64;
        for _ in 0..CROPS {
            share *= 0.5_f64.powf(0.1);
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_precision_loss,
                clippy::cast_sign_loss,
                reason = "a share of ten thousand"
            )]
            let at = ((1.0 - share) * CALIBRATION as f64) as usize;
            self.crops.push(self.calibration[at]);
        }
        self.cropped = vec![Test::default(); CROPS];
    }

    /// Starts a new layout: the inputs of the following samples are at other places in memory.
    pub fn next_layout(&mut self) {
        let tests = self.cropped.iter_mut().chain([&mut self.all, &mut self.squares]);
        tests.for_each(Test::next_layout);
        self.layouts += 1;
    }

    /// Returns the result of the samples so far.
    #[must_use]
    pub fn result(&self) -> Leakage {
        let all = self.all.pooled.samples();
        let mut worst = (self.all.t(self.layouts).abs(), Some(1.0), &self.all);
        for test in &self.cropped {
            let t = test.t(self.layouts).abs();
            if t > worst.0 {
                worst = (t, Some(test.pooled.samples() / all), test);
            }
        }
        let t = self.squares.t(self.layouts).abs();
        if t > worst.0 {
            worst = (t, None, &self.all);
        }
        // the pooled t includes the effects of memory
        let pooled = self.cropped.iter().chain([&self.all]).filter(|test| test.t(0) != 0.0);
        let pooled = pooled.max_by(|a, b| a.t(0).abs().total_cmp(&b.t(0).abs()));
        let pooled = pooled.unwrap_or(&self.all);
        Leakage {
            t: worst.0,
            kept: worst.1,
            samples: self.all.pooled.total(),
            layouts: self.layouts.max(1),
            pooled: pooled.t(0).abs(),
            spread: pooled.spread(),
            means: [false, true].map(|random| worst.2.pooled.mean(random)),
        }
    }

    /// Times `run` with inputs that `fill` writes, fixed or random. `inputs` are refilled and used
    /// in turn, so that both classes use the same places in memory. Returns `None` if there is no
    /// readable counter.
    ///
    /// # Panics
    ///
    /// If there are no inputs.
    pub fn look<I>(
        &mut self,
        plan: LeakPlan,
        rng: &mut fastrand::Rng,
        inputs: &mut [I],
        fill: &mut dyn FnMut(&mut I, bool, &mut fastrand::Rng),
        run: &mut dyn FnMut(&mut I),
    ) -> Option<()> {
        assert!(!inputs.is_empty(), "a timing test needs inputs");
        let started = Instant::now();
        let mut left = plan.samples + CALIBRATION.saturating_sub(self.calibration.len());
        let mut classes = vec![false; inputs.len()];
        while left > 0 && started.elapsed() < plan.time {
            for (input, random) in inputs.iter_mut().zip(&mut classes) {
                *random = rng.bool();
                fill(input, *random, rng);
            }
            for (input, random) in inputs.iter_mut().zip(&classes).take(left) {
                let before = tsc::ticks()?;
                run(input);
                let ticks = tsc::ticks()? - before;
                #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
                self.push(*random, ticks as f64);
            }
            left = left.saturating_sub(inputs.len());
        }
        Some(())
    }
}

/// Calls [`Leak::look`] with one layout.
///
/// # Panics
///
/// If there are no inputs.
pub fn leak<I>(
    plan: LeakPlan,
    rng: &mut fastrand::Rng,
    inputs: &mut [I],
    fill: &mut dyn FnMut(&mut I, bool, &mut fastrand::Rng),
    run: &mut dyn FnMut(&mut I),
) -> Option<Leakage> {
    let mut leak = Leak::default();
    leak.look(plan, rng, inputs, fill, run)?;
    Some(leak.result())
}

#[cfg(test)]
mod tests {

    use super::*;

    /// Returns an approximately normal number: a sum of twelve uniform numbers has variance 1.
    fn normal(rng: &mut fastrand::Rng) -> f64 {
        (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
    }

    /// Returns the result of 400,000 samples of 1000 ticks with interrupts, and `more` ticks for
    /// random inputs.
    fn synthetic(seed: u64, more: f64, wider: f64) -> Leakage {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut leak = Leak::default();
        for _ in 0..400_000 {
            let random = rng.bool();
            let interrupt = if rng.u32(0..100) == 0 { 50_000.0 * rng.f64() } else { 0.0 };
            let class = f64::from(u8::from(random));
            let ticks = 1000.0 + class * more + (20.0 + class * wider) * normal(&mut rng);
            leak.push(random, ticks + interrupt);
        }
        leak.result()
    }

    #[test]
    fn equal_classes_show_nothing() {
        for seed in 1..=5 {
            let leakage = synthetic(seed, 0.0, 0.0);
            assert!(!leakage.is_shown(), "{leakage}");
            assert_eq!(leakage.samples, 390_000);
        }
    }

    #[test]
    fn half_a_tick_is_found_despite_interrupts() {
        let leakage = synthetic(6, 0.5, 0.0);
        assert!(leakage.is_shown(), "{leakage}");
        // the test of all samples does not find it, because interrupts vary more
        assert!(leakage.kept.unwrap() < 1.0, "{leakage}");
    }

    #[test]
    fn a_larger_variance_is_found() {
        assert!(synthetic(7, 0.0, 2.0).is_shown());
    }

    /// Returns the result of 64 layouts of 6,000 samples, with another time for each class of each
    /// layout, and `more` ticks for random inputs.
    fn laid_out(seed: u64, more: f64) -> Leakage {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut leak = Leak::default();
        for _ in 0..64 {
            let of_layout = [8.0 * normal(&mut rng), 8.0 * normal(&mut rng)];
            for _ in 0..6_000 {
                let random = rng.bool();
                let leaked = if random { more } else { 0.0 };
                let ticks = 1000.0 + of_layout[usize::from(random)] + leaked;
                leak.push(random, ticks + 20.0 * normal(&mut rng));
            }
            leak.next_layout();
        }
        leak.result()
    }

    #[test]
    fn effects_of_memory_are_no_leak_and_hide_none() {
        let mut misled = 0;
        for seed in 9..=11 {
            let leakage = laid_out(seed, 0.0);
            assert!(!leakage.is_shown() && leakage.spread > 2.0, "{leakage}");
            misled += u32::from(leakage.pooled >= T_MAX);
            let leakage = laid_out(seed, 12.0);
            assert!(leakage.is_shown(), "{leakage}");
        }
        assert!(misled > 0, "the pooled samples show a false leak");
    }

    #[test]
    fn there_is_no_result_before_calibration() {
        let mut leak = Leak::default();
        leak.push(true, 1.0);
        assert_eq!((leak.result().t, leak.result().samples), (0.0, 0));
    }

    #[test]
    fn inputs_have_both_classes_and_the_limits_hold() {
        let mut rng = fastrand::Rng::with_seed(8);
        let (mut inputs, mut seen, mut runs) = ([false; 100], [0; 2], 0);
        let plan = LeakPlan { samples: 25_050, time: Duration::from_secs(60) };
        let mut fill = |input: &mut bool, random: bool, _: &mut fastrand::Rng| {
            seen[usize::from(random)] += 1;
            *input = random;
        };
        let leakage = leak(plan, &mut rng, &mut inputs, &mut fill, &mut |_| runs += 1);
        if let Some(leakage) = leakage {
            assert_eq!((leakage.samples, runs), (25_050, 35_050));
            assert!(seen.iter().all(|count| *count > 15_000), "{seen:?}");
        }
    }
}
