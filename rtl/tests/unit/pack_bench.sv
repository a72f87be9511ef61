// A group: a beat with the width, then four fields a beat, one in each 64 bits. Out come words in the low
// 64 bits.
module pack_bench
`include "ports.svh"
`include "commands.svh"
  logic [4:0] width;
  always_ff @(posedge clk) if (in_valid && command) width <= in_data[4:0];
  logic [3:0][19:0] in_fields;
  for (genvar i = 0; i < 4; i++) begin : g_lane
    assign in_fields[i] = in_data[64*i+:20];
  end
  pack dut (
      .clk,
      .rst,
      .width,
      .in_valid(in_valid && !command),
      .in_ready(ready),
      .in_fields,
      .out_valid,
      .out_ready,
      .out_word(out_data[63:0])
  );
  assign out_data[255:64] = '0;
endmodule
