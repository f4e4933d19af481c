//! Diffie-Hellman in the multiplicative group of a prime field (RFC 7919).

use std::sync::OnceLock;

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd};
use zeroize::Zeroizing;

use crate::error::{Unavailable, Violation};
use crate::registry::Group;

/// Maximum length of the server's prime, in bits; a longer one costs the client milliseconds for
/// each handshake.
const BITS_MAX: u32 = 4096;
/// Minimum length of the server's prime, in bits, for old servers.
const BITS_MIN: u32 = 1024;

/// A prime with its generator.
pub(crate) struct Field {
    bytes: usize,
    p_minus_1: BoxedUint,
    params: BoxedMontyParams,
    generator: BoxedMontyForm,
    /// The length of an exponent in bits.
    exponent_bits: u32,
}

impl Field {
    /// Returns the field of a named group; `None` for an elliptic-curve group.
    pub(crate) fn of(group: Group) -> Option<&'static Self> {
        static FIELDS: [OnceLock<Field>; 3] = [const { OnceLock::new() }; 3];
        // RFC 7919 §5.2 and appendix A: at least 225, 275 and 325 bits of exponent
        let (place, common, end, exponent_bits) = match group {
            Group::Ffdhe2048 => (0, 490, "285C97FFFFFFFFFFFFFFFF", 256),
            Group::Ffdhe3072 => (1, 746, "C62E37FFFFFFFFFFFFFFFF", 320),
            Group::Ffdhe4096 => (2, FFDHE_4096.len(), "", 384),
            _ => return None,
        };
        Some(FIELDS[place].get_or_init(|| {
            let prime = unhex(&[&FFDHE_4096[..common], end].concat());
            Self::with(&prime, &[2], exponent_bits).expect("the constants are primes")
        }))
    }

    /// Returns the named group with this prime and generator.
    pub(crate) fn name(p: &[u8], g: &[u8]) -> Option<Group> {
        let groups = [Group::Ffdhe2048, Group::Ffdhe3072, Group::Ffdhe4096];
        groups.into_iter().find(|&group| {
            Self::of(group).is_some_and(|field| {
                let minus_1 = field.p_minus_1.to_be_bytes();
                let (last, rest) = p.split_last().unwrap_or((&0, &[]));
                g == [2]
                    && rest.len() + 1 == minus_1.len()
                    && minus_1.starts_with(rest)
                    && last ^ 1 == minus_1[minus_1.len() - 1]
            })
        })
    }

    /// Returns the field of the server's prime. Primality is not tested; exponents are as long as
    /// the prime, because the order of the generator is unknown.
    pub(crate) fn chosen(p: &[u8], g: &[u8]) -> Result<Self, Violation> {
        let p = trimmed(p);
        let bits = 8 * p.len() - p.first().map_or(0, |byte| byte.leading_zeros() as usize);
        let bits = u32::try_from(bits).unwrap_or(u32::MAX);
        if !(BITS_MIN..=BITS_MAX).contains(&bits) {
            return Err(Violation::PrimeSize { bits });
        }
        Self::with(p, g, bits).ok_or(Violation::KeyShare)
    }

    fn with(p: &[u8], g: &[u8], exponent_bits: u32) -> Option<Self> {
        let prime = Odd::new(number(p, p.len())?).into_option()?;
        let p_minus_1 = prime.as_ref().wrapping_sub(BoxedUint::one());
        let generator = number(trimmed(g), p.len()).filter(|g| is_element(g, &p_minus_1))?;
        let params = BoxedMontyParams::new_vartime(prime);
        let generator = BoxedMontyForm::new(generator, &params);
        Some(Self { bytes: p.len(), p_minus_1, params, generator, exponent_bits })
    }

    /// Returns the prime.
    #[cfg(test)]
    pub(crate) fn prime(&self) -> Vec<u8> {
        let mut bytes = self.p_minus_1.to_be_bytes().to_vec();
        *bytes.last_mut().expect("a prime has bytes") |= 1;
        bytes
    }

    /// Returns a random exponent.
    pub(crate) fn exponent(&self) -> Result<Exponent, Unavailable> {
        let mut bytes = Zeroizing::new(vec![0; self.exponent_bits as usize / 8]);
        aws_lc_rs::rand::fill(&mut bytes).map_err(|_| Unavailable::Random)?;
        let exponent = number(&bytes, bytes.len()).expect("as many bits as bytes have");
        Ok(Exponent(Zeroizing::new(exponent)))
    }

    /// Returns the public value of an exponent, as long as the prime.
    pub(crate) fn public(&self, exponent: &Exponent) -> Vec<u8> {
        self.bytes_of(&self.power(&self.generator, exponent)).to_vec()
    }

    /// Returns the shared secret, as long as the prime.
    pub(crate) fn agree(
        &self,
        exponent: &Exponent,
        peer: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Violation> {
        // RFC 7919 §5.1: 1 < Y < p - 1
        let peer = number(trimmed(peer), self.bytes)
            .filter(|peer| is_element(peer, &self.p_minus_1))
            .ok_or(Violation::KeyShare)?;
        let secret = self.power(&BoxedMontyForm::new(peer, &self.params), exponent);
        Ok(self.bytes_of(&secret))
    }

    fn power(&self, base: &BoxedMontyForm, exponent: &Exponent) -> Zeroizing<BoxedUint> {
        let power = Zeroizing::new(base.pow_bounded_exp(&exponent.0, self.exponent_bits));
        Zeroizing::new(power.retrieve())
    }

    fn bytes_of(&self, number: &BoxedUint) -> Zeroizing<Vec<u8>> {
        let bytes = Zeroizing::new(number.to_be_bytes());
        Zeroizing::new(bytes[bytes.len() - self.bytes..].to_vec())
    }
}

