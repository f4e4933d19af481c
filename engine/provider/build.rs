//! How the module is linked.

fn main() {
    // OPENSSL_cleanup unloads modules while other threads may still end, and their thread-local
    // workspaces are freed by code of this module. So the module stays loaded.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rerun-if-changed=build.rs");
}
