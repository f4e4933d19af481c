//! Runs the limb kernels, the portable and AVX2 lane kernels and the exponentiation under memcheck.
//! All operands and exponents are marked as secret: no branch and no address may depend on them. A
//! planted leak shows that the check can fail. The kernels on 512-bit vectors are not covered
//! here, because valgrind does not support AVX-512.

use tollgate_cpu::memcheck;
use tollgate_mont::{
    Digit, Exponentiate, LaneKernel, LimbKernel, Modulus, Pair, Place, Shape, Word, carry,
};
use tollgate_rerun as rerun;

/// Returns random words marked as secret for memcheck.
fn secret<W: Word>(rng: &mut fastrand::Rng, len: usize) -> Vec<W> {
    let mut words = vec![W::default(); len];
    for word in &mut words {
        for lane in 0..W::LANES {
            word.set_lane(lane, memcheck::secret(rng.u64(..)));
        }
    }
    words
}

/// Runs product, square, select, exponentiation and final subtractions on secrets.
fn operations<K: Exponentiate>(kernel: K, pair: &Pair<K::Word>, bits: usize) {
    let m = pair.p();
    let mut rng = fastrand::Rng::with_seed(9);
    let k = m.k();
    let (x, y) = (secret::<K::Word>(&mut rng, k), secret::<K::Word>(&mut rng, k));
    let e = secret::<K::Word>(&mut rng, bits.div_ceil(64));
    let mut t = vec![K::Word::default(); m.scratch_words()];
    let (mut z, mut w) = (x.clone(), x.clone());
    kernel.amm(&mut z, &x, &y, m, &mut t);
    kernel.ams(&mut w, &z, m, &mut t);
    carry::reduce(&mut w, m.m());
    carry::sub_mod(&mut z, &w, &x, m.m());
    carry::add_mod(&mut w, &z, &x, m.m());
    let index = e[0].zip(e[0], |e, _| e & 31);
    let table = secret::<K::Word>(&mut rng, 32 * k);
    kernel.select(&mut z, &table, index);
    let mut scratch = vec![K::Word::default(); kernel.exp_words(m.shape(), bits)];
    kernel.exp(m, bits, &x, &e, &mut w, &mut scratch);
    kernel.exp_pair(pair, bits, &x, [&e, &e], [&mut z, &mut w], &mut scratch);
    let public = [K::Word::splat(0x1_0001)];
    kernel.exp_vartime(m, &w, &public, &mut z, &mut scratch);
    let same = carry::equal(&w, &x);
    carry::pick(&mut z, same, &w);
}

/// Returns an odd modulus of `bits` bits. Its value is secret too; its length is public.
fn modulus(bits: usize) -> Vec<u64> {
    let mut rng = fastrand::Rng::with_seed(10);
    let mut m: Vec<u64> = (0..bits / 64).map(|_| rng.u64(..)).collect();
    m[0] |= 1;
    m[bits / 64 - 1] |= 1 << 63;
    m
}

#[test]
fn limb_kernels_are_constant_time() {
    rerun::constant_time("limb_kernels_are_constant_time", || {
        for kernel in LimbKernel::all() {
            for bits in [256, 512, 1024, 1536] {
                let m = Modulus::new(&modulus(bits), Shape::limbs(bits)).expect("odd");
                let pair = Pair::new(m.clone(), m);
                pair.mark_secret();
                operations(kernel, &pair, 64);
            }
        }
    });
}

fn lanes_are_constant_time(kernel: LaneKernel, bits: usize) {
    let one = Modulus::<Digit>::new(&modulus(bits), Shape::digits(bits)).expect("odd");
    let mut pair = Pair::lanes(one.shape());
    for m in pair.each_mut() {
        (0..tollgate_mont::LANES).for_each(|lane| m.load(Place::Lane(lane), &one));
    }
    operations(kernel, &pair, 32);
}

#[test]
fn portable_lanes_are_constant_time() {
    rerun::constant_time("portable_lanes_are_constant_time", || {
        lanes_are_constant_time(LaneKernel::Portable, 512);
    });
}

#[test]
fn avx2_lanes_are_constant_time() {
    rerun::constant_time("avx2_lanes_are_constant_time", || {
        for kernel in LaneKernel::all() {
            if let LaneKernel::Avx2(_) = kernel {
                // the AVX2 squares then use blocks of 6, 10 and 5 digits
                for bits in [256, 512, 704] {
                    lanes_are_constant_time(kernel, bits);
                }
            }
        }
    });
}

#[test]
fn a_leak_is_not_constant_time() {
    if !memcheck::running_on_valgrind() {
        return rerun::under_memcheck("a_leak_is_not_constant_time");
    }
    let mut rng = fastrand::Rng::with_seed(11);
    let x = secret::<u64>(&mut rng, 4);
    let before = memcheck::count_errors();
    // a table access whose address depends on secrets
    let table = [1, 2];
    let picked = table[usize::from(core::hint::black_box(x[3]) > core::hint::black_box(x[2]))];
    if core::hint::black_box(picked) == 1 {
        core::hint::black_box(&table);
    }
    assert!(memcheck::count_errors() > before, "memcheck must report a branch on a secret");
}
