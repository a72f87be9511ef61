// A beat with its highest bit set is a command to the bench; the others go to the unit, which says by
// `ready` whether it takes them, and which may be kept from giving a beat.
  logic ready;
  wire command = in_data[255];
  assign in_ready = command || ready;
  assign can_wait = 1'b1;
