/* hooks.h - what this program hands to lab/bench: functions for progress, sentences and signals. */
#ifndef TILEWRIGHT_HOOKS_H
#define TILEWRIGHT_HOOKS_H

#include "../lab/bench/setup.h"

extern const bench_hooks program_hooks;

#endif
