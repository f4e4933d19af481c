// The kernels: for each size of key, one for each step, named by the bits of the modulus.
#include "power52.h"

// Threads of a block, and blocks that a multiprocessor should hold: registers for more are not needed,
// since the table of three blocks fills its shared memory.
constexpr int THREADS = 128, BLOCKS = 3;

// Returns the number of this thread's group of T lanes among all groups of the launch.
template <int T>
ON_DEVICE uint32_t group()
{
    return (blockIdx.x * THREADS + threadIdx.x) / T;
}

#define STEP(name, T, L, bits)                                                       \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) name##_##bits(const Batch batch) \
    {                                                                                \
        uint32_t job = group<T>();                                                   \
        bool stores = job < batch.count;                                             \
        name<T, L>(batch, stores ? job : batch.count - 1, stores);                   \
    }

#define POWER(T, L, bits)                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) power_##bits(const Batch batch) \
    {                                                                                \
        uint32_t job = group<T>() / 2;                                               \
        bool stores = job < batch.count;                                             \
        power<T, L>(batch, stores ? job : batch.count - 1, group<T>() % 2, stores);  \
    }

// A thread for each prime. Only one block fits the shared memory of a multiprocessor.
#define POWER52(n, bits)                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, 1) power52_##bits(const Batch batch) \
    {                                                                                \
        uint32_t job = group<1>() / 2;                                               \
        bool stores = job < batch.count;                                             \
        power52<n>(batch, stores ? job : batch.count - 1, group<1>() % 2, stores);   \
    }

// T lanes of L words hold a prime, 2 T lanes the modulus.
#define KEYS_OF(bits, T, L)          \
    STEP(blind, 2 * T, L, bits)      \
    POWER(T, L, bits)                \
    STEP(finish, 2 * T, L, bits)     \
    STEP(make_pair, 2 * T, L, bits)

KEYS_OF(1024, 4, 4)
KEYS_OF(2048, 4, 8)
KEYS_OF(3072, 4, 12)
KEYS_OF(4096, 8, 8)

POWER52(16, 1024)
POWER52(32, 2048)
POWER52(48, 3072)
