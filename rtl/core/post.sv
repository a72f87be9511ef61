// What becomes of a polynomial that leaves the NTT engine: y-hat, c-hat and t-hat are stored; a row
// w (SIGN) is stored and its high bits go to be hashed; a row w'_approx (VERIFY) is corrected by
// the hints and hashed; a row of t (KEYGEN) takes s2 and is stored; a row of c*t0 gives the hints.
module post
  import mldsa_pkg::*;
  import arith_pkg::*;
#(
    parameter bit KEYGEN = 1'b1,        // the operations that the core has
    parameter bit SIGN = 1'b1,
    parameter bit VERIFY = 1'b1
) (
    input  logic        clk,
    input  logic        rst,
    input  wipe_t       wipe,
    input  op_t         op,
    input  params_t     par,
    input  logic        in_valid,
    output logic        in_ready,
    input  word_t       in_word,
    input  tag_t        in_tag,
    input  logic [5:0]  in_index,
    // y-hat and t-hat
    output logic        y_write,
    output logic        t_write,
    // w, or t
    output logic        w_write,
    output logic [2:0]  w_slot,
    output logic [5:0]  w_index,
    output word_t       w_word,
    output logic        row_end,       // pulse: the last word of a row
    input  word_t       r_word,        // w - c*s2, a cycle after in_index and in_tag.slot
    input  logic [3:0][3:0] s_data,    // s2, likewise
    // hints of the signature being verified, likewise
    input  logic [3:0]  hint,
    input  logic        hint_done,     // they are there: the host may bring them late
    // high bits to be hashed
    output logic        w1_valid,
    input  logic        w1_ready,
    output logic [63:0] w1_word,
    // the decomposition of w - c*s2 + c*t0, in the other decomposer
    output word_t       sum,
    input  logic [3:0][5:0] sum_r1,
    // hints of the signature being made
    output logic        hint_valid,
    input  logic        hint_ready,
    output logic [3:0]  hint_bits,
    input  logic        start_t,       // pulse: c*t0 begins
    output logic        ct0_fails      // so far in this attempt
);
  op_t op_here;
  assign op_here = op_within(KEYGEN, SIGN, VERIFY, op);

  localparam int LATENCY = DECOMPOSE_LATENCY;

  // Room for the hints of 16 words, since what is in the decomposer cannot wait.
  logic [4:0] credit;
  logic take;
  always_comb begin
    unique case (in_tag.to)
      TO_HINT: in_ready = credit != 0;
      TO_ROW: in_ready = op_here != OP_VERIFY || hint_done;
      default: in_ready = 1'b1;
    endcase
  end
  assign take = in_valid && in_ready;
  assign y_write = take && in_tag.to == TO_Y;
  assign t_write = take && in_tag.to == TO_T;

  // One cycle on: with what is read from the memories.
  logic row1, hint1;
  word_t word1;
  logic [2:0] slot1;
  logic [5:0] index1;
  always_ff @(posedge clk) begin
    row1 <= take && in_tag.to == TO_ROW && !rst;
    hint1 <= take && in_tag.to == TO_HINT && !rst;
    word1 <= in_word;
    slot1 <= in_tag.slot;
    index1 <= in_index;
  end

  assign w_write = row1 && op_here != OP_VERIFY;
  assign w_slot = slot1;
  assign w_index = index1;
  assign row_end = w_write && index1 == 6'd63;
  for (genvar g = 0; g < 4; g++) begin : lanes
    assign w_word[g] = op_here == OP_KEYGEN ? add_q(word1[g], from_signed(s_data[g])) : word1[g];
    assign sum[g] = SIGN ? add_q(word1[g], r_word[g]) : '0;
  end

  always_ff @(posedge clk) begin
    if (SIGN && hint1)
      for (int i = 0; i < 4; i++) if (norm_ge(word1[i], gamma2(par.gamma_large))) ct0_fails <= 1'b1;
    if (start_t || rst) ct0_fails <= 1'b0;
  end

  // The decomposer: of w, of w'_approx, of w - c*s2 for its high bits alone.
  logic [3:0][5:0] r1;
  word_t r0;
  if (SIGN || VERIFY) begin : g_decompose
    decompose decompose (
        .clk, .wide(par.gamma_large), .r(SIGN && hint1 ? r_word : word1), .r1, .r0
    );
  end else begin : g_no_decompose
    assign {r1, r0} = '0;
  end
  logic [LATENCY-1:0] row_pipe, hint_pipe;
  logic [LATENCY-1:0][3:0] bits_pipe;
  always_ff @(posedge clk) begin
    row_pipe <= LATENCY'({row_pipe, row1 && op_here != OP_KEYGEN});
    hint_pipe <= LATENCY'({hint_pipe, hint1});
    bits_pipe <= (4 * LATENCY)'({bits_pipe, hint});
    if (rst) begin
      row_pipe <= '0;
      hint_pipe <= '0;
    end
  end

  logic [3:0][19:0] field;
  logic [3:0] differs;
  for (genvar g = 0; g < 4; g++) begin : out
    assign field[g] = 20'(use_hint(VERIFY && op_here == OP_VERIFY && bits_pipe[LATENCY-1][g], r1[g], r0[g],
                                   par.gamma_large));
    assign differs[g] = SIGN && r1[g] != sum_r1[g];
  end

  // High bits: packed, and kept until they are hashed. All rows of an attempt find room.
  logic packed_valid;
  logic [63:0] packed_word;
  if (SIGN || VERIFY) begin : g_w1
    pack #(.MOST(6)) pack (
        .clk, .rst, .width(par.gamma_large ? 5'd4 : 5'd6), .in_valid(row_pipe[LATENCY-1]),
        .in_ready(), .in_fields(field), .out_valid(packed_valid), .out_ready(1'b1),
        .out_word(packed_word)
    );
    fifo #(.WIDTH(64), .DEPTH(128)) w1_fifo (
        .clk, .rst, .wipe, .in_valid(packed_valid), .in_data(packed_word),
        .out_valid(w1_valid), .out_ready(w1_ready), .out_data(w1_word)
    );
  end else begin : g_no_w1
    assign {packed_valid, packed_word, w1_valid, w1_word} = '0;
  end

  if (SIGN) begin : g_hint
    fifo #(.WIDTH(4), .DEPTH(16)) hint_fifo (
        .clk, .rst, .wipe, .in_valid(hint_pipe[LATENCY-1]), .in_data(differs),
        .out_valid(hint_valid), .out_ready(hint_ready), .out_data(hint_bits)
    );
  end else begin : g_no_hint
    assign {hint_valid, hint_bits} = '0;
  end
  always_ff @(posedge clk) begin
    credit <= credit - 5'(take && in_tag.to == TO_HINT) + 5'(hint_valid && hint_ready);
    if (rst) credit <= 5'd16;
  end
endmodule
