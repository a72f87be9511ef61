// Products of polynomials in the transform domain, coefficient by coefficient, summed up: acc +-
// a*b on four lanes, a word a cycle. The accumulator is one polynomial in a memory of its own.
// Words of a polynomial come in the order of their index; a word comes out SUM + 1 cycles after its
// last operands went in. Nothing can hold the pipe up.
module mac
  import mldsa_pkg::*;
  import arith_pkg::*;
(
    input  logic       clk,
    input  logic       rst,
    input  wipe_t      wipe,
    input  logic       in_valid,
    input  word_t      in_a,
    input  word_t      in_b,
    input  logic [5:0] in_index,
    input  logic       in_first,   // the sum starts with this product
    input  logic       in_last,    // the sum leaves
    input  logic       in_negate,  // the product is subtracted
    output logic       out_valid,
    output word_t      out_word
);
  typedef struct packed {
    logic [5:0] index;
    logic       first;
    logic       last;
    logic       negate;
  } step_t;

  // [0] is at the operand registers, [MUL_LATENCY] has its product, [MUL_LATENCY+1] its sum.
  localparam int SUM = MUL_LATENCY + 1;
  step_t step[SUM+1];
  logic [SUM:0] valid;
  always_ff @(posedge clk) begin
    step[0] <= '{index: in_index, first: in_first, last: in_last, negate: in_negate};
    for (int i = 1; i <= SUM; i++) step[i] <= step[i-1];
    valid <= rst ? '0 : {valid[SUM-1:0], in_valid};
  end

  word_t a, b, product, old, sum;
  for (genvar i = 0; i < 4; i++) begin : g_lane
    mulmod mulmod_i (.clk, .a(a[i]), .b(b[i]), .p(product[i]));
    wire coef_t so_far = step[MUL_LATENCY].first ? 23'd0 : old[i];
    always_ff @(posedge clk)
      sum[i] <= step[MUL_LATENCY].negate ? sub_q(so_far, product[i]) : add_q(so_far, product[i]);
  end

  (* ram_style = "distributed" *)
  word_t memory[64];
  always_ff @(posedge clk) begin
    a <= in_a;
    b <= in_b;
    old <= memory[step[MUL_LATENCY-1].index];
    if ((valid[SUM] && !step[SUM].last) || wipe.on)
      memory[wipe.on ? wipe.at[5:0] : step[SUM].index] <= wipe.on ? '0 : sum;
  end

  assign out_valid = valid[SUM] && step[SUM].last;
  assign out_word = sum;
endmodule
