// SampleInBall (Algorithm 29) behind SHAKE256, a byte a cycle: c as words for the NTT, and as the
// list of its tau coefficients that are not 0 for the sparse products.
module sample_ball
  import mldsa_pkg::*;
(
    input  logic        clk,
    input  logic        rst,
    input  wipe_t       wipe,
    input  logic        start,       // before each polynomial, once the last has been taken
    input  logic [5:0]  tau,
    input  logic        in_valid,
    output logic        in_ready,
    input  logic [63:0] in_word,
    output logic        done,
    output logic        list_write,
    output logic [5:0]  list_n,
    output logic [7:0]  list_position,
    output logic        list_negative,
    input  logic        take,        // word `index` of c: it is cleared for the next
    input  logic [5:0]  index,
    output word_t       word
);
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

  // c: {negative, not 0} of each coefficient, four to a word. A reset clears it word by word.
  logic [3:0][1:0] at_j, at_index;
  logic clearing;
  logic [5:0] clear_at;
  for (genvar g = 0; g < 4; g++) begin : banks
    logic [1:0] c[64];
    logic write;
    assign write = list_write && list_position[1:0] == 2'(g);
    assign at_j[g] = c[j[7:2]];
    assign at_index[g] = c[index];
    always_ff @(posedge clk)
      if (write || clearing || take)
        c[clearing ? clear_at : take ? index : list_position[7:2]]
            <= clearing || take ? 2'b00 : {list_negative, 1'b1};
    assign word[g] = !at_index[g][0] ? 23'd0 : at_index[g][1] ? 23'(Q - 1) : 23'd1;
  end
  logic negative, nonzero;             // at j
  assign {negative, nonzero} = at_j[j[1:0]];
  logic all;
  assign all = n == tau;
  assign done = all && !move;

  logic use_byte, accept;
  assign use_byte = in_valid && have_signs && !all && !move && !clearing;
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
      move <= nonzero;
      moved <= entry[j];
      moved_to <= i;
      moved_negative <= negative;
    end
    if (list_write || wipe.on)
      entry[wipe.on ? wipe.at[7:0] : list_position] <= wipe.on ? '0 : list_n;
    clear_at <= clear_at + 6'd1;
    if (clear_at == 6'd63) clearing <= 1'b0;
    if (rst) begin
      {signs, moved, moved_to, moved_negative} <= '0;
      clear_at <= wipe.at[5:0];        // 0 but while it is wiped
      clearing <= 1'b1;
    end
    if (start || rst) begin
      have_signs <= 1'b0;
      at <= '0;
      n <= '0;
      move <= 1'b0;
    end
  end
endmodule
