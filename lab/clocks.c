/* clocks.c - see clocks.h. Numbers: NVML's API reference. */
#include "clocks.h"

#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { CLOCK_SM = 1, SENSOR_GPU = 0 };

static struct {
    void *library, *device;
    int (*init)(void), (*shutdown)(void), (*find)(const char *, void **);
    int (*clock)(void *, int, unsigned *), (*power)(void *, unsigned *), (*temperature)(void *, int, unsigned *);
} nvml;

static void look_up(const char *name, void *slot)
{
    void *found = dlsym(nvml.library, name);
    memcpy(slot, &found, sizeof found);
}

void clocks_open(const char *bus)
{
    memset(&nvml, 0, sizeof nvml);
    nvml.library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (nvml.library == NULL) return;
    look_up("nvmlInit_v2", &nvml.init);
    look_up("nvmlShutdown", &nvml.shutdown);
    look_up("nvmlDeviceGetHandleByPciBusId_v2", &nvml.find);
    look_up("nvmlDeviceGetClockInfo", &nvml.clock);
    look_up("nvmlDeviceGetPowerUsage", &nvml.power);
    look_up("nvmlDeviceGetTemperature", &nvml.temperature);
    if (nvml.init == NULL || nvml.shutdown == NULL || nvml.init() != 0)
        nvml.shutdown = NULL;
    else if (nvml.find == NULL || nvml.find(bus, &nvml.device) != 0)
        nvml.device = NULL;
}

clocks_reading clocks_now(void)
{
    clocks_reading now = {NAN, NAN, NAN};
    unsigned value;
    if (nvml.device == NULL) return now;
    if (nvml.clock != NULL && nvml.clock(nvml.device, CLOCK_SM, &value) == 0) now.sm_mhz = value;
    if (nvml.power != NULL && nvml.power(nvml.device, &value) == 0) now.power_w = value * 1e-3;
    if (nvml.temperature != NULL && nvml.temperature(nvml.device, SENSOR_GPU, &value) == 0) now.temperature_c = value;
    return now;
}

void clocks_close(void)
{
    if (nvml.shutdown != NULL) nvml.shutdown();
    if (nvml.library != NULL) dlclose(nvml.library);
    memset(&nvml, 0, sizeof nvml);
}
