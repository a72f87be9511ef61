// Everything of section 7.4. A beat in: four coefficients r, one in each 64 bits; above lane 0, from bit 32,
// wide, a lane's hint at bit 33 of each, and a bound at bit 34. Out come in each lane: r0 of Decompose, at 23 its
// r1, at 29 what UseHint makes of that, at 35 Power2Round's t0 and at 48 its t1, at 58 whether |r| >= bound.
module round_bench
`include "ports.svh"
  word_t r, r0;
  logic [3:0][5:0] r1;
  wire wide = in_data[32];
  logic [255:0] late[DECOMPOSE_LATENCY];
  logic [DECOMPOSE_LATENCY-1:0] valid;
  decompose dut (.clk, .wide, .r, .r1, .r0);
  always_ff @(posedge clk) begin
    late[0] <= in_data;
    for (int i = 1; i < DECOMPOSE_LATENCY; i++) late[i] <= late[i-1];
    valid <= rst ? '0 : DECOMPOSE_LATENCY'({valid, in_valid});
  end
  wire [255:0] then = late[DECOMPOSE_LATENCY-1];
  for (genvar i = 0; i < 4; i++) begin : g_lane
    assign r[i] = in_data[64*i+:23];
    assign out_data[64*i+:64] = {
      5'b0,
      norm_ge(then[64*i+:23], then[64*i+34+:23]),
      power2round(then[64*i+:23]),
      use_hint(then[64*i+33], r1[i], r0[i], then[32]),
      r1[i],
      r0[i]
    };
  end
  assign out_valid = valid[DECOMPOSE_LATENCY-1];
  assign in_ready = 1'b1;
  assign can_wait = 1'b0;
  wire unused = out_ready;
endmodule
