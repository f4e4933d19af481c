// The kernels of kernels.cu on a CPU, one group after the other.
#pragma once

#include <stdlib.h>

#include "private.h"

Fault fault;
uint32_t group_in_work;

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

// Runs a kernel, numbered as in engine/cuda/src/device.rs.
inline void run_kernel(uint32_t kernel, uint32_t bits, const Batch& batch)
{
    switch (bits) {
    case 1024: return launch<4, 4>(kernel, batch);
    case 2048: return launch<4, 8>(kernel, batch);
    case 3072: return launch<4, 12>(kernel, batch);
    case 4096: return launch<8, 8>(kernel, batch);
    default: abort();
    }
}
