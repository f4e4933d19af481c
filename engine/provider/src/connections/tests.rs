use core::sync::atomic::AtomicBool;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread;

use rustix::io::Errno;
use tollgate_keyless::{RESPONSE, Split, split};

use super::flight::{BODY_MAX, open};
use super::*;

/// The limit of operations that a signer answers.
const LONG: Duration = Duration::from_secs(20);
/// The limit of those that it does not.
const SHORT: Duration = Duration::from_millis(40);

/// A socket, removed when dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let name = format!("tollgate-connections-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn bind(&self) -> UnixListener {
        let _ = fs::remove_file(&self.0);
        UnixListener::bind(&self.0).unwrap()
    }

    fn ask(&self, connections: &Connections, limit: Duration) -> Result<Vec<u8>, Failure> {
        let flight = connections.begin(REQUEST, limit)?;
        connections.wait(flight, &self.0, limit).map(|result| result.to_vec())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Answers requests with their payload until the connection ends.
fn answer(mut stream: UnixStream) {
    let mut request = vec![0; 1024];
    while stream.read_exact(&mut request).is_ok() {
        let Split::Frame { frame, .. } = split(&request, BODY_MAX) else { panic!() };
        let message = Message::read(frame).unwrap();
        let mut bytes = Vec::new();
        Message { opcode: RESPONSE, ski: None, ..message }.write(&mut bytes);
        if stream.write_all(&bytes).is_err() {
            break; // the client did not wait
        }
    }
}

/// Answers on each connection.
fn serve(listener: UnixListener) {
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            thread::spawn(move || answer(stream));
        }
    });
}

const REQUEST: (Ski, Operation, &[u8]) = (Ski::new([1; 20]), Operation::Decrypt, &[7; 64]);

impl Connections {
    fn silence(&self) -> Option<Duration> {
        self.state().silence.map(|silence| silence.length)
    }

    fn is_silent(&self) -> bool {
        self.state().silence.is_some_and(|silence| Instant::now() < silence.until)
    }

    fn end_silence(&self) {
        self.state().silence.as_mut().unwrap().until = Instant::now();
    }
}

#[test]
fn silences_grow_until_an_answer_comes() {
    let place = Place::new("silence");
    let listener = place.bind();
    let connections = Connections::default();
    for expected in [SHORT, 2 * SHORT, 4 * SHORT] {
        assert!(matches!(place.ask(&connections, SHORT), Err(Failure::Late)));
        assert_eq!(connections.silence(), Some(expected));
        connections.state().silence.as_mut().unwrap().until = Instant::now() + LONG;
        let begin = Instant::now();
        for _ in 0..10 {
            assert!(matches!(place.ask(&connections, LONG), Err(Failure::Silent)));
        }
        assert!(begin.elapsed() < LONG, "they fail at once");
        connections.end_silence();
    }
    connections.state().silence.as_mut().unwrap().length = SILENCE_MAX;
    assert!(matches!(place.ask(&connections, SHORT), Err(Failure::Late)));
    assert_eq!(connections.silence(), Some(SILENCE_MAX));
    serve(listener);
    connections.end_silence();
    assert_eq!(place.ask(&connections, LONG).unwrap(), [7; 64]);
    assert_eq!(connections.silence(), None);
}

/// While one operation tries, others fail at once. Its late end does not double the silence of one
/// that began before.
#[test]
fn one_operation_tries_at_the_end_of_a_silence() {
    let connections = Connections::default();
    let flight = |is_trial| Flight::new(1, Vec::new(), None, Instant::now(), is_trial);
    let late = |is_trial| {
        let result = connections.end(flight(is_trial), Err(Failure::Late), LONG);
        assert!(matches!(result, Err(Failure::Late)));
    };
    late(false);
    late(false);
    assert_eq!(connections.silence(), Some(LONG), "two operations began before it");
    connections.end_silence();
    assert!(connections.begin(REQUEST, LONG).is_ok_and(|flight| flight.is_trial));
    assert!(matches!(connections.begin(REQUEST, LONG), Err(Failure::Silent)));
    late(true);
    assert_eq!(connections.silence(), Some(SILENCE_MAX));
    assert!(connections.is_silent());
    // Another operation's answer ends it.
    let place = Place::new("trial");
    serve(place.bind());
    let socket = Some(open(&place.0).unwrap());
    let answered = Flight::new(1, Vec::new(), socket, Instant::now(), false);
    assert!(connections.end(answered, Ok(Ok(Zeroizing::new(vec![1]))), LONG).is_ok());
    let next = connections.begin(REQUEST, LONG).unwrap();
    assert!(!next.is_trial && next.is_old && next.socket.is_some());
}

