//! A signer with a GPU, which the emulation of the driver stands for, and one without any.

#[path = "../../../cuda/tests/emulated/compiled.rs"]
mod compiled;

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use tollgate_cuda::{Batch, Device, Failure, Gpu, Kernel, Mark, Memory, Numbers, Policy, Size};
use tollgate_keyless::{Operation, PING, RESPONSE};
use tollgate_rsa::Hash;
use tollgate_signer::{Error, Running, Signer};

use crate::rig::{
    Folder, Rig, SIGN, digest, is_valid, is_valid_for, own_client, read, request, settings, ski,
};

const ECDSA: Operation = Operation::SignEcdsa(Hash::Sha256);

/// The behaviour of a device.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    Fails,
    None,
    /// Changes one bit of each result on its way to the host.
    Wrong,
}

/// The faults that a test gives a device.
struct Control {
    /// Kernels wait for this lock.
    fault: Mutex<Fault>,
    /// Kernels that were launched or wait.
    launches: AtomicUsize,
}

impl Control {
    fn new(fault: Fault) -> Arc<Self> {
        Arc::new(Self { fault: Mutex::new(fault), launches: AtomicUsize::new(0) })
    }
}

/// A device that a test breaks or holds.
struct Emulated {
    gpu: Gpu,
    fill: usize,
    control: Arc<Control>,
}

impl Device for Emulated {
    fn name(&self) -> &str {
        self.gpu.name()
    }

    fn fill(&self, _size: Size, numbers: Numbers) -> Option<usize> {
        (numbers == Numbers::Words).then_some(self.fill)
    }

    fn allocate(&mut self, bytes: usize) -> Result<Memory, Failure> {
        self.gpu.allocate(bytes)
    }

    fn write(&mut self, to: Memory, offset: usize, bytes: &[u8]) -> Result<(), Failure> {
        self.gpu.write(to, offset, bytes)
    }

    fn read(
        &mut self,
        from: Memory,
        offset: usize,
        into: &mut [u8],
        limit: Duration,
    ) -> Result<(), Failure> {
        self.gpu.read(from, offset, into, limit)?;
        // Results have the size of a key; statuses are shorter.
        if *self.control.fault.lock().unwrap() == Fault::Wrong && into.len() >= 128 {
            into[0] ^= 1;
        }
        Ok(())
    }

    fn clear(&mut self, memory: Memory) -> Result<(), Failure> {
        self.gpu.clear(memory)
    }

    fn launch(&mut self, kernel: Kernel, size: Size, batch: &Batch) -> Result<(), Failure> {
        self.control.launches.fetch_add(1, Ordering::Relaxed);
        if *self.control.fault.lock().unwrap() == Fault::Fails {
            let why = "CUDA_ERROR_LAUNCH_FAILED".to_owned();
            return Err(Failure::Call { call: "cuLaunchKernel", why });
        }
        self.gpu.launch(kernel, size, batch)
    }

    fn mark(&mut self, mark: Mark) -> Result<(), Failure> {
        self.gpu.mark(mark)
    }

    fn between(&mut self, from: Mark, to: Mark) -> Result<Duration, Failure> {
        self.gpu.between(from, to)
    }
}

/// Opens the emulation, with memory of its own: a library has one state for each file.
fn emulated(folder: &Folder, fill: usize, control: &Arc<Control>) -> Box<Emulated> {
    let driver = folder.path("driver");
    fs::copy(compiled::compiled(), &driver).unwrap();
    Box::new(Emulated { gpu: Gpu::open_with(&driver).unwrap(), fill, control: Arc::clone(control) })
}

/// A policy that sends everything to the device, which is slower than any processor.
fn always() -> Policy {
    let long = Duration::from_secs(120);
    Policy { cores: 0, batch_time_max: long, timeout: long, retry: long }
}

