//! Tests of the files of counters. Each test has its own folder.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// A folder for one test. It is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tollgate-{name}-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn metrics(&self) -> Arc<Metrics> {
        Metrics::new(&self.0, Arc::new(Counters::default()), Weak::<()>::new())
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Returns the text of the only file in the folder.
    fn text(&self) -> String {
        let names = self.names();
        assert_eq!(names.len(), 1, "{names:?}");
        fs::read_to_string(self.0.join(&names[0])).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::set_permissions(&self.0, fs::Permissions::from_mode(0o700));
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn count(metrics: &Arc<Metrics>, event: Event) {
    metrics.wake(metrics.counters.count(event));
}

#[test]
fn the_first_count_is_written_soon_and_the_last_at_the_end() {
    let folder = Folder::new("written");
    let metrics = folder.metrics();
    count(&metrics, Event::Signature);
    while folder.names().iter().all(|name| !name.ends_with(".prom")) {
        thread::sleep(Duration::from_millis(1));
    }
    count(&metrics, Event::Decryption);
    metrics.close();
    let text = folder.text();
    let context = metrics.context;
    let labels = format!("{{pid=\"{}\",context=\"{context}\",program=", process::id());
    for (name, value) in
        [("signatures", 1), ("decryptions", 1), ("keys", 0), ("unwritten_metrics", 0)]
    {
        let start = format!("\ntollgate_{name}_total{labels}");
        let line = text.split_once(&start).expect(name).1.lines().next().unwrap();
        assert!(line.ends_with(&format!("}} {value}")), "{line}");
        assert!(text.contains(&format!("# TYPE tollgate_{name}_total counter\n")), "{text}");
        assert!(text.contains(&format!("# HELP tollgate_{name}_total ")), "{text}");
    }
    assert_eq!(folder.names(), [format!("tollgate-{}-{context}.prom", process::id())]);
}

#[test]
fn no_file_is_written_without_a_count() {
    let folder = Folder::new("nothing");
    folder.metrics().close();
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn a_missing_folder_is_counted_and_may_be_created_later() {
    let folder = Folder::new("later");
    fs::remove_dir(&folder.0).unwrap();
    let metrics = folder.metrics();
    count(&metrics, Event::Signature);
    while metrics.counters.read(Event::UnwrittenMetrics) == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    fs::create_dir(&folder.0).unwrap();
    metrics.close();
    let text = folder.text();
    let failures = text.lines().find(|line| line.starts_with("tollgate_unwritten_metrics_total"));
    assert!(failures.unwrap().ends_with(" 1"), "{text}");
}

#[test]
fn old_files_are_replaced_and_links_not_followed() {
    let folder = Folder::new("left-over");
    let elsewhere = Folder::new("elsewhere");
    let victim = elsewhere.0.join("victim");
    fs::write(&victim, "mine").unwrap();
    let metrics = folder.metrics();
    let new = folder.0.join(format!(".tollgate-{}-{}.new", process::id(), metrics.context));
    std::os::unix::fs::symlink(&victim, &new).unwrap();
    metrics.counters.count(Event::Key);
    metrics.close();
    assert!(folder.text().contains("tollgate_keys_total"));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
}

#[test]
fn failed_writes_leave_no_file() {
    let folder = Folder::new("refused");
    let long = "x".repeat(300);
    assert!(file::replace(&folder.0, &long, "text").is_err());
    assert_eq!(folder.names(), [""; 0]);
    assert!(file::replace(Path::new("/proc"), "tollgate", "text").is_err());
}

/// The marks are set as in a program that forbids threads.
#[test]
fn operations_write_if_no_thread_can_start() {
    let folder = Folder::new("threadless");
    let metrics = folder.metrics();
    metrics.active.store(fork_generation(), Ordering::SeqCst);
    metrics.threadless.store(fork_generation(), Ordering::SeqCst);
    let last = u64::MAX / 2;
    metrics.written_ms.store(last, Ordering::SeqCst);
    count(&metrics, Event::Signature);
    assert_eq!(folder.names(), [""; 0], "it is not due");
    // A provider that was made an hour ago.
    let metrics = Metrics { created: Instant::now() - Duration::from_secs(3600), ..fresh(&folder) };
    let metrics = Arc::new(metrics);
    metrics.active.store(fork_generation(), Ordering::SeqCst);
    metrics.threadless.store(fork_generation(), Ordering::SeqCst);
    count(&metrics, Event::Signature);
    assert!(folder.text().contains("tollgate_signatures_total"));
}

fn fresh(folder: &Folder) -> Metrics {
    Arc::into_inner(folder.metrics()).unwrap()
}

#[test]
fn waits_for_a_writer_of_this_process_only() {
    let mark = AtomicU64::new(NOBODY);
    let turn = WriteLock::acquire(&mark, 7).unwrap();
    assert!(WriteLock::acquire(&mark, 7).is_none());
    // This is the state of a child that was forked while its parent wrote.
    drop(WriteLock::acquire(&mark, 8).unwrap());
    drop(turn);
    assert!(WriteLock::acquire(&mark, 7).is_some());
}
