#[path = "../../agree.rs"]
mod agree;

#[test]
fn it_agrees_with_the_oracle() {
    agree::check(env!("CARGO_BIN_EXE_mldsa-worker-zig"));
}
