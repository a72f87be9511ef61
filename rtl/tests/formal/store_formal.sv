// Results: a word is offered until it is taken, and nothing of it shows before; none sent the start, which is success, none after the
// end; each packet has the length of FIPS 204 and one last word; the end comes after the last one.
module store_formal
  import mldsa_pkg::*;
(
    input logic        clk,
    input logic        rst,
    input wipe_t       wipe,
    input logic        signs,
    input set_t        set,
    input logic        start,
    input logic        tr_done,
    input logic [63:0] rf_read_data,
    input logic        s_valid,
    input logic [3:0][3:0] s_data,
    input logic        row_end,
    input word_t       t_word,
    input word_t       z_word,
    input logic        pk_ready,
    input logic        hint_valid,
    input logic [63:0] hint_word,
    input logic        hint_last,
    input logic [3:0]  hint_bytes,
    input logic        out_ready
);
  op_t op;
  params_t par;
  assign op = signs ? OP_SIGN : OP_KEYGEN;
  assign par = params(set);
  logic [5:0] rf_read_at, index;
  logic z_reading, pk_valid, pk_last, hint_ready, out_valid, out_last, done;
  logic [2:0] slot;
  logic [63:0] pk_word, out_data;
  logic [3:0] out_bytes;
  store dut (.*);
  stable #(.WIDTH(3), .GRANTED(1'b1)) command (
      .clk, .rst(1'b0), .valid(1'b1), .ready(1'b0), .data({signs, set})
  );
  stable #(.WIDTH(69)) host (
      .clk, .rst, .valid(out_valid), .ready(out_ready), .data({out_last, out_bytes, out_data})
  );
  stable #(.WIDTH(69), .GRANTED(1'b1)) hints (
      .clk, .rst, .valid(hint_valid), .ready(hint_ready), .data({hint_last, hint_bytes, hint_word})
  );
  // The register file keeps what is read, and the hash is ready until it takes a word.
  logic read = 1'b0, could;
  logic [5:0] read_at;
  logic [63:0] read_data;

  // Of dut.part.
  localparam logic [2:0] RHO = 0, T1 = 1, K = 2, TR = 3, S = 4, T0 = 5, Z = 6, HINT = 7;

  logic begun = 1'b0;
  logic started;
  logic [1:0] packets;                 // complete
  logic [9:0] words, whole;            // of the packet: taken; all
  logic [9:0] sent;                  // words of the parts sent this one
  always_comb begin
    unique case (dut.part)
      T1: sent = 10'd4;
      K: sent = 10'd4;
      TR: sent = signs ? 10'd0 : 10'd8;
      S: sent = 10'd16;
      T0: sent = 10'd16 + s_words(par, par.k + 4'(par.l));
      Z: sent = 10'(par.c_words);
      default: sent = '0;
    endcase
    whole = packets == 0 ? 10'd4 + t1_words(par)
                         : 10'd16 + s_words(par, par.k + 4'(par.l)) + t0_words(par);
  end
  always_ff @(posedge clk) begin
    begun <= 1'b1;
    read <= 1'b1;
    read_at <= rf_read_at;
    read_data <= rf_read_data;
    could <= pk_ready && !pk_valid && !rst;
    if (start) {started, packets, words} <= {1'b1, 12'd0};
    if (out_valid && out_ready) begin
      words <= out_last ? '0 : words + 10'd1;
      if (out_last) packets <= packets + 2'd1;
    end
    if (rst) started <= 1'b0;

    assume (begun || rst);
    assume (!wipe.on || rst);
    assume (set <= ML_DSA_87);
    assume (!start || !started);
    assume (!hint_valid || hint_bytes - 4'd1 < 4'd8);
    if (read && rf_read_at == read_at) assume (rf_read_data == read_data);
    if (could) assume (pk_ready);
    assume (!dut.s_packed || !dut.g_s.s_fifo.count[8]);
    if (begun) begin
      if (!out_valid) assert (out_data == 0 && !out_last && out_bytes == 0);
      if (out_valid) assert (started && !done);
      if (started && done) assert (packets == (signs ? 2'd1 : 2'd2) && words == 0);
      if (out_valid) assert (out_bytes - 4'd1 < 4'd8 && (out_last || out_bytes == 4'd8));
      if (out_valid && !signs) assert (out_last == (words == whole - 10'd1));
      if (out_valid && signs && dut.part != HINT) assert (!out_last);
      // What the proof needs of the state.
      assert (dut.g_s.s_fifo.head == dut.g_s.s_fifo.tail + dut.g_s.s_fifo.count[7:0]);
      assert (dut.g_s.s_fifo.count <= 9'd256);
      assert (dut.active == (started && !done));
      if (!started) assert (!done);
      if (dut.active) begin
        if (signs) assert (packets == 0 && dut.part inside {TR, Z, HINT});
        else begin
          assert (!(dut.part inside {Z, HINT}));
          assert (packets == 2'(dut.part != T1 && (dut.part != RHO || dut.second)));
          assert (dut.second == (packets != 0));
        end
        if (dut.part != HINT) assert (words == sent + dut.taken && dut.taken < dut.total);
      end
    end
  end
endmodule
