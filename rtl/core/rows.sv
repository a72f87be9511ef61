// Products in the NTT domain, one polynomial after the other into the multiplier: the rows of A-hat
// * y-hat, in verification with - c-hat * t1-hat[r] behind them; and the rows of c-hat * t0-hat. A
// row's last product goes on to the engine, which has to be ready for it.
module rows
  import mldsa_pkg::*;
#(
    parameter bit FAST = 1'b1
) (
    input  logic       clk,
    input  logic       rst,
    input  wipe_t      wipe,
    input  params_t    par,
    input  logic       verify,
    input  logic       start_a,       // pulse: the rows of A-hat * y-hat may begin
    input  logic       start_t,       // pulse: those of c-hat * t0-hat
    // what is there
    input  logic       a_ready,       // polynomial a_used of A-hat is
    input  logic [2:0] y_count,
    input  logic [3:0] t_count,
    input  logic       c_ready,
    output logic [6:0] a_used,        // polynomials of A-hat; in SMALL since the operation began
    output logic       rows_end,      // pulse: the last row of A-hat * y-hat is read
    // reading, a word each a cycle later
    output logic [2:0] row,
    output logic [2:0] column,        // 7: c-hat
    output logic [5:0] index,
    input  word_t      a_word,
    input  word_t      y_word,
    input  word_t      t_word,
    // to the engine
    output logic       row_request,
    output tag_t       row_tag,
    input  logic       row_grant,
    output logic       row_valid,
    output word_t      row_word
);
  typedef enum logic [1:0] {IDLE, CHECK, REQUEST, RUN} state_t;
  state_t state;
  logic hints;                        // c-hat * t0-hat
  logic by_t;                         // the product is one with t-hat
  logic last, available;
  assign by_t = column == 3'd7;
  assign last = by_t || (!verify && column == par.l - 3'd1);
  always_comb begin
    if (by_t) available = c_ready && t_count > 4'(row);
    else available = y_count > column && a_ready;
  end

  assign row_request = state == REQUEST;
  assign row_tag = '{to: hints ? TO_HINT : TO_ROW, slot: row};

  logic end_of_rows;
  assign end_of_rows = state == RUN && index == 6'd63 && last && 4'(row) == par.k - 4'd1;
  assign rows_end = end_of_rows && !hints;

  always_ff @(posedge clk) begin
    unique case (state)
      CHECK: if (available) state <= last ? REQUEST : RUN;
      REQUEST: if (row_grant) state <= RUN;
      RUN: begin
        index <= index + 6'd1;
        if (index == 6'd63) begin
          state <= CHECK;
          if (!by_t) a_used <= a_used + 7'd1;
          if (!last) column <= column == par.l - 3'd1 ? 3'd7 : column + 3'd1;
          else begin
            column <= hints ? 3'd7 : 3'd0;
            row <= row + 3'd1;
          end
          if (end_of_rows) state <= IDLE;
        end
      end
      default: ;
    endcase
    if (start_a || start_t) begin
      state <= CHECK;
      hints <= start_t;
      row <= '0;
      column <= start_t ? 3'd7 : 3'd0;
      if (FAST) a_used <= '0;
    end
    if (rst) begin
      state <= IDLE;
      index <= '0;
      a_used <= '0;
      {hints, row, column} <= '0;
    end
  end

  logic in_valid, in_first, in_last, in_by_t, in_negate;
  logic [5:0] in_index;
  always_ff @(posedge clk) begin
    in_valid <= state == RUN && !rst;
    in_index <= index;
    in_first <= column == 3'd0 || hints;
    in_last <= last;
    in_by_t <= by_t;
    in_negate <= by_t && !hints;
  end

  mac mac (
      .clk, .rst, .wipe,
      .in_valid, .in_a(in_by_t ? t_word : a_word), .in_b(y_word), .in_index, .in_first, .in_last,
      .in_negate, .out_valid(row_valid), .out_word(row_word)
  );
endmodule
