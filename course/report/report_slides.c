/* report_slides.c - see report_slides.h. Questions and answers come from the records and from the rungs' own words. */
#include "report_slides.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../story.h"
#include "html.h"
#include "report_parts.h"

const char slides_style[] =
    "html{scroll-snap-type:y "
    "mandatory}body{font-size:clamp(14px,min(1.5vw,2.3vh),30px)}header,main,footer{max-width:none;padding:"
    "0}.slide{min-height:100vh;scroll-snap-align:start;padding:2vh 3vw;display:flex;flex-direction:column;"
    "justify-content:center}\n.slide h1{font-size:2.4em}.slide h2{font-size:1.7em;line-height:1.2;border:0;margin:0 0 "
    ".3em}.slide "
    "p{max-width:none}.slide svg{max-height:62vh}.slide .narrow{max-height:none}.slide "
    "pre{font-size:min(.8em,1.5vw,1.7vh);overflow-x:auto}.slide "
    "figcaption{max-width:none}.slide details{font-size:1.05em}.slide li{margin:.2em 0}\n@media print{@page{size:A4 "
    "landscape}html{font-size:12pt}.slide{min-height:0;display:block;break-after:page;padding:0}.slide "
    "svg{max-height:105mm}.slide "
    "pre{font-size:8pt}body{font-size:11pt}footer.slide{break-after:auto}}\n";

/* ---- whole ladders ---- */

static void name_ladder(const report *r, const ladder *l)
{
    report_machine_text machine;
    report_shape_text shape;
    html_print(r->out, "%t, %t", report_machine(r, l->machine, machine), report_shape(l, shape));
}

/* How many times as fast a step is as the one before it; NAN: one of them has no time. */
static double gain_of(const ladder_step *before, const ladder_step *step)
{
    bool both = before != NULL && row_timed(before->row) && row_timed(step->row);
    return both ? before->row->r.median_s / step->row->r.median_s : (double)NAN;
}

static void tell_gain(FILE *out, const ladder_step *before, const ladder_step *step)
{
    units_text factor;
    html_print(out, "<strong>%t</strong>: %t times as fast as %t", step->label,
               units_factor(gain_of(before, step), factor), before->label);
}

static void bars_slide(const report *r, const ladder *l)
{
    FILE *out = r->out;
    const ladder_step *best = NULL, *fastest = NULL;
    slide_begin(out, "bars", l->machine);
    name_ladder(r, l);
    fputs(": which step gains the most, and which lose?", out);
    slide_figure(out);
    report_draw_bars(r, l, false);
    fputs("<figcaption>", out);
    report_caption_bars(r, l);
    fputs("</figcaption>\n", out);
    slide_answer(out);
    for (int i = 0; i < l->count; i++) {
        const ladder_step *step = &l->steps[i];
        const double gain = gain_of(ladder_before(l, step), step);
        if (gain > 1 && (best == NULL || gain > gain_of(ladder_before(l, best), best))) best = step;
        if (ladder_compares(l, step->row) && row_speed(step->row) > 0 &&
            (fastest == NULL || row_speed(step->row) > row_speed(fastest->row)))
            fastest = step;
    }
    if (best != NULL) {
        fputs("<li>The most gains ", out);
        tell_gain(out, ladder_before(l, best), best);
        fputs(".</li>\n", out);
    }
    for (int i = 0; i < l->count; i++) {
        const ladder_step *before = ladder_before(l, &l->steps[i]);
        if (!(gain_of(before, &l->steps[i]) < 0.97)) continue;
        fputs("<li>Slower: ", out);
        tell_gain(out, before, &l->steps[i]);
        fputs(".</li>\n", out);
    }
    if (fastest != NULL) {
        units_text speed, share;
        html_print(out, "<li>The fastest of the ladder is <strong>%t</strong> with %t GFLOP/s", fastest->label,
                   report_speed(row_speed(fastest->row), speed));
        const double peak = report_peak(l, &fastest->row->r);
        if (peak > 0)
            html_print(out, ", %t of the measured peak", units_percent(row_speed(fastest->row) / peak, share));
        fputs(".</li>\n", out);
    }
    slide_end(out);
}

