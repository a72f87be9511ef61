// A group: a command with the set, then the four words of rho. Out come the polynomials of A-hat, row by row:
// 64 words each, a lane in each 64 bits.
module expand_a_bench
`include "ports.svh"
  wire command = in_valid && in_data[255];
  params_t par;
  logic [1:0] rho_at;
  logic [1:0][5:0] count;
  word_t [1:0] word;
  logic [5:0] poly, index;
  expand_a #(.LANES(2)) dut (
      .clk,
      .wipe('0),
      .rst(rst || command),
      .par,
      .rho_write(in_valid && !command),
      .rho_at,
      .rho_word(in_data[63:0]),
      .count,
      .place(poly[5:1]),
      .index,
      .word
  );
  assign in_ready = 1'b1;
  assign can_wait = 1'b1;
  always_ff @(posedge clk) begin
    if (in_valid) rho_at <= rho_at + 2'd1;
    if (!out_valid) out_valid <= count[poly[0]] > 6'(poly[5:1]);
    else if (out_ready) begin
      out_valid <= 1'b0;
      index <= index + 6'd1;
      if (index == 6'd63) poly <= poly + 6'd1;
    end
    if (command) par <= params(set_t'(in_data[1:0]));
    if (command || rst) {rho_at, poly, index, out_valid} <= '0;
  end
  always_comb begin
    out_data = '0;
    for (int i = 0; i < 4; i++) out_data[64*i+:23] = word[poly[0]][i];
  end
endmodule
