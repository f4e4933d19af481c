//! Operations of every size, single and in lanes, on every kernel of this machine, against OpenSSL.

use openssl::bn::{BigNum, BigNumContext};
use openssl::pkey::{PKey, Private};
use openssl::rsa::Padding;
use tollgate_mont::{LaneKernel, LimbKernel};
use tollgate_rsa::{
    Error, Form, Hash, KeyParts, Misuse, Oaep, Operation, Plan, Plans, PrivateKey, PrivateRequest,
    Pss, PublicKey, PublicRequest, Rejected, Salt, VerifyRequest, Workspace, private_batch,
    public_batch, verify_batch,
};

use crate::made::{key_from, key_of};
use crate::{KEYS, Key};

/// Returns a workspace for each pair of kernels; batches always use lanes.
fn workspaces() -> impl Iterator<Item = (String, Workspace)> {
    crate::workspaces()
        .map(|(name, workspace)| (name, workspace.with_plans(Plans::always(Form::Lanes))))
}

/// Runs private operations in place, as one batch; none is refused.
fn run_private<'a>(
    workspace: &mut Workspace,
    operations: impl Iterator<Item = (&'a PrivateKey, &'a mut Vec<u8>)>,
) {
    let mut requests: Vec<_> =
        operations.map(|(key, buffer)| PrivateRequest::new(key, buffer)).collect();
    private_batch(workspace, &mut requests);
    requests.iter().for_each(|request| request.outcome().unwrap());
}

/// Runs public operations in place, as one batch; none is refused.
fn run_public<'a>(
    workspace: &mut Workspace,
    operations: impl Iterator<Item = (&'a PrivateKey, &'a mut Vec<u8>)>,
) {
    let mut requests: Vec<_> =
        operations.map(|(key, buffer)| PublicRequest::new(key.public(), buffer)).collect();
    public_batch(workspace, &mut requests);
    requests.iter().for_each(|request| request.outcome().unwrap());
}

/// Reads the [`KEYS`] at these positions.
fn read_all(at: impl IntoIterator<Item = usize>) -> Vec<Key> {
    at.into_iter().map(|i| Key::read(KEYS[i].0)).collect()
}

/// Returns c^d mod n, computed by OpenSSL.
fn expected(key: &PKey<Private>, c: &[u8]) -> Vec<u8> {
    let rsa = key.rsa().unwrap();
    let mut s = vec![0; c.len()];
    rsa.private_decrypt(c, &mut s, Padding::NONE).unwrap();
    s
}

/// Returns a number below n: its top byte is 0, the others are random.
fn below(rng: &mut fastrand::Rng, size: usize) -> Vec<u8> {
    let mut c: Vec<u8> = (0..size).map(|_| rng.u8(..)).collect();
    c[0] = 0;
    c
}

#[test]
fn private_and_public_operations_agree_with_openssl() {
    let mut rng = fastrand::Rng::with_seed(4);
    for (name, mut workspace) in workspaces() {
        for (file, bits) in KEYS {
            let Key { ours: key, theirs } = Key::read(file);
            let portable = name.starts_with("amm64_portable");
            for round in 0..if portable || bits > 4096 { 1 } else { 4 } {
                let inputs: Vec<_> = (0..8).map(|_| below(&mut rng, key.size())).collect();
                let mut outputs = inputs.clone();
                let count = 8 - round;
                let batch = outputs[..count].iter_mut().map(|output| (&key, output));
                run_private(&mut workspace, batch);
                for (input, output) in inputs.iter().zip(&outputs).take(count) {
                    assert_eq!(*output, expected(&theirs, input), "{name} {bits}");
                }
                let mut single = inputs[0].clone();
                key.private(&mut workspace, &mut single).unwrap();
                assert_eq!(single, outputs[0], "{name} {bits}, single");

                let batch = outputs[..count].iter_mut().map(|output| (&key, output));
                run_public(&mut workspace, batch);
                assert!(outputs[..count] == inputs[..count], "{name} {bits}, public lanes");
                key.public().public(&mut workspace, &mut single).unwrap();
                assert_eq!(single, inputs[0], "{name} {bits}, public");
            }
        }
    }
}

