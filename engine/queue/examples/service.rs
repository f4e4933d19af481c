//! A service on tokio that signs for many connections through one queue, and clients that load it:
//!
//! ```text
//! cargo run --release -p tollgate-queue --example service -- [CLIENTS] [SECONDS]
//! ```
//!
//! A client sends a digest (SHA-256, 32 bytes), and the service answers with the signature (RSASSA-PSS,
//! RSA-2048). A task awaits its signature and blocks no thread. The workers of the queue, one for each
//! core, run the requests that wait in batches of up to eight.
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "a program, small counts")]

use core::error::Error;
use core::net::Ipv4Addr;
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tollgate_queue::{Caller, Config, PrivateError, PrivateJob, Queue, Work};
use tollgate_rsa::{Hash, PrivateKey, Pss, PublicKey};

const DIGEST_BYTES: usize = 32;

/// RSASSA-PSS as JWT's PS256 and TLS 1.3 have it.
const PS256: Pss = Pss::new(Hash::Sha256);

/// Signs one digest. While the queue is full, it lets other tasks run and tries again.
async fn sign(
    caller: &Caller<PrivateJob>,
    key: &Arc<PrivateKey>,
    digest: &[u8],
) -> Result<Vec<u8>, PrivateError> {
    let work = Work::SignPss(PS256);
    loop {
        match caller.submit(|job| job.load(key, work, digest)) {
            Ok(ticket) => return ticket.await.map(|answer| answer.output().to_vec()),
            Err(PrivateError::Full { .. } | PrivateError::CallerFull { .. }) => {
                tokio::task::yield_now().await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Answers the digests of one connection until the client closes it. Each connection is a caller of
/// its own: one that floods the queue delays its own requests only.
async fn serve(
    mut stream: TcpStream,
    caller: Caller<PrivateJob>,
    key: Arc<PrivateKey>,
) -> io::Result<()> {
    let mut digest = [0; DIGEST_BYTES];
    loop {
        match stream.read_exact(&mut digest).await {
            Ok(_) => {}
            Err(end) if end.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
        let signature = sign(&caller, &key, &digest).await.map_err(io::Error::other)?;
        stream.write_all(&signature).await?;
    }
}

/// Asks for signatures until the end, and verifies each. Returns their number.
async fn ask(service: u16, number: u64, key: &PublicKey, end: Instant) -> io::Result<u64> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, service)).await?;
    let mut signature = vec![0; key.size()];
    let mut count = 0;
    while Instant::now() < end {
        let message = format!("message {count} of client {number}");
        stream.write_all(Hash::Sha256.digest(message.as_bytes()).as_ref()).await?;
        stream.read_exact(&mut signature).await?;
        key.verify_pss(PS256, message.as_bytes(), &signature).map_err(io::Error::other)?;
        count += 1;
    }
    Ok(count)
}

/// Runs service and clients. Returns the number of signatures, and the mean number in a batch.
fn run(clients: u64, time: Duration) -> Result<(u64, f64), Box<dyn Error>> {
    let key = Arc::new(PrivateKey::generate(2048)?);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let queue = Queue::of_this_processor(Config { workers, ..Config::default() })?;
    let signed =
        tokio::runtime::Builder::new_multi_thread().enable_io().build()?.block_on(async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            let service = listener.local_addr()?.port();
            let end = Instant::now() + time;
            let clients: Vec<_> = (0..clients)
                .map(|number| {
                    let key = key.public().clone();
                    tokio::spawn(async move { ask(service, number, &key, end).await })
                })
                .collect();
            for _ in &clients {
                let (stream, _) = listener.accept().await?;
                tokio::spawn(serve(stream, queue.caller()?, Arc::clone(&key)));
            }
            let mut signed = 0;
            for client in clients {
                signed += client.await??;
            }
            Ok::<_, Box<dyn Error>>(signed)
        })?;
    Ok((signed, queue.stats()?.mean_fill()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let clients = arguments.next().map_or(Ok(64), |word| word.parse())?;
    let seconds = arguments.next().map_or(Ok(2.), |word| word.parse())?;
    let (signed, fill) = run(clients, Duration::from_secs_f64(seconds))?;
    let rate = signed as f64 / seconds;
    println!("{clients} clients: {rate:.0} signatures/s, verified; {fill:.2} in a batch");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_clients_get_valid_signatures() {
        let (signed, fill) = run(16, Duration::from_millis(300)).unwrap();
        assert!(signed >= 16 && fill >= 1., "{signed} signatures, {fill} in a batch");
    }
}
