// HintBitPack (FIPS 204, Algorithm 20): hints come four a cycle, polynomial by polynomial; then the
// omega + k bytes leave as 64-bit words, the first byte lowest. One group of hints is taken a
// cycle, with a pause after each polynomial and sixteen cycles after the start, whatever the hints
// are. More than omega ones set `overflow`, which is final when `done`; then nothing leaves.
module hint_encode
  import mldsa_pkg::*;
(
    input  logic        clk,
    input  logic        rst,
    input  wipe_t       wipe,
    input  params_t     par,
    input  logic        start,
    input  logic        in_valid,
    output logic        in_ready,
    input  logic [ 3:0] in_hint,
    output logic        done,
    output logic        overflow,
    output logic        out_valid,
    input  logic        out_ready,
    output logic [63:0] out_word,
    output logic        out_last,
    output logic [ 3:0] out_bytes  // that count, of this word
);
  typedef enum logic [2:0] {
    IDLE,
    CLEAR,
    HINTS,
    COUNT,  // the number of ones so far becomes byte omega + poly
    LEAVE
  } state_t;
  state_t state;

  logic [3:0] word;  // cleared, or read
  logic [5:0] index;
  logic [2:0] poly;
  logic [6:0] count;

  // The ones of a group in ascending order: how many, and the lane of each.
  logic [2:0] ones;
  logic [3:0][1:0] lane;
  always_comb begin
    ones = '0;
    lane = '0;
    for (int i = 0; i < 4; i++)
      if (in_hint[i]) begin
        lane[ones[1:0]] = 2'(i);
        ones = ones + 3'd1;
      end
  end
  wire take = in_valid && in_ready;
  wire [7:0] new_count = 8'(count) + 8'(ones);
  wire too_many = overflow || new_count > 8'(par.omega);

  assign in_ready = state == HINTS;
  assign done = state == LEAVE;

  wire [6:0] bytes = par.omega + 7'(par.k);
  wire [6:0] last_byte = bytes - 7'd1;
  wire last_poly = 4'(poly) == par.k - 4'd1;
  logic finished;  // the last word has been read
  wire read = done && !overflow && !finished && (!out_valid || out_ready);

  always_ff @(posedge clk) begin
    unique case (state)
      CLEAR: begin
        word <= word + 4'd1;
        if (word == 4'd15) state <= HINTS;
      end
      HINTS:
      if (take) begin
        overflow <= too_many;
        if (!too_many) count <= new_count[6:0];
        index <= index + 6'd1;
        if (index == 6'd63) state <= COUNT;
      end
      COUNT: begin
        poly  <= poly + 3'd1;
        state <= last_poly ? LEAVE : HINTS;
      end
      LEAVE:
      if (read) begin
        word <= word + 4'd1;
        finished <= word == last_byte[6:3];
        out_last <= word == last_byte[6:3];
        out_bytes <= word == last_byte[6:3] ? {1'b0, last_byte[2:0]} + 4'd1 : 4'd8;
      end
      default: ;
    endcase
    if (read) out_valid <= 1'b1;
    else if (out_ready) out_valid <= 1'b0;
    if (start || rst) begin
      state <= start && !rst ? CLEAR : IDLE;
      word <= '0;
      index <= '0;
      poly <= '0;
      count <= '0;
      overflow <= 1'b0;
      finished <= 1'b0;
      out_valid <= 1'b0;
    end
    if (rst) {out_last, out_bytes} <= '0;
  end

  // A bank for each byte of a word, so that up to four positions are written in a cycle.
  wire [6:0] count_at = par.omega + 7'(poly);
  for (genvar b = 0; b < 8; b++) begin : g_byte
    (* ram_style = "distributed" *)
    logic [7:0] memory[16];
    wire [2:0] slot = 3'(b) - count[2:0];  // which one of the group comes here
    wire [6:0] slot_at = count + 7'(slot);
    logic write;
    logic [3:0] at;
    logic [7:0] value;
    always_comb begin
      unique case (state)
        CLEAR: {write, at, value} = {1'b1, word, 8'd0};
        COUNT: {write, at, value} = {count_at[2:0] == 3'(b), count_at[6:3], 1'b0, count};
        default: begin
          write = take && !too_many && slot < ones;
          at = 4'(slot_at >> 3);
          value = {index, lane[slot[1:0]]};
        end
      endcase
    end
    always_ff @(posedge clk) begin
      if (write || wipe.on)
        memory[wipe.on ? wipe.at[3:0] : at] <= wipe.on ? '0 : value;
      if (read) out_word[8*b+:8] <= memory[word];
      if (rst) out_word[8*b+:8] <= '0;
    end
  end
endmodule
