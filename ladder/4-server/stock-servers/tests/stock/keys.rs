//! Keys of every size, including keys that the provider refuses.

use tollgate_stock_servers::{Product, Settings};

use crate::command::{connect, has_counted, with_key};
use crate::rig::{counted, eventually, is_long, programs, start};

const TLS12: &str = "-tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0";
const RSA_EXCHANGE: &str = "-tls1_2 -cipher AES128-SHA:@SECLEVEL=0";
const TLS13: &str = "-tls1_3 -cipher DEFAULT:@SECLEVEL=0";

/// Makes one handshake of each kind.
#[track_caller]
fn is_served(product: Product, settings: &Settings) {
    let Some(running) = start(product, settings) else { return };
    connect(&running, TLS12);
    connect(&running, TLS13);
    let said = connect(&running, RSA_EXCHANGE);
    assert!(said.contains("Ciphersuite: AES128-SHA\n"), "{running:?}: {said}");
    has_counted(&running, (2, 1, 0));
}

/// Every product supports RSA key exchange.
#[test]
fn rsa_key_exchange() {
    for product in programs() {
        is_served(product, &with_key("rsa-2048.pem"));
    }
}

/// All products with `TOLLGATE_TEST_LONG`.
#[test]
fn accepted_keys() {
    let products = if is_long() { programs() } else { vec![Product::Haproxy, Product::Nginx] };
    for key in ["rsa-1024.pem", "rsa-3072.pem", "rsa-4096.pem", "rsa-8192.pem"] {
        for &product in &products {
            is_served(product, &with_key(key));
        }
        let paused = Settings { asynchronous: true, ..with_key(key) };
        is_served(Product::Haproxy, &paused);
    }
}

/// OpenSSL signs instead of the provider, and clients see no difference.
#[test]
fn refused_keys() {
    for product in programs() {
        for key in ["rsa-512.pem", "rsa-2048-3primes.pem", "rsa-16384.pem"] {
            let Some(running) = start(product, &with_key(key)) else { break };
            connect(&running, TLS12);
            // OpenSSL accepts a ClientKeyExchange of at most 2048 bytes.
            if key != "rsa-16384.pem" {
                connect(&running, RSA_EXCHANGE);
            }
            // PSS with SHA-256 does not fit 512 bits.
            if key != "rsa-512.pem" {
                connect(&running, TLS13);
            }
            eventually("the refusal is counted", || counted(&running, "refused_keys") > 0);
            for counter in ["keys", "signatures", "decryptions"] {
                assert_eq!(counted(&running, counter), 0, "{running:?}, {key}: {counter}");
            }
        }
    }
}
