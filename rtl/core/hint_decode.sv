// HintBitUnpack (FIPS 204, Algorithm 21): the omega + k bytes y come as 64-bit words, the first
// byte lowest; then the ones are set, one a cycle. `done` and `malformed` stay until the next
// start.
module hint_decode
  import mldsa_pkg::*;
(
    input  logic        clk,
    input  logic        rst,
    input  wipe_t       wipe,
    input  params_t     par,
    input  logic        start,      // clears the hints, 64 cycles
    input  logic        in_valid,
    output logic        in_ready,
    input  logic [63:0] in_word,
    output logic        done,
    output logic        malformed,
    input  logic [ 2:0] rd_poly,
    input  logic [ 5:0] rd_index,
    output logic [ 3:0] rd_hint     // of coefficients 4*rd_index and up, a cycle later
);
  typedef enum logic [2:0] {
    IDLE,
    DONE,
    CLEAR,
    COLLECT,
    BOUND,    // the number of ones up to the end of polynomial `poly`
    ONES,
    PADDING
  } state_t;
  state_t state;

  (* ram_style = "distributed" *)
  logic [63:0] words[16];
  logic [5:0] cleared;
  logic [3:0] collected;
  logic [2:0] poly;
  logic [6:0] index, bound;
  logic first;           // no one of this polynomial yet
  logic [7:0] previous;  // its last one

  wire [6:0] bytes = par.omega + 7'(par.k);
  wire last_word = collected == 4'((bytes - 7'd1) >> 3);
  wire [6:0] at = state == BOUND ? par.omega + 7'(poly) : index;
  wire [63:0] word = words[at[6:3]];
  wire [7:0] y = word[8*at[2:0]+:8];
  wire last_poly = 4'(poly) == par.k - 4'd1;

  assign in_ready = state == COLLECT;
  assign done = state == DONE;
  wire set = state == ONES && index != bound;

  always_ff @(posedge clk) begin
    if ((in_valid && in_ready) || wipe.on)
      words[wipe.on ? wipe.at[3:0] : collected] <= wipe.on ? '0 : in_word;
    unique case (state)
      CLEAR: begin
        cleared <= cleared + 6'd1;
        if (cleared == 6'd63) state <= COLLECT;
      end
      COLLECT:
      if (in_valid) begin
        collected <= collected + 4'd1;
        if (last_word) state <= BOUND;
      end
      BOUND: begin
        bound <= y[6:0];
        first <= 1'b1;
        state <= ONES;
        if (y < 8'(index) || y > 8'(par.omega)) begin
          malformed <= 1'b1;
          state <= DONE;
        end
      end
      ONES:
      if (index != bound) begin
        index <= index + 7'd1;
        first <= 1'b0;
        previous <= y;
        if (!first && y <= previous) begin
          malformed <= 1'b1;
          state <= DONE;
        end
      end else begin
        poly  <= poly + 3'd1;
        state <= last_poly ? PADDING : BOUND;
      end
      PADDING: begin
        index <= index + 7'd1;
        if (index == par.omega) state <= DONE;
        else if (y != 8'd0) begin
          malformed <= 1'b1;
          state <= DONE;
        end
      end
      default: ;
    endcase
    if (start) begin
      state <= CLEAR;
      cleared <= '0;
      collected <= '0;
      poly <= '0;
      index <= '0;
      malformed <= 1'b0;
    end
    if (rst) begin
      state <= IDLE;
      malformed <= 1'b0;
      {cleared, collected, poly, index, bound, first, previous} <= '0;
    end
  end

  // One bit a column: polynomial and lane.
  logic [31:0] row;
  logic [2:0] row_poly;
  for (genvar c = 0; c < 32; c++) begin : g_column
    (* ram_style = "distributed" *)
    logic memory[64];
    wire write = state == CLEAR || (set && poly == 3'(c / 4) && y[1:0] == 2'(c % 4));
    always_ff @(posedge clk) begin
      if (write || wipe.on)
        memory[wipe.on ? wipe.at[5:0] : state==CLEAR ? cleared : y[7:2]] <= set && !wipe.on;
      row[c] <= memory[rd_index];
    end
  end
  always_ff @(posedge clk) row_poly <= rd_poly;
  assign rd_hint = row[4*row_poly+:4];
endmodule
