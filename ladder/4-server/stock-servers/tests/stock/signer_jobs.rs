//! HAProxy pauses handshakes while a signer works: one thread has several requests in flight.

use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use core::time::Duration;
use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;

use tollgate_stock_servers::{Product, Settings};

use crate::rig::{
    PROTOCOLS, becomes, confirmed, counted, eventually, load, plan, settle, start, with_provider,
};
use crate::signer::Place;

/// The time that a request takes at least.
const SLOW: Duration = Duration::from_millis(40);

/// Counts the requests that are in flight now, and the most that were at a time.
#[derive(Default)]
struct InFlight {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// Passes requests on to the signer, slowly.
fn pass_on(mut stream: UnixStream, place: &Place, in_flight: &InFlight) {
    let mut signer = UnixStream::connect(place.socket()).unwrap();
    let mut frame = vec![0; 1024];
    while stream.read_exact(&mut frame).is_ok() {
        in_flight.most.fetch_max(in_flight.now.fetch_add(1, SeqCst) + 1, SeqCst);
        thread::sleep(SLOW);
        signer.write_all(&frame).unwrap();
        signer.read_exact(&mut frame).unwrap();
        in_flight.now.fetch_sub(1, SeqCst);
        if stream.write_all(&frame).is_err() {
            break; // the server stops
        }
    }
}

/// The signer is slow, and the thread serves other clients meanwhile.
#[test]
fn one_thread_has_requests_of_several_handshakes_in_flight() {
    let place = Arc::new(Place::new("rsa-2048.pem"));
    let signing = place.start();
    let relay = place.socket().with_extension("relay");
    let listener = UnixListener::bind(&relay).unwrap();
    fs::set_permissions(&relay, Permissions::from_mode(0o666)).unwrap();
    let in_flight = Arc::new(InFlight::default());
    let (place_of_relay, of_relay) = (Arc::clone(&place), Arc::clone(&in_flight));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (place, in_flight) = (Arc::clone(&place_of_relay), Arc::clone(&of_relay));
            thread::spawn(move || pass_on(stream.unwrap(), &place, &in_flight));
        }
    });
    let mut settings = place.settings(Settings { asynchronous: true, ..with_provider() });
    settings.provider.insert("remote".into(), format!("unix:{}", relay.display()));
    let Some(running) = start(Product::Haproxy, &settings) else { return };
    let mut sessions = 0;
    for protocol in PROTOCOLS {
        in_flight.most.store(0, SeqCst);
        sessions += confirmed(&load(&running, &plan(protocol, 500)));
        let most = in_flight.most.load(SeqCst);
        assert!((3..=4).contains(&most), "{most} in flight, of four clients");
    }
    settle(&running);
    becomes(&sessions, || counted(&running, "remote_operations"));
    becomes(&sessions, || counted(&running, "async_operations"));
    let counts = signing.counts();
    assert_eq!(
        counts.requests_of("sign", "done") + counts.requests_of("decrypt", "done"),
        sessions
    );
}

/// The second signer does the operations of the first one, those in flight among them.
#[test]
fn a_signer_that_ends_under_load_fails_no_handshake() {
    let places = [(); 2].map(|()| Place::new("rsa-2048.pem"));
    let [first, second] = places.each_ref().map(Place::start);
    let mut settings = places[0].settings(Settings { asynchronous: true, ..with_provider() });
    let sockets = places.each_ref().map(|place| format!("unix:{}", place.socket().display()));
    settings.provider.insert("remote".into(), sockets.join(" "));
    let Some(running) = start(Product::Haproxy, &settings) else { return };
    let sessions = thread::scope(|scope| {
        scope.spawn(|| {
            eventually("the first one signs", || first.counts().requests_of("sign", "done") > 50);
            drop(first);
        });
        confirmed(&load(&running, &plan(PROTOCOLS[2], 1500)))
    });
    settle(&running);
    becomes(&sessions, || counted(&running, "remote_operations"));
    let done = second.counts().requests_of("sign", "done");
    assert!((10..sessions).contains(&done), "{done} of {sessions}");
}
