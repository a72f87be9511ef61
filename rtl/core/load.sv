// Operands: which words of the input stream go where, in the order of each operation; unpacking;
// what can be malformed about them. Whatever happens, all packets of the operation are consumed.
module load
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
    input  logic        start,
    input  logic        no_key,        // with start: consume, use nothing
    input  op_t         op,
    input  set_t        set,
    input  params_t     par,
    input  logic        mu_given,
    input  logic        in_valid,
    output logic        in_ready,
    input  logic [63:0] in_data,
    input  logic        in_last,
    input  logic [3:0]  in_bytes,
    // register file
    output logic        rf_write,
    input  logic        rf_ready,
    output logic [5:0]  rf_write_at,
    // to be hashed
    output logic        pk_valid,
    input  logic        pk_ready,
    output logic        pk_last,
    output logic        message_valid,
    input  logic        message_ready,
    output logic        seeds_loaded,  // xi; rnd, and mu where it is given
    output logic        c_tilde_loaded,
    // s1, s2
    output logic        s_write,
    output logic [3:0]  s_poly,
    output logic [3:0][3:0] s_data,
    // z, t0, t1 * 2^d
    output logic        z_write,
    output logic        t_write,
    output logic [2:0]  slot,
    output logic [5:0]  index,         // of all four
    output word_t       word,
    output logic        z_more,        // pulse: a polynomial is complete
    output logic        t_more,
    output logic        z_fails,       // norm of z
    // hints
    input  logic [2:0]  hint_slot,
    input  logic [5:0]  hint_index,
    output logic [3:0]  hint,
    output logic        hint_done,     // they are there, or malformed
    //
    output logic        all_taken,     // no further operand word comes
    output logic        done,
    output status_t     status
);
  op_t op_here;
  assign op_here = op_within(KEYGEN, SIGN, VERIFY, op);

  typedef enum logic [3:0] {RF, PK_RF, T1, S1, S2, T0, MESSAGE, Z, HINT, NONE} segment_t;
  typedef struct packed {
    segment_t   segment;
    logic [9:0] words;
    logic [5:0] at;
    logic       packet_end;
    logic [3:0] bytes;                 // of the packet's last word
    status_t    status;                // if the packet has another length
    logic       last;                  // no further step
  } step_t;

  logic [2:0] at;
  step_t step;
  segment_t unpacked;                  // what is in the unpacker
  always_comb begin
    step = '{segment: RF, words: 10'd4, at: 6'd36, packet_end: 1'b1, bytes: 4'd8,
             status: ST_BAD_OPERAND, last: 1'b0};
    unique case (op_here)
      OP_KEYGEN: step.last = 1'b1;
      OP_LOAD_SK: begin
        step.packet_end = at == 3'd5;
        step.last = at == 3'd5;
        step.status = ST_BAD_KEY;
        unique case (at)
          3'd0: step.at = 6'd32;
          3'd1: step.at = 6'd0;
          3'd2: {step.at, step.words} = {6'd40, 10'd8};
          3'd3: {step.segment, step.words} = {S1, s_words(par, 4'(par.l))};
          3'd4: {step.segment, step.words} = {S2, s_words(par, par.k)};
          default: {step.segment, step.words} = {T0, t0_words(par)};
        endcase
      end
      OP_SIGN: begin
        step.at = at == 3'd0 ? 6'd4 : 6'd8;
        step.last = at != 3'd0;
        if (at != 3'd0) begin
          step.words = 10'd8;
          if (!mu_given) step.segment = MESSAGE;
        end
      end
      default: begin // OP_VERIFY
        unique case (at)
          3'd0, 3'd1: begin
            step.status = ST_BAD_KEY;
            step.packet_end = at == 3'd1;
            step.at = 6'd32;
            step.segment = at == 3'd1 ? T1 : PK_RF;
            if (at == 3'd1) step.words = t1_words(par);
          end
          3'd2: begin
            step.at = 6'd8;
            step.words = 10'd8;
            if (!mu_given) step.segment = MESSAGE;
          end
          default: begin
            step.status = ST_BAD_SIGNATURE;
            step.packet_end = at == 3'd5;
            step.last = at == 3'd5;
            step.bytes = set == ML_DSA_44 ? 4'd4 : set == ML_DSA_65 ? 4'd5 : 4'd3;
            step.at = 6'd24;
            step.words = 10'(par.c_words);
            if (at == 3'd4) {step.segment, step.words} = {Z, z_words(par)};
            if (at == 3'd5)
              {step.segment, step.words} = {HINT, set == ML_DSA_65 ? 10'd8 : 10'd11};
          end
        endcase
      end
    endcase
  end

  typedef enum logic [1:0] {IDLE, TAKE, DRAIN, FINISH} state_t;
  state_t state;
  logic [9:0] count;                   // words of the segment taken
  logic [1:0] packets;                 // still to come, with the one under way

  // ---- where a word goes
  logic unpacks, unpack_ready, hint_ready, target_ready, take, segment_end;
  assign unpacks = step.segment inside {T1, S1, S2, T0, Z};
  assign segment_end = step.segment == MESSAGE ? in_last : count == step.words - 10'd1;
  logic hashed;                        // the word is hashed, too
  assign hashed = step.segment inside {PK_RF, T1};
  always_comb begin
    unique case (step.segment)
      RF, PK_RF: target_ready = rf_ready;
      MESSAGE: target_ready = message_ready;
      HINT: target_ready = hint_ready;
      default: target_ready = unpack_ready && unpacked == step.segment;
    endcase
  end
  assign in_ready = state == DRAIN || (state == TAKE && target_ready && (!hashed || pk_ready));
  assign take = state == TAKE && in_valid && in_ready;
  assign pk_valid = state == TAKE && in_valid && hashed && target_ready;
  assign pk_last = step.segment == T1 && segment_end;
  assign message_valid = state == TAKE && in_valid && step.segment == MESSAGE;
  assign rf_write = take && step.segment inside {RF, PK_RF};
  assign rf_write_at = step.at + count[5:0];

  logic bad_length;
  always_comb begin
    if (step.segment == MESSAGE) bad_length = in_last && in_bytes > 4'd8;
    else if (segment_end && step.packet_end) bad_length = !in_last || in_bytes != step.bytes;
    else bad_length = in_last;
  end
  logic bad_range, hint_malformed;
  always_comb begin
    unique case (op_here)
      OP_KEYGEN: seeds_loaded = state == FINISH;
      OP_SIGN: seeds_loaded = mu_given ? state == FINISH : at != 0;
      default: seeds_loaded = 1'b1;
    endcase
  end
  assign all_taken = state == FINISH;
  assign done = state == FINISH && (status != ST_OK
                || (unpacked == NONE && (op_here != OP_VERIFY || hint_done)));

  always_ff @(posedge clk) begin
    if (start) begin
      state <= no_key ? DRAIN : TAKE;
      status <= no_key ? ST_NO_KEY : ST_OK;
      at <= '0;
      count <= '0;
      c_tilde_loaded <= 1'b0;
      packets <= op_here == OP_VERIFY ? 2'd3 : op_here == OP_SIGN ? 2'd2 : 2'd1;
    end else if (take) begin
      count <= count + 10'd1;
      if (in_last) packets <= packets - 2'd1;
      if (bad_length) begin
        status <= step.status;
        state <= in_last && packets == 2'd1 ? FINISH : DRAIN;
      end else if (segment_end) begin
        count <= '0;
        at <= at + 3'd1;
        if (op_here == OP_VERIFY && at == 3'd3) c_tilde_loaded <= 1'b1;
        if (step.last) state <= FINISH;
      end
    end else if (state == DRAIN && in_valid && in_last) begin
      packets <= packets - 2'd1;
      if (packets == 2'd1) state <= FINISH;
    end else if (state == FINISH && status == ST_OK) begin
      if (bad_range) status <= ST_BAD_KEY;
      if (op_here == OP_VERIFY && hint_done && hint_malformed) status <= ST_BAD_HINT;
    end
    if (rst) begin
      state <= IDLE;
      status <= ST_OK;
      {at, count, c_tilde_loaded, packets} <= '0;
    end
  end

  // ---- unpacking
  logic [3:0] poly, polys;           // of the segment
  logic [4:0] width;
  always_comb begin
    unique case (unpacked)
      T1: width = 5'd10;
      T0: width = 5'd13;
      Z: width = par.gamma_large ? 5'd20 : 5'd18;
      default: width = par.eta4 ? 5'd4 : 5'd3;
    endcase
  end
  assign polys = unpacked inside {Z, S1} ? 4'(par.l) : par.k;

  logic field_valid, poly_end;
  logic [3:0][19:0] field;
  if (SIGN || VERIFY) begin : g_unpack
    unpack unpack (
        .clk, .rst, .width, .in_valid(take && unpacks), .in_ready(unpack_ready), .in_word(in_data),
        .out_valid(field_valid), .out_ready(1'b1), .out_fields(field)
    );
  end else begin : g_no_unpack
    assign {unpack_ready, field_valid, field} = '0;
  end
  assign poly_end = field_valid && index == 6'd63;
  always_ff @(posedge clk) begin
    // The next segment, of another width maybe, waits until the last one has left.
    if (poly_end && poly == polys - 4'd1) unpacked <= NONE;
    else if (unpacked == NONE && unpacks && state == TAKE) unpacked <= step.segment;
    if (field_valid) index <= index + 6'd1;
    if (poly_end) poly <= poly == polys - 4'd1 ? '0 : poly + 4'd1;
    if (rst) begin
      unpacked <= NONE;
      index <= '0;
      poly <= '0;
    end
  end

  // ---- values
  coef_t [3:0] z;
  logic [3:0] over, norm;
  for (genvar g = 0; g < 4; g++) begin : lanes
    assign z[g] = VERIFY ? sub_q(gamma1(par.gamma_large), 23'(field[g])) : '0;
    assign s_data[g] = (par.eta4 ? 4'd4 : 4'd2) - field[g][3:0];
    assign over[g] = SIGN && field[g][3:0] > (par.eta4 ? 4'd8 : 4'd4);
    assign norm[g] = VERIFY && norm_ge(z[g], gamma1(par.gamma_large) - 23'(par.beta));
    always_comb begin
      unique case (unpacked)
        T1: word[g] = VERIFY ? 23'(field[g]) << D : '0;
        T0: word[g] = SIGN ? sub_q(23'(1 << (D - 1)), 23'(field[g])) : '0;
        default: word[g] = z[g];
      endcase
    end
  end
  assign s_write = SIGN && field_valid && unpacked inside {S1, S2};
  assign z_write = field_valid && unpacked == Z;
  assign t_write = field_valid && unpacked inside {T0, T1};
  assign s_poly = unpacked == S1 ? poly : {1'b1, poly[2:0]};
  assign slot = poly[2:0];
  assign z_more = z_write && poly_end;
  assign t_more = t_write && poly_end;
  always_ff @(posedge clk) begin
    if (s_write && over != 0) bad_range <= 1'b1;
    if (z_write && norm != 0) z_fails <= 1'b1;
    if (start || rst) begin
      bad_range <= 1'b0;
      z_fails <= 1'b0;
    end
  end

  if (VERIFY) begin : g_hints
    hint_decode hint_decode (
        .clk, .rst, .wipe, .par, .start,
        .in_valid(take && step.segment == HINT), .in_ready(hint_ready), .in_word(in_data),
        .done(hint_done), .malformed(hint_malformed),
        .rd_poly(hint_slot), .rd_index(hint_index), .rd_hint(hint)
    );
  end else begin : g_no_hints
    assign {hint_ready, hint_done, hint_malformed, hint} = '0;
  end
endmodule
