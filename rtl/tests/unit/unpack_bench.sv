// A group: a beat with the width, then words in the low 64 bits. Out come four fields, one in each 64 bits.
module unpack_bench
`include "ports.svh"
`include "commands.svh"
  logic [4:0] width;
  always_ff @(posedge clk) if (in_valid && command) width <= in_data[4:0];
  logic [3:0][19:0] out_fields;
  unpack dut (
      .clk,
      .rst,
      .width,
      .in_valid(in_valid && !command),
      .in_ready(ready),
      .in_word(in_data[63:0]),
      .out_valid,
      .out_ready,
      .out_fields
  );
  always_comb for (int i = 0; i < 4; i++) out_data[64*i+:64] = 64'(out_fields[i]);
endmodule
