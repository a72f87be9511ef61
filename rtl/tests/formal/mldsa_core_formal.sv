// The course of an operation, bound into the core: the response comes once, behind the last result word,
// and stays; no result word comes before success, and one that is offered stays. A refused command changes
// nothing; a loaded key stays, and what is still transformed of it is read where it lies, until a command or
// zeroization drops it, which signing then knows. Zeroization clears every memory to its last word. Of the
// parts the core has what `load_formal` and `store_formal` show, and what is said here of the others.
module mldsa_core_formal
  import mldsa_pkg::*;
(
    input logic        clk,
    input logic        rst,
    input logic        sync,
    input logic        zeroize,
    input logic        cmd_valid,
    input logic        cmd_ready,
    input logic [2:0]  cmd_op,
    input logic [1:0]  cmd_set,
    input set_t        set,
    input logic        mu_given,
    input logic        key_loaded,
    input set_t        key_set,
    input logic        clear_key,
    input logic        no_key,
    input logic        answer,
    input logic        purge,
    input wipe_t       wipe,
    input logic [11:0] wiped,
    input logic        cr_busy,
    input logic        e_valid,
    input tag_t        e_tag,
    input logic [2:0]  e_t_slot,
    input logic [5:0]  e_read_index,
    input logic [8:0]  w_read_at,
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
      .clk, .rst(rst || zeroize), .valid(rsp_valid), .ready(rsp_ready), .data(rsp_status)
  );
  // A word of the store stays unless the store is cleared; the core does not clear it then.
  stable #(.WIDTH(69), .GRANTED(1'b1)) stored (
      .clk, .rst(sync), .valid(out_valid), .ready(out_ready), .data({out_last, out_bytes, out_data})
  );
  logic held = 1'b0;

  logic begun = 1'b0;
  localparam logic [2:0] IDLE = 0, PREPARE = 1, START = 2, RUN = 3, FINISH = 4, RESPOND = 5;
  localparam logic [2:0] WIPE = 6;
  localparam int LAST = 512 + 32 - 1;  // cycle of zeroization: SMALL

  logic busy;                          // from a command to its response
  logic runs;                          // this operation has started
  logic loads, loaded;                 // the loader has begun, and is done
  status_t loaded_status;
  logic [2:0] taken_since;             // all operands are taken
  logic success, stores, stored_all;   // of this operation; the store has begun, and is done
  logic words;                         // a result word was offered
  logic [2:0] since_rejection;
  // The key by the rules of the interface alone: whether one is loaded, and of which set.
  logic key;
  set_t key_of;
  logic erases;                        // the command is to zeroize
  logic latches;                       // the cycle before took a command with operands, or cleared
  op_t op_was;
  set_t set_was;
  logic mu_was, wiping, stopped;       // of the cycle before: wipe.on; rst or zeroize
  logic [11:0] wiped_was;
  logic success_now;
  assign success_now = (op == OP_KEYGEN && seed_done) || accepted;
  always_ff @(posedge clk) begin
    begun <= 1'b1;
    held <= out_valid && !out_ready && !rst && !zeroize;
    taken_since <= {taken_since[1:0], all_taken};
    since_rejection <= {since_rejection[1:0], !rejected};
    loaded_status <= load_status;
    {op_was, set_was, mu_was} <= {op, set, mu_given};
    {wiping, wiped_was, stopped} <= {wipe.on, wiped, rst || zeroize};
    latches <= (cmd_valid && cmd_ready && cmd_op < OP_ZEROIZE && cmd_set != 3) || purge;
    if (state == RUN && op == OP_LOAD_SK && load_done && load_status == ST_OK)
      {key, key_of} <= {1'b1, set};
    if (cmd_valid && cmd_ready) begin
      erases <= cmd_op == OP_ZEROIZE;
      if (cmd_op == OP_ZEROIZE || (cmd_op < OP_ZEROIZE && cmd_op != OP_SIGN && cmd_set != 3))
        key <= 1'b0;
    end
    if ((state == RUN && limit) || purge) key <= 1'b0;
    if (out_valid) words <= 1'b1;
    if (success_now) success <= 1'b1;
    if (store_start) stores <= 1'b1;
    if (store_done) stored_all <= 1'b1;
    if (load_done) loaded <= 1'b1;
    if (cmd_valid && cmd_ready) {busy, runs, success, words, stored_all} <= 5'b10000;
    if (start) {runs, loads, loaded, taken_since} <= 6'b110000;
    if ((rsp_valid && rsp_ready) || (state == WIPE && !answer)) {busy, runs} <= 2'b00;
    if (sync) {runs, loads, loaded, stores, taken_since} <= '0;
    if (rst || zeroize) {busy, success, words, stored_all, since_rejection} <= '0;

    assume (begun || rst);
    // The loader: it is done when all is taken, at once if something is wrong, and stays so.
    assume (!load_done || (loads && all_taken));
    if (loads && all_taken && load_status != ST_OK) assume (load_done);
    if (loaded) assume (load_done);
    if (taken_since[0]) assume (all_taken);
    if (taken_since[0] && (op == OP_KEYGEN || op == OP_SIGN)) assume (load_status == loaded_status);
    assume (load_status != ST_NO_KEY || op == OP_SIGN);
    assume (load_status != ST_LIMIT);
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
      if (held && !zeroize) assert (out_valid);
      if (out_valid) assert (busy && success && !rsp_valid && !cmd_ready);
      if (rsp_valid) begin
        assert (busy && !cmd_ready);
        if (rsp_status != ST_OK) assert (!words);
        else if ((op == OP_KEYGEN || op == OP_SIGN) && !erases) assert (success && stored_all);
      end
      if (cmd_ready) assert (!busy);
      // A refused command, above all, changes nothing.
      if (!latches) assert (op == op_was && set == set_was && mu_given == mu_was);
      assert (op <= OP_VERIFY && set <= ML_DSA_87);
      if (key) begin
        assert (key_loaded && key_set == key_of && !clear_key);
        if (!cr_busy && !(e_valid && e_tag.to == TO_HINT))
          assert (w_read_at == {e_t_slot, e_read_index});
      end
      if (start && op == OP_SIGN) assert (no_key == !(key && key_of == set));
      // Zeroization goes on to its last word, and the parts are under reset meanwhile.
      if (wipe.on) assert (sync && wipe.at == wiped[10:0] && !rsp_valid && !cmd_ready);
      if (stopped && wiping) assert (!key_loaded);
      if (wipe.on && !wiping) assert (wiped == 0);
      if (wiping && !stopped) begin
        if (wipe.on) assert (wiped == wiped_was + 12'd1);
        else assert (wiped_was == 12'(LAST));
      end
      if (rsp_valid && rsp_status == ST_LIMIT) assert (!key_loaded);
      if (store_start) assert (success_now && !stores);  // as the store's proof takes for granted,
      if (start) assert (!loads || load_done);           // and the loader's
      // What the proof needs of the state.
      assert (busy == (state != IDLE && !(state == WIPE && !answer)) && state <= WIPE);
      if (state != IDLE && state != WIPE) assert (answer);
      if (state != WIPE) assert (wiped == 0);
      assert (wiped <= 12'(LAST));
      if (state == WIPE && answer) assert (!words && status == (erases ? ST_OK : ST_LIMIT));
      if (key_loaded && !key)
        assert ((state == PREPARE && op != OP_SIGN) || (state == FINISH && status == ST_LIMIT)
                || (state == WIPE && wiped == 0));
      if (erases && busy) assert ((state == WIPE || state == RESPOND) && status == ST_OK);
      if (status == ST_LIMIT && busy && state != FINISH && state != WIPE) assert (state == RESPOND && !key_loaded);
      if (key)
        assert (op == OP_SIGN || (op == OP_LOAD_SK && (state == FINISH || state == RESPOND || state == IDLE)));
      assert (!runs || state == RUN || state == FINISH || state == RESPOND);
      if (state == RUN) assert (runs && loads);
      if (state == PREPARE || state == START) assert (status == ST_OK);
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
        else if ((op == OP_KEYGEN || op == OP_SIGN) && !erases) assert (success && stored_all);
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
