//! Public and private keys, with their numbers in limbs, in digits and in lane blocks.

use std::sync::OnceLock;

use tollgate_mont::{Digit, Kernel as _, LANES, LimbKernel, Modulus, NotOdd, Shape, carry};
use zeroize::Zeroizing;

use crate::blinding::Pool;
use crate::error::Error;
use crate::fresh::{AT_ONCE, AT_ONCE_IN_LANES};
use crate::implicit_rejection::{DHash, d_hash};
use crate::material::{BlockNumbers, Class, Exponents, Numbers, Primes};
use crate::natural::{bit_length, secret_bytes, to_bytes};
use crate::parse;
use crate::parts::KeyParts;
use crate::validate::{self, CheckedPublic};

/// Keys of fewer bits are accepted; [`PrivateKey::is_insecure`] returns true for them.
pub(crate) const SECURE_BITS: usize = 2048;

/// An RSA public key of 512 to 8192 bits.
///
/// It prepares only what [`public`](Self::public) needs, since many keys verify a single signature.
/// The first batch in lanes adds the numbers for lanes, unless the key is the public half of a
/// [`PrivateKey`].
#[derive(Clone, Debug)]
pub struct PublicKey {
    /// n with all constants in the public half of a private key, else for public exponents alone.
    pub(crate) limbs: Modulus<u64>,
    pub(crate) digits: OnceLock<Modulus<Digit>>,
    /// n, little-endian.
    pub(crate) n: Vec<u64>,
    /// e, little-endian, at most [`crate::material::E_WORDS`].
    pub(crate) e: Vec<u64>,
    pub(crate) bits: usize,
}

/// An RSA private key of two primes, 512 to 8192 bits, checked when loaded.
///
/// Threads can share a key; each thread uses its own [`Workspace`](crate::Workspace). Secrets are
/// wiped when the key is dropped; `Debug` shows none.
pub struct PrivateKey {
    pub(crate) public: PublicKey,
    pub(crate) limbs: Primes<u64>,
    pub(crate) digits: Primes<Digit>,
    pub(crate) exponents: Exponents<u64>,
    /// d, little-endian. Only [`to_parts`](Self::to_parts) needs it: operations use CRT.
    d: Zeroizing<Vec<u64>>,
    pub(crate) prime_bits: usize,
    pub(crate) limb_pairs: Pool<u64>,
    pub(crate) digit_pairs: Pool<Digit>,
    pub(crate) in_blocks: Option<BlockNumbers>,
    pub(crate) d_hash: DHash,
}

impl core::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PrivateKey").field("bits", &self.bits()).finish_non_exhaustive()
    }
}

/// Compares n and e.
impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        (&self.n, &self.e) == (&other.n, &other.e)
    }
}

impl Eq for PublicKey {}

impl core::hash::Hash for PublicKey {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        (&self.n, &self.e).hash(state);
    }
}

impl PublicKey {
    /// Reads the contents of a key file: PEM or DER, `SubjectPublicKeyInfo` or PKCS#1.
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`]: the file has another format, or a number is not acceptable; the message
    /// says which.
    pub fn from_bytes(file: &[u8]) -> Result<Self, Error> {
        let (n, e) = parse::public(file)?;
        Self::from_components(&n, &e)
    }

    /// Reads DER: `SubjectPublicKeyInfo` or PKCS#1.
    ///
    /// # Errors
    ///
    /// As [`from_bytes`](Self::from_bytes).
    pub fn from_der(der: &[u8]) -> Result<Self, Error> {
        let (n, e) = parse::public_der(der)?;
        Self::from_components(&n, &e)
    }

    /// Reads PEM text: `SubjectPublicKeyInfo` or PKCS#1.
    ///
    /// # Errors
    ///
    /// As [`from_bytes`](Self::from_bytes).
    pub fn from_pem(pem: &str) -> Result<Self, Error> {
        Self::from_bytes(pem.as_bytes())
    }

    /// Creates a key from big-endian numbers.
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`]: n is even or does not have 512 to 8192 bits; e is even, below 3 or
    /// above 2^256.
    pub fn from_components(n: &[u8], e: &[u8]) -> Result<Self, Error> {
        let key = validate::public(n, e)?;
        let limbs = Modulus::new_vartime(&key.n, Shape::limbs(key.bits));
        Ok(Self::new(key, limbs))
    }

    fn new(
        CheckedPublic { n, e, bits }: CheckedPublic,
        limbs: Result<Modulus<u64>, NotOdd>,
    ) -> Self {
        let limbs = limbs.expect("n of a checked key is odd");
        Self { limbs, digits: OnceLock::new(), n, e, bits }
    }

    /// Returns n in digits.
    pub(crate) fn digits(&self) -> &Modulus<Digit> {
        if let Some(digits) = self.digits.get() {
            return digits;
        }
        // Not within `get_or_init`: a child that is forked meanwhile would wait for the thread that
        // computes, which it does not have. `set` leaves nanoseconds for that.
        let new = Modulus::new(&self.n, self.digits_shape()).expect("n of a checked key is odd");
        let _ = self.digits.set(new);
        self.digits.get().expect("set by this thread or another")
    }

    pub(crate) fn digits_shape(&self) -> Shape {
        Shape::digits(self.bits)
    }

    /// Returns the length of n in bits.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Returns the length in bytes of n, of a signature and of a message representative.
    pub fn size(&self) -> usize {
        self.bits.div_ceil(8)
    }

    /// Returns n, big-endian, [`size`](Self::size) bytes.
    pub fn modulus(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.size()];
        to_bytes(&mut bytes, &self.n);
        bytes
    }

    /// Returns e, big-endian, without leading zeros.
    pub fn exponent(&self) -> Vec<u8> {
        let mut bytes = vec![0; 8 * self.e.len()];
        to_bytes(&mut bytes, &self.e);
        let zeros = bytes.iter().take_while(|&&b| b == 0).count();
        bytes.split_off(zeros)
    }
}

