//! The causes of a server's alerts, and what to do.

use tollgate_tls_client::AlertDescription as Alert;

use crate::phase::{Cause, Failure, Phase};

/// Returns the cause of an alert in this phase, and the option or the setting that helps.
#[must_use]
pub const fn alert_advice(alert: Alert, phase: Phase) -> &'static str {
    match alert {
        Alert::PROTOCOL_VERSION => {
            "the server supports another version of TLS: select it with --protocol, or enable the \
             version in the server"
        }
        // before TLS 1.3, OpenSSL sends this alert if it gets no certificate
        Alert::HANDSHAKE_FAILURE if !matches!(phase, Phase::Hello) => {
            "the server may require a client certificate, or has no signature scheme in common \
             with this client: let it serve clients without a certificate, and see its log"
        }
        Alert::HANDSHAKE_FAILURE | Alert::INSUFFICIENT_SECURITY => {
            "suite, group or signature scheme: the server has none that this client offers: \
             select others with --suites, --group or --protocol, or enable one in the server"
        }
        Alert::CERTIFICATE_REQUIRED
        | Alert::NO_CERTIFICATE
        | Alert::BAD_CERTIFICATE
        | Alert::UNSUPPORTED_CERTIFICATE
        | Alert::CERTIFICATE_REVOKED
        | Alert::CERTIFICATE_EXPIRED
        | Alert::CERTIFICATE_UNKNOWN
        | Alert::UNKNOWN_CA
        | Alert::ACCESS_DENIED => {
            "the server requires a client certificate, and this client has none: let it serve \
             clients without one"
        }
        Alert::UNRECOGNIZED_NAME => {
            "the server has no certificate for this host name: give a URL with a name that it has"
        }
        Alert::NO_APPLICATION_PROTOCOL => {
            "the server does not support http/1.1 over ALPN: enable it in the server"
        }
        Alert::UNKNOWN_PSK_IDENTITY => {
            "the server refuses sessions that it cannot resume: leave out --resume, or enable \
             tickets in the server"
        }
        Alert::CLOSE_NOTIFY | Alert::USER_CANCELED | Alert::NO_RENEGOTIATION => {
            "the server ended the connection on purpose: see its log for limits"
        }
        Alert::INTERNAL_ERROR => "the server failed: see its log",
        // the others concern the contents of a message
        _ => {
            "the server does not accept a message of this client: see its log, and report the case"
        }
    }
}

impl Failure {
    /// Returns what to do about an alert of the server.
    pub(crate) const fn advice(&self) -> Option<&'static str> {
        match self.cause {
            Cause::Alert(number) => Some(alert_advice(Alert(number), self.phase)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alert_has_a_cause_and_a_remedy() {
        for number in 0..=u8::MAX {
            let alert = Alert(number);
            for phase in Phase::ALL {
                let text = alert_advice(alert, phase);
                assert!(text.contains(": ") && !text.contains("  "), "{alert}: {text}");
            }
        }
    }

    #[test]
    fn options_fit_the_cause() {
        for (alert, phase, option) in [
            (Alert::PROTOCOL_VERSION, Phase::Hello, "--protocol"),
            (Alert::HANDSHAKE_FAILURE, Phase::Hello, "--group"),
            (Alert::HANDSHAKE_FAILURE, Phase::Finished, "without a certificate"),
            (Alert::CERTIFICATE_REQUIRED, Phase::Confirm, "without one"),
            (Alert::UNKNOWN_CA, Phase::Finished, "without one"),
            (Alert::UNRECOGNIZED_NAME, Phase::Hello, "URL"),
            (Alert::NO_APPLICATION_PROTOCOL, Phase::Hello, "ALPN"),
            (Alert::UNKNOWN_PSK_IDENTITY, Phase::Hello, "--resume"),
            (Alert::INTERNAL_ERROR, Phase::Data, "log"),
            (Alert::DECODE_ERROR, Phase::Hello, "report"),
        ] {
            assert!(alert_advice(alert, phase).contains(option), "{alert}");
        }
    }
}
