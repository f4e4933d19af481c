// Numbers of T lanes with L words each, and the only multiplication.
#pragma once

#include "lanes.h"

template <int T, int L>
ON_DEVICE void set(Word<T>* z, const Word<T>* x)
{
    UNROLL for (int j = 0; j < L; j++) z[j] = x[j];
}

// Reads a number of `limbs` limbs; the limbs above are zero.
template <int T, int L>
ON_DEVICE void read(Word<T>* z, const uint32_t* from, int limbs = T * L)
{
    UNROLL for (int j = 0; j < L; j++) z[j] = read_limb<T, L>(from, limbs, j);
}

template <int T, int L>
ON_DEVICE void write(uint32_t* to, const Word<T>* x)
{
    UNROLL for (int j = 0; j < L; j++) write_limb<T, L>(to, j, x[j]);
}

template <int T, int L>
ON_DEVICE void set_small(Word<T>* z, uint32_t x)
{
    z[0] = first_lane<T>(x);
    UNROLL for (int j = 1; j < L; j++) z[j] = uniform<T>(0);
}

// z := z + x + carry mod R, where `carry` is that into each lane; returns the carry out of the last
// lane, in every lane.
template <int T, int L>
ON_DEVICE Word<T> add(Word<T>* z, const Word<T>* x, Word<T> carry)
{
    Word<T> generates = add_row<T, L>(z, x, carry), out, none[L];
    Word<T> ones = z[0];
    UNROLL for (int j = 1; j < L; j++) ones = ones & z[j];
    UNROLL for (int j = 0; j < L; j++) none[j] = uniform<T>(0);
    carry = carries<T>(generates, equal_mask<T>(ones, uniform<T>(0xffffffff)), out);
    add_row<T, L>(z, none, carry);
    return out;
}

// z := z - (x AND mask) mod R; `mask` is all ones in every lane, or zero. With all ones, returns 1 in
// every lane if z >= x, else 0.
template <int T, int L>
ON_DEVICE Word<T> subtract(Word<T>* z, const Word<T>* x, Word<T> mask)
{
    Word<T> inverted[L];
    UNROLL for (int j = 0; j < L; j++) inverted[j] = ~x[j] & mask;
    return add<T, L>(z, inverted, first_lane<T>(1) & mask);
}

// z := z - m if z >= m.
template <int T, int L>
ON_DEVICE void reduce_once(Word<T>* z, const Word<T>* m)
{
    Word<T> less[L];
    set<T, L>(less, z);
    Word<T> take = -subtract<T, L>(less, m, uniform<T>(0xffffffff));
    UNROLL for (int j = 0; j < L; j++) z[j] = (less[j] & take) | (z[j] & ~take);
}

// z := z + x mod m, for z, x < R. The result is below R and congruent, if one of both is at most m.
template <int T, int L>
ON_DEVICE void add_mod(Word<T>* z, const Word<T>* x, const Word<T>* m)
{
    Word<T> overflow = add<T, L>(z, x, uniform<T>(0));
    subtract<T, L>(z, m, -overflow);
}

// All ones in every lane if x = y, else zero.
template <int T, int L>
ON_DEVICE Word<T> equal(const Word<T>* x, const Word<T>* y)
{
    Word<T> same = equal_mask<T>(x[0], y[0]);
    UNROLL for (int j = 1; j < L; j++) same = same & equal_mask<T>(x[j], y[j]);
    return everywhere<T>(same);
}

// One word of y: t := (t + x y_i + q m) / 2^32, with q so that the division leaves no rest.
//
// t is the sum of three parts: even[j] has weight 2^(32 j) within its lane, odd[j] weight
// 2^(32 (j + 1)), and `rest` weight 1. So every product lands on an aligned pair of words. The words
// even[L] and odd[L] hold carries, at most 5: two rows and two additions, and the next step passes
// them on. After the division the words of `odd` have the weights of `even`, and those of `even`,
// two words lower, have the weights of `odd`: the caller exchanges the two.
template <int T, int L>
ON_DEVICE void step(Word<T>* even, Word<T>* odd, Word<T>& rest, const Word<T>* x, Word<T> y_i,
                    const Word<T>* m, uint32_t k0)
{
    Row<T, L / 2>::mad_after(even[0], rest, odd, x + 1, y_i);
    Row<T, L / 2>::mad(even, x, y_i);
    Word<T> q = from_lane<T>(even[0] * uniform<T>(k0), 0);
    Row<T, L / 2>::mad(odd, m + 1, q);
    Row<T, L / 2>::mad(even, m, q); // even[0] of lane 0 is now 0
    // The lowest word of a lane becomes the highest of the lane below. The last lane gets the 0.
    add_into<T>(odd[L - 1], odd[L], from_above<T>(even[0]));
    rest = even[1];
    UNROLL for (int j = 0; j <= L - 2; j++) even[j] = even[j + 2];
    even[L - 1] = even[L] = uniform<T>(0);
}

// amm32_tpi_cuda: z :== x y / R mod m, an almost Montgomery product.
//
// Requires: m odd, x < R, y < R, k0 = -1/m mod 2^32. z may be x or y.
// Ensures:  z < R. If x y < R, then z <= m, and z = m only if m divides x.
// Counts:   2 n^2 + n products of words in all lanes together, for n = T L.
// Time:     independent of x, y and m.
//
// Bound: (x y + q m) / R with q < R is below R + m < 2 R. If it reaches R, m is subtracted once. There
// is no comparison with m.
template <int T, int L>
ON_DEVICE void amm(Word<T>* z, const Word<T>* x, const Word<T>* y, const Word<T>* m, uint32_t k0)
{
    Word<T> even[L + 1], odd[L + 1], rest = uniform<T>(0);
    UNROLL for (int j = 0; j <= L; j++) even[j] = odd[j] = uniform<T>(0);
    ROLLED for (int l = 0; l < T; l++) {
        UNROLL for (int j = 0; j < L; j += 2) {
            step<T, L>(even, odd, rest, x, from_lane<T>(y[j], l), m, k0);
            step<T, L>(odd, even, rest, x, from_lane<T>(y[j + 1], l), m, k0);
        }
    }
    // Merge the parts; odd[L - 1] and odd[L] are 0 after an even number of steps.
    Word<T> part[L];
    part[0] = rest;
    UNROLL for (int j = 1; j < L; j++) part[j] = odd[j - 1];
    Word<T> top = even[L] + add_row<T, L>(even, part, uniform<T>(0));
    // The word above each lane goes to the lane above; that of the last lane to the overflow.
    set_small<T, L>(part, 0);
    part[0] = from_below<T>(top);
    Word<T> overflow = from_lane<T>(top, T - 1) + add<T, L>(even, part, uniform<T>(0));
    subtract<T, L>(even, m, -overflow);
    set<T, L>(z, even);
}

// z := x / R mod m for x < R: z <= m, and below m after `reduce_once`.
template <int T, int L>
ON_DEVICE void leave(Word<T>* z, const Word<T>* x, const Word<T>* m, uint32_t k0)
{
    Word<T> one[L];
    set_small<T, L>(one, 1);
    amm<T, L>(z, x, one, m, k0);
    reduce_once<T, L>(z, m);
}
