// Written by scripts/keccak_arm.py, which explains it.
    sub sp, sp, #48
    str x19, [sp]
    str x1, [sp, #8]
    ldr q0, [x0, #0]
    ldr q1, [x0, #32]
    ldr q2, [x0, #64]
    ldr q3, [x0, #96]
    ldr q4, [x0, #128]
    ldr q5, [x0, #160]
    ldr q6, [x0, #192]
    ldr q7, [x0, #224]
    ldr q8, [x0, #256]
    ldr q9, [x0, #288]
    ldr q10, [x0, #320]
    ldr q11, [x0, #352]
    ldr q12, [x0, #384]
    ldr q13, [x0, #416]
    ldr q14, [x0, #448]
    ldr q15, [x0, #480]
    ldr q16, [x0, #512]
    ldr q17, [x0, #544]
    ldr q18, [x0, #576]
    ldr q19, [x0, #608]
    ldr q20, [x0, #640]
    ldr q21, [x0, #672]
    ldr q22, [x0, #704]
    ldr q23, [x0, #736]
    ldr q24, [x0, #768]
    add x0, x0, #16
2:
    str x0, [sp, #32]
    ldr x2, [x0, #0]
    ldr x3, [x0, #32]
    ldr x4, [x0, #64]
    ldr x5, [x0, #96]
    ldr x6, [x0, #128]
    ldr x7, [x0, #160]
    ldr x8, [x0, #192]
    ldr x9, [x0, #224]
    ldr x10, [x0, #256]
    ldr x11, [x0, #288]
    ldr x12, [x0, #320]
    ldr x13, [x0, #352]
    ldr x14, [x0, #384]
    ldr x15, [x0, #416]
    ldr x16, [x0, #448]
    ldr x17, [x0, #480]
    ldr x19, [x0, #512]
    ldr x20, [x0, #544]
    ldr x21, [x0, #576]
    ldr x22, [x0, #608]
    ldr x23, [x0, #640]
    ldr x24, [x0, #672]
    ldr x25, [x0, #704]
    ldr x26, [x0, #736]
    ldr x27, [x0, #768]
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
3:
    str x3, [sp, #16]
    eor3 v27.16b, v2.16b, v7.16b, v12.16b
    str x12, [sp, #24]
    eor x28, x7, x2, ror #36
    eor3 v27.16b, v27.16b, v17.16b, v22.16b
    eor x28, x28, x12, ror #16
    eor x28, x28, x17, ror #36
    eor x28, x28, x23, ror #37
    eor3 v25.16b, v0.16b, v5.16b, v10.16b
    eor x30, x3, x8, ror #63
    eor x30, x30, x13, ror #56
    eor3 v25.16b, v25.16b, v15.16b, v20.16b
    eor x30, x30, x19, ror #27
    eor x30, x30, x24
    eor3 v26.16b, v1.16b, v6.16b, v11.16b
    eor x0, x14, x4, ror #38
    eor x0, x0, x9, ror #15
    eor x0, x0, x20, ror #18
    eor3 v26.16b, v26.16b, v16.16b, v21.16b
    eor x0, x0, x25, ror #6
    eor x1, x5, x10
    eor v28.16b, v3.16b, v8.16b
    eor x1, x1, x15, ror #19
    eor x1, x1, x21
    eor v28.16b, v28.16b, v13.16b
    eor x1, x1, x26, ror #23
    eor x3, x16, x6, ror #20
    eor x3, x3, x11, ror #9
    eor v28.16b, v28.16b, v18.16b
    eor x3, x3, x22, ror #7
    eor x3, x3, x27, ror #50
    eor v28.16b, v28.16b, v23.16b
    eor x12, x30, x3, ror #57
    eor x30, x1, x30, ror #2
    eor v29.16b, v4.16b, v9.16b
    eor x1, x28, x1, ror #37
    eor x28, x0, x28, ror #47
    eor v29.16b, v29.16b, v14.16b
    eor x0, x3, x0, ror #54
    eor x2, x12, x2
    eor x3, x28, x8, ror #19
    eor v29.16b, v29.16b, v19.16b
    eor x8, x1, x11, ror #39
    eor x11, x30, x25, ror #53
    eor v29.16b, v29.16b, v24.16b
    eor x25, x1, x16, ror #30
    eor x16, x12, x23, ror #1
    rax1 v30.2d, v29.2d, v26.2d
    eor x23, x30, x4, ror #21
    eor x4, x30, x14, ror #47
    eor x14, x0, x15, ror #27
    rax1 v26.2d, v26.2d, v28.2d
    eor x15, x1, x22, ror #37
    eor x22, x0, x26, ror #31
    rax1 v28.2d, v28.2d, v25.2d
    eor x26, x12, x17
    eor x17, x1, x6, ror #50
    rax1 v25.2d, v25.2d, v27.2d
    eor x6, x1, x27, ror #16
    eor x27, x28, x24, ror #20
    rax1 v27.2d, v27.2d, v29.2d
    eor x24, x0, x10, ror #8
    eor x10, x28, x19, ror #47
    eor x19, x12, x7, ror #28
    xar v29.2d, v6.2d, v25.2d, #20
    eor x7, x0, x5, ror #8
    eor x5, x0, x21, ror #8
    xar v6.2d, v9.2d, v28.2d, #44
    eor x21, x30, x20, ror #1
    eor x20, x28, x13, ror #12
    xar v9.2d, v22.2d, v26.2d, #3
    eor x13, x30, x9, ror #62
    ldr x9, [sp, #24]
    eor x9, x12, x9, ror #44
    xar v22.2d, v14.2d, v28.2d, #25
    ldr x12, [sp, #16]
    eor x12, x28, x12, ror #20
    xar v14.2d, v20.2d, v30.2d, #46
    bic x28, x3, x2, ror #63
    bic x30, x2, x6, ror #13
    xar v20.2d, v2.2d, v26.2d, #2
    bic x0, x4, x3, ror #45
    eor x2, x2, x0, ror #20
    bic x0, x5, x4, ror #49
    xar v2.2d, v12.2d, v26.2d, #21
    eor x3, x3, x0, ror #34
    bic x0, x6, x5, ror #22
    xar v12.2d, v13.2d, v27.2d, #39
    eor x4, x4, x0, ror #57
    eor x5, x30, x5, ror #35
    xar v13.2d, v19.2d, v28.2d, #56
    eor x6, x6, x28, ror #52
    ldr x28, [sp, #8]
    xar v19.2d, v23.2d, v27.2d, #8
    ldr x30, [x28], #8
    str x28, [sp, #8]
    eor x2, x2, x30
    xar v23.2d, v15.2d, v30.2d, #23
    bic x28, x8, x7, ror #21
    bic x30, x7, x11, ror #38
    xar v15.2d, v4.2d, v28.2d, #37
    bic x0, x9, x8, ror #10
    eor x7, x7, x0, ror #33
    xar v4.2d, v24.2d, v28.2d, #50
    bic x0, x10, x9, ror #61
    eor x8, x0, x8, ror #7
    bic x0, x11, x10, ror #62
    xar v24.2d, v21.2d, v25.2d, #62
    eor x9, x9, x0, ror #5
    eor x10, x10, x30, ror #28
    xar v28.2d, v3.2d, v27.2d, #36
    eor x11, x11, x28, ror #5
    bic x28, x13, x12, ror #51
    xar v31.2d, v1.2d, v25.2d, #63
    bic x30, x12, x16, ror #2
    bic x0, x14, x13, ror #26
    xar v21.2d, v8.2d, v27.2d, #9
    eor x12, x12, x0, ror #51
    bic x0, x15, x14, ror #12
    eor x13, x13, x0, ror #26
    bic v3.16b, v21.16b, v20.16b
    bic x0, x16, x15, ror #37
    eor x14, x0, x14, ror #49
    bic v1.16b, v20.16b, v24.16b
    eor x15, x15, x30, ror #25
    eor x16, x28, x16, ror #53
    bic v8.16b, v22.16b, v21.16b
    bic x28, x19, x17, ror #36
    bic x30, x17, x22
    bic x0, x20, x19, ror #57
    eor v20.16b, v20.16b, v8.16b
    eor x17, x17, x0, ror #35
    bic x0, x21, x20, ror #51
    bic v8.16b, v23.16b, v22.16b
    eor x19, x19, x0, ror #20
    bic x0, x22, x21, ror #48
    eor v21.16b, v21.16b, v8.16b
    eor x20, x0, x20, ror #35
    eor x21, x30, x21, ror #48
    eor x22, x22, x28, ror #28
    bic v8.16b, v24.16b, v23.16b
    bic x28, x24, x23
    bic x30, x23, x27, ror #42
    eor v22.16b, v22.16b, v8.16b
    bic x0, x25, x24, ror #13
    eor x23, x23, x0, ror #51
    eor v23.16b, v23.16b, v1.16b
    bic x0, x26, x25, ror #29
    eor x24, x24, x0, ror #22
    eor v24.16b, v24.16b, v3.16b
    bic x0, x27, x26, ror #44
    eor x25, x25, x0, ror #55
    eor x26, x26, x30, ror #42
    xar v3.2d, v18.2d, v27.2d, #43
    eor x27, x27, x28, ror #22
    str x3, [sp, #16]
    eor v0.16b, v0.16b, v30.16b
    str x12, [sp, #24]
    eor x28, x7, x2, ror #36
    bic v8.16b, v29.16b, v0.16b
    eor x28, x28, x12, ror #16
    eor x28, x28, x17, ror #36
    eor x28, x28, x23, ror #37
    bic v18.16b, v0.16b, v4.16b
    eor x30, x3, x8, ror #63
    eor x30, x30, x13, ror #56
    bic v27.16b, v2.16b, v29.16b
    eor x30, x30, x19, ror #27
    eor x30, x30, x24
    eor v0.16b, v0.16b, v27.16b
    eor x0, x14, x4, ror #38
    eor x0, x0, x9, ror #15
    bic v27.16b, v3.16b, v2.16b
    eor x0, x0, x20, ror #18
    eor x0, x0, x25, ror #6
    eor x1, x5, x10
    eor v1.16b, v29.16b, v27.16b
    eor x1, x1, x15, ror #19
    eor x1, x1, x21
    bic v27.16b, v4.16b, v3.16b
    eor x1, x1, x26, ror #23
    eor x3, x16, x6, ror #20
    eor v2.16b, v2.16b, v27.16b
    eor x3, x3, x11, ror #9
    eor x3, x3, x22, ror #7
    eor x3, x3, x27, ror #50
    eor v3.16b, v3.16b, v18.16b
    eor x12, x30, x3, ror #57
    eor x30, x1, x30, ror #2
    eor v4.16b, v4.16b, v8.16b
    eor x1, x28, x1, ror #37
    eor x28, x0, x28, ror #47
    xar v27.2d, v5.2d, v30.2d, #28
    eor x0, x3, x0, ror #54
    eor x2, x12, x2
    eor x3, x28, x8, ror #19
    xar v29.2d, v7.2d, v26.2d, #58
    eor x8, x1, x11, ror #39
    eor x11, x30, x25, ror #53
    xar v7.2d, v10.2d, v30.2d, #61
    eor x25, x1, x16, ror #30
    eor x16, x12, x23, ror #1
    xar v30.2d, v11.2d, v25.2d, #54
    eor x23, x30, x4, ror #21
    eor x4, x30, x14, ror #47
    bic v8.16b, v29.16b, v31.16b
    eor x14, x0, x15, ror #27
    eor x15, x1, x22, ror #37
    eor x22, x0, x26, ror #31
    bic v18.16b, v31.16b, v14.16b
    eor x26, x12, x17
    eor x17, x1, x6, ror #50
    bic v5.16b, v12.16b, v29.16b
    eor x6, x1, x27, ror #16
    eor x27, x28, x24, ror #20
    eor v10.16b, v31.16b, v5.16b
    eor x24, x0, x10, ror #8
    eor x10, x28, x19, ror #47
    eor x19, x12, x7, ror #28
    bic v5.16b, v13.16b, v12.16b
    eor x7, x0, x5, ror #8
    eor x5, x0, x21, ror #8
    eor v11.16b, v29.16b, v5.16b
    eor x21, x30, x20, ror #1
    eor x20, x28, x13, ror #12
    bic v5.16b, v14.16b, v13.16b
    eor x13, x30, x9, ror #62
    ldr x9, [sp, #24]
    eor v12.16b, v12.16b, v5.16b
    eor x9, x12, x9, ror #44
    ldr x12, [sp, #16]
    eor x12, x28, x12, ror #20
    eor v13.16b, v13.16b, v18.16b
    bic x28, x3, x2, ror #63
    bic x30, x2, x6, ror #13
    eor v14.16b, v14.16b, v8.16b
    bic x0, x4, x3, ror #45
    eor x2, x2, x0, ror #20
    xar v8.2d, v16.2d, v25.2d, #19
    bic x0, x5, x4, ror #49
    eor x3, x3, x0, ror #34
    bic x0, x6, x5, ror #22
    bic v18.16b, v6.16b, v28.16b
    eor x4, x4, x0, ror #57
    eor x5, x30, x5, ror #35
    bic v29.16b, v28.16b, v9.16b
    eor x6, x6, x28, ror #52
    ldr x28, [sp, #8]
    bic v16.16b, v7.16b, v6.16b
    ld1r {v31.2d}, [x28], #8
    ldp x30, x0, [x28], #16
    cmp x0, #0
    eor v5.16b, v28.16b, v16.16b
    str x28, [sp, #8]
    eor x2, x2, x30
    bic v16.16b, v8.16b, v7.16b
    bic x28, x8, x7, ror #21
    bic x30, x7, x11, ror #38
    eor v6.16b, v6.16b, v16.16b
    bic x0, x9, x8, ror #10
    eor x7, x7, x0, ror #33
    bic v16.16b, v9.16b, v8.16b
    bic x0, x10, x9, ror #61
    eor x8, x0, x8, ror #7
    bic x0, x11, x10, ror #62
    eor v7.16b, v7.16b, v16.16b
    eor x9, x9, x0, ror #5
    eor x10, x10, x30, ror #28
    eor v8.16b, v8.16b, v29.16b
    eor x11, x11, x28, ror #5
    bic x28, x13, x12, ror #51
    eor v9.16b, v9.16b, v18.16b
    bic x30, x12, x16, ror #2
    bic x0, x14, x13, ror #26
    eor x12, x12, x0, ror #51
    xar v18.2d, v17.2d, v26.2d, #49
    bic x0, x15, x14, ror #12
    eor x13, x13, x0, ror #26
    bic v29.16b, v27.16b, v15.16b
    bic x0, x16, x15, ror #37
    eor x14, x0, x14, ror #49
    bic v25.16b, v15.16b, v19.16b
    eor x15, x15, x30, ror #25
    eor x16, x28, x16, ror #53
    bic v28.16b, v30.16b, v27.16b
    bic x28, x19, x17, ror #36
    bic x30, x17, x22
    bic x0, x20, x19, ror #57
    eor v15.16b, v15.16b, v28.16b
    eor x17, x17, x0, ror #35
    bic x0, x21, x20, ror #51
    bic v28.16b, v18.16b, v30.16b
    eor x19, x19, x0, ror #20
    bic x0, x22, x21, ror #48
    eor v16.16b, v27.16b, v28.16b
    eor x20, x0, x20, ror #35
    eor x21, x30, x21, ror #48
    eor x22, x22, x28, ror #28
    bic v28.16b, v19.16b, v18.16b
    bic x28, x24, x23
    bic x30, x23, x27, ror #42
    eor v17.16b, v30.16b, v28.16b
    bic x0, x25, x24, ror #13
    eor x23, x23, x0, ror #51
    eor v18.16b, v18.16b, v25.16b
    bic x0, x26, x25, ror #29
    eor x24, x24, x0, ror #22
    bic x0, x27, x26, ror #44
    eor v19.16b, v19.16b, v29.16b
    eor x25, x25, x0, ror #55
    eor x26, x26, x30, ror #42
    eor v0.16b, v0.16b, v31.16b
    eor x27, x27, x28, ror #22
    b.ne 3b
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
    str x2, [x0, #0]
    str x3, [x0, #32]
    str x4, [x0, #64]
    str x5, [x0, #96]
    str x6, [x0, #128]
    str x7, [x0, #160]
    str x8, [x0, #192]
    str x9, [x0, #224]
    str x10, [x0, #256]
    str x11, [x0, #288]
    str x12, [x0, #320]
    str x13, [x0, #352]
    str x14, [x0, #384]
    str x15, [x0, #416]
    str x16, [x0, #448]
    str x17, [x0, #480]
    str x19, [x0, #512]
    str x20, [x0, #544]
    str x21, [x0, #576]
    str x22, [x0, #608]
    str x23, [x0, #640]
    str x24, [x0, #672]
    str x25, [x0, #704]
    str x26, [x0, #736]
    str x27, [x0, #768]
    add x0, x0, #8
    tbnz x0, #3, 2b
    sub x0, x0, #32
    str q0, [x0, #0]
    str q1, [x0, #32]
    str q2, [x0, #64]
    str q3, [x0, #96]
    str q4, [x0, #128]
    str q5, [x0, #160]
    str q6, [x0, #192]
    str q7, [x0, #224]
    str q8, [x0, #256]
    str q9, [x0, #288]
    str q10, [x0, #320]
    str q11, [x0, #352]
    str q12, [x0, #384]
    str q13, [x0, #416]
    str q14, [x0, #448]
    str q15, [x0, #480]
    str q16, [x0, #512]
    str q17, [x0, #544]
    str q18, [x0, #576]
    str q19, [x0, #608]
    str q20, [x0, #640]
    str q21, [x0, #672]
    str q22, [x0, #704]
    str q23, [x0, #736]
    str q24, [x0, #768]
    stp xzr, xzr, [sp, #16]
    ldr x19, [sp]
    add sp, sp, #48
