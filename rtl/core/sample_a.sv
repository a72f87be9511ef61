// RejNTTPoly (Algorithm 30) behind SHAKE128: three words of output hold eight candidates.
module sample_a
  import mldsa_pkg::*;
(
    input  logic        clk,
    input  logic        rst,         // also before each polynomial
    input  logic        in_valid,
    input  logic [63:0] in_word,
    output logic        full,        // has enough: give no more words
    output logic        out_valid,
    output word_t       out_word,
    output logic [5:0]  out_index
);
  logic [1:0]  phase;
  logic [15:0] keep;

  // 0..2 candidates of 24 bits; the top bit of each does not count
  logic [2:0][22:0] candidate;
  logic [2:0] accept;
  always_comb begin
    unique case (phase)
      2'd1: candidate = {in_word[54:32], in_word[30:8], in_word[6:0], keep};
      2'd2: candidate = {in_word[62:40], in_word[38:16], in_word[14:0], keep[7:0]};
      default: candidate = {23'(Q), in_word[46:24], in_word[22:0]};
    endcase
    for (int i = 0; i < 3; i++) accept[i] = in_valid && !full && candidate[i] < 23'(Q);
  end

  logic [2:0][22:0] kept;            // accepted ones, pushed together
  logic [1:0] kept_count;
  logic [8:0] total;
  logic [1:0] found;
  assign found = 2'(accept[0]) + 2'(accept[1]) + 2'(accept[2]);
  assign full = total[8];

  always_ff @(posedge clk) begin
    if (in_valid && !full) begin
      phase <= phase == 2'd2 ? 2'd0 : phase + 2'd1;
      keep <= phase == 2'd0 ? in_word[63:48] : {8'b0, in_word[63:56]};
    end
    kept[0] <= accept[0] ? candidate[0] : accept[1] ? candidate[1] : candidate[2];
    kept[1] <= accept[0] && accept[1] ? candidate[1] : candidate[2];
    kept[2] <= candidate[2];
    kept_count <= found;
    total <= total + 9'(found);
    if (rst) begin
      phase <= '0;
      total <= '0;
      kept_count <= '0;
      {keep, kept} <= '0;
    end
  end

  // Words of four.
  logic [2:0][22:0] rest;
  logic [1:0] rest_count;
  logic [5:0][22:0] joined;
  logic [2:0] joined_count;
  always_comb begin
    unique case (rest_count)
      2'd0: joined = {69'b0, kept};
      2'd1: joined = {46'b0, kept, rest[0]};
      2'd2: joined = {23'b0, kept, rest[1:0]};
      default: joined = {kept, rest};
    endcase
    joined_count = 3'(rest_count) + 3'(kept_count);
  end
  logic [6:0] next;
  always_ff @(posedge clk) begin
    out_valid <= joined_count[2] && !next[6];
    out_word <= joined[3:0];
    out_index <= next[5:0];
    if (joined_count[2]) begin
      if (!next[6]) next <= next + 7'd1;
      rest <= {23'b0, joined[5:4]};
    end else begin
      rest <= joined[2:0];
    end
    rest_count <= joined_count[1:0];
    if (rst) begin
      out_valid <= 1'b0;
      rest_count <= '0;
      next <= '0;
      {rest, out_word, out_index} <= '0;
    end
  end
endmodule
