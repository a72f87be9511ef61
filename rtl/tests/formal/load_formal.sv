// Operands: all packets of an operation are taken and no word more, whatever they hold; a message is
// offered to the hash until it takes it; what is wrong stays said.
module load_formal
  import mldsa_pkg::*;
(
    input logic        clk,
    input logic        rst,
    input wipe_t       wipe,
    input op_t         op,
    input set_t        set,
    input logic        mu_given,
    input logic        start,
    input logic        no_key,
    input logic        in_valid,
    input logic [63:0] in_data,
    input logic        in_last,
    input logic [3:0]  in_bytes,
    input logic        rf_ready,
    input logic        pk_ready,
    input logic        message_ready,
    input logic [2:0]  hint_slot,
    input logic [5:0]  hint_index
);
  params_t par;
  assign par = params(set);
  logic in_ready, rf_write, pk_valid, pk_last, message_valid, seeds_loaded, c_tilde_loaded, s_write;
  logic z_write, t_write, z_more, t_more, z_fails, hint_done, all_taken, done;
  logic [5:0] rf_write_at, index;
  logic [3:0] s_poly, hint;
  logic [3:0][3:0] s_data;
  logic [2:0] slot;
  word_t word;
  status_t status;
  load dut (.*);
  stable #(.WIDTH(6), .GRANTED(1'b1)) command (
      .clk, .rst(1'b0), .valid(1'b1), .ready(1'b0), .data({op, set, mu_given})
  );
  stable #(.WIDTH(69), .GRANTED(1'b1)) host (
      .clk, .rst, .valid(in_valid), .ready(in_ready), .data({in_last, in_bytes, in_data})
  );
  stable message (.clk, .rst, .valid(message_valid), .ready(message_ready), .data(1'b0));

  localparam logic [1:0] IDLE = 0, TAKE = 1, DRAIN = 2, FINISH = 3;  // of dut.state
  localparam logic [3:0] NONE = 9;     // of dut.unpacked

  logic begun = 1'b0;
  logic active, refused, ended, was_done;
  status_t was;
  logic [1:0] packets, ends;           // of the operation; their last words taken
  assign packets = op == OP_VERIFY ? 2'd3 : op == OP_SIGN ? 2'd2 : 2'd1;
  always_ff @(posedge clk) begin
    begun <= 1'b1;
    if (in_valid && in_ready && in_last) ends <= ends + 2'd1;
    if (start) {active, ends} <= 3'b100;
    was <= status;
    was_done <= done;
    ended <= active && all_taken && !start && !rst;
    refused <= active && status != ST_OK && !start && !rst;
    if (rst) active <= 1'b0;

    assume (begun || rst);
    assume (!wipe.on || rst);
    assume (op <= OP_VERIFY && set <= ML_DSA_87);
    assume (!start || !active || done);
    if (begun) begin
      if (in_ready) assert (active && ends < packets);
      if (active && all_taken) assert (ends == packets);
      if (active && done) assert (all_taken);
      if (active) assert (status != ST_LIMIT);
      if (refused) assert (status == was);
      if (active && all_taken && status != ST_OK) assert (done);
      if (ended) assert (all_taken && (!was_done || done));
      if (ended && (op == OP_KEYGEN || op == OP_SIGN)) assert (status == was);
      // What the proof needs of the state.
      assert (active == (dut.state != IDLE));
      if (op == OP_KEYGEN || op == OP_SIGN)
        assert (dut.unpacked == NONE && dut.g_unpack.unpack.words == 0 && !dut.field_valid && !dut.bad_range);
      if (active && dut.state != FINISH) assert (ends + dut.packets == packets);
      if (dut.state == TAKE) begin
        if (op == OP_VERIFY)
          assert (dut.packets == (dut.at <= 1 ? 2'd3 : dut.at == 2 ? 2'd2 : 2'd1) && dut.at <= 5);
        if (op == OP_SIGN) assert (dut.packets == (dut.at == 0 ? 2'd2 : 2'd1) && dut.at <= 1);
        if (op == OP_LOAD_SK) assert (dut.packets == 2'd1 && dut.at <= 5);
        if (op == OP_KEYGEN) assert (dut.packets == 2'd1 && dut.at == 0);
        assert (status == ST_OK);
      end
      if (dut.state == DRAIN) assert (dut.packets != 0 && status != ST_OK);
    end
  end
endmodule
