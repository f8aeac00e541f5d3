//! Linker options of the shipped binary (`--profile dist`) on Linux.
//!
//! Relative relocations are written in packed form: unpacked they take more than 2 MB, all of which is read at
//! startup and counts as memory of an idle server. Loading them needs glibc 2.36 or newer. Other targets and
//! profiles are not affected.

use std::env::{var, var_os};
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let has_value = |name: &str, value: &str| var(name).is_ok_and(|actual| actual == value);
    // `target/dist/build/superstep-cli-…/out`. Cargo exposes the profile name in no other way.
    let out_dir = var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let is_shipped = out_dir.ancestors().nth(3).is_some_and(|folder| folder.ends_with("dist"));
    if is_shipped && has_value("CARGO_CFG_TARGET_OS", "linux") && has_value("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
