// What is hashed and sampled by one Keccak: the register file of seeds and digests, the order of
// the Keccak jobs of each operation, and the samplers behind Keccak. In FAST A-hat is sampled
// elsewhere.
//
// A job passes three places: it is fed (its words go into Keccak), handed over, and squeezed. The
// next job is fed while one is squeezed, unless it needs what that one writes.
module hash
  import mldsa_pkg::*;
#(
    parameter bit FAST = 1'b1,
    parameter bit KEYGEN = 1'b1,        // the operations that the core has
    parameter bit SIGN = 1'b1,
    parameter bit VERIFY = 1'b1
) (
    input  logic        clk,
    input  logic        rst,
    input  wipe_t       wipe,
    input  logic        start,          // of an operation
    input  op_t         op,
    input  params_t     par,
    input  logic        mu_given,
    // what the other parts have done
    input  logic        a_room,         // there is room for one more polynomial of A-hat
    input  logic        seeds_loaded,   // xi; rnd, and mu where it is given
    input  logic        c_tilde_loaded, // VERIFY
    input  logic        rejected,       // pulse: the attempt under check
    // register file: written by the loader, read by the store
    input  logic        rf_write,
    output logic        rf_ready,
    input  logic [5:0]  rf_write_at,
    input  logic [63:0] rf_write_data,
    input  logic [5:0]  rf_read_at,
    output logic [63:0] rf_read_data,
    // streams to absorb: public key, message, w1
    input  logic        pk_valid,
    output logic        pk_ready,
    input  logic [63:0] pk_word,
    input  logic        pk_last,
    input  logic        message_valid,
    output logic        message_ready,
    input  logic [63:0] message_word,
    input  logic        message_last,
    input  logic [3:0]  message_bytes,
    input  logic        w1_valid,
    output logic        w1_ready,
    input  logic [63:0] w1_word,
    // A-hat
    output logic        a_write,
    output word_t       a_word,
    output logic [5:0]  a_index,
    output logic        a_done,
    output logic        a_issue,        // pulse: one more polynomial is on its way
    // s1 and s2
    output logic        s_write,
    output logic [3:0][3:0] s_data,
    output logic [5:0]  s_index,
    output logic [3:0]  s_poly,         // 0..l+k-1
    output logic        s_done,
    // y
    output logic        y_write,
    output word_t       y_word,
    output logic [5:0]  y_index,
    output logic [2:0]  y_poly,
    output logic        y_done,
    // c
    output logic        list_write,
    output logic [5:0]  list_n,
    output logic [7:0]  list_position,
    output logic        list_negative,
    input  logic        c_take,
    input  logic [5:0]  c_index,
    output word_t       c_word,
    output logic        c_done,
    // digests
    output logic        seed_done,      // rho, rho' and K are there
    output logic        tr_done,
    output logic        rho_write,      // a word of rho is written
    output logic [1:0]  rho_at,
    output logic [63:0] rho_word,
    output logic        match_done,     // VERIFY: c_tilde' is compared
    output logic        match
);
  op_t op_here;
  assign op_here = op_within(KEYGEN, SIGN, VERIFY, op);

  // Places of the register file.
  localparam logic [5:0] RF_K = 0, RF_MU = 8, RF_RHO2 = 16, RF_C = 24, RF_RHO = 32;
  localparam logic [5:0] RF_XI = 36, RF_TR = 40;

  typedef enum logic [3:0] {
    J_SEED, J_S, J_A, J_MASK, J_TR, J_MU, J_RHO2, J_C, J_BALL
  } kind_t;

  function automatic logic writes(kind_t kind);      // the register file
    writes = kind inside {J_SEED, J_TR, J_MU, J_RHO2, J_C};
  endfunction

  // ---- the order of jobs
  typedef enum logic [1:0] {IDLE, ISSUE, WAIT_REJECT} program_t;
  program_t prog;
  kind_t kind;
  logic [2:0] row, column;
  logic [3:0] poly;
  logic [15:0] kappa;
  logic first;                          // the masks of the first attempt
  logic [1:0] verdicts;                 // rejections not yet waited for

  logic last_column, last_row, may, issue;
  assign last_column = column == par.l - 3'd1;
  assign last_row = 4'(row) == par.k - 4'd1;
  always_comb begin
    unique case (kind)
      J_A: may = a_room;
      J_SEED, J_RHO2: may = seeds_loaded;
      J_BALL: may = op_here == OP_SIGN || c_tilde_loaded;
      default: may = 1'b1;
    endcase
  end
  logic fed_free;
  assign issue = prog == ISSUE && may && fed_free;

  always_ff @(posedge clk) begin
    verdicts <= verdicts + 2'(rejected) - 2'(prog == WAIT_REJECT && verdicts != 0);
    if (start) begin
      row <= '0;
      column <= '0;
      poly <= '0;
      kappa <= '0;
      first <= 1'b1;
      verdicts <= '0;
      unique case (op_here)
        OP_KEYGEN: {prog, kind} <= {ISSUE, J_SEED};
        OP_SIGN: {prog, kind} <= {ISSUE, mu_given ? J_RHO2 : J_MU};
        OP_VERIFY: {prog, kind} <= {ISSUE, J_TR};
        default: prog <= IDLE;
      endcase
    end else if (prog == WAIT_REJECT) begin
      if (verdicts != 0) {prog, kind} <= {ISSUE, J_MASK};
    end else if (issue) begin
      unique case (kind)
        J_SEED: kind <= J_S;
        J_S: begin
          poly <= poly + 4'd1;
          if (poly == par.k + 4'(par.l) - 4'd1) kind <= FAST ? J_TR : J_A;
        end
        J_A: begin
          column <= last_column ? '0 : column + 3'd1;
          if (last_column) row <= last_row ? '0 : row + 3'd1;
          if (last_column && last_row) kind <= op_here == OP_KEYGEN ? J_TR : J_C;
        end
        J_TR: begin
          kind <= mu_given ? J_BALL : J_MU;
          if (op_here == OP_KEYGEN) prog <= IDLE;
        end
        J_MU: kind <= op_here == OP_SIGN ? J_RHO2 : J_BALL;
        J_RHO2: kind <= J_MASK;
        J_MASK: begin
          kappa <= kappa + 16'd1;
          column <= last_column ? '0 : column + 3'd1;
          if (last_column) begin
            first <= 1'b0;
            kind <= !FAST ? J_A : first ? J_MASK : J_C;
          end
        end
        J_C: begin
          kind <= J_BALL;
          if (op_here == OP_VERIFY) prog <= IDLE;
        end
        default: begin // J_BALL
          if (op_here == OP_VERIFY) kind <= FAST ? J_C : J_A;
          else prog <= WAIT_REJECT;
        end
      endcase
    end
    if (rst) begin
      {prog, kind} <= {IDLE, J_SEED};
      {row, column, poly, kappa, first, verdicts} <= '0;
    end
  end

  // ---- a job and what it needs
  typedef struct packed {
    kind_t      kind;
    logic [2:0] column;
    logic [3:0] poly;
  } job_t;

  job_t fed, squeezed;
  logic [15:0] tail;                    // the two bytes at the end of a seed
  logic squeezing;
  typedef enum logic [2:0] {FREE, WAIT_RF, WORDS, TAIL, STREAM, HAND} feed_t;
  feed_t feed;
  logic [5:0] at;
  logic [4:0] left;
  assign fed_free = feed == FREE;

  logic stream_valid, stream_last, k_valid, k_ready, k_last;
  logic [63:0] stream_word, k_word;
  logic [3:0] stream_bytes, k_bytes;
  logic [7:0] w1_left;                  // words of w1
  always_comb begin
    stream_valid = pk_valid;
    stream_word = pk_word;
    stream_last = pk_last;
    stream_bytes = 4'd8;
    unique case (fed.kind)
      J_MU: begin
        stream_valid = message_valid;
        stream_word = message_word;
        stream_last = message_last;
        stream_bytes = message_bytes;
      end
      J_C: begin
        stream_valid = w1_valid;
        stream_word = w1_word;
        stream_last = w1_left == 8'd1;
      end
      default: ;
    endcase
  end
  assign pk_ready = feed == STREAM && fed.kind == J_TR && k_ready;
  assign message_ready = feed == STREAM && fed.kind == J_MU && k_ready;
  assign w1_ready = feed == STREAM && fed.kind == J_C && k_ready;

  logic [63:0] rf[64];
  logic [63:0] rf_feed;
  assign rf_feed = rf[at];
  always_comb begin
    k_valid = 1'b0;
    k_word = rf_feed;
    k_last = 1'b0;
    k_bytes = 4'd8;
    unique case (feed)
      WORDS: begin
        k_valid = 1'b1;
        k_last = left == 5'd1 && fed.kind inside {J_RHO2, J_BALL};
      end
      TAIL: begin
        k_valid = 1'b1;
        k_word = {48'b0, tail};
        k_last = 1'b1;
        k_bytes = 4'd2;
      end
      STREAM: begin
        k_valid = stream_valid;
        k_word = stream_word;
        k_last = stream_last;
        k_bytes = stream_bytes;
      end
      default: ;
    endcase
  end

  logic k_shake128;
  logic [6:0] k_words;
  logic [2:0] k_eager;
  always_comb begin
    k_shake128 = fed.kind == J_A;
    k_words = '0;
    k_eager = 3'd1;
    unique case (fed.kind)
      J_SEED: k_words = 7'd16;
      J_A: k_eager = 3'd5;
      J_S: k_eager = par.eta4 ? 3'd2 : 3'd1;
      J_BALL: ;
      J_MASK: k_words = par.gamma_large ? 7'd80 : 7'd72;
      J_C: k_words = 7'(par.c_words);
      default: k_words = 7'd8;
    endcase
  end

  logic squeeze_end;
  always_ff @(posedge clk) begin
    if (squeeze_end) squeezing <= 1'b0;
    unique case (feed)
      FREE: if (issue) begin
        feed <= WAIT_RF;
        fed <= '{kind: kind, column: column, poly: poly};
        tail <= kappa;
        if (kind == J_SEED) tail <= {5'b0, par.l, 4'b0, par.k};
        if (kind == J_S) tail <= 16'(poly);
        if (kind == J_A) tail <= {5'b0, row, 5'b0, column};
      end
      WAIT_RF: if (!(squeezing && writes(squeezed.kind))) begin
        feed <= WORDS;
        w1_left <= par.gamma_large ? {par.k, 4'b0} : 8'd96;
        unique case (fed.kind)
          J_SEED: {at, left} <= {RF_XI, 5'd4};
          J_A: {at, left} <= {RF_RHO, 5'd4};
          J_S, J_MASK: {at, left} <= {RF_RHO2, 5'd8};
          J_MU: {at, left} <= {RF_TR, 5'd8};
          J_RHO2: {at, left} <= {RF_K, 5'd16};
          J_C: {at, left} <= {RF_MU, 5'd8};
          J_BALL: {at, left} <= {RF_C, 5'(par.c_words)};
          default: feed <= STREAM;
        endcase
      end
      WORDS: if (k_ready) begin
        at <= at + 6'd1;
        left <= left - 5'd1;
        if (left == 5'd1) begin
          unique case (fed.kind)
            J_RHO2, J_BALL: feed <= HAND;
            J_MU, J_C: feed <= STREAM;
            default: feed <= TAIL;
          endcase
        end
      end
      TAIL: if (k_ready) feed <= HAND;
      STREAM: if (k_ready && k_valid) begin
        w1_left <= w1_left - 8'd1;
        if (k_last) feed <= HAND;
      end
      default: if (!squeezing || squeeze_end) begin
        squeezed <= fed;
        squeezing <= 1'b1;
        feed <= FREE;
      end
    endcase
    if (rst) begin
      feed <= FREE;
      squeezing <= 1'b0;
      {fed, squeezed} <= '0;
      {tail, at, left, w1_left} <= '0;
    end
  end

  // ---- Keccak and what takes its words
  logic q_valid, q_ready, drop;
  logic [6:0] q_count;                  // words of a digest or mask still to come
  logic [63:0] q_word;
  if (FAST) begin : g_keccak
    keccak keccak (
        .clk, .rst,
        .in_valid(k_valid), .in_ready(k_ready), .in_word(k_word), .in_bytes(k_bytes),
        .in_last(k_last), .in_shake128(k_shake128), .in_words(k_words), .in_eager(k_eager),
        .out_valid(q_valid), .out_ready(q_ready), .out_word(q_word), .out_drop(drop)
    );
  end else begin : g_keccak
    keccak_half keccak (
        .clk, .rst,
        .in_valid(k_valid), .in_ready(k_ready), .in_word(k_word), .in_bytes(k_bytes),
        .in_last(k_last), .in_shake128(k_shake128), .in_words(k_words),
        .out_valid(q_valid), .out_ready(q_ready), .out_word(q_word), .out_drop(drop)
    );
  end

  logic is_a, is_s, is_ball, is_mask;
  assign is_a = squeezing && squeezed.kind == J_A;
  assign is_s = squeezing && squeezed.kind == J_S;
  assign is_ball = squeezing && squeezed.kind == J_BALL;
  assign is_mask = squeezing && squeezed.kind == J_MASK;

  logic a_full, s_full, s_in_ready, ball_ready, ball_done;
  logic settle;                         // the last words of a sampler come out
  if (FAST) begin : g_no_a
    assign {a_full, a_write, a_word, a_index} = '0;
  end else begin : g_a
    sample_a sample_a (
        .clk, .rst(rst || (squeeze_end && squeezed.kind == J_A)),
        .in_valid(is_a && q_valid), .in_word(q_word), .full(a_full),
        .out_valid(a_write), .out_word(a_word), .out_index(a_index)
    );
  end
  if (KEYGEN) begin : g_s
    sample_s sample_s (
        .clk, .rst(rst || (squeeze_end && squeezed.kind == J_S)), .eta4(par.eta4),
        .in_valid(is_s && q_valid), .in_ready(s_in_ready), .in_word(q_word), .full(s_full),
        .out_valid(s_write), .out_data(s_data), .out_index(s_index)
    );
  end else begin : g_no_s
    assign {s_in_ready, s_full, s_write, s_data, s_index} = '0;
  end
  logic ball_start;
  if (SIGN || VERIFY) begin : g_ball
    sample_ball sample_ball (
        .clk, .rst, .wipe, .start(ball_start), .tau(par.tau),
        .in_valid(is_ball && q_valid), .in_ready(ball_ready), .in_word(q_word), .done(ball_done),
        .list_write, .list_n, .list_position, .list_negative, .take(c_take), .index(c_index),
        .word(c_word)
    );
  end else begin : g_no_ball
    assign {ball_ready, ball_done, list_write, list_n, list_position, list_negative, c_word} = '0;
  end
  assign ball_start = feed == WAIT_RF && fed.kind == J_BALL;

  // y: BitUnpack of 18 or 20 bits
  logic mask_in_ready, mask_valid;
  logic [3:0][19:0] mask_field;
  if (SIGN) begin : g_mask
    unpack #(.LEAST(18)) unpack_mask (
        .clk, .rst, .width(par.gamma_large ? 5'd20 : 5'd18),
        .in_valid(is_mask && q_valid && q_count != 0), .in_ready(mask_in_ready), .in_word(q_word),
        .out_valid(mask_valid), .out_ready(1'b1), .out_fields(mask_field)
    );
  end else begin : g_no_mask
    assign {mask_in_ready, mask_valid, mask_field} = '0;
  end
  assign y_write = mask_valid;
  for (genvar g = 0; g < 4; g++) begin : lanes
    assign y_word[g] = SIGN ? arith_pkg::sub_q(gamma1(par.gamma_large), 23'(mask_field[g])) : '0;
  end
  always_ff @(posedge clk) begin
    if (y_write) y_index <= y_index + 6'd1;
    if (rst) y_index <= '0;
  end

  logic a_last, s_last, y_last;
  assign a_last = a_write && a_index == 6'd63;
  assign s_last = s_write && s_index == 6'd63;
  assign y_last = y_write && y_index == 6'd63;
  assign drop = (is_a && a_full && !settle) || (is_s && s_full && !settle)
                || (is_ball && ball_done);
  always_comb begin
    unique case (squeezed.kind)
      J_A: {q_ready, squeeze_end} = {1'b1, a_last};
      J_S: {q_ready, squeeze_end} = {s_in_ready, s_last};
      J_MASK: {q_ready, squeeze_end} = {mask_in_ready && q_count != 0, y_last};
      J_BALL: {q_ready, squeeze_end} = {ball_ready, ball_done};
      default: {q_ready, squeeze_end} = {1'b1, q_valid && q_count == 7'd1};
    endcase
    if (!squeezing || settle) q_ready = 1'b0;
    if (!squeezing) squeeze_end = 1'b0;
  end

  logic k_write;                        // Keccak writes the register file
  logic [5:0] k_write_at;
  assign k_write = squeezing && q_valid && writes(squeezed.kind)
                   && !(squeezed.kind == J_C && op_here == OP_VERIFY);
  assign rf_ready = !k_write;
  logic [5:0] write_at;
  logic [63:0] write_word;
  assign {write_at, write_word} = k_write ? {k_write_at, q_word} : {rf_write_at, rf_write_data};
  assign rho_write = (k_write || rf_write) && write_at[5:2] == RF_RHO[5:2];
  assign {rho_at, rho_word} = {write_at[1:0], write_word};
  always_ff @(posedge clk) begin
    if (k_write || rf_write || wipe.on)
      rf[wipe.on ? wipe.at[5:0] : write_at] <= wipe.on ? '0 : write_word;
    if (drop) settle <= 1'b1;
    if (squeeze_end) settle <= 1'b0;
    if (feed == HAND && (!squeezing || squeeze_end)) begin
      match <= 1'b1;
      q_count <= k_words;
      unique case (fed.kind)
        J_SEED: k_write_at <= RF_RHO;
        J_TR: k_write_at <= RF_TR;
        J_MU: k_write_at <= RF_MU;
        J_RHO2: k_write_at <= RF_RHO2;
        default: k_write_at <= RF_C;
      endcase
    end else if (squeezing && q_valid && q_ready && (is_mask || writes(squeezed.kind))) begin
      q_count <= q_count - 7'd1;
      k_write_at <= k_write_at + 6'd1;
      if (squeezed.kind == J_SEED) begin   // rho, rho', K
        if (q_count == 7'd13) k_write_at <= RF_RHO2;
        if (q_count == 7'd5) k_write_at <= RF_K;
      end
      if (q_word != rf_read_data) match <= 1'b0;
    end
    if (rst) {settle, match, q_count, k_write_at} <= '0;
  end
  logic match_read;
  assign match_read = squeezing && squeezed.kind == J_C && op_here == OP_VERIFY;
  assign rf_read_data = rf[match_read ? k_write_at : rf_read_at];
  always_ff @(posedge clk) match_done <= match_read && squeeze_end && !rst;

  assign s_poly = squeezed.poly;
  assign y_poly = squeezed.column;
  assign a_done = a_last;
  assign a_issue = issue && kind == J_A;
  assign s_done = s_last;
  assign y_done = y_last;
  assign c_done = is_ball && ball_done;
  always_ff @(posedge clk) begin
    tr_done <= squeezing && squeezed.kind == J_TR && squeeze_end && !rst;
    seed_done <= squeezing && squeezed.kind == J_SEED && squeeze_end && !rst;
  end
endmodule
