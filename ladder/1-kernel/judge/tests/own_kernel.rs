//! The code of README.md, a kernel outside the engine, is checked and timed. Variants of
//! this kernel with defects are refused. The tests use public items only.

#![allow(clippy::unwrap_used, reason = "tests")]

use core::time::Duration;

use tollgate_bench::SamplePlan;
use tollgate_judge::{judge, time};
use tollgate_mont::{Exponentiate, Kernel, LaneKernel, LimbKernel, Modulus};

/// A defect of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    None,
    /// The last carry out of a row is dropped.
    LostCarry,
    /// A square treats the top limb of x as zero.
    TopLimbOfSquare,
    /// An index beyond the table selects the last entry.
    SelectBeyond,
    /// The result is congruent, but above its bound.
    TooLarge,
}

/// Coarsely integrated operand scanning [KAK96], a row of product and a row of reduction in turn.
#[derive(Clone, Copy, Debug)]
struct Mine(Defect);

impl Mine {
    fn product(self, z: &mut [u64], x: &[u64], y: &[u64], m: &Modulus<u64>) {
        let k = m.k();
        assert!(z.len() == k && x.len() == k && y.len() == k, "operands of K limbs");
        let mut t = [0u64; 130]; // K + 2 for 8192 bits
        let t = &mut t[..k + 2];
        let inverse = minus_inverse(m.m()[0]);
        for &y in y {
            add_row(t, x, y, self.0);
            let q = t[0].wrapping_mul(inverse);
            add_row(t, m.m(), q, Defect::None);
            t.copy_within(1.., 0);
            t[k + 1] = 0;
        }
        // t < R + m: subtract m if t has one limb more
        let over = t[k];
        let mut borrow = 0;
        for (z, (t, m)) in z.iter_mut().zip(t.iter().zip(m.m())) {
            let (d, under) = t.overflowing_sub(m & over.wrapping_neg());
            let (d, more) = d.overflowing_sub(borrow);
            (*z, borrow) = (d, u64::from(under | more));
        }
        if self.0 == Defect::TooLarge {
            let mut carry = 0;
            for (z, m) in z.iter_mut().zip(m.m()) {
                let sum = u128::from(*z) + 4 * u128::from(*m) + u128::from(carry);
                (*z, carry) = (low(sum), low(sum >> 64));
            }
        }
    }
}

/// t := t + x * y.
fn add_row(t: &mut [u64], x: &[u64], y: u64, defect: Defect) {
    let mut carry = 0;
    for (t, &x) in t.iter_mut().zip(x) {
        let sum = u128::from(*t) + u128::from(x) * u128::from(y) + u128::from(carry);
        (*t, carry) = (low(sum), low(sum >> 64));
    }
    if defect == Defect::LostCarry {
        carry = 0;
    }
    let (sum, over) = t[x.len()].overflowing_add(carry);
    t[x.len()] = sum;
    t[x.len() + 1] += u64::from(over);
}

fn low(x: u128) -> u64 {
    #[allow(clippy::cast_possible_truncation, reason = "takes the low half")]
    {
        x as u64
    }
}

/// Returns -1/m mod 2^64 for odd m: each step doubles the number of correct bits.
fn minus_inverse(m: u64) -> u64 {
    let mut x = 1u64;
    for _ in 0..6 {
        x = x.wrapping_mul(2u64.wrapping_sub(m.wrapping_mul(x)));
    }
    x.wrapping_neg()
}

impl Exponentiate for Mine {}

impl Kernel for Mine {
    type Word = u64;

    fn name(self) -> &'static str {
        "amm64_mine"
    }

    fn square_name(self) -> &'static str {
        self.name()
    }

    fn amm(self, z: &mut [u64], x: &[u64], y: &[u64], m: &Modulus<u64>, _: &mut [u64]) {
        self.product(z, x, y, m);
    }

    fn ams(self, z: &mut [u64], x: &[u64], m: &Modulus<u64>, _: &mut [u64]) {
        let mut y = x.to_vec();
        if self.0 == Defect::TopLimbOfSquare {
            *y.last_mut().unwrap() = 0;
        }
        self.product(z, x, &y, m);
    }

    fn select(self, z: &mut [u64], table: &[u64], index: u64) {
        z.fill(0);
        let last = (table.len() / z.len() - 1) as u64;
        let index = if self.0 == Defect::SelectBeyond { index.min(last) } else { index };
        for (i, entry) in table.chunks_exact(z.len()).enumerate() {
            let mask = u64::from(i as u64 == index).wrapping_neg();
            z.iter_mut().zip(entry).for_each(|(z, entry)| *z |= entry & mask);
        }
    }
}

#[test]
fn a_right_kernel_passes() {
    assert!(judge(Mine(Defect::None)).unwrap() > 10_000);
}

#[test]
fn each_defect_is_refused() {
    for defect in
        [Defect::LostCarry, Defect::TopLimbOfSquare, Defect::SelectBeyond, Defect::TooLarge]
    {
        let refusal = judge(Mine(defect)).unwrap_err().to_string();
        assert!(refusal.starts_with("amm64_mine breaks the contract"), "{defect:?}: {refusal}");
        assert!(!refusal.contains('\n'), "{refusal}");
    }
}

#[test]
fn it_is_timed_beside_the_engines_kernel() {
    let plan = SamplePlan { total: Duration::from_millis(20), ..SamplePlan::quick() };
    let series = time(Mine(Defect::None), LimbKernel::Portable, 1024, &plan).unwrap();
    for contender in 0..4 {
        assert!(series.nanos(contender).point() > 0.0);
    }
    assert!(series.ratio(0, 2).point() > 0.0);
    let wrong = time(Mine(Defect::LostCarry), LimbKernel::Portable, 1024, &plan).unwrap_err();
    assert!(wrong.to_string().contains("amm64_mine gave a wrong result"), "{wrong}");
}

#[test]
fn kernels_of_lanes_pass() {
    assert!(judge(LaneKernel::best()).unwrap() > 10_000);
    let plan = SamplePlan { total: Duration::from_millis(20), ..SamplePlan::quick() };
    time(LaneKernel::best(), LaneKernel::Portable, 512, &plan).unwrap();
}
