// SHAKE128 and SHAKE256 at half a round of Keccak-f[1600] a cycle, theta and then the rest. Jobs
// are those of `keccak`. A word goes into its lane of the state when it is taken; the block squeezed
// last has a buffer. Blocks of a job without in_words are squeezed ahead until it is dropped.
//
// A bit of the state becomes one of two functions: of three bits behind rho and pi, or of itself
// and what is added to its column, which is theta's sum or the word that is absorbed. So it takes
// one LUT of six inputs.
module keccak_half
  import keccak_pkg::*;
(
    input  logic        clk,
    input  logic        rst,
    input  logic        in_valid,
    output logic        in_ready,
    input  logic [63:0] in_word,
    input  logic [3:0]  in_bytes,     // of the last word, 0..8; more count 8
    input  logic        in_last,
    input  logic        in_shake128,
    input  logic [6:0]  in_words,     // with a job's first word, as in_shake128; 0: until out_drop
    output logic        out_valid,
    input  logic        out_ready,
    output logic [63:0] out_word,
    input  logic        out_drop      // ends a job without in_words
);
  typedef enum logic [2:0] {ABSORB, PAD, TOP, THETA, REST, HAND} step_t;
  step_t step, then;                   // then: behind the permutation
  logic first;                         // no word of the job yet
  logic shake128;
  logic [6:0] words;                   // not yet in the buffer; 0: any number
  logic [4:0] at, round;
  logic over, full, more, load, drop;
  logic [4:0] buffer_count, buffer_at; // the buffer that is read: words in it, and the next
  logic [4:0] last_at;                 // of a block
  assign last_at = rate(first ? in_shake128 : shake128) - 5'd1;
  assign full = at == last_at;
  assign in_ready = step == ABSORB;
  assign drop = words == 0 && out_drop;
  assign more = words == 0 || words > 7'(rate(shake128));
  assign load = step == HAND && !drop
                && (buffer_count == 0 || (buffer_count == 5'd1 && out_ready));
  assign over = drop || (load && !more);

  // ---- the state
  state_t state;
  lane_t word;
  plane_t add;
  always_comb begin
    unique case (step)
      PAD: word = 64'h1f;
      TOP: word = 64'h8000_0000_0000_0000;
      default: begin
        word = in_word;
        if (in_last && in_bytes < 4'd8)
          word = (in_word & ~(64'hffff_ffff_ffff_ffff << {in_bytes[2:0], 3'b0}))
                 | (64'h1f << {in_bytes[2:0], 3'b0});
      end
    endcase
  end
  keccak_column column (.state, .absorb(step != THETA), .word, .add);
  state_t rest;
  assign rest = behind_theta(state, RC[round]);
  for (genvar g = 0; g < LANES; g++) begin : g_lane
    wire here = at == 5'(g) && (step == PAD || step == TOP || (step == ABSORB && in_valid));
    always_ff @(posedge clk)
      if (rst || over) state[g] <= '0;
      else if (here || step == THETA || step == REST)
        state[g] <= step == REST ? rest[g] : state[g] ^ add[g%5];
  end

  // ---- the course of a job
  always_ff @(posedge clk) begin
    unique case (step)
      ABSORB: if (in_valid) begin
        first <= 1'b0;
        if (first) {shake128, words} <= {in_shake128, in_words};
        at <= full ? '0 : at + 5'd1;
        then <= ABSORB;
        if (full) step <= THETA;
        if (in_last) begin
          then <= PAD;
          if (!full) step <= PAD;
          if (in_bytes < 4'd8) begin   // 0x1F is in this word
            at <= last_at;
            step <= TOP;
          end
        end
      end
      PAD: begin
        at <= last_at;
        step <= TOP;
      end
      TOP: begin
        at <= '0;
        then <= HAND;
        step <= THETA;
      end
      THETA: step <= REST;
      REST: begin
        round <= round == 5'd23 ? '0 : round + 5'd1;
        step <= round == 5'd23 ? then : THETA;
      end
      default: if (load) begin         // HAND
        if (words != 0) words <= words - 7'(rate(shake128));
        step <= THETA;
      end
    endcase
    if (over || rst) begin
      step <= ABSORB;
      first <= 1'b1;
      at <= '0;
      round <= '0;
    end
    if (rst) {shake128, words, then} <= {1'b0, 7'd0, ABSORB};
  end

  // ---- the block being read
  lane_t [RATE_WORDS-1:0] buffer;
  assign out_valid = buffer_count != 0;
  assign out_word = buffer[buffer_at];
  always_ff @(posedge clk) begin
    if (load) begin
      buffer <= state[RATE_WORDS-1:0];
      buffer_at <= '0;
      buffer_count <= more ? rate(shake128) : words[4:0];
    end else if (out_valid && out_ready) begin
      buffer_at <= buffer_at + 5'd1;
      buffer_count <= buffer_count - 5'd1;
    end
    if (drop) buffer_count <= '0;
    if (rst) {buffer, buffer_at, buffer_count} <= '0;
  end
endmodule
