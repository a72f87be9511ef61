// Results, packed into the output stream: the keys (KEYGEN) or the signature (SIGN).
module store
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
    input  logic        start,         // pulse: KEYGEN: rho and K are there; SIGN: everything is
    input  op_t         op,
    input  params_t     par,
    input  logic        tr_done,       // KEYGEN: tr is there
    // register file
    output logic [5:0]  rf_read_at,
    input  logic [63:0] rf_read_data,
    // KEYGEN: s1 and s2 as they are sampled; a row of t is there
    input  logic        s_valid,
    input  logic [3:0][3:0] s_data,
    input  logic        row_end,
    // polynomials: t or z, a cycle after their address
    output logic        z_reading,
    output logic [2:0]  slot,
    output logic [5:0]  index,
    input  word_t       t_word,
    input  word_t       z_word,
    // the public key is hashed on its way
    output logic        pk_valid,
    input  logic        pk_ready,
    output logic [63:0] pk_word,
    output logic        pk_last,
    // hints, packed
    input  logic        hint_valid,
    output logic        hint_ready,
    input  logic [63:0] hint_word,
    input  logic        hint_last,
    input  logic [3:0]  hint_bytes,
    //
    output logic        out_valid,
    input  logic        out_ready,
    output logic [63:0] out_data,
    output logic        out_last,
    output logic [3:0]  out_bytes,
    output logic        done
);
  op_t op_here;
  assign op_here = op_within(KEYGEN, SIGN, VERIFY, op);

  typedef enum logic [2:0] {RHO, T1, K, TR, S, T0, Z, HINT} part_t;
  // KEYGEN: rho t1, rho K tr s t0. SIGN: c_tilde (at TR) z hints.
  part_t part;
  logic active, sign;
  assign sign = SIGN && (!KEYGEN || op_here == OP_SIGN);

  logic from_rf, pk_part;
  logic second;                        // rho and all behind it: the private key
  logic [3:0] words;                   // of the register file
  assign from_rf = part inside {RHO, K, TR};
  assign pk_part = !sign && !second && part inside {RHO, T1};
  logic [3:0] count;
  always_comb begin
    unique case (part)
      RHO: {rf_read_at, words} = {6'd32, 4'd4};
      K: {rf_read_at, words} = {6'd0, 4'd4};
      default: {rf_read_at, words} = sign ? {6'd24, par.c_words} : {6'd40, 4'd8};
    endcase
    rf_read_at = rf_read_at + 6'(count);
  end

  // ---- packing: two words may be on their way from the memory
  logic [4:0] width;
  logic [3:0][19:0] field;
  always_comb begin
    unique case (part)
      T1: width = 5'd10;
      T0: width = 5'd13;
      default: width = par.gamma_large ? 5'd20 : 5'd18;
    endcase
  end
  for (genvar g = 0; g < 4; g++) begin : lanes
    logic [9:0] t1;
    logic [12:0] t0;
    logic [19:0] z;
    assign {t1, t0} = KEYGEN ? power2round(t_word[g]) : '0;
    assign z = SIGN ? 20'(sub_q(gamma1(par.gamma_large), z_word[g])) : '0;
    always_comb begin
      unique case (part)
        T1: field[g] = 20'(t1);
        T0: field[g] = 20'(t0);
        default: field[g] = z;
      endcase
    end
  end

  logic pack_ready, packed_valid, packed_ready, field_valid;
  logic [63:0] packed_word;
  pack #(.LEAST(10)) pack (
      .clk, .rst, .width, .in_valid(field_valid), .in_ready(pack_ready), .in_fields(field),
      .out_valid(packed_valid), .out_ready(packed_ready), .out_word(packed_word)
  );

  logic [3:0] poly, polys;             // polynomials read, there
  logic [3:0] rows;
  logic [5:0] at;                      // word that is read
  logic packs, next;
  assign packs = part inside {T1, T0, Z};
  assign polys = sign ? 4'(par.l) : rows;
  // One word ahead of the packer: while it does not take, the word before is read again.
  assign next = !field_valid || pack_ready;
  logic [8:0] place, place_before;
  assign place = next ? {poly[2:0], at} : place_before;
  assign slot = place[8:6];
  assign index = place[5:0];
  assign z_reading = active && part == Z;

  logic word_valid, word_last, take;   // towards both outputs
  logic last_word;                     // of the part
  logic tr_seen;

  // s1 and s2 wait here, packed.
  logic s_packed, s_word_valid;
  logic [63:0] s_packed_word, s_word;
  logic [3:0][19:0] s_field;
  for (genvar g = 0; g < 4; g++) begin : s_lanes
    logic [3:0] s;
    assign s = (par.eta4 ? 4'd4 : 4'd2) - s_data[g];
    assign s_field[g] = 20'(s);
  end
  if (KEYGEN) begin : g_s
    pack #(.MOST(4)) pack_s (
        .clk, .rst, .width(par.eta4 ? 5'd4 : 5'd3), .in_valid(s_valid), .in_ready(),
        .in_fields(s_field), .out_valid(s_packed), .out_ready(1'b1), .out_word(s_packed_word)
    );
    fifo #(.WIDTH(64), .DEPTH(256)) s_fifo (
        .clk, .rst, .wipe, .in_valid(s_packed), .in_data(s_packed_word), .out_valid(s_word_valid),
        .out_ready(part == S && take), .out_data(s_word)
    );
  end else begin : g_no_s
    assign {s_packed, s_packed_word, s_word_valid, s_word} = '0;
  end

  logic [63:0] word;
  logic [3:0] word_bytes;
  logic part_end;
  assign hint_ready = active && part == HINT && out_ready;
  always_comb begin
    word = packed_word;
    word_valid = packed_valid;
    word_last = 1'b0;
    word_bytes = 4'd8;
    if (from_rf) begin
      word = rf_read_data;
      word_valid = part != TR || sign || tr_seen;
    end
    if (part == S) {word, word_valid} = {s_word, s_word_valid};
    if (part == HINT) begin
      word = hint_word;
      word_valid = hint_valid;
      word_last = hint_last;
      if (hint_last) word_bytes = hint_bytes;
    end
    if (!active) word_valid = 1'b0;
    if ((part == T1 || part == T0) && last_word) word_last = 1'b1;
  end
  assign pk_valid = word_valid && pk_part && out_ready;
  assign pk_word = word;
  assign pk_last = part == T1 && last_word;
  assign out_valid = word_valid && (!pk_part || pk_ready);
  // Nothing of a word shows before it is offered.
  assign out_data = out_valid ? word : '0;
  assign out_last = out_valid && word_last;
  assign out_bytes = out_valid ? word_bytes : '0;
  assign take = out_valid && out_ready;
  assign packed_ready = packs && active && out_ready && (!pk_part || pk_ready);

  logic [9:0] total, taken;            // words of the part
  always_comb begin
    unique case (part)
      T1: total = t1_words(par);
      T0: total = t0_words(par);
      S: total = s_words(par, par.k + 4'(par.l));
      Z: total = z_words(par);
      default: total = 10'(words);
    endcase
  end
  assign last_word = taken == total - 10'd1;
  assign part_end = take && (part == HINT ? hint_last : last_word);
  assign count = taken[3:0];

  always_ff @(posedge clk) begin
    place_before <= place;
    if (row_end) rows <= rows + 4'd1;
    if (tr_done) tr_seen <= 1'b1;
    if (active && packs && next && poly != polys) begin
      at <= at + 6'd1;
      if (at == 6'd63) poly <= poly + 4'd1;
    end
    if (next) field_valid <= active && packs && poly != polys;
    if (take) taken <= part_end ? '0 : taken + 10'd1;
    if (part_end) begin
      poly <= '0;
      at <= '0;
      unique case (part)
        RHO: part <= second ? K : T1;
        T1: begin
          part <= RHO;
          second <= 1'b1;
        end
        K: part <= TR;
        TR: part <= sign ? Z : S;
        S: part <= T0;
        Z: part <= HINT;
        default: active <= 1'b0;
      endcase
      done <= part inside {HINT, T0};
    end
    if (start) begin
      active <= 1'b1;
      part <= sign ? TR : RHO;
      second <= 1'b0;
      poly <= '0;
      at <= '0;
      taken <= '0;
      field_valid <= 1'b0;
      done <= 1'b0;
    end
    if (rst) begin
      active <= 1'b0;
      done <= 1'b0;
      tr_seen <= 1'b0;
      rows <= '0;
      field_valid <= 1'b0;
      part <= RHO;
      {second, poly, at, taken, place_before} <= '0;
    end
  end
endmodule
