// The private operation of RSA in three steps, and the making of blinding pairs. Each function is
// the work of one group of lanes. RFC 8017, section 5.1.2, has the steps; blinding, and the check of
// the result with the public exponent, surround them.
//
// Groups of 2 T lanes hold numbers modulo N, groups of T lanes those modulo a prime, with L words in
// each lane. No branch and no address depends on a key, an input or a result: loops have public
// lengths, and what depends on a number is a mask.
//
// Groups beyond the last job repeat it (`job`), because the lanes of a warp exchange words, and
// store nothing (`stores`).
#pragma once

#include "layout.h"
#include "number.h"

// The stages at which tests inject faults.
enum Stage {
    STAGE_BLINDED = 1,
    STAGE_FOLDED,
    STAGE_TABLE,
    STAGE_POWER,
    STAGE_H,
    STAGE_RECOMBINED,
    STAGE_UNBLINDED,
    STAGE_CHECKED,
    STAGE_INVERSE,
    STAGE_PAIR,
};

// Bits of a window: 16 powers fit the shared memory of four warps in each quarter of a processor.
constexpr int WINDOW = 4, POWERS = 1 << WINDOW;

// The public exponent of all keys on the device is 2^16 + 1.
constexpr int E_SQUARINGS = 16;

// base := c r^e mod N, not reduced below N.
template <int T, int L>
ON_DEVICE void blind(const Batch& batch, uint32_t job, bool stores)
{
    constexpr int n = T * L / 2;
    const Key<n>& key = ((const Key<n>*)batch.keys)[batch.jobs[job].key];
    const Pair<n>& pair = ((const Pair<n>*)batch.pairs)[batch.jobs[job].pair];
    Word<T> x[L], y[L], m[L];
    read<T, L>(m, key.modulus);
    read<T, L>(x, batch.input + (uint64_t)job * 2 * n);
    read<T, L>(y, pair.blind);
    amm<T, L>(x, x, y, m, key.k0);
    FAULT_POINT(T, L, STAGE_BLINDED, x);
    if (stores) write<T, L>(batch.base + (uint64_t)job * 2 * n, x);
}

// x := c R mod prime, in Montgomery form, for c < R^2 in 2 n limbs.
//
// c = c1 R + c0. t := c0 / R, at most the prime, and t + c1 is at most prime + R - 1, so one
// subtraction at an overflow is enough. t R^3 / R = (c0 / R + c1) R^2 = c R.
template <int T, int L>
ON_DEVICE void fold(Word<T>* x, const uint32_t* c, const Word<T>* m, const uint32_t* rrr, uint32_t k0)
{
    constexpr int n = T * L;
    Word<T> y[L];
    read<T, L>(x, c);
    set_small<T, L>(y, 1);
    amm<T, L>(x, x, y, m, k0);
    read<T, L>(y, c + n);
    add_mod<T, L>(x, y, m);
    read<T, L>(y, rrr);
    amm<T, L>(x, x, y, m, k0);
}

