//! One operation, on limbs.

use tollgate_cpu::memcheck;
use tollgate_mont::Word;
use zeroize::Zeroize;

use crate::blinding::{USES, random_below};
use crate::blocks;
use crate::error::{Error, Misuse, Rejected};
use crate::fresh::{AT_ONCE, Fresh};
use crate::key::{PrivateKey, PublicKey, from_bytes, to_bytes};
use crate::private::{Method, check, make_pairs, private, private_words, public, public_words};
use crate::workspace::Workspace;

impl PrivateKey {
    /// The private operation, in place: c becomes c^d mod n (RFC 8017, RSASP1 and RSADP), both
    /// big-endian, of [`size`](Self::size) bytes. By CRT, blinded, and checked with e.
    ///
    /// On an error the buffer is zeroed, unless the input was refused.
    ///
    /// # Errors
    ///
    /// [`Misuse::BufferLength`]; [`Rejected::MessageRange`] if c >= n; [`Error::Fault`] if the
    /// check failed; `Unavailable` without random bytes.
    pub fn private(&self, workspace: &mut Workspace, buffer: &mut [u8]) -> Result<(), Error> {
        run(self, workspace, buffer, Method::Crt)
    }

    /// [`private`](Self::private) without CRT, with the full-length exponent: slower by a factor of
    /// three to four, to measure against accelerators that are quoted so. Blinded and checked too.
    ///
    /// # Errors
    ///
    /// As [`private`](Self::private).
    pub fn private_full(&self, workspace: &mut Workspace, buffer: &mut [u8]) -> Result<(), Error> {
        run(self, workspace, buffer, Method::Full)
    }
}

impl PublicKey {
    /// Whether a buffer has n's length, as those of signatures, ciphertexts and numbers must.
    ///
    /// # Errors
    ///
    /// [`Misuse::BufferLength`] with both lengths.
    pub fn check_length(&self, buffer: &[u8]) -> Result<(), Error> {
        Misuse::check_length(buffer.len(), self.size())
    }

    /// The public operation, in place: x becomes x^e mod n (RFC 8017, RSAVP1 and RSAEP), both
    /// big-endian, of [`size`](Self::size) bytes. Variable time in e alone. The workspace is not
    /// wiped afterwards: it holds x and the result until the next private operation, or its end.
    ///
    /// # Errors
    ///
    /// [`Misuse::BufferLength`]; [`Rejected::MessageRange`] if x >= n.
    pub fn public(&self, workspace: &mut Workspace, buffer: &mut [u8]) -> Result<(), Error> {
        check_input(self, buffer)?;
        let runner = &mut workspace.limbs;
        let kernel = runner.kernel;
        let mut r = runner.registers(self.limbs.k(), public_words(kernel, &self.limbs));
        from_bytes(r.c, buffer);
        public(kernel, &self.limbs, &self.e, &mut r);
        to_bytes(buffer, r.s);
        Ok(())
    }
}

/// Whether the buffer holds a number below n. Constant time up to the verdict, which is public: the
/// number may be a ciphertext or a message.
pub(crate) fn check_input(key: &PublicKey, buffer: &[u8]) -> Result<(), Error> {
    key.check_length(buffer)?;
    let (top, limbs) = buffer.as_rchunks();
    let limbs = limbs.iter().rev().map(|limb| u64::from_be_bytes(*limb));
    let top = top.iter().fold(0, |top, byte| top << 8 | u64::from(*byte));
    let mut borrow = 0;
    for (limb, n) in limbs.chain([top]).zip(&key.n) {
        limb.sub_borrow(*n, &mut borrow);
    }
    if memcheck::declassified(borrow) == 1 { Ok(()) } else { Err(Rejected::MessageRange.into()) }
}

fn run(
    key: &PrivateKey,
    workspace: &mut Workspace,
    buffer: &mut [u8],
    method: Method,
) -> Result<(), Error> {
    check_input(&key.public, buffer)?;
    if let (Method::Crt, Some(runner), Some(_)) = (method, &mut workspace.blocks, &key.in_blocks) {
        let [result] = blocks::private(runner, [key], [buffer]);
        workspace.wipe();
        return result;
    }
    let result = blinded(key, workspace, buffer, method);
    workspace.wipe();
    if result.is_err() {
        buffer.zeroize();
    }
    result
}

fn blinded(
    key: &PrivateKey,
    workspace: &mut Workspace,
    buffer: &mut [u8],
    method: Method,
) -> Result<(), Error> {
    let (numbers, runner, pool) = (key.numbers(), &mut workspace.limbs, &key.limb_pairs);
    let (kernel, k) = (runner.kernel, numbers.n.k());
    let mut pair = pool.take();
    let for_pairs = if pair.left == 0 { Fresh::<u64>::words(k, AT_ONCE) } else { 0 };
    let mut r = runner.registers(k, private_words(kernel, &numbers, method) + for_pairs);
    let mut made = None;
    if pair.left == 0 {
        let fresh = make_pairs(kernel, &numbers, AT_ONCE, &mut r, |c| {
            c.fill(0);
            random_below(&mut c[..key.public.n.len()], &key.public.n, key.bits())
        })?;
        fresh.first(r.blind, r.unblind);
        made = Some(fresh);
        pair.left = USES;
    } else {
        r.blind.copy_from_slice(&pair.blind);
        r.unblind.copy_from_slice(&pair.unblind);
    }
    from_bytes(r.c, buffer);
    private(kernel, &numbers, method, &mut r);
    from_bytes(r.c, buffer);
    let good = check(kernel, &r);
    if memcheck::declassified(good) != u64::MAX {
        return Err(Error::Fault); // the pair is dropped: it may be what is wrong
    }
    to_bytes(buffer, r.s);
    for (blind, unblind) in made.iter().flat_map(Fresh::others) {
        pool.lay_up(|pair| pair.write(blind, unblind));
    }
    pair.write(r.blind, r.unblind);
    pair.left -= 1;
    pool.give(pair);
    Ok(())
}
