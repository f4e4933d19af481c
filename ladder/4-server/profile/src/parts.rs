//! The parts of a server's CPU time, and the rules that assign functions to them.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::script::Frame;

/// A part of the CPU time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its word in records, such as `kernel-tcp`.
    pub word: String,
    /// The part of a session's cost that it belongs to: those that rung 3 predicts, or `server`.
    pub of: String,
    /// True if the part includes all functions that its functions call.
    #[serde(default)]
    whole_call: bool,
    /// Parts with whole calls, of whose calls this part is one.
    #[serde(default)]
    within: Vec<String>,
    /// True if the part has all kernel code that no rule knows.
    #[serde(default)]
    is_rest: bool,
    #[serde(default)]
    operations: Vec<String>,
    #[serde(default)]
    symbols: Vec<String>,
    #[serde(default)]
    files: Vec<String>,
    /// True if the part is kernel code.
    #[serde(skip)]
    pub is_kernel: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    part: Vec<Part>,
}

/// The rules; tests read every file.
static PARTS: LazyLock<Vec<Part>> = LazyLock::new(|| {
    let files = [
        (include_str!("../parts/crypto.toml"), false),
        (include_str!("../parts/server.toml"), false),
        (include_str!("../parts/kernel.toml"), true),
    ];
    let read = |(text, is_kernel): (&str, bool)| {
        let rules: Rules = toml::from_str(text).expect("parts/*.toml is valid");
        rules.part.into_iter().map(move |part| Part { is_kernel, ..part })
    };
    files.into_iter().flat_map(read).collect()
});

/// Returns all parts, in the order of tables and pictures.
#[must_use]
pub fn parts() -> &'static [Part] {
    &PARTS
}

impl Part {
    fn knows(&self, frame: &Frame) -> bool {
        let any = |patterns: &[String], text: &str| patterns.iter().any(|p| is_like(p, text));
        self.is_kernel == frame.is_kernel
            && (frame.operation.as_ref().is_some_and(|name| any(&self.operations, name))
                || any(&self.symbols, &frame.symbol)
                || any(&self.files, &frame.file))
    }
}

/// Returns the part of a stack, whose innermost function comes first. In user code the outermost
/// function of a part with whole calls decides, unless it calls a function of a part within that
/// part; otherwise the innermost function that a rule knows.
pub(crate) fn part_of(frames: &[Frame]) -> Option<&'static Part> {
    let is_kernel = frames.first()?.is_kernel;
    let same_mode = || frames.iter().filter(|frame| frame.is_kernel == is_kernel);
    let find = |frame: &Frame, whole: bool| {
        parts().iter().find(|part| part.whole_call == whole && part.knows(frame))
    };
    let whole = same_mode().rev().find_map(|frame| find(frame, true));
    let whole = whole.map(|outer| innermost(outer, || same_mode().rev()));
    let rest = || parts().iter().find(|part| part.is_rest && is_kernel);
    whole.or_else(|| same_mode().find_map(|frame| find(frame, false))).or_else(rest)
}

/// Follows the parts within a part, from the outermost function inwards.
fn innermost<'a, I: Iterator<Item = &'a Frame>>(
    outer: &'static Part,
    frames: impl Fn() -> I,
) -> &'static Part {
    let is_within = |part: &&Part| part.within.contains(&outer.word);
    let inner =
        frames().find_map(|frame| parts().iter().filter(is_within).find(|part| part.knows(frame)));
    inner.map_or(outer, |inner| innermost(inner, frames))
}

