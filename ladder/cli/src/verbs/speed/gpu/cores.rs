//! The processor's part of a measurement of a GPU: numbers, right results and checks, on all cores.

use core::num::NonZero;
use std::sync::Arc;
use std::thread;

use tollgate_rsa::{
    PrivateKey, PrivateRequest, PublicRequest, Workspace, private_batch, public_batch,
};

use crate::error::CliError;

/// A thread's part is a multiple of this number of operations, which fills the lanes.
const PART: usize = 8;

/// A key, and a workspace for each core.
pub(super) struct Cores {
    key: Arc<PrivateKey>,
    workspaces: Vec<Workspace>,
}

impl Cores {
    pub(super) fn new(key: Arc<PrivateKey>) -> Result<Self, CliError> {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        let workspaces = (0..count).map(|_| Workspace::new()).collect::<Result<_, _>>()?;
        Ok(Self { key, workspaces })
    }

    /// Returns the numbers `first`, `first + 1`, ..., one after the other.
    pub(super) fn numbers(&mut self, first: u64, count: usize) -> Vec<u8> {
        let bytes = self.key.size();
        let mut numbers = vec![0; count * bytes];
        self.each(&mut numbers, |_, _, at, part| {
            part.chunks_exact_mut(bytes)
                .zip(first + at..)
                .for_each(|(into, counter)| number(counter, into));
            Ok(())
        })
        .expect("making numbers cannot fail");
        numbers
    }

    /// Computes private operations in place.
    pub(super) fn private(&mut self, numbers: &mut [u8]) -> Result<(), CliError> {
        let bytes = self.key.size();
        self.each(numbers, |key, workspace, _, part| {
            let numbers = part.chunks_exact_mut(bytes);
            let mut requests: Vec<_> = numbers.map(|x| PrivateRequest::new(key, x)).collect();
            private_batch(workspace, &mut requests);
            Ok(requests.iter().try_for_each(PrivateRequest::outcome)?)
        })
        .map(|_| ())
    }

    /// Returns how many results are not those of the numbers from `first` on: a result to the power
    /// of e must be its number. The results are overwritten.
    pub(super) fn wrong(&mut self, first: u64, results: &mut [u8]) -> Result<u64, CliError> {
        let bytes = self.key.size();
        let counts = self.each(results, |key, workspace, at, part| {
            let results = part.chunks_exact_mut(bytes);
            let mut requests: Vec<_> =
                results.map(|result| PublicRequest::new(key.public(), result)).collect();
            public_batch(workspace, &mut requests);
            let mut expected = vec![0; bytes];
            let is_wrong = |(request, counter): (&mut PublicRequest<'_>, u64)| {
                number(counter, &mut expected);
                // A result that is not below n is refused.
                request.outcome().is_err() || *request.buffer() != *expected
            };
            let each = requests.iter_mut().zip(first + at..).map(is_wrong);
            let wrong = each.map(u64::from);
            Ok(wrong.sum::<u64>())
        });
        Ok(counts?.into_iter().sum())
    }

    /// Runs `work` on parts of the numbers, a thread for each core; it gets the index of the first
    /// number of its part.
    fn each<T: Send>(
        &mut self,
        numbers: &mut [u8],
        work: impl Fn(&PrivateKey, &mut Workspace, u64, &mut [u8]) -> Result<T, CliError> + Sync,
    ) -> Result<Vec<T>, CliError> {
        let (key, bytes) = (&*self.key, self.key.size());
        let count = numbers.len() / bytes;
        let part = count.div_ceil(self.workspaces.len()).next_multiple_of(PART);
        let work = &work;
        thread::scope(|scope| {
            let parts = numbers.chunks_mut(part * bytes).zip(&mut self.workspaces);
            let threads: Vec<_> = (0_u64..)
                .step_by(part)
                .zip(parts)
                .map(|(at, (numbers, workspace))| {
                    scope.spawn(move || work(key, workspace, at, numbers))
                })
                .collect();
            let results = threads.into_iter().map(|thread| thread.join().expect("no panic"));
            results.collect()
        })
    }
}

/// Writes the number of an operation: other bytes for each counter, and below every modulus, whose
/// highest bit is set.
fn number(counter: u64, into: &mut [u8]) {
    fastrand::Rng::with_seed(counter).fill(into);
    into[0] &= 0x7f;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Key;

    #[test]
    fn numbers_differ_and_each_wrong_result_is_counted() {
        let key = Key::built_in(1024).unwrap().ours;
        let bytes = key.size();
        let mut cores = Cores::new(key).unwrap();
        let numbers = cores.numbers(1000, 20);
        let mut distinct: Vec<_> = numbers.chunks_exact(bytes).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 20);
        assert_eq!(cores.numbers(1007, 1), numbers[7 * bytes..8 * bytes]);

        let mut results = numbers.clone();
        cores.private(&mut results).unwrap();
        assert_eq!(cores.wrong(1000, &mut results.clone()).unwrap(), 0);
        assert_eq!(cores.wrong(1001, &mut results.clone()).unwrap(), 20);
        results[3 * bytes - 1] ^= 1;
        results[19 * bytes..].fill(0xff); // not below n
        assert_eq!(cores.wrong(1000, &mut results).unwrap(), 2);
        // An operation that did not pass keeps its number.
        assert_eq!(cores.wrong(1000, &mut numbers.clone()).unwrap(), 20);
    }
}
