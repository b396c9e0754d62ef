/* report.c - the page around the sections, and the records at its end. */
#define _POSIX_C_SOURCE 200809L
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../../program/units.h"
#include "chart.h"
#include "html.h"
#include "report_parts.h"
#include "report_slides.h"

static const char style[] =
    ":root{color-scheme:light "
    "dark;--ink:#1b1f24;--faint:#59626c;--rule:#c9d0d7;--paper:#fff;--card:#f5f7f9;--link:#0b5fa5;--new:#dff3e4;--old:#"
    "fbe3e1}\n@media "
    "(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--faint:#a3acb6;--rule:#3d454d;--paper:#14171a;--card:#1c2126;--"
    "link:#7db8f5;--new:#17351f;--old:#45201d}}\n*{box-sizing:border-box}\nbody{margin:0;background:var(--paper);color:"
    "var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu "
    "Sans',sans-serif}\nheader,main,footer{max-width:1360px;margin:0 auto;padding:0 "
    "12px}\nh1{font-size:1.7rem;line-height:1.25;margin:1rem 0 .5rem}h2{font-size:1.35rem;margin:2.2rem 0 "
    ".6rem;border-bottom:1px solid var(--rule)}h3{font-size:1.1rem;margin:1.4rem 0 "
    ".4rem}h1,h2,h3,p,dd,li,td,th,figcaption,caption{overflow-wrap:anywhere}\np{margin:.5rem "
    "0;max-width:75em}a{color:var(--link)}nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1rem;padding:0;margin:.5rem "
    "0;list-style:none}\n.skip{position:absolute;left:-999px}.skip:focus{left:8px;top:8px;background:var(--paper);"
    "padding:4px 8px;z-index:1}\n:focus-visible{outline:3px solid "
    "var(--link);outline-offset:2px}\n.side{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),"
    "1fr));gap:1rem}.side>*{min-width:0}\n.card{background:var(--card);border:1px solid "
    "var(--rule);border-radius:6px;padding:.2rem .9rem .7rem}.card "
    "h3{margin-top:.6rem}\ndl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem .9rem;margin:.3rem "
    "0}dt{color:var(--faint)}dd{margin:0;min-width:0}\nfigure{margin:.8rem "
    "0;overflow-x:auto}figcaption{color:var(--faint);font-size:"
    ".92rem;position:sticky;left:0;max-width:75em}svg{display:block;width:100%;min-width:44rem;height:auto}\n.scroll{"
    "overflow-x:auto;margin:.6rem "
    "0}table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}\ncaption{text-align:left;max-"
    "width:calc(100vw - 1.6rem);width:max-content;color:var(--faint);padding:.2rem 0}th,td{border-bottom:1px solid "
    "var(--rule);padding:.18rem "
    ".5rem;text-align:right;overflow-wrap:normal;white-space:nowrap}th:first-child,td.words{text-align:left}td.words{"
    "white-space:normal;min-width:14em}thead th{vertical-align:bottom;white-space:normal}tbody "
    "th{font-weight:600}\npre{overflow-x:auto;font:13px/1.4 ui-monospace,'DejaVu Sans "
    "Mono',Menlo,Consolas,monospace;background:var(--card);border:1px solid "
    "var(--rule);border-radius:6px;padding:.5rem .7rem;margin:.5rem 0}code{font-family:ui-monospace,'DejaVu Sans "
    "Mono',Menlo,Consolas,monospace;font-size:.92em}\npre ins,pre "
    "del{text-decoration:none;display:inline-block;min-width:100%}pre ins{background:var(--new)}pre "
    "del{background:var(--old)}\ndetails{margin:.4rem 0}summary{cursor:pointer;color:var(--link)}.story{border-top:1px "
    "solid var(--rule)}.story:first-of-type{border-top:0}.faint{color:var(--faint)}.wrong{font-weight:700}\n@media "
    "(max-width:520px){dl{grid-template-columns:1fr;gap:0}dt{margin-top:.3rem}.card "
    "dl{grid-template-columns:max-content 1fr;gap:.15rem .7rem}}\n@media "
    "print{@page{size:A4;margin:10mm}html{font-size:8pt}:root{--ink:#000;--faint:#333;--rule:#bbb;--paper:#fff;--card:#"
    "fff;--link:#000;--new:#e4f4e8;--old:#fbe6e4}body{font-size:7.5pt;line-height:1.3}header,main,footer{max-width:"
    "none;padding:0}nav,.skip{display:none}figure,.card,tr{break-inside:avoid}h1,h2,h3,h4,caption,summary{break-after:"
    "avoid}h2{margin:4mm 0 1mm}h3{margin:2.5mm 0 1mm}h4{margin:1.5mm 0 0}.side{grid-template-columns:1fr 1fr "
    "1fr}figure{margin:1mm 0;overflow:visible}svg{min-width:0;max-height:80mm}.scroll{overflow:visible;margin:1mm "
    "0}table{font-size:6.5pt}th,td{padding:.05rem "
    ".22rem}th{white-space:normal}pre{font-size:5.8pt;line-height:1.25;white-space:pre-wrap;overflow:visible;padding:"
    "1mm;margin:1mm 0}pre ins,pre del{display:inline}.story dl{grid-template-columns:max-content 1fr;gap:0 2mm}.story "
    "details{margin:0}.story .scroll,thead{break-inside:avoid;break-after:avoid}}\n";

