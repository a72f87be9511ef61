// Products of the challenge c with a short polynomial s, by adding up s at the places of c's ones:
// LANES coefficients of the result at a time, one of c's tau entries a cycle. It holds the 15 short
// polynomials of a key. A product takes 256/LANES * (tau + 1) cycles and a few more, whatever s is.
//
// A row is LANES coefficients. Coefficient j of the block of row b adds +-s[j - pos], so source
// lane m reads row floor((LANES*b - pos)/LANES) or the one after it, and the lanes are turned by
// pos. Rows below 0 are those of s times -1, as X^256 = -1.
module sparse
  import mldsa_pkg::*;
  import arith_pkg::*;
#(
    parameter int LANES = 64  // a power of two, 8 to 128
) (
    input  logic            clk,
    input  logic            rst,
    input  wipe_t           wipe,
    // The short polynomials: four coefficients, two's complement, -4..4.
    input  logic            wr_valid,
    input  logic [3:0]      wr_poly,
    input  logic [5:0]      wr_index,
    input  logic [3:0][3:0] wr_data,
    input  logic [3:0]      rd_poly,
    input  logic [5:0]      rd_index,
    output logic [3:0][3:0] rd_data,   // a cycle later; only while idle
    // The entries of c, written before the start.
    input  logic            c_wr,
    input  logic [5:0]      c_wr_n,
    input  logic [7:0]      c_wr_pos,
    input  logic            c_wr_neg,
    input  logic [5:0]      tau,       // steady until idle
    input  logic            start,     // while idle
    input  logic [3:0]      poly,
    output logic            idle,      // the last block may still be on its way out
    // The 64 words of c*s.
    output logic            out_valid,
    input  logic            out_ready,
    output word_t           out_word,
    output logic [5:0]      out_index
);
  localparam int L = $clog2(LANES);
  typedef logic [7-L:0] row_t;
  typedef logic signed [8:0] sum_t;  // |sum| <= beta <= 196

  // ---- which entry, which block ----
  logic running, adding, full;  // full: the accumulators wait for the way out
  logic [5:0] entry;
  row_t block;
  logic [3:0] which;
  logic fetched, fetched_last, adding_last;
  row_t fetched_block;
  logic [7:0] pos;
  logic neg;

  wire last_entry = entry == tau - 6'd1;
  assign idle = !running && !fetched && !adding && !full;

  (* ram_style = "distributed" *)
  logic [8:0] entries[64];
  always_ff @(posedge clk) begin
    if (c_wr || wipe.on)
      entries[wipe.on ? wipe.at[5:0] : c_wr_n] <= wipe.on ? '0 : {c_wr_neg, c_wr_pos};
    if (!full) begin
      {neg, pos} <= entries[entry];
      fetched_block <= block;
    end
  end

  logic leaves;  // the accumulators' block goes out
  always_ff @(posedge clk) begin
    if (start && idle) begin
      running <= 1'b1;
      which   <= poly;
    end
    if (!full) begin
      fetched <= running;
      fetched_last <= last_entry;
      adding <= fetched;
      adding_last <= fetched_last;
      full <= adding && adding_last;
      if (running) begin
        entry <= last_entry ? '0 : entry + 6'd1;
        if (last_entry) begin
          block <= block + 1'b1;
          if (&block) running <= 1'b0;
        end
      end
    end else if (leaves) full <= 1'b0;
    if (rst) begin
      {running, fetched, adding, full} <= '0;
      which <= '0;
      entry <= '0;
      block <= '0;
    end
  end

  // ---- a row's worth of s, by source lane ----
  wire [L-1:0] turn = pos[L-1:0];
  // Rows from -256/LANES. The last `turn` source lanes take the first, which becomes the first
  // `turn`.
  wire [8-L:0] after = {1'b0, fetched_block} - {1'b0, pos[7:L]};
  wire [8-L:0] first = after - 1'b1;
  wire [LANES-1:0] below = ~({LANES{1'b1}} << turn);
  logic [3:0] source[LANES];
  for (genvar m = 0; m < LANES; m++) begin : g_source
    (* ram_style = "distributed" *)
    logic [3:0] memory[16*256/LANES];
    wire row_t row = below[LANES-1-m] ? first[7-L:0] : after[7-L:0];
    always_ff @(posedge clk) begin
      if ((wr_valid && wr_index[L-3:0] == (L-2)'(m / 4)) || wipe.on)
        memory[wipe.on ? wipe.at[11-L:0] : {wr_poly, wr_index[5:L-2]}]
            <= wipe.on ? '0 : wr_data[m%4];
      if (!full) source[m] <= memory[idle ? {rd_poly, rd_index[5:L-2]} : {which, row}];
    end
  end

  logic [L-3:0] rd_group;
  always_ff @(posedge clk) rd_group <= rd_index[L-3:0];
  for (genvar i = 0; i < 4; i++) begin : g_read
    assign rd_data[i] = source[{rd_group, 2'(i)}];
  end

  // ---- turned to the lanes of the block, and added ----
  logic [L-1:0] adding_turn;
  wire [LANES-1:0] from_first = ~({LANES{1'b1}} << adding_turn);
  logic first_negative, after_negative;
  always_ff @(posedge clk)
    if (!full) begin
      adding_turn <= turn;
      first_negative <= neg ^ first[8-L];
      after_negative <= neg ^ after[8-L];
    end

  logic [LANES-1:0][3:0] turned;
  always_comb begin
    for (int i = 0; i < LANES; i++) turned[i] = source[i];
    for (int bit_of = 0; bit_of < L; bit_of++)
      if (adding_turn[bit_of])
        turned = (turned << (4 << bit_of)) | (turned >> (4 * (LANES - (1 << bit_of))));
  end

  sum_t sums[LANES];
  for (genvar i = 0; i < LANES; i++) begin : g_sum
    wire minus = from_first[i] ? first_negative : after_negative;
    wire [9:0] more = {{5{turned[i][3]}}, turned[i], 1'b1} ^ {{9{minus}}, !minus};
    sum_t sum;
    logic unused_low;
    assign {sum, unused_low} = {sums[i], 1'b1} + more;  // the lowest bits carry a minus in
    always_ff @(posedge clk)
      if (rst || leaves) sums[i] <= '0;
      else if (adding && !full) sums[i] <= sum;
  end

  // ---- a block on its way out ----
  sum_t [LANES-1:0] out_sums;
  logic [5:0] left_index;
  assign out_index = left_index;
  wire out_last = out_valid && out_ready && (&left_index[L-3:0]);
  assign leaves = full && (!out_valid || out_last);
  for (genvar i = 0; i < 4; i++) begin : g_out
    wire sum_t sum = out_sums[{left_index[L-3:0], 2'(i)}];
    assign out_word[i] = 23'(sum) + (sum[8] ? 23'(Q) : 23'd0);
  end
  always_ff @(posedge clk) begin
    if (leaves) for (int i = 0; i < LANES; i++) out_sums[i] <= sums[i];
    if (rst) out_sums <= '0;
    if (rst) begin
      out_valid  <= 1'b0;
      left_index <= '0;
    end else begin
      if (leaves) out_valid <= 1'b1;
      else if (out_last) out_valid <= 1'b0;
      if (out_valid && out_ready) left_index <= left_index + 6'd1;
    end
  end
endmodule