// halves := base^exponent mod prime, below the prime: two groups for each job, `half` 0 for p and 1
// for q. Fixed windows of four bits over the whole length of the prime.
template <int T, int L>
ON_DEVICE void power(const Batch& batch, uint32_t job, uint32_t half, bool stores)
{
    constexpr int n = T * L;
    const Key<n>& key = ((const Key<n>*)batch.keys)[batch.jobs[job].key];
    const typename Key<n>::Half& own = key.half[half];
    const uint32_t* exponent = own.exponent[batch.exponent];
    const uint32_t k0 = own.k0;
    Table<T, L> table;
    Word<T> x[L], y[L], m[L];
    read<T, L>(m, own.prime);
    fold<T, L>(x, batch.base + (uint64_t)job * 2 * n, m, own.rrr, k0);
    FAULT_POINT(T, L, STAGE_FOLDED, x);
    read<T, L>(y, own.one);
    table.put(0, y);
    ROLLED for (int entry = 1; entry < POWERS; entry++) {
        amm<T, L>(y, y, x, m, k0);
        table.put(entry, y);
    }
    FAULT_POINT(T, L, STAGE_TABLE, table.at[1]);
    read<T, L>(x, own.one);
    // Each window is four squarings and a product. One place in the code multiplies.
    ROLLED for (int window = 8 * n - 1; window >= 0; window--) {
        uint32_t digit = exponent[window / 8] >> WINDOW * (window % 8) & (POWERS - 1);
        ROLLED for (int i = 0; i <= WINDOW; i++) {
            set<T, L>(y, x);
            if (i == WINDOW) {
                set_small<T, L>(y, 0);
                ROLLED for (int entry = 0; entry < POWERS; entry++) {
                    uint32_t differ = digit ^ entry; // below 16, so only 0 - 1 has the top bit
                    table.or_masked(y, entry, 0u - ((differ - 1) >> 31));
                }
            }
            amm<T, L>(x, x, y, m, k0);
        }
    }
    table.wipe(POWERS);
    leave<T, L>(x, x, m, k0);
    FAULT_POINT(T, L, STAGE_POWER, x);
    if (stores) write<T, L>(batch.halves + ((uint64_t)job * 2 + half) * n, x);
}

// x := the number below N that is m_p mod p and m_q mod q.
template <int T, int L>
ON_DEVICE void recombine(Word<T>* x, const Key<T * L / 2>& key, const uint32_t* halves,
                         const Word<T>* m)
{
    constexpr int n = T * L / 2;
    Word<T> y[L], p[L];
    // iii. h = (m_p - m_q) q_inv mod p. m_q < q < 2 p, since both primes have the same length, so
    // d = m_p + 2 p - m_q is positive and below 3 p.
    read<T, L>(p, key.p);
    read<T, L>(x, halves, n);
    add<T, L>(x, p, uniform<T>(0));
    add<T, L>(x, p, uniform<T>(0));
    read<T, L>(y, halves + n, n);
    subtract<T, L>(x, y, uniform<T>(0xffffffff));
    read<T, L>(y, key.q_inv_mont);
    amm<T, L>(x, x, y, p, key.half[0].k0); // below p + 3, since d q_inv < 3 R'
    reduce_once<T, L>(x, p);
    FAULT_POINT(T, L, STAGE_H, x);
    // iv. m = m_q + q h, below N. q h < N, so its residue is q h itself.
    read<T, L>(y, key.q_mont);
    amm<T, L>(x, x, y, m, key.k0);
    reduce_once<T, L>(x, m);
    read<T, L>(y, halves + n, n);
    add<T, L>(x, y, uniform<T>(0));
}

// z := s^e mod N, below N, for s < R'; e = 2^16 + 1. Enters Montgomery form, squares, multiplies by s,
// and leaves, by one product in a loop.
template <int T, int L>
ON_DEVICE void raise(Word<T>* z, const Word<T>* s, const uint32_t* rr, const Word<T>* m, uint32_t k0)
{
    Word<T> x[L], y[L];
    set<T, L>(z, s);
    ROLLED for (int i = 0; i < E_SQUARINGS + 3; i++) {
        if (i == 0) {
            read<T, L>(y, rr);
        } else if (i == 1) {
            set<T, L>(x, z);
            set<T, L>(y, z);
        } else if (i <= E_SQUARINGS) {
            set<T, L>(y, z);
        } else if (i == E_SQUARINGS + 1) {
            set<T, L>(y, x);
        } else {
            set_small<T, L>(y, 1);
        }
        amm<T, L>(z, z, y, m, k0);
    }
    reduce_once<T, L>(z, m);
}

// x := x y z / R'^3 mod N, below N, for numbers y and z in memory.
template <int T, int L>
ON_DEVICE void multiply_and_leave(Word<T>* x, const uint32_t* y, const uint32_t* z, const Word<T>* m,
                                  uint32_t k0)
{
    Word<T> factor[L];
    ROLLED for (int i = 0; i < 3; i++) {
        if (i < 2) {
            read<T, L>(factor, i == 0 ? y : z);
        } else {
            set_small<T, L>(factor, 1);
        }
        amm<T, L>(x, x, factor, m, k0);
    }
    reduce_once<T, L>(x, m);
}

