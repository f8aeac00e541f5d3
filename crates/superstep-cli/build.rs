//! How the binary that is shipped (`--profile dist`) is linked on Linux.
//!
//! The places in it that depend on where it is loaded are written in a packed form: as a list they take more than 2 MB, all of which
//! is read at the start and counts as memory of an idle server. Systems with glibc 2.36 or newer read it. Nothing else is built
//! differently, and no other profile is touched.

use std::env::{var, var_os};
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    // The folder of the profile: `target/dist/build/superstep-cli-…/out`. Cargo tells its name in no other way.
    let out = var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let is_shipped = out.ancestors().nth(3).is_some_and(|folder| folder.ends_with("dist"));
    if is_shipped && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
