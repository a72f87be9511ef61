// SampleInBall (Algorithm 29) behind SHAKE256, a byte a cycle: c as words for the NTT, and as the
// list of its tau coefficients that are not 0 for the sparse products.
module sample_ball
  import mldsa_pkg::*;
(
    input  logic        clk,
    input  logic        rst,         // also before each polynomial
    input  logic [5:0]  tau,
    input  logic        in_valid,
    output logic        in_ready,
    input  logic [63:0] in_word,
    output logic        done,
    output logic        list_write,
    output logic [5:0]  list_n,
    output logic [7:0]  list_position,
    output logic        list_negative,
    input  logic [5:0]  index,
    output word_t       word         // word `index` of c
);
  logic [255:0] nonzero, negative;
  logic [5:0]   entry[256];          // of a position that is not 0: its place in the list
  logic         have_signs;
  logic [63:0]  signs;
  logic [2:0]   at;                  // byte of the word
  logic [5:0]   n;                   // entries so far
  logic [7:0]   i, j;
  logic         move;                // the entry that was at j is written again, for i
  logic [5:0]   moved;
  logic [7:0]   moved_to;
  logic         moved_negative;

  assign i = 8'(9'd256 - 9'(tau) + 9'(n));
  assign j = in_word[8*at +: 8];
  logic all;
  assign all = n == tau;
  assign done = all && !move;

  logic use_byte, accept;
  assign use_byte = in_valid && have_signs && !all && !move;
  assign accept = use_byte && j <= i;
  assign in_ready = in_valid && !all && (!have_signs || (use_byte && at == 3'd7));

  assign list_write = accept || move;
  assign list_n = move ? moved : n;
  assign list_position = move ? moved_to : j;
  assign list_negative = move ? moved_negative : signs[n];

  always_ff @(posedge clk) begin
    if (in_valid && !have_signs) begin
      signs <= in_word;
      have_signs <= 1'b1;
    end
    if (use_byte) at <= at + 3'd1;
    move <= 1'b0;
    if (accept) begin
      n <= n + 6'd1;
      nonzero[i] <= nonzero[j];
      negative[i] <= negative[j];
      nonzero[j] <= 1'b1;
      negative[j] <= signs[n];
      move <= nonzero[j];
      moved <= entry[j];
      moved_to <= i;
      moved_negative <= negative[j];
    end
    if (list_write) entry[list_position] <= list_n;
    if (rst) begin
      nonzero <= '0;
      negative <= '0;
      have_signs <= 1'b0;
      at <= '0;
      n <= '0;
      move <= 1'b0;
    end
  end

  for (genvar g = 0; g < 4; g++) begin : lanes
    assign word[g] = !nonzero[{index, 2'(g)}] ? 23'd0
                     : negative[{index, 2'(g)}] ? 23'(Q - 1) : 23'd1;
  end
endmodule
