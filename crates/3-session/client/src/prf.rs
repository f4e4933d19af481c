//! Keys of TLS 1.2 from the premaster secret (RFC 5246 §5, §6.3, §8.1; RFC 7627), with SHA-256.

use aws_lc_rs::tls_prf::{P_SHA256, Secret};
use zeroize::Zeroizing;

use crate::protect::RecordKey;

/// The master secret.
pub(crate) type Master = Zeroizing<[u8; 48]>;

fn prf<const N: usize>(
    secret: &[u8],
    label: &[u8],
    seed1: &[u8],
    seed2: &[u8],
) -> Zeroizing<[u8; N]> {
    let output = Secret::new(&P_SHA256, secret)
        .and_then(|secret| secret.derive_with_seed_concatination(label, seed1, seed2, N))
        .expect("the PRF takes any secret that is not empty");
    let mut out = Zeroizing::new([0; N]);
    out.copy_from_slice(output.as_ref());
    out
}

/// The master secret of RFC 5246 §8.1.
pub(crate) fn master(premaster: &[u8], client_random: &[u8], server_random: &[u8]) -> Master {
    prf(premaster, b"master secret", client_random, server_random)
}

/// The extended master secret of RFC 7627 §4; `session_hash` is over the messages up to and with
/// the `ClientKeyExchange`.
pub(crate) fn extended_master(premaster: &[u8], session_hash: &[u8]) -> Master {
    prf(premaster, b"extended master secret", session_hash, &[])
}

/// The keys of client and server (RFC 5246 §6.3; AES-128-GCM has no MAC keys).
pub(crate) fn record_keys(
    master: &Master,
    client_random: &[u8],
    server_random: &[u8],
) -> (RecordKey, RecordKey) {
    let block = prf::<40>(&**master, b"key expansion", server_random, client_random);
    (RecordKey::tls12(&block[..16], &block[32..36]), RecordKey::tls12(&block[16..32], &block[36..]))
}

/// Who says Finished.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Client,
    Server,
}

/// The content of a Finished (RFC 5246 §7.4.9).
pub(crate) fn verify_data(master: &Master, side: Side, transcript: &[u8]) -> [u8; 12] {
    let label: &[u8] = match side {
        Side::Client => b"client finished",
        Side::Server => b"server finished",
    };
    *prf(&**master, label, transcript, &[])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// The vector for SHA-256 sent to the TLS working group's list by J. Salowey, "TLS 1.2 PRF test
    /// vectors", quoted in many stacks (`GnuTLS`, Mbed TLS, Go).
    #[test]
    fn prf_known_answer() {
        let secret = hex::decode("9bbe436ba940f017b17652849a71db35").unwrap();
        let seed = hex::decode("a0ba9f936cda311827a6f796ffd5198c").unwrap();
        let expected = "e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a\
             6b301791e90d35c9c9a46b4e14baf9af0fa022f7077def17abfd3797c0564bab4fbc91666e9def9b\
             97fce34f796789baa48082d122ee42c5a72e5a5110fff70187347b66";
        let found = prf::<100>(&secret, b"test label", &seed, &[]);
        assert_eq!(hex::encode(*found), expected);
        assert_eq!(*prf::<100>(&secret, b"test label", &seed[..7], &seed[7..]), *found);
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
        let [premaster, client_random, server_random] =
            [premaster, client_random, server_random].map(|text| hex::decode(text).unwrap());
        let found = master(&premaster, &client_random, &server_random);
        assert_eq!(hex::encode(*found), expected);
    }
}
