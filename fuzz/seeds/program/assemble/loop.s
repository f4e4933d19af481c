_start: set 1000, %o0 ! a loop
again:  subcc %o0, 1, %o0
        bne,a again
        ld [%sp + 64], %l0
        save %sp, -96, %sp; restore %g0, 0, %o0
size = 8 * (4 + 2)
        umac %o0, %l0
        sethi %hi(data), %g1
        jmpl %g1 + %lo(data), %o7
        wr %g0, 5, %y
        lda [%g1 + %g2] 10, %o3
        ta 0
        .align 8
data:   .word again, size, 0xffffffff
        .byte 1, 2; .half 3
        .asciz "a \"text\"\n"
        .skip 5
