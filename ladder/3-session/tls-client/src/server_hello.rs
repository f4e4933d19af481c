//! Reads `ServerHello`, `HelloRetryRequest` and their extensions.

use crate::decode::Reader;
use crate::error::Violation;
use crate::hello::ALPN;
use crate::registry::{Group, SignatureScheme};
use crate::settings::Settings;
use crate::wire::{Extension, Message, TLS12, TLS13};

/// The random bytes of a `HelloRetryRequest` (RFC 8446 §4.1.3): the SHA-256 of the text
/// `HelloRetryRequest`.
const RETRY: [u8; 32] = [
    0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91,
    0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
];

/// Maximum length of a cookie, in bytes. With a longer cookie, the length of the extensions would
/// not fit into two bytes.
const COOKIE_BYTES_MAX: usize = 32 << 10;

/// The fields before the extensions.
#[derive(Debug)]
struct Head<'a> {
    version: u16,
    random: [u8; 32],
    session_id: &'a [u8],
    extensions: Reader<'a>,
}

fn head<'a>(body: &'a [u8], settings: &Settings) -> Result<Head<'a>, Violation> {
    let mut r = Reader::new(Message::SERVER_HELLO, body);
    let version = r.u16("server_version")?;
    let random = r.array("random")?;
    let session_id = r.vector(1, "session_id")?.rest();
    let suite = r.u16("cipher_suite")?;
    let compression = r.u8("compression_method")?;
    let extensions = if r.is_empty() {
        Reader::new(Message::SERVER_HELLO, &[])
    } else {
        r.vector(2, "extensions")?
    };
    r.end("trailing bytes")?;
    if version != TLS12 {
        return Err(Violation::Version { found: version });
    }
    if session_id.len() > 32 {
        return Err(extensions.malformed("session_id"));
    }
    if suite != settings.suite.number() {
        return Err(Violation::CipherSuite { found: suite });
    }
    if compression != 0 {
        return Err(illegal("compression_method"));
    }
    Ok(Head { version, random, session_id, extensions })
}

/// Returns the violation for a field of a `ServerHello` whose value is not allowed.
pub(crate) const fn illegal(field: &'static str) -> Violation {
    Violation::IllegalParameter { message: Message::SERVER_HELLO, field }
}

/// Runs `read` on each extension. No extension may occur twice.
fn each<'a>(
    mut extensions: Reader<'a>,
    mut read: impl FnMut(Extension, Reader<'a>) -> Result<(), Violation>,
) -> Result<(), Violation> {
    let all = extensions;
    while !extensions.is_empty() {
        let before = all.rest().len() - extensions.rest().len();
        let extension = Extension(extensions.u16("extension type")?);
        let content = extensions.vector(2, "extension")?;
        let mut earlier = all;
        while all.rest().len() - earlier.rest().len() < before {
            if earlier.u16("extension type")? == extension.0 {
                return Err(Violation::ExtensionTwice { extension });
            }
            earlier.vector(2, "extension")?;
        }
        read(extension, content)?;
    }
    Ok(())
}

/// A `ServerHello` of TLS 1.2.
#[derive(Debug)]
pub(crate) struct Hello12<'a> {
    pub(crate) random: [u8; 32],
    pub(crate) session_id: &'a [u8],
    pub(crate) extended_master_secret: bool,
    pub(crate) encrypt_then_mac: bool,
    /// True if the server will send a ticket (RFC 5077 §3.2).
    pub(crate) ticket: bool,
}

impl<'a> Hello12<'a> {
    /// Reads a message. `offers_ticket` is true if the client has requested or sent a ticket.
    pub(crate) fn read(
        body: &'a [u8],
        settings: &Settings,
        offers_ticket: bool,
    ) -> Result<Self, Violation> {
        let head = head(body, settings)?;
        let mut hello = Self {
            random: head.random,
            session_id: head.session_id,
            extended_master_secret: false,
            encrypt_then_mac: false,
            ticket: false,
        };
        each(head.extensions, |extension, mut content| {
            match extension {
                Extension::EXTENDED_MASTER_SECRET => hello.extended_master_secret = true,
                Extension::ENCRYPT_THEN_MAC if settings.offers_encrypt_then_mac() => {
                    hello.encrypt_then_mac = true;
                }
                Extension::ALPN => return alpn(content),
                Extension::RENEGOTIATION_INFO => {
                    // RFC 5746 §3.4: the content is empty in a first handshake
                    if !content.vector(1, "renegotiation_info")?.is_empty() {
                        return Err(illegal("renegotiation_info"));
                    }
                }
                Extension::EC_POINT_FORMATS if settings.suite.has_group() => {
                    let formats = content.vector(1, "ec_point_formats")?;
                    if !formats.rest().contains(&0) {
                        return Err(illegal("ec_point_formats"));
                    }
                }
                Extension::SERVER_NAME if settings.server_name.is_some() => (),
                Extension::SESSION_TICKET if offers_ticket => hello.ticket = true,
                _ => return Err(Violation::ExtensionUnexpected { extension }),
            }
            content.end("extension")
        })?;
        Ok(hello)
    }
}

