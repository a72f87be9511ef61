// ML-DSA (FIPS 204): key generation, signing and verification for the three parameter sets.
module mldsa_core
  import mldsa_pkg::*;
#(
    parameter bit FAST = 1'b1,         // 1: FAST, 0: SMALL
    parameter bit KEYGEN = 1'b1,       // the operations that it has; at least one
    parameter bit SIGN = 1'b1,
    parameter bit VERIFY = 1'b1
) (
    input  logic        clk,
    input  logic        rst,
    input  logic        zeroize,       // at any time: ends the operation and clears all state
    input  logic        cmd_valid,
    output logic        cmd_ready,
    input  logic [2:0]  cmd_op,
    input  logic [1:0]  cmd_set,
    input  logic        cmd_mu,
    input  logic        in_valid,
    output logic        in_ready,
    input  logic [63:0] in_data,
    input  logic        in_last,
    input  logic [3:0]  in_bytes,
    output logic        out_valid,
    input  logic        out_ready,
    output logic [63:0] out_data,
    output logic        out_last,
    output logic [3:0]  out_bytes,
    output logic        rsp_valid,
    input  logic        rsp_ready,
    output logic [3:0]  rsp_status,
    output logic [31:0] cnt_load,
    output logic [31:0] cnt_compute,
    output logic [31:0] cnt_store,
    output logic [15:0] cnt_attempts,
    output logic [15:0] cnt_rej_z,
    output logic [15:0] cnt_rej_r0,
    output logic [15:0] cnt_rej_ct0,
    output logic [15:0] cnt_rej_hint
);
  localparam int HALVES = FAST && SIGN ? 2 : 1;
  localparam int DEEPEST = FAST ? 2048 : 512;  // words of the deepest memory
  localparam int FLUSH = 32;                   // cycles in which the longest pipeline fills

  op_t op, op_taken;
  assign op = op_within(KEYGEN, SIGN, VERIFY, op_taken);
  set_t set;
  params_t par;
  logic mu_given, start, clear, clear_key, key_loaded, no_key;
  set_t key_set;
  wipe_t wipe;
  logic purge, sync;
  assign purge = rst || zeroize || wipe.on;
  assign sync = purge || clear;

  // ---- operands
  logic rf_write, rf_ready, pk_in_valid, pk_in_last, message_valid, message_ready, seeds_loaded;
  logic c_tilde_loaded, ls_write, z_write, t_write, z_more, t_more, z_fails, all_taken, load_done;
  logic hint_done;
  logic [5:0] rf_write_at, load_index;
  logic [3:0] ls_poly, hint;
  logic [3:0][3:0] ls_data;
  logic [2:0] load_slot;
  word_t load_word;
  status_t load_status;
  logic pk_ready;
  word_t e_word;
  tag_t e_tag;
  logic [5:0] e_index;
  logic e_valid, e_ready;
  load #(.KEYGEN(KEYGEN), .SIGN(SIGN), .VERIFY(VERIFY)) load (
      .clk, .rst(sync), .wipe, .start, .no_key, .op, .set, .par, .mu_given,
      .in_valid, .in_ready, .in_data, .in_last, .in_bytes,
      .rf_write, .rf_ready, .rf_write_at,
      .pk_valid(pk_in_valid), .pk_ready, .pk_last(pk_in_last), .message_valid, .message_ready,
      .seeds_loaded, .c_tilde_loaded, .s_write(ls_write), .s_poly(ls_poly), .s_data(ls_data),
      .z_write, .t_write, .slot(load_slot), .index(load_index), .word(load_word), .z_more, .t_more,
      .z_fails, .hint_slot(e_tag.slot), .hint_index(e_index), .hint, .hint_done, .all_taken,
      .done(load_done), .status(load_status)
  );

  // ---- hashing and sampling
  logic [5:0] rf_read_at, a_index, hs_index, y_index, c_index;
  logic [63:0] rf_read_data, pk_out_word, w1_word;
  logic pk_out_valid, pk_out_last, w1_valid, w1_ready, a_write, a_done, a_issue, a_room;
  logic hs_write, hs_done, y_write, y_done, c_done, tr_done, match_done, match, rejected;
  logic [2:0] y_poly;
  logic [3:0] hs_poly;
  logic [3:0][3:0] hs_data;
  word_t a_sampled, y_sampled, c_word;
  logic list_write, list_negative, seed_done, rho_write, c_take;
  logic [1:0] rho_at;
  logic [63:0] rho_word;
  logic [5:0] list_n;
  logic [7:0] list_position;
  hash #(.FAST(FAST), .KEYGEN(KEYGEN), .SIGN(SIGN), .VERIFY(VERIFY)) hash (
      .clk, .rst(sync), .wipe, .start(start && !no_key), .op, .par, .mu_given,
      .a_room, .seeds_loaded, .c_tilde_loaded, .rejected,
      .rf_write, .rf_ready, .rf_write_at, .rf_write_data(in_data), .rf_read_at, .rf_read_data,
      .pk_valid(op == OP_KEYGEN ? pk_out_valid : pk_in_valid), .pk_ready,
      .pk_word(op == OP_KEYGEN ? pk_out_word : in_data),
      .pk_last(op == OP_KEYGEN ? pk_out_last : pk_in_last),
      .message_valid, .message_ready, .message_word(in_data), .message_last(in_last),
      .message_bytes(in_bytes), .w1_valid, .w1_ready, .w1_word,
      .a_write, .a_word(a_sampled), .a_index, .a_done, .a_issue,
      .s_write(hs_write), .s_data(hs_data), .s_index(hs_index), .s_poly(hs_poly), .s_done(hs_done),
      .y_write, .y_word(y_sampled), .y_index, .y_poly, .y_done,
      .list_write, .list_n, .list_position, .list_negative, .c_take, .c_index, .c_word, .c_done,
      .seed_done, .tr_done, .rho_write, .rho_at, .rho_word, .match_done, .match
  );

  // ---- the transforms
  logic rows_end, row_request, row_grant, row_valid, e_half, c_ready, y_more;
  tag_t row_tag;
  word_t row_word, y_read, w_read;
  logic [2:0] e_y_slot, e_t_slot, y_count;
  logic [5:0] e_read_index;
  logic [3:0] t_count;
  logic hs_first;                      // of s1
  assign hs_first = hs_poly < 4'(par.l);
  assign c_index = e_read_index;
  always_comb begin
    unique case (op)
      OP_KEYGEN: y_more = hs_done && hs_first;
      OP_SIGN: y_more = y_done;
      default: y_more = z_more;
    endcase
  end
  engine #(.FAST(FAST)) engine (
      .clk, .rst(sync), .wipe, .rst_t(purge || clear_key), .par, .halves(op == OP_SIGN),
      .y_more, .t_more, .c_more(c_done), .rows_end,
      .row_request, .row_tag, .row_grant, .row_valid, .row_word,
      .y_half(e_half), .y_slot(e_y_slot), .t_slot(e_t_slot), .index(e_read_index),
      .y_word(y_read), .t_word(w_read), .c_word, .c_take,
      .out_valid(e_valid), .out_ready(e_ready), .out_word(e_word), .out_tag(e_tag),
      .out_index(e_index), .y_count, .t_count, .c_ready
  );

  // ---- products
  logic start_a, start_t, rows_wait;
  logic a_ready;
  logic [6:0] a_used;
  logic [2:0] row, column;
  logic [5:0] row_index;
  word_t a_read, yh_read, th_read;
  rows #(.FAST(FAST)) rows (
      .clk, .rst(sync), .wipe, .par, .verify(op == OP_VERIFY), .start_a, .start_t,
      .a_ready, .y_count, .t_count, .c_ready, .a_used, .rows_end,
      .row, .column, .index(row_index), .a_word(a_read), .y_word(yh_read), .t_word(th_read),
      .row_request, .row_tag, .row_grant, .row_valid, .row_word
  );
  assign start_a = rows_wait && (op != OP_SIGN || t_count == par.k);
  always_ff @(posedge clk) begin
    if (start_a) rows_wait <= 1'b0;
    if ((start && !no_key && op != OP_LOAD_SK) || rejected) rows_wait <= 1'b1;
    if (sync) rows_wait <= 1'b0;
  end

  // ---- rounding, hints
  logic yh_write, th_write, w_write, row_end, hint_in_valid, hint_in_ready, ct0_fails;
  logic [2:0] w_slot;
  logic [5:0] w_index;
  word_t w_word, sum;
  logic [3:0][5:0] sum_r1;
  logic [3:0] hint_bits;
  logic [3:0][3:0] s_read;
  post #(.KEYGEN(KEYGEN), .SIGN(SIGN), .VERIFY(VERIFY)) post (
      .clk, .rst(sync), .wipe, .op, .par, .in_valid(e_valid), .in_ready(e_ready), .in_word(e_word),
      .in_tag(e_tag), .in_index(e_index), .y_write(yh_write), .t_write(th_write),
      .w_write, .w_slot, .w_index, .w_word, .row_end, .r_word(w_read), .s_data(s_read), .hint,
      .hint_done, .w1_valid, .w1_ready, .w1_word, .sum, .sum_r1,
      .hint_valid(hint_in_valid), .hint_ready(hint_in_ready), .hint_bits, .start_t, .ct0_fails
  );
  logic hints_done, hint_overflow, hint_out_valid, hint_out_ready, hint_out_last;
  logic [63:0] hint_out_word;
  logic [3:0] hint_out_bytes;
  if (SIGN) begin : g_hints
    hint_encode hint_encode (
        .clk, .rst(sync), .wipe, .par, .start(start_t), .in_valid(hint_in_valid),
        .in_ready(hint_in_ready), .in_hint(hint_bits), .done(hints_done), .overflow(hint_overflow),
        .out_valid(hint_out_valid), .out_ready(hint_out_ready), .out_word(hint_out_word),
        .out_last(hint_out_last), .out_bytes(hint_out_bytes)
    );
  end else begin : g_no_hints
    assign {hints_done, hint_overflow, hint_in_ready} = '0;
    assign {hint_out_valid, hint_out_word, hint_out_last, hint_out_bytes} = '0;
  end

  // ---- checks
  logic cz_busy, cz_write, cr_busy, cr_write, accepted;
  logic rejected_z, rejected_r0, rejected_ct0, rejected_hint;
  logic [2:0] c_slot, c_write_slot;
  logic [5:0] c_read_index, c_write_index;
  word_t c_write_word, y_check;
  logic store_z;
  logic [2:0] store_slot;
  logic [5:0] store_index;
  if (SIGN) begin : g_check
    check #(.LANES(FAST ? 128 : 16)) check (
        .clk, .rst(sync), .wipe, .par, .sign(op == OP_SIGN),
        .s_write(ls_write || hs_write),
        .s_write_poly(ls_write ? ls_poly : hs_first ? hs_poly : hs_poly - 4'(par.l) + 4'd8),
        .s_write_index(ls_write ? load_index : hs_index),
        .s_write_data(ls_write ? ls_data : hs_data),
        .s_read_poly({1'b1, e_tag.slot}), .s_read_index(e_index), .s_read_data(s_read),
        .list_write, .list_n, .list_position, .list_negative, .c_done,
        .z_busy(cz_busy), .z_write(cz_write), .slot(c_slot), .index(c_read_index),
        .write_slot(c_write_slot), .write_index(c_write_index), .write_word(c_write_word),
        .r_busy(cr_busy), .r_write(cr_write), .y_word(y_check), .w_word(w_read), .sum, .sum_r1,
        .start_t, .hints_done, .ct0_fails, .hint_overflow,
        .accepted, .rejected_z, .rejected_r0, .rejected_ct0, .rejected_hint
    );
  end else begin : g_no_check
    assign {cz_busy, cz_write, c_slot, c_read_index, cr_busy, cr_write} = '0;
    assign {c_write_slot, c_write_index, c_write_word, sum_r1, start_t} = '0;
    assign {accepted, rejected_z, rejected_r0, rejected_ct0, rejected_hint} = '0;
    if (KEYGEN) begin : g_s2
      logic [2:0] hs_row;
      assign hs_row = 3'(hs_poly - 4'(par.l));
      ram #(.WIDTH(16), .DEPTH(512)) s2 (
          .clk, .wipe, .write(hs_write && !hs_first), .write_at({hs_row, hs_index}),
          .write_data(hs_data), .read_at({e_tag.slot, e_index}), .read_data(s_read)
      );
    end else begin : g_no_s2
      assign s_read = '0;
    end
  end
  assign rejected = rejected_z || rejected_r0 || rejected_ct0 || rejected_hint;

  // ---- memories
  logic write_half, check_half;        // of y: being sampled, being checked
  word_t [HALVES-1:0] y_half_read;
  word_t ys_word;
  for (genvar g = 0; g < 4; g++) begin : s_lanes
    assign ys_word[g] = from_signed(hs_data[g]);
  end
  for (genvar h = 0; h < HALVES; h++) begin : y_memory
    logic checked, write;
    logic [8:0] write_at, read_at;
    word_t data;
    assign checked = check_half == 1'(h);
    always_comb begin
      write = y_write && write_half == 1'(h);
      write_at = {y_poly, y_index};
      data = y_sampled;
      if (cz_write && checked) begin
        write = 1'b1;
        write_at = {c_write_slot, c_write_index};
        data = c_write_word;
      end
      if (h == 0 && z_write) begin
        write = 1'b1;
        write_at = {load_slot, load_index};
        data = load_word;
      end
      if (h == 0 && hs_write && hs_first) begin
        write = 1'b1;
        write_at = {hs_poly[2:0], hs_index};
        data = ys_word;
      end
      read_at = {e_y_slot, e_read_index};
      if (cz_busy && checked) read_at = {c_slot, c_read_index};
      if (store_z && checked) read_at = {store_slot, store_index};
    end
    ram #(.WIDTH(92), .DEPTH(512)) y (
        .clk, .wipe, .write, .write_at, .write_data(data), .read_at, .read_data(y_half_read[h])
    );
  end
  assign y_read = y_half_read[HALVES == 2 ? e_half : 1'b0];
  assign y_check = y_half_read[HALVES == 2 ? check_half : 1'b0];
  always_ff @(posedge clk) begin
    if (HALVES == 2 && op == OP_SIGN && y_done && y_poly == par.l - 3'd1) write_half <= !write_half;
    if (HALVES == 2 && rejected) check_half <= !check_half;
    if (sync) begin
      write_half <= 1'b0;
      check_half <= 1'b0;
    end
  end

  logic [8:0] w_write_at, w_read_at;
  word_t w_data;
  always_comb begin
    {w_write_at, w_data} = {w_slot, w_index, w_word};
    if (cr_write) {w_write_at, w_data} = {c_write_slot, c_write_index, c_write_word};
    if (t_write) {w_write_at, w_data} = {load_slot, load_index, load_word};
    w_read_at = {e_t_slot, e_read_index};
    if (e_valid && e_tag.to == TO_HINT) w_read_at = {e_tag.slot, e_index};
    if (cr_busy) w_read_at = {c_slot, c_read_index};
    if (op == OP_KEYGEN) w_read_at = {store_slot, store_index};
  end
  ram #(.WIDTH(92), .DEPTH(512)) w (
      .clk, .wipe, .write(w_write || cr_write || t_write), .write_at(w_write_at), .write_data(w_data),
      .read_at(w_read_at), .read_data(w_read)
  );
  ram #(.WIDTH(92), .DEPTH(512)) y_hat (
      .clk, .wipe, .write(yh_write), .write_at({e_tag.slot, e_index}), .write_data(e_word),
      .read_at({column, row_index}), .read_data(yh_read)
  );
  if (SIGN || VERIFY) begin : g_t_hat
    ram #(.WIDTH(92), .DEPTH(512)) t_hat (
        .clk, .wipe, .write(th_write), .write_at({e_tag.slot, e_index}), .write_data(e_word),
        .read_at({row, row_index}), .read_data(th_read)
    );
  end else begin : g_no_t_hat
    assign th_read = '0;
  end
  // A-hat: all of it by Keccaks of its own; or two polynomials at a time, sampled for each attempt.
  if (FAST) begin : g_whole
    logic [1:0][5:0] count;
    word_t [1:0] a_both;
    logic lane;
    expand_a #(.LANES(2)) expand_a (
        .clk, .rst(purge || clear_key), .wipe, .par, .rho_write, .rho_at, .rho_word,
        .count, .place(a_used[5:1]), .index(row_index), .word(a_both)
    );
    assign a_ready = count[a_used[0]] > a_used[6:1];
    always_ff @(posedge clk) lane <= a_used[0];
    assign a_read = a_both[lane];
    assign a_room = 1'b0;
  end else begin : g_two
    logic [6:0] filled, issued;
    always_ff @(posedge clk) begin
      if (a_done) filled <= filled + 7'd1;
      if (a_issue) issued <= issued + 7'd1;
      if (sync) {filled, issued} <= '0;
    end
    assign a_ready = filled != a_used;
    assign a_room = issued - a_used < 7'd2;
    ram #(.WIDTH(92), .DEPTH(128)) a_hat (
        .clk, .wipe, .write(a_write), .write_at({filled[0], a_index}), .write_data(a_sampled),
        .read_at({a_used[0], row_index}), .read_data(a_read)
    );
  end

  // ---- results
  logic store_start, store_done;
  assign store_start = (op == OP_KEYGEN && seed_done) || accepted;
  if (KEYGEN || SIGN) begin : g_store
    store #(.KEYGEN(KEYGEN), .SIGN(SIGN), .VERIFY(VERIFY)) store (
        .clk, .rst(sync), .wipe, .start(store_start), .op, .par, .tr_done,
        .s_valid(hs_write), .s_data(hs_data), .row_end,
        .rf_read_at, .rf_read_data, .z_reading(store_z), .slot(store_slot), .index(store_index),
        .t_word(w_read), .z_word(y_check),
        .pk_valid(pk_out_valid), .pk_ready, .pk_word(pk_out_word), .pk_last(pk_out_last),
        .hint_valid(hint_out_valid), .hint_ready(hint_out_ready), .hint_word(hint_out_word),
        .hint_last(hint_out_last), .hint_bytes(hint_out_bytes),
        .out_valid, .out_ready, .out_data, .out_last, .out_bytes, .done(store_done)
    );
  end else begin : g_no_store
    assign {rf_read_at, store_z, store_slot, store_index, pk_out_valid, pk_out_word, pk_out_last, hint_out_ready,
            out_valid, out_data, out_last, out_bytes, store_done} = '0;
  end

  // ---- the course of an operation
  typedef enum logic [2:0] {IDLE, PREPARE, START, RUN, FINISH, RESPOND, WIPE} state_t;
  state_t state;
  status_t status;
  logic limit, matched, match_seen;
  logic answer;                        // to a command that is not answered yet
  logic [11:0] wiped;                  // cycles of zeroization so far
  assign wipe.on = state == WIPE;
  assign wipe.at = wiped[10:0];
  assign par = params(set);
  assign cmd_ready = state == IDLE;
  assign start = state == START;
  assign clear_key = state == PREPARE && op != OP_SIGN;
  assign clear = clear_key
                 || (state == FINISH && !(op == OP_LOAD_SK && status == ST_OK)
                     && status != ST_NO_KEY);
  assign no_key = op == OP_SIGN && !(key_loaded && key_set == set);
  assign rsp_valid = state == RESPOND;
  assign rsp_status = status;

  logic [15:0] most_attempts;          // kappa has 16 bits
  assign most_attempts = set == ML_DSA_44 ? 16'd16384 : set == ML_DSA_65 ? 16'd13107 : 16'd9362;

  always_ff @(posedge clk) begin
    if (rejected && cnt_attempts == most_attempts - 16'd1) limit <= 1'b1;
    if (match_done) {match_seen, matched} <= {1'b1, match};
    unique case (state)
      IDLE: if (cmd_valid) begin
        answer <= 1'b1;
        status <= ST_OK;
        if (cmd_op == OP_ZEROIZE) state <= WIPE;
        else if (!has_op(KEYGEN, SIGN, VERIFY, cmd_op) || cmd_set == 2'd3) begin
          status <= ST_BAD_COMMAND;
          state <= RESPOND;
        end else begin
          // Not before: a key that was just loaded is still transformed by these.
          op_taken <= op_t'(cmd_op);
          set <= set_t'(cmd_set);
          mu_given <= cmd_mu;
          state <= PREPARE;
        end
      end
      PREPARE: begin
        state <= START;
        {limit, match_seen} <= 2'b00;
        if (op != OP_SIGN) key_loaded <= 1'b0;
      end
      START: state <= RUN;
      RUN: begin
        if (load_done && load_status != ST_OK) begin
          // A key that stays loaded is not left half transformed.
          if (op != OP_SIGN || load_status == ST_NO_KEY || t_count == par.k) state <= FINISH;
          status <= load_status;
        end else begin
          unique case (op)
            OP_LOAD_SK: if (load_done) begin
              state <= FINISH;
              key_loaded <= 1'b1;
              key_set <= set;
            end
            OP_VERIFY: if (load_done && match_seen) begin
              state <= FINISH;
              status <= matched && !z_fails ? ST_OK : ST_REFUSED;
            end
            default: if (store_done || limit) begin
              state <= FINISH;
              if (limit) status <= ST_LIMIT;
            end
          endcase
        end
      end
      FINISH: state <= status == ST_LIMIT ? WIPE : RESPOND;
      WIPE: begin
        wiped <= wiped + 12'd1;
        if (wiped == 12'(DEEPEST + FLUSH - 1)) begin
          wiped <= '0;
          state <= answer ? RESPOND : IDLE;
        end
      end
      default: if (rsp_ready) state <= IDLE;   // RESPOND
    endcase
    if (purge) begin
      {op_taken, set, mu_given} <= {OP_KEYGEN, ML_DSA_44, 1'b0};
      {key_loaded, key_set} <= {1'b0, ML_DSA_44};
      {limit, match_seen, matched} <= '0;
    end
    if (rst) state <= IDLE;
    if (rst || zeroize) wiped <= '0;
    if (zeroize) begin                 // a reset beside it does not prevent it
      state <= WIPE;
      answer <= 1'b0;
      status <= ST_OK;
    end
  end

  // ---- counters
  logic storing;
  always_ff @(posedge clk) begin
    if (state == IDLE) begin
      if (cmd_valid) begin
        storing <= 1'b0;
        {cnt_load, cnt_compute, cnt_store} <= '0;
        {cnt_attempts, cnt_rej_z, cnt_rej_r0, cnt_rej_ct0, cnt_rej_hint} <= '0;
      end
    end else if (state != RESPOND && state != WIPE) begin
      if (out_valid) storing <= 1'b1;
      if (!all_taken) cnt_load <= cnt_load + 32'd1;
      else if ((out_valid || storing) && !store_done) cnt_store <= cnt_store + 32'd1;
      else cnt_compute <= cnt_compute + 32'd1;
      cnt_attempts <= cnt_attempts + 16'(rejected || accepted);
      cnt_rej_z <= cnt_rej_z + 16'(rejected_z);
      cnt_rej_r0 <= cnt_rej_r0 + 16'(rejected_r0);
      cnt_rej_ct0 <= cnt_rej_ct0 + 16'(rejected_ct0);
      cnt_rej_hint <= cnt_rej_hint + 16'(rejected_hint);
    end
    if (rst || zeroize) begin
      storing <= 1'b0;
      {cnt_load, cnt_compute, cnt_store} <= '0;
      {cnt_attempts, cnt_rej_z, cnt_rej_r0, cnt_rej_ct0, cnt_rej_hint} <= '0;
    end
  end
endmodule