// output := s, if s^e = c mod N, else zero. Recombines, unblinds, checks, and squares the pair for
// its next use; a pair whose operation failed becomes zero.
template <int T, int L>
ON_DEVICE void finish(const Batch& batch, uint32_t job, bool stores)
{
    constexpr int n = T * L / 2;
    const Key<n>& key = ((const Key<n>*)batch.keys)[batch.jobs[job].key];
    Pair<n>& pair = ((Pair<n>*)batch.pairs)[batch.jobs[job].pair];
    const uint32_t k0 = key.k0;
    Word<T> s[L], x[L], y[L], m[L];
    read<T, L>(m, key.modulus);
    recombine<T, L>(s, key, batch.halves + (uint64_t)job * 2 * n, m);
    FAULT_POINT(T, L, STAGE_RECOMBINED, s);
    // s = m r^-1; R'^2 and 1 make it leave the Montgomery form of r^-1, reduced below N.
    multiply_and_leave<T, L>(s, pair.unblind, key.rr, m, k0);
    FAULT_POINT(T, L, STAGE_UNBLINDED, s);
    // The check begins with the number that is released.
    raise<T, L>(y, s, key.rr, m, k0);
    FAULT_POINT(T, L, STAGE_CHECKED, y);
    read<T, L>(x, batch.input + (uint64_t)job * 2 * n);
    Word<T> passed = equal<T, L>(x, y);
    UNROLL for (int j = 0; j < L; j++) s[j] = s[j] & passed;
    if (stores) {
        write<T, L>(batch.output + (uint64_t)job * 2 * n, s);
        write_status<T>(batch.status + job, passed, PASSED, FAILED);
    }
    ROLLED for (int i = 0; i < 2; i++) {
        uint32_t* number = i == 0 ? pair.blind : pair.unblind;
        read<T, L>(x, number);
        amm<T, L>(x, x, x, m, k0);
        UNROLL for (int j = 0; j < L; j++) x[j] = x[j] & passed;
        if (stores) write<T, L>(number, x);
    }
}

// Makes a blinding pair from r in `base`, whose inverses modulo the primes are in `halves`. If they
// are not inverses, the pair becomes zero.
template <int T, int L>
ON_DEVICE void make_pair(const Batch& batch, uint32_t job, bool stores)
{
    constexpr int n = T * L / 2;
    const Key<n>& key = ((const Key<n>*)batch.keys)[batch.jobs[job].key];
    Pair<n>& pair = ((Pair<n>*)batch.pairs)[batch.jobs[job].pair];
    const uint32_t k0 = key.k0;
    const uint32_t* random = batch.base + (uint64_t)job * 2 * n;
    Word<T> x[L], y[L], z[L], m[L];
    read<T, L>(m, key.modulus);
    recombine<T, L>(x, key, batch.halves + (uint64_t)job * 2 * n, m);
    FAULT_POINT(T, L, STAGE_INVERSE, x);
    read<T, L>(z, random);
    raise<T, L>(y, z, key.rr, m, k0);
    FAULT_POINT(T, L, STAGE_PAIR, y);
    // Both numbers enter Montgomery form.
    ROLLED for (int i = 0; i < 2; i++) {
        set<T, L>(z, x);
        set<T, L>(x, y);
        read<T, L>(y, key.rr);
        amm<T, L>(y, y, z, m, k0);
    }
    // x is r^-1 R' and y is r^e R'. The check is r^-1 R' r R'^2 / R'^3 = 1.
    set<T, L>(z, x);
    multiply_and_leave<T, L>(z, random, key.rr, m, k0);
    Word<T> one[L];
    set_small<T, L>(one, 1);
    Word<T> passed = equal<T, L>(z, one);
    UNROLL for (int j = 0; j < L; j++) {
        x[j] = x[j] & passed;
        y[j] = y[j] & passed;
    }
    if (stores) {
        write<T, L>(pair.blind, y);
        write<T, L>(pair.unblind, x);
        write_status<T>(batch.status + job, passed, PASSED, FAILED);
    }
}
