// A butterfly of the number-theoretic transform, one every cycle, arith_pkg::BUTTERFLY_LATENCY
// long.   forward: x = a + b*w          y = a - b*w          (Cooley-Tukey; FIPS 204, Algorithm 41)
// inverse: x = (a + b)/2        y = (b - a)/2 * w    (Gentleman-Sande; Algorithm 42, which negates
// w; halving in each of the eight layers is its multiplication by 256^-1) Operands and results are
// in 0..q-1; `inverse` travels with its operands.
module butterfly
  import mldsa_pkg::*;
  import arith_pkg::*;
(
    input  logic  clk,
    input  logic  inverse,
    input  coef_t a,
    input  coef_t b,
    input  coef_t w,
    output coef_t x,
    output coef_t y
);
  // First stage: sum and difference of the inverse. The sum less q has the same half modulo q.
  coef_t kept;
  coef_t factor;
  coef_t twiddle;
  always_ff @(posedge clk) begin
    kept    <= inverse ? half_q(24'(a) + 24'(b) - 24'(Q)) : a;
    factor  <= inverse ? half_q(24'(b) - 24'(a)) : b;
    twiddle <= w;
  end

  coef_t product;
  mulmod mulmod_i (.clk, .a(factor), .b(twiddle), .p(product));

  // What waits for the product.
  coef_t [MUL_LATENCY-1:0] kept_line;
  logic  [  MUL_LATENCY:0] inverse_line;
  always_ff @(posedge clk) begin
    kept_line    <= {kept_line[MUL_LATENCY-2:0], kept};
    inverse_line <= {inverse_line[MUL_LATENCY-1:0], inverse};
  end

  // Last stage: sum and difference of the forward butterfly.
  wire coef_t c = kept_line[MUL_LATENCY-1];
  always_ff @(posedge clk) begin
    x <= inverse_line[MUL_LATENCY] ? c : add_q(c, product);
    y <= inverse_line[MUL_LATENCY] ? product : sub_q(c, product);
  end
endmodule
