/* units.c - see units.h. */
#include "units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Three or four digits and the largest unit that leaves a number of at least 1. */
static const char *scaled(double value, const char *const units[], int count, double step, units_text out)
{
    int unit = 0;
    while (unit + 1 < count && value >= step) value /= step, unit++;
    int digits = value < 10 ? 2 : value < 100 ? 1 : 0;
    if (value < 1e6)
        snprintf(out, UNITS_TEXT, "%.*f %s", digits, value, units[unit]);
    else
        snprintf(out, UNITS_TEXT, "%.3g %s", value, units[unit]);
    return out;
}

const char *units_seconds(double seconds, units_text out)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    if (!isfinite(seconds)) return strcpy(out, "-");
    return scaled(seconds * 1e9, units, 4, 1000, out);
}

const char *units_span(double least_s, double most_s, double beside_s, units_text out)
{
    double unit = 1e-9;
    char text[2][12];
    const double values[2] = {least_s, most_s};
    if (!isfinite(least_s) || !isfinite(most_s) || !isfinite(beside_s)) return strcpy(out, "-");
    while (unit < 1 && beside_s / unit >= 1000) unit *= 1000;
    for (int i = 0; i < 2; i++) {
        double value = values[i] / unit;
        if (value < 1e5)
            snprintf(text[i], sizeof text[i], "%.*f", value < 10 ? 2 : value < 100 ? 1 : 0, value);
        else
            snprintf(text[i], sizeof text[i], "%.1e", value);
    }
    snprintf(out, UNITS_TEXT, "%s-%s", text[0], text[1]);
    return out;
}

const char *units_bytes(double bytes, units_text out)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    if (!isfinite(bytes)) return strcpy(out, "-");
    return scaled(bytes, units, 7, 1000, out);
}

const char *units_percent(double share, units_text out)
{
    if (!isfinite(share)) return strcpy(out, "-");
    snprintf(out, UNITS_TEXT, fabs(share) < 1e4 ? "%.1f%%" : "%.3g%%", 100 * share);
    return out;
}

const char *units_gflops(double gflops, units_text out)
{
    if (!isfinite(gflops)) return strcpy(out, "-");
    if (gflops < 1e9)
        snprintf(out, UNITS_TEXT, "%.*f", gflops < 10 ? 3 : gflops < 100 ? 2 : 1, gflops);
    else
        snprintf(out, UNITS_TEXT, "%.4g", gflops);
    return out;
}

const char *units_factor(double factor, units_text out)
{
    if (!isfinite(factor)) return strcpy(out, "-");
    snprintf(out, UNITS_TEXT, factor < 100 ? "%.2f" : factor < 1e6 ? "%.0f" : "%.3g", factor);
    return out;
}

const char *units_number(double value, units_text out)
{
    if (!isfinite(value)) return strcpy(out, "-");
    snprintf(out, UNITS_TEXT, fabs(value) < 1e6 && value == trunc(value) ? "%.0f" : "%.4g", value);
    return out;
}
