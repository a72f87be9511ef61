// What is offered stays, and stays what it is, until it is taken: shown, or taken for granted.
module stable #(
    parameter int WIDTH = 1,
    parameter bit GRANTED = 1'b0
) (
    input logic             clk,
    input logic             rst,
    input logic             valid,
    input logic             ready,
    input logic [WIDTH-1:0] data
);
  logic held = 1'b0;
  logic [WIDTH-1:0] kept;
  always_ff @(posedge clk) begin
    held <= valid && !ready && !rst;
    kept <= data;
    if (held && !rst) begin
      if (GRANTED) assume (valid && data == kept);
      else assert (valid && data == kept);
    end
  end
endmodule
