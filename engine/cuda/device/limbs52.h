// Numbers of n limbs of 52 bits, each limb a double: one thread has a whole number. For GPUs with many
// units for doubles.
//
// A limb is an integer between -2^51 - 2^7 and 2^51 + 2^7, or between 0 and 2^52, so a number has
// many forms, and the limbs of a product exchange carries only once. R = 2^(52 n) is at least 2^8
// times a prime, so that nothing is subtracted before the end.
#pragma once

#ifdef __CUDACC__
#include "doubles_cuda.cuh"
#else
#include "doubles_emulated.h"
#endif

// The bits that products add to a column besides the products themselves. Columns are integers of 64
// bits; each row adds a low part, and the high part of the limb below, of x y and of q m.
constexpr uint64_t PRODUCT_BITS = LOW_BITS + HIGH_BITS;

// The number of pairs i + j = k with 0 <= i, j < n.
ON_DEVICE constexpr int pairs(int n, int k)
{
    return k < 0 || k > 2 * n - 2 ? 0 : k < n ? k + 1 : 2 * n - 1 - k;
}

// Minus these bits for column k of 2 n: for k < n until the column is divided, which is before its last
// low part, and for the others until the end.
ON_DEVICE constexpr uint64_t bias(int n, int k)
{
    return 0 - ((uint64_t)(2 * pairs(n, k) - (k < n)) * LOW_BITS
                + (uint64_t)(2 * pairs(n, k - 1)) * HIGH_BITS);
}

// Minus these bits for a column that takes part in n rows.
ON_DEVICE constexpr uint64_t bias_of_rows(int n)
{
    return 0 - 2 * (uint64_t)n * PRODUCT_BITS;
}

ON_DEVICE uint64_t shift_right_52(uint64_t s)
{
    return (uint64_t)((int64_t)s >> 52);
}

// One word of x: s := (s + x y + q m) / 2^52, with q so that the division leaves no rest. s has n + 1
// columns; the caller renames s[j + 1] to s[j].
template <int n, class M>
ON_DEVICE void step52(uint64_t* s, double x, const double* y, const M& m, uint64_t k0)
{
    uint64_t below = 0;
    UNROLL for (int j = 0; j < n; j++) {
        double high = product_high(x, y[j]);
        s[j] += bits_of(product_low(x, y[j], high)) + below;
        below = bits_of(high);
    }
    s[n] += below;
    double q = digit_of(s[0] * k0), modulus = m.limb(0), high = product_high(q, modulus);
    uint64_t whole = s[0] + bits_of(product_low(q, modulus, high)) - LOW_BITS;
    s[1] += shift_right_52(whole);
    UNROLL for (int j = 1; j < n; j++) {
        below = bits_of(high), modulus = m.limb(j);
        high = product_high(q, modulus);
        s[j] += bits_of(product_low(q, modulus, high)) + below;
    }
    s[n] += bits_of(high);
}

// A limb as a column. The sum of a limb and 1.5 2^52 would not do: limbs beyond 2^51 leave its range.
ON_DEVICE uint64_t column_of(double x)
{
    double high = product_high(x, 1);
    return ((bits_of(high) - HIGH_BITS) << 52) + bits_of(product_low(x, 1, high)) - LOW_BITS;
}

// z := the number with columns s, each between -2^59 and 2^59. A limb is the lowest 52 bits of its
// column, as a signed digit, and what the column below has above its own. The last column has no more
// than a limb.
template <int n>
ON_DEVICE void normalize(double* z, const uint64_t* s)
{
    UNROLL for (int j = 0; j < n; j++) {
        double limb = j < n - 1 ? digit_of(s[j]) : whole_of(s[j]);
        z[j] = j == 0 ? limb : limb + carry_of(s[j - 1]);
    }
}

// amm52_cuda: z :== x y / R mod m, with x in slot 0 of the shared memory. z may be y.
//
// Requires: m odd, each of its limbs from -2^51 to 2^51 - 1; k0 = -1/m mod 2^52; |x y| <= m R; and either
//           each limb of x and of y from -2^51 - 2^7 to 2^51 + 2^7, or each limb of x from 0 to 2^52 and
//           each limb of y from -2^51 to 2^51 - 1.
// Ensures:  |z| <= |x y| / R + 0.5001 m, so |z| < m if |x y| < m R / 4; limbs from -2^51 - 2^7 to 2^51 + 2^7.
// Counts:   2 n^2 products of limbs.
// Time:     independent of x, y and m.
//
// Bound: q is a number of n signed digits, so |q| <= 0.5001 R.
//
// The loop of 20 limbs has five rows (17 kB). On an H200, its exponentiations took 0.94 of the time with two
// rows, those with ten rows 1.31, and those without a loop 1.49: the instructions no longer fit a cache.
template <int n, class M>
ON_DEVICE void amm52(double* z, const Slots<n>& slots, const double* y, const M& m, uint64_t k0)
{
    constexpr int ROWS = n == 20 ? 5 : n < 20 ? 2 : 3;
    uint64_t s[n + ROWS];
    UNROLL for (int k = 0; k < n; k++) s[k] = bias(n, k);
    ROLLED for (int i = 0; i < n; i += ROWS) {
        UNROLL for (int row = 0; row < ROWS; row++) {
            s[n + row] = bias_of_rows(n);
            step52<n>(s + row, slots.limb(0, i + row), y, m, k0);
        }
        UNROLL for (int j = 0; j < n; j++) s[j] = s[j + ROWS];
    }
    UNROLL for (int j = 0; j < n; j++) s[j] += bias(n, n + j) - bias_of_rows(n);
    normalize<n>(z, s);
}

// x := the 52 n bits from bit `from` on of a number of `words` words, as limbs from 0 to 2^52 - 1.
template <int n>
ON_DEVICE void read52(double* x, const uint32_t* number, int from, int words)
{
    UNROLL for (int j = 0; j < n; j++) {
        int at = (from + 52 * j) / 32, shift = (from + 52 * j) % 32;
        uint64_t low = at < words ? number[at] : 0, middle = at + 1 < words ? number[at + 1] : 0;
        uint64_t high = at + 2 < words ? number[at + 2] : 0, bits = (low | middle << 32) >> shift;
        x[j] = limb_of(shift <= 12 ? bits : bits | high << (64 - shift));
    }
}

// number := x, or x + m if x < 0; below m if |x| < m. `words` words of 32 bits, not all of R.
template <int n, class M>
ON_DEVICE void write52(uint32_t* number, int words, const double* x, const M& m)
{
    uint64_t s[n], carry = 0;
    UNROLL for (int j = 0; j < n; j++) {
        s[j] = column_of(x[j]) + carry;
        carry = shift_right_52(s[j]);
    }
    uint64_t is_negative = carry; // all ones, or zero
    carry = 0;
    UNROLL for (int j = 0; j < n; j++) {
        s[j] = (s[j] & DIGIT) + (column_of(m.limb(j)) & is_negative) + carry;
        carry = shift_right_52(s[j]);
        s[j] &= DIGIT;
    }
    UNROLL for (int i = 0; i < words; i++) {
        int at = 32 * i / 52, shift = 32 * i % 52;
        uint64_t bits = s[at] >> shift;
        number[i] = (uint32_t)(shift <= 20 ? bits : bits | s[at + 1] << (52 - shift));
    }
}
