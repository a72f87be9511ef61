from machine import Machine as Arm
KEPT=()
decoded=None
