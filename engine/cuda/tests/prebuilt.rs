//! The compiled device code belongs to the source, and has no branch, call or memory that it should
//! not have. `cargo xtask gpu` compiles it.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

const REMEDY: &str = "run: cargo xtask gpu";

/// Conditional branches and exits of each kernel, for 1024, 2048, 3072 and 4096 bits. They are the
/// ends of loops with public lengths, choices by the number of a pass, and the choice of groups
/// beyond the last job not to store. If a number changes, find the branch in the listing
/// (`nvdisasm -c target/cuda/kernels/kernels.cubin`) and show that its condition is public.
const BRANCHES: [(&str, [u64; 4]); 5] = [
    ("blind", [2; 4]),
    ("power", [11; 4]),
    ("power52", [12; 4]),
    ("finish", [13, 14, 13, 14]),
    ("make_pair", [12, 13, 13, 13]),
];

fn file(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

fn described() -> Value {
    serde_json::from_slice(&file("prebuilt/kernels.json")).unwrap()
}

#[test]
fn the_compiled_code_is_that_of_the_source() {
    let described = described();
    let check = |of: &str, folder: &str| -> Vec<String> {
        let hashes = described[of].as_object().unwrap();
        for (name, expected) in hashes {
            let digest = Sha256::digest(file(&format!("{folder}/{name}")));
            let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(*expected, hash, "{name}: {REMEDY}");
        }
        hashes.keys().cloned().collect()
    };
    assert_eq!(check("artefacts_sha256", "prebuilt").len(), 2);
    // All but the emulation.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("device").read_dir().unwrap();
    let names = folder.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.contains("emulated")).collect();
    names.sort();
    assert_eq!(check("sources_sha256", "device"), names, "{REMEDY}");
}

#[test]
fn the_machine_code_has_the_known_branches_and_keeps_numbers_in_registers() {
    let described = described();
    let kernels = described["kernels"].as_object().unwrap();
    assert_eq!(kernels.len(), 19);
    for (step, counts) in BRANCHES {
        for (bits, expected) in [1024, 2048, 3072, 4096].into_iter().zip(counts) {
            if (step, bits) == ("power52", 4096) {
                continue; // it does not exist
            }
            let name = format!("{step}_{bits}");
            let number = |of: &str| kernels[&name][of].as_u64().expect(of);
            let found = number("conditional_branches") + number("conditional_exits");
            assert_eq!(found, expected, "{name}");
            for of in ["other_jumps", "local_memory", "stack_bytes"] {
                assert_eq!(number(of), 0, "{name}: {of}");
            }
            // Three blocks of 128 threads share 65,536 registers. With doubles there is one block.
            assert!(number("registers") <= if step == "power52" { 255 } else { 168 }, "{name}");
        }
    }
}

/// Each row of a product must be one chain of multiplications that add with carry: a lane of L
/// words needs 2 L products for each of L words at each place in the source that multiplies.
#[test]
fn products_are_fused_with_their_additions() {
    let described = described();
    for (bits, words) in [(1024, 4), (2048, 8), (3072, 12), (4096, 8)] {
        for (step, places) in [("blind", 1), ("power", 5), ("finish", 5), ("make_pair", 5)] {
            let found =
                described["kernels"][format!("{step}_{bits}")]["products"].as_u64().unwrap();
            let expected = places * 2 * words * words;
            // The others compute addresses.
            assert!((expected..expected + 16).contains(&found), "{step}_{bits}: {found}");
        }
    }
}
