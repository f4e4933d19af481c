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
    /// Parses a response in DER about the first certificate of a chain. Its signature is left to the
    /// clients, and its time to [`Self::current`].
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
        // authorities name certificates by SHA-1, RFC 5019 §2.1.1
        let id =
            OcspCertId::from_cert(MessageDigest::sha1(), certificate, issuer).map_err(broken)?;
        match response.find_status(&id).map(|found| found.status) {
            Some(OcspCertStatus::GOOD) => {}
            Some(OcspCertStatus::REVOKED) => return Err("the certificate is revoked".to_owned()),
            Some(_) => return Err("the authority does not know the certificate".to_owned()),
            None => return Err("it is about another certificate".to_owned()),
        }
        Ok(Self { der: der.to_owned(), response, id })
    }

    /// Returns the response in DER if it holds at this time: clients refuse an expired one, but
    /// accept none.
    pub(crate) fn current(&self) -> Option<&[u8]> {
        let status = self.response.find_status(&self.id)?;
        status.check_validity(CLOCK_ERROR_S, None).ok().map(|()| &*self.der)
    }
}
