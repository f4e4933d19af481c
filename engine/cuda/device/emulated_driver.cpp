// A library with the functions of NVIDIA's driver that engine/cuda/src/driver.rs calls, and the
// kernels of this folder on a CPU. The tests compile it and open it in place of libcuda.so.1.
//
// Work of a stream runs only when an event after it is asked for, so that memory that changes too
// early gives wrong results. Each call that needs a context fails on a thread that has none. Threads may
// call at the same time.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fenv.h>
#include <math.h>

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "power52.h"

Fault fault;
uint32_t group_in_work;

// The arithmetic of the GPU on a CPU: the functions that it calls, and rounding towards zero.
namespace gpu {

inline double __fma_rz(double x, double y, double z)
{
    fesetround(FE_TOWARDZERO);
    volatile double a = x, b = y, c = z;
    volatile double sum = fma(a, b, c);
    fesetround(FE_TONEAREST);
    return sum;
}

inline double __dsub_rn(double x, double y)
{
    return x - y;
}

inline long long __double_as_longlong(double x)
{
    return (long long)::bits_of(x);
}

inline double __longlong_as_double(long long x)
{
    return ::of_bits((uint64_t)x);
}

#include "doubles_cuda.cuh"

} // namespace gpu

// Groups beyond the last job, as on a device, where the number of groups is that of whole warps.
constexpr uint32_t EXTRA_GROUPS = 1;

template <class F>
void for_each_job(const Batch& batch, uint32_t groups_of_job, F f)
{
    uint32_t groups = batch.count * groups_of_job;
    for (uint32_t group = 0; group < groups + EXTRA_GROUPS; group++) {
        group_in_work = group;
        bool stores = group < groups;
        f(stores ? group / groups_of_job : batch.count - 1, group % groups_of_job, stores);
    }
}

template <int T, int L>
void launch(uint32_t kernel, const Batch& batch)
{
    for_each_job(batch, kernel == 1 ? 2 : 1, [&](uint32_t job, uint32_t half, bool stores) {
        switch (kernel) {
        case 0: return blind<2 * T, L>(batch, job, stores);
        case 1: return power<T, L>(batch, job, half, stores);
        case 2: return finish<2 * T, L>(batch, job, stores);
        case 3: return make_pair<2 * T, L>(batch, job, stores);
        default: abort();
        }
    });
}

template <int n>
void launch_doubles(const Batch& batch)
{
    for_each_job(batch, 2, [&](uint32_t job, uint32_t half, bool stores) {
        power52<n>(batch, job, half, stores);
    });
}

// Runs a kernel, by its number in KERNELS.
void run_kernel(uint32_t kernel, uint32_t bits, const Batch& batch)
{
    if (kernel == 4) {
        switch (bits) {
        case 1024: return launch_doubles<16>(batch);
        case 2048: return launch_doubles<32>(batch);
        case 3072: return launch_doubles<48>(batch);
        default: abort();
        }
    }
    switch (bits) {
    case 1024: return launch<4, 4>(kernel, batch);
    case 2048: return launch<4, 8>(kernel, batch);
    case 3072: return launch<4, 12>(kernel, batch);
    case 4096: return launch<8, 8>(kernel, batch);
    default: abort();
    }
}

