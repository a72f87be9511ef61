// The core of rtl/core behind another interface, for the tests of manifests: words of 32 bits with the
// first byte on top, no last, an opcode and the length of M' in the stream, a pulse that begins, a reset
// that is low, and the status of a verification as a word of the results.
module wrapped (
    input  logic        clock,
    input  logic        reset_n,
    input  logic        start,
    input  logic [31:0] data_i,
    input  logic        valid_i,
    output logic        ready_i,
    output logic [31:0] data_o,
    output logic        valid_o,
    input  logic        ready_o
);
  typedef enum logic [2:0] {IDLE, CODE, LENGTH, COMMAND, TAKE, FINISH, VERDICT} state_t;
  localparam int unsigned PK[3] = '{1312, 1952, 2592};
  localparam int unsigned SK[3] = '{2560, 4032, 4896};
  localparam int unsigned SIGNATURE[3] = '{2420, 3309, 4627};
  localparam logic [2:0] KEYGEN = 0, LOAD = 1, SIGN = 2, VERIFY = 3;

  state_t state;
  logic [2:0] op;
  logic loading;  // a signature's key comes first, by a command of its own
  logic [1:0] set, operand;
  logic [31:0] length, left;
  logic [3:0] status;

  function automatic logic [31:0] swapped(input logic [31:0] word);
    return {word[7:0], word[15:8], word[23:16], word[31:24]};
  endfunction
  // Bytes of an operand, 0 where there are no more.
  function automatic logic [31:0] size_of(input logic [1:0] n);
    unique case (1'b1)
      op == KEYGEN:         return n == 0 ? 32 : 0;
      op == SIGN && loading: return n == 0 ? SK[set] : 0;
      op == SIGN:           return n == 0 ? 32 : n == 1 ? length : 0;
      default:              return n == 0 ? PK[set] : n == 1 ? length : n == 2 ? SIGNATURE[set] : 0;
    endcase
  endfunction

  logic cmd_ready, in_valid, in_ready, in_last, out_valid, out_ready, out_last, rsp_valid;
  logic [63:0] in_data, out_data;
  logic [3:0] in_bytes, out_bytes, rsp_status;
  mldsa_core #(.FAST(1'b1)) core (
      .clk(clock), .rst(!reset_n), .zeroize(1'b0),
      .cmd_valid(state == COMMAND), .cmd_ready, .cmd_op(op == SIGN && loading ? LOAD : op), .cmd_set(set),
      .cmd_mu(1'b0),
      .in_valid, .in_ready, .in_data, .in_last, .in_bytes,
      .out_valid, .out_ready, .out_data, .out_last, .out_bytes,
      .rsp_valid, .rsp_ready(state == FINISH), .rsp_status,
      .cnt_load(), .cnt_compute(), .cnt_store(), .cnt_attempts(), .cnt_rej_z(), .cnt_rej_r0(),
      .cnt_rej_ct0(), .cnt_rej_hint());

  // Two words make one of the core's; the first is kept unless it is the last of its operand.
  logic half, full;
  logic [31:0] low;
  assign in_valid = full;
  assign ready_i  = state == CODE || state == LENGTH || (state == TAKE && !full && left != 0);
  wire took = valid_i && ready_i;
  always_ff @(posedge clock) begin
    if (in_valid && in_ready) full <= 1'b0;
    if (state == TAKE && took) begin
      if (half || left <= 4) begin
        in_data  <= half ? {swapped(data_i), low} : {32'd0, swapped(data_i)};
        in_last  <= left <= 4;
        in_bytes <= 4'(left <= 4 ? left + (half ? 4 : 0) : 8);
        full     <= 1'b1;
        half     <= 1'b0;
      end else begin
        low  <= swapped(data_i);
        half <= 1'b1;
      end
    end
    if (!reset_n) {half, full} <= '0;
  end

  // A word of the core's becomes two, the second only where it has bytes.
  logic upper;
  assign valid_o = (out_valid && state == FINISH) || state == VERDICT;
  assign data_o = state == VERDICT ? 32'(status) : swapped(upper ? out_data[63:32] : out_data[31:0]);
  wire second = !out_last || out_bytes > 4;
  assign out_ready = state == FINISH && ready_o && (upper || !second);
  always_ff @(posedge clock)
    if (!reset_n) upper <= 1'b0;
    else if (out_valid && state == FINISH && ready_o) upper <= !upper && second;

  logic begun;  // a pulse that came before the core's response to the operation before
  always_ff @(posedge clock) begin
    begun <= reset_n && state != IDLE && (begun || start);
    if (!reset_n) state <= IDLE;
    else
      case (state)
        IDLE: if (start || begun) state <= CODE;
        CODE:
        if (took) begin
          op      <= data_i[2:0];
          set     <= data_i[5:4];
          loading <= data_i[2:0] == SIGN;
          state   <= LENGTH;
        end
        LENGTH:
        if (took) begin
          length <= data_i;
          state  <= COMMAND;
        end
        COMMAND:
        if (cmd_ready) begin
          operand <= 2'd0;
          left    <= size_of(2'd0);
          state   <= TAKE;
        end
        TAKE:
        if (took) left <= left > 4 ? left - 4 : 0;
        else if (left == 0 && !full) begin
          operand <= operand + 2'd1;
          left    <= size_of(operand + 2'd1);
          if (size_of(operand + 2'd1) == 0) state <= FINISH;
        end
        FINISH:
        if (rsp_valid) begin
          status  <= rsp_status;
          loading <= 1'b0;
          state   <= loading ? COMMAND : op == VERIFY ? VERDICT : IDLE;
        end
        default: if (ready_o) state <= IDLE;
      endcase
  end
endmodule
