// SHAKE128 and SHAKE256 at one round of Keccak-f[1600] a cycle.
//
// A job is a packet of words to absorb. The block to absorb next and the block squeezed last have
// buffers of their own, so that feeding, permuting and reading overlap, within a job and across
// jobs: the next job's first block is taken while this one is still read.
//
// With the first word of a job comes how much is squeezed: `in_words` words; or, if that is 0, any
// number until `out_drop`, `in_eager` blocks at once and each further one when the last is used up.
module keccak
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
    input  logic [6:0]  in_words,
    input  logic [2:0]  in_eager,
    output logic        out_valid,
    input  logic        out_ready,
    output logic [63:0] out_word,
    input  logic        out_drop      // ends a job without in_words
);
  typedef struct packed {
    logic       shake128;
    logic [6:0] words;
    logic [2:0] eager;
  } job_t;

  // ---- the block to absorb
  lane_t [RATE_WORDS-1:0] ib;
  logic [4:0] ib_index;
  logic ib_full, ib_first, ib_last;    // complete; the first, the last block of its job
  job_t ib_job;
  typedef enum logic [1:0] {FILL, PAD, TOP} pad_t;
  pad_t pad;                           // FILL: take words; PAD: put 0x1F; TOP: put 0x80
  logic wipe, take;                    // the state is cleared; the block goes into it

  logic [63:0] ib_word;
  logic ib_write, ib_end;
  logic [4:0] ib_at;

  logic [4:0] fill_rate;
  assign fill_rate = rate(ib_first && ib_index == 0 && pad == FILL ? in_shake128 : ib_job.shake128);
  assign ib_end = ib_index == fill_rate - 5'd1;
  assign in_ready = !ib_full && pad == FILL;
  always_comb begin
    ib_write = 1'b0;
    ib_word = in_word;
    ib_at = ib_index;
    unique case (pad)
      PAD: begin
        ib_write = !ib_full;
        ib_word = 64'h1f;
        if (ib_end) ib_word[63] = 1'b1;
      end
      TOP: begin
        ib_write = !ib_full;
        ib_at = fill_rate - 5'd1;
        ib_word = 64'h8000_0000_0000_0000;
      end
      default: begin
        ib_write = in_valid && in_ready;
        if (in_last && in_bytes < 4'd8) begin
          ib_word = (in_word & ~(64'hffff_ffff_ffff_ffff << {in_bytes[2:0], 3'b0}))
                    | (64'h1f << {in_bytes[2:0], 3'b0});
          if (ib_end) ib_word[63] = 1'b1;
        end
      end
    endcase
  end

  always_ff @(posedge clk) begin
    if (take) ib <= '0;
    else if (ib_write) ib[ib_at] <= ib_word;
    if (ib_write) begin
      ib_index <= ib_index + 5'd1;
      unique case (pad)
        PAD: begin
          pad <= ib_end ? FILL : TOP;
          ib_full <= ib_end;
          ib_last <= ib_end;
        end
        TOP: begin
          pad <= FILL;
          ib_full <= 1'b1;
          ib_last <= 1'b1;
        end
        default: begin
          if (ib_first && ib_index == 0) ib_job <= '{in_shake128, in_words, in_eager};
          ib_full <= ib_end;
          ib_last <= 1'b0;
          if (in_last) begin
            if (in_bytes >= 4'd8) pad <= PAD;
            else if (!ib_end) pad <= TOP;
            else ib_last <= 1'b1;
          end
        end
      endcase
    end
    if (take) begin
      ib_full <= 1'b0;
      ib_index <= '0;
      ib_first <= ib_last;
    end
    if (rst) begin
      ib <= '0;
      ib_full <= 1'b0;
      ib_index <= '0;
      ib_first <= 1'b1;
      ib_last <= 1'b0;
      ib_job <= '0;
      pad <= FILL;
    end
  end

  // ---- the state
  state_t state, mixed;    // mixed: by theta
  logic [4:0] round;
  logic run;               // a permutation is under way
  logic squeezing;         // a job's words are being squeezed
  logic fresh;             // state holds a block that is not in the output buffer yet
  logic last_absorb;       // this permutation follows the last absorbed block
  logic wiped;             // the state is zero, for a first block
  logic shake128;          // of the job in the state, as are these:
  logic fixed;             // it has a number of words
  logic [2:0] eager;       // blocks still to come at once
  logic [6:0] words;       // words not yet handed to the output buffer (fixed)

  lane_t [RATE_WORDS-1:0] ob;
  logic [4:0] ob_count, ob_index;
  logic ob_free, load, more, again;
  assign ob_free = ob_count == 0 || (ob_count == 5'd1 && out_ready);
  assign load = fresh && !run && ob_free && !(out_drop && !fixed);
  // After this load, or with nothing to load: does the job go on with a further block?
  assign more = fixed ? words > 7'(rate(shake128)) : eager > 3'd1;
  assign again = squeezing && !run && !(out_drop && !fixed)
                 && (load ? more : !fresh && !fixed && ob_count == 0);
  // A first block waits until the job before has handed over all that it has to.
  logic over;
  assign over = !squeezing || (out_drop && !fixed) || (load && fixed && !more);
  assign wipe = ib_full && ib_first && !run && !wiped && over
                && (!fresh || load || (out_drop && !fixed));
  assign take = ib_full && !run && (ib_first ? wiped : !squeezing);

  plane_t add;
  always_comb begin
    add = theta(state);
    for (int i = 0; i < LANES; i++) mixed[i] = state[i] ^ add[i%5];
  end

  always_ff @(posedge clk) begin
    if (take) for (int i = 0; i < RATE_WORDS; i++) state[i] <= state[i] ^ ib[i];
    if (run || again) begin
      state <= behind_theta(mixed, RC[round]);
      round <= round == 5'd23 ? '0 : round + 5'd1;
      run <= round != 5'd23;
      if (round == 5'd23) begin
        fresh <= last_absorb;
        squeezing <= last_absorb;
      end
    end
    if (load) begin
      fresh <= 1'b0;
      words <= words - 7'(rate(shake128));
      if (eager != 0) eager <= eager - 3'd1;
      if (fixed && !more) squeezing <= 1'b0;
    end
    if (wipe) begin
      state <= '0;
      wiped <= 1'b1;
      squeezing <= 1'b0;
      fresh <= 1'b0;
    end
    if (take) begin
      run <= 1'b1;
      wiped <= 1'b0;
      last_absorb <= ib_last;
      if (ib_first) begin
        shake128 <= ib_job.shake128;
        fixed <= ib_job.words != 0;
        words <= ib_job.words;
        eager <= ib_job.eager;
      end
    end
    if (out_drop && !fixed) begin
      fresh <= 1'b0;
      squeezing <= 1'b0;
      if (squeezing) begin
        run <= 1'b0;
        round <= '0;
      end
    end
    if (rst) begin
      state <= '0;
      run <= 1'b0;
      round <= '0;
      {shake128, eager, words} <= '0;
      fresh <= 1'b0;
      squeezing <= 1'b0;
      last_absorb <= 1'b0;
      wiped <= 1'b0;
      fixed <= 1'b0;
    end
  end

  // ---- the block being read
  assign out_valid = ob_count != 0;
  assign out_word = ob[ob_index];
  always_ff @(posedge clk) begin
    if (load) begin
      ob <= state[RATE_WORDS-1:0];
      ob_index <= '0;
      ob_count <= fixed && !more ? words[4:0] : rate(shake128);
    end else if (out_valid && out_ready) begin
      ob_index <= ob_index + 5'd1;
      ob_count <= ob_count - 5'd1;
    end
    if (out_drop && !fixed) ob_count <= '0;
    if (rst) {ob, ob_index, ob_count} <= '0;
  end
endmodule
