// Keccak-f[1600] in parts (FIPS 202, section 3.2): lane x + 5y is A[x, y].
package keccak_pkg;
  localparam int LANES = 25;
  localparam int RATE_WORDS = 21;      // of SHAKE128; 17 of SHAKE256

  typedef logic [63:0] lane_t;
  typedef lane_t [LANES-1:0] state_t;
  typedef lane_t [4:0] plane_t;

  function automatic logic [4:0] rate(logic shake128);
    rate = shake128 ? 5'd21 : 5'd17;
  endfunction

  // Rotations of rho, by lane.
  function automatic int rho_offset(int lane);
    int x, y, t, r;
    x = 1;
    y = 0;
    r = 0;
    for (int i = 0; i < 24; i++) begin
      if (x + 5 * y == lane) r = ((i + 1) * (i + 2) / 2) % 64;
      t = y;
      y = (2 * x + 3 * y) % 5;
      x = t;
    end
    return r;
  endfunction

  // Round constants of iota from their linear feedback shift register.
  typedef logic [23:0][63:0] constants_t;
  function automatic constants_t iota_constants();
    logic [7:0] r;
    r = 8'd1;
    iota_constants = '0;
    for (int i = 0; i < 24; i++) begin
      for (int j = 0; j < 7; j++) begin
        if (r[0]) iota_constants[i][(1 << j) - 1] = 1'b1;
        r = {r[6:0], 1'b0} ^ (r[7] ? 8'h71 : 8'h00);
      end
    end
  endfunction
  localparam constants_t RC = iota_constants();

  // Theta adds to each lane what this has for its column.
  function automatic plane_t theta(state_t a);
    plane_t c;
    for (int x = 0; x < 5; x++) c[x] = a[x] ^ a[x+5] ^ a[x+10] ^ a[x+15] ^ a[x+20];
    for (int x = 0; x < 5; x++) theta[x] = c[(x+4)%5] ^ {c[(x+1)%5][62:0], c[(x+1)%5][63]};
  endfunction

  // Rho, pi, chi and iota.
  function automatic state_t behind_theta(state_t a, lane_t constant);
    state_t b;
    for (int y = 0; y < 5; y++) begin
      for (int x = 0; x < 5; x++) begin
        automatic int r = rho_offset(x + 5 * y);
        b[y+5*((2*x+3*y)%5)] = 64'({a[x+5*y], a[x+5*y]} >> (64 - r));
      end
    end
    for (int y = 0; y < 5; y++)
      for (int x = 0; x < 5; x++)
        behind_theta[x+5*y] = b[x+5*y] ^ (~b[(x+1)%5+5*y] & b[(x+2)%5+5*y]);
    behind_theta[0] ^= constant;
  endfunction
endpackage
