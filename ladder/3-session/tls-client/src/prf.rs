//! Keys of TLS 1.2 from the premaster secret (RFC 5246 §5, §6.3, §8.1; RFC 7627).

use aws_lc_rs::hmac;
use zeroize::Zeroizing;

use crate::hash::Hash;
use crate::protect::{Keys, RecordKey};
use crate::suite::Suite;

/// Maximum length of a key block.
const KEY_BLOCK_BYTES_MAX: usize = 2 * (48 + 32);

/// Fills `out` with the PRF (RFC 5246 §5) of a secret, prepared as an HMAC key.
///
/// This code replaces the library's own PRF, which allocates.
fn prf(secret: &hmac::Key, label: &[u8], [first, second]: [&[u8]; 2], out: &mut [u8]) {
    let mac = |parts: &[&[u8]]| {
        let mut context = hmac::Context::with_key(secret);
        parts.iter().for_each(|part| context.update(part));
        context.sign()
    };
    let mut a = mac(&[label, first, second]);
    for (number, chunk) in out.chunks_mut(a.as_ref().len()).enumerate() {
        if number > 0 {
            a = mac(&[a.as_ref()]);
        }
        let bytes = mac(&[a.as_ref(), label, first, second]);
        chunk.copy_from_slice(&bytes.as_ref()[..chunk.len()]);
    }
}

/// The sender of a Finished.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Client,
    Server,
}

/// The master secret, and the HMAC key made from it.
pub(crate) struct Master {
    key: hmac::Key,
    pub(crate) secret: Zeroizing<[u8; 48]>,
}

impl Master {
    fn derive(hash: Hash, premaster: &hmac::Key, label: &[u8], seeds: [&[u8]; 2]) -> Self {
        let mut secret = Zeroizing::new([0; 48]);
        prf(premaster, label, seeds, &mut *secret);
        Self { key: hash.hmac_key(&*secret), secret }
    }

    /// Derives the master secret (RFC 5246 §8.1). `premaster` is the premaster secret as an HMAC
    /// key; `randoms` are those of client and server.
    pub(crate) fn new(hash: Hash, premaster: &hmac::Key, randoms: [&[u8; 32]; 2]) -> Self {
        Self::derive(hash, premaster, b"master secret", randoms.map(|random| &random[..]))
    }

    /// Derives the extended master secret (RFC 7627 §4); `session_hash` is the hash of all messages
    /// up to and including the `ClientKeyExchange`.
    pub(crate) fn extended(hash: Hash, premaster: &hmac::Key, session_hash: &[u8]) -> Self {
        Self::derive(hash, premaster, b"extended master secret", [session_hash, &[]])
    }

    /// Returns the master secret of a saved session.
    pub(crate) fn saved(hash: Hash, saved: &[u8]) -> Self {
        let mut secret = Zeroizing::new([0; 48]);
        secret.copy_from_slice(saved);
        Self { key: hash.hmac_key(&*secret), secret }
    }

    /// Returns the keys of client and server (RFC 5246 §6.3).
    pub(crate) fn record_keys(
        &self,
        suite: Suite,
        [client_random, server_random]: [&[u8; 32]; 2],
        encrypt_then_mac: bool,
    ) -> (RecordKey, RecordKey) {
        let cipher = suite.cipher();
        let sizes = [cipher.mac().map_or(0, Hash::bytes), cipher.key_bytes(), cipher.iv_bytes()];
        let mut block = Zeroizing::new([0; KEY_BLOCK_BYTES_MAX]);
        let block = &mut block[..2 * sizes.iter().sum::<usize>()];
        prf(&self.key, b"key expansion", [server_random, client_random], block);
        // each kind of key first for the client, then for the server
        let mut rest = &*block;
        let pairs = sizes.map(|size| {
            let (pair, tail) = rest.split_at(2 * size);
            rest = tail;
            pair.split_at(size)
        });
        let [mac, key, iv] = pairs;
        let client = Keys { mac: mac.0, key: key.0, iv: iv.0 };
        let server = Keys { mac: mac.1, key: key.1, iv: iv.1 };
        let record_key = |keys| RecordKey::tls12(cipher, keys, encrypt_then_mac);
        (record_key(&client), record_key(&server))
    }

    /// Returns the content of a Finished (RFC 5246 §7.4.9).
    pub(crate) fn verify_data(&self, side: Side, transcript: &[u8]) -> [u8; 12] {
        let label: &[u8] = match side {
            Side::Client => b"client finished",
            Side::Server => b"server finished",
        };
        let mut data = [0; 12];
        prf(&self.key, label, [transcript, &[]], &mut data);
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vector for SHA-256 by J. Salowey, "TLS 1.2 PRF test vectors", sent to the mailing list of
    /// the TLS working group. Many stacks quote it (`GnuTLS`, Mbed TLS, Go).
    #[test]
    fn prf_known_answer() {
        let secret = hex::decode("9bbe436ba940f017b17652849a71db35").unwrap();
        let seed = hex::decode("a0ba9f936cda311827a6f796ffd5198c").unwrap();
        let expected = "e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a\
             6b301791e90d35c9c9a46b4e14baf9af0fa022f7077def17abfd3797c0564bab4fbc91666e9def9b\
             97fce34f796789baa48082d122ee42c5a72e5a5110fff70187347b66";
        for cut in [0, 7, seed.len()] {
            let mut found = [0; 100];
            let seeds = [&seed[..cut], &seed[cut..]];
            prf(&Hash::Sha256.hmac_key(&secret), b"test label", seeds, &mut found);
            assert_eq!(hex::encode(found), expected);
        }
    }

    /// NIST CAVP, "TLS v1.2 KDF" with SHA-256, first case: the master secret.
    #[test]
    fn master_secret_known_answer() {
        let premaster = "f8938ecc9edebc5030c0c6a441e213cd24e6f770a50dda07876f8d55da062bca\
             db386b411fd4fe4313a604fce6c17fbc";
        let client_random = "36c129d01a3200894b9179faac589d9835d58775f9b5ea3587cb8fd0364cae8c";
        let server_random = "f6c9575ed7ddd73e1f7d16eca115415812a43c2b747daaaae043abfb50053fce";
        let expected = "202c88c00f84a17a20027079604787461176455539e705be730890602c289a50\
             01e34eeb3a043e5d52a65e66125188bf";
        let premaster = Hash::Sha256.hmac_key(&hex::decode(premaster).unwrap());
        let randoms = [client_random, server_random]
            .map(|text| <[u8; 32]>::try_from(hex::decode(text).unwrap()).unwrap());
        let found = Master::new(Hash::Sha256, &premaster, [&randoms[0], &randoms[1]]);
        assert_eq!(hex::encode(*found.secret), expected);
    }
}
