// Algorithm 36, Decompose, of four coefficients a cycle, arith_pkg::DECOMPOSE_LATENCY cycles long:
// r = r1*2*gamma2 + r0 (mod q). wide: gamma2 = (q-1)/32 and r1 in 0..15; else (q-1)/88 and 0..43.
// `wide` must be steady while words are in the pipe. r0 comes modulo q, in 0..q-1.
module decompose
  import mldsa_pkg::*;
(
    input  logic            clk,
    input  logic            wide,
    input  word_t           r,
    output logic [3:0][5:0] r1,
    output word_t           r0
);
  for (genvar i = 0; i < 4; i++) begin : g_lane
    // r/(2*gamma2), rounded: after a division by 128, which takes the upper bits of r + 127, a
    // multiplication by 1025/2^22 or 11*1025/2^24. Exact for every r (its bench tries all).
    logic [15:0] r128;
    logic [ 6:0] unused_low;
    assign {r128, unused_low} = r[i] + 23'd127;
    coef_t r_second, r_third;
    logic [25:0] by1025;

    wire [29:0] by11 = {1'b0, by1025, 3'b0} + {3'b0, by1025, 1'b0} + 30'(by1025);
    logic [23:0] unused_fraction;
    logic [5:0] nearest, high;  // 0..16 or 0..44, the last to be 0
    assign {nearest, unused_fraction} = (wide ? {2'b0, by1025, 2'b0} : by11) + 30'h80_0000;

    // high*2*gamma2, which is high*1023*2^9 or high*93*2^11, modulo 2^23.
    wire wraps = wide ? high[4] : high == 6'd44;
    wire [13:0] by1023 = {high[3:0], 10'b0} - 14'(high);
    wire [11:0] by93 = {high, 6'b0} + {1'b0, high, 5'b0} - {4'b0, high, 2'b0} + 12'(high);
    wire [22:0] rest = r_third - (wide ? {by1023, 9'b0} : {by93, 11'b0}) - 23'(wraps);

    always_ff @(posedge clk) begin
      r_second <= r[i];
      by1025 <= {r128, 10'b0} + 26'(r128);
      r_third <= r_second;
      high <= nearest;
      r1[i] <= wraps ? 6'd0 : high;
      r0[i] <= rest + (rest[22] ? 23'(Q) : 23'd0);
    end
  end
endmodule
