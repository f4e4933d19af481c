//! Protocol numbers with their registered names.

use core::fmt;

macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident($int:ty) {
        $($const:ident = $value:literal $text:literal;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $int);

        impl $name {
            $(
                #[doc = concat!("`", $text, "` (", stringify!($value), ").")]
                pub const $const: Self = Self($value);
            )*

            /// Returns the registered name; `None` for an unknown number.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($text),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => write!(f, "{name} ({})", self.0),
                    None => write!(f, "unknown ({})", self.0),
                }
            }
        }
    };
}

numbers! {
    /// The content type of a record (RFC 8446 §5.1).
    Content(u8) {
        CHANGE_CIPHER_SPEC = 20 "change_cipher_spec";
        ALERT = 21 "alert";
        HANDSHAKE = 22 "handshake";
        APPLICATION_DATA = 23 "application_data";
    }
}

numbers! {
    /// The type of a handshake message (RFC 5246 §7.4, RFC 8446 §4).
    Message(u8) {
        HELLO_REQUEST = 0 "hello_request";
        CLIENT_HELLO = 1 "client_hello";
        SERVER_HELLO = 2 "server_hello";
        NEW_SESSION_TICKET = 4 "new_session_ticket";
        END_OF_EARLY_DATA = 5 "end_of_early_data";
        ENCRYPTED_EXTENSIONS = 8 "encrypted_extensions";
        CERTIFICATE = 11 "certificate";
        SERVER_KEY_EXCHANGE = 12 "server_key_exchange";
        CERTIFICATE_REQUEST = 13 "certificate_request";
        SERVER_HELLO_DONE = 14 "server_hello_done";
        CERTIFICATE_VERIFY = 15 "certificate_verify";
        CLIENT_KEY_EXCHANGE = 16 "client_key_exchange";
        FINISHED = 20 "finished";
        CERTIFICATE_STATUS = 22 "certificate_status";
        KEY_UPDATE = 24 "key_update";
        MESSAGE_HASH = 254 "message_hash";
    }
}

numbers! {
    /// A hello extension (RFC 8446 §4.2 and the registry that the RFC defines).
    Extension(u16) {
        SERVER_NAME = 0 "server_name";
        SUPPORTED_GROUPS = 10 "supported_groups";
        EC_POINT_FORMATS = 11 "ec_point_formats";
        SIGNATURE_ALGORITHMS = 13 "signature_algorithms";
        ALPN = 16 "application_layer_protocol_negotiation";
        EXTENDED_MASTER_SECRET = 23 "extended_master_secret";
        SESSION_TICKET = 35 "session_ticket";
        PRE_SHARED_KEY = 41 "pre_shared_key";
        EARLY_DATA = 42 "early_data";
        SUPPORTED_VERSIONS = 43 "supported_versions";
        COOKIE = 44 "cookie";
        PSK_KEY_EXCHANGE_MODES = 45 "psk_key_exchange_modes";
        KEY_SHARE = 51 "key_share";
        RENEGOTIATION_INFO = 65281 "renegotiation_info";
    }
}

numbers! {
    /// The description of an alert (RFC 5246 §7.2, RFC 8446 §6).
    AlertDescription(u8) {
        CLOSE_NOTIFY = 0 "close_notify";
        UNEXPECTED_MESSAGE = 10 "unexpected_message";
        BAD_RECORD_MAC = 20 "bad_record_mac";
        DECRYPTION_FAILED = 21 "decryption_failed";
        RECORD_OVERFLOW = 22 "record_overflow";
        DECOMPRESSION_FAILURE = 30 "decompression_failure";
        HANDSHAKE_FAILURE = 40 "handshake_failure";
        NO_CERTIFICATE = 41 "no_certificate";
        BAD_CERTIFICATE = 42 "bad_certificate";
        UNSUPPORTED_CERTIFICATE = 43 "unsupported_certificate";
        CERTIFICATE_REVOKED = 44 "certificate_revoked";
        CERTIFICATE_EXPIRED = 45 "certificate_expired";
        CERTIFICATE_UNKNOWN = 46 "certificate_unknown";
        ILLEGAL_PARAMETER = 47 "illegal_parameter";
        UNKNOWN_CA = 48 "unknown_ca";
        ACCESS_DENIED = 49 "access_denied";
        DECODE_ERROR = 50 "decode_error";
        DECRYPT_ERROR = 51 "decrypt_error";
        EXPORT_RESTRICTION = 60 "export_restriction";
        PROTOCOL_VERSION = 70 "protocol_version";
        INSUFFICIENT_SECURITY = 71 "insufficient_security";
        INTERNAL_ERROR = 80 "internal_error";
        INAPPROPRIATE_FALLBACK = 86 "inappropriate_fallback";
        USER_CANCELED = 90 "user_canceled";
        NO_RENEGOTIATION = 100 "no_renegotiation";
        MISSING_EXTENSION = 109 "missing_extension";
        UNSUPPORTED_EXTENSION = 110 "unsupported_extension";
        UNRECOGNIZED_NAME = 112 "unrecognized_name";
        BAD_CERTIFICATE_STATUS_RESPONSE = 113 "bad_certificate_status_response";
        UNKNOWN_PSK_IDENTITY = 115 "unknown_psk_identity";
        CERTIFICATE_REQUIRED = 116 "certificate_required";
        NO_APPLICATION_PROTOCOL = 120 "no_application_protocol";
    }
}

numbers! {
    /// The level of an alert (RFC 5246 §7.2; TLS 1.3 ignores it).
    AlertLevel(u8) {
        WARNING = 1 "warning";
        FATAL = 2 "fatal";
    }
}

/// TLS 1.2 on the wire; also the legacy version of TLS 1.3 records and hellos.
pub(crate) const TLS12: u16 = 0x0303;
/// TLS 1.3 on the wire, only in `supported_versions`.
pub(crate) const TLS13: u16 = 0x0304;
