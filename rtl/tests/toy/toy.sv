// The toy cores of the harness's tests: toy.cpp behind two shapes of interfaces. They are no hardware.
package toy_pkg;
  import "DPI-C" function chandle toy_new();
  import "DPI-C" function void toy_begin(input chandle toy);
  import "DPI-C" function void toy_operand(input chandle toy);
  import "DPI-C" function void toy_take(input chandle toy, input int value);
  import "DPI-C" function int toy_work(input chandle toy, input int operation);
  import "DPI-C" function int toy_results(input chandle toy);
  import "DPI-C" function int toy_size(input chandle toy, input int result);
  import "DPI-C" function int toy_give(input chandle toy, input int result, input int place);
  import "DPI-C" function void toy_reset(input chandle toy, input int at_work);
  import "DPI-C" function int toy_is(input string way);
endpackage

// Words of 64 bits, little-endian, packets with their length, a command and a response. A fault: 1 results
// are withdrawn in every other cycle, 2 it never ends. Its counters: of the cycles in which it takes operands,
// and one that always says 3. The ways of test_planted.py, right and wrong ones, have their names here.
module toy #(parameter int DELAY = 99) (
  input logic clk, rst,
  input logic [1:0] fault,
  input logic cmd_valid, output logic cmd_ready, input logic [2:0] cmd_op,
  input logic in_valid, output logic in_ready, input logic [63:0] in_data, input logic in_last,
  input logic [3:0] in_bytes,
  output logic out_valid, input logic out_ready, output logic [63:0] out_data, output logic out_last,
  output logic [3:0] out_bytes,
  output logic rsp_valid, input logic rsp_ready, output logic [3:0] rsp_status,
  output logic [15:0] cnt_load, output logic [7:0] cnt_three, output logic parity);
  import toy_pkg::*;
  typedef enum logic [2:0] {IDLE, TAKE, WORK, GIVE, TELL, HANG} state_t;
  state_t state;
  chandle core;
  int left, wait_for, pause, result, place, status, words;
  bit fresh;
  logic [63:0] kept[4];  // words of a seed or a private key
  initial core = toy_new();

  bit slow, gaps, garbage, early, late, level, level_in, level_work, level_on, withdraws, changes, no_last, always_last,
      eights, extra, leaves_word, leaves_response, no_end, no_key, no_response, answers_first, no_valid, keeps_state, miscounts, hangs;
  initial begin
    slow = toy_is("takes a word every other cycle") != 0;
    gaps = toy_is("results with gaps") != 0;
    garbage = toy_is("garbage where nothing is valid") != 0;
    early = toy_is("refuses before the last operand") != 0;
    late = toy_is("late response") != 0;
    level = toy_is("level until the command") != 0;
    level_in = toy_is("level until the operands") != 0;
    level_work = toy_is("level until the work") != 0;
    level_on = toy_is("level for ever") != 0;
    withdraws = toy_is("withdraws a word") != 0;
    changes = toy_is("changes a waiting word") != 0;
    no_last = toy_is("no last") != 0;
    always_last = toy_is("last on every word") != 0;
    eights = toy_is("a wrong count of bytes") != 0;
    extra = toy_is("a word too many") != 0;
    leaves_word = toy_is("leaves a word") != 0;
    leaves_response = toy_is("leaves the response") != 0;
    no_end = toy_is("no end of signing") != 0;
    no_key = toy_is("no end of key generation") != 0;
    no_response = toy_is("no response") != 0;
    answers_first = toy_is("response before the results") != 0;
    no_valid = toy_is("takes words that are not offered") != 0;
    keeps_state = toy_is("zeroization leaves a register") != 0;
    miscounts = toy_is("a wrong counter of cycles") != 0;
    hangs = toy_is("no end of signing after zeroization") != 0;
  end

  logic blink, old_word, old_response, zeroized;
  int size;
  wire ends = size - place <= 8;
  assign cmd_ready = state == IDLE;
  assign in_ready = state == TAKE && !(slow && blink);
  assign rsp_valid = (state == TELL && pause == 0) || old_response;
  assign cnt_three = 3;
  assign parity = ^{kept[0], kept[1], kept[2], kept[3]};  // so that they are kept
  assign out_valid = (state == GIVE && pause == 0 && ((fault != 1 && !withdraws) || blink)) || old_word;
  always_comb begin
    size = state == GIVE ? toy_size(core, result) : 0;
    out_bytes = size - place < 8 && !eights ? 4'(size - place) : 4'd8;
    out_last = (ends && !no_last && !extra) || always_last;
    for (int i = 0; i < 8; i++)
      out_data[8*i +: 8] = state == GIVE && place + i < size ? 8'(toy_give(core, result, place + i)) : 8'd0;
    if (changes && blink) out_data[0] = !out_data[0];
    if (garbage && !out_valid) out_data = 64'h5a5a_a5a5_1234_5678;
  end

  always_ff @(posedge clk) begin
    blink <= !blink;
    if (pause != 0) pause <= pause - 1;
    if (out_valid && out_ready) old_word <= 0;
    if (rst) begin
      toy_reset(core, 32'(state != IDLE));
      zeroized <= 0;
      state <= IDLE;
      {old_word, old_response} <= '0;
      pause <= 0;
    end else case (state)
      IDLE: begin
        if (garbage) rsp_status <= 4'd9;
        if (cmd_valid) begin
          toy_begin(core);
          left <= cmd_op == 0 || cmd_op == 1 ? 1 : cmd_op == 2 ? 2 : 3;
          fresh <= 1;
          words <= 0;
          state <= cmd_op == 4 ? WORK : TAKE;
          wait_for <= 0;
          cnt_load <= miscounts ? 100 : 0;
          if (cmd_op == 4 && !keeps_state) kept <= '{default: '0};
          if (cmd_op == 1 || cmd_op == 4) zeroized <= cmd_op == 4;
          if (level || leaves_response || cmd_op == 4) old_response <= 0;
        end
      end
      TAKE: begin
        cnt_load <= cnt_load + 1;
        if ((in_valid && in_ready) || (no_valid && words != 0)) begin
          words <= words + 1;
          if (cmd_op <= 1 && words < 8) kept[words % 4] <= in_data;
          if (level_in) old_response <= 0;
          if (fresh) toy_operand(core);
          for (int i = 0; i < (in_last ? 32'(in_bytes) : 8); i++)
            toy_take(core, 32'(in_data[8*i +: 8]));
          fresh <= in_last;
          if (in_last && left == 1) begin
            state <= fault == 2 || ((no_end || zeroized && hangs) && cmd_op == 2) || (no_key && cmd_op == 0) ? HANG : WORK;
            wait_for <= DELAY;
          end
          if (in_last) left <= left - 1;
          if (in_last && early && cmd_op == 3 && left == 3 && words != 163) begin
            rsp_status <= 4'd2;
            state <= TELL;
          end
        end
      end
      WORK: if (wait_for != 0) begin
        wait_for <= wait_for - 1;
        if (level_work) old_response <= 0;
      end else begin
        status = toy_work(core, 32'(cmd_op));
        rsp_status <= 4'(status);
        result <= 0;
        place <= 0;
        if (late) pause <= 200;
        if (status >= 0) state <= toy_results(core) == 0 || answers_first ? TELL : GIVE;  // less than 0: it still works
      end
      GIVE: if (out_valid && out_ready) begin
        place <= ends ? 0 : place + 8;
        if (gaps) pause <= 3;
        if (ends) begin
          if (late) pause <= 200;
          result <= result + 1;
          if (result + 1 == toy_results(core)) state <= no_response ? HANG : TELL;
        end
      end
      TELL: if (rsp_ready && pause == 0) begin
        state <= IDLE;
        old_word <= leaves_word;
        old_response <= level || level_in || level_work || level_on || leaves_response;
      end
      default: ;
    endcase
  end
endmodule

// Words of 32 bits, big-endian, without last: an opcode and the length of the message stand in the
// stream, a pulse begins, verdicts are words of the results; keys are handed over in parts, and the reset
// is low and leaves the key loaded.
module toy_words (
  input logic clock, reset_n, start,
  input logic valid_i, output logic ready_i, input logic [31:0] data_i,
  output logic valid_o, input logic ready_o, output logic [31:0] data_o);
  import toy_pkg::*;
  typedef enum logic [2:0] {IDLE, CODE, LENGTH, TAKE, WORK, GIVE} state_t;
  state_t state;
  chandle core;
  initial core = toy_new();
  int operation, operand, message, due, place, result, status;
  bit verdict;
  // Sizes of the operands in their order; of the message the length that was sent.
  function automatic int size_of(input int op, input int n);
    case (op)
      1: return 32;
      2: return n == 0 ? 2560 : n == 1 ? 32 : message;
      default: return n == 0 ? 1312 : n == 1 ? message : 2420;
    endcase
  endfunction
  function automatic int operands_of(input int op);
    return op == 1 ? 1 : 3;
  endfunction
  assign ready_i = state == CODE || state == LENGTH || state == TAKE;
  assign valid_o = state == GIVE;
  always_comb begin
    data_o = verdict ? {31'd0, status != 0} : 0;
    if (state == GIVE && !verdict)
      for (int i = 0; i < 4; i++)
        if (place + i < toy_size(core, result)) data_o[24-8*i +: 8] = 8'(toy_give(core, result, place + i));
  end
  task automatic next_operand(input int n);
    operand <= n;
    due <= size_of(operation, n);
    toy_operand(core);
    if (size_of(operation, n) == 0) begin  // an empty message has no word
      operand <= n + 1;
      due <= size_of(operation, n + 1);
      if (n + 1 < operands_of(operation)) toy_operand(core);
      else state <= WORK;
    end
  endtask
  always_ff @(posedge clock) begin
    if (!reset_n) state <= IDLE;
    else case (state)
      IDLE: if (start) begin
        toy_begin(core);
        state <= CODE;
      end
      CODE: if (valid_i) begin
        operation <= data_i;
        state <= LENGTH;
      end
      LENGTH: if (valid_i) begin
        message <= data_i;
        operand <= -1;
        due <= 0;
        state <= TAKE;
      end
      TAKE: if (valid_i) begin
        if (operand < 0) begin  // the parameter set, which has to be 2
          next_operand(0);
        end else begin
          for (int i = 0; i < 4; i++) if (i < due) toy_take(core, 32'(data_i[24-8*i +: 8]));
          due <= due - 4;
          if (due <= 4) begin
            if (operand + 1 == operands_of(operation)) state <= WORK;
            else next_operand(operand + 1);
          end
        end
      end
      WORK: begin
        result <= 0;
        place <= 0;
        verdict <= operation == 3;
        status <= toy_order(operation);
        state <= GIVE;
      end
      GIVE: if (ready_o) begin
        if (verdict) state <= IDLE;
        else if (place + 4 >= toy_size(core, result)) begin
          place <= 0;
          result <= result + 1;
          if (result + 1 == toy_results(core)) state <= IDLE;
        end else place <= place + 4;
      end
      default: ;
    endcase
  end
  import "DPI-C" function int toy_one_go(input chandle toy, input int operation);
  function automatic int toy_order(input int op);
    return op == 1 ? toy_work(core, 0) : op == 2 ? toy_one_go(core, 2) : toy_work(core, 3);
  endfunction
endmodule
