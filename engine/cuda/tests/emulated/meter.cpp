// The functions of NVIDIA's management library that the crate calls, for tests.

#include <cstring>

namespace {
// The call that fails, by its number below; 0 for none.
int failing = 0;
unsigned devices = 1;
int users = 0;
int handle;

bool fails(int call)
{
    return failing == call;
}
} // namespace

extern "C" {

// The failing call, and the number of devices.
void emulate_meter(int call, unsigned count)
{
    failing = call;
    devices = count;
}

// Uses of the library that have not ended.
int emulate_meter_users()
{
    return users;
}

int nvmlInit_v2()
{
    users += fails(1) ? 0 : 1;
    return fails(1);
}

int nvmlShutdown()
{
    users -= 1;
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned* count)
{
    *count = devices;
    return fails(2);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device)
{
    *device = &handle;
    return fails(3) || index != 0;
}

// Two joules more with each call.
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules)
{
    static unsigned long long energy = 7000;
    *millijoules = energy += 2000;
    return fails(4) || device != &handle;
}

int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz)
{
    *mhz = 1980;
    return fails(5) || device != &handle || type != 1;
}

int nvmlDeviceGetPowerManagementLimit(void* device, unsigned* milliwatts)
{
    *milliwatts = 700000;
    return fails(6) || device != &handle;
}

#ifndef WITHOUT_VERSION
int nvmlSystemGetDriverVersion(char* text, unsigned room)
{
    std::strncpy(text, "580.65.06", room);
    return fails(7);
}
#endif
}
