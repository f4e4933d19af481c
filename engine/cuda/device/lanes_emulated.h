// The primitives of lanes.h on a CPU: a word holds the registers of all lanes of one group, and every
// primitive steps all lanes. Carry flags live within one primitive, as in the assembly for the GPU.
#pragma once

#include <stdint.h>
#include <string.h>

#define ON_DEVICE inline
#define UNROLL
#define ROLLED

template <int T>
struct Word {
    uint32_t at[T];
};

// Returns a word whose lane l is f(l).
template <int T, class F>
inline Word<T> each(F f)
{
    Word<T> z;
    for (int l = 0; l < T; l++) z.at[l] = f(l);
    return z;
}

template <int T>
inline Word<T> operator&(const Word<T>& x, const Word<T>& y)
{
    return each<T>([&](int l) { return x.at[l] & y.at[l]; });
}

template <int T>
inline Word<T> operator|(const Word<T>& x, const Word<T>& y)
{
    return each<T>([&](int l) { return x.at[l] | y.at[l]; });
}

template <int T>
inline Word<T> operator*(const Word<T>& x, const Word<T>& y)
{
    return each<T>([&](int l) { return x.at[l] * y.at[l]; });
}

template <int T>
inline Word<T> operator+(const Word<T>& x, const Word<T>& y)
{
    return each<T>([&](int l) { return x.at[l] + y.at[l]; });
}

template <int T>
inline Word<T> operator~(const Word<T>& x)
{
    return each<T>([&](int l) { return ~x.at[l]; });
}

template <int T>
inline Word<T> operator-(const Word<T>& x)
{
    return each<T>([&](int l) { return 0u - x.at[l]; });
}

template <int T>
inline Word<T> uniform(uint32_t x)
{
    return each<T>([&](int) { return x; });
}

template <int T>
inline Word<T> first_lane(uint32_t x)
{
    return each<T>([&](int l) { return l == 0 ? x : 0; });
}

template <int T>
inline Word<T> from_lane(const Word<T>& x, int from)
{
    return uniform<T>(x.at[from]);
}

template <int T>
inline Word<T> from_above(const Word<T>& x)
{
    return each<T>([&](int l) { return x.at[(l + 1) % T]; });
}

template <int T>
inline Word<T> from_below(const Word<T>& x)
{
    return each<T>([&](int l) { return l == 0 ? 0 : x.at[l - 1]; });
}

template <int T>
inline Word<T> equal_mask(const Word<T>& x, const Word<T>& y)
{
    return each<T>([&](int l) { return x.at[l] == y.at[l] ? ~0u : 0u; });
}

template <int T>
inline uint32_t group_votes(const Word<T>& x)
{
    uint32_t votes = 0;
    for (int l = 0; l < T; l++) votes |= uint32_t(x.at[l] != 0) << l;
    return votes;
}

template <int T>
inline Word<T> everywhere(const Word<T>& mask)
{
    return uniform<T>(group_votes(mask) == (1u << T) - 1 ? ~0u : 0u);
}

template <int T>
inline Word<T> carries(const Word<T>& generates, const Word<T>& propagates, Word<T>& out)
{
    uint32_t g = group_votes(generates), p = group_votes(propagates);
    uint32_t sum = p + 2 * g;
    out = uniform<T>(sum >> T);
    return each<T>([&](int l) { return (sum ^ p) >> l & 1; });
}

// `z` + `a` * `b` + `carry` for one pair of words of all lanes.
template <int T>
inline void mad_pair(Word<T>& low, Word<T>& high, const Word<T>& a, const Word<T>& b,
                     Word<T>& carry)
{
    for (int l = 0; l < T; l++) {
        // At most (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1.
        uint64_t product = (uint64_t)a.at[l] * b.at[l] + low.at[l] + carry.at[l];
        uint64_t sum = (product >> 32) + high.at[l];
        low.at[l] = (uint32_t)product, high.at[l] = (uint32_t)sum;
        carry.at[l] = (uint32_t)(sum >> 32);
    }
}

template <int T, int P>
struct Row {
    static void chain(Word<T>* z, const Word<T>* a, const Word<T>& b, Word<T> carry)
    {
        for (int i = 0; i < P; i++) mad_pair(z[2 * i], z[2 * i + 1], a[2 * i], b, carry);
        z[2 * P] = z[2 * P] + carry;
    }
    static void mad(Word<T>* z, const Word<T>* a, const Word<T>& b)
    {
        chain(z, a, b, uniform<T>(0));
    }
    static void mad_after(Word<T>& x, const Word<T>& c, Word<T>* z, const Word<T>* a,
                          const Word<T>& b)
    {
        x = x + c;
        chain(z, a, b, each<T>([&](int l) { return x.at[l] < c.at[l]; }));
    }
};

template <int T>
inline void add_into(Word<T>& low, Word<T>& high, const Word<T>& x)
{
    low = low + x;
    high = high + each<T>([&](int l) { return low.at[l] < x.at[l]; });
}

template <int T, int L>
inline Word<T> add_row(Word<T>* z, const Word<T>* x, Word<T> carry)
{
    for (int j = 0; j < L; j++) {
        for (int l = 0; l < T; l++) {
            uint64_t sum = (uint64_t)z[j].at[l] + x[j].at[l] + carry.at[l];
            z[j].at[l] = (uint32_t)sum, carry.at[l] = sum >> 32;
        }
    }
    return carry;
}

template <int T, int L>
inline Word<T> read_limb(const uint32_t* from, int limbs, int j)
{
    return each<T>([&](int l) { return l * L + j < limbs ? from[l * L + j] : 0; });
}

template <int T, int L>
inline void write_limb(uint32_t* to, int j, const Word<T>& x)
{
    for (int l = 0; l < T; l++) to[l * L + j] = x.at[l];
}

template <int T>
inline void write_status(uint32_t* to, const Word<T>& passed, uint32_t yes, uint32_t no)
{
    *to = (passed.at[0] & yes) | (~passed.at[0] & no);
}

template <int T, int L>
struct Table {
    Word<T> at[16][L];

    void put(int entry, const Word<T>* x)
    {
        for (int j = 0; j < L; j++) at[entry][j] = x[j];
    }
    void or_masked(Word<T>* z, int entry, uint32_t mask)
    {
        for (int j = 0; j < L; j++) z[j] = z[j] | (at[entry][j] & uniform<T>(mask));
    }
    void wipe(int entries)
    {
        memset(at, 0, entries * sizeof at[0]);
    }
};

// A fault that a test asked for: one bit of a number, once, at a stage of one group.
struct Fault {
    int stage = 0;
    uint32_t group = 0, bit = 0;
};
extern Fault fault;
extern uint32_t group_in_work;

template <int T, int L>
inline void inject(int stage, Word<T>* x)
{
    if (fault.stage != stage || fault.group != group_in_work) return;
    fault.stage = 0;
    uint32_t bit = fault.bit % (32 * T * L), limb = bit / 32;
    x[limb % L].at[limb / L] ^= 1u << bit % 32;
}
#define FAULT_POINT(T, L, stage, x) inject<T, L>(stage, x)
