// A beat in: a word of a message; in bits 67..64 its bytes, 68 last, 69 SHAKE128, 76..70 in_words, 79..77
// in_eager and in 87..80 how many words are read, after which a job without in_words is dropped. Out come these.
module keccak_bench
`include "ports.svh"
  parameter bit HALF = 1'b0;
  logic ready, valid;
  logic [63:0] word;
  logic starts;  // the next word is a job's first
  logic [7:0] read[$];
  logic open[$];
  logic [7:0] left;
  logic busy, drops, drop;
  wire go = in_valid && in_ready;
  assign in_ready = ready;
  assign can_wait = 1'b1;
  wire permutes, last;  // a permutation is under way; it ends
  if (HALF) begin : g_unit
    assign permutes = dut.step == dut.THETA || dut.step == dut.REST;
    assign last = dut.step == dut.REST && dut.round == 5'd23;
    keccak_half dut (
        .clk,
        .rst,
        .in_valid,
        .in_ready(ready),
        .in_word(in_data[63:0]),
        .in_bytes(in_data[67:64]),
        .in_last(in_data[68]),
        .in_shake128(in_data[69]),
        .in_words(in_data[76:70]),
        .out_valid(valid),
        .out_ready(out_ready && out_valid),
        .out_word(word),
        .out_drop(drop)
    );
  end else begin : g_unit
    assign permutes = dut.run || dut.again;
    assign last = dut.round == 5'd23;
    keccak dut (
        .clk,
        .rst,
        .in_valid,
        .in_ready(ready),
        .in_word(in_data[63:0]),
        .in_bytes(in_data[67:64]),
        .in_last(in_data[68]),
        .in_shake128(in_data[69]),
        .in_words(in_data[76:70]),
        .in_eager(in_data[79:77]),
        .out_valid(valid),
        .out_ready(out_ready && out_valid),
        .out_word(word),
        .out_drop(drop)
    );
  end
  // docs/answers/004-rtl-comparison.md has these cycles beside those of other cores.
  localparam logic [5:0] CYCLES = HALF ? 6'd48 : 6'd24;
  logic [5:0] cycles;
  always_ff @(posedge clk) begin
    cycles <= rst || last || !permutes ? '0 : cycles + 6'd1;
    if (!rst && permutes && last && cycles + 6'd1 != CYCLES)
      $fatal(1, "a permutation took %0d cycles, not %0d", cycles + 6'd1, CYCLES);
  end
  assign out_valid = valid && busy && !drop;
  assign out_data = 256'(word);
  always_ff @(posedge clk) begin
    drop <= 1'b0;
    if (go) begin
      starts <= in_data[68];
      if (starts) begin
        read.push_back(in_data[87:80]);
        open.push_back(in_data[76:70] == '0);
      end
    end
    if (!busy && !drop && read.size() != 0) begin
      busy  <= 1'b1;
      left  <= read.pop_front();
      drops <= open.pop_front();
    end
    if (out_valid && out_ready) begin
      left <= left - 8'd1;
      if (left == 8'd1) begin
        busy <= 1'b0;
        drop <= drops;
      end
    end
    if (rst) begin
      starts <= 1'b1;
      busy   <= 1'b0;
    end
  end
endmodule
