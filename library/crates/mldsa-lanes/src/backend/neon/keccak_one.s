// Written by scripts/keccak_arm.py, which explains it.
    sub sp, sp, #48
    str x19, [sp]
    str x1, [sp, #8]
    str x0, [sp, #32]
    ldp x2, x3, [x0, #0]
    ldp x4, x5, [x0, #16]
    ldp x6, x7, [x0, #32]
    ldp x8, x9, [x0, #48]
    ldp x10, x11, [x0, #64]
    ldp x12, x13, [x0, #80]
    ldp x14, x15, [x0, #96]
    ldp x16, x17, [x0, #112]
    ldp x19, x20, [x0, #128]
    ldp x21, x22, [x0, #144]
    ldp x23, x24, [x0, #160]
    ldp x25, x26, [x0, #176]
    ldr x27, [x0, #192]
    ror x3, x3, #63
    ror x4, x4, #44
    ror x6, x6, #51
    ror x7, x7, #36
    ror x9, x9, #3
    ror x11, x11, #62
    ror x12, x12, #20
    ror x13, x13, #7
    ror x14, x14, #18
    ror x15, x15, #45
    ror x16, x16, #7
    ror x19, x19, #36
    ror x23, x23, #63
    ror x24, x24, #63
    ror x25, x25, #12
    ror x26, x26, #41
    ror x27, x27, #21
2:
    str x3, [sp, #16]
    str x12, [sp, #24]
    eor x28, x7, x2, ror #36
    eor x28, x28, x12, ror #16
    eor x28, x28, x17, ror #36
    eor x28, x28, x23, ror #37
    eor x30, x3, x8, ror #63
    eor x30, x30, x13, ror #56
    eor x30, x30, x19, ror #27
    eor x30, x30, x24
    eor x0, x14, x4, ror #38
    eor x0, x0, x9, ror #15
    eor x0, x0, x20, ror #18
    eor x0, x0, x25, ror #6
    eor x1, x5, x10
    eor x1, x1, x15, ror #19
    eor x1, x1, x21
    eor x1, x1, x26, ror #23
    eor x3, x16, x6, ror #20
    eor x3, x3, x11, ror #9
    eor x3, x3, x22, ror #7
    eor x3, x3, x27, ror #50
    eor x12, x30, x3, ror #57
    eor x30, x1, x30, ror #2
    eor x1, x28, x1, ror #37
    eor x28, x0, x28, ror #47
    eor x0, x3, x0, ror #54
    eor x2, x12, x2
    eor x3, x28, x8, ror #19
    eor x8, x1, x11, ror #39
    eor x11, x30, x25, ror #53
    eor x25, x1, x16, ror #30
    eor x16, x12, x23, ror #1
    eor x23, x30, x4, ror #21
    eor x4, x30, x14, ror #47
    eor x14, x0, x15, ror #27
    eor x15, x1, x22, ror #37
    eor x22, x0, x26, ror #31
    eor x26, x12, x17
    eor x17, x1, x6, ror #50
    eor x6, x1, x27, ror #16
    eor x27, x28, x24, ror #20
    eor x24, x0, x10, ror #8
    eor x10, x28, x19, ror #47
    eor x19, x12, x7, ror #28
    eor x7, x0, x5, ror #8
    eor x5, x0, x21, ror #8
    eor x21, x30, x20, ror #1
    eor x20, x28, x13, ror #12
    eor x13, x30, x9, ror #62
    ldr x9, [sp, #24]
    eor x9, x12, x9, ror #44
    ldr x12, [sp, #16]
    eor x12, x28, x12, ror #20
    bic x28, x3, x2, ror #63
    bic x30, x2, x6, ror #13
    bic x0, x4, x3, ror #45
    eor x2, x2, x0, ror #20
    bic x0, x5, x4, ror #49
    eor x3, x3, x0, ror #34
    bic x0, x6, x5, ror #22
    eor x4, x4, x0, ror #57
    eor x5, x30, x5, ror #35
    eor x6, x6, x28, ror #52
    ldr x28, [sp, #8]
    ldr x30, [x28], #16
    str x28, [sp, #8]
    eor x2, x2, x30
    bic x28, x8, x7, ror #21
    bic x30, x7, x11, ror #38
    bic x0, x9, x8, ror #10
    eor x7, x7, x0, ror #33
    bic x0, x10, x9, ror #61
    eor x8, x0, x8, ror #7
    bic x0, x11, x10, ror #62
    eor x9, x9, x0, ror #5
    eor x10, x10, x30, ror #28
    eor x11, x11, x28, ror #5
    bic x28, x13, x12, ror #51
    bic x30, x12, x16, ror #2
    bic x0, x14, x13, ror #26
    eor x12, x12, x0, ror #51
    bic x0, x15, x14, ror #12
    eor x13, x13, x0, ror #26
    bic x0, x16, x15, ror #37
    eor x14, x0, x14, ror #49
    eor x15, x15, x30, ror #25
    eor x16, x28, x16, ror #53
    bic x28, x19, x17, ror #36
    bic x30, x17, x22
    bic x0, x20, x19, ror #57
    eor x17, x17, x0, ror #35
    bic x0, x21, x20, ror #51
    eor x19, x19, x0, ror #20
    bic x0, x22, x21, ror #48
    eor x20, x0, x20, ror #35
    eor x21, x30, x21, ror #48
    eor x22, x22, x28, ror #28
    bic x28, x24, x23
    bic x30, x23, x27, ror #42
    bic x0, x25, x24, ror #13
    eor x23, x23, x0, ror #51
    bic x0, x26, x25, ror #29
    eor x24, x24, x0, ror #22
    bic x0, x27, x26, ror #44
    eor x25, x25, x0, ror #55
    eor x26, x26, x30, ror #42
    eor x27, x27, x28, ror #22
    str x3, [sp, #16]
    str x12, [sp, #24]
    eor x28, x7, x2, ror #36
    eor x28, x28, x12, ror #16
    eor x28, x28, x17, ror #36
    eor x28, x28, x23, ror #37
    eor x30, x3, x8, ror #63
    eor x30, x30, x13, ror #56
    eor x30, x30, x19, ror #27
    eor x30, x30, x24
    eor x0, x14, x4, ror #38
    eor x0, x0, x9, ror #15
    eor x0, x0, x20, ror #18
    eor x0, x0, x25, ror #6
    eor x1, x5, x10
    eor x1, x1, x15, ror #19
    eor x1, x1, x21
    eor x1, x1, x26, ror #23
    eor x3, x16, x6, ror #20
    eor x3, x3, x11, ror #9
    eor x3, x3, x22, ror #7
    eor x3, x3, x27, ror #50
    eor x12, x30, x3, ror #57
    eor x30, x1, x30, ror #2
    eor x1, x28, x1, ror #37
    eor x28, x0, x28, ror #47
    eor x0, x3, x0, ror #54
    eor x2, x12, x2
    eor x3, x28, x8, ror #19
    eor x8, x1, x11, ror #39
    eor x11, x30, x25, ror #53
    eor x25, x1, x16, ror #30
    eor x16, x12, x23, ror #1
    eor x23, x30, x4, ror #21
    eor x4, x30, x14, ror #47
    eor x14, x0, x15, ror #27
    eor x15, x1, x22, ror #37
    eor x22, x0, x26, ror #31
    eor x26, x12, x17
    eor x17, x1, x6, ror #50
    eor x6, x1, x27, ror #16
    eor x27, x28, x24, ror #20
    eor x24, x0, x10, ror #8
    eor x10, x28, x19, ror #47
    eor x19, x12, x7, ror #28
    eor x7, x0, x5, ror #8
    eor x5, x0, x21, ror #8
    eor x21, x30, x20, ror #1
    eor x20, x28, x13, ror #12
    eor x13, x30, x9, ror #62
    ldr x9, [sp, #24]
    eor x9, x12, x9, ror #44
    ldr x12, [sp, #16]
    eor x12, x28, x12, ror #20
    bic x28, x3, x2, ror #63
    bic x30, x2, x6, ror #13
    bic x0, x4, x3, ror #45
    eor x2, x2, x0, ror #20
    bic x0, x5, x4, ror #49
    eor x3, x3, x0, ror #34
    bic x0, x6, x5, ror #22
    eor x4, x4, x0, ror #57
    eor x5, x30, x5, ror #35
    eor x6, x6, x28, ror #52
    ldr x28, [sp, #8]
    ldp x30, x0, [x28], #16
    cmp x0, #0
    str x28, [sp, #8]
    eor x2, x2, x30
    bic x28, x8, x7, ror #21
    bic x30, x7, x11, ror #38
    bic x0, x9, x8, ror #10
    eor x7, x7, x0, ror #33
    bic x0, x10, x9, ror #61
    eor x8, x0, x8, ror #7
    bic x0, x11, x10, ror #62
    eor x9, x9, x0, ror #5
    eor x10, x10, x30, ror #28
    eor x11, x11, x28, ror #5
    bic x28, x13, x12, ror #51
    bic x30, x12, x16, ror #2
    bic x0, x14, x13, ror #26
    eor x12, x12, x0, ror #51
    bic x0, x15, x14, ror #12
    eor x13, x13, x0, ror #26
    bic x0, x16, x15, ror #37
    eor x14, x0, x14, ror #49
    eor x15, x15, x30, ror #25
    eor x16, x28, x16, ror #53
    bic x28, x19, x17, ror #36
    bic x30, x17, x22
    bic x0, x20, x19, ror #57
    eor x17, x17, x0, ror #35
    bic x0, x21, x20, ror #51
    eor x19, x19, x0, ror #20
    bic x0, x22, x21, ror #48
    eor x20, x0, x20, ror #35
    eor x21, x30, x21, ror #48
    eor x22, x22, x28, ror #28
    bic x28, x24, x23
    bic x30, x23, x27, ror #42
    bic x0, x25, x24, ror #13
    eor x23, x23, x0, ror #51
    bic x0, x26, x25, ror #29
    eor x24, x24, x0, ror #22
    bic x0, x27, x26, ror #44
    eor x25, x25, x0, ror #55
    eor x26, x26, x30, ror #42
    eor x27, x27, x28, ror #22
    b.ne 2b
    ror x3, x3, #1
    ror x4, x4, #20
    ror x6, x6, #13
    ror x7, x7, #28
    ror x9, x9, #61
    ror x11, x11, #2
    ror x12, x12, #44
    ror x13, x13, #57
    ror x14, x14, #46
    ror x15, x15, #19
    ror x16, x16, #57
    ror x19, x19, #28
    ror x23, x23, #1
    ror x24, x24, #1
    ror x25, x25, #52
    ror x26, x26, #23
    ror x27, x27, #43
    ldr x0, [sp, #32]
    stp x2, x3, [x0, #0]
    stp x4, x5, [x0, #16]
    stp x6, x7, [x0, #32]
    stp x8, x9, [x0, #48]
    stp x10, x11, [x0, #64]
    stp x12, x13, [x0, #80]
    stp x14, x15, [x0, #96]
    stp x16, x17, [x0, #112]
    stp x19, x20, [x0, #128]
    stp x21, x22, [x0, #144]
    stp x23, x24, [x0, #160]
    stp x25, x26, [x0, #176]
    str x27, [x0, #192]
    stp xzr, xzr, [sp, #16]
    ldr x19, [sp]
    add sp, sp, #48
