/* masks.c - which processors the workers of a pool may use: those of their caller; of a caller that is bound to one
 * core, all of the process, unless TW_STAY is set. */
#define _GNU_SOURCE /* sched_getcpu, CPU_CLR */
#include "masks.h"

#include "../../thread.h"

#include <sched.h>
#include <string.h>

int masks_processor(void)
{
#if defined(__linux__)
    return sched_getcpu();
#else
    return -1;
#endif
}

/* Linux often wakes a worker on its caller's processor and leaves it there for milliseconds, though another has nothing
 * to do (docs/perf/cpu-threads.md#one-processor). */
void masks_leave(int cpu)
{
#if defined(__linux__)
    cpu_set_t all, others;
    if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getcpu() != cpu || sched_getaffinity(0, sizeof all, &all) != 0) return;
    others = all;
    CPU_CLR((size_t)cpu, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof all, &all); /* it stays where it is */
#else
    (void)cpu;
#endif
}

/* Each worker sets its own mask: masks_leave(), in which it may be, would undo what the caller sets. */
void masks_follow(const masks *m, unsigned *seen)
{
    if (*seen == m->changes) return;
    *seen = m->changes;
#if defined(__linux__)
    cpu_set_t mask;
    memcpy(&mask, &m->workers, sizeof mask);
    sched_setaffinity(0, sizeof mask, &mask); /* refused where a cpuset became smaller: it stays where it may be */
#endif
}

/* Bound callers of one process take turns without a change. Of a process that has had one core alone others may run
 * elsewhere by now. */
void masks_renew(masks *m)
{
    processor_set now;
    if (!processors_mask(&now)) return;
    if (m->changes > 0 && !m->alone && memcmp(&now, &m->of_caller, sizeof now) == 0) return;
    m->of_caller = now;
    const bool bound = !m->stays && processors_bound("", &now);
    if (bound && m->widened && processors_within(&now, &m->workers)) return;
    if (bound) processors_widen(&now);
    m->widened = bound && memcmp(&now, &m->of_caller, sizeof now) != 0;
    m->alone = bound && !m->widened;
    if (m->changes > 0 && memcmp(&now, &m->workers, sizeof now) == 0) return;
    m->workers = now;
    m->changes++;
}

/* On the only processor of its caller a worker would wait until that sleeps. */
int masks_start(const masks *m, pthread_t *thread, void *run(void *), void *argument, unsigned *seen)
{
#if defined(__GLIBC__) /* musl has no such attribute: there a worker goes at its first call */
    pthread_attr_t attributes;
    if (m->widened && pthread_attr_init(&attributes) == 0) {
        cpu_set_t mask;
        memcpy(&mask, &m->workers, sizeof mask);
        pthread_attr_setaffinity_np(&attributes, sizeof mask, &mask);
        *seen = m->changes;
        const int status = thread_start(thread, &attributes, run, argument);
        pthread_attr_destroy(&attributes);
        if (status == 0) return 0;
    }
#endif
    /* as its caller; also where a sandbox or a smaller cpuset refuses the mask */
    *seen = m->widened ? 0 : m->changes;
    return thread_start(thread, NULL, run, argument);
}
