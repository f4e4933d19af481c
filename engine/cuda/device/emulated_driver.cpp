// A library with the functions of NVIDIA's driver that engine/cuda/src/driver.rs calls, and the
// kernels of this folder on a CPU. The tests compile it and open it in place of libcuda.so.1.
//
// Work of a stream runs only when an event after it is asked for, so that memory that changes too
// early gives wrong results. Each call that needs a context fails on a thread that has none.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <deque>
#include <functional>
#include <set>

#include "emulated_kernels.h"

namespace {

enum Code { SUCCESS = 0, INVALID_VALUE = 1, INVALID_CONTEXT = 201, NOT_FOUND = 500, NOT_READY = 600,
            LAUNCH_FAILED = 719 };

// What a test changes: see `emulate`.
int values[8] = {13000, 1, 9, 0, 0, 0, 0};
enum Value { VERSION, DEVICES, MAJOR, MINOR, HANGS, FAILS, CORRUPTS };

struct Event {
    bool passed;
    double milliseconds;
};

std::deque<std::function<void()>> stream;
std::set<void*> pinned;
thread_local void* current;
int context, stream_handle, module;

struct Function {
    uint32_t kernel, bits;
};
const char* const KERNELS[] = {"blind", "power", "finish", "make_pair"};
Function functions[4][4];

double now()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

int in_stream(std::function<void()> work)
{
    if (current != &context) return INVALID_CONTEXT;
    stream.push_back(work);
    return SUCCESS;
}

} // namespace

extern "C" {

void emulate(int value, int is)
{
    values[value] = is;
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
    default: return INVALID_VALUE;
    }
}

int cuDevicePrimaryCtxRetain(void** to, int)
{
    *to = &context;
    return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int)
{
    return stream.empty() && pinned.empty() ? SUCCESS : INVALID_VALUE;
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
    *to = &stream_handle;
    return current == &context ? SUCCESS : INVALID_CONTEXT;
}

int cuEventCreate(void** event, unsigned)
{
    *event = new Event();
    return current == &context ? SUCCESS : INVALID_CONTEXT;
}

int cuEventRecord(void* event, void*)
{
    ((Event*)event)->passed = false;
    return in_stream([=] { *(Event*)event = {true, now()}; });
}

int cuEventQuery(void* event)
{
    if (values[HANGS]) return NOT_READY;
    if (values[FAILS]) return LAUNCH_FAILED;
    while (!((Event*)event)->passed && !stream.empty()) {
        stream.front()();
        stream.pop_front();
    }
    return ((Event*)event)->passed ? SUCCESS : NOT_READY;
}

int cuEventElapsedTime(float* milliseconds, void* from, void* to)
{
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
    for (uint32_t kernel = 0; kernel < 4; kernel++) {
        for (uint32_t size = 0; size < 4; size++) {
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
    return attribute == 8 && bytes <= 99 * 1024 ? SUCCESS : INVALID_VALUE;
}

int cuMemAlloc_v2(uint64_t* address, size_t bytes)
{
    void* memory = malloc(bytes);
    memset(memory, 0xa5, bytes); // old contents
    *address = (uint64_t)memory;
    return current == &context ? SUCCESS : INVALID_CONTEXT;
}

int cuMemHostAlloc(void** memory, size_t bytes, unsigned)
{
    *memory = malloc(bytes);
    pinned.insert(*memory);
    return current == &context ? SUCCESS : INVALID_CONTEXT;
}

int cuMemFreeHost(void* memory)
{
    free(memory);
    return stream.empty() && pinned.erase(memory) == 1 ? SUCCESS : INVALID_VALUE;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void*)
{
    return in_stream([=] { memcpy((void*)to, from, bytes); });
}

int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void*)
{
    return in_stream([=] {
        memcpy(to, (const void*)from, bytes);
        // Results are longer than statuses.
        if (values[CORRUPTS] && bytes >= 128) *(uint8_t*)to ^= 1;
    });
}

int cuMemsetD8Async(uint64_t to, uint8_t value, size_t bytes, void*)
{
    return in_stream([=] { memset((void*)to, value, bytes); });
}

int cuLaunchKernel(void* function, unsigned blocks, unsigned y, unsigned z, unsigned threads,
                   unsigned y_threads, unsigned z_threads, unsigned shared_bytes, void*,
                   void** arguments, void**)
{
    const Function of = *(const Function*)function;
    const Batch batch = *(const Batch*)arguments[0];
    uint32_t lanes = of.bits == 4096 ? 8 : 4, words = of.bits / 64 / lanes;
    uint32_t groups = blocks * threads / (2 * lanes);
    bool fits = groups >= batch.count && groups - batch.count < threads / (2 * lanes);
    bool is_flat = y * z * y_threads * z_threads == 1 && threads == 128;
    bool has_table = shared_bytes == (of.kernel == 1 ? 16 * 4 * words * threads : 0);
    if (!fits || !is_flat || !has_table) return INVALID_VALUE;
    return in_stream([=] { run_kernel(of.kernel, of.bits, batch); });
}

} // extern "C"
