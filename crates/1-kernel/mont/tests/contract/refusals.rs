//! What kernels refuse.

use num_bigint::BigUint;
use tollgate_mont::{BlockKernel, Kernel, LimbKernel, Pair, Row, Shape, Word};

use crate::family::Family;
use crate::operands::modulus;

/// What a kernel that exponentiates in blocks must refuse, since it does not read all of it.
fn exp_with(kernel: LimbKernel, z: usize, e: usize, t: usize) {
    let shape = Shape::limbs(512);
    let m = LimbKernel::load(shape, &[modulus(&mut fastrand::Rng::with_seed(1), 512, 5)]);
    let (mut z, mut t) = (vec![0; z], vec![0; kernel.exp_words(shape, 512) - t]);
    kernel.exp(&m, 512, &[3; 8], &vec![1; e], &mut z, &mut t);
}

#[test]
fn wrong_lengths_are_refused_by_every_kernel() {
    for kernel in LimbKernel::all() {
        exp_with(kernel, 8, 8, 0);
        for (what, z, e) in [("z", 7, 8), ("z", 9, 8), ("e", 8, 7)] {
            let refused = std::panic::catch_unwind(|| exp_with(kernel, z, e, 0));
            assert!(refused.is_err(), "{}: {what} of a wrong length was taken", kernel.name());
        }
        let vartime = |x: usize, z: usize| {
            let m = LimbKernel::load(Shape::limbs(512), &[BigUint::from(65_537u32)]);
            let mut t = vec![0; kernel.exp_words(m.shape(), 1)];
            kernel.exp_vartime(&m, &vec![1; x], &[3], &mut vec![0; z], &mut t);
        };
        vartime(8, 8);
        for (x, z) in [(7, 8), (9, 8), (8, 7), (8, 9)] {
            let refused = std::panic::catch_unwind(|| vartime(x, z));
            assert!(refused.is_err(), "{}: x of {x} limbs, z of {z}", kernel.name());
        }
    }
}

#[test]
fn kernels_of_blocks_refuse_exponentiations() {
    let pair = [65_537u32, 257].map(|m| LimbKernel::load(Shape::limbs(512), &[m.into()]));
    let [p, q] = pair;
    let pair = Pair::new(p, q);
    let set = pair.blocks().unwrap();
    for kernel in BlockKernel::all() {
        let (x, e) = (vec![Row::splat(3); set.k()], [Row::splat(3)]);
        let run = |vartime: bool| {
            let mut z = x.clone();
            let mut t = vec![Row::default(); kernel.exp_words(set.shape(), 2)];
            if vartime {
                kernel.exp_vartime(set, &x, &e, &mut z, &mut t);
            } else {
                kernel.exp(set, 2, &x, &e, &mut z, &mut t);
            }
        };
        for vartime in [false, true] {
            assert!(std::panic::catch_unwind(|| run(vartime)).is_err(), "a wrong power");
        }
    }
}
