// Three sizes beside each other. Beats in: commands, with what they do in bits 63..62.
//   0 four coefficients of a short polynomial: data in bits 15..0, index 21..16, polynomial 25..22
//   1 an entry of c: position in bits 7..0, negative 8, number 14..9
//   2 a product: polynomial in bits 3..0, tau 9..4; out come its 64 words
//   3 a read: index in bits 5..0, polynomial 9..6; out comes a beat with the coefficients in the low bits
// Words: a lane in each 64 bits, above lane 0, from bit 32, the index. Where the sizes differ, bit 255 is set.
module sparse_bench
`include "ports.svh"
  localparam int SIZES[3] = '{128, 64, 16};
  logic [2:0] idle, valid;
  word_t word[3];
  logic [5:0] index[3];
  logic [3:0][3:0] rd_data[3];
  wire [1:0] what = in_data[63:62];
  logic read_valid;
  logic [5:0] tau;
  // A read waits until no block is on its way; what it answers is taken at once.
  wire read_possible = idle == '1 && valid == '0 && !read_valid;
  assign in_ready = what == 2'd3 ? read_possible : what == 2'd0 || idle == '1;
  wire go = in_valid && in_ready;
  always_ff @(posedge clk) begin
    read_valid <= go && what == 2'd3;
    if (go && what == 2'd2) tau <= in_data[9:4];
    if (rst) read_valid <= 1'b0;
  end

  wire all = valid == '1;
  for (genvar i = 0; i < 3; i++) begin : g_size
    sparse #(.LANES(SIZES[i])) dut (
        .clk,
        .wipe('0),
        .rst,
        .wr_valid(go && what == 2'd0),
        .wr_poly(in_data[25:22]),
        .wr_index(in_data[21:16]),
        .wr_data(in_data[15:0]),
        .rd_poly(in_data[9:6]),
        .rd_index(in_data[5:0]),
        .rd_data(rd_data[i]),
        .c_wr(go && what == 2'd1),
        .c_wr_n(in_data[14:9]),
        .c_wr_pos(in_data[7:0]),
        .c_wr_neg(in_data[8]),
        .tau,
        .start(go && what == 2'd2),
        .poly(in_data[3:0]),
        .idle(idle[i]),
        .out_valid(valid[i]),
        .out_ready(out_ready && all),
        .out_word(word[i]),
        .out_index(index[i])
    );
  end
  assign out_valid = all || read_valid;
  assign can_wait = !read_valid;
  always_comb begin
    out_data = '0;
    if (read_valid) out_data[15:0] = rd_data[0];
    else for (int i = 0; i < 4; i++) out_data[64*i+:23] = word[0][i];
    if (!read_valid) out_data[37:32] = index[0];
    for (int i = 1; i < 3; i++)
      if (read_valid ? rd_data[i] != rd_data[0] : word[i] != word[0] || index[i] != index[0])
        out_data[255] = 1'b1;
  end
endmodule
