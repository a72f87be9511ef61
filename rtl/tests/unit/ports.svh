// What follows a bench's name: beats of 256 bits in and out, with valid and ready. can_wait: the unit may
// be kept from giving a beat.
  import mldsa_pkg::*;
  import arith_pkg::*;
(
    input  logic         clk,
    input  logic         rst,
    input  logic         in_valid,
    output logic         in_ready,
    input  logic [255:0] in_data,
    output logic         out_valid,
    input  logic         out_ready,
    output logic [255:0] out_data,
    output logic         can_wait
);