static void roofline_slide(const report *r, const ladder *l)
{
    FILE *out = r->out;
    int above = 0;
    if (!report_has_roofline(l)) return;
    slide_begin(out, "roofline", l->machine);
    name_ladder(r, l);
    fputs(": which rungs are faster than the bytes that they ask of memory allow? How can that be?", out);
    slide_figure(out);
    report_draw_roofline(r, l);
    fputs("<figcaption>", out);
    report_caption_roofline(r, l);
    fputs("</figcaption>\n", out);
    slide_answer(out);
    for (int i = 0; i < l->count; i++) {
        const records_row *row = l->steps[i].row;
        units_text speed, bound;
        if (!ladder_compares(l, row) || !(row_speed(row) > row_no_cache_gflops(row))) continue;
        html_print(out, "<li><strong>%t</strong>: %t GFLOP/s, where its bytes allow %t.</li>\n", l->steps[i].label,
                   report_speed(row_speed(row), speed), report_speed(row_no_cache_gflops(row), bound));
        above++;
    }
    fputs(above > 0
              ? "<li>A cache serves bytes that are asked for again: they do not come from memory each time.</li>\n"
              : "<li>None. What holds them back is not the bandwidth of memory alone.</li>\n",
          out);
    slide_end(out);
}

/* ---- steps ---- */

/* What there is to wonder at in a step, from the two measured rows. */
static void ask_about_step(FILE *out, const ladder_step *before, const ladder_step *step)
{
    const record *old = &before->row->r, *new = &step->row->r;
    const double gain = gain_of(before, step), less = old->bytes_asked / new->bytes_asked;
    units_text times, fewer;
    units_factor(gain, times), units_number(less, fewer);
    if (gain < 0.97)
        html_print(out, "%t is slower than %t: %t times its speed. What does the step cost?", step->label,
                   before->label, times);
    else if (gain < 1.05)
        html_print(out, "%t is about as fast as %t. Why does the step gain nothing here?", step->label, before->label);
    else if (new->threads > old->threads && old->threads > 0)
        html_print(out, "%t runs on %d threads, %t on %d. Why is it %t times as fast?", step->label, (int)new->threads,
                   before->label, (int)old->threads, times);
    else if (less > 1.05 && gain < less / 1.2)
        html_print(out, "%t asks for %t times fewer bytes than %t. Why is it only %t times as fast?", step->label,
                   fewer, before->label, times);
    else if (less > 1.05)
        html_print(out, "%t asks for %t times fewer bytes than %t. Why is it %t times as fast?", step->label, fewer,
                   before->label, times);
    else if (isnan(less))
        html_print(out, "%t is %t times as fast as %t. Why?", step->label, times, before->label);
    else
        html_print(out, "%t asks for %h bytes %h %t. Why is it %t times as fast?", step->label,
                   less < 0.95 ? "more" : "the same", less < 0.95 ? "than" : "as", before->label, times);
}

static void ask_about_first(FILE *out, const ladder_step *step)
{
    units_text share;
    if (step->row->r.peak_gflops > 0)
        html_print(out, "%t reaches %t of the measured peak. What holds it back?", step->label,
                   units_percent(row_speed(step->row) / step->row->r.peak_gflops, share));
    else
        html_print(out, "%t: what does it do, and what limits it?", step->label);
}

static void tell_row(const report *r, const ladder *l, const ladder_step *step)
{
    const record *d = &step->row->r;
    units_text speed, bytes, share;
    report_machine_text machine;
    html_print(r->out, "<li>Measured on %t: <strong>%t</strong> %t GFLOP/s", report_machine(r, l->machine, machine),
               step->label, report_speed(d->gflops, speed));
    if (d->peak_gflops > 0) html_print(r->out, ", %t of the peak", units_percent(d->gflops / d->peak_gflops, share));
    if (d->bytes_asked > 0) html_print(r->out, "; it asks for %t", units_bytes(d->bytes_asked, bytes));
    fputs(".</li>\n", r->out);
}

static void tell_idea(FILE *out, const tw_lab_kernel *kernel, const char *idea)
{
    html_print(out, "<pre role=\"group\" tabindex=\"0\" aria-label=\"The idea of %t\">%t</pre>\n", kernel->rung, idea);
}

