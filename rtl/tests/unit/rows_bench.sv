// A group: words of the memories, a lane in each 64 bits, and above lane 0, from bit 32, the address and, from
// bit 44, which memory (0 A-hat, 1 y-hat with c-hat at polynomial 7, 2 t-hat); then a command with the set, bit 2
// verify, bit 3 the rows of c*t. Out come the rows: 64 words each, above lane 0 where they go.
module rows_bench
`include "ports.svh"
  wire command = in_valid && in_data[255];
  params_t par;
  logic verify, start_a, start_t, row_request, unused_end;
  word_t in_word, a_word, y_word, t_word, row_word;
  word_t a[4096];
  word_t y[512];
  word_t t[512];
  logic [6:0] a_used;
  logic [2:0] row, column;
  logic [5:0] index, sent;
  tag_t row_tag;
  tag_t tags[$];
  rows dut (
      .clk,
      .wipe('0),
      .rst,
      .par,
      .verify,
      .start_a,
      .start_t,
      .a_ready(1'b1),
      .y_count(par.l),
      .t_count(par.k),
      .c_ready(1'b1),
      .a_used,
      .rows_end(unused_end),
      .row,
      .column,
      .index,
      .a_word,
      .y_word,
      .t_word,
      .row_request,
      .row_tag,
      .row_grant(row_request),
      .row_valid(out_valid),
      .row_word
  );
  assign in_ready = 1'b1;
  assign can_wait = 1'b0;
  always_ff @(posedge clk) begin
    {start_t, start_a} <= {command && in_data[3], command && !in_data[3]};
    if (command) {verify, par} <= {in_data[2], params(set_t'(in_data[1:0]))};
    if (in_valid && !command)
      case (in_data[45:44])
        2'd0: a[in_data[43:32]] <= in_word;
        2'd1: y[in_data[40:32]] <= in_word;
        default: t[in_data[40:32]] <= in_word;
      endcase
    a_word <= a[{a_used[5:0], index}];
    y_word <= y[{column, index}];
    t_word <= t[{row, index}];
    if (row_request) tags.push_back(row_tag);
    if (out_valid) begin
      sent <= sent + 6'd1;
      if (sent == 6'd63) void'(tags.pop_front());
    end
    if (rst) sent <= '0;
  end
  always_comb begin
    out_data = '0;
    for (int i = 0; i < 4; i++) begin
      in_word[i] = in_data[64*i+:23];
      out_data[64*i+:23] = row_word[i];
    end
    out_data[32+:5] = tags[0];
  end
  wire unused = out_ready;
endmodule
