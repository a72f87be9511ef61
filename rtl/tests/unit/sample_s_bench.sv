// A group: a command, bit 0 eta = 4, then words of SHAKE256's output, more than are needed. Out come 64 beats:
// four coefficients of four bits, from bit 32 the index.
module sample_s_bench
`include "ports.svh"
  wire command = in_valid && in_data[255];
  logic eta4, full, ready;
  logic [3:0][3:0] data;
  logic [5:0] index;
  always_ff @(posedge clk) if (command) eta4 <= in_data[0];
  sample_s dut (
      .clk,
      .rst(rst || command),
      .eta4,
      .in_valid(in_valid && !command),
      .in_ready(ready),
      .in_word(in_data[63:0]),
      .full,
      .out_valid,
      .out_data(data),
      .out_index(index)
  );
  assign in_ready = command || ready || full;
  assign can_wait = 1'b0;
  assign out_data = {218'd0, index, 16'd0, data};
  wire unused = out_ready;
endmodule
