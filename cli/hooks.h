/* hooks.h - what this program hands to the measuring of lab/bench: its options as plain values, and what it does
 * meanwhile: progress, sentences, signals. */
#ifndef TILEWRIGHT_HOOKS_H
#define TILEWRIGHT_HOOKS_H

#include "../lab/bench/setup.h"
#include "session.h"

extern const bench_hooks program_hooks;

bench_setup setup_of(const session *s);

#endif
