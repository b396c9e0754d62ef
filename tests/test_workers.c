/* test_workers.c - the processes that take turns in `bench --against`: each has its own pipes and no end of the
 * others'; and what the table of the sides says where the peak is not known. */
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "../cli/bench_against.h"
#include "../cli/hooks.h"
#include "support/tap.h"

enum { PROCESSES = 4 };

/* Answers each descriptor with whether it is open here. */
static void look(void *job, int orders, int answers)
{
    int fd;
    (void)job;
    while (worker_take(orders, &fd, sizeof fd)) {
        int open = fcntl(fd, F_GETFD) >= 0;
        if (!worker_give(answers, &open, sizeof open)) return;
    }
}

static void pipes_case(void)
{
    worker_process processes[PROCESSES];
    char why[200] = "";
    int open = 0, wrong = 0, own = 0;
    if (!tap_case("a process has no end of the pipes of those before it")) return;
    for (int i = 0; i < PROCESSES; i++)
        if (!worker_start(&program_hooks, processes, i, look, NULL)) wrong++;
    for (int i = 0; i < PROCESSES; i++)
        for (int before = 0; before < i; before++)
            for (int end = 0; end < 2; end++) {
                int fd = end ? processes[before].from : processes[before].to;
                if (!worker_ask(&processes[i], &fd, sizeof fd, &open, sizeof open, 20, why, sizeof why) || open)
                    wrong++;
            }
    int standard = STDERR_FILENO; /* which is open there: the question is understood */
    bool told = worker_ask(&processes[0], &standard, sizeof standard, &own, sizeof own, 20, why, sizeof why) && own;
    for (int i = 0; i < PROCESSES; i++) worker_end(&processes[i]);
    tap_result(wrong == 0 && told, "%d ends are open in another process, or it did not answer: %s", wrong, why);
}

/* The table of two sides, one of which reaches half of the peak, if that is known. */
static bool table_says(double peak_flops, double share, const char *says, const char *says_not)
{
    static against g;
    static const tw_device device = {.engine = "cpu", .name = "a device"};
    FILE *table = tmpfile();
    char text[2000] = "";
    if (table == NULL) return false;
    g = (against){.setup.device = &device,
                  .count = 2,
                  .threads = 1,
                  .peak_flops = {peak_flops, 0},
                  .why_no_peak = "there was no memory"};
    for (int i = 0; i < 2; i++)
        g.sides[i] = (side){.row = i ? peer_rows : NULL,
                            .name = i ? "peer" : "tilewright",
                            .share = {i ? share : share + 0.4, NAN},
                            .outcome = SIDE_TIMED};
    against_print_sides(table, &g, TW_F32);
    rewind(table);
    text[fread(text, 1, sizeof text - 1, table)] = '\0';
    fclose(table);
    return strstr(text, says) != NULL && strstr(text, says_not) == NULL &&
           against_counts(&g.sides[1], TW_F32) == (peak_flops <= 0);
}

static void table_case(void)
{
    if (!tap_case("a peak that could not be measured is told, and nobody is held against it")) return;
    bool known = table_says(1e11, 0.5, "50", "could not be measured");
    bool unknown = table_says(
        0, NAN, "the peak could not be measured (there was no memory): no library is checked against 80 % of it",
        "below 80 %");
    tap_result(known && unknown, "the table %s", known ? "says nothing of it" : "is wrong where the peak is known");
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    if (!tap.gpu) pipes_case(), table_case();
    return tap_finish();
}
