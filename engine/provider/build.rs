//! Sets how the module is linked.

fn main() {
    // OPENSSL_cleanup unloads modules, but other threads may end later, and code of this module
    // frees their thread-local workspaces. The link option therefore keeps the module loaded.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rerun-if-changed=build.rs");
}
