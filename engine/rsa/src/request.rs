//! Requests of a batch.

use crate::error::Error;
use crate::key::{PrivateKey, PublicKey};

/// A private operation of a batch: c becomes c^d mod n in place, or the outcome is an error.
pub struct PrivateRequest<'a> {
    pub(crate) key: &'a PrivateKey,
    pub(crate) buffer: &'a mut [u8],
    pub(crate) outcome: Option<Result<(), Error>>,
}

/// A public operation of a batch: x becomes x^e mod n in place, or the outcome is an error.
pub struct PublicRequest<'a> {
    pub(crate) key: &'a PublicKey,
    pub(crate) buffer: &'a mut [u8],
    pub(crate) outcome: Option<Result<(), Error>>,
}

macro_rules! request {
    ($request:ident, $key:ty) => {
        impl core::fmt::Debug for $request<'_> {
            /// Shows no buffer: it may hold a message.
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($request))
                    .field("key", &self.key)
                    .field("outcome", &self.outcome)
                    .finish_non_exhaustive()
            }
        }

        impl<'a> $request<'a> {
            /// Creates a request on a buffer of the key's size, big-endian.
            pub fn new(key: &'a $key, buffer: &'a mut [u8]) -> Self {
                Self { key, buffer, outcome: None }
            }

            /// Returns the outcome. It is the same as that of a single operation.
            ///
            /// # Errors
            ///
            /// As the single operation.
            ///
            /// # Panics
            ///
            /// If the request has not been part of a batch.
            pub fn outcome(&self) -> Result<(), Error> {
                self.outcome.clone().expect("a request has an outcome after its batch")
            }

            /// Returns the buffer: it holds the result if the outcome is `Ok`.
            pub fn buffer(&mut self) -> &mut [u8] {
                self.buffer
            }
        }
    };
}

request!(PrivateRequest, PrivateKey);
request!(PublicRequest, PublicKey);
