// A memory with one write and one read port; the data come a cycle after the address.
module ram
  import mldsa_pkg::*;
#(
    parameter int WIDTH = 92,
    parameter int DEPTH = 512,
    localparam int BITS = $clog2(DEPTH)
) (
    input  logic             clk,
    input  wipe_t            wipe,
    input  logic             write,
    input  logic [BITS-1:0]  write_at,
    input  logic [WIDTH-1:0] write_data,
    input  logic [BITS-1:0]  read_at,
    output logic [WIDTH-1:0] read_data
);
  logic [WIDTH-1:0] memory[DEPTH];
  always_ff @(posedge clk) begin
    if (write || wipe.on)
      memory[wipe.on ? wipe.at[BITS-1:0] : write_at] <= wipe.on ? '0 : write_data;
    read_data <= memory[read_at];
  end
endmodule