fn text(folder: &Folder) -> String {
    let client = own_client(r#"["site", "curve"]"#, r#"["sign"]"#);
    let before = "unit = \"gpu\"\nseccomp = false\nmetrics = \"127.0.0.1:0\"\n";
    before.to_owned() + &settings(folder, &client)
}

/// Starts a signer with this number of workers and a device that `fill` operations fill.
fn start(workers: usize, fill: usize) -> (Rig, Arc<Control>) {
    let (folder, control) = (Folder::new(), Control::new(Fault::None));
    let device = emulated(&folder, fill, &control);
    let text = text(&folder).replace("workers = 2", &format!("workers = {workers}"));
    let rig =
        Rig::new(folder, &text, |config, say| Signer::start_on(config, device, always(), say));
    assert_eq!(said(&rig), ["large batches of RSA operations may go to Emulated H200"]);
    (rig, control)
}

/// Takes the lines for the operator.
fn said(rig: &Rig) -> Vec<String> {
    core::mem::take(&mut *rig.said.lock().unwrap())
}

#[track_caller]
fn assert_counts(rig: &Rig, lines: &[&str]) {
    let text = rig.metrics();
    for line in lines {
        assert!(text.contains(&format!("tollgate_signer_gpu_{line}\n")), "{line} in {text}");
    }
}

#[track_caller]
fn signs(rig: &Rig, key: &str, operation: Operation) {
    let signature = rig.connect().run(key, operation, &digest()).unwrap();
    assert!(is_valid(key, operation, &signature));
}

#[test]
fn signatures_of_a_gpu_are_valid_and_ecdsa_stays_on_the_processor() {
    let (rig, _) = start(2, 8);
    assert_counts(&rig, &["in_use 1", "batches_total 0", "operations_total 0"]);
    signs(&rig, "rsa-2048.pem", SIGN);
    signs(&rig, "rsa-2048.pem", Operation::SignPss(Hash::Sha256));
    signs(&rig, "ec-p256.pem", ECDSA);
    assert_counts(
        &rig,
        &[
            "in_use 1",
            "batches_total 2",
            "operations_total 2",
            "failures_total{kind=\"device\"} 0",
            "failures_total{kind=\"result\"} 0",
        ],
    );
    assert_eq!(rig.running.counts().requests_of("sign", "done"), 3);
    assert!(said(&rig).is_empty());
}

/// The requests that come while a worker waits for a batch fill the next batches of the device:
/// more than the 64 of a turn without a GPU.
#[test]
fn a_turn_has_the_operations_of_two_batches() {
    const FILL: usize = 48;
    const EACH: u32 = 32;
    let (rig, control) = start(1, FILL);
    let mut clients = [rig.connect(), rig.connect(), rig.connect(), rig.connect()];
    for client in &mut clients {
        client.send(&request(1, None, PING, &[]));
        client.receive().unwrap(); // it is accepted
    }
    let [first, others @ ..] = &mut clients;
    let held = control.fault.lock().unwrap();
    let launched = || control.launches.load(Ordering::Relaxed);
    let before = launched();
    let name = Some(ski("rsa-2048.pem"));
    first.send(&request(0, name, SIGN.code(), &digest()));
    while launched() == before {
        thread::sleep(Duration::from_millis(1));
    }
    let message = |at| format!("request {at}");
    for client in &mut *others {
        let ask = |at| {
            request(at, name, SIGN.code(), Hash::Sha256.digest(message(at).as_bytes()).as_ref())
        };
        client.send(&(0..EACH).flat_map(ask).collect::<Vec<u8>>());
    }
    drop(held);
    first.receive().unwrap();
    for client in others {
        for _ in 0..EACH {
            let (id, opcode, signature) = client.receive().unwrap();
            assert_eq!(opcode, RESPONSE);
            assert!(is_valid_for(message(id).as_bytes(), "rsa-2048.pem", SIGN, &signature));
        }
    }
    let counts = rig.running.counts();
    assert_eq!((counts.fill[1], counts.fill[FILL]), (1, 2), "{:?}", counts.fill);
    assert_eq!(counts.gpu.unwrap().operations, 1 + 2 * FILL as u64);
}

#[test]
fn the_lanes_take_over_from_a_gpu_that_fails_or_is_wrong() {
    for (value, kind, other, what) in [
        (Fault::Fails, "device", "result", "the GPU failed: cuLaunchKernel returned CUDA_ERROR"),
        (Fault::Wrong, "result", "device", "Emulated H200 gave wrong results (1)"),
    ] {
        let (rig, control) = start(2, 8);
        signs(&rig, "rsa-2048.pem", SIGN);
        *control.fault.lock().unwrap() = value;
        for _ in 0..3 {
            signs(&rig, "rsa-2048.pem", SIGN);
            signs(&rig, "ec-p256.pem", ECDSA);
        }
        let lines = said(&rig);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with(what) && lines[0].contains("restart"), "{lines:?}");
        assert!(lines[1].contains("the processor does its work"), "{lines:?}");
        assert_counts(
            &rig,
            &[
                "in_use 0",
                &format!("failures_total{{kind=\"{kind}\"}} 1"),
                &format!("failures_total{{kind=\"{other}\"}} 0"),
            ],
        );
        assert_eq!(rig.running.counts().requests_of("sign", "done"), 7);
    }
}

fn why_not(started: Result<Running, Error>) -> String {
    let text = started.err().expect("it does not start").to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn a_gpu_that_fails_its_self_test_is_not_used() {
    for (value, what) in
        [(Fault::Fails, "the GPU failed: cuLaunchKernel"), (Fault::Wrong, "failed its self test")]
    {
        let folder = Folder::new();
        let device = emulated(&folder, 8, &Control::new(value));
        let config = read(&folder, &text(&folder)).unwrap();
        let say = |line: &str| panic!("{line}");
        let why = why_not(Signer::start_on(config, device, always(), say));
        assert!(why.starts_with("`unit = \"gpu\"`: ") && why.contains(what), "{why}");
        assert!(!folder.path("socket").exists());
    }
}

/// The check needs no GPU, and the start says in one line that there is none.
#[test]
#[allow(clippy::print_stderr, reason = "a test that did not run says so")]
fn a_signer_without_a_gpu_does_not_start_with_it() {
    let folder = Folder::new();
    let config = read(&folder, &text(&folder)).unwrap();
    Signer::check(&config).unwrap();
    if Path::new("/dev/nvidiactl").exists() {
        eprintln!("not tested: this machine has a GPU");
        return;
    }
    let why = why_not(Signer::start(config, |_| ()));
    assert!(why.starts_with("`unit = \"gpu\"`: no NVIDIA driver") && why.contains("must install"));
}
