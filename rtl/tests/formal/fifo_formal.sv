// A queue gives back what was put in, in its order, and offers it until it is taken; it holds no more than
// it has room for if nobody puts in what finds none, and gives nothing that was not put in. It is
// wiped under reset alone.
module fifo_formal
  import mldsa_pkg::*;
(
    input logic       clk,
    input logic       rst,
    input wipe_t      wipe,
    input logic       in_valid,
    input logic [7:0] in_data,
    input logic       out_ready,
    input logic       follow
);
  localparam int DEPTH = 4;
  logic out_valid;
  logic [7:0] out_data;
  fifo #(.WIDTH(8), .DEPTH(DEPTH)) dut (.*);
  stable #(.WIDTH(8)) stays (.clk, .rst, .valid(out_valid), .ready(out_ready), .data(out_data));

  logic begun = 1'b0;
  logic [2:0] held;
  logic [1:0] put, taken;              // places, modulo DEPTH
  logic followed;                      // one word, whichever it is, is followed
  logic [1:0] place;
  logic [7:0] word;
  always_ff @(posedge clk) begin
    begun <= 1'b1;
    held <= held + 3'(in_valid) - 3'(out_valid && out_ready);
    put <= put + 2'(in_valid);
    taken <= taken + 2'(out_valid && out_ready);
    if (in_valid && follow && !followed) begin
      followed <= 1'b1;
      place <= put;
      word <= in_data;
    end
    if (followed && out_valid && out_ready && taken == place) followed <= 1'b0;
    if (rst) {held, put, taken, followed} <= '0;

    assume (begun || rst);
    assume (!wipe.on || rst);
    assume (!in_valid || held < 3'(DEPTH));
    if (begun) begin
      assert (held <= 3'(DEPTH));
      assert (out_valid == (held != 0));
      if (followed && taken == place) assert (out_valid && out_data == word);
      // What the proof needs of the state.
      assert (dut.count == held && dut.head == put && dut.tail == taken);
      assert (put == taken + held[1:0]);
      if (followed) assert (dut.memory[place] == word && 2'(place - taken) < held);
    end
  end
endmodule
