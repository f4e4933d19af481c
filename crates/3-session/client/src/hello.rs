//! The `ClientHello` (RFC 5246 §7.4.1.2, RFC 8446 §4.1.2), prepared once and patched per
//! connection.

use crate::config::Settings;
use crate::decode::put_vector;
use crate::group::Group;
use crate::protect::HEADER;
use crate::wire::{Content, Extension, Message, TLS12};

/// Where the random bytes begin: behind the record's header, the message's header and a version.
const RANDOM: usize = HEADER + 4 + 2;
/// Where the session ID of TLS 1.3 begins: behind the random bytes and a length.
const SESSION_ID: usize = RANDOM + 32 + 1;

/// What a `ClientHello` has of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hello<'a> {
    pub(crate) random: &'a [u8; 32],
    /// TLS 1.3 alone, for middleboxes (RFC 8446 §D.4).
    pub(crate) session_id: &'a [u8; 32],
    /// TLS 1.3 alone.
    pub(crate) share: Option<(Group, &'a [u8])>,
    /// From a `HelloRetryRequest`; empty for none.
    pub(crate) cookie: &'a [u8],
}

impl Hello<'_> {
    /// Appends the message, without a record around it.
    pub(crate) fn write(&self, out: &mut Vec<u8>, settings: &Settings) {
        out.push(Message::CLIENT_HELLO.0);
        put_vector(out, 3, |out| {
            out.extend(TLS12.to_be_bytes());
            out.extend_from_slice(self.random);
            if settings.suite.is_tls13() {
                put_vector(out, 1, |out| out.extend_from_slice(self.session_id));
            } else {
                out.push(0); // no session to resume
            }
            put_vector(out, 2, |out| {
                out.extend(settings.suite.number().to_be_bytes());
            });
            out.extend([1, 0]); // one compression method: none
            put_vector(out, 2, |out| self.extensions(out, settings));
        });
    }

    fn extensions(&self, out: &mut Vec<u8>, settings: &Settings) {
        if let Some(name) = &settings.server_name {
            extension(out, Extension::SERVER_NAME, |out| {
                put_vector(out, 2, |out| {
                    out.push(0); // a host name
                    put_vector(out, 2, |out| out.extend_from_slice(name.as_bytes()));
                });
            });
        }
        if settings.suite.has_group() && !settings.groups.is_empty() {
            extension(out, Extension::SUPPORTED_GROUPS, |out| {
                put_vector(out, 2, |out| {
                    out.extend(
                        settings.groups.iter().flat_map(|group| group.number().to_be_bytes()),
                    );
                });
            });
        }
        extension(out, Extension::SIGNATURE_ALGORITHMS, |out| {
            put_vector(out, 2, |out| {
                out.extend(settings.schemes.iter().flat_map(|s| s.number().to_be_bytes()));
            });
        });
        if !settings.alpn.is_empty() {
            extension(out, Extension::ALPN, |out| {
                put_vector(out, 2, |out| {
                    for protocol in &settings.alpn {
                        put_vector(out, 1, |out| out.extend_from_slice(protocol));
                    }
                });
            });
        }
        if settings.suite.is_tls13() {
            self.extensions_tls13(out, settings);
        } else {
            extensions_tls12(out, settings);
        }
    }

    fn extensions_tls13(&self, out: &mut Vec<u8>, settings: &Settings) {
        extension(out, Extension::SUPPORTED_VERSIONS, |out| {
            put_vector(out, 1, |out| {
                out.extend(settings.suite.wire_version().to_be_bytes());
            });
        });
        if settings.tickets {
            // psk_dhe_ke: without it a server may send no tickets
            extension(out, Extension::PSK_KEY_EXCHANGE_MODES, |out| {
                out.extend([1, 1]);
            });
        }
        if !self.cookie.is_empty() {
            extension(out, Extension::COOKIE, |out| {
                put_vector(out, 2, |out| out.extend_from_slice(self.cookie));
            });
        }
        // last: `Template` counts on it
        extension(out, Extension::KEY_SHARE, |out| {
            put_vector(out, 2, |out| {
                if let Some((group, public)) = self.share {
                    out.extend(group.number().to_be_bytes());
                    put_vector(out, 2, |out| out.extend_from_slice(public));
                }
            });
        });
    }
}

fn extensions_tls12(out: &mut Vec<u8>, settings: &Settings) {
    if settings.suite.has_curve() {
        extension(out, Extension::EC_POINT_FORMATS, |out| out.extend([1, 0])); // uncompressed
    }
    if settings.offers_encrypt_then_mac() {
        extension(out, Extension::ENCRYPT_THEN_MAC, |_| ());
    }
    extension(out, Extension::EXTENDED_MASTER_SECRET, |_| ());
    if settings.tickets {
        extension(out, Extension::SESSION_TICKET, |_| ());
    }
    extension(out, Extension::RENEGOTIATION_INFO, |out| out.push(0)); // a first handshake
}

fn extension(out: &mut Vec<u8>, extension: Extension, fill: impl FnOnce(&mut Vec<u8>)) {
    out.extend(extension.0.to_be_bytes());
    put_vector(out, 2, fill);
}

/// A record with a `ClientHello` whose own bytes are yet to be filled in.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    record: Vec<u8>,
    share_bytes: usize,
}

impl Template {
    pub(crate) fn new(settings: &Settings) -> Self {
        let group = settings.groups.first().filter(|_| settings.suite.is_tls13());
        let public = vec![0; group.map_or(0, |group| group.public_bytes())];
        let mut record = vec![Content::HANDSHAKE.0, 3, 1]; // RFC 8446 §5.1: 0x0301 at first
        put_vector(&mut record, 2, |out| {
            let hello = Hello {
                random: &[0; 32],
                session_id: &[0; 32],
                share: group.map(|group| (*group, &public[..])),
                cookie: &[],
            };
            hello.write(out, settings);
        });
        Self { record, share_bytes: public.len() }
    }

    /// Appends the record to `out`; the message is what follows its header. `session_id` and
    /// `share` are those of TLS 1.3, and not looked at before it.
    pub(crate) fn write(
        &self,
        out: &mut Vec<u8>,
        random: &[u8; 32],
        session_id: &[u8; 32],
        share: &[u8],
    ) {
        let start = out.len();
        out.extend_from_slice(&self.record);
        let record = &mut out[start..];
        record[RANDOM..RANDOM + 32].copy_from_slice(random);
        if self.share_bytes > 0 {
            record[SESSION_ID..SESSION_ID + 32].copy_from_slice(session_id);
            let share_start = record.len() - self.share_bytes;
            record[share_start..].copy_from_slice(share);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Suite;

    #[test]
    fn a_template_filled_in_is_a_hello_written_anew() {
        for suite in Suite::ALL {
            for groups in [vec![Group::X25519], vec![Group::P256, Group::X25519]] {
                let public = vec![7; groups[0].public_bytes()];
                let settings = Settings {
                    server_name: Some("host.example".into()),
                    groups,
                    ..Settings::new(suite)
                };
                let mut record = vec![];
                Template::new(&settings).write(&mut record, &[8; 32], &[9; 32], &public);
                let mut message = vec![];
                let hello = Hello {
                    random: &[8; 32],
                    session_id: &[9; 32],
                    share: Some((settings.groups[0], &public)),
                    cookie: &[],
                };
                hello.write(&mut message, &settings);
                assert_eq!(record[HEADER..], message);
                let length = u16::from_be_bytes([record[3], record[4]]);
                assert_eq!(usize::from(length), message.len());
            }
        }
    }
}
