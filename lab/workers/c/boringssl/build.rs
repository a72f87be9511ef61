//! Records the build; the package `boring-sys` builds the library.

#[path = "../../loop/build_info.rs"]
mod build_info;

fn main() {
    build_info::record(&["boring-sys"], "");
}
