// Arithmetic modulo q = 2^23 - 2^13 + 1 and FIPS 204, section 7.4, on one coefficient; latencies of
// the pipelined units, in cycles.
package arith_pkg;
  import mldsa_pkg::*;

  localparam int MUL_LATENCY = 4;                      // mulmod
  localparam int BUTTERFLY_LATENCY = MUL_LATENCY + 2;  // butterfly
  localparam int DECOMPOSE_LATENCY = 3;                // decompose

  function automatic coef_t add_q(input coef_t a, input coef_t b);
    logic [23:0] sum, less;
    sum  = 24'(a) + 24'(b);
    less = sum - 24'(Q);
    return less[23] ? sum[22:0] : less[22:0];
  endfunction

  function automatic coef_t sub_q(input coef_t a, input coef_t b);
    logic [23:0] difference;
    difference = 24'(a) - 24'(b);
    return difference[22:0] + (difference[23] ? 23'(Q) : 23'd0);
  endfunction

  // s/2 mod q for -q <= s < q: (s >> 1) + (s odd ? (q+1)/2 : s < 0 ? q : 0) lies in 0..q-1.
  function automatic coef_t half_q(input logic signed [23:0] s);
    return s[23:1] + (s[0] ? 23'((Q + 1) / 2) : s[23] ? 23'(Q) : 23'd0);
  endfunction

  // Algorithm 35, Power2Round: t1 = r1, and t0 = 2^12 - r0 as a key's encoding has it.
  typedef struct packed {
    logic [ 9:0] t1;
    logic [12:0] t0;
  } power2_t;

  function automatic power2_t power2round(input coef_t r);
    logic [22:0] up;
    up = r + 23'd4095;  // below 2^23; its 13 low bits are r0 + 4095
    return '{t1: up[22:13], t0: ~up[12:0]};
  endfunction

  // Algorithm 40, UseHint, after Decompose with r0 in 0..q-1. wide: gamma2 = (q-1)/32.
  function automatic logic [5:0] use_hint(input logic h, input logic [5:0] r1, input coef_t r0,
                                          input logic wide);
    logic [5:0] last;
    last = wide ? 6'd15 : 6'd43;
    if (!h) return r1;
    if (!r0[22] && r0 != '0) return r1 == last ? 6'd0 : r1 + 6'd1;  // 0 < r0 <= gamma2 < 2^22
    return r1 == 6'd0 ? last : r1 - 6'd1;
  endfunction

  // |x mod+- q| >= bound, for 0 < bound <= (q-1)/2.
  function automatic logic norm_ge(input coef_t x, input coef_t bound);
    return x >= bound && x <= 23'(Q) - bound;
  endfunction
endpackage
