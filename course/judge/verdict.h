/* verdict.h - of `tilewright grade`: is a file a right kernel of its rung, and does it ask of memory what the rung
 * asks? Nobody need have read the file: the compiler and the kernel are confined (program/confine.h), and so is what
 * it says (rung_words.h). The judge is lanes.h, as for `explain` and `ladder --rung`. */
#ifndef TILEWRIGHT_VERDICT_H
#define TILEWRIGHT_VERDICT_H

#include "../../program/exit.h"
#include "lanes.h"

typedef enum verdict_kind { VERDICT_PASS, VERDICT_WRONG, VERDICT_UNJUDGED } verdict_kind;

typedef struct verdict {
    verdict_kind kind;
    const tw_lab_kernel *rung; /* NULL: it is not known */
    bool right;                /* the product is, whatever it asks of memory */
    char why[HOST_WHY + 128];  /* the first mistake, or why there is no verdict, as a clause; "": it passes */
} verdict;

typedef struct verdict_wish {
    const char *const *paths;
    int count;
    const char *rung; /* which all of them are to be; NULL: as each kernel's name says */
    int at_once;      /* files that are judged side by side, at least 1 */
    double limit_s;   /* of one run of a kernel; 0: the default of lanes.h */
} verdict_wish;

enum { VERDICT_MOST_AT_ONCE = 256 };

/* verdict_tell - of file i of the paths, in their order; false: no more are wanted. */
typedef bool verdict_tell(void *job, int i, const verdict *of);

/* verdict_take - all files. Must come before this process has a second thread. EXIT_OK whatever the verdicts are;
 * else, after a sentence, EXIT_DEVICE where nothing can be confined or compiled here, EXIT_MEMORY, or EXIT_OUTPUT where
 * no folder can be made. How busy the machine is decides no verdict: what a run has too much of is processor time. */
exit_code verdict_take(const verdict_wish *wish, verdict_tell *tell, void *job);

/* verdict_page - the page of docs/COURSE.md that teaches a rung; 0: none does. */
int verdict_page(const tw_lab_kernel *rung);

#endif
