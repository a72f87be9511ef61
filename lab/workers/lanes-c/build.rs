//! Records the build and the version of the measured package for the announcement.

#[path = "../loop/build_info.rs"]
mod build_info;

fn main() {
    build_info::record(&["mldsa-capi"], "");
}
