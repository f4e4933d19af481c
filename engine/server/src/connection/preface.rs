//! The first phase behind a load balancer: its header with the address of the client.

use std::io::ErrorKind;

use super::proxy_header::{Header, parse};
use super::{Connection, Context, Phase, Step, Transport};
use crate::failure::{Broken, Failure};

impl<S: Transport> Connection<S> {
    pub(super) fn preface(&mut self, cx: &mut Context) -> Step {
        let reads = self.stream.get_mut();
        let failure = match reads.receive() {
            Ok(0) => Failure::Closed,
            Ok(_) => match parse(reads.received()) {
                Header::Complete { client, bytes } => {
                    reads.skip(bytes);
                    let client = client.map(|client| client.to_canonical());
                    self.client = client.unwrap_or(self.client);
                    // the load balancer's own checks have no limit
                    let counted = client.map_or(Ok(None), |client| cx.shared.enter(client));
                    match counted {
                        Ok(counted) => {
                            self.counted = counted;
                            self.phase = Phase::Handshake;
                            return Step::On;
                        }
                        Err(failure) => failure,
                    }
                }
                Header::Partial => return Step::On,
                Header::Invalid => Failure::ProxyHeader,
            },
            Err(why) if why.kind() == ErrorKind::WouldBlock => return Step::Blocked,
            Err(why) if why.kind() == ErrorKind::Interrupted => return Step::On,
            Err(_) => Failure::Closed,
        };
        self.failed(Broken { failure, alert: None }, cx);
        Step::Done
    }
}
