//! Every method passes the checks of the engine's kernels.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use tollgate_internet::{Method, Numbers};
use tollgate_judge::contract::{exponentiation, products, rounds, selects_of};
use tollgate_mont::{Exponentiate, Kernel, Modulus, Shape};

/// A method that computes its constants in each call, since the checks use their own moduli.
#[derive(Clone, Copy, Debug)]
struct Tested(Method);

impl Exponentiate for Tested {}

impl Kernel for Tested {
    type Word = u64;

    fn name(self) -> &'static str {
        self.0.name()
    }
    fn square_name(self) -> &'static str {
        self.0.square_name()
    }
    fn amm(self, z: &mut [u64], x: &[u64], y: &[u64], m: &Modulus<u64>, t: &mut [u64]) {
        self.0.kernel(&Numbers::new(m)).amm(z, x, y, m, t);
    }
    fn ams(self, z: &mut [u64], x: &[u64], m: &Modulus<u64>, t: &mut [u64]) {
        self.0.kernel(&Numbers::new(m)).ams(z, x, m, t);
    }
    fn select(self, z: &mut [u64], table: &[u64], index: u64) {
        let m = Modulus::<u64>::new(&[5], Shape::limbs(128)).unwrap();
        self.0.kernel(&Numbers::new(&m)).select(z, table, index);
    }
}

#[test]
fn products_and_squares_are_right() {
    let mut checked = 0;
    for method in Method::ALL {
        // 8, 12, 16 and more limbs: loops with and without a remainder; Karatsuba with halves of
        // odd length
        for (bits, n) in
            [(128, 60), (255, 60), (512, 60), (600, 60), (768, 20), (1024, 20), (2048, 4)]
        {
            checked += products(Tested(method), bits, rounds(n), 5);
        }
    }
    println!("products checked: {checked}");
    assert!(checked >= 10_000, "only {checked} products were checked");
}

#[test]
fn selects_and_the_engines_exponentiations_are_right() {
    for method in Method::ALL {
        selects_of(Tested(method), &[(16, 8), (5, 1)]);
        exponentiation(Tested(method), 256, 70);
    }
}

#[test]
fn constants_of_another_modulus_are_refused() {
    let [a, b] = [3, 5].map(|m| Modulus::<u64>::new(&[m], Shape::limbs(128)).unwrap());
    let numbers = Numbers::new(&a);
    let kernel = Method::Sos.kernel(&numbers);
    let run = |m: &Modulus<u64>, z: usize| {
        let mut t = vec![0; m.scratch_words()];
        kernel.amm(&mut vec![0; z], &[1; 4], &[1; 4], m, &mut t);
    };
    run(&a, 4);
    for (m, z) in [(&b, 4), (&a, 3), (&a, 5)] {
        assert!(std::panic::catch_unwind(|| run(m, z)).is_err(), "{z} limbs were accepted");
    }
}
