//! A client that writes frames of HTTP/2 itself, valid or not.

use core::net::SocketAddr;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream, SslVerifyMode};

use crate::rig::tcp;

// Kinds of frames, RFC 9113 §6.
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

// Flags.
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// The first bytes of a client.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame of the server.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    /// The error code of `RST_STREAM` and `GOAWAY`.
    pub(crate) fn code(&self) -> u8 {
        assert!([RST_STREAM, GOAWAY].contains(&self.kind), "{self:?}");
        self.payload[if self.kind == GOAWAY { 7 } else { 3 }]
    }
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Encodes fields as literals, RFC 7541 §6.2.2.
pub(crate) fn fields<'a>(fields: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            let mut length = text.len();
            if length < 127 {
                block.push(u8::try_from(length).unwrap());
            } else {
                block.push(127);
                length -= 127;
                while length >= 128 {
                    block.push(u8::try_from(length % 128 + 128).unwrap());
                    length /= 128;
                }
                block.push(u8::try_from(length).unwrap());
            }
            block.extend(text);
        }
    }
    block
}

/// A request's pseudo-fields.
pub(crate) fn head(method: &str, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let pseudo = [(":method", method), (":scheme", "https"), (":path", path), (":authority", "a")];
    let all = pseudo.iter().chain(more);
    fields(all.map(|(name, value)| (name.as_bytes(), value.as_bytes())))
}

pub(crate) struct Peer(pub(crate) SslStream<TcpStream>);

impl Peer {
    /// Connects, and sends the preface with these settings.
    pub(crate) fn new(address: SocketAddr, settings: &[u8]) -> Self {
        let mut peer = Self::silent(address);
        peer.send(&[PREFACE, &frame(SETTINGS, 0, 0, settings)].concat());
        peer
    }

    /// Connects, and sends nothing.
    pub(crate) fn silent(address: SocketAddr) -> Self {
        let mut context = SslContext::builder(SslMethod::tls_client()).unwrap();
        context.set_verify(SslVerifyMode::NONE);
        context.set_alpn_protos(b"\x02h2").unwrap();
        let ssl = Ssl::new(&context.build()).unwrap();
        let mut stream = SslStream::new(ssl, tcp(address)).unwrap();
        stream.connect().unwrap();
        assert_eq!(stream.ssl().selected_alpn_protocol(), Some(&b"h2"[..]));
        Self(stream)
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    /// Sends a request without a body.
    pub(crate) fn get(&mut self, stream: u32, path: &str) {
        self.send(&frame(HEADERS, END_STREAM | END_HEADERS, stream, &head("GET", path, &[])));
    }

    /// Returns the next frame; `None` if the connection has ended.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        let mut start = [0; 9];
        if let Err(why) = self.0.read_exact(&mut start) {
            assert!(why.kind() != io::ErrorKind::WouldBlock, "the server is silent");
            return None;
        }
        let length = u32::from_be_bytes([0, start[0], start[1], start[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.0.read_exact(&mut payload).ok()?;
        let stream = u32::from_be_bytes([start[5], start[6], start[7], start[8]]);
        Some(Frame { kind: start[3], flags: start[4], stream, payload })
    }

    /// Returns the next frame of one of these kinds.
    pub(crate) fn until(&mut self, kinds: &[u8]) -> Option<Frame> {
        loop {
            let frame = self.next()?;
            if kinds.contains(&frame.kind) {
                return Some(frame);
            }
        }
    }

    /// Returns the body of a stream's response; `None` if it is not complete.
    pub(crate) fn body(&mut self, stream: u32) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let frame = self.next()?;
            if frame.stream != stream {
                continue;
            }
            match frame.kind {
                DATA => body.extend(&frame.payload),
                RST_STREAM => return None,
                _ => {}
            }
            if [DATA, HEADERS].contains(&frame.kind) && frame.flags & END_STREAM != 0 {
                return Some(body);
            }
        }
    }
}
