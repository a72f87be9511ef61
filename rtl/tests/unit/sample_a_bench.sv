// A group: a command, then words of SHAKE128's output, more than are needed. Out come the 64 words of the
// polynomial, a lane in each 64 bits; above lane 0, from bit 32, the index.
module sample_a_bench
`include "ports.svh"
  wire command = in_valid && in_data[255];
  logic full;
  word_t word;
  logic [5:0] index;
  sample_a dut (
      .clk,
      .rst(rst || command),
      .in_valid(in_valid && !command),
      .in_word(in_data[63:0]),
      .full,
      .out_valid,
      .out_word(word),
      .out_index(index)
  );
  assign in_ready = 1'b1;
  assign can_wait = 1'b0;
  always_comb begin
    out_data = '0;
    for (int i = 0; i < 4; i++) out_data[64*i+:23] = word[i];
    out_data[32+:6] = index;
  end
  wire unused = out_ready & full;
endmodule
