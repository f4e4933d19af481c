//! Signs JSON Web Tokens (RS256, RFC 7519) in batches on all cores, then verifies them in batches.
//!
//! ```text
//! cargo run --release -p tollgate-rsa --example jwt -- 1000000
//! ```
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use core::error::Error;
use std::time::Instant;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use indicatif::{ProgressBar, ProgressStyle};
use tollgate_rsa::{
    Hash, PrivateKey, PrivateRequest, PublicKey, VerifyRequest, Workspace, private_batch,
    verify_batch,
};

/// Tokens in a batch. Eight fill the lanes; more make no difference.
const BATCH: usize = 64;

/// Signs one batch of tokens.
fn sign(
    workspace: &mut Workspace,
    key: &PrivateKey,
    claims: &[String],
) -> Result<Vec<String>, tollgate_rsa::Error> {
    let header = Base64UrlUnpadded::encode_string(br#"{"alg":"RS256","typ":"JWT"}"#);
    let input = |claims: &String| {
        format!("{header}.{}", Base64UrlUnpadded::encode_string(claims.as_bytes()))
    };
    let mut tokens: Vec<String> = claims.iter().map(input).collect();
    let digests: Vec<_> =
        tokens.iter().map(|token| Hash::Sha256.digest(token.as_bytes())).collect();
    let mut signatures = vec![vec![0; key.size()]; tokens.len()];
    let requests = signatures.iter_mut().zip(&digests).map(|(signature, digest)| {
        PrivateRequest::sign_pkcs1v15(key, Hash::Sha256, digest.as_ref(), signature)
    });
    let mut requests: Vec<_> = requests.collect();
    private_batch(workspace, &mut requests);
    requests.iter().try_for_each(PrivateRequest::outcome)?;
    for (token, signature) in tokens.iter_mut().zip(&signatures) {
        token.push('.');
        token.push_str(&Base64UrlUnpadded::encode_string(signature));
    }
    Ok(tokens)
}

/// Returns the number of valid tokens in a batch.
fn valid(workspace: &mut Workspace, key: &PublicKey, tokens: &[String]) -> usize {
    let parts = tokens.iter().filter_map(|token| {
        let (input, signature) = token.rsplit_once('.')?;
        let signature = Base64UrlUnpadded::decode_vec(signature).ok()?;
        Some((Hash::Sha256.digest(input.as_bytes()), signature))
    });
    let parts: Vec<_> = parts.collect();
    let requests = parts.iter().map(|(digest, signature)| {
        VerifyRequest::pkcs1v15(key, Hash::Sha256, digest.as_ref(), signature)
    });
    let mut requests: Vec<_> = requests.collect();
    verify_batch(workspace, &mut requests);
    requests.iter().filter(|request| request.outcome().is_ok()).count()
}

/// Splits `items` among the cores, and runs `work` on batches of them. Returns the results in order.
fn on_all_cores<T: Sync, R: Send>(
    what: &str,
    items: &[T],
    work: impl Fn(&mut Workspace, &[T]) -> R + Sync,
) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let bar = ProgressBar::new(items.len() as u64);
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}, {eta} left");
    bar.set_style(style.expect("a valid template"));
    bar.set_message(what.to_owned());
    let start = Instant::now();
    let run = |items: &[T]| -> Vec<R> {
        let mut workspace = Workspace::new().expect("TOLLGATE_CPU_DISABLE is valid");
        let batches = items.chunks(BATCH).map(|batch| {
            bar.inc(batch.len() as u64);
            work(&mut workspace, batch)
        });
        batches.collect()
    };
    let results = std::thread::scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(threads).max(1));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || run(part))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    #[allow(clippy::cast_precision_loss, reason = "below 2^52")]
    let rate = items.len() as f64 / start.elapsed().as_secs_f64();
    bar.finish_and_clear();
    println!("{what}: {} tokens, {rate:.0} per second on {threads} threads", items.len());
    results
}

fn run(count: usize) -> Result<usize, Box<dyn Error>> {
    let key = PrivateKey::generate(2048)?;
    let claims: Vec<_> = (0..count).map(|number| format!(r#"{{"sub":"user {number}"}}"#)).collect();
    let signed = on_all_cores("sign", &claims, |ws, claims| sign(ws, &key, claims));
    let tokens = signed.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    let counts = on_all_cores("verify", &tokens, |ws, tokens| valid(ws, key.public(), tokens));
    Ok(counts.iter().sum())
}

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args().nth(1).map_or(Ok(1_000_000), |count| count.parse())?;
    println!("valid: {}", run(count)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_valid_and_a_damaged_one_is_not() {
        assert_eq!(run(130).unwrap(), 130, "two whole batches and a part");

        let (key, mut workspace) = (PrivateKey::generate(2048).unwrap(), Workspace::new().unwrap());
        let tokens = sign(&mut workspace, &key, &["{}".to_owned()]).unwrap();
        let (input, signature) = tokens[0].rsplit_once('.').unwrap();
        let signature = Base64UrlUnpadded::decode_vec(signature).unwrap();
        key.public().verify_pkcs1v15(Hash::Sha256, input.as_bytes(), &signature).unwrap();
        let damaged = tokens[0].replacen("ey", "fy", 1);
        assert_eq!(valid(&mut workspace, key.public(), &[damaged, "no token".to_owned()]), 0);
    }
}
