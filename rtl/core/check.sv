// The checks of an attempt, in this order: z = y + c*s1 and its norm; r = w - c*s2 and the norm of
// its low bits; then c*t0 and the hints, by the other parts, of which the outcome comes back here.
// A check goes over the whole vector before it says no: the time of an attempt depends on its
// outcome alone.
module check
  import mldsa_pkg::*;
  import arith_pkg::*;
#(
    parameter int LANES = 128
) (
    input  logic        clk,
    input  logic        rst,
    input  wipe_t       wipe,
    input  params_t     par,
    input  logic        sign,
    // s1 (polynomials 0..6) and s2 (8..15)
    input  logic        s_write,
    input  logic [3:0]  s_write_poly,
    input  logic [5:0]  s_write_index,
    input  logic [3:0][3:0] s_write_data,
    input  logic [3:0]  s_read_poly,
    input  logic [5:0]  s_read_index,
    output logic [3:0][3:0] s_read_data,
    // c
    input  logic        list_write,
    input  logic [5:0]  list_n,
    input  logic [7:0]  list_position,
    input  logic        list_negative,
    input  logic        c_done,        // pulse
    // y, replaced by z; w, replaced by r: read a cycle ahead of writing
    output logic        z_busy,
    output logic        z_write,
    output logic [2:0]  slot,          // of what is read
    output logic [5:0]  index,
    output logic [2:0]  write_slot,
    output logic [5:0]  write_index,
    output word_t       write_word,
    output logic        r_busy,
    output logic        r_write,
    input  word_t       y_word,
    input  word_t       w_word,
    // the decomposer is free for others when r_busy is low
    input  word_t       sum,
    output logic [3:0][5:0] sum_r1,
    // c*t0 and hints
    output logic        start_t,       // pulse
    input  logic        hints_done,
    input  logic        ct0_fails,
    input  logic        hint_overflow,
    // verdict: pulses
    output logic        accepted,
    output logic        rejected_z,
    output logic        rejected_r0,
    output logic        rejected_ct0,
    output logic        rejected_hint
);
  typedef enum logic [2:0] {IDLE, Z, Z_END, R, R_END, HINTS} state_t;
  state_t state;
  logic [3:0] issued, finished;        // products
  logic [3:0] drain;
  logic fails;

  logic sparse_idle, cs_valid, start;
  word_t cs_word;
  logic [5:0] cs_index;
  logic [3:0] number, poly;            // of products
  assign number = state == Z ? 4'(par.l) : par.k;
  assign poly = state == Z ? issued : issued + 4'd8;
  assign start = (state == Z || state == R) && sparse_idle && issued != number;

  sparse #(.LANES(LANES)) sparse (
      .clk, .rst, .wipe,
      .wr_valid(s_write), .wr_poly(s_write_poly), .wr_index(s_write_index), .wr_data(s_write_data),
      .rd_poly(s_read_poly), .rd_index(s_read_index), .rd_data(s_read_data),
      .c_wr(list_write), .c_wr_n(list_n), .c_wr_pos(list_position), .c_wr_neg(list_negative),
      .tau(par.tau), .start, .poly, .idle(sparse_idle),
      .out_valid(cs_valid), .out_ready(1'b1), .out_word(cs_word), .out_index(cs_index)
  );

  assign z_busy = state == Z || state == Z_END;
  assign r_busy = state == R || state == R_END;
  assign slot = finished[2:0];
  assign index = cs_index;

  // One cycle on: with y or w.
  logic late, late_z;
  word_t cs_late, z, r;
  always_ff @(posedge clk) begin
    late <= cs_valid && !rst;
    late_z <= state == Z;
    cs_late <= cs_word;
    write_slot <= slot;
    write_index <= cs_index;
  end
  for (genvar g = 0; g < 4; g++) begin : lanes
    assign z[g] = add_q(y_word[g], cs_late[g]);
    assign r[g] = sub_q(w_word[g], cs_late[g]);
  end
  assign z_write = late && late_z;
  assign r_write = late && !late_z;
  assign write_word = late_z ? z : r;

  word_t r0;
  decompose decompose (
      .clk, .wide(par.gamma_large), .r(r_busy ? r : sum), .r1(sum_r1), .r0
  );
  logic [DECOMPOSE_LATENCY-1:0] r_pipe;
  always_ff @(posedge clk) r_pipe <= rst ? '0 : DECOMPOSE_LATENCY'({r_pipe, r_write});

  logic z_fails_here, r_fails_here;
  always_comb begin
    z_fails_here = 1'b0;
    r_fails_here = 1'b0;
    for (int i = 0; i < 4; i++) begin
      if (norm_ge(z[i], gamma1(par.gamma_large) - 23'(par.beta))) z_fails_here = z_write;
      if (norm_ge(r0[i], gamma2(par.gamma_large) - 23'(par.beta)))
        r_fails_here = r_pipe[DECOMPOSE_LATENCY-1];
    end
  end

  always_ff @(posedge clk) begin
    rejected_z <= 1'b0;
    rejected_r0 <= 1'b0;
    rejected_ct0 <= 1'b0;
    rejected_hint <= 1'b0;
    accepted <= 1'b0;
    start_t <= 1'b0;
    if (z_fails_here || r_fails_here) fails <= 1'b1;
    if (start) issued <= issued + 4'd1;
    if (cs_valid && cs_index == 6'd63) finished <= finished + 4'd1;
    drain <= drain + 4'd1;
    unique case (state)
      IDLE: if (c_done && sign) begin
        state <= Z;
        issued <= '0;
        finished <= '0;
        fails <= 1'b0;
      end
      Z, R: begin
        drain <= '0;
        if (finished == number) state <= state == Z ? Z_END : R_END;
      end
      Z_END: if (drain == 4'd2) begin
        issued <= '0;
        finished <= '0;
        rejected_z <= fails;
        state <= fails ? IDLE : R;
      end
      R_END: if (drain == 4'(DECOMPOSE_LATENCY + 2)) begin
        rejected_r0 <= fails;
        start_t <= !fails;
        state <= fails ? IDLE : HINTS;
      end
      default: if (hints_done && !start_t) begin   // HINTS
        state <= IDLE;
        rejected_ct0 <= ct0_fails;
        rejected_hint <= !ct0_fails && hint_overflow;
        accepted <= !ct0_fails && !hint_overflow;
      end
    endcase
    if (rst) begin
      state <= IDLE;
      {issued, finished, drain, fails} <= '0;
      rejected_z <= 1'b0;
      rejected_r0 <= 1'b0;
      rejected_ct0 <= 1'b0;
      rejected_hint <= 1'b0;
      accepted <= 1'b0;
      start_t <= 1'b0;
    end
  end
endmodule
