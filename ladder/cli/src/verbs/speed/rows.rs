//! The rows of `speed`: a key and an operation each, with the contenders.

use std::rc::Rc;

use tollgate_record::vocabulary as word;
use tollgate_record::{Key as KeyName, Operation, Subject, Topic};

use super::{Against, Exponent, LineupOptions, Speed};
use crate::contenders::{Contender, Job, aws_lc, curves, kem, openssl, ring, tollgate};
use crate::error::CliError;
use crate::figures::subject;
use crate::keys::{Key, KeyOperation};
use crate::run::Notes;

/// Default sizes of the table. 1024 and 512 are insecure; they are for comparison with published
/// results.
const SIZES: [u32; 5] = [2048, 3072, 4096, 1024, 512];

pub(crate) enum Row {
    /// A key on a curve.
    Curve(KeyName, Operation),
    /// A key encapsulation mechanism.
    Kem(KeyName, Operation),
    /// RSA.
    Rsa(Job),
}

/// The key exchange and the certificate of most handshakes: rows before RSA.
const COMMON: [Row; 5] = [
    Row::Kem(KeyName::X25519MlKem768, Operation::Generate),
    Row::Kem(KeyName::X25519MlKem768, Operation::Encaps),
    Row::Kem(KeyName::X25519MlKem768, Operation::Decaps),
    Row::Curve(KeyName::EcdsaP256, Operation::Sign),
    Row::Curve(KeyName::EcdsaP256, Operation::Verify),
];

/// Rows after RSA.
const LESS_COMMON: [Row; 9] = [
    Row::Curve(KeyName::X25519, Operation::Generate),
    Row::Curve(KeyName::X25519, Operation::Agree),
    Row::Kem(KeyName::MlKem768, Operation::Generate),
    Row::Kem(KeyName::MlKem768, Operation::Encaps),
    Row::Kem(KeyName::MlKem768, Operation::Decaps),
    Row::Curve(KeyName::EcdhP256, Operation::Generate),
    Row::Curve(KeyName::EcdhP256, Operation::Agree),
    Row::Curve(KeyName::Ed25519, Operation::Sign),
    Row::Curve(KeyName::Ed25519, Operation::Verify),
];

/// Returns the rows that the options select.
pub(crate) fn rows(options: &Speed) -> Result<Vec<Row>, CliError> {
    let sizes = if options.bits.is_empty() { &SIZES[..] } else { &options.bits };
    let operations = match options.exponent {
        None => &[KeyOperation::Sign, KeyOperation::Verify, KeyOperation::VerifyOnce][..],
        Some(Exponent::Full) => &[KeyOperation::PrivateFull],
        Some(Exponent::Public(e)) => &[KeyOperation::Public(e)],
    };
    let keys = match &options.key {
        Some(file) => vec![Key::from_file(file)?],
        None => sizes.iter().map(|bits| Key::built_in(*bits)).collect::<Result<_, _>>()?,
    };
    let has_others = operations.contains(&KeyOperation::Sign);
    let alone = options.lineup.against.contains(&Against::None);
    let others = |mut others: Vec<Row>| {
        others.retain(|row| has_others && (!alone || row.is_ours()));
        others
    };
    let mut rows = others(COMMON.into());
    for key in keys.into_iter().map(Rc::new) {
        for what in operations {
            rows.push(Row::Rsa(Job::new(Rc::clone(&key), *what, options.lineup.batch)?));
        }
    }
    rows.extend(others(LESS_COMMON.into()));
    Ok(rows)
}

impl Row {
    /// Returns whether the engine has the operation here.
    fn is_ours(&self) -> bool {
        match self {
            Self::Curve(key, operation) => curves::has(key, operation),
            Self::Kem(..) | Self::Rsa(_) => true,
        }
    }

    /// Returns the key and the operation.
    fn what(&self) -> (KeyName, Operation) {
        match self {
            Self::Curve(key, operation) | Self::Kem(key, operation) => {
                (key.clone(), operation.clone())
            }
            Self::Rsa(job) => {
                let operation = match job.what {
                    KeyOperation::PrivateFull => Operation::Private,
                    KeyOperation::Public(_) => Operation::Public,
                    KeyOperation::Sign => Operation::Sign,
                    KeyOperation::Verify => Operation::Verify,
                    KeyOperation::VerifyOnce => Operation::VerifyOnce,
                };
                (KeyName::Rsa(job.key.bits()), operation)
            }
        }
    }

    /// `RSA-2048 sign`.
    pub(crate) fn label(&self) -> String {
        let (key, operation) = self.what();
        format!("{} {operation}", key.to_string().to_ascii_uppercase())
    }

    /// Returns the subject of one contender's figures.
    pub(crate) fn subject(&self, contender: &Contender) -> Result<Subject, CliError> {
        let (key, operation) = self.what();
        let exponent = match self {
            Self::Rsa(Job { what: KeyOperation::PrivateFull, .. }) => Some(word::FULL.to_owned()),
            Self::Rsa(Job { what: KeyOperation::Public(e), .. }) => Some(e.to_string()),
            Self::Curve(..) | Self::Kem(..) | Self::Rsa(_) => None,
        };
        let by = [(word::BY, contender.by.to_owned())].into_iter();
        let batch = contender.batch.map(|batch| (word::BATCH, batch.to_string()));
        let exponent = exponent.map(|exponent| (word::EXPONENT, exponent));
        subject(Topic::Operation { key, operation }, by.chain(batch).chain(exponent))
    }

    /// Returns the contenders: ours one by one and in batches, and the libraries that support the
    /// row. Adds a note for each library that does not support it.
    pub(crate) fn lineup(
        &self,
        options: &LineupOptions,
        notes: &mut Notes,
    ) -> Result<Vec<Contender>, CliError> {
        let mut contenders = match self {
            Self::Rsa(job) => tollgate::contenders(job, options.batch)?,
            Self::Curve(key, operation) => curves::contenders(key, operation, options.batch)?,
            Self::Kem(key, operation) => vec![kem::tollgate(key, operation)?],
        };
        for library in &options.against {
            contenders.push(match (self, library) {
                (_, Against::None) | (Self::Curve(..) | Self::Kem(..), Against::Ring) => continue,
                (Self::Rsa(job), Against::Ring) => match ring::contender(job)? {
                    Some(contender) => contender,
                    None => continue,
                },
                (Self::Kem(key, operation), Against::AwsLc) => kem::aws_lc(key, operation)?,
                (Self::Kem(key, operation), Against::Openssl) => {
                    let Some(contender) = kem::openssl(key, operation)? else {
                        notes.add("OpenSSL has no ML-KEM before version 3.5, so it has no row");
                        continue;
                    };
                    contender
                }
                (Self::Curve(key, operation), Against::AwsLc) => aws_lc::curve(key, operation)?,
                (Self::Curve(key, operation), Against::Openssl) => openssl::curve(key, operation)?,
                (Self::Rsa(job), Against::Openssl) => openssl::contender(job)?,
                (Self::Rsa(job), Against::AwsLc) => match aws_lc::contender(job) {
                    Ok(contender) => contender,
                    Err(why) => {
                        notes.add(why);
                        continue;
                    }
                },
            });
        }
        Ok(contenders)
    }
}
