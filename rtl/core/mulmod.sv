// p = a * b mod q for a, b in 0..q-1; a product every cycle, arith_pkg::MUL_LATENCY cycles after
// its operands, which should come from registers that a DSP block can take in.
//
// With 2^23 = 2^13 - 1 (mod q), write the product x = h*2^23 + l with h = c2*2^20 + c1*2^10 + c0
// and c = h >> 10 = c2*2^10 + c1. The rule for h, then for c, then for c2:   x = l + 2^13*h - h = l
// + 2^13*(c0 + c) - c - h = l + 2^13*(c0 + c1 + c2) - (h + c + c2). t = l[22:13] + c0 + c1 + c2 <=
// 3*1023 + 7 has 12 bits; its upper two, t2, fold once more:   x = {t[9:0] + t2, l[12:0]} - (h + c
// + c2 + t2) = u - v. Bounds: u <= (1023 + 3)*2^13 + 8191 < 2q. As x <= (q-1)^2 = (2^23 - 2^14 +
// 8)*2^23, h <= 8372232, c <= 8176, c2 <= 7. If h = 8372232 then l = 0, t = 1023 and v = q - 2.
// Else h <= 8372231 and v <= q - 3 + t2; t2 = 3 would need t >= 3072, so c1 >= 3072 - 2*1023 - 7 =
// 1019, so c2 <= 6 (as 7*2^10 + 1019 > 8176), where v is far below q. So -q < u - v < 2q: one
// correction is enough.
module mulmod
  import mldsa_pkg::*;
(
    input  logic  clk,
    input  coef_t a,
    input  coef_t b,
    output coef_t p
);
  logic [45:0] x;
  logic [10:0] t_fold;
  logic [11:0] t;
  logic [23:0] u;
  logic [23:0] v;
  logic signed [24:0] r;
  logic signed [24:0] s;

  wire [22:0] h = x[45:23];

  always_comb begin
    t = 12'(x[22:13]) + 12'(h[9:0]) + 12'(h[19:10]) + 12'(h[22:20]);
    t_fold = 11'(t[9:0]) + 11'(t[11:10]);
  end
  // The other candidate: u - v + q or u - v - q.
  assign s = r[24] ? r + 25'(Q) : r - 25'(Q);
  wire unused = s[23];

  always_ff @(posedge clk) begin
    x <= a * b;
    u <= {t_fold, x[12:0]};
    v <= 24'(h) + 24'(h[22:10]) + 24'(h[22:20]) + 24'(t[11:10]);
    r <= $signed({1'b0, u}) - $signed({1'b0, v});
    p <= (!r[24] && s[24]) ? r[22:0] : s[22:0];
  end
endmodule
