// Fields of `width` bits out of 64-bit words, the lowest bits first, four fields a cycle while the
// words keep up. Widths: 3, 4, 10, 13, 18, 20; constant from the first word of a polynomial to its
// last field.
module unpack #(
    parameter int LEAST = 3            // width that occurs
) (
    input  logic             clk,
    input  logic             rst,
    input  logic [4:0]       width,
    input  logic             in_valid,
    output logic             in_ready,
    input  logic [63:0]      in_word,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [3:0][19:0] out_fields
);
  // The oldest words; the next group starts at bit `at` of word[0] (at or above 64: in the next
  // word).
  logic [63:0] word[3];
  logic [1:0] words;
  logic [6:0] at;

  wire [6:0] group_bits = {width, 2'b00};
  wire [7:0] end_bit = 8'(at) + 8'(group_bits);
  wire take = words != 2'd0 && end_bit <= {words, 6'b0} && !at[6] && (!out_valid || out_ready);
  wire [7:0] next_at = take ? end_bit : 8'(at);
  wire drop = words != 2'd0 && next_at[7:6] != 2'b00;
  wire load = in_valid && in_ready;
  assign in_ready = words != 2'd3;

  // All positions are multiples of four bits.
  wire [139:0] window = {word[2][11:0], word[1], word[0]};
  wire [91:0] near = 92'(window >> {at[5:4], 4'b0});
  wire [79:0] group = 80'(near >> {at[3:2], 2'b0});

  always_ff @(posedge clk) begin
    if (drop) begin
      word[0] <= word[1];
      word[1] <= word[2];
    end
    if (load) word[words-2'(drop)] <= in_word;
    if (take) begin
      out_fields <= '0;
      if (LEAST <= 3 && width == 5'd3)
        for (int i = 0; i < 4; i++) out_fields[i] <= 20'(group[3*i+:3]);
      if (LEAST <= 4 && width == 5'd4)
        for (int i = 0; i < 4; i++) out_fields[i] <= 20'(group[4*i+:4]);
      if (LEAST <= 10 && width == 5'd10)
        for (int i = 0; i < 4; i++) out_fields[i] <= 20'(group[10*i+:10]);
      if (LEAST <= 13 && width == 5'd13)
        for (int i = 0; i < 4; i++) out_fields[i] <= 20'(group[13*i+:13]);
      if (LEAST <= 18 && width == 5'd18)
        for (int i = 0; i < 4; i++) out_fields[i] <= 20'(group[18*i+:18]);
      if (LEAST <= 20 && width == 5'd20)
        for (int i = 0; i < 4; i++) out_fields[i] <= 20'(group[20*i+:20]);
    end
    if (rst) begin
      words <= '0;
      at <= '0;
      out_valid <= 1'b0;
      for (int i = 0; i < 3; i++) word[i] <= '0;
      out_fields <= '0;
    end else begin
      words <= words + 2'(load) - 2'(drop);
      at <= 7'(next_at - {1'b0, drop, 6'b0});
      out_valid <= take || (out_valid && !out_ready);
    end
  end
endmodule
