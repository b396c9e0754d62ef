/* hooks.h - what this program does for the measuring of lab/bench meanwhile: progress, sentences, signals. */
#ifndef TILEWRIGHT_HOOKS_H
#define TILEWRIGHT_HOOKS_H

#include "../lab/bench/setup.h"

extern const bench_hooks program_hooks;

#endif