/// Returns whether a text has the form of a pattern, in which `*` stands for any characters.
fn is_like(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(symbol: &str, file: &str) -> Frame {
        let is_kernel = file.starts_with("[k");
        Frame { symbol: symbol.to_owned(), operation: None, file: file.to_owned(), is_kernel }
    }

    fn word(frames: &[Frame]) -> Option<&'static str> {
        part_of(frames).map(|part| part.word.as_str())
    }

    #[test]
    fn patterns_have_stars() {
        for (pattern, text) in
            [("*", ""), ("a*", "abc"), ("*b*", "abc"), ("a*c", "abbc"), ("ab", "ab")]
        {
            assert!(is_like(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "ab"), ("a*c", "ab"), ("*b*d", "abc"), ("ab*b", "ab")] {
            assert!(!is_like(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn words_are_distinct_and_every_part_has_rules() {
        for (place, part) in parts().iter().enumerate() {
            assert!(parts()[..place].iter().all(|other| other.word != part.word), "{}", part.word);
            assert!(
                part.is_rest || !part.symbols.is_empty() || !part.files.is_empty(),
                "{}",
                part.word
            );
        }
    }

    #[test]
    fn whole_calls_include_what_they_call() {
        let nginx = frame("main", "nginx");
        let malloc = frame("malloc", "libc.so.6");
        let ssl = frame("1f00", "libssl.so.3");
        let sign = frame("RSA_private_encrypt", "libcrypto.so.3");
        assert_eq!(word(&[malloc.clone(), sign.clone(), ssl.clone(), nginx.clone()]), Some("rsa"));
        assert_eq!(word(&[malloc, ssl.clone(), nginx.clone()]), Some("libc"));
        assert_eq!(word(&[ssl.clone(), nginx.clone()]), Some("library-code"));
        assert_eq!(word(&[frame("x", "unheard-of.so"), nginx.clone()]), Some("server"));
        assert_eq!(word(&[frame("x", "unheard-of.so")]), None);
        let hash = frame("EVP_DigestUpdate", "libcrypto.so.3");
        let outer = [frame("SHA256_Update", "libcrypto.so.3"), hash, sign, ssl, nginx];
        assert_eq!(word(&outer), Some("rsa"), "the outermost operation decides");
    }

    #[test]
    fn entry_functions_of_algorithms_decide() {
        let operation = |name: &str| Frame {
            operation: Some(name.to_owned()),
            ..frame("31e4d2", "libcrypto.so.3")
        };
        assert_eq!(word(&[operation("kdf TLS13-KDF")]), Some("hashes"));
        assert_eq!(word(&[operation("keyexch X25519")]), Some("elliptic-curves"));
        assert_eq!(word(&[operation("cipher")]), Some("ciphers"));
        assert_eq!(word(&[operation("mac Poly1305")]), Some("ciphers"));
        assert_eq!(word(&[operation("signature ECDSA")]), Some("ec-signature"));
        assert_eq!(word(&[operation("signature CMAC|HMAC|SIPHASH")]), Some("mac"));
        assert_eq!(word(&[operation("cipher"), operation("rand CTR-DRBG")]), Some("random"));
    }

    #[test]
    fn the_halves_of_a_hybrid_are_parts_within_its_calls() {
        let libcrypto = |symbol: &str| frame(symbol, "libcrypto.so.3");
        let operation =
            |name: &str| Frame { operation: Some(name.to_owned()), ..libcrypto("31e4d2") };
        let (inner, ssl) = (libcrypto("1cb78e"), frame("30b91", "libssl.so.3"));
        let hybrid = |name: &str| operation(&format!("{name} SecP256r1MLKEM768|X25519MLKEM768"));
        let of = |calls: &[&Frame]| {
            let stack: Vec<Frame> =
                [&inner].into_iter().chain(calls.iter().copied()).cloned().collect();
            word(&[&stack[..], core::slice::from_ref(&ssl)].concat())
        };
        let (squeeze, update) = (libcrypto("EVP_DigestSqueeze"), libcrypto("EVP_DigestUpdate"));
        let (key, kem) = (operation("keymgmt ML-KEM-768"), operation("kem ML-KEM-768"));
        for (calls, expected) in [
            (&[&hybrid("kem")][..], "kem"),
            (&[&operation("keymgmt X25519"), &hybrid("kem")], "elliptic-curves"),
            (&[&operation("keyexch X25519"), &hybrid("kem")], "elliptic-curves"),
            (&[&kem, &hybrid("kem")], "ml-kem"),
            (&[&squeeze, &kem, &hybrid("kem")], "sha-3"),
            (&[&key, &hybrid("keymgmt")], "ml-kem-key"),
            (&[&squeeze, &key, &hybrid("keymgmt")], "ml-kem-matrix"),
            (&[&update, &key, &hybrid("keymgmt")], "sha-3"),
            (&[&squeeze, &operation("rand CTR-DRBG")], "random"),
        ] {
            assert_eq!(of(calls), Some(expected), "{calls:?}");
        }
    }

    /// The entry functions of the provider, the queue and libcrypto are the same for all
    /// algorithms.
    #[test]
    fn tollgate_s_algorithms_are_parts_of_their_own() {
        let ours = |symbol: &str| frame(symbol, "libtollgate_provider.so");
        let entry = ours("tollgate_provider::boundary::catch");
        let job = "tollgate_queue::private_job::PrivateJob";
        let queue = ours(&format!("<tollgate_queue::state::Shared<{job}>>::lead_gathered"));
        for (symbol, expected) in [
            ("<tollgate_provider::rsa_operation::RsaOperation as Operation>::run_here", "rsa"),
            ("digest_sign::<tollgate_provider::signature_context::RsaSignatureContext>", "rsa"),
            ("<tollgate_queue::lanes::Lanes>::run_encoded", "rsa"),
            ("<tollgate_queue::private_job::PrivateJob>::encode", "rsa"),
            ("<tollgate_provider::curve_operations::EcdsaOperation>::run_here", "ec-signature"),
            ("digest_sign::<tollgate_provider::ecdsa::EcdsaContext>", "ec-signature"),
            ("<tollgate_queue::curve_job::Curves>::sign", "ec-signature"),
            ("<tollgate_provider::curve_operations::Agreement>::run_here", "elliptic-curves"),
            ("<tollgate_queue::curve_job::Curves>::agree", "elliptic-curves"),
            ("generate::<tollgate_provider::x25519::X25519Request>", "elliptic-curves"),
        ] {
            let inner = ours("tollgate_curves::inverse::Modulus::invert");
            for outer in [&entry, &queue] {
                let stack = [inner.clone(), ours(symbol), outer.clone()];
                assert_eq!(word(&stack), Some(expected), "{symbol}");
            }
        }
        assert_eq!(word(&[entry]), Some("library-code"));
    }

    #[test]
    fn kernel_code_has_parts_of_its_own() {
        let kernel = |symbol| frame(symbol, "[kernel.kallsyms]");
        let user = frame("RSA_sign", "libcrypto.so.3");
        let chain =
            [kernel("_raw_spin_lock"), kernel("tcp_sendmsg"), kernel("do_syscall_64"), user];
        assert_eq!(word(&chain), Some("kernel-tcp"));
        assert_eq!(word(&chain[2..]), Some("kernel-entry"));
        assert_eq!(word(&[kernel("unheard_of")]), Some("kernel-other"));
    }
}