#[test]
fn primes_of_any_sizes_in_any_order_and_long_exponents_agree_with_openssl() {
    let mut rng = fastrand::Rng::with_seed(8);
    // primes of the first three layouts of lane blocks, and of a layout that only one prime fills
    for (p_bits, q_bits) in
        [(256, 257), (300, 513), (513, 300), (519, 521), (400, 1030), (1030, 560)]
    {
        for e in ["3", "65537", "18446744073709551629"] {
            let e = BigNum::from_dec_str(e).unwrap();
            let parts = key_of(p_bits, q_bits, &e);
            let key = PrivateKey::from_parts(&parts).unwrap();
            agrees_with_openssl(&key, &parts, &mut rng);
        }
    }
}

/// Compares operations with OpenSSL on every kernel, one and three at a time, with fresh and with
/// squared blinding pairs.
fn agrees_with_openssl(key: &PrivateKey, parts: &KeyParts, rng: &mut fastrand::Rng) {
    let mut ctx = BigNumContext::new().unwrap();
    let [d, n, one] = [&*parts.d, &parts.n, &[1][..]].map(|x| BigNum::from_slice(x).unwrap());
    let what = format!("{} bits, e = {:x?}", key.bits(), parts.e);
    let mut most = (&n - &one).to_vec();
    most.splice(..0, vec![0; key.size() - most.len()]);
    let inputs = [below(rng, key.size()), most, below(rng, key.size())];
    let expected = inputs.each_ref().map(|input| {
        let mut s = BigNum::new().unwrap();
        s.mod_exp(&BigNum::from_slice(input).unwrap(), &d, &n, &mut ctx).unwrap();
        s
    });
    for (name, mut workspace) in workspaces() {
        for form in [Form::Lanes, Form::One] {
            workspace = workspace.with_plans(Plans::always(form));
            for count in [1, 3] {
                let mut outputs = inputs.clone();
                let batch = outputs[..count].iter_mut().map(|output| (key, output));
                run_private(&mut workspace, batch);
                for (output, expected) in outputs.iter().zip(&expected).take(count) {
                    let found = BigNum::from_slice(output).unwrap();
                    assert_eq!(found, *expected, "{name}: {what}");
                }
                key.public().public(&mut workspace, &mut outputs[0]).unwrap();
                assert_eq!(outputs[0], inputs[0], "{name}: {what}");
            }
        }
    }
}

/// Returns 2^bits plus a small difference.
fn near(bits: i32, more: i32) -> BigNum {
    let mut x = BigNum::new().unwrap();
    x.set_bit(bits).unwrap();
    let word = more.unsigned_abs();
    if more < 0 { x.sub_word(word) } else { x.add_word(word) }.unwrap();
    x
}

/// The primes next to powers of two: moduli with ones, or zeros, in nearly all digits;
/// sizes just above or below those of a layout.
#[test]
fn primes_next_to_powers_of_two_agree_with_openssl() {
    let mut rng = fastrand::Rng::with_seed(10);
    let e = BigNum::from_u32(65_537).unwrap();
    for (p, q) in [
        ((512, -569), (512, -629)), // 1024 bits, the maximum of both layouts
        ((512, 75), (512, -569)),   // 1025 bits
        ((512, 145), (512, 75)),    // 1025 bits, mostly zeros
        ((768, 183), (512, -569)),  // one longer than a layout, the other exactly as long
        ((512, -569), (768, 241)),
        ((1023, 1155), (1023, 1493)), // 2047 bits
        ((1024, -105), (1024, -179)),
        ((1499, 33), (1499, 609)), // 2999 bits
        ((1536, -3453), (1536, -4977)),
        ((2048, -1557), (2048, -2543)),
    ] {
        let parts = key_from(&near(p.0, p.1), &near(q.0, q.1), &e).unwrap();
        let key = PrivateKey::from_parts(&parts).unwrap();
        agrees_with_openssl(&key, &parts, &mut rng);
    }
}

