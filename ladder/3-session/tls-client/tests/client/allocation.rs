//! Once the buffers of a connection have grown, records cause no allocation.

use allocation_counter::measure;
use tollgate_tls_client::Event;

use crate::peer;
use crate::peer::{Pair, Server, kinds};

#[test]
fn data_does_not_allocate() {
    for (suite, group) in kinds() {
        let mut pair = Pair::new(peer::settings(suite, &[group]), &Server::new(suite, &[group]));
        pair.run().unwrap();
        let data = vec![7; 140_000];
        for round in 0..3 {
            pair.say(&data);
            let bytes = pair.server_flight();
            let client = &mut pair.client;
            let mut got = 0;
            let counted = measure(|| {
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    let space = client.space();
                    let count = space.len().min(rest.len());
                    space[..count].copy_from_slice(&rest[..count]);
                    rest = &rest[count..];
                    client.filled(count).unwrap();
                    while let Some(event) = client.poll().unwrap() {
                        let Event::Data(data) = event else { panic!("{event:?}") };
                        got += data.len();
                    }
                }
                client.send(&data).unwrap();
                client.sent(client.outgoing().len()).unwrap();
            });
            assert_eq!(got, data.len());
            // the first round grows the buffers
            assert!(round == 0 || counted.count_total == 0, "{suite}: {counted:?}");
        }
    }
}
