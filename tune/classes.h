/* classes.h - a run of tune over classes of products, among which it shares the budget. */
#ifndef TILEWRIGHT_CLASSES_H
#define TILEWRIGHT_CLASSES_H

#include "tuning.h"

enum { AGENDA = 512 };

/* What is tuned: a problem for each class, in order. */
typedef struct agenda {
    int count;
    tw_problem items[AGENDA];
    tw_problem alike; /* the last that was left out, for its class has an item before it */
    int left_out;
} agenda;

void agenda_add(agenda *list, const tw_problem *p);

/* classes_tune - search each class, tell what it came to, keep what is faster. start: "name=value ...", which the
 * search begins with; NULL: the present values. EXIT_OK, or another after a sentence. */
exit_code classes_tune(const tuning_wish *wish, const agenda *list, const char *start);

#endif
