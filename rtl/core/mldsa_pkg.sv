// Constants and types of the core; names as in FIPS 204.
package mldsa_pkg;
  localparam int Q = 8380417;
  localparam int D = 13;

  typedef logic [22:0] coef_t;        // a coefficient in 0..q-1
  typedef coef_t [3:0] word_t;        // coefficients 4i..4i+3, 4i in lane 0; 64 make a polynomial

  typedef enum logic [1:0] {
    ML_DSA_44 = 2'd0,
    ML_DSA_65 = 2'd1,
    ML_DSA_87 = 2'd2
  } set_t;

  typedef enum logic [2:0] {
    OP_KEYGEN  = 3'd0,
    OP_LOAD_SK = 3'd1,
    OP_SIGN    = 3'd2,
    OP_VERIFY  = 3'd3,
    OP_ZEROIZE = 3'd4
  } op_t;

  typedef enum logic [3:0] {
    ST_OK            = 4'd0,
    ST_REFUSED       = 4'd1,
    ST_BAD_KEY       = 4'd2,
    ST_BAD_SIGNATURE = 4'd3,
    ST_BAD_HINT      = 4'd4,
    ST_NO_KEY        = 4'd5,
    ST_BAD_OPERAND   = 4'd6,
    ST_BAD_COMMAND   = 4'd7,
    ST_LIMIT         = 4'd8
  } status_t;

  // Whether a core has the operation of a command; a key is loaded for signing alone.
  function automatic logic has_op(logic keygen, logic sign, logic verify, logic [2:0] op);
    unique case (op)
      OP_KEYGEN: has_op = keygen;
      OP_LOAD_SK, OP_SIGN: has_op = sign;
      OP_VERIFY: has_op = verify;
      default: has_op = 1'b0;
    endcase
  endfunction

  // The operation under way, a constant in a core that has one alone: synthesis then drops what
  // the others need.
  function automatic op_t op_within(logic keygen, logic sign, logic verify, op_t op);
    unique case ({keygen, sign, verify})
      3'b100: op_within = OP_KEYGEN;
      3'b010: op_within = op == OP_SIGN ? OP_SIGN : OP_LOAD_SK;
      3'b001: op_within = OP_VERIFY;
      default: op_within = op;
    endcase
  endfunction

  // Zeroization: every memory writes 0 at `at`, modulo its depth. A reset clears the registers that
  // keep their value; pipelines without an enable fill with what the cleared memories give.
  typedef struct packed {
    logic        on;
    logic [10:0] at;
  } wipe_t;

  // One column of Table 1.
  typedef struct packed {
    logic [3:0]  k;
    logic [2:0]  l;
    logic        eta4;         // eta = 4, else 2
    logic        gamma_large;  // gamma1 = 2^19 and gamma2 = (q-1)/32, else 2^17 and (q-1)/88
    logic [5:0]  tau;
    logic [7:0]  beta;
    logic [6:0]  omega;
    logic [3:0]  c_words;      // 64-bit words of c_tilde, lambda/32
  } params_t;

  function automatic params_t params(set_t set);
    unique case (set)
      ML_DSA_65: params = '{k: 6, l: 5, eta4: 1, gamma_large: 1, tau: 49, beta: 196, omega: 55,
                            c_words: 6};
      ML_DSA_87: params = '{k: 8, l: 7, eta4: 0, gamma_large: 1, tau: 60, beta: 120, omega: 75,
                            c_words: 8};
      default:   params = '{k: 4, l: 4, eta4: 0, gamma_large: 0, tau: 39, beta: 78, omega: 80,
                            c_words: 4};
    endcase
  endfunction

  // Where a polynomial goes that leaves the NTT engine: y-hat (slot 7: c-hat), t-hat, a row to be
  // rounded, a row of c*t0.
  typedef enum logic [1:0] {TO_Y, TO_T, TO_ROW, TO_HINT} target_t;
  typedef struct packed {
    target_t    to;
    logic [2:0] slot;
  } tag_t;

  // gamma1 and gamma2 by params_t.gamma_large.
  function automatic coef_t gamma1(logic wide);
    gamma1 = wide ? 23'd524288 : 23'd131072;
  endfunction

  function automatic coef_t gamma2(logic wide);
    gamma2 = wide ? 23'd261888 : 23'd95232;
  endfunction

  // Words of k or l polynomials, packed: no multiplier is worth it.
  function automatic logic [9:0] t1_words(params_t par);
    t1_words = {1'b0, par.k, 5'b0} + {3'b0, par.k, 3'b0};
  endfunction

  function automatic logic [9:0] t0_words(params_t par);
    t0_words = {1'b0, par.k, 5'b0} + {2'b0, par.k, 4'b0} + {4'b0, par.k, 2'b0};
  endfunction

  function automatic logic [9:0] s_words(params_t par, logic [3:0] polynomials);
    s_words = {3'b0, polynomials, 3'b0} + (par.eta4 ? {3'b0, polynomials, 3'b0}
                                                  : {4'b0, polynomials, 2'b0});
  endfunction

  function automatic logic [9:0] z_words(params_t par);
    z_words = {1'b0, par.l, 6'b0} + (par.gamma_large ? {3'b0, par.l, 4'b0} : {4'b0, par.l, 3'b0});
  endfunction

  // A coefficient of s1 or s2.
  function automatic coef_t from_signed(logic [3:0] x);
    from_signed = x[3] ? 23'(Q) - 23'(4'(-x)) : 23'(x);
  endfunction
endpackage
