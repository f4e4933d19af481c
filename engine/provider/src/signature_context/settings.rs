//! The parameters of a signature's context.
#![forbid(unsafe_code)]

use std::sync::Arc;

use der::Encode as _;
use tollgate_rsa::{Pss, Salt, pkcs1v15};

use super::RsaSignatureContext;
use crate::abi::*;
use crate::context::{Context, operation_key};
use crate::hashing;
use crate::message::Message;
use crate::params::{Answers, Params};
use crate::provider::Provider;
use crate::reason::Reason;
use crate::rsa_key::RsaKey;
use crate::signature_padding::{PADDINGS, Padding, SaltLength};
use crate::signer::Signer as _;
use crate::table::Table;
use crate::x931;

static GETTABLE: Table<[OSSL_PARAM; 6]> = Table::of_keys([
    (OSSL_SIGNATURE_PARAM_ALGORITHM_ID, OSSL_PARAM_OCTET_STRING),
    (OSSL_PKEY_PARAM_PAD_MODE, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_MGF1_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_SIGNATURE_PARAM_PSS_SALTLEN, OSSL_PARAM_UTF8_STRING),
    (c"", 0),
]);

/// Property queries for digests are accepted and ignored: this provider computes digests itself.
static SETTABLE: Table<[OSSL_PARAM; 7]> = Table::of_keys([
    (OSSL_PKEY_PARAM_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_PROPERTIES, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_PAD_MODE, OSSL_PARAM_UTF8_STRING),
    (OSSL_SIGNATURE_PARAM_PSS_SALTLEN, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_MGF1_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_MGF1_PROPERTIES, OSSL_PARAM_UTF8_STRING),
    (c"", 0),
]);

impl Context for RsaSignatureContext {
    type Key = RsaKey;

    const GETTABLE: *const OSSL_PARAM = GETTABLE.first();
    const SETTABLE: *const OSSL_PARAM = SETTABLE.first();

    fn new(provider: Arc<Provider>) -> Self {
        Self {
            salt: provider.salt,
            provider,
            key: None,
            padding: Padding::Pkcs1,
            mgf1: None,
            message: Message::none(None),
        }
    }

    fn restart(&mut self, key: Option<Arc<RsaKey>>, private: bool) -> Result<(), Reason> {
        let key = operation_key(key, &mut self.key, private)?;
        let message = Message::none(self.message.md());
        *self = Self { key: Some(key), message, ..Self::new(Arc::clone(&self.provider)) };
        Ok(())
    }

    fn set(&mut self, params: Params<'_>) -> Result<(), Reason> {
        if let Some(param) = params.find(OSSL_PKEY_PARAM_DIGEST) {
            self.message.set_md(Self::hash_function(param.text().ok_or(Reason::Parameter)?)?)?;
        }
        if let Some(param) = params.find(OSSL_PKEY_PARAM_PAD_MODE) {
            match param.choice(PADDINGS)? {
                Some(padding) => self.padding = padding,
                // OpenSSL ignores unknown names, and refuses unknown numbers.
                None if param.text().is_some() => {}
                None => return Err(Reason::PaddingUnsupported),
            }
        }
        if let Some(param) = params.find(OSSL_SIGNATURE_PARAM_PSS_SALTLEN) {
            if self.padding != Padding::Pss {
                return Err(Reason::SaltLength);
            }
            self.salt = SaltLength::from_param(param)?;
        }
        if let Some(param) = params.find(OSSL_PKEY_PARAM_MGF1_DIGEST) {
            if self.padding != Padding::Pss {
                return Err(Reason::PaddingUnsupported);
            }
            let name = param.text().ok_or(Reason::Parameter)?;
            self.mgf1 = Some(hashing::from_name(name).ok_or(Reason::DigestUnsupported)?);
        }
        match (self.padding, self.message.md()) {
            (Padding::Raw, Some(_)) => Err(Reason::PaddingUnsupported),
            (Padding::X931, md) => {
                x931::hash_id(md.ok_or(Reason::DigestMissing)?)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn describe(&self, answers: &mut Answers<'_>) -> Result<(), Reason> {
        if answers.has(OSSL_SIGNATURE_PARAM_ALGORITHM_ID) {
            let id = self.algorithm_id()?;
            answers.octets(OSSL_SIGNATURE_PARAM_ALGORITHM_ID, &id)?;
        }
        answers.choice(OSSL_PKEY_PARAM_PAD_MODE, &self.padding, PADDINGS)?;
        answers.text(OSSL_PKEY_PARAM_DIGEST, self.message.md().map_or(c"", hashing::name))?;
        let mgf1 = self.mgf1.or(self.message.md());
        answers.text(OSSL_PKEY_PARAM_MGF1_DIGEST, mgf1.map_or(c"", hashing::name))?;
        self.salt.answer(OSSL_SIGNATURE_PARAM_PSS_SALTLEN, answers)
    }
}

impl RsaSignatureContext {
    fn algorithm_id(&self) -> Result<Vec<u8>, Reason> {
        let identifier = match self.padding {
            Padding::Pkcs1 => {
                let md = self.message.md().ok_or(Reason::DigestMissing)?;
                pkcs1v15::algorithm_identifier(md)
            }
            Padding::Pss => {
                let (hash, mgf1) = self.pss_hashes()?;
                let bits = self.key()?.public().bits();
                let salt = Salt::Exactly(self.salt.to_sign(bits, hash)?);
                let pss = Pss::new(hash).with_mgf_hash(mgf1).with_salt(salt);
                pss.algorithm_identifier(bits)?
            }
            Padding::Raw | Padding::X931 => return Err(Reason::PaddingUnsupported),
        };
        identifier.and_then(|id| id.to_der().ok()).ok_or(Reason::DigestUnsupported)
    }
}
