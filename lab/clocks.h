/* clocks.h - a GPU's clock, power and temperature at a moment, as NVML tells them where libnvidia-ml.so.1 is. */
#ifndef TILEWRIGHT_CLOCKS_H
#define TILEWRIGHT_CLOCKS_H

typedef struct clocks_reading {
    double sm_mhz, power_w, temperature_c; /* NAN: unknown */
} clocks_reading;

/* clocks_open - of the device at that place of the bus from now on; without NVML, or where it does not know the device,
 * all stays unknown. */
void clocks_open(const char *bus);
clocks_reading clocks_now(void);
void clocks_close(void);

#endif