/// A secret exponent of a field.
pub(crate) struct Exponent(Zeroizing<BoxedUint>);

/// Returns a number with room for `bytes` bytes; `None` if it has more.
fn number(digits: &[u8], bytes: usize) -> Option<BoxedUint> {
    let bits = u32::try_from(8 * bytes).ok()?.next_multiple_of(64);
    BoxedUint::from_be_slice(digits, bits).ok()
}

fn is_element(number: &BoxedUint, p_minus_1: &BoxedUint) -> bool {
    *number > BoxedUint::one() && number < p_minus_1
}

/// Strips leading zeros.
pub(crate) fn trimmed(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    &bytes[zeros..]
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let digits: Vec<u8> = text.bytes().filter_map(digit).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// RFC 7919 §A.3. The shorter primes begin with the same digits: all primes of the RFC are made
/// from the digits of e.
const FFDHE_4096: &str = "\
    FFFFFFFFFFFFFFFFADF85458A2BB4A9AAFDC5620273D3CF1D8B9C583CE2D3695A9E13641146433FB\
    CC939DCE249B3EF97D2FE363630C75D8F681B202AEC4617AD3DF1ED5D5FD65612433F51F5F066ED0\
    856365553DED1AF3B557135E7F57C935984F0C70E0E68B77E2A689DAF3EFE8721DF158A136ADE735\
    30ACCA4F483A797ABC0AB182B324FB61D108A94BB2C8E3FBB96ADAB760D7F4681D4F42A3DE394DF4\
    AE56EDE76372BB190B07A7C8EE0A6D709E02FCE1CDF7E2ECC03404CD28342F619172FE9CE98583FF\
    8E4F1232EEF28183C3FE3B1B4C6FAD733BB5FCBC2EC22005C58EF1837D1683B2C6F34A26C1B2EFFA\
    886B4238611FCFDCDE355B3B6519035BBC34F4DEF99C023861B46FC9D6E6C9077AD91D2691F7F7EE\
    598CB0FAC186D91CAEFE130985139270B4130C93BC437944F4FD4452E2D74DD364F2E21E71F54BFF\
    5CAE82AB9C9DF69EE86D2BC522363A0DABC521979B0DEADA1DBF9A42D5C4484E0ABCD06BFA53DDEF\
    3C1B20EE3FD59D7C25E41D2B669E1EF16E6F52C3164DF4FB7930E9E4E58857B6AC7D5F42D69F6D18\
    7763CF1D5503400487F55BA57E31CC7A7135C886EFB4318AED6A1E012D9E6832A907600A918130C4\
    6DC778F971AD0038092999A333CB8B7A1A1DB93D7140003C2A4ECEA9F98D0ACC0A8291CDCEC97DCF\
    8EC9B55A7F88A46B4DB5A851F44182E1C68A007E5E655F6AFFFFFFFFFFFFFFFF";

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: [Group; 3] = [Group::Ffdhe2048, Group::Ffdhe3072, Group::Ffdhe4096];

    #[test]
    fn both_sides_agree_and_invalid_values_are_refused() {
        for group in GROUPS {
            let field = Field::of(group).unwrap();
            let [ours, theirs] = [(); 2].map(|()| field.exponent().unwrap());
            let [first, second] = [&ours, &theirs].map(|exponent| field.public(exponent));
            assert_eq!(first.len(), group.public_bytes());
            let shared = field.agree(&ours, &second).unwrap();
            assert_eq!(shared, field.agree(&theirs, &first).unwrap());
            assert_eq!(shared.len(), group.public_bytes());
            let p_minus_1 = field.p_minus_1.to_be_bytes();
            let longer = [&[1], &second[..]].concat();
            for bad in [&[][..], &[0], &[1], &p_minus_1, &[0xFF; 512], &longer] {
                assert_eq!(field.agree(&ours, bad), Err(Violation::KeyShare), "{bad:?}");
            }
        }
    }

    #[test]
    fn named_groups_are_recognized_by_their_primes() {
        for group in GROUPS {
            let field = Field::of(group).unwrap();
            let mut p = field.prime();
            assert_eq!(Field::name(&p, &[2]), Some(group));
            assert_eq!(Field::name(&p, &[5]), None);
            for byte in [0, 8, p.len() - 1] {
                p[byte] ^= 2;
                assert_eq!(Field::name(&p, &[2]), None, "{byte}");
                p[byte] ^= 2;
            }
            // the same prime without its name: exponents are long, and the results are the same
            let chosen = Field::chosen(&p, &[0, 2]).unwrap();
            let [ours, theirs] = [chosen.exponent().unwrap(), field.exponent().unwrap()];
            let shared = chosen.agree(&ours, &field.public(&theirs)).unwrap();
            assert_eq!(shared, field.agree(&theirs, &chosen.public(&ours)).unwrap());
        }
    }

    #[test]
    fn primes_out_of_range_are_refused() {
        let refusal = |p: &[u8], g: &[u8]| Field::chosen(p, g).err().unwrap();
        assert_eq!(refusal(&[0xFF; 64], &[2]), Violation::PrimeSize { bits: 512 });
        assert_eq!(refusal(&[0xFF; 513], &[2]), Violation::PrimeSize { bits: 4104 });
        assert_eq!(refusal(&[], &[2]), Violation::PrimeSize { bits: 0 });
        let even = [0xFE; 128];
        assert_eq!(refusal(&even, &[2]), Violation::KeyShare);
        for generator in [&[][..], &[0], &[1], &[0xFF; 128], &[0xFF; 200]] {
            assert_eq!(refusal(&[0xFF; 128], generator), Violation::KeyShare);
        }
    }
}
