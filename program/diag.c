/* diag.c - sentences on stderr, and the one place where a status becomes an exit code. */
#include "diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "layout.h"
#include "term.h"

static const char *command_name;

void diag_command(const char *name) { command_name = name; }

const char *diag_command_name(void) { return command_name; }

/* Controls of one byte, those of U+0080 to U+009F, and what turns the direction of writing: U+200E, U+200F, U+202A to
 * U+202E, U+2066 to U+2069. */
static void tame(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c != '\0'; c++) {
        const bool control = c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f,
                   turns = c[0] == 0xe2 &&
                           ((c[1] == 0x80 && (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xaa && c[2] <= 0xae))) ||
                            (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9));
        if (*c < ' ' || *c == 127 || control) *c = '?';
        if (control) c[1] = '?';
        if (turns) c[0] = c[1] = c[2] = '?';
    }
}

const char *diag_name(const char *name, tame_name out)
{
    snprintf(out, sizeof(tame_name), "%s", name);
    tame(out);
    return out;
}

static bool holds;
static char held[4096]; /* sentences, a newline behind each */

static void put(const char *before, const char *sentence, int length)
{
    if (command_name != NULL)
        fprintf(stderr, "tilewright: %s: %s%.*s\n", command_name, before, length, sentence);
    else
        fprintf(stderr, "tilewright: %s%.*s\n", before, length, sentence);
}

void diag_hold(void) { holds = true; }

void diag_let_go(bool print, const char *before)
{
    holds = false;
    for (const char *at = held; print && *at != '\0'; at += strcspn(at, "\n") + 1)
        put(before, at, (int)strcspn(at, "\n"));
    held[0] = '\0';
}

exit_code diag(exit_code code, const char *format, ...)
{
    char sentence[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    tame(sentence);
    term_progress_end();
    layout_flush();
    const size_t used = strlen(held);
    if (!holds)
        put("", sentence, (int)strlen(sentence));
    else if (used + strlen(sentence) + 2 < sizeof held)
        snprintf(held + used, sizeof held - used, "%s\n", sentence);
    return code;
}

/* A compiler's log, line by line behind the sentence. */
static void diag_log(const char *log)
{
    for (; *log != '\0'; log++) {
        bool begins = log[-1] == '\n';
        if (begins && *log != '\n') fputs("    ", stderr);
        if (*log != '\n' || !begins) fputc((unsigned char)*log < ' ' && *log != '\n' ? ' ' : *log, stderr);
    }
    if (log[-1] != '\n') fputc('\n', stderr);
}

exit_code diag_code(tw_status status)
{
    static const exit_code codes[] = {
        [TW_OK] = EXIT_OK,
        [TW_BAD_ARGUMENT] = EXIT_USAGE,
        [TW_NO_DEVICE] = EXIT_DEVICE,
        [TW_NO_KERNEL] = EXIT_DEVICE,
        [TW_BUILD_FAILED] = EXIT_BUILD,
        [TW_NO_MEMORY] = EXIT_MEMORY,
        [TW_DEVICE_FAILED] = EXIT_RUN,
        [TW_CANCELLED] = EXIT_INTERRUPTED,
    };
    return codes[status];
}

exit_code diag_tw(tw_status status)
{
    const char *text = tw_error_text(), *log = strchr(text, '\n');
    if (text[0] == '\0') text = tw_status_text(status);
    diag(diag_code(status), "%.*s", log != NULL ? (int)(log - text) : (int)strlen(text), text);
    if (log != NULL && log[1] != '\0') diag_log(log + 1);
    return diag_code(status);
}

exit_code diag_io(io_status status, const io_error *error)
{
    static const exit_code codes[] = {
        [IO_OK] = EXIT_OK,
        [IO_BAD_FILE] = EXIT_INPUT,
        [IO_NO_MEMORY] = EXIT_MEMORY,
        [IO_CANNOT_WRITE] = EXIT_OUTPUT,
    };
    return diag(codes[status], "%s", error->text);
}

exit_code diag_no_memory(const char *what)
{
    return diag(EXIT_MEMORY, "memory ran out: there is no room for %s", what);
}

exit_code diag_lab(tw_status status, const char *what)
{
    return status == TW_NO_MEMORY ? diag_no_memory(what) : diag_tw(status);
}
