//! A TLS server on rustls whose RSA signatures go through the engine. Each connection has a thread,
//! so that signatures of concurrent connections share lanes.
//!
//! ```text
//! cargo run --release -p tollgate-rustls --example server -- CHAIN.pem KEY.pem [ADDRESS] [THREADS]
//! ```
//!
//! The server answers every request with the request's size, and exits at the end of standard
//! input.
#![allow(clippy::print_stdout, reason = "a program")]

use core::error::Error;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use rustls::{ServerConfig, ServerConnection, Stream};
use tollgate_queue::{Config, PrivateJob, Queue};

/// Timeout of reads and writes.
const TIMEOUT: Duration = Duration::from_secs(10);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [chain, key, rest @ ..] = arguments.as_slice() else {
        return Err("give a certificate chain and its key: server CHAIN.pem KEY.pem".into());
    };
    let address = rest.first().map_or("127.0.0.1:0", String::as_str);
    let threads: usize = rest.get(1).map_or(Ok(16), |text| text.parse())?;

    // A slot for each thread, so that no signature is refused.
    let config = Config { slots_per_caller_max: threads, ..Config::with_capacity(threads) };
    let queue = Queue::of_this_processor(config)?;
    let provider = Arc::new(tollgate_rustls::provider(&queue));
    let config = Arc::new(
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(
                CertificateDer::pem_file_iter(chain)?.collect::<Result<_, _>>()?,
                PrivateKeyDer::from_pem_file(key)?,
            )?,
    );

    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    println!("https://{address}");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Ok((socket, _)) = listener.accept()
                    && !stop.load(Ordering::Relaxed)
                {
                    // rustls has sent an alert for any error of the client.
                    let _ = serve(&config, socket);
                }
            });
        }
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        stop.store(true, Ordering::Relaxed);
        for _ in 0..threads {
            let _ = TcpStream::connect(address); // wakes a thread in accept
        }
    });
    report(&queue)
}

/// Runs a handshake, and answers one request.
fn serve(config: &Arc<ServerConfig>, mut socket: TcpStream) -> Result<(), Box<dyn Error>> {
    socket.set_read_timeout(Some(TIMEOUT))?;
    socket.set_write_timeout(Some(TIMEOUT))?;
    socket.set_nodelay(true)?;
    let mut tls = ServerConnection::new(Arc::clone(config))?;
    let mut stream = Stream::new(&mut tls, &mut socket);
    let received = stream.read(&mut [0; 4096])?;
    if received > 0 {
        let body = format!("received {received} bytes\n");
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", body.len())?;
        write!(stream, "Connection: close\r\n\r\n{body}")?;
    }
    stream.conn.send_close_notify();
    Ok(stream.flush()?)
}

/// Prints the mean batch size.
fn report(queue: &Queue<PrivateJob>) -> Result<(), Box<dyn Error>> {
    let stats = queue.stats()?;
    println!("{} signatures, {:.2} per call on average", stats.done, stats.mean_fill());
    Ok(())
}
