// The primitives of limbs52.h on a CPU, in integers. They check the bounds of products and columns.
#pragma once

#include <assert.h>
#include <string.h>

#include "lanes.h"

constexpr uint64_t HIGH_BITS = 0x4678ull << 48, LOW_BITS = 0x4330ull << 48;
constexpr uint64_t DIGIT = (1ull << 52) - 1;

inline uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline double of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

inline __int128 product(double x, double y)
{
    __int128 product = (__int128)(int64_t)x * (int64_t)y;
    assert(product < (__int128)1 << 103 && product >= -((__int128)1 << 103));
    return product;
}

inline double product_high(double x, double y)
{
    return of_bits(HIGH_BITS + (uint64_t)(product(x, y) >> 52));
}

inline double product_low(double x, double y, double high)
{
    assert(bits_of(high) == bits_of(product_high(x, y)));
    return of_bits(LOW_BITS + ((uint64_t)product(x, y) & DIGIT));
}

inline double digit_of(uint64_t s)
{
    return (double)((int64_t)(s << 12) >> 12);
}

inline double carry_of(uint64_t s)
{
    assert((int64_t)s < 1ll << 59 && (int64_t)s > -(1ll << 59));
    return (double)((int64_t)(s + (1ull << 51)) >> 52);
}

inline double whole_of(uint64_t s)
{
    assert((int64_t)s < 1ll << 51 && (int64_t)s >= -(1ll << 51));
    return (double)(int64_t)s;
}

inline double limb_of(uint64_t s)
{
    return (double)(s & DIGIT);
}

inline double load_again(const double* from)
{
    return *from;
}

template <int n>
struct Slots {
    double numbers[17][n];

    double limb(int slot, int j) const
    {
        return numbers[slot][j];
    }
    void put(int slot, const double* x)
    {
        memcpy(numbers[slot], x, sizeof numbers[slot]);
    }
};

template <int n>
inline void inject52(int stage, double* x)
{
    if (fault.stage != stage || fault.group != group_in_work) return;
    fault.stage = 0;
    // Bits of limbs that keep the bounds.
    double& limb = x[fault.bit / 48 % (n - 1)];
    limb = (double)((int64_t)limb ^ 1ll << fault.bit % 48);
}
#define FAULT_POINT52(n, stage, x) inject52<n>(stage, x)