/// Secret exponents of a few bits: most windows are zero.
#[test]
fn short_secret_exponents_agree_with_openssl() {
    let mut rng = fastrand::Rng::with_seed(11);
    let mut ctx = BigNumContext::new().unwrap();
    for q_bits in [300, 700] {
        let (parts, key) = loop {
            let (mut p, mut q, mut e) =
                (BigNum::new().unwrap(), BigNum::new().unwrap(), BigNum::new().unwrap());
            p.generate_prime(256, false, None, None).unwrap();
            q.generate_prime(q_bits, false, None, None).unwrap();
            let d_p = BigNum::from_u32(65_537).unwrap();
            let p_1 = &p - &BigNum::from_u32(1).unwrap();
            if e.mod_inverse(&d_p, &p_1, &mut ctx).is_err() {
                continue;
            }
            let Some(parts) = key_from(&p, &q, &e) else { continue };
            assert_eq!(*parts.d_p, [1, 0, 1]);
            let key = PrivateKey::from_parts(&parts).unwrap();
            break (parts, key);
        };
        agrees_with_openssl(&key, &parts, &mut rng);
    }
}

#[test]
fn a_batch_mixes_keys_sizes_and_refusals() {
    let mut rng = fastrand::Rng::with_seed(6);
    let keys = read_all(0..6);
    for (name, mut workspace) in workspaces().take(1) {
        // more operations than a blinding pair lasts, in lanes that change keys
        for count in [1, 2, 7, 8, 9, 30] {
            let of: Vec<usize> = (0..count).map(|_| rng.usize(..keys.len())).collect();
            let mut inputs: Vec<_> =
                of.iter().map(|&k| below(&mut rng, keys[k].ours.size())).collect();
            inputs[count / 2].fill(0xff); // at least n
            let mut outputs = inputs.clone();
            outputs[count - 1].push(0); // one byte too long
            let mut requests: Vec<_> = of
                .iter()
                .zip(&mut outputs)
                .map(|(&k, o)| PrivateRequest::new(&keys[k].ours, o))
                .collect();
            private_batch(&mut workspace, &mut requests);
            for (i, request) in requests.iter_mut().enumerate() {
                let outcome = request.outcome();
                if i == count - 1 {
                    assert!(matches!(outcome, Err(Error::Misuse(Misuse::BufferLength { .. }))));
                } else if i == count / 2 {
                    assert_eq!(outcome, Err(Rejected::MessageRange.into()));
                    assert!(request.buffer().iter().all(|&b| b == 0xff), "unchanged");
                } else {
                    outcome.unwrap();
                    let expected = expected(&keys[of[i]].theirs, &inputs[i]);
                    assert_eq!(request.buffer(), expected, "{name} {i}");
                }
            }
        }
    }
}

/// Mixed sizes, 1 to 40 requests, with plans that use every form.
#[test]
fn batches_of_any_size_are_right_with_every_plan() {
    let mut rng = fastrand::Rng::with_seed(10);
    let keys = read_all(0..2);
    let limbs =
        LimbKernel::all().into_iter().find(|kernel| !matches!(kernel, LimbKernel::Portable));
    let mut workspace = Workspace::with_kernels(limbs.unwrap(), LaneKernel::best());
    for n in 1..=40 {
        let mut plan = || Plan { lanes: Some(8.0 * rng.f64()) };
        let mut plans = Plans::default();
        for operation in [Operation::Private, Operation::Public] {
            plans = plans.with(operation, 512, plan()).with(operation, 1024, plan());
        }
        workspace = workspace.with_plans(plans);
        let of: Vec<_> = (0..n).map(|_| &keys[rng.usize(..2)].ours).collect();
        let inputs: Vec<_> = of.iter().map(|key| below(&mut rng, key.size())).collect();
        let mut outputs = inputs.clone();
        run_private(&mut workspace, of.iter().copied().zip(&mut outputs));
        for ((key, input), output) in of.iter().zip(&inputs).zip(&outputs) {
            let mut alone = input.clone();
            key.private(&mut workspace, &mut alone).unwrap();
            assert_eq!(*output, alone, "{n} requests");
        }
        run_public(&mut workspace, of.iter().copied().zip(&mut outputs));
        assert!(outputs == inputs, "{n} requests, public");
    }
}

