// A program that behaves like a device with the kernels of kernels.cu, one lane after the other. The
// tests of the crate compile and start it. Commands come on standard input, answers leave on standard
// output; numbers are little-endian.
//
//   a BYTES:8                          allocates memory that is not cleared; answers its number:8
//   w MEMORY:8 OFFSET:8 BYTES:8 data   writes
//   r MEMORY:8 OFFSET:8 BYTES:8        reads; answers the data
//   c MEMORY:8                         clears
//   l KERNEL:4 BITS:4 MEMORIES:8x8 COUNT:4 EXPONENT:4
//                                      launches; answers 1 byte
//   t                                  answers the time:8 in nanoseconds
//   f STAGE:4 GROUP:4 BIT:4            injects a fault: one bit, the next time that this group gets to
//                                      this stage; answers nothing
//   h                                  hangs
//   s BITS:4                           answers the bytes:4 of a key and of a pair
//   m T:4 L:4 x y m k0:4               amm; answers z
//   o T:4 L:4 c m rrr k0:4             fold; answers x
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <vector>

#include "emulated_kernels.h"

void get(void* to, size_t bytes)
{
    if (fread(to, 1, bytes, stdin) != bytes) exit(0); // the test has ended
}

template <class X>
X get()
{
    X x;
    get(&x, sizeof x);
    return x;
}

template <class X>
std::vector<X> get_all(size_t count)
{
    std::vector<X> all(count);
    get(all.data(), count * sizeof(X));
    return all;
}

void answer(const void* from, size_t bytes)
{
    fwrite(from, 1, bytes, stdout);
    fflush(stdout);
}

template <int T, int L>
void multiply()
{
    constexpr int n = T * L;
    auto x = get_all<uint32_t>(n), y = get_all<uint32_t>(n), m = get_all<uint32_t>(n), z = x;
    uint32_t k0 = get<uint32_t>();
    Word<T> a[L], b[L], modulus[L];
    read<T, L>(a, x.data()), read<T, L>(b, y.data()), read<T, L>(modulus, m.data());
    amm<T, L>(a, a, b, modulus, k0);
    write<T, L>(z.data(), a);
    answer(z.data(), 4 * n);
}

template <int T, int L>
void enter()
{
    constexpr int n = T * L;
    auto c = get_all<uint32_t>(2 * n), m = get_all<uint32_t>(n), rrr = get_all<uint32_t>(n);
    uint32_t k0 = get<uint32_t>();
    Word<T> x[L], modulus[L];
    read<T, L>(modulus, m.data());
    fold<T, L>(x, c.data(), modulus, rrr.data(), k0);
    write<T, L>(m.data(), x);
    answer(m.data(), 4 * n);
}

template <int T, int L>
void compute(char what)
{
    what == 'm' ? multiply<T, L>() : enter<T, L>();
}

std::vector<std::vector<uint8_t>> memories;

// Memory of a device has old contents.
uint64_t allocate(uint64_t bytes)
{
    memories.push_back(std::vector<uint8_t>(bytes, 0xa5));
    return memories.size() - 1;
}

uint8_t* at(uint64_t memory, uint64_t offset, uint64_t bytes)
{
    if (memory >= memories.size() || offset + bytes > memories[memory].size()) abort();
    return memories[memory].data() + offset;
}

void run()
{
    uint32_t kernel = get<uint32_t>(), bits = get<uint32_t>();
    void* memory[8];
    for (auto& start : memory) start = at(get<uint64_t>(), 0, 0);
    Batch batch = {memory[0], memory[1], (const Job*)memory[2], (const uint32_t*)memory[3],
                   (uint32_t*)memory[4], (uint32_t*)memory[5], (uint32_t*)memory[6],
                   (uint32_t*)memory[7], 0, 0};
    batch.count = get<uint32_t>(), batch.exponent = get<uint32_t>();
    run_kernel(kernel, bits, batch);
    answer("d", 1);
}

template <int n>
void answer_sizes()
{
    uint32_t sizes[] = {sizeof(Key<n>), sizeof(Pair<n>)};
    answer(sizes, sizeof sizes);
}

void answer_time()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t nanos = now.tv_sec * 1000000000ull + now.tv_nsec;
    answer(&nanos, 8);
}

int main()
{
    for (;;) {
        char what = get<char>();
        if (what == 'a') {
            uint64_t memory = allocate(get<uint64_t>());
            answer(&memory, 8);
        } else if (what == 'w' || what == 'r') {
            uint64_t memory = get<uint64_t>(), offset = get<uint64_t>(), bytes = get<uint64_t>();
            uint8_t* place = at(memory, offset, bytes);
            what == 'w' ? get(place, bytes) : answer(place, bytes);
        } else if (what == 'c') {
            auto& memory = memories.at(get<uint64_t>());
            memory.assign(memory.size(), 0);
        } else if (what == 'l') {
            run();
        } else if (what == 'f') {
            fault.stage = get<uint32_t>(), fault.group = get<uint32_t>(), fault.bit = get<uint32_t>();
        } else if (what == 't') {
            answer_time();
        } else if (what == 'h') {
            for (;;) pause();
        } else if (what == 's') {
            switch (get<uint32_t>()) {
            case 1024: answer_sizes<16>(); break;
            case 2048: answer_sizes<32>(); break;
            case 3072: answer_sizes<48>(); break;
            case 4096: answer_sizes<64>(); break;
            default: abort();
            }
        } else if (what == 'm' || what == 'o') {
            switch (uint32_t t = get<uint32_t>(); 100 * t + get<uint32_t>()) {
            case 404: compute<4, 4>(what); break;
            case 408: compute<4, 8>(what); break;
            case 412: compute<4, 12>(what); break;
            case 804: compute<8, 4>(what); break;
            case 808: compute<8, 8>(what); break;
            case 812: compute<8, 12>(what); break;
            case 1608: compute<16, 8>(what); break;
            default: abort();
            }
        } else {
            abort();
        }
    }
}
