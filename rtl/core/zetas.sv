// The zetas of a 2x2 butterfly: for node n of the tree of Algorithm 41 those of n and of its
// children 2n and 2n+1, one cycle after n. Nodes are 1, 4..7, 16..31 and 64..127.
module zetas
  import mldsa_pkg::*;
(
    input  logic        clk,
    input  logic  [6:0] n,
    output coef_t       z,
    output coef_t       z_even,
    output coef_t       z_odd
);
  // zeta^BitRev8(m) mod q with zeta = 1753.
  function automatic coef_t zeta(input int m);
    logic [45:0] power, base;
    power = 1;
    base  = 1753;
    for (int bit_of_m = 7; bit_of_m >= 0; bit_of_m--) begin
      if (m[bit_of_m]) power = (power * base) % 46'(Q);
      base = (base * base) % 46'(Q);
    end
    return power[22:0];
  endfunction

  (* rom_style = "distributed", ram_style = "distributed" *)
  logic [68:0] rom[128];
  initial for (int i = 0; i < 128; i++) rom[i] = {zeta(2 * i + 1), zeta(2 * i), zeta(i)};

  always_ff @(posedge clk) {z_odd, z_even, z} <= rom[n];
endmodule
