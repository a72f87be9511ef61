// ExpandA (Algorithm 32) by Keccaks of its own, each with every LANES-th polynomial, row by row. It
// begins when the last word of rho is written, and what it has made stays until the next reset.
module expand_a
  import mldsa_pkg::*;
#(
    parameter int LANES = 2,
    localparam int PLACES = 64 / LANES  // polynomials of a lane
) (
    input  logic        clk,
    input  logic        rst,
    input  wipe_t       wipe,
    input  params_t     par,
    input  logic        rho_write,
    input  logic [1:0]  rho_at,
    input  logic [63:0] rho_word,
    output logic [LANES-1:0][5:0] count,  // polynomials ready in each lane
    // reading: polynomial `place` of a lane, a cycle later
    input  logic [$clog2(PLACES)-1:0] place,
    input  logic [5:0]  index,
    output word_t [LANES-1:0] word
);
  logic [63:0] rho[4];
  logic begin_all;                     // rho is complete
  logic [3:0] k;                       // of the key: commands of other sets may follow
  logic [2:0] l;
  always_ff @(posedge clk) begin
    if (rho_write) begin
      rho[rho_at] <= rho_word;
      {k, l} <= {par.k, par.l};
    end
    begin_all <= rho_write && rho_at == 2'd3 && !rst;
    if (rst) begin
      for (int i = 0; i < 4; i++) rho[i] <= '0;
      {k, l} <= '0;
    end
  end

  for (genvar g = 0; g < LANES; g++) begin : lanes
    // ---- feeding, up to one polynomial ahead
    logic feeding, k_ready;
    logic [2:0] at;                    // word of the seed
    logic [3:0] row;
    logic [2:0] column;
    logic [3:0] next_column;
    assign next_column = 4'(column) + 4'(LANES);
    always_ff @(posedge clk) begin
      if (feeding && k_ready) begin
        at <= at == 3'd4 ? '0 : at + 3'd1;
        if (at == 3'd4) begin
          column <= next_column >= 4'(l) ? 3'(next_column - 4'(l)) : 3'(next_column);
          if (next_column >= 4'(l)) begin
            row <= row + 4'd1;
            if (row == k - 4'd1) feeding <= 1'b0;
          end
        end
      end
      if (begin_all) begin
        feeding <= 1'b1;
        at <= '0;
        row <= '0;
        column <= 3'(g);
      end
      if (rst) {feeding, at, row, column} <= '0;
    end

    // ---- sampling
    logic q_valid, full, settle, drop, write, last;
    logic [63:0] q_word;
    word_t sampled;
    logic [5:0] write_index;
    keccak keccak (
        .clk, .rst,
        .in_valid(feeding), .in_ready(k_ready),
        .in_word(at == 3'd4 ? {48'b0, 4'b0, row, 5'b0, column} : rho[at[1:0]]),
        .in_bytes(4'd2), .in_last(at == 3'd4), .in_shake128(1'b1), .in_words('0), .in_eager(3'd5),
        .out_valid(q_valid), .out_ready(!settle), .out_word(q_word), .out_drop(drop)
    );
    sample_a sample_a (
        .clk, .rst(rst || last), .in_valid(q_valid && !settle), .in_word(q_word), .full,
        .out_valid(write), .out_word(sampled), .out_index(write_index)
    );
    assign drop = full && !settle;
    assign last = write && write_index == 6'd63;
    always_ff @(posedge clk) begin
      settle <= (settle || drop) && !last && !rst;
      if (last) count[g] <= count[g] + 6'd1;
      if (rst) count[g] <= '0;
    end

    ram #(.WIDTH(92), .DEPTH(64 * PLACES)) a_hat (
        .clk, .wipe, .write, .write_at({count[g][$clog2(PLACES)-1:0], write_index}),
        .write_data(sampled), .read_at({place, index}), .read_data(word[g])
    );
  end
endmodule