/* ---- head and end of the page ---- */

static const ladder_step *fastest(const ladder *l)
{
    const ladder_step *best = NULL;
    for (int i = 0; i < l->count; i++) {
        const records_row *row = l->steps[i].row;
        bool compares = row_timed(row) && ladder_compares(l, row);
        if (compares && (best == NULL || row->r.gflops > best->row->r.gflops)) best = &l->steps[i];
    }
    return best;
}

static void tell_summary(const report *r)
{
    fputs("<ul>\n", r->out);
    for (int i = 0; i < r->ladders->machine_count; i++) {
        const ladder *l = ladder_main(r->ladders, i);
        const ladder_step *best = l != NULL ? fastest(l) : NULL;
        if (best == NULL) continue;
        units_text speed, share;
        report_shape_text shape;
        fputs("<li>", r->out);
        report_machine_name(r, i);
        html_print(r->out, ", %t: fastest is <strong>%t</strong> with <strong>%t GFLOP/s</strong>",
                   report_shape(l, shape), best->label, report_speed(best->row->r.gflops, speed));
        const double peak = report_peak(l, &best->row->r);
        chart_peak_text name;
        if (isfinite(peak))
            html_print(r->out, ", %t of the %t", units_percent(best->row->r.gflops / peak, share),
                       chart_peak_name(best->row->r.threads, name));
        const ladder_step *first = &l->steps[0];
        if (first != best && strncmp(first->label, "r01_", 4) == 0 && row_timed(first->row)) {
            const records_row *naive = first->by_default != NULL && row_timed(first->by_default) ? first->by_default
                                                                                                 : first->row;
            units_text factor;
            html_print(r->out, ", %t times r01_naive%h",
                       units_factor(naive->r.median_s / best->row->r.median_s, factor),
                       naive == first->by_default ? " in its default build" : "");
        }
        record_doubt_text doubt;
        if (record_doubt(&best->row->r, doubt)[0] != '\0')
            html_print(r->out, "; <strong class=\"wrong\">%t</strong>", doubt);
        fputs("</li>\n", r->out);
    }
    fputs("</ul>\n", r->out);
}

/* ---- sections ---- */

static bool always(const report *r)
{
    (void)r;
    return true;
}

static tw_status tell_records(const report *r);

/* In the order of the page. makes: the command whose records a section is made of, where it is not there. */
static const struct {
    const char *id, *name, *makes;
    bool (*has)(const report *r);
    tw_status (*write)(const report *r);
} sections[] = {
    {"devices", "Devices", NULL, always, report_devices},
    {"ladders", "Ladders and rooflines", NULL, report_has_ladder, report_charts},
    {"sizes", "Sizes", "several sizes (<code>tilewright ladder --size 128,256,512,1024 --json FILE</code>)",
     report_has_sizes, report_sizes},
    {"libraries", "Libraries", NULL, report_has_libraries, report_libraries},
    {"skinny", "Thin matrices", "thin matrices (<code>tilewright ladder --skinny --json FILE</code>)",
     report_has_skinny, report_skinny},
    {"cliffs", "Cliffs", "random shapes (<code>tilewright bench --cliffs --json FILE</code>)", report_has_cliffs,
     report_cliffs},
    {"traffic", "Traffic", NULL, report_has_traffic, report_traffic},
    {"stories", "The rungs", NULL, report_has_stories, report_stories},
    {"method", "Method", NULL, always, report_method},
    {"records", "Records", NULL, always, tell_records},
};
enum { SECTIONS = sizeof sections / sizeof *sections };

