//! Sizes of keys, and the memory that host and device share: `device/layout.h` in Rust.

use tollgate_mont::{Digit, Modulus, Scalar as _, Shape};
use tollgate_rsa::PrivateKey;
use zeroize::Zeroizing;

use crate::secret::Secret;

/// The sizes of keys that have kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Size {
    /// 1024 bits.
    Rsa1024,
    /// 2048 bits.
    Rsa2048,
    /// 3072 bits.
    Rsa3072,
    /// 4096 bits.
    Rsa4096,
}

/// Bytes of a job: the places of its key and its blinding pair.
pub const JOB_BYTES: usize = 8;

/// The public exponent of all keys on a device.
pub(crate) const PUBLIC_EXPONENT: [u8; 3] = [1, 0, 1];

/// The result of a job that passed its check, and of one that failed; see `device/layout.h`.
pub const PASSED: u32 = 0x5041_5353;
/// See [`PASSED`].
pub const FAILED: u32 = 0x4641_494c;

impl Size {
    /// All sizes.
    pub const ALL: [Self; 4] = [Self::Rsa1024, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096];

    /// Returns the size with this number of bits.
    #[must_use]
    pub fn of_bits(bits: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|size| size.bits() == bits)
    }

    /// Returns the size of a key that the device can use: e = 65537, primes of equal length, and a
    /// modulus of one of the sizes. Other keys stay on the processor.
    #[must_use]
    pub fn of_key(key: &PrivateKey) -> Option<Self> {
        let size = Self::of_bits(key.bits())?;
        let is_usual =
            key.prime_bits() == [size.bits() / 2; 2] && key.public().exponent() == PUBLIC_EXPONENT;
        is_usual.then_some(size)
    }

    /// Returns the number of bits of the modulus.
    #[must_use]
    pub const fn bits(self) -> usize {
        match self {
            Self::Rsa1024 => 1024,
            Self::Rsa2048 => 2048,
            Self::Rsa3072 => 3072,
            Self::Rsa4096 => 4096,
        }
    }

    /// Returns the number of lanes (threads) that hold a number of a prime's length.
    #[must_use]
    pub const fn lanes(self) -> usize {
        match self {
            Self::Rsa4096 => 8,
            _ => 4,
        }
    }

    /// Returns the number of words of 32 bits in each lane.
    #[must_use]
    pub const fn words(self) -> usize {
        self.bits() / 64 / self.lanes()
    }

    /// Returns the number of bytes of a number modulo N.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.bits() / 8
    }

    /// Returns the number of bytes of a blinding pair.
    #[must_use]
    pub const fn pair_bytes(self) -> usize {
        2 * self.bytes()
    }

    /// Returns the number of limbs of 52 bits of a prime, or `None` if there is no kernel with
    /// doubles.
    #[must_use]
    pub const fn limbs52(self) -> Option<usize> {
        match self {
            Self::Rsa4096 => None,
            _ => Some((self.bits() / 2 + 8).div_ceil(52)),
        }
    }

    /// Returns the number of bytes of a key record: five numbers modulo N, five of each prime,
    /// three blocks of four words with k0; and four numbers of each prime in doubles, and two
    /// blocks.
    #[must_use]
    pub const fn key_bytes(self) -> usize {
        let doubles = match self.limbs52() {
            Some(limbs) => 2 * (4 * 8 * limbs + 16),
            None => 0,
        };
        10 * self.bytes() + 3 * 16 + doubles
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// Returns the record of a key with a [`Size`]. Takes constant time, apart from the sizes.
pub(crate) fn key_record(size: Size, key: &PrivateKey) -> Secret {
    let parts = key.to_parts();
    let [n, p, q] = [&parts.n, &*parts.p, &*parts.q].map(|number| limbs(number));
    let whole = Shape::limbs(size.bits());
    let half = Shape::limbs(size.bits() / 2);
    assert_eq!([whole.r_bits(), half.r_bits()], [size.bits(), size.bits() / 2], "whole limbs");
    let odd = "the moduli of a checked key are odd";
    let modulo_n = Modulus::<u64>::new(&n, whole).expect(odd);
    let modulo_p = Modulus::<u64>::new(&p, whole).expect(odd);
    let mut record = Record(Secret::with_capacity(size.key_bytes()));
    record.number(modulo_n.m());
    record.number(modulo_n.rr());
    record.number(&Zeroizing::new(modulo_n.enter(&q)));
    record.number(modulo_p.m());
    record.number(&Zeroizing::new(modulo_p.enter(&limbs(&parts.q_inv))));
    for (prime, exponent) in [(&p, &parts.d_p), (&q, &parts.d_q)] {
        let modulus = Modulus::<u64>::new(prime, half).expect(odd);
        record.number(modulus.m());
        record.number(&Zeroizing::new(modulus.enter(modulus.rr()))); // R^3
        record.number(modulus.one());
        record.number(&limbs(exponent));
        record.number(&less_two(prime));
        record.word(prime[0]);
    }
    record.word(n[0]);
    if let Some(limbs52) = size.limbs52() {
        for prime in [&p, &q] {
            let modulus = Modulus::<Digit>::new(prime, Shape::digits(size.bits() / 2)).expect(odd);
            assert_eq!(modulus.shape().r_bits(), 52 * limbs52, "the R of the kernel");
            let mut rr = Zeroizing::new(vec![0; prime.len()]);
            Digit::unpack(&mut rr, modulus.rr());
            let rrr = Zeroizing::new(modulus.enter(&rr));
            for number in [modulus.m(), modulus.rr(), &rrr, modulus.one()] {
                record.doubles(number);
            }
            record.0.append(&(minus_inverse(prime[0]) & DIGIT).to_le_bytes());
            record.0.append(&[0; 8]);
        }
    }
    assert_eq!(record.0.len(), size.key_bytes(), "the record has its size");
    record.0
}

struct Record(Secret);

impl Record {
    fn number(&mut self, limbs: &[u64]) {
        limbs.iter().for_each(|limb| self.0.append(&limb.to_le_bytes()));
    }

    /// Appends -1/m mod 2^32, for the lowest limb of an odd m, and three unused words.
    fn word(&mut self, lowest_limb: u64) {
        let [a, b, c, d, ..] = minus_inverse(lowest_limb).to_le_bytes();
        self.0.append(&[a, b, c, d]);
        self.0.append(&[0; 12]);
    }

    /// Appends a number as doubles: digits from -2^51 to 2^51 - 1, but for the last one.
    fn doubles(&mut self, digits: &[Digit]) {
        let mut carry = 0;
        for (i, digit) in digits.iter().enumerate() {
            let sum = digit.0 + carry;
            carry = if i + 1 < digits.len() { (sum + (1 << 51)) >> 52 } else { 0 };
            let signed = sum.wrapping_sub(carry << 52).cast_signed();
            #[allow(clippy::cast_precision_loss, reason = "52 bits")]
            self.0.append(&(signed as f64).to_le_bytes());
        }
    }
}

/// The bits of a digit.
const DIGIT: u64 = (1 << 52) - 1;

/// Returns -1/m mod 2^64 for an odd m.
fn minus_inverse(m: u64) -> u64 {
    // Each step doubles the number of right bits, which are three at first.
    let step = |z: u64, _| z.wrapping_mul(2u64.wrapping_sub(m.wrapping_mul(z)));
    (0..5).fold(m, step).wrapping_neg()
}

/// Returns little-endian limbs of a big-endian number, whose length is public.
fn limbs(bytes: &[u8]) -> Zeroizing<Vec<u64>> {
    let (top, whole) = bytes.as_rchunks();
    let mut limbs = Zeroizing::new(Vec::with_capacity(whole.len() + 1));
    limbs.extend(whole.iter().rev().map(|limb| u64::from_be_bytes(*limb)));
    if !top.is_empty() {
        limbs.push(top.iter().fold(0, |limb, byte| limb << 8 | u64::from(*byte)));
    }
    limbs
}

/// Returns p - 2.
fn less_two(p: &[u64]) -> Zeroizing<Vec<u64>> {
    let mut z = Zeroizing::new(p.to_vec());
    let mut borrow = 2;
    for limb in z.iter_mut() {
        let (less, wraps) = limb.overflowing_sub(borrow);
        (*limb, borrow) = (less, u64::from(wraps));
    }
    z
}

/// Returns `true` if x < y, big-endian and of one length. Constant time.
pub(crate) fn is_below(x: &[u8], y: &[u8]) -> bool {
    let borrow = x.iter().zip(y).rev().fold(0, |borrow, (x, y)| {
        u16::from(*x).wrapping_sub(u16::from(*y)).wrapping_sub(borrow) >> 15
    });
    borrow == 1
}
