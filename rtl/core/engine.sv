// What the NTT engine does next. Polynomials that wait to be transformed are counted; a job takes
// 64 words from y, t, c or the row under way in the multiplier and says in its tag where they go.
module engine
  import mldsa_pkg::*;
#(
    parameter bit FAST = 1'b1
) (
    input  logic       clk,
    input  logic       rst,
    input  wipe_t      wipe,
    input  logic       rst_t,         // forgets t-hat, which otherwise outlasts an operation
    input  params_t    par,
    input  logic       halves,        // SIGN: y of successive attempts has two places in turn
    // polynomials ready to be transformed
    input  logic       y_more,        // pulses
    input  logic       t_more,
    input  logic       c_more,
    input  logic       rows_end,      // y-hat of the attempt is used up
    // a row of products, as it leaves the multiplier
    input  logic       row_request,
    input  tag_t       row_tag,
    output logic       row_grant,
    input  logic       row_valid,
    input  word_t      row_word,
    // reading
    output logic       y_half,
    output logic [2:0] y_slot,
    output logic [2:0] t_slot,
    output logic [5:0] index,
    input  word_t      y_word,        // a cycle later
    input  word_t      t_word,
    input  word_t      c_word,        // at once
    output logic       c_take,        // and not again
    // results
    output logic       out_valid,
    input  logic       out_ready,
    output word_t      out_word,
    output tag_t       out_tag,
    output logic [5:0] out_index,
    output logic [2:0] y_count,       // polynomials of y-hat ready
    output logic [3:0] t_count,       // polynomials of t-hat ready
    output logic       c_ready        // c-hat is
);
  typedef enum logic [1:0] {Y, T, C, ROW} source_t;

  logic [3:0] y_waiting, t_waiting;
  logic c_waiting;
  logic [2:0] y_issued;
  logic [3:0] t_issued;

  typedef enum logic [1:0] {PICK, OFFER, LOAD} state_t;
  state_t state;
  source_t source, pick;
  tag_t tag;
  logic any;
  always_comb begin
    any = 1'b1;
    pick = ROW;
    if (row_request) pick = ROW;
    else if (c_waiting) pick = C;
    else if (y_waiting != 0 && y_issued != par.l) pick = Y;
    else if (t_waiting != 0) pick = T;
    else any = 1'b0;
  end

  logic job_ready, in_ready, in_valid, reading;
  logic [6:0] at;                     // words asked for
  logic [6:0] count;                  // words handed to the engine
  word_t in_word, c_late;
  assign row_grant = state == OFFER && job_ready && source == ROW;
  assign index = at[5:0];
  assign reading = state == LOAD && source != ROW && !at[6];
  assign c_take = reading && source == C;
  logic late;                         // the words asked for in the cycle before are here
  always_comb begin
    in_valid = late;
    unique case (source)
      Y: in_word = y_word;
      T: in_word = t_word;
      C: in_word = c_late;
      default: begin
        in_valid = row_valid;
        in_word = row_word;
      end
    endcase
  end

  always_ff @(posedge clk) begin
    late <= reading;
    c_late <= c_word;
    if (reading) at <= at + 7'd1;
    if (in_valid && in_ready) count <= count + 7'd1;
    y_waiting <= y_waiting + 4'(y_more) - 4'(state == PICK && any && pick == Y);
    t_waiting <= t_waiting + 4'(t_more) - 4'(state == PICK && any && pick == T);
    if (c_more) c_waiting <= 1'b1;
    if (rows_end) y_issued <= '0;
    unique case (state)
      PICK: if (any) begin
        state <= OFFER;
        source <= pick;
        unique case (pick)
          Y: begin
            tag <= '{to: TO_Y, slot: y_issued};
            y_slot <= y_issued;
            y_issued <= y_issued + 3'd1;
          end
          T: begin
            tag <= '{to: TO_T, slot: t_issued[2:0]};
            t_slot <= t_issued[2:0];
            t_issued <= t_issued + 4'd1;
          end
          C: begin
            tag <= '{to: TO_Y, slot: 3'd7};
            c_waiting <= 1'b0;
          end
          default: tag <= row_tag;
        endcase
      end
      OFFER: if (job_ready) begin
        state <= LOAD;
        at <= '0;
        count <= '0;
      end
      default: if (in_valid && in_ready && count == 7'd63) begin
        state <= PICK;
        if (source == Y && y_slot == par.l - 3'd1) y_half <= !y_half && FAST && halves;
      end
    endcase
    if (rst) begin
      state <= PICK;
      y_waiting <= '0;
      c_waiting <= 1'b0;
      y_issued <= '0;
      y_half <= 1'b0;
      late <= 1'b0;
      {source, tag, at, count, y_slot, t_slot} <= '0;
    end
    if (rst_t) begin
      t_waiting <= '0;
      t_issued <= '0;
    end
  end

  logic out_last;
  ntt ntt (
      .clk, .rst, .wipe,
      .job_valid(state == OFFER), .job_ready, .job_inverse(source == ROW), .job_tag(tag),
      .in_valid(in_valid), .in_ready, .in_word,
      .out_valid, .out_ready, .out_word, .out_tag, .out_last
  );

  always_ff @(posedge clk) begin
    if (out_valid && out_ready) begin
      out_index <= out_index + 6'd1;
      if (out_last && out_tag.to == TO_Y) begin
        if (out_tag.slot == 3'd7) c_ready <= 1'b1;
        else y_count <= y_count + 3'd1;
      end
      if (out_last && out_tag.to == TO_T) t_count <= t_count + 4'd1;
    end
    if (rows_end) y_count <= '0;
    if (c_more) c_ready <= 1'b0;
    if (rst) begin
      out_index <= '0;
      y_count <= '0;
      c_ready <= 1'b0;
    end
    if (rst_t) t_count <= '0;
  end
endmodule
