// A group: a command with tau, then words of SHAKE256's output, more than are needed. Out come, by the list of
// entries, which of the 256 coefficients are not 0 and which are negative, a beat each; then the 64 words of c.
module sample_ball_bench
`include "ports.svh"
  wire command = in_valid && in_data[255];
  logic [5:0] tau;
  logic ready, done, list_write, list_negative;
  logic [5:0] list_n;
  logic [7:0] list_position;
  word_t word;
  logic [6:0] sent;
  logic [8:0] list[64];
  always_ff @(posedge clk) begin
    if (list_write) list[list_n] <= {list_negative, list_position};
    if (out_valid && out_ready) sent <= sent + 7'd1;
    if (command || rst) begin
      tau  <= in_data[5:0];
      sent <= '0;
    end
  end
  sample_ball dut (
      .clk,
      .wipe('0),
      .rst,
      .start(command),
      .tau,
      .in_valid(in_valid && !command),
      .in_ready(ready),
      .in_word(in_data[63:0]),
      .done,
      .list_write,
      .list_n,
      .list_position,
      .list_negative,
      .take(out_valid && out_ready && sent >= 7'd2),
      .index(6'(sent - 7'd2)),
      .word
  );
  assign in_ready = command || ready || done;
  assign can_wait = 1'b1;
  assign out_valid = done && tau != '0 && sent < 7'd66;
  always_comb begin
    out_data = '0;
    if (sent < 7'd2) begin
      for (int n = 0; n < 64; n++)
        if (n < 32'(tau) && (sent == 7'd0 || list[n][8])) out_data[list[n][7:0]] = 1'b1;
    end else for (int i = 0; i < 4; i++) out_data[64*i+:23] = word[i];
  end
endmodule
