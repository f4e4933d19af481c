// The primitives of lanes.h on a GPU: a lane is a thread, a word of it a register.
//
// Every lane of a warp must be alive in each primitive that exchanges words, since the shuffles and
// votes name all 32 lanes. So kernels have no early return and no branch between their groups.
#pragma once

#include <stdint.h>

#define ON_DEVICE __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")
// Faults are injected in the emulation only.
#define FAULT_POINT(T, L, stage, x)

template <int T>
using Word = uint32_t;

constexpr uint32_t ALL_LANES = 0xffffffff;
constexpr int WARP = 32;

template <int T>
ON_DEVICE Word<T> uniform(uint32_t x)
{
    return x;
}

template <int T>
ON_DEVICE uint32_t lane()
{
    return threadIdx.x % T;
}

template <int T>
ON_DEVICE Word<T> first_lane(uint32_t x)
{
    return lane<T>() == 0 ? x : 0;
}

template <int T>
ON_DEVICE Word<T> from_lane(Word<T> x, int from)
{
    return __shfl_sync(ALL_LANES, x, from, T);
}

template <int T>
ON_DEVICE Word<T> from_above(Word<T> x)
{
    return __shfl_sync(ALL_LANES, x, threadIdx.x + 1, T);
}

template <int T>
ON_DEVICE Word<T> from_below(Word<T> x)
{
    uint32_t below = __shfl_up_sync(ALL_LANES, x, 1, T);
    return lane<T>() == 0 ? 0 : below;
}

template <int T>
ON_DEVICE Word<T> equal_mask(Word<T> x, Word<T> y)
{
    uint32_t differ = x ^ y;
    return ((differ | (0u - differ)) >> 31) - 1;
}

// The votes of this thread's group, lane 0 in bit 0.
template <int T>
ON_DEVICE uint32_t group_votes(bool vote)
{
    uint32_t first = threadIdx.x % WARP / T * T;
    return __ballot_sync(ALL_LANES, vote) >> first & ((1u << T) - 1);
}

template <int T>
ON_DEVICE Word<T> everywhere(Word<T> mask)
{
    return equal_mask<T>(group_votes<T>(mask != 0), (1u << T) - 1);
}

template <int T>
ON_DEVICE Word<T> carries(Word<T> generates, Word<T> propagates, Word<T>& out)
{
    uint32_t g = group_votes<T>(generates != 0), p = group_votes<T>(propagates != 0);
    uint32_t sum = p + 2 * g;
    out = sum >> T;
    return (sum ^ p) >> lane<T>() & 1;
}

// Each row is one statement of assembly, since CUDA does not promise that the carry flag lives from
// one statement to the next. `mad.lo.cc` and `madc.hi.cc` on one pair of words become one IMAD.WIDE.
#define PAIR(mad, lo, hi, a, b) \
    mad ".lo.cc.u32 %" #lo ", %" #a ", %" #b ", %" #lo ";\n\t" \
    "madc.hi.cc.u32 %" #hi ", %" #a ", %" #b ", %" #hi ";\n\t"
#define CLOSE(top) "addc.u32 %" #top ", %" #top ", 0;"
#define Z(i) "+&r"(z[i])
#define A(i) "r"(a[2 * (i)])

template <int T, int P>
struct Row;

template <int T>
struct Row<T, 2> {
    static ON_DEVICE void mad(uint32_t* z, const uint32_t* a, uint32_t b)
    {
        asm volatile(PAIR("mad", 0, 1, 5, 7) PAIR("madc", 2, 3, 6, 7) CLOSE(4)
                     : Z(0), Z(1), Z(2), Z(3), Z(4)
                     : A(0), A(1), "r"(b));
    }
    static ON_DEVICE void mad_after(uint32_t& x, uint32_t c, uint32_t* z, const uint32_t* a,
                                    uint32_t b)
    {
        asm volatile("add.cc.u32 %5, %5, %9;\n\t"
                     PAIR("madc", 0, 1, 6, 8) PAIR("madc", 2, 3, 7, 8) CLOSE(4)
                     : Z(0), Z(1), Z(2), Z(3), Z(4), "+&r"(x)
                     : A(0), A(1), "r"(b), "r"(c));
    }
};

template <int T>
struct Row<T, 4> {
    static ON_DEVICE void mad(uint32_t* z, const uint32_t* a, uint32_t b)
    {
        asm volatile(PAIR("mad", 0, 1, 9, 13) PAIR("madc", 2, 3, 10, 13)
                     PAIR("madc", 4, 5, 11, 13) PAIR("madc", 6, 7, 12, 13) CLOSE(8)
                     : Z(0), Z(1), Z(2), Z(3), Z(4), Z(5), Z(6), Z(7), Z(8)
                     : A(0), A(1), A(2), A(3), "r"(b));
    }
    static ON_DEVICE void mad_after(uint32_t& x, uint32_t c, uint32_t* z, const uint32_t* a,
                                    uint32_t b)
    {
        asm volatile("add.cc.u32 %9, %9, %15;\n\t"
                     PAIR("madc", 0, 1, 10, 14) PAIR("madc", 2, 3, 11, 14)
                     PAIR("madc", 4, 5, 12, 14) PAIR("madc", 6, 7, 13, 14) CLOSE(8)
                     : Z(0), Z(1), Z(2), Z(3), Z(4), Z(5), Z(6), Z(7), Z(8), "+&r"(x)
                     : A(0), A(1), A(2), A(3), "r"(b), "r"(c));
    }
};