impl PrivateKey {
    /// Reads the contents of a key file, not encrypted: PEM or DER, PKCS#8 or PKCS#1.
    ///
    /// Keys below 2048 bits are accepted: see [`is_insecure`](Self::is_insecure).
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`]: the file has another format, or the numbers do not fit each other; the
    /// message says which.
    pub fn from_bytes(file: &[u8]) -> Result<Self, Error> {
        Self::from_parts(&parse::private(file)?)
    }

    /// Reads DER: PKCS#8 or PKCS#1, not encrypted.
    ///
    /// # Errors
    ///
    /// As [`from_bytes`](Self::from_bytes).
    pub fn from_der(der: &[u8]) -> Result<Self, Error> {
        Self::from_parts(&parse::private_der(der)?)
    }

    /// Reads PEM text: PKCS#8 or PKCS#1, not encrypted.
    ///
    /// # Errors
    ///
    /// As [`from_bytes`](Self::from_bytes).
    pub fn from_pem(pem: &str) -> Result<Self, Error> {
        Self::from_bytes(pem.as_bytes())
    }

    /// Creates a key from its numbers.
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`]: a number is out of range or does not fit the others.
    pub fn from_parts(parts: &KeyParts) -> Result<Self, Error> {
        let key = validate::private(parts)?;
        let n = Modulus::new(&key.public.n, Shape::limbs(key.public.bits));
        let public = PublicKey::new(key.public.clone(), n);
        let prime_bits = bit_length(&key.p).max(bit_length(&key.q));
        let limbs = Primes::new(&key, &public.limbs, Shape::limbs(prime_bits));
        Ok(Self {
            in_blocks: BlockNumbers::new(&public.limbs, public.n.len(), &limbs, &key.q_inv),
            limbs,
            digits: Primes::new(&key, public.digits(), Shape::digits(prime_bits)),
            exponents: Exponents::new(&key),
            d_hash: d_hash(&key.d, public.size()),
            d: key.d,
            prime_bits,
            limb_pairs: Pool::new(public.limbs.k(), 1, AT_ONCE),
            digit_pairs: Pool::new(public.digits_shape().k(), LANES, AT_ONCE_IN_LANES),
            public,
        })
    }

    /// Returns the key's numbers. [`from_parts`](Self::from_parts) makes the same key from them. e
    /// has no leading zeros. Each other number has the length in bytes of n, p or q.
    pub fn to_parts(&self) -> KeyParts {
        let (p, q) = (self.limbs.pair.p(), self.limbs.pair.q());
        let (p_bits, q_bits) = (bit_length(p.m()), bit_length(q.m()));
        let x = &self.exponents;
        KeyParts {
            n: self.public.modulus(),
            e: self.public.exponent(),
            d: secret_bytes(&self.d, self.bits()),
            p: secret_bytes(p.m(), p_bits),
            q: secret_bytes(q.m(), q_bits),
            d_p: secret_bytes(&x.d_p, p_bits),
            d_q: secret_bytes(&x.d_q, q_bits),
            q_inv: secret_bytes(&leave(&self.limbs.q_inv, p), p_bits),
        }
    }

    /// Returns the length of n in bits.
    pub fn bits(&self) -> usize {
        self.public.bits()
    }

    /// Returns the length in bytes of n, of a signature and of a message representative.
    pub fn size(&self) -> usize {
        self.public.size()
    }

    /// Returns the public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Returns whether the key has fewer than 2048 bits. Such keys serve comparisons with published
    /// figures; do not sign with them.
    pub fn is_insecure(&self) -> bool {
        self.bits() < SECURE_BITS
    }

    /// Returns the lengths of p and q in bits.
    pub fn prime_bits(&self) -> [usize; 2] {
        [self.limbs.pair.p(), self.limbs.pair.q()].map(|prime| bit_length(prime.m()))
    }

    pub(crate) fn class(&self) -> Class {
        Class { n: self.public.digits_shape(), prime: self.digits.pair.p().shape() }
    }

    /// Returns the numbers of an operation on limbs.
    pub(crate) fn numbers(&self) -> Numbers<'_, u64> {
        Numbers {
            n: &self.public.limbs,
            e: &self.public.e,
            primes: &self.limbs,
            exponents: &self.exponents,
            prime_bits: self.prime_bits,
        }
    }
}

/// Converts x from Montgomery form mod m.
fn leave(x: &[u64], m: &Modulus<u64>) -> Zeroizing<Vec<u64>> {
    let mut z = Zeroizing::new(vec![0; m.k()]);
    let mut scratch = Zeroizing::new(vec![0; m.scratch_words()]);
    LimbKernel::Portable.amm(&mut z, x, m.plain_one(), m, &mut scratch);
    carry::reduce(&mut z, m.m());
    z
}
