// The DSP slice of Xilinx's 7-series (UG479), as far as LowRes uses it: for simulation. A synthesiser
// knows the primitive, and sees its ports alone.
`ifndef VERILATOR
(* blackbox *)
`endif
module DSP48E1 #(
    parameter ACASCREG = 1, ADREG = 1, ALUMODEREG = 1, AREG = 1, BCASCREG = 1, BREG = 1,
    parameter CARRYINREG = 1, CARRYINSELREG = 1, CREG = 1, DREG = 1, INMODEREG = 1, MREG = 1,
    parameter OPMODEREG = 1, PREG = 1, AUTORESET_PATDET = "NO_RESET", A_INPUT = "DIRECT",
    parameter B_INPUT = "DIRECT", MASK = 48'h3FFFFFFFFFFF, PATTERN = 48'h0, SEL_MASK = "MASK",
    parameter SEL_PATTERN = "PATTERN", USE_DPORT = 1'b0, USE_MULT = "MULTIPLY",
    parameter USE_PATTERN_DETECT = "NO_PATDET", USE_SIMD = "ONE48"
) (
    input [29:0] A, ACIN,
    input [3:0] ALUMODE,
    input [17:0] B, BCIN,
    input [47:0] C,
    input CARRYCASCIN, CARRYIN,
    input [2:0] CARRYINSEL,
    input CEA1, CEA2, CEAD, CEALUMODE, CEB1, CEB2, CEC, CECARRYIN, CECTRL, CED, CEINMODE, CEM, CEP,
    input CLK,
    input [24:0] D,
    input [4:0] INMODE,
    input MULTSIGNIN,
    input [6:0] OPMODE,
    input [47:0] PCIN,
    input RSTA, RSTALLCARRYIN, RSTALUMODE, RSTB, RSTC, RSTCTRL, RSTD, RSTINMODE, RSTM, RSTP,
    output [29:0] ACOUT,
    output [17:0] BCOUT,
    output CARRYCASCOUT,
    output [3:0] CARRYOUT,
    output MULTSIGNOUT, OVERFLOW,
    output [47:0] P,
    output PATTERNBDETECT, PATTERNDETECT,
    output [47:0] PCOUT,
    output UNDERFLOW
);
`ifdef VERILATOR
    localparam TWO24 = USE_SIMD == "TWO24";

    // Registers that a parameter leaves out are wires.
    reg [29:0] a1, a2;
    reg [17:0] b1, b2;
    reg [47:0] c, p;
    reg [24:0] d, ad;
    reg signed [42:0] m;
    reg [6:0] opmode;
    reg [4:0] inmode;
    reg [3:0] alumode;
    reg carry;
    wire [29:0] a_in = A_INPUT == "CASCADE" ? ACIN : A;
    wire [17:0] b_in = B_INPUT == "CASCADE" ? BCIN : B;
    wire [29:0] a1_q = AREG == 0 ? a_in : a1;
    wire [29:0] a2_q = AREG == 0 ? a_in : a2;
    wire [17:0] b1_q = BREG == 0 ? b_in : b1;
    wire [17:0] b2_q = BREG == 0 ? b_in : b2;
    wire [47:0] c_q = CREG == 0 ? C : c;
    wire [24:0] d_q = DREG == 0 ? D : d;
    wire [6:0] opmode_q = OPMODEREG == 0 ? OPMODE : opmode;
    wire [4:0] inmode_q = INMODEREG == 0 ? INMODE : inmode;
    wire [3:0] alumode_q = ALUMODEREG == 0 ? ALUMODE : alumode;
    wire carry_q = CARRYINREG == 0 ? CARRYIN : carry;

    // The pre-adder and the multiplier.
    wire [24:0] a_chosen = inmode_q[1] ? 25'd0 : inmode_q[0] ? a1_q[24:0] : a2_q[24:0];
    wire [24:0] d_chosen = inmode_q[2] ? d_q : 25'd0;
    wire [24:0] sum = inmode_q[3] ? d_chosen - a_chosen : d_chosen + a_chosen;
    wire [24:0] ad_q = ADREG == 0 ? sum : ad;
    wire signed [24:0] left = USE_DPORT ? ad_q : a_chosen;
    wire signed [17:0] right = inmode_q[4] ? b1_q : b2_q;
    wire signed [42:0] product = left * right;
    wire signed [42:0] m_q = MREG == 0 ? product : m;

    // The adder: z with x + y + carry, in one word or in two halves. `product` stands in x alone.
    reg [47:0] x, y, z, result;
    always @* begin
        case (opmode_q[1:0])
            2'b00: x = 0;
            2'b01: x = {{5{m_q[42]}}, m_q};
            2'b10: x = p;
            default: x = {a2_q, b2_q};
        endcase
        case (opmode_q[3:2])
            2'b10: y = {48{1'b1}};
            2'b11: y = c_q;
            default: y = 0;
        endcase
        case (opmode_q[6:4])
            3'b001: z = PCIN;
            3'b010, 3'b100: z = p;
            3'b011: z = c_q;
            3'b101: z = {{17{PCIN[47]}}, PCIN[47:17]};
            3'b110: z = {{17{p[47]}}, p[47:17]};
            default: z = 0;
        endcase
        if (TWO24) result = {
            alu(alumode_q, {24'd0, x[47:24]}, {24'd0, y[47:24]}, {24'd0, z[47:24]}, 1'b0)[23:0],
            alu(alumode_q, {24'd0, x[23:0]}, {24'd0, y[23:0]}, {24'd0, z[23:0]}, carry_q)[23:0]};
        else result = alu(alumode_q, x, y, z, carry_q);
    end

    function automatic [47:0] alu(input [3:0] mode, input [47:0] x, y, z, input carry);
        reg [47:0] rest;
        rest = x + y + {47'd0, carry};
        case (mode)
            4'b0000: alu = z + rest;
            4'b0001: alu = rest - z - 48'd1;
            4'b0010: alu = ~(z + rest);
            4'b0011: alu = z - rest;
            default: alu = 48'd0;
        endcase
    endfunction

    always @(posedge CLK) begin
        if (RSTA) a1 <= 0; else if (CEA1) a1 <= a_in;
        if (RSTA) a2 <= 0; else if (CEA2) a2 <= AREG == 2 ? a1 : a_in;
        if (RSTB) b1 <= 0; else if (CEB1) b1 <= b_in;
        if (RSTB) b2 <= 0; else if (CEB2) b2 <= BREG == 2 ? b1 : b_in;
        if (RSTC) c <= 0; else if (CEC) c <= C;
        if (RSTD) d <= 0; else if (CED) d <= D;
        if (RSTD) ad <= 0; else if (CEAD) ad <= sum;
        if (RSTM) m <= 0; else if (CEM) m <= product;
        if (RSTCTRL) opmode <= 0; else if (CECTRL) opmode <= OPMODE;
        if (RSTINMODE) inmode <= 0; else if (CEINMODE) inmode <= INMODE;
        if (RSTALUMODE) alumode <= 0; else if (CEALUMODE) alumode <= ALUMODE;
        if (RSTALLCARRYIN) carry <= 0; else if (CECARRYIN) carry <= CARRYIN;
        if (RSTP) p <= 0; else if (CEP) p <= result;
    end
    assign P = PREG == 0 ? result : p;
    assign PCOUT = P;
    assign ACOUT = ACASCREG == 0 ? a_in : ACASCREG == AREG ? a2_q : a1_q;
    assign BCOUT = BCASCREG == 0 ? b_in : BCASCREG == BREG ? b2_q : b1_q;
    assign {CARRYCASCOUT, CARRYOUT, MULTSIGNOUT, OVERFLOW, PATTERNBDETECT, PATTERNDETECT, UNDERFLOW} = 0;
`endif
endmodule
