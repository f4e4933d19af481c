//! How the module is linked.

fn main() {
    // OPENSSL_cleanup unloads modules, but other threads may end later, and code of this module
    // frees their thread-local workspaces. So the module stays loaded.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rerun-if-changed=build.rs");
}