template <int T>
struct Row<T, 6> {
    static ON_DEVICE void mad(uint32_t* z, const uint32_t* a, uint32_t b)
    {
        asm volatile(PAIR("mad", 0, 1, 13, 19) PAIR("madc", 2, 3, 14, 19)
                     PAIR("madc", 4, 5, 15, 19) PAIR("madc", 6, 7, 16, 19)
                     PAIR("madc", 8, 9, 17, 19) PAIR("madc", 10, 11, 18, 19) CLOSE(12)
                     : Z(0), Z(1), Z(2), Z(3), Z(4), Z(5), Z(6), Z(7), Z(8), Z(9), Z(10), Z(11),
                       Z(12)
                     : A(0), A(1), A(2), A(3), A(4), A(5), "r"(b));
    }
    static ON_DEVICE void mad_after(uint32_t& x, uint32_t c, uint32_t* z, const uint32_t* a,
                                    uint32_t b)
    {
        asm volatile("add.cc.u32 %13, %13, %21;\n\t"
                     PAIR("madc", 0, 1, 14, 20) PAIR("madc", 2, 3, 15, 20)
                     PAIR("madc", 4, 5, 16, 20) PAIR("madc", 6, 7, 17, 20)
                     PAIR("madc", 8, 9, 18, 20) PAIR("madc", 10, 11, 19, 20) CLOSE(12)
                     : Z(0), Z(1), Z(2), Z(3), Z(4), Z(5), Z(6), Z(7), Z(8), Z(9), Z(10), Z(11),
                       Z(12), "+&r"(x)
                     : A(0), A(1), A(2), A(3), A(4), A(5), "r"(b), "r"(c));
    }
};

#undef A
#undef Z
#undef CLOSE
#undef PAIR

template <int T>
ON_DEVICE void add_into(Word<T>& low, Word<T>& high, Word<T> x)
{
    asm volatile("add.cc.u32 %0, %0, %2;\n\taddc.u32 %1, %1, 0;"
                 : "+&r"(low), "+&r"(high)
                 : "r"(x));
}

// z := z + x + carry for four words of a lane; returns the carry out.
ON_DEVICE uint32_t add_four(uint32_t* z, const uint32_t* x, uint32_t carry)
{
    asm volatile("add.cc.u32 %4, %4, 0xffffffff;\n\t"
                 "addc.cc.u32 %0, %0, %5;\n\taddc.cc.u32 %1, %1, %6;\n\t"
                 "addc.cc.u32 %2, %2, %7;\n\taddc.cc.u32 %3, %3, %8;\n\t"
                 "addc.u32 %4, 0, 0;"
                 : "+&r"(z[0]), "+&r"(z[1]), "+&r"(z[2]), "+&r"(z[3]), "+&r"(carry)
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]));
    return carry;
}

template <int T, int L>
ON_DEVICE Word<T> add_row(Word<T>* z, const Word<T>* x, Word<T> carry)
{
    UNROLL for (int j = 0; j < L; j += 4) carry = add_four(z + j, x + j, carry);
    return carry;
}

template <int T, int L>
ON_DEVICE Word<T> read_limb(const uint32_t* from, int limbs, int j)
{
    int at = lane<T>() * L + j;
    return at < limbs ? from[at] : 0;
}

template <int T, int L>
ON_DEVICE void write_limb(uint32_t* to, int j, Word<T> x)
{
    to[lane<T>() * L + j] = x;
}

template <int T>
ON_DEVICE void write_status(uint32_t* to, Word<T> passed, uint32_t yes, uint32_t no)
{
    if (lane<T>() == 0) *to = (passed & yes) | (~passed & no);
}

// The powers of a window, in shared memory: [entry][quarter of the lane][thread], in units of
// 16 bytes, so that a warp reads 512 bytes in one piece. A thread reads its own words only.
template <int T, int L>
struct Table {
    uint4* at;

    ON_DEVICE Table()
    {
        extern __shared__ uint4 shared[];
        at = shared + threadIdx.x;
    }
    ON_DEVICE void put(int entry, const Word<T>* x)
    {
        UNROLL for (int k = 0; k < L / 4; k++) {
            at[(entry * (L / 4) + k) * blockDim.x] =
                make_uint4(x[4 * k], x[4 * k + 1], x[4 * k + 2], x[4 * k + 3]);
        }
    }
    ON_DEVICE void or_masked(Word<T>* z, int entry, uint32_t mask)
    {
        UNROLL for (int k = 0; k < L / 4; k++) {
            uint4 x = at[(entry * (L / 4) + k) * blockDim.x];
            z[4 * k] |= x.x & mask, z[4 * k + 1] |= x.y & mask;
            z[4 * k + 2] |= x.z & mask, z[4 * k + 3] |= x.w & mask;
        }
    }
    // Shared memory is not cleared between kernels.
    ON_DEVICE void wipe(int entries)
    {
        UNROLL for (int k = 0; k < entries * L / 4; k++) {
            at[k * blockDim.x] = make_uint4(0, 0, 0, 0);
        }
    }
};
