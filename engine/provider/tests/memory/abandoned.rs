//! Jobs that are paused and never resumed, as when a client breaks off a handshake: libcrypto leaks
//! their stacks, and the provider leaks nothing.

use std::fs;
use std::os::unix::net::UnixListener;

use tollgate_curves::X25519;
use tollgate_keyless::Stub;
use tollgate_rerun::alone;

use crate::allocator::{in_use, is_in_use, left_behind};
use crate::host::job::Job;
use crate::host::libcrypto::{self, EVP_PKEY_CTX};
use crate::host::x25519::ANY;
use crate::host::{DEFAULT, DEMAND, Host, Key, Operation, PREFER, has_lanes, pem};
use crate::x25519::{is_in, masked};

/// An operation in a job, without Rust objects on the job's stack. When dropped, it frees its parts
/// in the same order as `SSL_free` does in a handshake.
struct InJob<'a> {
    job: Job<'a>,
    _operation: Operation,
    _len: Box<usize>,
}

impl<'a> InJob<'a> {
    /// `run` gets the context, a buffer, and the length of the buffer.
    fn new(
        operation: Operation,
        out: &'a mut [u8],
        has_callback: bool,
        run: impl Fn(*mut EVP_PKEY_CTX, *mut u8, *mut usize) + 'a,
    ) -> Self {
        let mut len = Box::new(out.len());
        let (context, out, out_len) = (operation.0, out.as_mut_ptr(), &raw mut *len);
        let in_job = move || run(context, out, out_len);
        let job = if has_callback { Job::with_callback(in_job) } else { Job::new(in_job) };
        Self { job, _operation: operation, _len: len }
    }

    /// Signs with this provider. The key is freed before, so only the operation holds it.
    fn signing(host: &Host, key: &str, out: &'a mut [u8]) -> Self {
        let operation = host.operation(&host.key(key), DEMAND);
        operation.init(libcrypto::EVP_PKEY_sign_init_ex, &[]).unwrap();
        Self::new(operation, out, false, |context, out, len| {
            // SAFETY: a context, a buffer of the key's size, and a message.
            unsafe { libcrypto::EVP_PKEY_sign(context, out, len, b"message".as_ptr(), 7) };
        })
    }

    fn deriving(host: &Host, key: &Key, peer: &Key, out: &'a mut [u8; 32]) -> Self {
        let operation = host.exchange(ANY, key, peer).unwrap();
        Self::new(operation, out, true, |context, out, len| {
            // SAFETY: a context, and a buffer of the secret's size.
            unsafe { libcrypto::EVP_PKEY_derive(context, out, len) };
        })
    }

