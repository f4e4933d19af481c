//! Operations that a token does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use mio::Waker;
use tollgate_keyless::{ErrorCode, Operation};
use zeroize::Zeroizing;

use super::{End, Relay};
use crate::account::Relayed;
use crate::keys::Key;
use crate::token::{TokenKey, Trouble};

/// The results of a worker's operations in tokens, which threads of the tokens put there.
pub(super) struct Inbox {
    results: Mutex<Vec<Done>>,
    waker: Arc<Waker>,
}

/// The number of an operation, its deadline and its result.
type Done = (u32, Instant, Result<Zeroizing<Vec<u8>>, Trouble>);

impl Inbox {
    pub(super) fn new(waker: Arc<Waker>) -> Arc<Self> {
        Arc::new(Self { results: Mutex::default(), waker })
    }

    fn put(&self, done: Done) {
        self.results.lock().unwrap_or_else(PoisonError::into_inner).push(done);
        // A worker that has ended does not wake.
        drop(self.waker.wake());
    }

    fn take(&self) -> Vec<Done> {
        core::mem::take(&mut self.results.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Relay {
    /// Gives an operation to its token, with the next number. Returns its deadline.
    pub(super) fn give_to_token(
        &mut self,
        (key, in_token): (&Arc<Key>, &TokenKey),
        operation: Operation,
        input: &[u8],
        relayed: Relayed,
    ) -> Result<Instant, ErrorCode> {
        if !in_token.suits(operation, input) {
            return Err(ErrorCode::Crypto);
        }
        let id = self.next_id();
        let deadline = Instant::now() + in_token.token.limit();
        let (inbox, key, input) = (Arc::clone(&self.inbox), Arc::clone(key), input.to_vec());
        let given = in_token.token.submit(deadline, Some(relayed), move |on| {
            if let Some(in_token) = key.in_token() {
                inbox.put((id, deadline, on.run(in_token, operation, &input)));
            }
        });
        given.map(|()| deadline).map_err(|why| {
            self.report(in_token, Some(&why));
            ErrorCode::Internal
        })
    }

    /// Takes the results of tokens.
    pub(super) fn take_results(&mut self) {
        for (id, deadline, result) in self.inbox.take() {
            // A late one belongs to an earlier operation with this number, if there is any.
            let exchange = self.exchanges.get(&id).filter(|it| it.deadline == deadline);
            let Some(in_token) = exchange.and_then(|it| it.key.in_token()) else { continue };
            self.report(in_token, result.as_ref().err());
            let result = result.map_err(|_| ErrorCode::Internal);
            self.end(id, End::Answer { signer: None, result });
        }
    }

    /// Tells the operator if the outcome of an operation is news.
    pub(super) fn report(&self, in_token: &TokenKey, trouble: Option<&Trouble>) {
        if let Some(line) = in_token.report(trouble) {
            (self.shared.say)(&line);
        }
    }
}
