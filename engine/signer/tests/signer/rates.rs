//! The rates of clients.

use std::time::Instant;

use tollgate_keyless::{ErrorCode, PING, PONG, REFUSAL, RESPONSE};

use crate::rig::{Rig, SIGN, digest, own_client, request, ski};

fn client(rate: &str) -> String {
    own_client(r#"["site"]"#, r#"["sign"]"#) + rate
}

/// The number of requests that are sent at once.
const REQUESTS: u32 = 40;

/// Sends requests over two connections, and returns how many are done and refused.
fn run(rig: &Rig) -> [u64; 2] {
    let (mut done, mut refused) = (0, 0);
    let mut clients = [rig.connect(), rig.connect()];
    for client in &mut clients {
        let requests: Vec<u8> = (0..REQUESTS / 2)
            .flat_map(|id| request(id, Some(ski("rsa-2048.pem")), SIGN.code(), &digest()))
            .collect();
        client.send(&requests);
    }
    for client in &mut clients {
        for _ in 0..REQUESTS / 2 {
            match client.receive().expect("an answer") {
                (_, RESPONSE, _) => done += 1,
                (_, REFUSAL, code) if code == [ErrorCode::OverRate as u8] => refused += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    [done, refused]
}

#[test]
fn a_client_gets_its_rate_over_all_connections() {
    let rig = Rig::with("", &client("rate = 2"));
    let begin = Instant::now();
    let [done, refused] = run(&rig);
    // Another two come with each second.
    let most = |begin: Instant| 2 + 2 * (begin.elapsed().as_secs() + 1);
    assert!((2..=most(begin)).contains(&done), "{done}");
    assert_eq!(done + refused, u64::from(REQUESTS));
    let counts = rig.running.counts();
    assert_eq!(counts.requests_of("sign", "over-rate"), refused);

    // A new connection and a reload give it no more. Pings are free.
    rig.reload(&client("rate = 2")).unwrap();
    let [more, _] = run(&rig);
    assert!(done + more <= most(begin), "{done} and {more}");
    let mut other = rig.connect();
    for id in 0..10 {
        other.send(&request(id, None, PING, b"x"));
        assert_eq!(other.receive(), Some((id, PONG, b"x".to_vec())));
    }

    // A request for a key that is not there counts too.
    rig.reload(&client("rate = 1")).unwrap();
    let answers = [(); 5].map(|()| other.run("rsa-4096.pem", SIGN, &digest()));
    assert!(answers.contains(&Err(ErrorCode::OverRate)), "{answers:?}");

    rig.reload(&client("")).unwrap();
    assert_eq!(run(&rig), [u64::from(REQUESTS), 0]);
}

/// Not each of them has a line.
#[test]
fn refusals_cannot_fill_the_disk() {
    let rig = Rig::with("", &client("rate = 1"));
    let begin = Instant::now();
    let refused: u64 = (0..10).map(|_| run(&rig)[1]).sum();
    let lines = rig.audit().matches("over-rate").count() as u64;
    let most = lines_max(begin);
    assert!((1..=most).contains(&lines) || refused <= most, "{lines} lines of {refused}");
    // The number of the others comes without another request.
    rig.logged_sum("own");
}

/// A client that only connects: its lines are counted, those of its operations are complete.
#[test]
fn connections_cannot_fill_the_disk() {
    const CONNECTIONS: u64 = 150;
    let rig = Rig::with("", &client(""));
    let begin = Instant::now();
    for _ in 0..CONNECTIONS {
        assert!(rig.connect().run("rsa-2048.pem", SIGN, &digest()).is_ok());
    }
    rig.logged_sum("own");
    let log = rig.audit();
    let lines = log.matches(r#""event":"connection""#).count() as u64;
    let most = lines_max(begin);
    assert!(lines <= most || 2 * CONNECTIONS <= most, "{lines} lines");
    assert_eq!(log.matches(r#""event":"operation""#).count() as u64, CONNECTIONS);
}

/// Ten lines at once, and ten in each second since then.
fn lines_max(begin: Instant) -> u64 {
    10 + 10 * (begin.elapsed().as_secs() + 1)
}

#[test]
fn rates_that_are_none_are_refused() {
    let rig = Rig::with("", &client(""));
    for rate in ["rate = 0", "rate = 1000001"] {
        let error = rig.reload(&client(rate)).unwrap_err().to_string();
        assert!(error.contains("client.rate") && error.contains("1 to 1000000"), "{error}");
    }
}
