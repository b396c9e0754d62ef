/* nvml.c - a fake libnvidia-ml.so.1: one device, always at 1755 MHz, 651.5 W and 48 degrees. */
#include "fake.h"

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
    static char one;
    *device = &one;
    return strcmp(bus, "0000:3b:00.0") != 0;
}

int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *mhz)
{
    *mhz = 1755;
    return device == NULL || clock != 1;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    *milliwatts = 651500;
    return device == NULL;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees)
{
    *degrees = 48;
    return device == NULL || sensor != 0;
}