/// A `ServerHello` of TLS 1.3.
#[derive(Debug)]
pub(crate) enum Hello13<'a> {
    /// The server requests a second `ClientHello`.
    Retry { group: Option<Group>, cookie: &'a [u8] },
    /// The server continues the handshake.
    Goes {
        /// True if the server accepts the offered pre-shared key.
        psk: bool,
        /// The server's key share.
        share: (Group, &'a [u8]),
    },
}

/// The client's offer that a `ServerHello` of TLS 1.3 answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) session_id: &'a [u8; 32],
    /// True if a pre-shared key was offered.
    pub(crate) psk: bool,
}

impl<'a> Hello13<'a> {
    pub(crate) fn read(
        body: &'a [u8],
        settings: &Settings,
        asked: Asked<'_>,
    ) -> Result<Self, Violation> {
        let head = head(body, settings)?;
        let retry = head.random == RETRY;
        let (mut version, mut group, mut public, mut psk) = (None, None, None, false);
        let mut cookie: &[u8] = &[];
        each(head.extensions, |extension, mut content| {
            match extension {
                Extension::SUPPORTED_VERSIONS => version = Some(content.u16("supported_versions")?),
                Extension::KEY_SHARE => {
                    group = Some(offered(content.u16("key_share")?, settings)?);
                    if !retry {
                        public = Some(content.vector(2, "key_share")?.rest());
                    }
                }
                Extension::PRE_SHARED_KEY if asked.psk && !retry => {
                    // RFC 8446 §4.2.11: the index of the key; the client offered one key
                    if content.u16("pre_shared_key")? != 0 {
                        return Err(illegal("pre_shared_key"));
                    }
                    psk = true;
                }
                Extension::COOKIE if retry => {
                    cookie = content.vector(2, "cookie")?.rest();
                    if cookie.is_empty() {
                        return Err(content.malformed("cookie"));
                    }
                    if cookie.len() > COOKIE_BYTES_MAX {
                        let (found_bytes, limit_bytes) = (cookie.len(), COOKIE_BYTES_MAX);
                        return Err(Violation::MessageTooLong { found_bytes, limit_bytes });
                    }
                }
                _ => return Err(Violation::ExtensionUnexpected { extension }),
            }
            content.end("extension")
        })?;
        let version = version.unwrap_or(head.version);
        if version != TLS13 {
            return Err(Violation::Version { found: version });
        }
        if head.session_id != asked.session_id {
            return Err(illegal("legacy_session_id_echo"));
        }
        if retry {
            return Ok(Self::Retry { group, cookie });
        }
        let share = group.zip(public);
        Ok(Self::Goes { psk, share: share.ok_or(illegal("key_share"))? })
    }
}

/// Returns the offered group with this number.
pub(crate) fn offered(number: u16, settings: &Settings) -> Result<Group, Violation> {
    Group::from_number(number)
        .filter(|group| settings.groups.contains(group))
        .ok_or(Violation::Group { found: number })
}

/// Returns the offered signature scheme with this number.
pub(crate) fn offered_scheme(
    number: u16,
    settings: &Settings,
) -> Result<SignatureScheme, Violation> {
    SignatureScheme::from_number(number)
        .filter(|scheme| settings.schemes.contains(scheme))
        .ok_or(Violation::SignatureScheme { found: number })
}

/// Reads `EncryptedExtensions` (RFC 8446 §4.3.1); `early_data` is true if early data was offered.
/// Returns whether early data is accepted.
pub(crate) fn encrypted_extensions(
    body: &[u8],
    settings: &Settings,
    early_data: bool,
) -> Result<bool, Violation> {
    let mut r = Reader::new(Message::ENCRYPTED_EXTENSIONS, body);
    let extensions = r.vector(2, "extensions")?;
    r.end("trailing bytes")?;
    let mut is_accepted = false;
    each(extensions, |extension, content| match extension {
        Extension::ALPN => alpn(content),
        Extension::EARLY_DATA if early_data => {
            is_accepted = true;
            content.end("early_data")
        }
        Extension::SERVER_NAME if settings.server_name.is_some() => content.end("server_name"),
        // the server's preferred groups are not used
        Extension::SUPPORTED_GROUPS => Ok(()),
        _ => Err(Violation::ExtensionUnexpected { extension }),
    })?;
    Ok(is_accepted)
}

/// Returns the maximum bytes of early data with a ticket (RFC 8446 §4.6.1); 0 if not allowed.
pub(crate) fn early_data_bytes_max(extensions: Reader<'_>) -> Result<u32, Violation> {
    let mut max = 0;
    each(extensions, |extension, mut content| {
        if extension == Extension::EARLY_DATA {
            max = content.u32("max_early_data_size")?;
            content.end("max_early_data_size")?;
        }
        Ok(())
    })?;
    Ok(max)
}

/// Checks the chosen protocol, which must be the offered one (RFC 7301 §3.1).
fn alpn(mut content: Reader<'_>) -> Result<(), Violation> {
    let mut list = content.vector(2, "alpn")?;
    content.end("alpn")?;
    let protocol = list.vector(1, "alpn")?.rest();
    list.end("alpn")?;
    if protocol == ALPN { Ok(()) } else { Err(Violation::Alpn) }
}
