/* rung_words.c - see rung_words.h.
 *
 * The text is read as a compiler reads it: lines that end in a backslash are joined, then comments go, then words are
 * taken. No word can be made of others, since ## is refused; no text can hide in a string, since strings are. */
#include "rung_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../story.h"
#include "user_kernel.h"

typedef struct reading {
    const char *engine, *text, *rung;
    char *flat; /* the text with lines joined, comments blank */
    int *line;  /* of the text, for each byte of flat */
    char *why;
} reading;

static bool in_word(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || (unsigned char)c >= 128;
}

static size_t word_at(const char *at)
{
    size_t length = 0;
    while (in_word(at[length])) length++;
    return length;
}

/* Is it one of these, each between blanks? */
static bool is_one_of(const char *words, const char *word, size_t length)
{
    for (const char *at = words; (at = strstr(at, " ")) != NULL; at++)
        if (strncmp(at + 1, word, length) == 0 && at[1 + length] == ' ') return true;
    return false;
}

/* ---- the text as it is compiled ---- */

static size_t joint_at(const char *at)
{
    return at[0] != '\\' ? 0 : at[1] == '\n' ? 2 : at[1] == '\r' && at[2] == '\n' ? 3 : 0;
}

static bool flatten(reading *in)
{
    const size_t bytes = strlen(in->text) + 1;
    size_t count = 0, skip;
    int line = 1;
    in->flat = malloc(bytes), in->line = malloc(bytes * sizeof *in->line);
    if (in->flat == NULL || in->line == NULL) return false;
    for (const char *at = in->text; *at != '\0';) {
        if ((skip = joint_at(at)) > 0) {
            at += skip, line++;
            continue;
        }
        in->flat[count] = *at, in->line[count++] = line;
        line += *at++ == '\n';
    }
    in->flat[count] = '\0', in->line[count] = line;
    for (char *at = in->flat; *at != '\0';) { /* a comment's lines stay lines: what follows it is not in a directive */
        char *end = in->flat + (user_kernel_skip(at) - in->flat);
        const bool comment = at[0] == '/' && end > at;
        for (char *c = at; comment && c < end; c++)
            if (*c != '\n') *c = ' ';
        at = end > at ? end : at + 1;
    }
    return true;
}

/* ---- words ---- */

/* Does this line of the text stand in the rung too? */
static bool is_of_rung(const reading *in, int line)
{
    const char *at = in->text;
    for (int number = 1; number < line && at != NULL; number++) at = strchr(at, '\n'), at += at != NULL;
    if (at == NULL) return false;
    at += strspn(at, " \t");
    size_t length = strcspn(at, "\r\n");
    if (length == 0) return false;
    for (const char *found = in->rung; (found = strstr(found, "\n")) != NULL;) {
        found++;
        found += strspn(found, " \t");
        if (strncmp(found, at, length) == 0 && found[length] == '\n') return true;
    }
    return false;
}

