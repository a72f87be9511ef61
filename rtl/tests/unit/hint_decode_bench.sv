// A group: a command with the set, then the words of y. Out comes a beat, 1 if y is malformed, else 0 and
// k beats more: the 256 hints of a polynomial, the first lowest.
module hint_decode_bench
`include "ports.svh"
`include "commands.svh"
  params_t par;
  logic done, malformed;
  logic [3:0] rd_hint;
  wire start = in_valid && command;
  hint_decode dut (
      .clk,
      .wipe('0),
      .rst,
      .par,
      .start,
      .in_valid(in_valid && !command),
      .in_ready(ready),
      .in_word(in_data[63:0]),
      .done,
      .malformed,
      .rd_poly(poly[2:0]),
      .rd_index(index),
      .rd_hint
  );

  typedef enum logic [1:0] {WAIT, VERDICT, READ, POLY} state_t;
  state_t state;
  logic [3:0] poly;
  logic [5:0] index;
  logic reading;
  logic [255:0] hints;
  always_ff @(posedge clk) begin
    reading <= state == READ;
    if (reading) hints <= {rd_hint, hints[255:4]};
    case (state)
      WAIT: if (done) state <= VERDICT;
      VERDICT: if (out_ready) state <= malformed ? state : READ;
      READ: begin
        index <= index + 6'd1;
        if (index == 6'd63) state <= POLY;
      end
      POLY: if (!reading && out_ready) begin
        poly <= poly + 4'd1;
        state <= READ;
      end
    endcase
    if (start || rst) begin
      state <= WAIT;
      par <= params(set_t'(in_data[1:0]));
      poly <= '0;
      index <= '0;
      answered <= 1'b0;
    end else if (out_valid && out_ready && state == VERDICT) answered <= 1'b1;
  end
  logic answered;
  assign out_valid = (state == VERDICT && !answered) || (state == POLY && !reading && poly < par.k);
  assign out_data = state == VERDICT ? 256'(malformed) : hints;
endmodule
