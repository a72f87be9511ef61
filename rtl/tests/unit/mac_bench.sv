// A beat in: a lane's a in bits 22..0 of its 64 and b in 45..23; above lane 0, from bit 46, the index,
// first, last and negate. A beat out: a lane in each 64 bits.
module mac_bench
`include "ports.svh"
  word_t in_a, in_b, out_word;
  for (genvar i = 0; i < 4; i++) begin : g_lane
    assign in_a[i] = in_data[64*i+:23];
    assign in_b[i] = in_data[64*i+23+:23];
  end
  mac dut (
      .clk,
      .wipe('0),
      .rst,
      .in_valid,
      .in_a,
      .in_b,
      .in_index(in_data[51:46]),
      .in_first(in_data[52]),
      .in_last(in_data[53]),
      .in_negate(in_data[54]),
      .out_valid,
      .out_word
  );
  assign in_ready = 1'b1;
  assign can_wait = 1'b0;
  always_comb begin
    out_data = '0;
    for (int i = 0; i < 4; i++) out_data[64*i+:23] = out_word[i];
  end
  wire unused = out_ready;
endmodule
