// HintBitPack (Algorithm 20): hints come four at a time, and go a byte a cycle into a small memory.
module hint_encode
  import mldsa_pkg::*;
(
    input  logic        clk,
    input  logic        rst,
    input  params_t     par,
    input  logic        start,
    input  logic        in_valid,
    output logic        in_ready,
    input  logic [3:0]  in_hint,
    output logic        done,          // all k * 64 groups are in
    output logic        overflow,      // more than omega ones
    output logic        out_valid,     // once done, if there is no overflow
    input  logic        out_ready,
    output logic [63:0] out_word,
    output logic        out_last,
    output logic [3:0]  out_bytes
);
  typedef enum logic [1:0] {IDLE, CLEAR, TAKE, DONE} state_t;
  state_t state;
  logic [3:0] word_at;                 // cleared, later read
  logic [3:0] pending;                 // hints of the last group
  logic [5:0] group, next_group;
  logic [6:0] count;                   // index of the standard
  logic [3:0] poly;
  logic mark;                          // a polynomial is complete: its count is written

  logic [1:0] lowest;
  assign lowest = pending[0] ? 2'd0 : pending[1] ? 2'd1 : pending[2] ? 2'd2 : 2'd3;
  logic [3:0] others;
  assign others = pending & (pending - 4'd1);

  logic write;
  logic [6:0] write_at;
  logic [7:0] write_byte;
  always_comb begin
    write = state == TAKE && (pending != 0 ? count != par.omega : mark);
    write_at = pending != 0 ? count : par.omega + 7'(poly);
    write_byte = pending != 0 ? {group, lowest} : 8'(count);
  end
  for (genvar g = 0; g < 8; g++) begin : banks
    logic [7:0] bytes[16];
    always_ff @(posedge clk) begin
      if (state == CLEAR) bytes[word_at] <= '0;
      else if (write && write_at[2:0] == 3'(g)) bytes[write_at[6:3]] <= write_byte;
    end
    assign out_word[8*g +: 8] = bytes[word_at];
  end

  assign in_ready = state == TAKE && others == 0 && !mark;
  assign done = state == DONE;
  assign out_valid = done && !overflow;
  logic [7:0] size;
  assign size = 8'(par.omega) + 8'(par.k);
  assign out_last = word_at == 4'((size + 8'd7) >> 3) - 4'd1;
  assign out_bytes = {1'b0, size[2:0]};   // no set fills its last word

  always_ff @(posedge clk) begin
    unique case (state)
      CLEAR: begin
        word_at <= word_at + 4'd1;
        if (word_at == 4'd15) state <= TAKE;
      end
      TAKE: begin
        pending <= others;
        if (pending != 0) begin
          if (count == par.omega) overflow <= 1'b1;
          else count <= count + 7'd1;
        end else if (mark) begin
          mark <= 1'b0;
          poly <= poly + 4'd1;
          if (poly == par.k - 4'd1) state <= DONE;
        end
        if (in_valid && in_ready) begin
          pending <= in_hint;
          group <= next_group;
          next_group <= next_group + 6'd1;
          if (next_group == 6'd63) mark <= 1'b1;
        end
      end
      DONE: if (out_ready) word_at <= word_at + 4'd1;
      default: ;
    endcase
    if (start) begin
      state <= CLEAR;
      word_at <= '0;
      pending <= '0;
      next_group <= '0;
      count <= '0;
      poly <= '0;
      mark <= 1'b0;
      overflow <= 1'b0;
    end
    if (rst) state <= IDLE;
  end
endmodule
