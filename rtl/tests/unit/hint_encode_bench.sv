// A group: a command with the set, then hints, four a beat. Out come the words of y in the low 64 bits, out_bytes
// at bit 64 and out_last at 68; or, after too many ones, one beat with bit 72 alone.
module hint_encode_bench
`include "ports.svh"
`include "commands.svh"
  params_t par;
  logic done, overflow, valid, last, told;
  logic [63:0] word;
  logic [3:0] bytes;
  wire start = in_valid && command;
  hint_encode dut (
      .clk,
      .wipe('0),
      .rst,
      .par,
      .start,
      .in_valid(in_valid && !command),
      .in_ready(ready),
      .in_hint(in_data[3:0]),
      .done,
      .overflow,
      .out_valid(valid),
      .out_ready,
      .out_word(word),
      .out_last(last),
      .out_bytes(bytes)
  );
  wire refused = done && overflow && !told;
  always_ff @(posedge clk) begin
    if (start || rst) begin
      par  <= params(set_t'(in_data[1:0]));
      told <= 1'b0;
    end else if (refused && out_ready) told <= 1'b1;
  end
  assign out_valid = valid || refused;
  assign out_data = refused ? 256'd1 << 72 : 256'({last, bytes, word});
endmodule
