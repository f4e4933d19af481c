// The primitives of limbs52.h on a GPU. Rounding is part of the names: `rz` rounds towards zero. A test
// compiles the arithmetic for a CPU, with the GPU's functions replaced, and compares it with
// doubles_emulated.h.
#pragma once

#ifdef __CUDACC__
#include "lanes.h"

#define FAULT_POINT52(n, stage, x)
#endif

// 1.5 2^104, 2^52 and 1.5 2^52. Sums with them have an integer in their last 52 bits.
constexpr double HIGH = 0x1.8p104, LOW = 0x1p52, SIGNED = 0x1.8p52;
constexpr uint64_t HIGH_BITS = 0x4678ull << 48, LOW_BITS = 0x4330ull << 48;
constexpr uint64_t SIGNED_BITS = 0x4338ull << 48, DIGIT = (1ull << 52) - 1;

ON_DEVICE uint64_t bits_of(double x)
{
    return (uint64_t)__double_as_longlong(x);
}

ON_DEVICE double of_bits(uint64_t x)
{
    return __longlong_as_double((long long)x);
}

// A product of limbs is high 2^52 + low with 0 <= low < 2^52, and between -2^103 and 2^103. The last bit
// of a double near 1.5 2^104 has weight 2^52, so rounding down the sum with the product leaves `high`
// (Emmart, Zheng, Weems, ARITH 2018).
ON_DEVICE double product_high(double x, double y)
{
    return __fma_rz(x, y, HIGH);
}

// The difference is exact, and so is the sum, 2^52 + low.
ON_DEVICE double product_low(double x, double y, double high)
{
    return __fma_rz(x, y, __dsub_rn(HIGH + LOW, high));
}

// The lowest 52 bits as a digit from -2^51 to 2^51 - 1.
ON_DEVICE double digit_of(uint64_t s)
{
    return __dsub_rn(of_bits((s & DIGIT) ^ SIGNED_BITS), SIGNED);
}

// What `digit_of` leaves, divided by 2^52, for a column between -2^59 and 2^59. The bits below 2^51 do
// not matter; 2^62 makes the sum positive.
ON_DEVICE double carry_of(uint64_t s)
{
    uint32_t high = (uint32_t)(s >> 32) + (1u << 19) + (1u << 30);
    return __dsub_rn(of_bits(LOW_BITS | high >> 20), LOW + 1024);
}

// A column between -2^51 and 2^51 - 1.
ON_DEVICE double whole_of(uint64_t s)
{
    return __dsub_rn(of_bits(s + SIGNED_BITS), SIGNED);
}

// A limb from 0 to 2^52 - 1: the lowest 52 bits.
ON_DEVICE double limb_of(uint64_t s)
{
    return __dsub_rn(of_bits((s & DIGIT) | LOW_BITS), LOW);
}

#ifdef __CUDACC__

// Loads each time, so that the compiler keeps no copy in registers.
ON_DEVICE double load_again(const double* from)
{
    double x;
    asm volatile("ld.global.f64 %0, [%1];" : "=d"(x) : "l"(from));
    return x;
}

// Numbers in shared memory: [slot][limb][thread]. A thread reads its own limbs only.
template <int n>
struct Slots {
    double* own;

    ON_DEVICE Slots()
    {
        extern __shared__ uint4 shared[];
        own = (double*)shared + threadIdx.x;
    }
    // Volatile for the same reason.
    ON_DEVICE double limb(int slot, int j) const
    {
        return *(volatile double*)(own + (slot * n + j) * blockDim.x);
    }
    ON_DEVICE void put(int slot, const double* x)
    {
        UNROLL for (int j = 0; j < n; j++) own[(slot * n + j) * blockDim.x] = x[j];
        __syncwarp(); // keeps ptxas from moving loads up here, which would need more registers
    }
};

#endif // __CUDACC__
