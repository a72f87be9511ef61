// NTT and NTT^-1 of streamed polynomials (FIPS 204, Algorithms 41 and 42), 256 cycles a polynomial.
//
// A 2x2 butterfly takes four coefficients a cycle through two layers, so a transform is four passes
// of 64 cycles over a private scratch polynomial. There are two: one is transformed while the other
// is unloaded and then loaded. Write a coefficient's index in base 4 as digits d3 d2 d1 d0. It
// lives in bank (d3 + d2 + d1 + d0) mod 4 at address d3 d2 d1. Pass P runs over the groups of four
// coefficients that differ in digit P alone, so the four banks are hit once each; the groups go in
// the order of the other digits. With that order a pass may follow the one before without a gap:
// what it reads was written before as long as LATENCY < 16 (digits 3 and 2, or at the end of the
// inverse the unloading).
module ntt
  import mldsa_pkg::*;
  import arith_pkg::*;
(
    input  logic       clk,
    input  logic       rst,
    input  wipe_t      wipe,
    // A job: taken before its words.
    input  logic       job_valid,
    output logic       job_ready,
    input  logic       job_inverse,
    input  tag_t       job_tag,
    // Its 64 words, all accepted without a pause once the job is taken.
    input  logic       in_valid,
    output logic       in_ready,
    input  word_t      in_word,
    // The 64 words of the result.
    output logic       out_valid,
    input  logic       out_ready,
    output word_t      out_word,
    output tag_t       out_tag,
    output logic       out_last
);
  // From a group's read address to its write: bank, operand register, two butterflies.
  localparam int LATENCY = 2 + 2 * BUTTERFLY_LATENCY;

  typedef logic [1:0] digit_t;
  typedef digit_t [2:0] address_t;

  // The coefficients of a cycle: those whose digits but `digit` are the three of `rest`.
  typedef struct packed {
    logic     scratch;
    logic     inverse;
    digit_t   digit;
    address_t rest;
  } group_t;

  function automatic digit_t digits_sum(input address_t a);
    return a[2] + a[1] + a[0];
  endfunction

  // Where lane `lane` of a group lives in its bank.
  function automatic address_t lane_address(input digit_t digit, input address_t rest,
                                                input digit_t lane);
    unique case (digit)
      2'd3: return {lane, rest[2], rest[1]};
      2'd2: return {rest[2], lane, rest[1]};
      2'd1: return {rest[2], rest[1], lane};
      default: return rest;
    endcase
  endfunction

  // ---- who has which scratch ----
  logic [1:0] taken;   // from its job until its result has been read
  logic [1:0] loaded;  // waits for the butterflies or is in them
  logic [1:0] result;  // holds a result that is not yet unloaded
  logic [1:0] inverse;
  tag_t [1:0] tag;

  logic load_at, run_at, unload_at;  // each goes from one scratch to the other
  logic loading;
  logic [5:0] load_count, unload_count;
  logic [7:0] run_count;

  assign job_ready = !loading && !taken[load_at];
  assign in_ready = loading;

  wire running = loaded[run_at];
  wire load = in_valid && in_ready;
  wire unload = result[unload_at] && (!out_valid || out_ready);

  always_ff @(posedge clk) begin
    if (job_valid && job_ready) begin
      taken[load_at] <= 1'b1;
      inverse[load_at] <= job_inverse;
      tag[load_at] <= job_tag;
      loading <= 1'b1;
    end
    if (load) begin
      load_count <= load_count + 6'd1;
      if (load_count == 6'd63) begin
        loading <= 1'b0;
        loaded[load_at] <= 1'b1;
        load_at <= !load_at;
      end
    end
    if (running) begin
      run_count <= run_count + 8'd1;
      if (run_count == 8'd255) begin
        loaded[run_at] <= 1'b0;
        result[run_at] <= 1'b1;
        run_at <= !run_at;
      end
    end
    if (unload) begin
      unload_count <= unload_count + 6'd1;
      if (unload_count == 6'd63) begin
        result[unload_at] <= 1'b0;
        taken[unload_at] <= 1'b0;
        unload_at <= !unload_at;
      end
    end
    if (rst) begin
      {taken, loaded, result, loading} <= '0;
      {load_at, run_at, unload_at} <= '0;
      {inverse, tag} <= '0;
      load_count <= '0;
      run_count <= '0;
      unload_count <= '0;
    end
  end

  // ---- groups on their way: `read` is being read, [LATENCY] written ----
  wire group_t read = '{
          scratch: run_at,
          inverse: inverse[run_at],
          digit: inverse[run_at] ? run_count[7:6] : ~run_count[7:6],
          rest: run_count[5:0]
      };
  group_t group[LATENCY:1];
  logic [LATENCY:1] busy;
  always_ff @(posedge clk) begin
    group[1] <= read;
    for (int i = 2; i <= LATENCY; i++) group[i] <= group[i-1];
    busy <= rst ? '0 : {busy[LATENCY-1:1], running};
  end
  wire group_t write = group[LATENCY];

  // ---- the scratch polynomials ----
  word_t results;  // of the butterflies, by lane
  coef_t [1:0][3:0] bank_out;
  for (genvar s = 0; s < 2; s++) begin : g_scratch
    wire writing = busy[LATENCY] && write.scratch == 1'(s);
    wire reading = running && read.scratch == 1'(s);
    wire unloading = unload && unload_at == 1'(s);
    for (genvar b = 0; b < 4; b++) begin : g_bank
      (* ram_style = "distributed" *)
      coef_t memory[64];
      wire digit_t write_lane = 2'(b) - digits_sum(write.rest);
      wire digit_t read_lane = 2'(b) - digits_sum(read.rest);
      wire digit_t load_lane = 2'(b) - digits_sum(load_count);
      wire address_t write_at = writing
          ? lane_address(write.digit, write.rest, write_lane) : load_count;
      wire coef_t write_data = writing ? results[write_lane] : in_word[load_lane];
      wire address_t read_at = reading
          ? lane_address(read.digit, read.rest, read_lane) : unload_count;
      always_ff @(posedge clk) begin
        if (writing || (load && load_at == 1'(s)) || wipe.on)
          memory[wipe.on ? wipe.at[5:0] : write_at] <= wipe.on ? '0 : write_data;
        if (reading || unloading) bank_out[s][b] <= memory[read_at];
        if (rst) bank_out[s][b] <= '0;
      end
    end
  end

  // ---- the 2x2 butterfly: forward pairs (0,2) (1,3), then (0,1) (2,3); inverse the other way ----
  function automatic digit_t second(input logic swap);  // lane of the second operand, or result
    return swap ? 2'd1 : 2'd2;
  endfunction

  // The node of its zetas; the inverse takes the layers' zetas from the last to the first.
  logic [6:0] node;
  wire [5:0] path = read.inverse ? ~read.rest : read.rest;
  always_comb begin
    unique case (read.digit)
      2'd3: node = 7'd1;
      2'd2: node = {5'd1, path[5:4]};
      2'd1: node = {3'd1, path[5:2]};
      default: node = {1'd1, path};
    endcase
  end
  coef_t z, z_even, z_odd;
  zetas zetas_i (.clk, .n(node), .z, .z_even, .z_odd);

  wire from = group[1].scratch;
  wire back = group[1].inverse;
  wire digit_t first_bank = digits_sum(group[1].rest);
  word_t lanes;  // operands in the order of the first layer's pairs
  coef_t w_first[2];
  coef_t w_second[2];
  always_ff @(posedge clk) begin
    lanes[0] <= bank_out[from][first_bank];
    lanes[1] <= bank_out[from][2'(first_bank + second(back))];
    lanes[2] <= bank_out[from][2'(first_bank + second(!back))];
    lanes[3] <= bank_out[from][2'(first_bank + 2'd3)];
    w_first[0] <= back ? z_odd : z;
    w_first[1] <= back ? z_even : z;
    w_second[0] <= back ? z : z_even;
    w_second[1] <= back ? z : z_odd;
  end

  coef_t x[2], y[2];
  coef_t u[2], v[2];
  for (genvar i = 0; i < 2; i++) begin : g_pair
    coef_t [BUTTERFLY_LATENCY-1:0] w_line;
    always_ff @(posedge clk) w_line <= {w_line[BUTTERFLY_LATENCY-2:0], w_second[i]};

    butterfly first (
        .clk,
        .inverse(group[2].inverse),
        .a(lanes[2*i]),
        .b(lanes[2*i+1]),
        .w(w_first[i]),
        .x(x[i]),
        .y(y[i])
    );
    butterfly last (
        .clk,
        .inverse(group[2+BUTTERFLY_LATENCY].inverse),
        .a(i == 0 ? x[0] : y[0]),
        .b(i == 0 ? x[1] : y[1]),
        .w(w_line[BUTTERFLY_LATENCY-1]),
        .x(u[i]),
        .y(v[i])
    );
  end
  assign results[0] = u[0];
  assign results[1] = write.inverse ? u[1] : v[0];
  assign results[2] = write.inverse ? v[0] : u[1];
  assign results[3] = v[1];

  // ---- the way out ----
  logic out_scratch;
  logic [5:0] out_index;
  assign out_last = out_index == 6'd63;
  for (genvar i = 0; i < 4; i++) begin : g_out
    assign out_word[i] = bank_out[out_scratch][2'(digits_sum(out_index) + 2'(i))];
  end
  always_ff @(posedge clk) begin
    if (unload) begin
      out_scratch <= unload_at;
      out_index   <= unload_count;
      out_tag     <= tag[unload_at];
    end
    if (rst) {out_scratch, out_index, out_tag} <= '0;
    if (rst) out_valid <= 1'b0;
    else if (unload) out_valid <= 1'b1;
    else if (out_ready) out_valid <= 1'b0;
  end
endmodule
