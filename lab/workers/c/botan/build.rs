//! Records the build; the crate in `ffi` builds the library.

#[path = "../../loop/build_info.rs"]
mod build_info;

fn main() {
    build_info::record(&[], "");
}
