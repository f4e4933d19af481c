//! Builds OpenSSL 4.0 and exports its folder.

fn main() {
    let artifacts = openssl_src::Build::new().build();
    let prefix = artifacts.lib_dir().parent().expect("a library lies in a folder of its prefix");
    println!("cargo:rustc-env=PREFIX={}", prefix.display());
    println!("cargo:rerun-if-changed=build.rs");
}
