/* term.c - progress, colour, width and bars of the terminal. */
#define _POSIX_C_SOURCE 200809L
#include "term.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "../lab/measure.h"

static FILE *upper, *lower;

void term_lay(FILE *text, FILE *to) { upper = text, lower = to; }

FILE *term_beneath(FILE *text) { return text == upper && text != NULL ? lower : text; }

static bool dumb(void)
{
    const char *term = getenv("TERM");
    return term != NULL && strcmp(term, "dumb") == 0;
}

term_paint term_paint_for(FILE *stream)
{
    const char *no_color = getenv("NO_COLOR");
    bool plain = !isatty(fileno(term_beneath(stream))) || dumb() || (no_color != NULL && no_color[0] != '\0');
    if (plain) return (term_paint){"", "", "", "", ""};
    return (term_paint){"\033[32m", "\033[1;31m", "\033[2m", "\033[1m", "\033[0m"};
}

/* What the user says of the width; 0: nothing. */
static int told_columns(void)
{
    const char *told = getenv("COLUMNS");
    char *end = NULL;
    long columns = told != NULL ? strtol(told, &end, 10) : 0;
    return end != NULL && *end == '\0' && columns >= 20 && columns <= 1000 ? (int)columns : 0;
}

static int terminal_columns(FILE *stream)
{
    struct winsize size = {0};
    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int term_width_of(FILE *stream)
{
    const int told = told_columns();
    return told > 0 ? told : terminal_columns(stream);
}

int term_width(void)
{
    const int width = term_width_of(stdout);
    return width > 0 ? width : 100;
}

int term_width_within(int most)
{
    int told = told_columns(), found = terminal_columns(stdout);
    return told > 0 ? told : found > 0 && found < most ? found : most;
}

static volatile sig_atomic_t showing;
static bool quiet;

void term_quiet(void) { quiet = true; }

void term_progress(const char *what, double fraction)
{
    static double last_s;
    static char last_what[80];
    double now_s = measure_now_s();
    bool changed = strncmp(last_what, what, sizeof last_what - 1) != 0;
    if (quiet || !isatty(STDERR_FILENO) || dumb() || (!changed && now_s - last_s < 0.1)) return;
    last_s = now_s;
    snprintf(last_what, sizeof last_what, "%s", what);
    showing = 1;
    const int width = term_width_of(stderr), room = width > 20 && width < 80 ? width - 10 : 70; /* one line */
    if (fraction >= 0)
        fprintf(stderr, "\r\033[K%.*s %3.0f %%", room, what, 100 * fraction);
    else
        fprintf(stderr, "\r\033[K%.*s ...", room, what);
    fflush(stderr);
}

void term_progress_end(void)
{
    if (!showing) return;
    showing = 0;
    fputs("\r\033[K", stderr);
    fflush(stderr);
}

bool term_progress_showing(void) { return showing; }

void term_bar(FILE *stream, double value, double most, int width)
{
    int cells = most > 0 && value > 0 ? (int)(value / most * width + 0.5) : 0;
    for (int i = 0; i < cells && i < width; i++) fputc('#', stream);
}