#[test]
fn batches_of_signatures_sign_and_verify() {
    for (name, mut workspace) in workspaces() {
        let keys = read_all(0..4);
        let digests: Vec<_> = (0..11u8).map(|i| Hash::Sha256.digest(&[i])).collect();
        let digests: Vec<&[u8]> = digests.iter().map(AsRef::as_ref).collect();
        let key = |i: usize| &keys[i % 4].ours;
        let mut signatures: Vec<_> = (0..11).map(|i| vec![0; key(i).size()]).collect();
        let pss = Pss::new(Hash::Sha256).with_salt(Salt::Exactly(20)); // fits 512 bits
        let request = |(i, s)| match i % 3 {
            0 => PrivateRequest::sign_pss(key(i), pss, digests[i], s),
            _ => PrivateRequest::sign_pkcs1v15(key(i), Hash::Sha256, digests[i], s),
        };
        let mut requests: Vec<_> =
            signatures.iter_mut().map(Vec::as_mut_slice).enumerate().map(request).collect();
        private_batch(&mut workspace, &mut requests);
        requests.iter().for_each(|r| r.outcome().unwrap());
        signatures[3][5] ^= 1;
        signatures[6].pop();
        let request = |i: usize| match i % 3 {
            0 => VerifyRequest::pss(key(i).public(), pss, digests[i], &signatures[i]),
            _ => {
                let (key, hash) = (key(i).public(), Hash::Sha256);
                VerifyRequest::pkcs1v15(key, hash, digests[i], &signatures[i])
            }
        };
        let mut requests: Vec<_> = (0..11).map(request).collect();
        verify_batch(&mut workspace, &mut requests);
        for (i, request) in requests.iter().enumerate() {
            let bad = i == 3 || i == 6;
            assert_eq!(request.outcome().is_err(), bad, "{name}: signature {i}");
        }
    }
}

#[test]
fn threads_share_a_key() {
    let key = Key::read("rsa-1024.pem").ours;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let key = &key;
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(thread);
                let mut workspace = Workspace::new().unwrap();
                for _ in 0..50 {
                    let input = below(&mut rng, key.size());
                    let mut output = input.clone();
                    key.private(&mut workspace, &mut output).unwrap();
                    key.public().public(&mut workspace, &mut output).unwrap();
                    assert_eq!(output, input);
                }
            });
        }
    });
}

/// One-line calls hash the message and need no workspace.
#[test]
fn one_line_calls_agree_with_a_workspace() {
    let Key { ours: key, .. } = Key::read("rsa-2048.pem");
    let (public, hash, message) = (key.public(), Hash::Sha256, b"a message");
    let digest = hash.digest(message);
    let mut workspace = Workspace::new().unwrap();

    let signature = key.sign_pkcs1v15(hash, message).unwrap();
    let mut expected = vec![0; key.size()];
    key.sign_pkcs1v15_with(&mut workspace, hash, digest.as_ref(), &mut expected).unwrap();
    assert_eq!(signature, expected);
    public.verify_pkcs1v15(hash, message, &signature).unwrap();
    assert!(public.verify_pkcs1v15(hash, b"another", &signature).is_err());

    let pss = Pss::new(hash);
    let signature = key.sign_pss(pss, message).unwrap();
    public.verify_pss_with(&mut workspace, pss, digest.as_ref(), &signature).unwrap();
    public.verify_pss(pss, message, &signature).unwrap();
    assert!(public.verify_pss(pss.with_mgf_hash(Hash::Sha384), message, &signature).is_err());

    let oaep = Oaep::new(hash).with_label(b"label");
    let ciphertext = public.encrypt_oaep(oaep, message).unwrap();
    assert_eq!(*key.decrypt_oaep(oaep, &ciphertext).unwrap(), message);
    let refused = key.decrypt_oaep(Oaep::new(hash), &ciphertext).unwrap_err();
    assert_eq!(refused, Rejected::DecryptionFailed.into());

    let ciphertext = public.encrypt_pkcs1v15(message).unwrap();
    assert_eq!(*key.decrypt_pkcs1v15(&ciphertext).unwrap(), message);
}

#[test]
#[expect(clippy::mutable_key_type, reason = "the cell in a key holds what follows from its n")]
fn public_keys_are_equal_if_their_numbers_are() {
    let [one, other] = ["rsa-2048.pem", "rsa-1024.pem"].map(|name| Key::read(name).ours);
    let public = one.public();
    let again = PublicKey::from_components(&public.modulus(), &public.exponent()).unwrap();
    let keys = std::collections::HashSet::from([public.clone(), again.clone()]);
    assert_eq!((public, keys.len()), (&again, 1));
    assert_ne!(public, other.public());
    assert_ne!(*public, PublicKey::from_components(&public.modulus(), &[3]).unwrap());
}
