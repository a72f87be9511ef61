// 64-bit words out of fields of `width` bits, the lowest bits first, four fields a cycle. Widths:
// 3, 4, 6, 10, 13, 18, 20; constant within a polynomial. Higher bits of a field are ignored.
module pack #(
    parameter int LEAST = 3,           // widths that occur
    parameter int MOST = 20
) (
    input  logic             clk,
    input  logic             rst,
    input  logic [4:0]       width,
    input  logic             in_valid,
    output logic             in_ready,
    input  logic [3:0][19:0] in_fields,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [63:0]      out_word
);
  // The bits that make no word yet. At 64 they do: widths 18 and 20 can complete two at once.
  logic [63:0] rest;
  logic [6:0] at;

  logic [79:0] group;
  always_comb begin
    group = '0;
    if (LEAST <= 3 && MOST >= 3 && width == 5'd3)
      for (int i = 0; i < 4; i++) group[3*i+:3] = in_fields[i][2:0];
    if (LEAST <= 4 && MOST >= 4 && width == 5'd4)
      for (int i = 0; i < 4; i++) group[4*i+:4] = in_fields[i][3:0];
    if (LEAST <= 6 && MOST >= 6 && width == 5'd6)
      for (int i = 0; i < 4; i++) group[6*i+:6] = in_fields[i][5:0];
    if (LEAST <= 10 && MOST >= 10 && width == 5'd10)
      for (int i = 0; i < 4; i++) group[10*i+:10] = in_fields[i][9:0];
    if (LEAST <= 13 && MOST >= 13 && width == 5'd13)
      for (int i = 0; i < 4; i++) group[13*i+:13] = in_fields[i][12:0];
    if (LEAST <= 18 && MOST >= 18 && width == 5'd18)
      for (int i = 0; i < 4; i++) group[18*i+:18] = in_fields[i][17:0];
    if (LEAST <= 20 && MOST >= 20 && width == 5'd20)
      for (int i = 0; i < 4; i++) group[20*i+:20] = in_fields[i][19:0];
  end
  // All positions are multiples of four bits.
  wire [91:0] near = 92'(group) << {at[3:2], 2'b0};
  wire [127:0] placed = (128'(near) << {at[5:4], 4'b0}) | 128'(rest);

  wire can_leave = !out_valid || out_ready;
  assign in_ready = !at[6] && can_leave;
  wire take = in_valid && in_ready;
  wire [7:0] end_bit = 8'(at) + 8'({width, 2'b00});
  wire leave = take ? end_bit[7:6] != 2'b00 : at[6] && can_leave;

  always_ff @(posedge clk) begin
    if (leave) out_word <= at[6] ? rest : placed[63:0];
    if (rst) begin
      at <= '0;
      rest <= '0;
      out_word <= '0;
      out_valid <= 1'b0;
    end else begin
      if (take) begin
        at <= 7'(end_bit - {1'b0, leave, 6'b0});
        rest <= leave ? placed[127:64] : placed[63:0];
      end else if (leave) begin
        at <= '0;
        rest <= '0;
      end
      out_valid <= leave || (out_valid && !out_ready);
    end
  end
endmodule
