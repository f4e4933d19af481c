//! A small certification authority with `x509-cert`: a root, a request, and the certificate for it.
//!
//! ```text
//! cargo run --release -p tollgate-rsa --example ca > chain.pem
//! ```
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use core::error::Error;
use core::str::FromStr as _;
use core::time::Duration;

use der::asn1::Ia5String;
use der::pem::LineEnding;
use der::referenced::OwnedToRef as _;
use der::{Encode as _, EncodePem as _};
use sha2::Sha256;
use tollgate_rsa::signature::{Keypair as _, Verifier as _};
use tollgate_rsa::{PrivateKey, pkcs1v15, pss};
use x509_cert::Certificate;
use x509_cert::builder::profile::cabf::Root;
use x509_cert::builder::profile::cabf::tls::{CertificateType, Subscriber};
use x509_cert::builder::{Builder as _, CertificateBuilder};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::name::Name;
use x509_cert::request::{CertReq, RequestBuilder};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::SubjectPublicKeyInfo;
use x509_cert::time::Validity;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The root signs with RSASSA-PSS.
struct Authority {
    key: pss::SigningKey<Sha256>,
    name: Name,
    certificate: Certificate,
}

impl Authority {
    fn new(name: &str) -> Result<Self, Box<dyn Error>> {
        let key = pss::SigningKey::<Sha256>::new(PrivateKey::generate(3072)?);
        let name = Name::from_str(name)?;
        let certificate = CertificateBuilder::new(
            Root::new(false, name.clone())?,
            SerialNumber::from(1_u32),
            Validity::from_now(3650 * DAY)?,
            SubjectPublicKeyInfo::from_key(&key.verifying_key())?,
        )?
        .build(&key)?;
        Ok(Self { key, name, certificate })
    }

    /// Issues a certificate for `host` if the request is signed with the key that it names.
    fn issue(&self, request: &CertReq, host: &str) -> Result<Certificate, Box<dyn Error>> {
        let spki = &request.info.public_key;
        let key = pkcs1v15::VerifyingKey::<Sha256>::try_from(spki.owned_to_ref())?;
        let signature = pkcs1v15::Signature::try_from(request.signature.raw_bytes())?;
        key.verify(&request.info.to_der()?, &signature)?;
        let host = GeneralName::DnsName(Ia5String::new(host)?);
        let profile = Subscriber {
            certificate_type: CertificateType::domain_validated(
                request.info.subject.clone(),
                vec![host],
            )?,
            issuer: self.name.clone(),
            client_auth: false,
        };
        let (serial, validity) = (SerialNumber::from(2_u32), Validity::from_now(90 * DAY)?);
        Ok(CertificateBuilder::new(profile, serial, validity, spki.clone())?.build(&self.key)?)
    }
}

fn request(host: &str) -> Result<CertReq, Box<dyn Error>> {
    let key = pkcs1v15::SigningKey::<Sha256>::new(PrivateKey::generate(2048)?);
    let mut request = RequestBuilder::new(Name::from_str(&format!("CN={host}"))?)?;
    let name = GeneralName::DnsName(Ia5String::new(host)?);
    request.add_extension(&SubjectAltName(vec![name]))?;
    Ok(request.build(&key)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let authority = Authority::new("CN=Example Root,O=Example,C=CH")?;
    let certificate = authority.issue(&request("www.example.org")?, "www.example.org")?;
    for certificate in [certificate, authority.certificate] {
        print!("{}", certificate.to_pem(LineEnding::LF)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use openssl::x509::X509;

    use super::*;

    #[test]
    fn openssl_accepts_the_certificates() {
        let authority = Authority::new("CN=Example Root,O=Example,C=CH").unwrap();
        let request = request("www.example.org").unwrap();
        let certificate = authority.issue(&request, "www.example.org").unwrap();
        let [leaf, root] = [&certificate, &authority.certificate]
            .map(|certificate| X509::from_der(&certificate.to_der().unwrap()).unwrap());
        let key = root.public_key().unwrap();
        assert!(root.verify(&key).unwrap() && leaf.verify(&key).unwrap());
        assert_eq!(root.issued(&leaf), openssl::x509::X509VerifyResult::OK);

        let mut damaged = request;
        damaged.info.subject = Name::from_str("CN=www.example.com").unwrap();
        assert!(authority.issue(&damaged, "www.example.com").is_err());
    }
}
