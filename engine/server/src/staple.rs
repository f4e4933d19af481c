//! OCSP responses, which the server sends with its certificates, RFC 6066 §8 and RFC 6960.

use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::ocsp::{
    OcspBasicResponse, OcspCertId, OcspCertStatus, OcspResponse, OcspResponseStatus,
};
use openssl::x509::X509;

use crate::error::one_line;

/// How far the clock of the authority may be ahead, in seconds.
const CLOCK_ERROR_S: u32 = 300;

/// An authority's response about a certificate.
pub(crate) struct Staple {
    der: Vec<u8>,
    response: OcspBasicResponse,
    id: OcspCertId,
}

impl Staple {
    /// Parses a response in DER about the first certificate of a chain, which must hold now. Its
    /// signature is left to the clients.
    pub(crate) fn parse(der: &[u8], chain: &[X509]) -> Result<Self, String> {
        let broken = |stack: ErrorStack| one_line(&stack);
        let response = OcspResponse::from_der(der).map_err(broken)?;
        if response.status() != OcspResponseStatus::SUCCESSFUL {
            return Err(
                "the authority reports an error instead of a status: get another".to_owned()
            );
        }
        let response = response.basic().map_err(broken)?;
        let [certificate, issuer, ..] = chain else {
            return Err("the chain lacks the certificate of the issuer".to_owned());
        };
        // authorities name certificates by SHA-1, RFC 5019 §2.1.1, and newer ones by SHA-256, RFC 9654
        let mut found = None;
        for digest in [MessageDigest::sha1(), MessageDigest::sha256()] {
            let id = OcspCertId::from_cert(digest, certificate, issuer).map_err(broken)?;
            if let Some(status) = response.find_status(&id) {
                found = Some((status.status, status.next_update().is_some(), id));
                break;
            }
        }
        let id = match found {
            Some((OcspCertStatus::GOOD, true, id)) => id,
            Some((OcspCertStatus::GOOD, false, _)) => {
                return Err("it does not say until when it holds".to_owned());
            }
            Some((OcspCertStatus::REVOKED, ..)) => {
                return Err("the certificate is revoked".to_owned());
            }
            Some(_) => return Err("the authority does not know the certificate".to_owned()),
            None => return Err("it is about another certificate".to_owned()),
        };
        let this = Self { der: der.to_owned(), response, id };
        if this.current().is_none() {
            return Err("it has expired, or does not hold yet".to_owned());
        }
        Ok(this)
    }

    /// Returns the response in DER if it holds at this time: clients refuse an expired one, but
    /// accept none.
    pub(crate) fn current(&self) -> Option<&[u8]> {
        let status = self.response.find_status(&self.id)?;
        status.check_validity(CLOCK_ERROR_S, None).ok().map(|()| &*self.der)
    }
}
