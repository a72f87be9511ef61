// The course of an operation, bound into the core: the response comes once, behind the last result word,
// and stays; no result word comes before success, and one that is offered stays. Of the parts the core has
// what `load_formal` and `store_formal` show, and what is said here of the others.
module mldsa_core_formal
  import mldsa_pkg::*;
(
    input logic        clk,
    input logic        rst,
    input logic        sync,
    input logic        cmd_valid,
    input logic        cmd_ready,
    input logic        out_valid,
    input logic        out_ready,
    input logic [63:0] out_data,
    input logic        out_last,
    input logic [3:0]  out_bytes,
    input logic        rsp_valid,
    input logic        rsp_ready,
    input logic [3:0]  rsp_status,
    input logic [2:0]  state,
    input op_t         op,
    input status_t     status,
    input logic        limit,
    input logic        start,
    input logic        all_taken,
    input logic        load_done,
    input status_t     load_status,
    input logic        seed_done,
    input logic        accepted,
    input logic        rejected,
    input logic        store_start,
    input logic        store_done
);
  stable #(.WIDTH(4)) response (
      .clk, .rst, .valid(rsp_valid), .ready(rsp_ready), .data(rsp_status)
  );
  // A word of the store stays unless the store is cleared; the core does not clear it then.
  stable #(.WIDTH(69), .GRANTED(1'b1)) stored (
      .clk, .rst(sync), .valid(out_valid), .ready(out_ready), .data({out_last, out_bytes, out_data})
  );
  logic held = 1'b0;

  logic begun = 1'b0;
  localparam logic [2:0] IDLE = 0, PREPARE = 1, START = 2, RUN = 3, FINISH = 4, RESPOND = 5;

  logic busy;                          // from a command to its response
  logic runs;                          // this operation has started
  logic loads, loaded;                 // the loader has begun, and is done
  status_t loaded_status;
  logic [2:0] taken_since;             // all operands are taken
  logic success, stores, stored_all;   // of this operation; the store has begun, and is done
  logic words;                         // a result word was offered
  logic [2:0] since_rejection;
  logic success_now;
  assign success_now = (op == OP_KEYGEN && seed_done) || accepted;
  always_ff @(posedge clk) begin
    begun <= 1'b1;
    held <= out_valid && !out_ready && !rst;
    taken_since <= {taken_since[1:0], all_taken};
    since_rejection <= {since_rejection[1:0], !rejected};
    loaded_status <= load_status;
    if (out_valid) words <= 1'b1;
    if (success_now) success <= 1'b1;
    if (store_start) stores <= 1'b1;
    if (store_done) stored_all <= 1'b1;
    if (load_done) loaded <= 1'b1;
    if (cmd_valid && cmd_ready) {busy, runs, success, words, stored_all} <= 5'b10000;
    if (start) {runs, loads, loaded, taken_since} <= 6'b110000;
    if (rsp_valid && rsp_ready) {busy, runs} <= 2'b00;
    if (sync) {runs, loads, loaded, stores, taken_since} <= '0;
    if (rst) {busy, success, words, stored_all, since_rejection} <= '0;

    assume (begun || rst);
    // The loader: it is done when all is taken, at once if something is wrong, and stays so.
    assume (!load_done || (loads && all_taken));
    if (loads && all_taken && load_status != ST_OK) assume (load_done);
    if (loaded) assume (load_done);
    if (taken_since[0]) assume (all_taken);
    if (taken_since[0] && (op == OP_KEYGEN || op == OP_SIGN)) assume (load_status == loaded_status);
    assume (load_status != ST_NO_KEY || op == OP_SIGN);
    // The store.
    assume (!out_valid || (stores && !store_done));
    assume (!store_done || stores);
    if (stores && stored_all) assume (store_done);
    // The hash: seeds are expanded once, after they have been there for some cycles.
    assume (!seed_done || (op == OP_KEYGEN && runs && !success && taken_since == '1));
    // The checks: one verdict an attempt, success the last, apart from each other; of whole operands.
    assume (!accepted || (op == OP_SIGN && runs && !success && !rejected && since_rejection == '1));
    assume (!accepted || (taken_since == '1 && load_done && load_status == ST_OK));
    assume (!rejected || (op == OP_SIGN && runs && !success));
    assume (!rejected || (taken_since[0] && load_status == ST_OK));

    if (begun && !rst) begin
      if (held) assert (out_valid);
      if (out_valid) assert (busy && success && !rsp_valid && !cmd_ready);
      if (rsp_valid) begin
        assert (busy && !cmd_ready);
        if (rsp_status != ST_OK) assert (!words);
        else if (op == OP_KEYGEN || op == OP_SIGN) assert (success && stored_all);
      end
      if (cmd_ready) assert (!busy);
      if (store_start) assert (success_now && !stores);  // as the store's proof takes for granted,
      if (start) assert (!loads || load_done);           // and the loader's
      // What the proof needs of the state.
      assert (busy == (state != IDLE) && state <= RESPOND);
      assert (!runs || state == RUN || state == FINISH || state == RESPOND);
      if (state == RUN) assert (runs && loads);
      if (state == START) assert (status == ST_OK);
      if (state == RUN && status != ST_OK)
        assert (op == OP_SIGN && loaded && loaded_status == status && taken_since[0] && !stores);
      if (runs && state == RESPOND && op != OP_LOAD_SK)
        assert (op == OP_SIGN && taken_since[0] && loaded_status == ST_NO_KEY);
      if (state == PREPARE || state == START) assert (!success && !words && !stored_all && !stores);
      if (stores) begin
        assert (success && (state == RUN || state == FINISH) && taken_since[0]);
        assert (loaded_status == ST_OK && (op == OP_KEYGEN || op == OP_SIGN));
      end
      if (words || stored_all) assert (success);
      if (state == RUN && success) assert (stores);
      if (state == RUN && limit)
        assert (!success && !since_rejection[0] && taken_since[0] && loaded_status == ST_OK);
      if (loads && (state != RUN)) assert (state == FINISH || loaded);
      if (state == FINISH || state == RESPOND) begin
        if (status != ST_OK) assert (!words);
        else if (op == OP_KEYGEN || op == OP_SIGN) assert (success && stored_all);
      end
      if (state == FINISH) begin
        if (status != ST_OK) assert (!stores);
        if (status == ST_NO_KEY || (op == OP_LOAD_SK && status == ST_OK)) assert (loaded);
        if (status == ST_NO_KEY) assert (taken_since[0] && loaded_status == ST_NO_KEY);
      end
    end
  end
endmodule

bind mldsa_core mldsa_core_formal proof (.*, .state(state));