/* false, unless the line is the rung's own. */
static bool refuse(const reading *in, const char *at, int length, const char *what)
{
    const int line = in->line[at - in->flat];
    if (is_of_rung(in, line)) return true;
    snprintf(in->why, HOST_WHY, "line %d: `%.*s` %s", line, length < 60 ? length : 60, at, what);
    for (char *c = in->why; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    return false;
}

/* Words that begin with an underscore are the compiler's. */
static const char underscored[] =
    " __kernel __global __local __private __constant __global__ __device__ __shared__ __constant__ __forceinline__ "
    "__noinline__ __launch_bounds__ __align__ __restrict__ __restrict __syncthreads __syncwarp __ldg __ldcg "
    "__threadfence __threadfence_block __threadfence_system __fmaf_rn __fmul_rn __fadd_rn _Static_assert "
    "__attribute__ ";
/* Attributes that need no string, by which code runs at loading or is not watched, in case a macro hides them. */
static const char never[] = " asm constructor destructor no_sanitize_thread disable_sanitizer_instrumentation ";
static const char attributes[] = " reqd_work_group_size work_group_size_hint aligned always_inline noinline ";
static const char directives[] = " include define undef if ifdef ifndef elif else endif error warning pragma ";
static const char pragmas[] = " unroll OPENCL once ";

/* `((aligned(16)))` behind __attribute__. */
static bool is_attribute(const char *at)
{
    at += strspn(at, " \t\r\n");
    if (strncmp(at, "((", 2) != 0) return false;
    at += 2 + strspn(at + 2, " \t");
    const size_t word = word_at(at);
    if (!is_one_of(attributes, at, word)) return false;
    at += word + strspn(at + word, " \t");
    if (*at == '(') at += strcspn(at + 1, "()\n") + 1;
    return strncmp(at, ")))", 3) == 0 || strncmp(at, "))", 2) == 0;
}

static bool check_word(const reading *in, const char *at, size_t length)
{
    const bool own = length >= 5 && (strncmp(at, "host_", 5) == 0 || strncmp(at, "HOST_", 5) == 0);
    const char *none = "is no word of a rung";
    if (own || is_one_of(never, at, length)) return refuse(in, at, (int)length, none);
    if (*at != '_') return true;
    if (!is_one_of(underscored, at, length)) return refuse(in, at, (int)length, none);
    const bool fine = length != 13 || strncmp(at, "__attribute__", 13) != 0 || is_attribute(at + length);
    return fine || refuse(in, at, (int)strcspn(at, ";{\n"), "is no attribute of a rung's");
}

/* A header of kernels/, which the program has. */
static bool is_header(const reading *in, const char *at)
{
    char file[320], name[256];
    const char *below = name;
    if (sscanf(at, " \"%255[^\"\n]\"", name) != 1) return false;
    while (strncmp(below, "../", 3) == 0) below += 3;
    snprintf(file, sizeof file, "%s/%s", in->engine, below);
    return story_text_of(file) != NULL;
}

/* Behind # of a line of the preprocessor. *end: what is still to be read of it. */
static bool check_directive(const reading *in, const char *at, const char **end)
{
    const char *word = at + strspn(at, " \t"), *line_end = word + strcspn(word, "\n");
    const size_t length = word_at(word);
    const char *next = word + length + strspn(word + length, " \t");
    *end = next;
    if (length == 0 && word == line_end) return true;
    if (!is_one_of(directives, word, length))
        return refuse(in, word, (int)(length > 0 ? length : 1), "is no directive of a rung");
    if (length == 6 && strncmp(word, "pragma", 6) == 0 && !is_one_of(pragmas, next, word_at(next)))
        return refuse(in, word, (int)(line_end - word), "is no pragma of a rung");
    if (is_one_of(" error warning include ", word, length)) *end = line_end;
    if (length != 7 || strncmp(word, "include", 7) != 0) return true;
    return is_header(in, next) || refuse(in, word, (int)(line_end - word), "names no header of the ladder");
}

/* Neither a word nor the beginning of a line of the preprocessor. */
static bool check_sign(const reading *in, const char *at)
{
    if (*at == '\\') return refuse(in, at, 1, "ends no line");
    if (*at == '\'' || *at == '"')
        return refuse(in, at, (int)strcspn(at, "\n"), "is a string, of which a rung has none");
    return (*at != '#' && strncmp(at, "%:", 2) != 0) || refuse(in, at, 2, "makes new words, as no rung does");
}

static bool check_all(const reading *in)
{
    bool begins = true, fine = true; /* begins: nothing but blanks stands before in this line */
    for (const char *at = in->flat, *end; fine && *at != '\0'; at = end) {
        const size_t word = word_at(at), sign = *at == '#' ? 1 : strncmp(at, "%:", 2) == 0 ? 2 : 0;
        end = at + (word > 0 ? word : strncmp(at, "\"C\"", 3) == 0 ? 3 : 1);
        if (word > 0)
            fine = check_word(in, at, word);
        else if (sign > 0 && begins)
            fine = check_directive(in, at + sign, &end);
        else if (end == at + 1) /* "C" is that of extern */
            fine = check_sign(in, at);
        begins = *at == '\n' || (begins && strchr(" \t\r\v\f", *at) != NULL);
    }
    return fine;
}

bool rung_words_only(const char *engine, const char *text, const char *rung, char why[HOST_WHY], exit_code *code)
{
    reading in = {.engine = engine, .text = text, .rung = rung, .why = why};
    why[0] = '\0';
    const bool whole = flatten(&in), fine = whole && check_all(&in);
    *code = whole ? EXIT_OK : EXIT_MEMORY;
    free(in.flat);
    free(in.line);
    return fine;
}

const char *rung_words_of_cpp(const char *text)
{
    static const char *const words[] = {"template",   "auto",     "constexpr", "static_cast", "reinterpret_cast",
                                        "const_cast", "nullptr",  "class",     "namespace",   "using",
                                        "operator",   "typename", "decltype",  "float2",      "float3",
                                        "double2",    "dim3"};
    for (const char *at = text, *end; *at != '\0'; at = end) {
        const size_t word = word_at(at);
        end = word > 0 ? at + word : user_kernel_skip(at);
        for (size_t i = 0; word > 0 && i < sizeof words / sizeof *words; i++)
            if (strlen(words[i]) == word && strncmp(words[i], at, word) == 0) return words[i];
        if (end == at) end = at + 1;
    }
    return NULL;
}
