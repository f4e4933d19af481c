//! A seeded pseudorandom generator.

/// `SplitMix64` (Steele, Lea, Flood: *Fast splittable pseudorandom number generators*, OOPSLA
/// 2014).
///
/// Implemented here because the load of a plan must not change with the version of a crate.
#[derive(Clone, Debug)]
pub(crate) struct Seeded(u64);

/// The generator's step: the golden ratio in 64 bits.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Seeded {
    /// Creates one of the 2^64 streams of a seed.
    pub(crate) const fn new(seed: u64, stream: u64) -> Self {
        Self(mixed(mixed(seed.wrapping_add(STEP)) ^ mixed(stream)))
    }

    const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0)
    }

    /// Returns a number that is uniform in (0, 1].
    pub(crate) fn unit(&mut self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "53 bits are exact")]
        let above = ((self.bits() >> 11) + 1) as f64;
        above * (0.5_f64).powi(53)
    }

    /// Returns a number that is uniform below `count`; `count` is at least 1.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        let scaled = u128::from(self.bits()) * count as u128;
        usize::try_from(scaled >> 64).expect("less than the count")
    }

    /// Returns true with the probability `share`.
    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.unit() <= share
    }

    /// Returns an exponentially distributed number with this mean.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    /// Returns a gamma-distributed number with this mean; `shape` is above 0. The method is that of
    /// G. Marsaglia and W. W. Tsang, *A simple method for generating gamma variables*, ACM Trans.
    /// Math. Softw. 26 (2000).
    pub(crate) fn gamma(&mut self, mean: f64, shape: f64) -> f64 {
        // for a shape below one: the value for shape + 1, times a power of a uniform number
        let (least, factor) = match shape {
            shape if shape < 1.0 => (shape + 1.0, self.unit().powf(1.0 / shape)),
            shape => (shape, 1.0),
        };
        let d = least - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let normal = self.normal();
            let cube = (1.0 + c * normal).powi(3);
            let bound = 0.5 * normal * normal + d - d * cube + d * cube.ln();
            if cube > 0.0 && self.unit().ln() < bound {
                return mean / shape * d * cube * factor;
            }
        }
    }

    /// Returns a normally distributed number with a mean of 0 and a variance of 1: one of the two
    /// values that the Box-Muller method gives.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (core::f64::consts::TAU * self.unit()).cos()
    }
}

const fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_equal_the_published_ones() {
        // the reference implementation's first values for the seed 1234567
        let mut random = Seeded(1_234_567);
        let first = [(); 3].map(|()| random.bits());
        let published = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!(first[..2], published);
        assert_eq!(first[2], 9_817_491_932_198_370_423);
    }

    #[test]
    fn streams_differ_and_probabilities_hold() {
        let (mut a, mut b) = (Seeded::new(7, 0), Seeded::new(7, 1));
        assert_ne!(a.bits(), b.bits());
        assert!((0..1000).all(|_| !a.chance(0.0) && a.chance(1.0)));
        assert!((0..1000).all(|_| a.below(1) == 0 && a.below(3) < 3));
        let hits = (0..10_000).filter(|_| b.chance(0.3)).count();
        // three standard deviations are 137
        assert!(hits.abs_diff(3000) < 140, "{hits} of 10000");
    }
}
