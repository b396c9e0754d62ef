/* tune.c - see tune.h. */
#include "tune.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *tune_verdict_name(tune_verdict verdict)
{
    static const char *const names[] = {"same",  "known", "slower", "unclear", "better",
                                        "wrong", "hung",  "failed", "busy",    "no time"};
    return names[verdict];
}

/* Others are let have a quarter of the processors. The share itself is known to two ticks of the system's clock, 20 ms,
 * which is a fifth of the shortest trial on two processors; beyond it most rounds are disturbed, some on one
 * side alone, and so are both of the runs that have to agree. A spread whose ends differ by half is one of noise:
 * interleaved rounds of a quiet machine lie within a few hundredths. */
tune_verdict tune_judge(const tune_result *times, bool faster)
{
    const double most_others = 0.25, wide = 1.5;
    if (times->others >= most_others) return TUNE_BUSY;
    if (times->high_speed > 1 && times->high_speed > wide * times->low_speed) return TUNE_UNCLEAR;
    return faster ? TUNE_BETTER : TUNE_SLOWER;
}

bool tune_row(const tune_space *space, const char *kernel, int dim, char row[TUNE_ROW])
{
    int used = snprintf(row, TUNE_ROW, "%s * %s %s %s %s", space->engine, space->dtype, space->shape_class, space->ops,
                        kernel);
    bool any = false;
    for (int i = 0; i < space->count && used < TUNE_ROW; i++) {
        const tune_dim *d = &space->dims[i];
        const bool own = dim >= 0 && i == dim;
        if (strcmp(d->kernel, kernel) != 0 || (d->at == d->committed && !own)) continue;
        used += snprintf(row + used, (size_t)(TUNE_ROW - used), " %s=%.10g", d->about.name, d->at);
        any = true;
    }
    return any;
}

void tune_rows(const tune_space *space, char text[TUNE_ROWS])
{
    char row[TUNE_ROW];
    int used = 0;
    text[0] = '\0';
    for (int i = 0; i < space->count; i++) {
        bool seen = false; /* kernels stand side by side or apart: each is written once */
        for (int j = 0; j < i; j++) seen |= strcmp(space->dims[j].kernel, space->dims[i].kernel) == 0;
        if (!seen && tune_row(space, space->dims[i].kernel, -1, row) && used + TUNE_ROW + 4 < TUNE_ROWS)
            used += snprintf(text + used, (size_t)(TUNE_ROWS - used), "%s |\n", row);
    }
}

/* A step up or down from a value, within its limits; the same value where there is none. */
static double neighbour(const tw_lab_parameter *p, double value, int direction, double step)
{
    double next = direction > 0 ? value * step : value / step;
    if (p->whole) {
        next = direction > 0 ? ceil(next) : floor(next);
        if (next == value) next += direction;
    } else {
        next = round(next * 1e4) / 1e4; /* as it is written */
    }
    return next < p->least ? p->least : next > p->most ? p->most : next;
}

typedef struct search {
    tune_space *space;
    const tune_bench *bench;
    double until_s;
    tune_tally *tally;
    tw_status status;
    bool over; /* the time is up, or something failed */
} search;

static void count(tune_tally *t, const tune_result *r)
{
    const bool same = r->verdict == TUNE_SAME, known = r->verdict == TUNE_KNOWN;
    t->same += same, t->known += known;
    t->busy += r->verdict == TUNE_BUSY;
    t->tried += !same && !known && r->verdict != TUNE_NO_TIME && r->verdict != TUNE_BUSY;
    t->unclear += r->verdict == TUNE_UNCLEAR;
    t->better += r->verdict == TUNE_BETTER;
    t->wrong += r->verdict == TUNE_WRONG;
    t->hung += r->verdict == TUNE_HUNG;
    t->failed += r->verdict == TUNE_FAILED;
    if (r->verdict == TUNE_BETTER) t->gain *= r->speed, t->low_gain *= r->low_speed, t->high_gain *= r->high_speed;
}

