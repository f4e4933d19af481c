// The memory that host and device share: all numbers are limbs of 32 bits, least significant first.
// engine/cuda/src/layout.rs has the same constants. n is the number of limbs of a prime, which is a
// multiple of 16.
#pragma once

#include <stdint.h>

// The number of limbs of 52 bits for a prime of n limbs: R = 2^(52 k) is at least 2^8 times the prime.
#ifdef __CUDACC__
__device__
#endif
constexpr int limbs52(int n)
{
    return (32 * n + 8 + 51) / 52;
}

// Primes of 2048 bits fit neither the registers nor the shared memory of one thread for each.
template <int n>
constexpr bool HAS_POWER52 = n <= 48;

// A key: numbers modulo N, numbers modulo p with the length of N, and those of each prime.
template <int n>
struct Key {
    uint32_t modulus[2 * n];   // N
    uint32_t rr[2 * n];        // R'^2 mod N, for R' = 2^(64 n)
    uint32_t q_mont[2 * n];    // q R' mod N
    uint32_t p[2 * n];         // p, zero-extended
    uint32_t q_inv_mont[2 * n]; // q^-1 R' mod p, zero-extended
    struct Half {
        uint32_t prime[n];
        uint32_t rrr[n];      // R^3 mod prime, for R = 2^(32 n)
        uint32_t one[n];      // R mod prime
        uint32_t exponent[2][n]; // d mod (prime - 1), and prime - 2
        uint32_t k0;          // -1/prime mod 2^32
        uint32_t unused[3];
    } half[2];                // p, then q
    uint32_t k0;              // -1/N mod 2^32
    uint32_t unused[3];
    // Limbs of 52 bits, as signed digits from -2^51 to 2^51 - 1.
    struct Half52 {
        static constexpr int k = limbs52(n);
        double prime[k];
        double rr[k];  // R^2 mod prime, for R = 2^(52 k)
        double rrr[k]; // R^3 mod prime
        double one[k]; // R mod prime
        uint64_t k0;   // -1/prime mod 2^52
        uint64_t unused;
    } half52[HAS_POWER52<n> ? 2 : 0];
};

// A blinding pair in Montgomery form modulo N: r^e and r^-1.
template <int n>
struct Pair {
    uint32_t blind[2 * n];
    uint32_t unblind[2 * n];
};

// An operation: the places of its key and of its blinding pair. No two operations of a launch have
// the same pair.
struct Job {
    uint32_t key;
    uint32_t pair;
};

// The result of an operation. Memory is cleared before a launch, so a job that did not run has none.
enum Status : uint32_t {
    PASSED = 0x50415353,
    FAILED = 0x4641494c,
};

// The exponent of a launch of `power`.
enum Exponent : uint32_t {
    PRIVATE = 0,
    INVERSE = 1,
};

// The argument of each kernel. An array has one element for each job, except for keys and pairs.
struct Batch {
    const void* keys;
    void* pairs;
    const Job* jobs;
    const uint32_t* input; // c, below N
    uint32_t* base;        // the blinded c, or r
    uint32_t* halves;      // the powers modulo p and q
    uint32_t* output;      // s, or zero
    uint32_t* status;
    uint32_t count;
    uint32_t exponent;
};
