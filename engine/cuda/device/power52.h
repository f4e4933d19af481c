// `power` of private.h with limbs of 52 bits: one thread for each prime, and no exchange of words.
#pragma once

#include "limbs52.h"
#include "private.h"

// Bits of a window: as many powers as fit the shared memory of a block.
ON_DEVICE constexpr int window52(int n)
{
    return n <= 10 ? 4 : n <= 20 ? 3 : 2;
}

// Slots of shared memory: the first operand of a product, the powers from the first on, and for the
// largest primes the prime, which does not fit the registers.
ON_DEVICE constexpr int slots52(int n)
{
    return (1 << window52(n)) + (n > 20);
}

// A prime in registers, or in the last slot.
template <int n, bool in_slot = (n > 20)>
struct Prime52 {
    double at[n];
    ON_DEVICE Prime52(const double* m, Slots<n>&)
    {
        UNROLL for (int j = 0; j < n; j++) at[j] = m[j];
    }
    ON_DEVICE double limb(int j) const
    {
        return at[j];
    }
};

template <int n>
struct Prime52<n, true> {
    const Slots<n>& slots;
    ON_DEVICE Prime52(const double* m, Slots<n>& to) : slots(to)
    {
        to.put(slots52(n) - 1, m);
    }
    ON_DEVICE double limb(int j) const
    {
        return slots.limb(slots52(n) - 1, j);
    }
};

// y := the power with this number: power 0 is R mod prime, the others are in the slots.
template <int n>
ON_DEVICE void select52(double* y, const Slots<n>& slots, const double* one, uint32_t number)
{
    // Numbers are small, so only 0 - 1 has the top bit.
    uint64_t z[n], mask = 0 - (uint64_t)((number - 1) >> 31);
    UNROLL for (int j = 0; j < n; j++) z[j] = bits_of(load_again(one + j)) & mask;
    ROLLED for (uint32_t power = 1; power < 1u << window52(n); power++) {
        mask = 0 - (uint64_t)(((number ^ power) - 1) >> 31);
        UNROLL for (int j = 0; j < n; j++) z[j] |= bits_of(slots.limb(power, j)) & mask;
    }
    UNROLL for (int j = 0; j < n; j++) y[j] = of_bits(z[j]);
}

// x := base R mod m, for a base in 2 n limbs of 32 bits. base = c1 R + c0, and c0 R^2 / R + c1 R^3 / R is
// base R. |x| is below 2.1 m.
template <int n, int k, class M>
ON_DEVICE void fold52(double* x, const uint32_t* base, Slots<k>& slots, const double* rr,
                      const double* rrr, const M& m, uint64_t k0)
{
    read52<k>(x, base, 0, 2 * n);
    slots.put(0, x);
    UNROLL for (int j = 0; j < k; j++) x[j] = load_again(rr + j);
    amm52<k>(x, slots, x, m, k0);
    slots.put(1, x);
    read52<k>(x, base, 52 * k, 2 * n);
    slots.put(0, x);
    UNROLL for (int j = 0; j < k; j++) x[j] = load_again(rrr + j);
    amm52<k>(x, slots, x, m, k0);
    slots.put(0, x);
    uint64_t s[k];
    UNROLL for (int j = 0; j < k; j++) s[j] = column_of(slots.limb(0, j)) + column_of(slots.limb(1, j));
    normalize<k>(x, s);
}

// halves := base^exponent mod prime, below the prime; `half` is 0 for p and 1 for q.
template <int n>
ON_DEVICE void power52(const Batch& batch, uint32_t job, uint32_t half, bool stores)
{
    constexpr int k = limbs52(n), WINDOW = window52(k), WINDOWS = (32 * n + WINDOW - 1) / WINDOW;
    const Key<n>& key = ((const Key<n>*)batch.keys)[batch.jobs[job].key];
    const typename Key<n>::Half52& own = key.half52[half];
    const uint32_t* exponent = key.half[half].exponent[batch.exponent];
    const uint64_t k0 = own.k0;
    Slots<k> slots;
    const Prime52<k> m(own.prime, slots);
    double x[k], y[k];
    fold52<n, k>(x, batch.base + (uint64_t)job * 2 * n, slots, own.rr, own.rrr, m, k0);
    FAULT_POINT52(k, STAGE_FOLDED, x);
    slots.put(0, x);
    UNROLL for (int j = 0; j < k; j++) y[j] = load_again(own.one + j);
    ROLLED for (int power = 1; power < 1 << WINDOW; power++) {
        amm52<k>(y, slots, y, m, k0);
        slots.put(power, y);
    }
    FAULT_POINT52(k, STAGE_TABLE, slots.numbers[1]);
    UNROLL for (int j = 0; j < k; j++) x[j] = load_again(own.one + j);
    // Each window is WINDOW squarings and a product; after the last one, a product by 1 leaves
    // Montgomery form. One place in the code multiplies.
    ROLLED for (int window = WINDOWS - 1; window >= 0; window--) {
        int bit = WINDOW * window, at = bit / 32;
        uint64_t words = exponent[at] | (uint64_t)(at + 1 < n ? exponent[at + 1] : 0) << 32;
        uint32_t number = (uint32_t)(words >> bit % 32) & ((1 << WINDOW) - 1);
        ROLLED for (int i = 0; i <= WINDOW + (window == 0); i++) {
            slots.put(0, x);
            if (i < WINDOW) {
                UNROLL for (int j = 0; j < k; j++) y[j] = x[j];
            } else if (i == WINDOW) {
                select52<k>(y, slots, own.one, number);
            } else {
                UNROLL for (int j = 0; j < k; j++) y[j] = j == 0;
            }
            amm52<k>(x, slots, y, m, k0);
        }
    }
    FAULT_POINT52(k, STAGE_POWER, x);
    if (stores) write52<k>(batch.halves + ((uint64_t)job * 2 + half) * n, n, x, m);
    UNROLL for (int j = 0; j < k; j++) x[j] = 0;
    ROLLED for (int slot = 0; slot < slots52(k); slot++) slots.put(slot, x);
}
