//! The rows of `speed`: a key and an operation each, with the contenders.

use std::rc::Rc;

use tollgate_record::vocabulary as word;
use tollgate_record::{Key as KeyName, Operation, Subject, Topic};

use crate::contenders::{Contender, Job, What, aws_lc, openssl, tollgate};
use crate::error::CliError;
use crate::keys::Key;
use crate::options::{Against, Exponent, Table};
use crate::verbs::speed::options::Operations;
use crate::verbs::speed::pkeu;

/// Default sizes of the table; 512 and 1024 are insecure, but the papers used them.
const SIZES: [u32; 5] = [512, 1024, 2048, 3072, 4096];

/// A key and an operation.
pub(crate) enum Row {
    /// Another key type, for comparison; libraries only.
    Context(KeyName, Operation, Opponents),
    /// RSA.
    Rsa(Job),
}

/// The contenders of a row of another key type.
#[derive(Clone, Copy)]
pub(crate) struct Opponents {
    openssl: fn() -> Result<Contender, CliError>,
    aws_lc: fn() -> Result<Contender, CliError>,
}

/// The contenders of a row, and sentences on the implementations that cannot take part.
pub(crate) struct Lineup {
    pub(crate) contenders: Vec<Contender>,
    pub(crate) absent: Vec<String>,
}

/// ECDSA and Ed25519, in the order of the table.
const CONTEXT: [(KeyName, Operation, Opponents); 4] = [
    (
        KeyName::EcdsaP256,
        Operation::Sign,
        Opponents { openssl: openssl::ecdsa_sign, aws_lc: aws_lc::ecdsa_sign },
    ),
    (
        KeyName::EcdsaP256,
        Operation::Verify,
        Opponents { openssl: openssl::ecdsa_verify, aws_lc: aws_lc::ecdsa_verify },
    ),
    (
        KeyName::Ed25519,
        Operation::Sign,
        Opponents { openssl: openssl::ed25519_sign, aws_lc: aws_lc::ed25519_sign },
    ),
    (
        KeyName::Ed25519,
        Operation::Verify,
        Opponents { openssl: openssl::ed25519_verify, aws_lc: aws_lc::ed25519_verify },
    ),
];

/// The rows that the options select.
///
/// # Errors
///
/// A key cannot be read.
pub(crate) fn rows(options: &Operations) -> Result<Vec<Row>, CliError> {
    let sizes = match (&*options.bits, options.table) {
        ([], None) => &SIZES[..],
        ([], Some(Table::Pkeu)) => &pkeu::SIZES[..],
        (bits, _) => bits,
    };
    let operations = match (options.table, options.exponent) {
        (Some(Table::Pkeu), _) => &[What::PrivateFull, What::Public(pkeu::SHORT_EXPONENT)][..],
        (None, None) => &[What::Sign, What::Verify],
        (None, Some(Exponent::Full)) => &[What::PrivateFull],
        (None, Some(Exponent::Public(e))) => &[What::Public(e)],
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
    let signs = operations.contains(&What::Sign);
    if signs && !options.lineup.against.contains(&Against::None) {
        rows.extend(CONTEXT.map(|(key, what, opponents)| Row::Context(key, what, opponents)));
    }
    Ok(rows)
}

impl Row {
    /// The key and the operation.
    fn what(&self) -> (KeyName, Operation) {
        match self {
            Self::Context(key, operation, _) => (key.clone(), operation.clone()),
            Self::Rsa(job) => {
                let operation = match job.what {
                    What::PrivateFull => Operation::Private,
                    What::Public(_) => Operation::Public,
                    What::Sign => Operation::Sign,
                    What::Verify => Operation::Verify,
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

    /// The subject of one contender's figures.
    ///
    /// # Errors
    ///
    /// None; the names are valid.
    pub(crate) fn subject(&self, contender: &Contender) -> Result<Subject, CliError> {
        let (key, operation) = self.what();
        let subject = Subject::new(Topic::Operation { key, operation });
        let subject = subject.map_err(CliError::from_error)?;
        let exponent = match self {
            Self::Rsa(Job { what: What::PrivateFull, .. }) => Some(word::FULL.to_owned()),
            Self::Rsa(Job { what: What::Public(e), .. }) => Some(e.to_string()),
            Self::Context(..) | Self::Rsa(_) => None,
        };
        let batch = contender.batch.map(|batch| batch.to_string());
        let parameters = [
            (word::BY, Some(contender.by.to_owned())),
            (word::BATCH, batch),
            (word::EXPONENT, exponent),
        ];
        parameters
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
            .try_fold(subject, |subject, (key, value)| subject.with(key, value))
            .map_err(CliError::from_error)
    }

    /// The contenders: ours one by one and in batches, and the libraries of `against` that support
    /// the row.
    ///
    /// # Errors
    ///
    /// Tollgate or OpenSSL does not support the row.
    pub(crate) fn lineup(&self, batch: u32, against: &[Against]) -> Result<Lineup, CliError> {
        let mut lineup = Lineup { contenders: Vec::new(), absent: Vec::new() };
        if let Self::Rsa(job) = self {
            lineup.contenders = tollgate::contenders(job, batch)?;
        }
        for whom in against {
            let contender = match (self, whom) {
                (_, Against::None) => continue,
                (Self::Context(.., opponents), Against::AwsLc) => Ok((opponents.aws_lc)()?),
                (Self::Context(.., opponents), Against::Openssl) => Ok((opponents.openssl)()?),
                (Self::Rsa(job), Against::AwsLc) => aws_lc::contender(job),
                (Self::Rsa(job), Against::Openssl) => Ok(openssl::contender(job)?),
            };
            match contender {
                Ok(contender) => lineup.contenders.push(contender),
                Err(why) => lineup.absent.push(why),
            }
        }
        Ok(lineup)
    }
}
