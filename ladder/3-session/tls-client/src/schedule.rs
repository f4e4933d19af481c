//! The key schedule of TLS 1.3 (RFC 8446 §7.1), with or without the pre-shared key of a ticket.
//!
//! Exporter secrets and external keys are not derived.

use aws_lc_rs::hmac;

use crate::hash::{Hash, Secret};
use crate::protect::RecordKey;
use crate::suite::{Cipher, Suite};

/// Computes HKDF-Expand-Label (RFC 8446 §7.1) with an output of at most one hash. HKDF-Expand is
/// then a single HMAC.
fn expand_label(secret: &hmac::Key, label: &[u8], context: &[u8], bytes: usize) -> Secret {
    let length = u8::try_from(bytes).expect("at most 48");
    let prefixed = u8::try_from(6 + label.len()).expect("labels are short");
    let context_length = u8::try_from(context.len()).expect("a hash, a nonce or nothing");
    let mut mac = hmac::Context::with_key(secret);
    mac.update(&[0, length, prefixed]);
    mac.update(b"tls13 ");
    mac.update(label);
    mac.update(&[context_length]);
    mac.update(context);
    mac.update(&[1]); // the number of the block
    Secret::new(&mac.sign().as_ref()[..bytes])
}

/// A stage of the schedule: a secret from which others are derived.
struct Stage {
    hash: Hash,
    secret: hmac::Key,
}

impl Stage {
    /// Computes HKDF-Extract (RFC 5869 §2.2), with the salt prepared as an HMAC key.
    fn extract(hash: Hash, salt: &hmac::Key, input: &[u8]) -> Self {
        let secret = Secret::new(hmac::sign(salt, input).as_ref());
        Self { hash, secret: hash.hmac_key(&secret) }
    }

    /// Computes Derive-Secret (RFC 8446 §7.1).
    fn derive(&self, label: &[u8], transcript: &[u8]) -> Traffic {
        let secret = expand_label(&self.secret, label, transcript, self.hash.bytes());
        Traffic { hash: self.hash, secret }
    }

    /// Returns the salt of the next stage.
    fn derived(&self) -> Secret {
        self.derive(b"derived", self.hash.of_nothing().as_ref()).secret
    }
}

/// The early secret of a pre-shared key.
pub(crate) struct Psk(Stage);

impl Psk {
    pub(crate) fn new(hash: Hash, key: &[u8]) -> Self {
        Self(Stage::extract(hash, &hash.hmac_key(hash.zeros()), key))
    }

    /// Returns the binder (RFC 8446 §4.2.11.2); `transcript` is the hash up to the list of binders.
    pub(crate) fn binder(&self, transcript: &[u8]) -> hmac::Tag {
        let nothing = self.0.hash.of_nothing();
        self.0.derive(b"res binder", nothing.as_ref()).verify_data(transcript)
    }

    /// Returns the secret of early data; `transcript` is the hash of the `ClientHello`.
    pub(crate) fn early_data(&self, transcript: &[u8]) -> Traffic {
        self.0.derive(b"c e traffic", transcript)
    }

    /// Returns the early secret of a handshake whose server accepts the pre-shared key.
    pub(crate) fn early(&self) -> Early {
        let hash = self.0.hash;
        Early { hash, salt: hash.hmac_key(&self.0.derived()) }
    }
}

/// The early secret; without a pre-shared key it is constant.
#[derive(Clone, Debug)]
pub(crate) struct Early {
    hash: Hash,
    salt: hmac::Key,
}

impl Early {
    /// Returns the early secret without a pre-shared key.
    pub(crate) fn new(hash: Hash) -> Self {
        Psk::new(hash, hash.zeros()).early()
    }

    /// Returns the secrets of the handshake; `transcript` is the hash up to and including the
    /// `ServerHello`.
    pub(crate) fn handshake(&self, shared: &[u8], transcript: &[u8]) -> Handshake {
        let stage = Stage::extract(self.hash, &self.salt, shared);
        Handshake {
            client: stage.derive(b"c hs traffic", transcript),
            server: stage.derive(b"s hs traffic", transcript),
            derived: stage.derived(),
        }
    }
}

/// The secrets of the handshake.
pub(crate) struct Handshake {
    pub(crate) client: Traffic,
    pub(crate) server: Traffic,
    derived: Secret,
}

impl Handshake {
    pub(crate) fn master(&self) -> MasterSecret {
        let hash = self.client.hash;
        MasterSecret(Stage::extract(hash, &hash.hmac_key(&self.derived), hash.zeros()))
    }
}

/// The master secret, for keys of application data and of later sessions.
pub(crate) struct MasterSecret(Stage);

impl MasterSecret {
    /// Returns the traffic secrets of client and server for application data; `transcript` is the
    /// hash up to and including the server's Finished.
    pub(crate) fn application(&self, transcript: &[u8]) -> (Traffic, Traffic) {
        let derive = |label| self.0.derive(label, transcript);
        (derive(b"c ap traffic"), derive(b"s ap traffic"))
    }

    /// Returns the pre-shared key of a ticket (RFC 8446 §4.6.1); `transcript` is the hash up to and
    /// including the client's Finished.
    pub(crate) fn psk(&self, transcript: &[u8], ticket_nonce: &[u8]) -> Secret {
        let resumption = self.0.derive(b"res master", transcript);
        expand_label(&resumption.key(), b"resumption", ticket_nonce, self.0.hash.bytes())
    }
}