#[test]
fn a_late_answer_drops_all_connections() {
    let place = Place::new("late");
    let listener = place.bind();
    let connections = Connections::default();
    let sockets = [(); 3].map(|()| open(&place.0).unwrap());
    connections.state().idle.extend(sockets.map(Idle::new));
    assert!(matches!(place.ask(&connections, SHORT), Err(Failure::Late)));
    assert!(connections.state().idle.is_empty());
    drop(listener);
}

/// The signer accepts no connection. One that is there still serves in the silence, and ends it.
#[test]
fn an_old_connection_serves_while_the_socket_is_full() {
    let place = Place::new("full");
    let listener = place.bind();
    rustix::net::listen(&listener, 0).unwrap();
    let connections = Connections::default();
    let old = open(&place.0).unwrap();
    let stream = listener.accept().unwrap().0;
    thread::spawn(move || answer(stream));
    let _first = open(&place.0).unwrap();
    let late = connections.begin(REQUEST, SHORT).unwrap();
    connections.state().idle.push(Idle::new(old));
    assert!(matches!(connections.wait(late, &place.0, SHORT), Err(Failure::Late)));
    assert_eq!(connections.silence(), Some(SHORT));
    connections.state().silence.as_mut().unwrap().until = Instant::now() + LONG;
    let served = connections.begin(REQUEST, LONG).unwrap();
    assert!(matches!(connections.begin(REQUEST, LONG), Err(Failure::Silent)));
    assert!(connections.wait(served, &place.0, LONG).is_ok());
    assert_eq!(connections.silence(), None);
}

#[test]
fn an_operation_with_little_time_begins_no_silence() {
    let place = Place::new("short");
    let _listener = place.bind();
    let connections = Connections::default();
    let mut flight = connections.begin(REQUEST, SHORT).unwrap();
    flight.is_short = true;
    connections.state().idle.push(Idle::new(open(&place.0).unwrap()));
    assert!(matches!(connections.wait(flight, &place.0, SHORT), Err(Failure::Late)));
    assert_eq!((connections.silence(), connections.state().idle.len()), (None, 1));
}

/// The second request goes over the first connection, which has ended.
#[test]
fn a_connection_that_has_ended_is_replaced() {
    let place = Place::new("ended");
    let listener = place.bind();
    let connections = Connections::default();
    let signer = thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let mut request = vec![0; 1024];
        stream.read_exact(&mut request).unwrap();
        let Split::Frame { frame, .. } = split(&request, BODY_MAX) else { panic!() };
        let mut bytes = Vec::new();
        let message = Message::read(frame).unwrap();
        Message { opcode: RESPONSE, ski: None, ..message }.write(&mut bytes);
        stream.write_all(&bytes).unwrap();
    });
    assert!(place.ask(&connections, LONG).is_ok());
    signer.join().unwrap();
    assert_eq!(connections.state().idle.len(), 1);
    serve(place.bind());
    assert!(place.ask(&connections, LONG).is_ok());
}

/// Another file has the number of an old socket.
#[test]
fn a_descriptor_of_the_program_is_neither_used_nor_closed() {
    let place = Place::new("descriptor");
    serve(place.bind());
    let connections = Connections::default();
    assert!(place.ask(&connections, LONG).is_ok());
    let file = File::open("/proc/self/status").unwrap();
    let number = {
        let mut state = connections.state();
        let socket = state.idle[0].socket.as_mut().unwrap();
        rustix::io::dup2(&file, socket).unwrap();
        socket.as_raw_fd()
    };
    assert!(place.ask(&connections, LONG).is_ok());
    let target = fs::read_link(format!("/proc/self/fd/{number}")).unwrap();
    assert!(target.ends_with("status"), "{target:?}");
}

#[test]
fn failures_say_who_must_act() {
    let place = Place::new("failures");
    let ask = || place.ask(&Connections::default(), LONG).unwrap_err().to_string();
    assert!(ask().contains("start it") && ask().contains("chroot"), "{}", ask());
    drop(place.bind());
    assert!(ask().contains("refused") && ask().contains("start it"), "{}", ask());
    let listener = place.bind();
    let is_cut = Arc::new(AtomicBool::new(false));
    let cut = Arc::clone(&is_cut);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if cut.load(Ordering::Relaxed) {
                stream.read_exact(&mut [0; 1024]).unwrap();
                stream.write_all(&[1, 0]).unwrap();
            }
        }
    });
    assert!(ask().contains("[[client]]"));
    is_cut.store(true, Ordering::Relaxed);
    assert!(ask().contains("ended within its answer"));
    for (why, remedy) in [
        (Errno::ACCESS, "permission for the socket"),
        (Errno::MFILE, "limit of open files"),
        (Errno::AFNOSUPPORT, "AF_UNIX"),
    ] {
        assert!(Failure::Gone(why).to_string().contains(remedy), "{why}");
    }
}
