/* thread.c - a thread of the library's own. */
#include "thread.h"

#include <signal.h>

int thread_start(pthread_t *thread, const pthread_attr_t *attributes, void *run(void *), void *argument)
{
    /* these belong to the thread that causes them */
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int status = pthread_create(thread, attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}