    fn finish(mut self) {
        if !self.job.resume() {
            self.job.finish();
        }
    }
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// The moment when a job is abandoned.
#[derive(Clone, Copy, PartialEq)]
enum Request {
    /// While its request is in the queue.
    Waits,
    /// After another job has executed its request, and the result is available.
    IsDone,
}

/// Abandons `jobs` jobs. For each of them, another job starts and finishes. Returns the increase of
/// memory in use, in bytes.
fn growth(host: &Host, pem: &str, jobs: u64, request: Request) -> usize {
    let mut buffers = [vec![0; 512], vec![0; 512]];
    let counts = || ["signatures", "batches"].map(|name| host.counter(name));
    let (before, [signed, batches]) = (in_use(), counts());
    for _ in 0..jobs {
        let [nowhere, out] = &mut buffers;
        let mut abandoned = InJob::signing(host, pem, nowhere);
        assert!(!abandoned.job.resume());
        let other = InJob::signing(host, pem, out);
        // The job that finishes executes the requests in the queue.
        if request == Request::Waits {
            drop(abandoned);
            other.finish();
        } else {
            other.finish();
            drop(abandoned);
        }
        out.fill(0);
    }
    // An engine has 256 slots. If abandoned jobs did not return their slots, the last jobs would
    // not be batched.
    let together = if has_lanes() && request == Request::IsDone { jobs } else { 0 };
    assert_eq!(counts(), [signed + jobs, batches + together]);
    in_use().saturating_sub(before)
}

/// At most fifty bytes for each job.
const GROWTH_MAX: u64 = 50;

#[test]
fn signatures_leak_no_memory_of_the_provider() {
    alone("abandoned::signatures_leak_no_memory_of_the_provider", signatures_alone);
}

fn signatures_alone() {
    let host = Host::builtin();
    for (name, request, jobs) in [
        ("rsa-4096.pem", Request::Waits, 20),
        ("rsa-4096.pem", Request::IsDone, 20),
        // More jobs than slots.
        ("rsa-1024.pem", Request::IsDone, 260),
    ] {
        let pem = pem(name);
        let mut signature = vec![0; 512];
        InJob::signing(&host, &pem, &mut signature).finish();
        let masked = masked(&signature);
        assert!(is_in_use(|memory| is_in(memory, &masked)), "the signature is found in use");
        let ((), left) = left_behind(|| drop(signature));
        assert!(is_in(&left, &masked), "and after it was freed");
        drop(left);

        let fds = descriptors();
        let (growth, left) = left_behind(|| growth(&host, &pem, jobs, request));
        let is_left = is_in(&left, &masked) || is_in_use(|memory| is_in(memory, &masked));
        assert!(!is_left, "results are wiped");
        assert!(growth as u64 <= jobs * GROWTH_MAX, "memory of the provider leaks: {growth} bytes");
        assert_eq!(descriptors(), fds);
    }
}

/// Starts derivations after one another, so that further ones wait for others. The sixteenth is the
/// first that waits.
fn fill_batches(host: &Host, key: &Key, peer: &Key) {
    for _ in 0..2 {
        let mut outs = [[0; 32]; 20];
        let mut all: Vec<_> =
            outs.iter_mut().map(|out| InJob::deriving(host, key, peer, out)).collect();
        all.retain_mut(|derivation| !derivation.job.resume());
        all.iter_mut().for_each(|derivation| while !derivation.job.resume() {});
    }
}

/// Abandons derivations while their requests wait, and after another job has run them.
fn abandon_derivations(host: &Host, peer: &Key, jobs: usize) -> Vec<u8> {
    let key = host.new_x25519(ANY);
    fill_batches(host, &key, peer);
    let (mut nowhere, mut out) = ([0; 32], [0; 32]);
    for number in 0..jobs {
        let mut abandoned = InJob::deriving(host, &key, peer, &mut nowhere);
        assert!(!abandoned.job.resume(), "it waits");
        if number % 2 == 0 {
            drop(abandoned);
        } else {
            let mut other = InJob::deriving(host, &key, peer, &mut out);
            while !other.job.resume() {}
            drop(abandoned);
        }
        fill_batches(host, &key, peer);
    }
    masked(&out)
}

#[test]
fn derivations_leak_nothing() {
    alone("abandoned::derivations_leak_nothing", derivations_alone);
}

fn derivations_alone() {
    if !X25519::best().has_lanes() {
        println!("not tested: without lanes there are no batches");
        return;
    }
    let Some(host) = Host::with_curves("x25519 = on") else { return };
    let peer = host.new_x25519(DEFAULT);
    abandon_derivations(&host, &peer, 2);
    let (before, open, jobs) = (in_use(), descriptors(), 20);
    let (secret, left) = left_behind(|| abandon_derivations(&host, &peer, jobs));
    assert!(!is_in(&left, &secret), "requests and answers are wiped");
    drop(left);
    assert!(!is_in_use(|memory| is_in(memory, &secret)));
    assert_eq!(host.counter("abandoned-operations"), 2 + jobs as u64);
    assert_eq!(in_use() - secret.len(), before, "nothing leaks");
    assert_eq!(descriptors(), open);
}

#[test]
fn requests_to_a_signer_leak_nothing() {
    alone("abandoned::requests_to_a_signer_leak_nothing", requests_alone);
}

fn abandon_requests(host: &Host, stub: &str, jobs: usize) {
    for _ in 0..jobs {
        let operation = host.operation(&host.key(stub), PREFER);
        let digest = libcrypto::text(c"digest", c"SHA256");
        operation.init(libcrypto::EVP_PKEY_sign_init_ex, &[digest]).unwrap();
        let mut out = [0; 256];
        let mut request = InJob::new(operation, &mut out, false, |context, out, len| {
            // SAFETY: a context, a buffer of the key's size, and a digest.
            unsafe { libcrypto::EVP_PKEY_sign(context, out, len, [7; 32].as_ptr(), 32) };
        });
        assert!(!request.job.resume(), "it waits");
    }
}

fn requests_alone() {
    let path = std::env::temp_dir().join(format!("tollgate-abandoned-{}", std::process::id()));
    let _ = fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap(); // it answers nobody
    let host = Host::configured(&format!("remote = unix:{}", path.display()));
    let key = openssl::pkey::PKey::private_key_from_pem(pem("rsa-2048.pem").as_bytes()).unwrap();
    let stub = Stub::new(key.public_key_to_der().unwrap()).unwrap().to_pem();
    abandon_requests(&host, &stub, 3);
    let (before, open) = (in_use(), descriptors());
    abandon_requests(&host, &stub, 30);
    let grown = in_use().saturating_sub(before);
    assert_eq!(descriptors(), open);
    assert_eq!(host.counter("abandoned-operations"), 33);
    assert_eq!(grown, 0, "{grown} bytes of 30 jobs");
    drop(listener);
    fs::remove_file(&path).unwrap();
}