/* Try one value of one parameter. Where that is better it is the present one from now on. */
static tune_verdict try_value(search *s, int dim, double value)
{
    char present[TUNE_ROWS], candidate[TUNE_ROWS], row[TUNE_ROW];
    tune_dim *d = &s->space->dims[dim];
    const double before = d->at;
    tune_result result = {.verdict = TUNE_NO_TIME};
    tune_rows(s->space, present);
    d->at = value;
    tune_rows(s->space, candidate);
    tune_row(s->space, d->kernel, dim, row);
    d->at = before;
    if (s->bench->known(s->bench->job, row)) {
        s->tally->known++;
        return TUNE_SLOWER;
    }
    const double left_s = s->until_s - s->bench->now_s(s->bench->job);
    s->over = left_s <= 0;
    if (s->over) return TUNE_NO_TIME;
    s->bench->progress(s->bench->job, s->tally, left_s);
    s->bench->try_rows(s->bench->job, present, candidate, left_s, &result);
    count(s->tally, &result);
    s->over = result.verdict == TUNE_NO_TIME;
    const tune_verdict v = result.verdict;
    if (s->over || v == TUNE_SAME || v == TUNE_KNOWN || v == TUNE_BUSY) return v;
    s->status = s->bench->tried(s->bench->job, row, &result);
    if (s->status == TW_OK && result.verdict == TUNE_BETTER) {
        d->at = value;
        s->status = s->bench->keep(s->bench->job, s->space, &result);
    }
    s->over = s->status != TW_OK;
    return result.verdict;
}

/* On in one direction while it is better, and over a few steps that change no plan; true: it was better. */
static bool walk(search *s, int dim, int direction, double step)
{
    enum { MOST_SAME = 4 };
    const tune_dim *d = &s->space->dims[dim];
    double from = d->at;
    bool better = false;
    for (int same = 0; !s->over && same < MOST_SAME;) {
        const double next = neighbour(&d->about, from, direction, step);
        if (next == from) break;
        const tune_verdict verdict = try_value(s, dim, next);
        if (verdict != TUNE_BETTER && verdict != TUNE_SAME) break;
        better |= verdict == TUNE_BETTER;
        same = verdict == TUNE_SAME ? same + 1 : 0;
        from = next;
    }
    return better;
}

/* Where no single step is better: one parameter by several steps at a time; true: that was better. */
static bool leap(search *s)
{
    enum { LONGEST = 5 };
    for (int steps = 2; steps <= LONGEST; steps++)
        for (int i = 0; i < 2 * s->space->count && !s->over; i++) {
            const tune_dim *d = &s->space->dims[i / 2];
            const double next = neighbour(&d->about, d->at, i % 2 ? -1 : 1, pow(d->about.step, steps));
            if (next != d->at && try_value(s, i / 2, next) == TUNE_BETTER) return true;
        }
    return false;
}

/* Step by step, then by half steps, until none is better. */
static void climb(search *s)
{
    enum { LEVELS = 2 };
    for (int level = 0; level < LEVELS && !s->over; level++)
        for (bool better = true; better && !s->over;) {
            better = false;
            for (int i = 0; i < s->space->count && !s->over; i++) {
                const double step = pow(s->space->dims[i].about.step, level == 0 ? 1 : 0.5);
                if (walk(s, i, 1, step) || walk(s, i, -1, step)) better = true;
            }
        }
}

/* Back to the committed value wherever the plan stays the same: what is left says what made the difference. */
static void tidy(search *s)
{
    for (int i = 0; i < s->space->count && !s->over; i++) {
        tune_dim *d = &s->space->dims[i];
        if (d->at != d->committed && try_value(s, i, d->committed) == TUNE_SAME) d->at = d->committed;
    }
}

tw_status tune_search(tune_space *space, const tune_bench *bench, double until_s, tune_tally *tally)
{
    search s = {.space = space, .bench = bench, .until_s = until_s, .tally = tally, .status = TW_OK};
    *tally = (tune_tally){.gain = 1, .low_gain = 1, .high_gain = 1};
    do climb(&s);
    while (!s.over && leap(&s));
    tidy(&s);
    tally->finished = !s.over;
    return s.status;
}