namespace {

enum Code { SUCCESS = 0, INVALID_VALUE = 1, INVALID_CONTEXT = 201, NOT_FOUND = 500, NOT_READY = 600,
            LAUNCH_FAILED = 719 };

// What a test changes: see `emulate`.
int values[8] = {13000, 1, 9, 0, 0, 0, 0, 64};
enum Value { VERSION, DEVICES, MAJOR, MINOR, HANGS, FAILS, CORRUPTS, SINGLE_TO_DOUBLE };

// Work of a stream, and the memory of the host that it reads or writes.
struct Work {
    std::function<void()> run;
    const uint8_t* host;
};

typedef std::deque<Work> Stream;

struct Event {
    bool passed;
    double milliseconds;
    Stream* stream;
};

// Held by each call that uses what threads share.
std::recursive_mutex mutex;
typedef std::lock_guard<std::recursive_mutex> Locked;
// Never freed.
std::vector<Stream*> streams;
// The length of each pinned memory.
std::map<const uint8_t*, size_t> pinned;
int users;
// Start and length of each memory of the device, which is never freed.
std::vector<std::pair<uint8_t*, size_t>> memories;
thread_local void* current;
int context, module;

struct Function {
    uint32_t kernel, bits;
};
const char* const KERNELS[] = {"blind", "power", "finish", "make_pair", "power52"};
Function functions[5][4];

// Counts a call. If FAILS is k > 0, the next k - 1 calls succeed, and all others fail.
bool fails()
{
    Locked locked(mutex);
    if (values[FAILS] > 1) return values[FAILS]--, false;
    return values[FAILS] == 1;
}

double now()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

template <int T, int L>
void multiply(uint32_t* z, const uint32_t* x, const uint32_t* y, const uint32_t* m, uint32_t k0)
{
    Word<T> a[L], b[L], modulus[L];
    read<T, L>(a, x), read<T, L>(b, y), read<T, L>(modulus, m);
    amm<T, L>(a, a, b, modulus, k0);
    write<T, L>(z, a);
}

template <int T, int L>
void enter(uint32_t* z, const uint32_t* c, const uint32_t* rrr, const uint32_t* m, uint32_t k0)
{
    Word<T> x[L], modulus[L];
    read<T, L>(modulus, m);
    fold<T, L>(x, c, modulus, rrr, k0);
    write<T, L>(z, x);
}

template <int n>
void multiply52(double* z, const double* x, const double* y, const double* m, uint64_t k0)
{
    Slots<n> slots;
    const Prime52<n> prime(m, slots);
    slots.put(0, x);
    amm52<n>(z, slots, y, prime, k0);
}

template <int n, int k>
void enter52(double* x, const uint32_t* base, const double* rr, const double* rrr, const double* m,
             uint64_t k0)
{
    Slots<k> slots;
    const Prime52<k> prime(m, slots);
    fold52<n, k>(x, base, slots, rr, rrr, prime, k0);
}

int in_stream(void* stream, std::function<void()> work, const void* host = nullptr)
{
    Locked locked(mutex);
    if (current != &context) return INVALID_CONTEXT;
    if (fails()) return LAUNCH_FAILED;
    ((Stream*)stream)->push_back({work, (const uint8_t*)host});
    return SUCCESS;
}

bool is_in_use(const uint8_t* memory, size_t bytes)
{
    for (const Stream* stream : streams) {
        for (const Work& work : *stream) {
            if (work.host >= memory && work.host < memory + bytes) return true;
        }
    }
    return false;
}

} // namespace

