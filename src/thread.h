/* thread.h - a thread of the library's own. */
#ifndef TILEWRIGHT_THREAD_H
#define TILEWRIGHT_THREAD_H

#include <pthread.h>

/* thread_start - pthread_create() of a thread that gets none of the program's signals but faults of its own. */
int thread_start(pthread_t *thread, const pthread_attr_t *attributes, void *run(void *), void *argument);

#endif
