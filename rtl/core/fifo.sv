// A queue; what is put in can be taken out in the next cycle. Whoever puts in knows that there is
// room.
module fifo
  import mldsa_pkg::*;
#(
    parameter int WIDTH = 64,
    parameter int DEPTH = 128,         // a power of two
    localparam int BITS = $clog2(DEPTH)
) (
    input  logic             clk,
    input  logic             rst,
    input  wipe_t            wipe,
    input  logic             in_valid,
    input  logic [WIDTH-1:0] in_data,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [WIDTH-1:0] out_data
);
  logic [WIDTH-1:0] memory[DEPTH];
  logic [BITS-1:0] head, tail;
  logic [BITS:0] count;
  logic take;
  assign out_valid = count != 0;
  assign out_data = memory[tail];
  assign take = out_valid && out_ready;
  always_ff @(posedge clk) begin
    if (in_valid || wipe.on)
      memory[wipe.on ? wipe.at[BITS-1:0] : head] <= wipe.on ? '0 : in_data;
    if (in_valid) head <= head + 1'b1;
    if (take) tail <= tail + 1'b1;
    count <= count + (BITS + 1)'(in_valid) - (BITS + 1)'(take);
    if (rst) begin
      head <= '0;
      tail <= '0;
      count <= '0;
    end
  end
endmodule
