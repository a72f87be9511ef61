// The Keccak unit with its ports in the order of its VHDL, by which HighPerf connects it: a netlist of
// GHDL has its inputs first.
module keccak_top (
    input  logic        rst,
    input  logic        clk,
    input  logic        src_ready,
    output logic        src_read,
    input  logic        dst_ready,
    output logic        dst_write,
    input  logic [63:0] din,
    output logic [63:0] dout
);
    keccak_netlist netlist (.*);
endmodule
