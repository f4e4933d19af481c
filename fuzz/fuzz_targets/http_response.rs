//! Reads any bytes as a server's response. The load generator and the probe accept the same
//! responses. The sizes of the pieces in which the bytes arrive change neither result.
//!
//! The first byte is the length of the pieces; the second is added to the expected length.
#![no_main]

use std::io::{self, Read, Write};

use libfuzzer_sys::fuzz_target;
use tollgate_load::{Cause, Head, RequestForm};

// these modules are private: compile the source files of their crates
#[path = "../../ladder/4-server/probe/src/body.rs"]
#[allow(dead_code, reason = "what it says of a body is for the probe")]
mod body;
#[path = "../../ladder/4-server/load/src/http.rs"]
#[allow(dead_code, reason = "its other half writes requests")]
mod http;
mod head {
    pub(crate) use tollgate_load::Head;
}
mod phase {
    pub(crate) use tollgate_load::Cause;
}

fuzz_target!(|bytes: &[u8]| {
    let [piece, more, said @ ..] = bytes else { return };
    let piece = usize::from(*piece) + 1;
    let announced = Head::read(said).ok().flatten().and_then(|head| head.length);
    let expected = announced.unwrap_or_default().saturating_add(u64::from(*more));
    let taken = taken(said, said.len() + 1, expected);
    assert_eq!(taken, self::taken(said, piece, expected));

    let form = RequestForm::default();
    let looked = |piece| body::look(&mut Wire::new(said, piece), "h", "/", &form).map_err(one_line);
    let whole = looked(said.len() + 1);
    assert_eq!(looked(piece), whole);
    if let Some(obstacle) = whole.ok().and_then(|body| body.obstacle()) {
        assert!(!obstacle.chars().any(char::is_control), "{obstacle}");
    }

    let got = |piece| {
        let mut wire = Wire::new(said, piece);
        let answer = body::get(&mut wire, "h", "/", said.len()).map_err(one_line);
        answer.map(|answer| (answer.status, answer.kept, said.len() - wire.rest.len()))
    };
    match got(1) {
        Err(_) => {
            assert!(got(piece).is_err());
            assert!(taken.is_err(), "the load takes it");
        }
        Ok((status, kept, read)) => {
            let (again, body, _) = got(piece).expect("in small pieces it is one");
            assert_eq!((status, &kept), (again, &body));
            assert!(said[..read].ends_with(&kept));
            let bytes = u64::try_from(kept.len()).expect("a length");
            let taken = self::taken(&said[..read], piece, bytes);
            assert_eq!(taken.is_ok(), status == 200, "{taken:?}");
        }
    }
});

/// Returns the load generator's result for a stream.
fn taken(said: &[u8], piece: usize, expected: u64) -> Result<(), Cause> {
    let mut response = http::Response::new(expected);
    let read = said.chunks(piece).try_for_each(|piece| response.read(piece));
    let verdict = read.and_then(|()| if response.is_complete() { Ok(()) } else { response.end() });
    match &verdict {
        Ok(()) => assert_eq!(response.body_bytes, expected),
        Err(cause) => assert!(!cause.to_string().chars().any(char::is_control), "{cause}"),
    }
    verdict
}

fn one_line(error: io::Error) -> String {
    let text = error.to_string();
    assert!(!text.chars().any(char::is_control), "{text:?}");
    text
}

/// A connection that returns the given bytes for any request, and then ends.
struct Wire<'a> {
    rest: &'a [u8],
    piece: usize,
}

impl<'a> Wire<'a> {
    fn new(said: &'a [u8], piece: usize) -> Self {
        Self { rest: said, piece }
    }
}

impl Read for Wire<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = into.len().min(self.piece);
        self.rest.read(&mut into[..count])
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
