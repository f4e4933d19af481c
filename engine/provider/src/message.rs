//! The message of a signature, and the hash function that makes its digest.
#![forbid(unsafe_code)]

use tollgate_rsa::{Digest, Hash, Hasher};

use crate::reason::Reason;

/// A hash function, if one is set, and the part of a message that has been hashed.
#[derive(Clone)]
pub(crate) struct Message {
    md: Option<Hash>,
    state: State,
}

/// The state of a digest operation.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "stored in a context, which is on the heap")]
enum State {
    /// No message: the caller passes a digest.
    None,
    /// The operation is initialized. The hash state is created with the first piece, because a
    /// one-shot call needs no hash state.
    Empty,
    /// A part of the message has been hashed.
    Some(Hasher),
}

impl Message {
    /// Returns no message, with this hash function.
    pub(crate) const fn none(md: Option<Hash>) -> Self {
        Self { md, state: State::None }
    }

    /// Starts a message with this hash function, or with the last one.
    pub(crate) fn begin(&mut self, md: Option<Hash>) {
        self.md = md.or(self.md);
        self.state = State::Empty;
    }

    /// Sets the hash function. A running digest operation keeps its hash function.
    pub(crate) fn set_md(&mut self, md: Hash) -> Result<(), Reason> {
        if self.is_running() && self.md != Some(md) {
            return Err(Reason::DigestLocked);
        }
        self.md = Some(md);
        Ok(())
    }

    pub(crate) fn update(&mut self, piece: &[u8]) -> Result<(), Reason> {
        if matches!(self.state, State::Empty) {
            let md = self.md.ok_or(Reason::DigestMissing)?;
            self.state = State::Some(Hasher::new(md));
        }
        match &mut self.state {
            State::Some(hasher) => {
                hasher.update(piece);
                Ok(())
            }
            _ => Err(Reason::NotRunning),
        }
    }

    /// Ends the operation and returns the digest.
    pub(crate) fn finish(&mut self) -> Result<Digest, Reason> {
        let md = self.md.ok_or(Reason::DigestMissing)?;
        match core::mem::replace(&mut self.state, State::None) {
            State::None => Err(Reason::NotRunning),
            State::Empty => Ok(md.digest(&[])),
            State::Some(hasher) => Ok(hasher.finish()),
        }
    }

    /// Hashes the rest of the message, or all of it, and returns the digest. Another message can
    /// then begin.
    pub(crate) fn finish_with(&mut self, rest: &[u8]) -> Result<Digest, Reason> {
        let digest = if matches!(self.state, State::Empty) {
            self.md.ok_or(Reason::DigestMissing)?.digest(rest)
        } else {
            self.update(rest)?;
            self.finish()?
        };
        self.state = State::Empty;
        Ok(digest)
    }

    pub(crate) fn is_running(&self) -> bool {
        !matches!(self.state, State::None)
    }

    pub(crate) fn md(&self) -> Option<Hash> {
        self.md
    }
}