/* ---- the frame of the page ---- */

static void begin_head(FILE *out, const char *title, const char *more_style)
{
    html_print(out,
               "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"generator\" "
               "content=\"tilewright\">\n<title>Tilewright: %T</title>\n<style>\n%h%h%h</style>\n</head>\n<body>\n",
               74, title, style, chart_style, more_style);
}

void report_begin_page(FILE *out, const char *title, const char *more_style, const char *first)
{
    begin_head(out, title, more_style);
    html_print(out, "<a class=\"skip\" href=\"#%t\">To the content</a>\n<header>\n", first);
}

typedef char title_text[1100];
static const char *title_of(const report *r, title_text out)
{
    snprintf(out, sizeof(title_text), "the ladder%s%s", r->ladders->machine_count > 0 ? " on " : "",
             r->ladders->machine_count > 0 ? r->ladders->machines[0].device : "");
    return out;
}

static void begin_page(const report *r)
{
    FILE *out = r->out;
    title_text title;
    report_begin_page(out, title_of(r, title), "", "devices");
    fputs("<h1>The ladder of matrix multiplication</h1>\n<p>C = A B, from three plain loops to the kernel that "
          "production calls use: every step verified against an error bound, timed, and set beside what the machine "
          "allows. Speeds count 2 m n k flop.</p>\n",
          out);
    tell_summary(r);
    fputs("<nav aria-label=\"Sections\">\n<ul>\n", out);
    for (size_t i = 0; i < SECTIONS; i++)
        if (sections[i].has(r)) html_print(out, "<li><a href=\"#%h\">%h</a></li>\n", sections[i].id, sections[i].name);
    fputs("</ul>\n</nav>\n</header>\n<main>\n", out);
}

static void put_records(const report *r)
{
    fputs(RECORDS_ELEMENT "\n", r->out);
    for (int i = 0; i < r->all->count; i++) {
        html_json(r->out, r->all->rows[i].line);
        fputc('\n', r->out);
    }
    fputs("</script>\n", r->out);
}

static tw_status tell_records(const report *r)
{
    FILE *out = r->out;
    fputs("<section id=\"records\" aria-labelledby=\"records-h\">\n<h2 id=\"records-h\">The records</h2>\n", out);
    html_print(
        out,
        "<p>The %d records of which this page was made are part of it, one JSON object per line without the "
        "unknown fields: the text of the element <code>script id=\"tilewright-records\"</code>. <code>tilewright "
        "report FILE.html -o AGAIN.html</code> reads them back and makes this page again; <code>sed -n "
        "'/^&lt;script id=/,/^&lt;.script/{/^{/p}' FILE.html &gt; records.jsonl</code> takes them out.</p>\n",
        r->all->count);
    const char *lead = "<p>Not in these records: ";
    for (size_t i = 0; i < SECTIONS; i++)
        if (!sections[i].has(r) && sections[i].makes != NULL) {
            html_print(out, "%h%h", lead, sections[i].makes);
            lead = "; ";
        }
    if (lead[0] != '<') fputs(".</p>\n", out);
    put_records(r);
    fputs("</section>\n", out);
    return TW_OK;
}

static void end_page(const report *r)
{
    html_print(
        r->out,
        "</main>\n<footer>\n<p class=\"faint\">Made by tilewright %t. A number never travels alone: each "
        "record holds problem, kernel, device, method, times, error and versions.</p>\n</footer>\n</body>\n</html>\n",
        tw_version());
}

