//! The rows of `speed`: a key and an operation each, with the contenders.

use std::rc::Rc;

use tollgate_record::vocabulary as word;
use tollgate_record::{Key as KeyName, Operation, Subject, Topic};

use super::{Against, Exponent, LineupOptions, Speed};
use crate::contenders::{Contender, Job, aws_lc, curves, ml_kem, openssl, ring, tollgate};
use crate::error::CliError;
use crate::figures::subject;
use crate::keys::{Key, KeyOperation};
use crate::run::Notes;

/// Default sizes of the table. 512 and 1024 are insecure; they are for comparison with published
/// results.
const SIZES: [u32; 5] = [512, 1024, 2048, 3072, 4096];

pub(crate) enum Row {
    /// A key of a type other than RSA.
    Curve(KeyName, Operation),
    /// RSA.
    Rsa(Job),
}

/// Keys other than RSA and their operations, in the order of the table.
const CURVES: [(KeyName, Operation); 11] = [
    (KeyName::X25519, Operation::Generate),
    (KeyName::X25519, Operation::Agree),
    (KeyName::EcdhP256, Operation::Generate),
    (KeyName::EcdhP256, Operation::Agree),
    (KeyName::MlKem768, Operation::Generate),
    (KeyName::MlKem768, Operation::Encaps),
    (KeyName::MlKem768, Operation::Decaps),
    (KeyName::EcdsaP256, Operation::Sign),
    (KeyName::EcdsaP256, Operation::Verify),
    (KeyName::Ed25519, Operation::Sign),
    (KeyName::Ed25519, Operation::Verify),
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
    let mut rows = Vec::new();
    for key in keys.into_iter().map(Rc::new) {
        for what in operations {
            rows.push(Row::Rsa(Job::new(Rc::clone(&key), *what, options.lineup.batch)?));
        }
    }
    if operations.contains(&KeyOperation::Sign) {
        let alone = options.lineup.against.contains(&Against::None);
        let mut curves = CURVES.to_vec();
        curves.retain(|(key, operation)| {
            !alone || *key == KeyName::MlKem768 || curves::has(key, operation)
        });
        rows.extend(curves.into_iter().map(|(key, operation)| Row::Curve(key, operation)));
    }
    Ok(rows)
}

impl Row {
    /// Returns the key and the operation.
    fn what(&self) -> (KeyName, Operation) {
        match self {
            Self::Curve(key, operation) => (key.clone(), operation.clone()),
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
            Self::Curve(..) | Self::Rsa(_) => None,
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
            Self::Curve(KeyName::MlKem768, operation) => vec![ml_kem::ours(operation)?],
            Self::Curve(key, operation) => curves::contenders(key, operation, options.batch)?,
        };
        for library in &options.against {
            contenders.push(match (self, library) {
                (_, Against::None) | (Self::Curve(..), Against::Ring) => continue,
                (Self::Rsa(job), Against::Ring) => match ring::contender(job)? {
                    Some(contender) => contender,
                    None => continue,
                },
                (Self::Curve(KeyName::MlKem768, operation), Against::AwsLc) => {
                    ml_kem::aws_lc(operation)?
                }
                (Self::Curve(KeyName::MlKem768, operation), Against::Openssl) => {
                    let Some(contender) = ml_kem::openssl(operation)? else {
                        notes.add("OpenSSL has no ML-KEM before version 3.5");
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
