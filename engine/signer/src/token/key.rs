//! A private key in a token.

use core::fmt;
use std::sync::Arc;
use std::time::Instant;

use tollgate_keyless::{Operation, Ski};
use tollgate_rsa::{Hash, RejectionKey, Workspace, implicit_rejection};
use zeroize::{Zeroize as _, Zeroizing};

use super::session_thread::SessionThread;
use super::trouble::Trouble;
use super::uri::KeyUri;
use super::{FIND_MAX, Token, in_time, session};
use crate::config::Allowed;
use crate::error::Error;
use crate::public_half::{self, Public};
use crate::relay::suits;

/// Not in the value itself: that is moved through a channel, which would keep a copy.
type Secret = Box<Zeroizing<[u8; 32]>>;

/// A private key in a token.
pub(crate) struct TokenKey {
    pub(crate) token: Arc<Token>,
    pub(crate) public: Public,
    pub(crate) ski: Ski,
    uri: KeyUri,
    /// The secret from which messages for invalid paddings are derived, if clients may decrypt.
    rejection: Option<Secret>,
}

impl TokenKey {
    /// Finds a key in its token, and tries these operations.
    pub(crate) fn load(
        token: &Arc<Token>,
        uri: &KeyUri,
        uses: Vec<Allowed>,
    ) -> Result<Self, Error> {
        let of_job = uri.clone();
        let found = in_time(|done| {
            let find = move |on: &mut SessionThread| done(on.find(&of_job, &uses));
            token.submit(Instant::now() + FIND_MAX, None, find)
        });
        let Found { public, ski, rejection } =
            found.and_then(|it| it).map_err(|why| Error::Unavailable {
                doing: uri.to_string(),
                why: format!("{} {why}", token.inner.name),
            })?;
        Ok(Self { token: Arc::clone(token), public, ski, uri: uri.clone(), rejection })
    }

    /// Returns a line for the operator if the outcome of an operation is news.
    pub(crate) fn report(&self, trouble: Option<&Trouble>) -> Option<String> {
        self.token.report(&self.uri, trouble)
    }

    /// Returns whether an input suits an operation. Others are refused here: a token could answer them in
    /// its own way.
    pub(crate) fn suits(&self, operation: Operation, input: &[u8]) -> bool {
        let is_below = match (&self.public, operation) {
            (Public::Rsa(key), Operation::Decrypt | Operation::Raw) => input < &key.modulus()[..],
            _ => true,
        };
        suits(&self.public, operation, input) && is_below
    }
}

/// A key that was found.
struct Found {
    public: Public,
    ski: Ski,
    rejection: Option<Secret>,
}

impl SessionThread {
    /// Runs an operation whose input suits the key, and checks the result with the public key.
    pub(crate) fn run(
        &mut self,
        key: &TokenKey,
        operation: Operation,
        input: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Trouble> {
        let mut result = self.checked(&key.uri, &key.public, operation, input)?;
        if operation != Operation::Decrypt {
            return Ok(result);
        }
        let none = || Trouble::Found("was not asked for decryption: report the case".to_owned());
        let rejection = RejectionKey::new(key.rejection.as_ref().ok_or_else(none)?, input);
        implicit_rejection::renew(&mut result, &rejection)
            .map_err(|why| Trouble::Found(format!("gave a result that stays here: {why}")))?;
        Ok(result)
    }

    /// Finds a key, and tries the operations that clients may request.
    fn find(&mut self, uri: &KeyUri, uses: &[Allowed]) -> Result<Found, Trouble> {
        self.forget();
        let spki = self.with(uri, &session::public_key)?;
        let refuse = |why: &dyn fmt::Display| {
            let remedy = "use RSA of 2048 to 8192 bits, or P-256";
            Trouble::Found(format!("has a key that is not usable ({why}): {remedy}"))
        };
        let public = public_half::public(&spki, refuse)?;
        let ski = Ski::of_public_key(&spki).ok_or_else(|| refuse(&"its public half is missing"))?;
        if uses.contains(&Allowed::Sign) {
            let sign = match public {
                Public::P256(_) => Operation::SignEcdsa(Hash::Sha256),
                Public::Rsa(_) => Operation::SignPkcs1v15(Hash::Sha256),
            };
            let digest = Hash::Sha256.digest(b"a test of a signer that starts");
            self.checked(uri, &public, sign, digest.as_ref())
                .map_err(|why| why.of_use("does not sign", "\"sign\""))?;
        }
        let mut rejection = None;
        if let Public::Rsa(key) = &public
            && uses.iter().any(|it| *it != Allowed::Sign)
        {
            let number = own_number(&spki, key.size());
            let (lacks, uses) = ("does not decrypt by CKM_RSA_X_509", "\"decrypt\" and \"raw\"");
            let root = self
                .checked(uri, &public, Operation::Raw, &number)
                .map_err(|why| why.of_use(lacks, uses))?;
            rejection = Some(secret_of(&root));
            // A root that begins with a zero byte, as each valid padding does: were it shorter, errors
            // would tell clients which paddings may be valid.
            let mut power = number;
            Workspace::new()
                .and_then(|mut workspace| key.public(&mut workspace, &mut power))
                .map_err(|why| refuse(&why))?;
            self.checked(uri, &public, Operation::Raw, &power).map_err(|why| match why {
                Trouble::Wrong => Trouble::Found(format!(
                    "drops zeros at the beginning of decrypted numbers: use another module, or take \
                     {uses} out of `client.allow`"
                )),
                why => why,
            })?;
        }
        Ok(Found { public, ski, rejection })
    }
}

/// Returns the number of a key whose e-th root is its secret for [`RejectionKey`]. All signers with the
/// key have the same one, so they give the same message for an invalid padding. No client without `raw`
/// or `decrypt` learns the root: no signature is made of this number. A decryption shows no more than the
/// end of a root; by an estimate, some 2^18 chosen ones give a root by lattice methods, with keys in files
/// too.
fn own_number(spki: &[u8], size: usize) -> Vec<u8> {
    let block = |number: usize| {
        let number = u32::try_from(number).unwrap_or_default().to_be_bytes();
        let digest =
            Hash::Sha256.digest(&[b"tollgate implicit rejection", &number[..], spki].concat());
        digest.as_ref().to_vec()
    };
    let mut number: Vec<u8> = (0..size.div_ceil(32)).flat_map(block).collect();
    number.truncate(size);
    number[0] = 0; // below the modulus
    number
}

fn secret_of(root: &[u8]) -> Secret {
    let mut digest = Hash::Sha256.digest(root);
    let mut secret = Box::new(Zeroizing::new([0; 32]));
    secret.copy_from_slice(digest.as_ref());
    digest.zeroize();
    secret
}
