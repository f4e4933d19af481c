//! Frames that are cut off, too long, mixed up or nonsense.

use core::time::Duration;
use std::io::Write as _;
use std::net::Shutdown;
use std::thread;

use tollgate_keyless::{ErrorCode, PING, PONG, REFUSAL};

use crate::rig::{Rig, SIGN, digest, is_valid, own_client, request, ski};

fn rig() -> Rig {
    Rig::start(r#"["site"]"#, r#"["sign"]"#)
}

/// Frames that end the connection, with the error and the number in their answer.
#[test]
fn streams_that_cannot_be_read_end_with_an_answer() {
    let rig = rig();
    let long = request(7, Some(ski("rsa-2048.pem")), SIGN.code(), &[1; 5000]);
    let hello = [&[0x16, 3, 1, 2, 0, 1, 0, 1][..], &[0; 500]].concat();
    for (bytes, why) in [
        (&long[..], ErrorCode::Format),
        (&[1, 0, 0xff, 0xff, 0, 0, 0, 8], ErrorCode::Format),
        (&[2, 0, 0, 4, 0, 0, 0, 9], ErrorCode::VersionMismatch),
        (&hello, ErrorCode::VersionMismatch),
    ] {
        let mut client = rig.connect();
        client.send(bytes);
        let id = u32::from_be_bytes(bytes[4..8].try_into().unwrap());
        assert_eq!(client.receive(), Some((id, REFUSAL, vec![why as u8])));
        assert_eq!(client.receive(), None);
    }
    assert!(rig.connect().run("rsa-2048.pem", SIGN, &digest()).is_ok());
}

/// Items that cannot be read end no connection: the next frame is where its header says.
#[test]
fn items_that_cannot_be_read_are_refused_one_by_one() {
    let rig = rig();
    let mut client = rig.connect();
    let good = request(1, Some(ski("rsa-2048.pem")), SIGN.code(), &digest());
    let frame = |id: u8, body: &[u8]| {
        [&[1, 0, 0, u8::try_from(body.len()).unwrap(), 0, 0, 0, id][..], body].concat()
    };
    let bodies: [&[u8]; 5] = [
        &[],                                // no opcode
        &[0x11, 0, 2, 5, 5],                // an opcode of two bytes
        &[0x11, 0, 1, 5, 0x12, 0, 9, 1],    // a payload that is cut off
        &[0x11, 0, 1, 5, 0x11, 0, 1, 0xf1], // two opcodes
        &[0x11, 0, 1, 5, 4, 0, 2, 1, 1],    // a name of two bytes
    ];
    for body in bodies {
        client.send(&frame(3, body));
        client.send(&good);
        let refused = Some((3, REFUSAL, vec![ErrorCode::Format as u8]));
        assert_eq!(client.receive(), refused, "{body:?}");
        let (id, _, signature) = client.receive().unwrap();
        assert!(id == 1 && is_valid("rsa-2048.pem", SIGN, &signature));
    }
    assert_eq!(rig.running.counts().requests_of("other", "format"), 5);
}

/// A turn takes some of them, and leaves the others for the next.
#[test]
fn requests_of_many_connections_are_all_answered() {
    let rig = rig();
    let mut clients: Vec<_> = (0..16).map(|_| rig.connect()).collect();
    let (ping, nonsense) = (request(1, None, PING, &[]), [1, 0, 0, 0, 0, 0, 0, 2]);
    for client in &mut clients {
        client.send(&[&ping[..], &nonsense].concat().repeat(70));
    }
    let mut other = rig.connect();
    assert!(other.run("rsa-2048.pem", SIGN, &digest()).is_ok());
    for client in &mut clients {
        for _ in 0..70 {
            assert_eq!(client.receive(), Some((1, PONG, vec![])));
            assert_eq!(client.receive(), Some((2, REFUSAL, vec![ErrorCode::Format as u8])));
        }
    }
}

/// A request byte by byte, while others come whole; then one that is never completed.
#[test]
fn partial_frames_wait_and_disturb_nobody() {
    let rig = rig();
    let (mut slow, mut quick) = (rig.connect(), rig.connect());
    let bytes = request(4, Some(ski("rsa-2048.pem")), SIGN.code(), &digest());
    let (most, rest) = bytes.split_at(bytes.len() - 10);
    for (at, byte) in most.iter().enumerate() {
        slow.send(&[*byte]);
        if at % 200 == 0 {
            assert!(quick.run("rsa-2048.pem", SIGN, &digest()).is_ok());
        }
    }
    slow.send(&rest[..9]);
    assert!(quick.run("rsa-2048.pem", SIGN, &digest()).is_ok());
    slow.send(&rest[9..]);
    let (id, _, signature) = slow.receive().unwrap();
    assert!(id == 4 && is_valid("rsa-2048.pem", SIGN, &signature));

    slow.send(&bytes[..500]);
    slow.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(slow.receive(), None);
}

/// The answers of a connection that is closed for writing still come.
#[test]
fn a_client_may_close_after_its_last_request() {
    let rig = rig();
    let mut client = rig.connect();
    for id in 0..200 {
        client.send(&request(id, Some(ski("rsa-2048.pem")), SIGN.code(), &digest()));
    }
    client.stream.shutdown(Shutdown::Write).unwrap();
    let mut ids: Vec<u32> = (0..200).map(|_| client.receive().unwrap().0).collect();
    assert_eq!(client.receive(), None);
    ids.sort_unstable();
    assert_eq!(ids, (0..200).collect::<Vec<_>>());
}

/// A client that sends without reading fills its own buffers only, and is closed.
#[test]
fn a_client_that_takes_no_answers_is_closed() {
    let tables = own_client(r#"["site"]"#, r#"["sign"]"#) + "[limits]\nwrite = 0.3\n";
    let rig = Rig::with("", &tables);
    let mut flood = rig.connect();
    let ping = request(1, None, PING, &[7; 4000]);
    flood.stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut sent = 0_u64;
    while flood.stream.write_all(&ping).is_ok() {
        sent += 1;
        assert!(sent < 100_000, "the signer takes any number of requests");
    }
    rig.logged("takes no answers");
    let mut client = rig.connect();
    assert_eq!(
        client.ask(Some(ski("rsa-2048.pem")), SIGN.code(), &digest()).map(|s| s.len()),
        Ok(256)
    );
}

#[test]
fn the_longest_frame_has_an_answer() {
    let rig = rig();
    let mut client = rig.connect();
    // the opcode takes four bytes, and the head of the payload three
    let payload = vec![7; 4096 - 7];
    client.send(&request(1, None, PING, &payload));
    assert_eq!(client.receive(), Some((1, PONG, payload)));
    client.send(&request(2, None, PING, &[7; 4096 - 6]));
    assert_eq!(client.receive().map(|(_, opcode, _)| opcode), Some(REFUSAL));
}

#[test]
fn limits_of_connections_and_of_idle_time_hold() {
    let tables =
        own_client(r#"["site"]"#, r#"["sign"]"#) + "[limits]\nidle = 0.4\nconnections_max = 2\n";
    let rig = Rig::with("", &tables);
    let (mut first, mut second) = (rig.connect(), rig.connect());
    let ping = request(1, None, PING, &[]);
    for client in [&mut first, &mut second] {
        client.send(&ping.repeat(3));
        for _ in 0..3 {
            assert_eq!(client.receive(), Some((1, PONG, vec![])));
        }
    }
    let mut third = rig.connect();
    third.send(&ping);
    assert_eq!(third.receive(), None);
    rig.logged("too many connections");
    for _ in 0..8 {
        thread::sleep(Duration::from_millis(100));
        first.send(&ping);
        assert_eq!(first.receive(), Some((1, PONG, vec![])));
    }
    assert_eq!(second.receive(), None, "it was idle");
    let mut fourth = rig.connect();
    fourth.send(&ping);
    assert_eq!(fourth.receive(), Some((1, PONG, vec![])), "there is room again");
}