extern "C" {

// These functions are for tests; the driver does not have them.

void emulate(int value, int is)
{
    values[value] = is;
}

// One bit flips the next time that this group gets to this stage.
void emulate_fault(int stage, uint32_t group, uint32_t bit)
{
    fault = {stage, group, bit};
}

// `is_fold` is 0: z := amm(x, y); 1: z := fold(x), with R^3 in y.
void emulate_arithmetic(int is_fold, uint32_t lanes, uint32_t words, uint32_t* z, const uint32_t* x,
                        const uint32_t* y, const uint32_t* m, uint32_t k0)
{
#define LAYOUT(T, L) \
    case 100 * T + L: return is_fold ? enter<T, L>(z, x, y, m, k0) : multiply<T, L>(z, x, y, m, k0)
    switch (100 * lanes + words) {
        LAYOUT(4, 4);
        LAYOUT(8, 4);
        LAYOUT(4, 8);
        LAYOUT(8, 8);
        LAYOUT(4, 12);
        LAYOUT(8, 12);
        LAYOUT(16, 8);
    default: abort();
    }
}

// z := amm52(x, y).
void emulate_doubles(uint32_t limbs, double* z, const double* x, const double* y, const double* m,
                     uint64_t k0)
{
    switch (limbs) {
    case 10: return multiply52<10>(z, x, y, m, k0);
    case 20: return multiply52<20>(z, x, y, m, k0);
    case 30: return multiply52<30>(z, x, y, m, k0);
    default: abort();
    }
}

// x := fold52(base), for a base of 2 n words.
void emulate_fold52(uint32_t limbs, double* x, const uint32_t* base, const double* rr, const double* rrr,
                    const double* m, uint64_t k0)
{
    switch (limbs) {
    case 10: return enter52<16, 10>(x, base, rr, rrr, m, k0);
    case 20: return enter52<32, 20>(x, base, rr, rrr, m, k0);
    case 30: return enter52<48, 30>(x, base, rr, rrr, m, k0);
    default: abort();
    }
}

// Returns 1 if the primitives of the GPU have the results of the emulation: those of products for limbs
// x and y, and those of columns for s. `is_whole`: s is in the bounds of `whole_of`.
int emulate_equal_primitives(double x, double y, uint64_t s, int is_whole)
{
    double high = product_high(x, y), of_gpu = gpu::product_high(x, y);
    return bits_of(high) == bits_of(of_gpu)
        && bits_of(product_low(x, y, high)) == bits_of(gpu::product_low(x, y, of_gpu))
        && digit_of(s) == gpu::digit_of(s) && carry_of(s) == gpu::carry_of(s)
        && limb_of(s) == gpu::limb_of(s) && (!is_whole || whole_of(s) == gpu::whole_of(s));
}

// Returns the column of a limb.
int64_t emulate_column(double x)
{
    return (int64_t)column_of(x);
}

// Returns the bytes of a key and of a pair.
void emulate_sizes(uint32_t bits, uint32_t* key, uint32_t* pair)
{
    switch (bits) {
    case 1024: *key = sizeof(Key<16>), *pair = sizeof(Pair<16>); break;
    case 2048: *key = sizeof(Key<32>), *pair = sizeof(Pair<32>); break;
    case 3072: *key = sizeof(Key<48>), *pair = sizeof(Pair<48>); break;
    case 4096: *key = sizeof(Key<64>), *pair = sizeof(Pair<64>); break;
    default: abort();
    }
}

// Returns the length of a memory of the device, in the order of allocation.
size_t emulate_memory(size_t number, const uint8_t** start)
{
    *start = memories.at(number).first;
    return memories.at(number).second;
}

int cuInit(unsigned)
{
    return SUCCESS;
}

int cuDriverGetVersion(int* version)
{
    *version = values[VERSION];
    return SUCCESS;
}

int cuDeviceGetCount(int* count)
{
    *count = values[DEVICES];
    return SUCCESS;
}

int cuDeviceGet(int* device, int ordinal)
{
    *device = ordinal;
    return ordinal < values[DEVICES] ? SUCCESS : INVALID_VALUE;
}

int cuDeviceGetName(char* name, int room, int)
{
    snprintf(name, room, "Emulated H200");
    return SUCCESS;
}

int cuDeviceGetAttribute(int* value, int attribute, int)
{
    switch (attribute) {
    case 16: *value = 1; return SUCCESS;
    case 75: *value = values[MAJOR]; return SUCCESS;
    case 76: *value = values[MINOR]; return SUCCESS;
    case 87: *value = values[SINGLE_TO_DOUBLE]; return SUCCESS;
    default: return INVALID_VALUE;
    }
}

int cuDevicePrimaryCtxRetain(void** to, int)
{
    Locked locked(mutex);
    users++;
    *to = &context;
    return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int)
{
    Locked locked(mutex);
    if (--users > 0) return SUCCESS;
    bool has_work = false;
    for (const Stream* stream : streams) has_work |= !stream->empty();
    return !has_work && pinned.empty() ? SUCCESS : INVALID_VALUE;
}

int cuCtxSetCurrent(void* to)
{
    current = to;
    return SUCCESS;
}

int cuGetErrorName(int code, const char** name)
{
    *name = code == LAUNCH_FAILED     ? "CUDA_ERROR_LAUNCH_FAILED"
            : code == INVALID_CONTEXT ? "CUDA_ERROR_INVALID_CONTEXT"
                                      : nullptr;
    return *name ? SUCCESS : INVALID_VALUE;
}

int cuStreamCreate(void** to, unsigned)
{
    Locked locked(mutex);
    streams.push_back(new Stream());
    *to = streams.back();
    return current == &context ? SUCCESS : INVALID_CONTEXT;
}

int cuEventCreate(void** event, unsigned)
{
    *event = new Event();
    return current == &context ? SUCCESS : INVALID_CONTEXT;
}

int cuEventRecord(void* to, void* stream)
{
    Locked locked(mutex);
    Event* event = (Event*)to;
    *event = {false, 0, (Stream*)stream};
    return in_stream(stream, [=] { event->passed = true, event->milliseconds = now(); });
}

int cuEventQuery(void* of)
{
    Locked locked(mutex);
    if (values[HANGS]) return NOT_READY;
    if (fails()) return LAUNCH_FAILED;
    Event* event = (Event*)of;
    while (!event->passed && event->stream && !event->stream->empty()) {
        event->stream->front().run();
        event->stream->pop_front();
    }
    return event->passed ? SUCCESS : NOT_READY;
}

int cuEventElapsedTime(float* milliseconds, void* from, void* to)
{
    Locked locked(mutex);
    if (fails()) return LAUNCH_FAILED;
    if (!((Event*)from)->passed || !((Event*)to)->passed) return NOT_READY;
    *milliseconds = ((Event*)to)->milliseconds - ((Event*)from)->milliseconds;
    return SUCCESS;
}

// Machine code is an ELF file; PTX is a text with a final zero.
int cuModuleLoadData(void** to, const void* image)
{
    bool is_elf = memcmp(image, "\177ELF", 4) == 0;
    bool wants_elf = values[MAJOR] == 9 && values[MINOR] == 0;
    *to = &module;
    return is_elf == wants_elf && (is_elf || strstr((const char*)image, ".target sm_80"))
               ? SUCCESS
               : INVALID_VALUE;
}

int cuModuleGetFunction(void** to, void*, const char* name)
{
    for (uint32_t kernel = 0; kernel < 5; kernel++) {
        for (uint32_t size = 0; size < (kernel == 4 ? 3 : 4); size++) {
            char known[32];
            snprintf(known, sizeof known, "%s_%u", KERNELS[kernel], 1024 * (size + 1));
            if (strcmp(name, known) != 0) continue;
            functions[kernel][size] = {kernel, 1024 * (size + 1)};
            *to = &functions[kernel][size];
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}

int cuFuncSetAttribute(void*, int attribute, int bytes)
{
    return attribute == 8 && bytes <= 227 * 1024 ? SUCCESS : INVALID_VALUE;
}

int cuMemAlloc_v2(uint64_t* address, size_t bytes)
{
    Locked locked(mutex);
    if (fails()) return LAUNCH_FAILED;
    void* memory = malloc(bytes);
    memset(memory, 0xa5, bytes); // old contents
    *address = (uint64_t)memory;
    memories.push_back({(uint8_t*)memory, bytes});
    return current == &context ? SUCCESS : INVALID_CONTEXT;
}

int cuMemHostAlloc(void** memory, size_t bytes, unsigned)
{
    Locked locked(mutex);
    if (fails()) return LAUNCH_FAILED;
    *memory = malloc(bytes);
    pinned[(const uint8_t*)*memory] = bytes;
    return current == &context ? SUCCESS : INVALID_CONTEXT;
}

int cuMemFreeHost(void* memory)
{
    Locked locked(mutex);
    auto found = pinned.find((const uint8_t*)memory);
    if (found == pinned.end() || is_in_use(found->first, found->second)) return INVALID_VALUE;
    pinned.erase(found);
    free(memory);
    return SUCCESS;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream)
{
    return in_stream(stream, [=] { memcpy((void*)to, from, bytes); }, from);
}

int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream)
{
    return in_stream(stream, [=] {
        memcpy(to, (const void*)from, bytes);
        // Results are longer than statuses.
        if (values[CORRUPTS] && bytes >= 128) *(uint8_t*)to ^= 1;
    }, to);
}

int cuMemsetD8Async(uint64_t to, uint8_t value, size_t bytes, void* stream)
{
    return in_stream(stream, [=] { memset((void*)to, value, bytes); });
}

int cuLaunchKernel(void* function, unsigned blocks, unsigned y, unsigned z, unsigned threads,
                   unsigned y_threads, unsigned z_threads, unsigned shared_bytes, void* stream,
                   void** arguments, void**)
{
    const Function of = *(const Function*)function;
    const Batch batch = *(const Batch*)arguments[0];
    uint32_t lanes = of.kernel == 4 ? 1 : of.bits == 4096 ? 8 : 4, words = of.bits / 64 / lanes;
    uint32_t groups = blocks * threads / (2 * lanes);
    const uint32_t slots[] = {slots52(10) * 10, slots52(20) * 20, slots52(30) * 30, 0};
    uint32_t table = of.kernel == 1 ? 16 * 4 * words : of.kernel == 4 ? 8 * slots[of.bits / 1024 - 1] : 0;
    bool fits = groups >= batch.count && groups - batch.count < threads / (2 * lanes);
    bool is_flat = y * z * y_threads * z_threads == 1 && threads == 128;
    bool has_table = shared_bytes == table * threads;
    if (!fits || !is_flat || !has_table) return INVALID_VALUE;
    return in_stream(stream, [=] { run_kernel(of.kernel, of.bits, batch); });
}

} // extern "C"
