//! The private operation without CRT: one exponentiation modulo n with all bits of d. Published
//! figures of accelerators refer to this operation.
//!
//! It is a bare exponentiation on `mont`, neither blinded nor checked. Use it only for
//! measurements, never with keys that matter.

use core::ops::DerefMut;

use tollgate_mont::{
    Digit, Exponentiate, LaneKernel, LimbKernel, Modulus, Place, Row, Scalar, Shape, Word,
};
use tollgate_rsa::PrivateKey;
use zeroize::Zeroizing;

/// The numbers n and d of a key, and a kernel. A kernel on limbs processes one number at a time. A
/// kernel in lanes processes up to eight numbers.
pub(crate) struct FullLength<K: Exponentiate> {
    kernel: K,
    n: Modulus<K::Word>,
    bits: usize,
    d: Zeroizing<Vec<K::Word>>,
    x: Vec<K::Word>,
    z: Vec<K::Word>,
    t: Zeroizing<Vec<K::Word>>,
}

impl FullLength<LimbKernel> {
    pub(crate) fn on_limbs(kernel: LimbKernel, key: &PrivateKey) -> Self {
        let n = modulus::<u64>(key, Shape::limbs(key.bits()));
        Self::new(kernel, n, key)
    }
}

impl FullLength<LaneKernel> {
    pub(crate) fn in_lanes(kernel: LaneKernel, key: &PrivateKey) -> Self {
        let shape = Shape::digits(key.bits());
        let mut n = Modulus::<Row>::lanes(shape);
        n.load(Place::All, &modulus::<Digit>(key, shape));
        Self::new(kernel, n, key)
    }
}

fn modulus<S: Scalar>(key: &PrivateKey, shape: Shape) -> Modulus<S> {
    Modulus::new(&limbs(&key.public().modulus()), shape).expect("n of a checked key is odd")
}

impl<K: Exponentiate> FullLength<K> {
    fn new(kernel: K, n: Modulus<K::Word>, key: &PrivateKey) -> Self {
        let d = limbs(&key.to_parts().d).iter().map(|d| K::Word::splat(*d)).collect();
        let words = |count| vec![K::Word::default(); count];
        let (x, z) = (words(n.k()), words(n.k()));
        let t = Zeroizing::new(words(kernel.exp_words(n.shape(), key.bits())));
        Self { kernel, n, bits: key.bits(), d: Zeroizing::new(d), x, z, t }
    }

    /// c := c^d mod n in each buffer, big-endian, c < n.
    ///
    /// # Panics
    ///
    /// If there are more buffers than lanes.
    pub(crate) fn run<B: DerefMut<Target = [u8]>>(&mut self, buffers: &mut [B]) {
        let mut number = vec![<K::Word as Word>::Scalar::default(); self.n.k()];
        for (lane, buffer) in buffers.iter().enumerate() {
            Scalar::pack(&mut number, &limbs(buffer));
            self.x.iter_mut().zip(&number).for_each(|(x, s)| x.set_lane(lane, s.bits()));
        }
        self.kernel.exp(&self.n, self.bits, &self.x, &self.d, &mut self.z, &mut self.t);
        for (lane, buffer) in buffers.iter_mut().enumerate() {
            let digits = self.z.iter().map(|z| Scalar::from_bits(z.lane(lane)));
            number.iter_mut().zip(digits).for_each(|(number, digit)| *number = digit);
            let mut limbs = vec![0; buffer.len().div_ceil(8)];
            Scalar::unpack(&mut limbs, &number);
            for (bytes, limb) in buffer.rchunks_mut(8).zip(limbs) {
                bytes.copy_from_slice(&limb.to_be_bytes()[8 - bytes.len()..]);
            }
        }
    }
}

/// Returns the little-endian limbs of a big-endian number.
fn limbs(bytes: &[u8]) -> Zeroizing<Vec<u64>> {
    let limb = |bytes: &[u8]| bytes.iter().fold(0, |limb, byte| limb << 8 | u64::from(*byte));
    Zeroizing::new(bytes.rchunks(8).map(limb).collect())
}