static tw_status write_slides(const report *r)
{
    title_text title;
    begin_head(r->out, title_of(r, title), slides_style);
    tw_status status = report_slides(r);
    html_print(
        r->out,
        "<footer class=\"slide\">\n<p class=\"faint\">Made by tilewright %t of %d records, which are part of this "
        "page: <code>tilewright report FILE.html -o PAGE.html</code> makes the page with all tables of "
        "them.</p>\n",
        tw_version(), r->all->count);
    put_records(r);
    fputs("</footer>\n</body>\n</html>\n", r->out);
    return status;
}

/* ---- the forms ---- */

static tw_status write_page(const report *r)
{
    tw_status status = TW_OK;
    begin_page(r);
    for (size_t i = 0; status == TW_OK && i < SECTIONS; i++)
        if (sections[i].has(r)) status = sections[i].write(r);
    end_page(r);
    return status;
}

/* What the records must be; false, and why. */
static bool check(const report *r, report_form form, char *why, size_t why_bytes)
{
    const ladders *l = r->ladders;
    int most_steps = 0;
    for (int i = 0; i < l->count; i++) most_steps = l->items[i].count > most_steps ? l->items[i].count : most_steps;
    if (r->all->count == 0)
        snprintf(why, why_bytes, "there are no records");
    else if (l->machine_count > REPORT_MACHINES)
        snprintf(why, why_bytes, "there are records of %d engines and devices, a page takes %d", l->machine_count,
                 REPORT_MACHINES);
    else if (l->count > REPORT_LADDERS)
        snprintf(why, why_bytes, "there are records of %d shapes on all machines, a page takes %d", l->count,
                 REPORT_LADDERS);
    else if (most_steps > REPORT_STEPS)
        snprintf(why, why_bytes, "there are records of %d rungs and tiles of one shape on one machine, a page takes %d",
                 most_steps, REPORT_STEPS);
    else if (form != REPORT_PAGE && !report_has_ladder(r) && !(form == REPORT_BARS && report_has_library_curves(r)))
        snprintf(why, why_bytes,
                 "there is no ladder among the records, which slides, and a chart or table alone, would show");
    else
        return true;
    return false;
}

report_form report_form_of(const char *path)
{
    const char *ending = strrchr(path, '.');
    if (ending == NULL || strchr(ending, '/') != NULL) return REPORT_PAGE;
    return strcmp(ending, ".svg") == 0 ? REPORT_BARS : strcmp(ending, ".md") == 0 ? REPORT_TABLE : REPORT_PAGE;
}

bool report_writes(const char *path)
{
    static const char *const endings[] = {".html", ".htm", ".svg", ".md"};
    const char *ending = strrchr(path, '.');
    if (ending == NULL || strchr(ending, '/') != NULL) return true;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (strcmp(ending, endings[i]) == 0) return true;
    return false;
}

tw_status report_write(FILE *out, const records *all, report_form form, char *why, size_t why_bytes)
{
    ladders sorted;
    tw_status status = ladders_sort(all, &sorted);
    if (status != TW_OK) return status;
    bool no_memory = false;
    const report r = {out, all, &sorted, &no_memory};
    if (!check(&r, form, why, why_bytes))
        status = TW_BAD_ARGUMENT;
    else if (form == REPORT_PAGE)
        status = write_page(&r);
    else if (form == REPORT_SLIDES)
        status = write_slides(&r);
    else if (form == REPORT_BARS && report_has_ladder(&r))
        report_bars(&r);
    else if (form == REPORT_BARS)
        report_library_curves(&r);
    else
        report_markdown(&r);
    if (no_memory) status = TW_NO_MEMORY;
    ladders_free(&sorted);
    return status;
}

bool report_shows_all(const records *all, report_form form)
{
    ladders sorted;
    if ((form != REPORT_BARS && form != REPORT_TABLE) || ladders_sort(all, &sorted) != TW_OK) return true;
    const ladder *first = NULL;
    for (int i = 0; first == NULL && i < sorted.machine_count; i++) first = ladder_main(&sorted, i);
    bool shows = first != NULL;
    for (int i = 0; first != NULL && i < sorted.count; i++) {
        const ladder *l = &sorted.items[i];
        shows &= form == REPORT_BARS ? l == first || l == ladder_libraries(&sorted, first)
                                     : l == ladder_main(&sorted, l->machine);
    }
    ladders_free(&sorted);
    return shows;
}
