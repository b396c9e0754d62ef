/* cheapest.c - see cheapest.h. */
#include "cheapest.h"

#include <string.h>
#include "../lab/cost.h"
#include "../multiply/multiplied.h"
#include "../program/diag.h"
#include "../program/term.h"

/* The library's last sentence, without a compiler's log behind it. */
static int first_line(const char *text) { return (int)strcspn(text, "\n"); }

exit_code cheapest_open(session *s, const tw_problem *p, cheapest_why why)
{
    const double cpu_s = cost_of(&s->device, p, false), least_s = cost_least_of_cuda(p);
    term_number cpu, cuda;
    term_seconds(cpu_s, cpu), term_seconds(least_s, cuda);
    snprintf(why, sizeof(cheapest_why), "cpu, estimated %s; cuda, whose driver takes %s to start, was not tried", cpu,
             cuda);
    if (!multiplied_by("cuda", p))
        snprintf(why, sizeof(cheapest_why), "cpu, estimated %s; cuda does not multiply this type", cpu);
    if (cpu_s <= least_s || !multiplied_by("cuda", p)) return EXIT_OK;
    if (session_try_device(s, "cuda") != TW_OK) {
        const char *reason = tw_error_text();
        snprintf(why, sizeof(cheapest_why), "cpu, estimated %s; cuda %s or more, but %.*s", cpu, cuda,
                 first_line(reason), reason);
        return session_open_device(s, "cpu");
    }
    const bool compiles = tw_lab_compiles(s->context, p) != 0;
    const double cuda_s = cost_of(&s->device, p, compiles);
    term_seconds(cuda_s, cuda);
    snprintf(why, sizeof(cheapest_why), "%s, estimated %s; %s %s%s", cuda_s < cpu_s ? "cuda" : "cpu",
             cuda_s < cpu_s ? cuda : cpu, cuda_s < cpu_s ? "cpu" : "cuda", cuda_s < cpu_s ? cpu : cuda,
             compiles ? ", and cuda's kernel is not compiled yet" : "");
    return cuda_s < cpu_s ? EXIT_OK : session_open_device(s, "cpu");
}

exit_code cheapest_fall_back(session *s, tw_status status, cheapest_why why)
{
    const char *reason = tw_error_text();
    snprintf(why, sizeof(cheapest_why), "cpu, since cuda failed: %.*s", first_line(reason), reason);
    if (status == TW_DEVICE_FAILED && !s->opt->quiet)
        diag(EXIT_OK, "warning: the GPU failed, and the cpu computes: %.*s", first_line(reason), reason);
    return session_open_device(s, "cpu");
}
