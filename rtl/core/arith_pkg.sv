// Arithmetic modulo q = 2^23 - 2^13 + 1 and FIPS 204, section 7.4, on one coefficient; latencies of
// the pipelined units, in cycles.
package arith_pkg;
  import mldsa_pkg::*;

  localparam int MUL_LATENCY = 4;                      // mulmod
  localparam int BUTTERFLY_LATENCY = MUL_LATENCY + 2;  // butterfly
  localparam int MAC_LATENCY = MUL_LATENCY + 2;        // mac

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
endpackage
