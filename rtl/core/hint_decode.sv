// HintBitUnpack (Algorithm 21): the bytes are stored, then walked through one a cycle.
module hint_decode
  import mldsa_pkg::*;
(
    input  logic        clk,
    input  logic        rst,
    input  params_t     par,
    input  logic        start,
    input  logic        in_valid,
    output logic        in_ready,
    input  logic [63:0] in_word,       // omega + k bytes
    output logic        done,
    output logic        malformed,
    input  logic [2:0]  rd_poly,
    input  logic [5:0]  rd_index,
    output logic [3:0]  rd_hint        // a cycle later; coefficient 4 rd_index in bit 0
);
  typedef enum logic [2:0] {IDLE, CLEAR, TAKE, BOUND, WALK, REST, DONE} state_t;
  state_t state;
  logic [63:0] buffer[16];
  logic [3:0] words, count;
  logic [6:0] at;                      // index of the standard
  logic [6:0] bound;
  logic [3:0] poly;
  logic [7:0] previous, value;
  logic first;                         // of its polynomial
  logic [8:0] clear;

  assign words = 4'((8'(par.omega) + 8'(par.k) + 8'd7) >> 3);
  assign in_ready = state == TAKE;
  assign done = state == DONE;

  logic [6:0] byte_at;
  logic [63:0] word;
  assign byte_at = state == BOUND ? par.omega + 7'(poly) : at;
  assign word = buffer[byte_at[6:3]];
  assign value = word[8*byte_at[2:0] +: 8];

  logic set;
  assign set = state == WALK && at != bound;
  for (genvar g = 0; g < 4; g++) begin : banks
    logic bits[512];
    always_ff @(posedge clk) begin
      if (state == CLEAR) bits[clear] <= 1'b0;
      else if (set && value[1:0] == 2'(g)) bits[{poly[2:0], value[7:2]}] <= 1'b1;
      rd_hint[g] <= bits[{rd_poly, rd_index}];
    end
  end

  always_ff @(posedge clk) begin
    if (in_valid && in_ready) buffer[count] <= in_word;
    unique case (state)
      CLEAR: begin
        clear <= clear + 9'd1;
        if (clear == 9'd511) state <= TAKE;
      end
      TAKE: if (in_valid) begin
        count <= count + 4'd1;
        if (count == words - 4'd1) state <= BOUND;
      end
      BOUND: begin
        bound <= value[6:0];
        first <= 1'b1;
        state <= WALK;
        if (value < 8'(at) || value > 8'(par.omega)) begin
          malformed <= 1'b1;
          state <= DONE;
        end
      end
      WALK: if (at == bound) begin
        poly <= poly + 4'd1;
        state <= poly == par.k - 4'd1 ? REST : BOUND;
      end else begin
        at <= at + 7'd1;
        first <= 1'b0;
        previous <= value;
        if (!first && previous >= value) begin
          malformed <= 1'b1;
          state <= DONE;
        end
      end
      REST: if (at == par.omega) state <= DONE;
      else begin
        at <= at + 7'd1;
        if (value != 0) malformed <= 1'b1;
      end
      default: ;
    endcase
    if (start) begin
      state <= CLEAR;
      clear <= '0;
      count <= '0;
      at <= '0;
      poly <= '0;
      malformed <= 1'b0;
    end
    if (rst) state <= IDLE;
  end
endmodule
