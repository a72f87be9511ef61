// That of `keccak`, without in_eager.
module keccak_half_bench
`include "ports.svh"
  keccak_bench #(.HALF(1'b1)) same (.*);
endmodule
