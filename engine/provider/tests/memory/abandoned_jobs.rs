//! Jobs that are paused and never resumed, as when a client breaks off a handshake:
//! libcrypto leaks their stacks, and the provider leaks nothing.

use tollgate_rerun::alone;

use crate::allocator::{in_use, is_in_use, left_behind};
use crate::host::job::Job;
use crate::host::libcrypto;
use crate::host::{DEMAND, Host, Key, Operation, has_lanes, pem};

/// An operation in a job, without Rust objects on the job's stack. When dropped, it frees its parts
/// in the same order as `SSL_free` does in a handshake.
struct Signing<'a> {
    job: Job<'a>,
    is_paused: bool,
    _operation: Operation,
    _key: Key,
    _len: Box<usize>,
}

impl<'a> Signing<'a> {
    /// Starts the operation, with `out` for the signature.
    fn start(host: &Host, pem: &str, out: &'a mut [u8]) -> Self {
        let key = host.key(pem);
        let operation = host.operation(&key, DEMAND);
        operation.init(libcrypto::EVP_PKEY_sign_init_ex, &[]).unwrap();
        let mut len = Box::new(out.len());
        let (context, out, out_len) = (operation.0, out.as_mut_ptr(), &raw mut *len);
        let mut job = Job::new(move || {
            let tbs: &[u8] = b"a message";
            // SAFETY: a context, a buffer of the key's size, and a message.
            unsafe { libcrypto::EVP_PKEY_sign(context, out, out_len, tbs.as_ptr(), tbs.len()) };
        });
        let is_paused = !job.resume();
        Self { job, is_paused, _operation: operation, _key: key, _len: len }
    }

    fn finish(self) {
        if self.is_paused {
            self.job.finish();
        }
    }
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
        let abandoned = Signing::start(host, pem, nowhere);
        assert!(abandoned.is_paused);
        // The job that finishes executes the requests in the queue.
        match request {
            Request::Waits => {
                drop(abandoned);
                Signing::start(host, pem, out).finish();
            }
            Request::IsDone => {
                Signing::start(host, pem, out).finish();
                drop(abandoned);
            }
        }
        out.fill(0);
    }
    // An engine has 256 slots. If abandoned jobs did not return their slots, the last jobs would
    // not be batched.
    let together = if has_lanes() && request == Request::IsDone { jobs } else { 0 };
    assert_eq!(counts(), [signed + jobs, batches + together]);
    in_use().saturating_sub(before)
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// At most fifty bytes for each job.
const GROWTH_MAX: u64 = 50;

#[test]
fn abandoned_jobs_leak_no_memory_of_the_provider() {
    alone("abandoned_jobs::abandoned_jobs_leak_no_memory_of_the_provider", abandon_alone);
}

fn abandon_alone() {
    let host = Host::builtin();
    for (name, request, jobs) in [
        ("rsa-4096.pem", Request::Waits, 20),
        ("rsa-4096.pem", Request::IsDone, 20),
        // More jobs than slots.
        ("rsa-1024.pem", Request::IsDone, 260),
    ] {
        let pem = pem(name);
        let mut signature = vec![0; 512];
        Signing::start(&host, &pem, &mut signature).finish();
        let masked: Vec<u8> = signature[8..16].iter().map(|byte| !byte).collect();
        let is_in = |bytes: &[u8]| {
            bytes.windows(8).any(|eight| eight.iter().zip(&masked).all(|(one, not)| *one == !not))
        };
        assert!(is_in_use(is_in), "the signature is found in use");
        let ((), left) = left_behind(|| drop(signature));
        assert!(is_in(&left), "and after it was freed");
        drop(left);
        assert!(!is_in_use(is_in));

        let fds = descriptors();
        let (growth, left) = left_behind(|| growth(&host, &pem, jobs, request));
        assert!(!is_in(&left) && !is_in_use(is_in), "results are wiped");
        assert!(growth as u64 <= jobs * GROWTH_MAX, "memory of the provider leaks: {growth} bytes");
        assert_eq!(descriptors(), fds);
    }
}
