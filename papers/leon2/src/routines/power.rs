//! The program of an exponentiation, without its routines and data.
//!
//! `multiply` and `square` take the addresses of z, a, b and p. `%l1` is the address of the power
//! so far: 0 at the start, an entry of the table, or `power`.

/// Computes the table. `%i0` is p, `%i1` n in bytes, `%l3` the table, `%l5` the exponent. The table
/// of a fixed window has all powers: each is the previous one times the first. The table of a
/// sliding window has the odd powers: each is the previous one times the square, which is at
/// `power` until the table is complete.
pub(super) const TABLE: &str = "
_start: set     p, %i0
        set     size, %i1
        set     table, %l3
        set     exponent, %l5
        mov     %l3, %o0
        set     base, %o1
        set     r_squared, %o2
        call    multiply
        mov     %i0, %o3
        set     entries - 1, %l0
        mov     %l3, %l1
        mov     %l3, %l2        ! the factor from one power to the next
        tst     %l0
        be      table_done
        nop
        set     odd_only, %o0
        tst     %o0
        be      table_next
        nop
        set     power, %o0
        mov     %l3, %o1
        mov     %l3, %o2
        call    square
        mov     %i0, %o3
        set     power, %l2
table_next:
        add     %l1, %i1, %o0
        mov     %l1, %o1
        mov     %l2, %o2
        call    multiply
        mov     %i0, %o3
        subcc   %l0, 1, %l0
        bne     table_next
        add     %l1, %i1, %l1
table_done:
        set     power, %l2
        clr     %l1             ! no power yet
";

/// Returns the loop over the digits of a fixed window. `%l0` counts the remaining bits.
pub(super) fn fixed() -> String {
    let (bit, multiply) = (add_bit("fixed"), multiply("fixed"));
    format!(
        "
        set     top, %l0
        set     first_width, %l4
fixed:  clr     %l6             ! the digit
        mov     %l4, %i2
fixed_bit:
        sub     %l0, 1, %l0
        {bit}
        subcc   %i2, 1, %i2
        bne     fixed_bit
        nop
        subcc   %l6, 1, %l6
        bneg    fixed_next
        {multiply}
        tst     %l0
        bne     fixed
        mov     window, %l4
"
    )
}

/// Returns the loop over the digits of a sliding window. `%l0` is the next bit.
pub(super) fn sliding() -> String {
    let (bit, multiply) = (add_bit("slide"), multiply("slide"));
    format!(
        "
        set     top - 1, %l0
slide:  call    bit
        mov     %l0, %o0
        tst     %o0
        bne     slide_digit
        nop
        {SQUARE}
        ba      slide_next
        sub     %l0, 1, %l0
slide_digit:
        subcc   %l0, window - 1, %l4
        bneg,a  slide_low
        clr     %l4
slide_low:
        call    bit             ! the lowest bit of a digit is set
        mov     %l4, %o0
        tst     %o0
        be,a    slide_low
        add     %l4, 1, %l4
        clr     %l6             ! the digit
slide_bit:
        {bit}
        cmp     %l0, %l4
        bne     slide_bit
        sub     %l0, 1, %l0
        srl     %l6, 1, %l6
        {multiply}
        tst     %l0
        bge     slide
        nop
"
    )
}

/// Squares the power.
const SQUARE: &str = "
        mov     %l2, %o0
        mov     %l1, %o1
        mov     %l1, %o2
        call    square
        mov     %i0, %o3
        mov     %l2, %l1
";

/// Appends bit `%l0` of the exponent to the digit, and squares the power if there is one.
fn add_bit(window: &str) -> String {
    format!(
        "
        call    bit
        mov     %l0, %o0
        sll     %l6, 1, %l6
        or      %l6, %o0, %l6
        tst     %l1
        be      {window}_squared
        nop
        {SQUARE}
{window}_squared:
"
    )
}

/// Multiplies the power by entry `%l6` of the table, or takes the entry as the first power.
fn multiply(window: &str) -> String {
    format!(
        "
        umul    %l6, %i1, %o2
        tst     %l1
        bne     {window}_multiply
        add     %l3, %o2, %o2
        ba      {window}_next
        mov     %o2, %l1
{window}_multiply:
        mov     %l2, %o0
        mov     %l1, %o1
        call    multiply
        mov     %i0, %o3
{window}_next:
"
    )
}

/// Converts the power from Montgomery form.
pub(super) const END: &str = "
        set     z, %o0
        mov     %l1, %o1
        set     one, %o2
        call    multiply
        mov     %i0, %o3
        ta      0
bit:    srl     %o0, 5, %g1     ! %o0 := bit %o0 of the exponent
        sll     %g1, 2, %g1
        ld      [%l5 + %g1], %g1
        srl     %g1, %o0, %o0
        retl
        and     %o0, 1, %o0
";
