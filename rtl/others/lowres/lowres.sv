// LowRes behind the interface of the harness: an operation becomes the opcodes of its steps.
//
// The core takes the lowest byte of a message's words alone, so it gets the bytes one by one. It takes
// each fourth without `ready`; in the cycle after that, `valid` tells it that the message goes on, and
// the receiver's `ready` that the message has ended.
module lowres (
    input  logic        clk,
    input  logic        rst,
    input  logic        cmd_valid,
    output logic        cmd_ready,
    input  logic [1:0]  cmd_op,
    input  logic [31:0] in_data,
    input  logic        in_valid,
    output logic        in_ready,
    output logic [31:0] out_data,
    output logic        out_valid,
    input  logic        out_ready,
    output logic        rsp_valid,
    output logic        rsp_status
);
    localparam logic [3:0] NONE = 4'h0, DIGEST = 4'h1, VERIFY = 4'h4;
    typedef enum logic [1:0] {IDLE, ISSUE, RUN, DONE} state_t;

    // Opcodes of key generation, loading, signing and verification, the first one lowest.
    function automatic logic [23:0] steps_of(input logic [1:0] op);
        case (op)
            2'd0: return {NONE, NONE, 4'h8, 4'h9, 4'h7, 4'hf};
            2'd1: return {NONE, NONE, NONE, NONE, 4'h3, 4'hd};
            2'd2: return {NONE, NONE, NONE, 4'ha, 4'h2, DIGEST};
            default: return {NONE, VERIFY, DIGEST, 4'h5, 4'he, 4'hc};
        endcase
    endfunction

    state_t state;
    logic [23:0] steps;
    logic [31:0] left;  // bytes of the message
    logic [1:0] place;  // of the next one in its word
    logic counted, fourth, accepted;
    logic core_idle, core_ready, core_valid;

    wire [3:0] step = steps[3:0];
    wire counts = state == ISSUE && step == DIGEST && !counted;
    wire hashes = state == RUN && step == DIGEST;
    wire takes = state == RUN && step[3:2] == 2'b11;
    wire gives = state == RUN && step[3:2] == 2'b10;
    wire offered = hashes && !fourth && left != 0 && in_valid;
    wire taken = offered && (core_ready || place == 2'd3);

    assign cmd_ready = state == IDLE && core_idle;
    assign in_ready = counts || (takes && core_ready) || (taken && (place == 2'd3 || left == 1));
    assign out_valid = gives && core_valid;
    assign rsp_valid = state == DONE;
    assign rsp_status = !accepted;

    lowres_core core (
        .clk,
        .op_in(step),
        .op_valid_in(state == ISSUE && step != NONE && !counts),
        .ready_out(core_idle),
        .data_in(hashes ? {24'd0, in_data[8 * (2'd3 - place) +: 8]} : in_data),
        .valid_in((takes && in_valid) || offered || (hashes && fourth && left != 0)),
        .ready_rcv_out(core_ready),
        .data_out(out_data),
        .valid_out(core_valid),
        .ready_rcv_in(hashes ? left == 0 : gives && out_ready),
        .sign_reject()
    );

    always_ff @(posedge clk) begin
        fourth <= taken && place == 2'd3;
        if (taken) begin
            left <= left - 1;
            place <= place + 1;
        end
        case (state)
            IDLE: if (cmd_valid && core_idle) begin
                steps <= steps_of(cmd_op);
                counted <= 0;
                accepted <= 1;
                state <= ISSUE;
            end
            ISSUE: if (step == NONE) state <= DONE;
            else if (counts) begin
                if (in_valid) begin
                    left <= in_data;
                    place <= 0;
                    counted <= 1;
                end
            end else if (core_idle) state <= RUN;
            RUN: begin
                if (step == VERIFY && core_valid) accepted <= core_ready;
                if (core_idle) begin
                    steps <= steps >> 4;
                    state <= ISSUE;
                end
            end
            default: state <= IDLE;
        endcase
        if (rst) state <= IDLE;
    end
endmodule