/* Does a text leave room for a figure on the same screen? */
static bool is_short(const char *text)
{
    int lines = 1;
    for (const char *c = text; *c != '\0'; c++) lines += *c == '\n';
    return lines <= 20;
}

static tw_status step_slide(const report *r, const ladder *l, const ladder_step *step, int number)
{
    FILE *out = r->out;
    const ladder_step *before = ladder_before(l, step);
    const bool compared = !isnan(gain_of(before, step));
    const tw_lab_kernel *kernel = row_kernel(step->row);
    story s;
    tw_status status = story_tell(kernel, &s);
    if (status != TW_OK) return status;
    const char *idea = story_part_text(&s, "IDEA"), *changed = story_part_text(&s, "CHANGED"),
               *numbers = story_part_text(&s, "NUMBERS");
    slide_begin(out, "step", number);
    if (compared)
        ask_about_step(out, before, step);
    else
        ask_about_first(out, step);
    fputs("</h2>\n", out);
    html_print(out, "<p>Idea: %t%h%t</p>\n", kernel->idea, changed != NULL ? ". Changed " : "",
               changed != NULL ? changed : ".");
    if (idea != NULL && is_short(idea)) tell_idea(out, kernel, idea);
    fputs("<figure>\n", out);
    report_draw_step(r, l, compared ? before : NULL, step);
    slide_answer(out);
    if (numbers != NULL) html_print(out, "<li>%t</li>\n", numbers);
    if (compared) tell_row(r, l, before);
    tell_row(r, l, step);
    if (idea != NULL && !is_short(idea)) {
        fputs("<li>", out);
        tell_idea(out, kernel, idea);
        fputs("</li>\n", out);
    }
    slide_end(out);
    story_free(&s);
    return TW_OK;
}

static bool is_host(const ladder *l, const report *r)
{
    return strcmp(r->ladders->machines[l->machine].engine, "cpu") == 0;
}

/* Has a machine before this one, of its kind, a slide of this rung? CUDA and OpenCL have the same rungs. */
static bool is_told(const report *r, const ladder *l, const ladder_step *step)
{
    for (int i = 0; i < l->machine; i++) {
        const ladder *other = ladder_main(r->ladders, i);
        if (other == NULL || is_host(other, r) != is_host(l, r)) continue;
        for (int s = 0; s < other->count; s++)
            if (row_timed(other->steps[s].row) && strcmp(row_rung(other->steps[s].row), row_rung(step->row)) == 0)
                return true;
    }
    for (const ladder_step *other = l->steps; other < step; other++)
        if (row_timed(other->row) && strcmp(row_rung(other->row), row_rung(step->row)) == 0) return true;
    return false;
}

/* ---- all ---- */

static void title_slide(const report *r)
{
    FILE *out = r->out;
    fputs("<header class=\"slide\">\n<h1>The ladder of matrix multiplication</h1>\n<p>C = A B, from three plain loops "
          "to the kernel that production calls use. Each slide asks first; think, then open the answer.</p>\n<nav "
          "aria-label=\"Machines\">\n<ul>\n",
          out);
    for (int i = 0; i < r->ladders->machine_count; i++) {
        const ladder *l = ladder_main(r->ladders, i);
        if (l == NULL || l->timed == 0) continue;
        html_print(out, "<li><a href=\"#bars-%d\">", i);
        name_ladder(r, l);
        fputs("</a></li>\n", out);
    }
    fputs("</ul>\n</nav>\n<p class=\"faint\">Page Down: the next slide. Tab, then Enter: the answer.</p>\n</header>\n",
          out);
}

tw_status report_slides(const report *r)
{
    tw_status status = TW_OK;
    int number = 0;
    title_slide(r);
    fputs("<main>\n", r->out);
    for (int i = 0; i < r->ladders->machine_count; i++) {
        const ladder *l = ladder_main(r->ladders, i);
        if (l == NULL || l->timed == 0) continue;
        bars_slide(r, l);
        roofline_slide(r, l);
        for (int s = 0; status == TW_OK && s < l->count; s++) {
            const ladder_step *step = &l->steps[s];
            if (row_timed(step->row) && row_kernel(step->row) != NULL && !is_told(r, l, step))
                status = step_slide(r, l, step, number++);
        }
    }
    report_size_slides(r);
    fputs("</main>\n", r->out);
    return status;
}
