//! The library is found under the name of the one whose place it takes.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtsan.so.2");
    println!("cargo:rerun-if-changed=build.rs");
}
