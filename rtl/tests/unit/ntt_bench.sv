// A group: a beat with the job (bit 0 inverse, bits 12..8 its tag) and the 64 words of the polynomial.
// Out come 64 words: a lane in each 64 bits, and above lane 0 (from bit 32) the tag and last.
module ntt_bench
`include "ports.svh"
  logic [6:0] beat;
  wire job = beat == 7'd0;
  logic job_ready, word_ready;
  assign in_ready = job ? job_ready : word_ready;
  always_ff @(posedge clk)
    if (rst) beat <= '0;
    else if (in_valid && in_ready) beat <= beat == 7'd64 ? 7'd0 : beat + 7'd1;

  word_t in_word, out_word;
  tag_t out_tag;
  logic out_last;
  for (genvar i = 0; i < 4; i++) begin : g_lane
    assign in_word[i] = in_data[64*i+:23];
  end
  ntt dut (
      .clk,
      .wipe('0),
      .rst,
      .job_valid(in_valid && job),
      .job_ready,
      .job_inverse(in_data[0]),
      .job_tag(in_data[12:8]),
      .in_valid(in_valid && !job),
      .in_ready(word_ready),
      .in_word,
      .out_valid,
      .out_ready,
      .out_word,
      .out_tag,
      .out_last
  );
  always_comb begin
    out_data = '0;
    for (int i = 0; i < 4; i++) out_data[64*i+:23] = out_word[i];
    out_data[32+:6] = {out_last, out_tag};
  end
  assign can_wait = 1'b1;
endmodule
