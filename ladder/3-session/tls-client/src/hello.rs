//! The `ClientHello` (RFC 5246 §7.4.1.2, RFC 8446 §4.1.2).

use crate::decode::put_vector;
use crate::hash::Transcript;
use crate::registry::Group;
use crate::schedule::Psk;
use crate::settings::Settings;
use crate::wire::{Extension, Message, TLS12, TLS13};

/// The offered application protocol.
pub(crate) const ALPN: &[u8] = b"http/1.1";

/// The variable parts of a `ClientHello`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hello<'a> {
    pub(crate) random: &'a [u8; 32],
    /// TLS 1.3: random bytes for middleboxes (RFC 8446 §D.4). TLS 1.2: the ID of the session to
    /// resume. If the client offers a ticket, the ID is random, and the server echoes it if it
    /// accepts the ticket (RFC 5077 §3.4).
    pub(crate) session_id: &'a [u8],
    /// The key shares, in TLS 1.3 only.
    pub(crate) shares: [Option<(Group, &'a [u8])>; 2],
    /// The cookie of a `HelloRetryRequest`; empty if there is none.
    pub(crate) cookie: &'a [u8],
    pub(crate) offered: Offered<'a>,
}

/// The offer of a session to resume, in addition to a session ID.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offered<'a> {
    /// No offer.
    None,
    /// TLS 1.2: a ticket.
    Ticket(&'a [u8]),
    /// TLS 1.3: a pre-shared key. The hello ends with a binder of zeros.
    Psk { identity: &'a [u8], obfuscated_age: u32, early_data: bool },
}

impl Hello<'_> {
    pub(crate) fn write(&self, out: &mut Vec<u8>, settings: &Settings) {
        out.push(Message::CLIENT_HELLO.0);
        put_vector(out, 3, |out| {
            out.extend(TLS12.to_be_bytes());
            out.extend_from_slice(self.random);
            put_vector(out, 1, |out| out.extend_from_slice(self.session_id));
            put_vector(out, 2, |out| {
                out.extend(settings.suite.number().to_be_bytes());
            });
            out.extend([1, 0]); // one compression method: none
            put_vector(out, 2, |out| self.extensions(out, settings));
        });
    }

    fn extensions(&self, out: &mut Vec<u8>, settings: &Settings) {
        if let Some(name) = &settings.server_name {
            list(out, Extension::SERVER_NAME, 2, |out| {
                out.push(0); // a host name
                put_vector(out, 2, |out| out.extend_from_slice(name.as_bytes()));
            });
        }
        if settings.suite.has_group() && !settings.groups.is_empty() {
            list(out, Extension::SUPPORTED_GROUPS, 2, |out| {
                out.extend(settings.groups.iter().flat_map(|group| group.number().to_be_bytes()));
            });
        }
        list(out, Extension::SIGNATURE_ALGORITHMS, 2, |out| {
            out.extend(settings.schemes.iter().flat_map(|scheme| scheme.number().to_be_bytes()));
        });
        list(out, Extension::ALPN, 2, |out| {
            put_vector(out, 1, |out| out.extend_from_slice(ALPN));
        });
        if settings.suite.is_tls13() {
            self.extensions_tls13(out, settings);
        } else {
            self.extensions_tls12(out, settings);
        }
    }

    fn extensions_tls13(&self, out: &mut Vec<u8>, settings: &Settings) {
        list(out, Extension::SUPPORTED_VERSIONS, 1, |out| out.extend(TLS13.to_be_bytes()));
        let psk = matches!(self.offered, Offered::Psk { .. });
        if settings.tickets || psk {
            // some servers send tickets only if this extension is present
            // one mode: psk_dhe_ke
            extension(out, Extension::PSK_KEY_EXCHANGE_MODES, |out| out.extend([1, 1]));
        }
        if !self.cookie.is_empty() {
            list(out, Extension::COOKIE, 2, |out| out.extend_from_slice(self.cookie));
        }
        list(out, Extension::KEY_SHARE, 2, |out| {
            for (group, public) in self.shares.into_iter().flatten() {
                out.extend(group.number().to_be_bytes());
                put_vector(out, 2, |out| out.extend_from_slice(public));
            }
        });
        if let Offered::Psk { identity, obfuscated_age, early_data } = self.offered {
            if early_data {
                extension(out, Extension::EARLY_DATA, |_| ());
            }
            // the last extension (RFC 8446 §4.2.11), because the binder covers everything before it
            extension(out, Extension::PRE_SHARED_KEY, |out| {
                put_vector(out, 2, |out| {
                    put_vector(out, 2, |out| out.extend_from_slice(identity));
                    out.extend(obfuscated_age.to_be_bytes());
                });
                put_vector(out, 2, |out| {
                    put_vector(out, 1, |out| out.extend_from_slice(settings.suite.hash().zeros()));
                });
            });
        }
    }

    fn extensions_tls12(&self, out: &mut Vec<u8>, settings: &Settings) {
        if settings.suite.has_group() {
            extension(out, Extension::EC_POINT_FORMATS, |out| out.extend([1, 0])); // uncompressed
        }
        if settings.offers_encrypt_then_mac() {
            extension(out, Extension::ENCRYPT_THEN_MAC, |_| ());
        }
        extension(out, Extension::EXTENDED_MASTER_SECRET, |_| ());
        match self.offered {
            Offered::Ticket(ticket) => extension(out, Extension::SESSION_TICKET, |out| {
                out.extend_from_slice(ticket);
            }),
            _ if settings.tickets => extension(out, Extension::SESSION_TICKET, |_| ()),
            _ => (),
        }
        extension(out, Extension::RENEGOTIATION_INFO, |out| out.push(0)); // a first handshake
    }
}

/// Fills in the binder of a hello with a pre-shared key, and adds the message to the transcript.
pub(crate) fn bind(message: &mut [u8], psk: &Psk, transcript: &mut Transcript) {
    // RFC 8446 §4.2.11.2: the binder covers everything before the list, which has one binder
    let list_bytes = 2 + 1 + transcript.hash_bytes();
    let (covered, list) = message.split_at_mut(message.len() - list_bytes);
    transcript.add(covered);
    let binder = psk.binder(transcript.hash().as_ref());
    list[3..].copy_from_slice(binder.as_ref());
    transcript.add(list);
}

/// Appends an extension that consists of a vector with a length of `width` bytes.
fn list(out: &mut Vec<u8>, extension: Extension, width: usize, fill: impl FnOnce(&mut Vec<u8>)) {
    self::extension(out, extension, |out| put_vector(out, width, fill));
}

fn extension(out: &mut Vec<u8>, extension: Extension, fill: impl FnOnce(&mut Vec<u8>)) {
    out.extend(extension.0.to_be_bytes());
    put_vector(out, 2, fill);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hash;

    /// The `ClientHello` of RFC 8448 §4, with a binder of zeros.
    #[test]
    fn the_binder_equals_the_published_one() {
        let message = "010001fc03031bc3ceb6bbe39cff938355b5a50adb6db21b7a6af649d7b4bc419d7876487d95\
             000006130113031302010001cd0000000b0009000006736572766572ff01000100000a00140012001d00\
             170018001901000101010201030104003300260024001d0020e4ffb68ac05f8d96c99da26698346c6be1\
             6482badddafe051a66b4f18d668f0b002a0000002b0003020304000d0020001e04030503060302030804\
             0805080604010501060102010402050206020202002d00020101001c0002400100150057";
        let psk_extension = "002900dd00b800b22c035d829359ee5ff7af4ec900000000262a6494dc486d2c8a34cb\
             33fa90bf1b0070ad3c498883c9367c09a2be785abc55cd226097a3a982117283f82a03a143efd3ff5dd3\
             6d64e861be7fd61d2827db279cce145077d454a3664d4e6da4d29ee03725a6a4dafcd0fc67d2aea70529\
             513e3da2677fa5906c5b3f7d8f92f228bda40dda721470f9fbf297b5aea617646fac5c03272e970727c6\
             21a79141ef5f7de6505e5bfbc388e93343694093934ae4d357fad6aacb";
        let decoded = [message, psk_extension].map(|text| hex::decode(text).unwrap());
        let (padding, list) = ([0; 0x57], [&[0, 33, 32][..], &[0; 32]].concat());
        let mut message = [&decoded[0][..], &padding, &decoded[1], &list].concat();
        let key = "4ecd0eb6ec3b4d87f5d6028f922ca4c5851a277fd41311c9e62d2c9492e1c4f3";
        let psk = Psk::new(Hash::Sha256, &hex::decode(key).unwrap());
        let mut transcript = Transcript::new(Hash::Sha256);
        bind(&mut message, &psk, &mut transcript);
        assert_eq!(
            hex::encode(&message[message.len() - 32..]),
            "3add4fb2d8fdf822a0ca3cf7678ef5e88dae990141c5924d57bb6fa31b9e5f9d"
        );
        assert_eq!(
            hex::encode(transcript.hash()),
            "08ad0fa05d7c7233b1775ba2ff9f4c5b8b59276b7f227f13a976245f5d960913"
        );
    }
}
