/* apart.c - see apart.h. */
#include "apart.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hooks.h"
#include "layout.h"
#include "tilewright_lab.h"

static bool is_here(int i) { return strcmp(tw_lab_engine_at(i), "cpu") == 0; }

static void serve(void *apart_of, int orders, int answers)
{
    const apart *x = apart_of;
    int order;
    char *answer = malloc(x->bytes);
    while (answer != NULL && worker_take(orders, &order, sizeof order)) {
        memset(answer, 0, x->bytes);
        x->work(x->job, tw_lab_engine_at(x->begun), order, answer);
        layout_flush();
        if (!worker_give(answers, answer, x->bytes)) break;
    }
    free(answer);
}

void apart_begin(apart *x, apart_work *work, void *job, size_t answer_bytes, double patience_s)
{
    *x = (apart){.work = work, .job = job, .bytes = answer_bytes, .patience_s = patience_s};
    while (x->count < APART_ENGINES && tw_lab_engine_at(x->count) != NULL) x->count++;
    for (x->begun = 0; x->begun < x->count; x->begun++)
        if (!is_here(x->begun) && !worker_start(&program_hooks, x->processes, x->begun, serve, x))
            snprintf(x->why[x->begun], APART_WHY,
                     "the driver of the %s engine was not queried: no process could be started for it: %s",
                     tw_lab_engine_at(x->begun), strerror(errno));
}

bool apart_ask(apart *x, int i, int order, void *answer)
{
    char how[200];
    memset(answer, 0, x->bytes);
    if (is_here(i))
        x->work(x->job, tw_lab_engine_at(i), order, answer);
    else if (x->why[i][0] == '\0' &&
             !worker_ask(&x->processes[i], &order, sizeof order, answer, x->bytes, x->patience_s, how, sizeof how))
        snprintf(x->why[i], APART_WHY, "the driver of the %s engine %s", tw_lab_engine_at(i), how);
    return x->why[i][0] == '\0';
}

void apart_end(apart *x)
{
    for (int i = 0; i < x->count; i++) worker_end(&x->processes[i]);
}
