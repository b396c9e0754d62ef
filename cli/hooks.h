/* hooks.h - what this program hands to lab/bench: its options as plain values, and functions for progress, sentences
 * and signals. */
#ifndef TILEWRIGHT_HOOKS_H
#define TILEWRIGHT_HOOKS_H

#include "../lab/bench/setup.h"
#include "session.h"

extern const bench_hooks program_hooks;

bench_setup setup_of(const session *s);

#endif
