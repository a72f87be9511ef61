// What is added to each column of a Keccak state: theta's sum, or a word. By itself, since tools
// that take it together with what is behind it need a third more LUTs.
module keccak_column
  import keccak_pkg::*;
(
    input  state_t state,
    input  logic   absorb,
    input  lane_t  word,
    output plane_t add
);
  plane_t sums;
  assign sums = theta(state);
  assign add = absorb ? {5{word}} : sums;
endmodule
