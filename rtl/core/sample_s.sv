// RejBoundedPoly (Algorithm 31) behind SHAKE256, eight half-bytes at a time.
module sample_s (
    input  logic            clk,
    input  logic            rst,         // also before each polynomial
    input  logic            eta4,
    input  logic            in_valid,
    output logic            in_ready,
    input  logic [63:0]     in_word,
    output logic            full,        // has enough: give no more words
    output logic            out_valid,
    output logic [3:0][3:0] out_data,    // signed
    output logic [5:0]      out_index
);
  logic half;                            // which half of the word
  logic [7:0][3:0] nibble;
  assign nibble = half ? in_word[63:32] : in_word[31:0];

  // CoeffFromHalfByte (Algorithm 15); bit 4: accepted
  function automatic logic [4:0] coefficient(logic [3:0] b, logic four);
    logic [3:0] mod5;
    mod5 = b >= 4'd10 ? b - 4'd10 : b >= 4'd5 ? b - 4'd5 : b;
    if (four) coefficient = {b < 4'd9, 4'd4 - b};
    else coefficient = {b != 4'd15, 4'd2 - mod5};
  endfunction

  logic [10:0][3:0] pend, joined;
  logic [3:0] pend_count, joined_count, left;
  logic emit, take;
  logic [6:0] next;
  assign emit = pend_count >= 4'd4;
  assign left = emit ? pend_count - 4'd4 : pend_count;
  assign take = in_valid && !full && left <= 4'd3;
  assign in_ready = take && half;
  always_comb begin
    logic [4:0] c;
    joined = emit ? {16'b0, pend[10:4]} : pend;
    joined_count = left;
    for (int i = 0; i < 8; i++) begin
      c = coefficient(nibble[i], eta4);
      if (take && c[4]) begin
        joined[joined_count] = c[3:0];
        joined_count = joined_count + 4'd1;
      end
    end
  end

  logic [8:0] total;                     // accepted so far
  assign full = total[8];
  always_ff @(posedge clk) begin
    pend <= joined;
    pend_count <= joined_count;
    total <= total + 9'(joined_count - left);
    if (take) half <= !half;
    out_valid <= emit && !next[6];
    out_data <= pend[3:0];
    out_index <= next[5:0];
    if (emit && !next[6]) next <= next + 7'd1;
    if (rst) begin
      pend_count <= '0;
      total <= '0;
      half <= 1'b0;
      out_valid <= 1'b0;
      next <= '0;
      {pend, out_data, out_index} <= '0;
    end
  end
endmodule