/// A derived secret, usually the traffic secret of one direction.
pub(crate) struct Traffic {
    hash: Hash,
    pub(crate) secret: Secret,
}

impl Traffic {
    fn key(&self) -> hmac::Key {
        self.hash.hmac_key(&self.secret)
    }

    /// Returns the record key that follows from this secret (RFC 8446 §7.3).
    pub(crate) fn record_key(&self, suite: Suite) -> RecordKey {
        let secret = self.key();
        let cipher = suite.cipher();
        let key = expand_label(&secret, b"key", &[], cipher.key_bytes());
        RecordKey::tls13(cipher, &key, &expand_label(&secret, b"iv", &[], Cipher::NONCE_BYTES))
    }

    /// Returns the content of a Finished (RFC 8446 §4.4.4).
    pub(crate) fn verify_data(&self, transcript: &[u8]) -> hmac::Tag {
        let finished = expand_label(&self.key(), b"finished", &[], self.hash.bytes());
        hmac::sign(&self.hash.hmac_key(&finished), transcript)
    }

    /// Returns the next generation, after a `KeyUpdate` (RFC 8446 §7.2).
    pub(crate) fn next(&self) -> Self {
        let secret = expand_label(&self.key(), b"traffic upd", &[], self.hash.bytes());
        Self { hash: self.hash, secret }
    }
}

/// RFC 8448 §3, "Simple 1-RTT Handshake".
#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        hex::decode(text.replace(' ', "")).unwrap()
    }

    const SHARED: &str = "8bd4054fb55b9d63fdfbacf9f04b9f0d35e6d63f537563efd46272900f89492d";
    const HASH_SERVER_HELLO: &str =
        "860c06edc07858ee8e78f0e7428c58edd6b43f2ca3e6e95f02ed063cf0e1cad8";
    const HASH_SERVER_FINISHED: &str =
        "9608102a0f1ccc6db6250b7b7e417b1a000eaada3daae4777a7686c9ff83df13";

    fn handshake() -> Handshake {
        Early::new(Hash::Sha256).handshake(&bytes(SHARED), &bytes(HASH_SERVER_HELLO))
    }

    #[track_caller]
    fn check(found: &[u8], expected: &str) {
        assert_eq!(hex::encode(found), expected);
    }

    #[test]
    fn handshake_secrets() {
        let Handshake { client, server, derived } = handshake();
        check(&client.secret, "b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21");
        check(&server.secret, "b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38");
        check(&derived, "43de77e0c77713859a944db9db2590b53190a65b3ee2e4f12dd7a0bb7ce254b4");
        let server = server.key();
        let key = expand_label(&server, b"key", &[], 16);
        check(&key, "3fce516009c21727d0f2e4e86ee403bc");
        let iv = expand_label(&server, b"iv", &[], 12);
        check(&iv, "5d313eb2671276ee13000b30");
    }

    #[test]
    fn application_secrets() {
        let (client, server) = handshake().master().application(&bytes(HASH_SERVER_FINISHED));
        check(&client.secret, "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5");
        check(&server.secret, "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643");
    }

    /// The client's Finished covers the transcript up to the server's Finished.
    #[test]
    fn finished() {
        let data = handshake().client.verify_data(&bytes(HASH_SERVER_FINISHED));
        check(data.as_ref(), "a8ec436d677634ae525ac1fcebe11a039ec17694fac6e98527b642f2edd5ce61");
    }

    /// RFC 8448 §3 and §4, "Resumed 0-RTT Handshake".
    #[test]
    fn the_published_resumption_is_reproduced() {
        let hash_client_finished =
            "209145a96ee8e2a122ff810047cc952684658d6049e86429426db87c54ad143d";
        let key = handshake().master().psk(&bytes(hash_client_finished), &[0, 0]);
        check(&key, "4ecd0eb6ec3b4d87f5d6028f922ca4c5851a277fd41311c9e62d2c9492e1c4f3");
        let psk = Psk::new(Hash::Sha256, &key);
        let hash_up_to_binders = "63224b2e4573f2d3454ca84b9d009a04f6be9e05711a8396473aefa01e924a14";
        check(
            psk.binder(&bytes(hash_up_to_binders)).as_ref(),
            "3add4fb2d8fdf822a0ca3cf7678ef5e88dae990141c5924d57bb6fa31b9e5f9d",
        );
        let hash_client_hello = "08ad0fa05d7c7233b1775ba2ff9f4c5b8b59276b7f227f13a976245f5d960913";
        check(
            &psk.early_data(&bytes(hash_client_hello)).secret,
            "3fbbe6a60deb66c30a32795aba0eff7eaa10105586e7be5c09678d63b6caab62",
        );
        let shared = "f44194756ff9ec9d25180635d66ea6824c6ab3bf179977be37f723570e7ccb2e";
        let hash_server_hello = "f736cb34fe25e701551bee6fd24c1cc7102a7daf9405cb15d97aafe16f757d03";
        let Handshake { client, .. } =
            psk.early().handshake(&bytes(shared), &bytes(hash_server_hello));
        check(&client.secret, "2faac08f851d35fea3604fcb4de82dc62c9b164a70974d0462e27f1ab278700f");
    }
}
