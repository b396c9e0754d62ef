/* rung_words.c - see rung_words.h.
 *
 * The text is read as a compiler reads it: lines that end in a backslash are joined, then comments go, then words are
 * taken. What is left is what is compiled, so that nothing is read in two ways. No word can be made of others, since ##
 * is refused; no text can hide in a string, since strings are. */
#include "rung_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../story.h"
#include "user_kernel.h"

typedef struct reading {
    const char *engine, *flat, *rung;
    char *why;
} reading;

/* Is it one of these, each between blanks? */
static bool is_one_of(const char *words, const char *word, size_t length)
{
    for (const char *at = words; (at = strstr(at, " ")) != NULL; at++)
        if (strncmp(at + 1, word, length) == 0 && at[1 + length] == ' ') return true;
    return false;
}

/* ---- the text as it is compiled ---- */

/* Lines that end in a backslash joined, comments blank, and as many line ends: what is checked is what is compiled. */
char *rung_words_text(const char *text)
{
    char *flat = malloc(strlen(text) + 1), *to = flat;
    int joined = 0;
    if (flat == NULL) return NULL;
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) text += 3; /* the mark of UTF-8 that editors set */
    for (const char *at = text; *at != '\0'; at++) {
        if (at[0] == '\r' && at[1] == '\n') continue;
        const char *end = at + 1 + strspn(at + 1, " \t\v\f\r"); /* compilers look over blanks there */
        if (*at == '\\' && *end == '\n') {
            at = end, joined++;
            continue;
        }
        *to++ = *at;
        for (; *at == '\n' && joined > 0; joined--) *to++ = '\n';
    }
    *to = '\0';
    for (char *at = flat; *at != '\0';) {
        char *end = flat + (user_kernel_skip(at) - flat);
        const bool comment = at[0] == '/' && end > at;
        for (char *c = at; comment && c < end; c++)
            if (*c != '\n') *c = ' ';
        at = end > at ? end : at + 1;
    }
    return flat;
}

/* ---- words ---- */

/* Does the line of this place stand in the rung too? */
static bool is_of_rung(const reading *in, const char *at)
{
    const char *first = at;
    while (first > in->flat && first[-1] != '\n') first--;
    first += strspn(first, " \t");
    const size_t length = strcspn(first, "\n");
    for (const char *found = in->rung; length > 0 && (found = strchr(found, '\n')) != NULL;) {
        found += 1 + strspn(found + 1, " \t");
        if (strncmp(found, first, length) == 0 && found[length] == '\n') return true;
    }
    return false;
}

static int line_of(const reading *in, const char *at)
{
    int line = 1;
    for (const char *c = in->flat; c < at; c++) line += *c == '\n';
    return line;
}

/* false, unless the line is the rung's own. */
static bool refuse(const reading *in, const char *at, int length, const char *what)
{
    if (is_of_rung(in, at)) return true;
    snprintf(in->why, HOST_WHY, "line %d: `%.*s` %s", line_of(in, at), length < 60 ? length : 60, at, what);
    for (char *c = in->why; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c >= 127) *c = '?';
    return false;
}

/* Words that begin with two underscores, or with one and a capital, are the compiler's. */
static const char underscored[] =
    " __kernel __global __local __private __constant __global__ __device__ __shared__ __constant__ __forceinline__ "
    "__noinline__ __launch_bounds__ __align__ __restrict__ __restrict __syncthreads __syncwarp __ldg __ldcg "
    "__threadfence __threadfence_block __threadfence_system __fmaf_rn __fmul_rn __fadd_rn __mul24 __host__ __inline__ "
    "__OPENCL_VERSION__ __CUDA_ARCH__ _Static_assert __attribute__ ";
/* Attributes that need no string, by which code runs at loading or is not watched, in case a macro hides them. */
static const char never[] = " asm constructor destructor no_sanitize_thread disable_sanitizer_instrumentation ";
static const char attributes[] = " reqd_work_group_size work_group_size_hint aligned always_inline noinline ";
static const char directives[] = " include define undef if ifdef ifndef elif else endif error pragma ";
static const char pragmas[] = " unroll OPENCL once ";

/* `((aligned(16)))` behind __attribute__. */
static bool is_attribute(const char *at)
{
    at += strspn(at, " \t\r\n");
    if (strncmp(at, "((", 2) != 0) return false;
    at += 2 + strspn(at + 2, " \t");
    const size_t word = user_kernel_word(at);
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
    const bool linked = is_one_of(" _init _fini ", at, length); /* what a linker has run at loading */
    if (*at != '_' || (at[1] >= 'a' && at[1] <= 'z' && !linked)) return true;
    if (!is_one_of(underscored, at, length)) return refuse(in, at, (int)length, none);
    const bool fine = length != 13 || strncmp(at, "__attribute__", 13) != 0 || is_attribute(at + length);
    return fine || refuse(in, at, (int)strcspn(at, ";{\n"), "is no attribute of a rung's");
}

/* A header of the ladder's, or one that the rung includes; nothing but blanks behind it. */
static bool is_header(const reading *in, const char *at)
{
    char file[320], name[256], own[280];
    const char *below = name;
    int end = 0;
    if (sscanf(at, " \"%255[^\"\n]\"%n", name, &end) != 1 || end == 0) return false;
    at += end;
    if (at[strspn(at, " \t")] != '\n' && at[strspn(at, " \t")] != '\0') return false;
    while (strncmp(below, "../", 3) == 0) below += 3;
    snprintf(file, sizeof file, "%s/%s", in->engine, below);
    snprintf(own, sizeof own, "/%s\"", below);
    const bool ladder = strncmp(below, "rung.", 5) == 0 || strncmp(below, "wide.", 5) == 0;
    return story_text_of(file) != NULL && (ladder || strstr(in->rung, own) != NULL);
}

/* So that what stands for one word in a line cannot close the brackets around it. */
static bool is_balanced(const char *at, const char *end)
{
    int depth = 0;
    for (; at < end && depth >= 0; at++) depth += (*at == '(') - (*at == ')');
    return depth == 0;
}

/* Behind # of a line of the preprocessor. *end: what is still to be read of it. */
static bool check_directive(const reading *in, const char *at, const char **end)
{
    const char *word = at + strspn(at, " \t"), *line_end = word + strcspn(word, "\n");
    const size_t length = user_kernel_word(word);
    const char *next = word + length + strspn(word + length, " \t");
    *end = next;
    if (length == 0 && word == line_end) return true;
    if (!is_one_of(directives, word, length))
        return refuse(in, word, (int)(length > 0 ? length : 1), "is no directive of a rung");
    if (length == 6 && strncmp(word, "pragma", 6) == 0 && !is_one_of(pragmas, next, user_kernel_word(next)))
        return refuse(in, word, (int)(line_end - word), "is no pragma of a rung");
    if (!is_balanced(next, line_end))
        return refuse(in, word, (int)(line_end - word), "opens or closes a bracket without the other");
    if (length != 7 || strncmp(word, "include", 7) != 0) return true;
    *end = line_end;
    return is_header(in, next) || refuse(in, word, (int)(line_end - word), "names no header of the ladder");
}

/* Neither a word nor the beginning of a line of the preprocessor. */
static bool check_sign(const reading *in, const char *at)
{
    static const char *const others[] = {"[[", "<:", ":>", "<%", "%>"}; /* attributes, and signs by other names */
    const unsigned char c = (unsigned char)*at;
    if (c >= 127 || (c < ' ' && c != '\t' && c != '\n')) return refuse(in, at, 1, "is no sign of a rung");
    if (c == '\\') return refuse(in, at, 1, "ends no line");
    if (c == '\'' || c == '"') return refuse(in, at, (int)strcspn(at, "\n"), "is a string, of which a rung has none");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(at, others[i], 2) == 0) return refuse(in, at, 2, "is no sign of a rung");
    return (c != '#' && strncmp(at, "%:", 2) != 0) || refuse(in, at, 2, "makes new words, as no rung does");
}

static bool check_all(const reading *in)
{
    bool begins = true, directive = false, fine = true; /* begins: nothing but blanks stands before in this line */
    for (const char *at = in->flat, *end; fine && *at != '\0'; at = end) {
        const size_t word = user_kernel_word(at), sign = *at == '#' ? 1 : strncmp(at, "%:", 2) == 0 ? 2 : 0;
        const bool linkage = !directive && strncmp(at, "extern \"C\"", 10) == 0; /* which host_kernel.c removes */
        end = at + (linkage ? 10 : word > 0 ? word : 1);
        if (word > 0)
            fine = check_word(in, at, word);
        else if (sign > 0 && begins)
            fine = check_directive(in, at + sign, &end), directive = true;
        else
            fine = check_sign(in, at);
        const bool line_ends = *at == '\n';
        begins = line_ends || (begins && (*at == ' ' || *at == '\t'));
        directive = directive && !line_ends;
    }
    return fine;
}

int rung_words_includes(const char *flat)
{
    int count = 0;
    for (const char *at = flat; (at = strstr(at, "include")) != NULL; at++) count++;
    return count;
}

bool rung_words_only(const char *engine, const char *flat, const char *rung, char why[HOST_WHY])
{
    const reading in = {.engine = engine, .flat = flat, .rung = rung, .why = why};
    why[0] = '\0';
    return check_all(&in);
}

/* Words of C++, types, and calls whose values are more than numbers; of other calls a linker says what it misses. */
static const char unknown[] =
    " template auto constexpr static_cast reinterpret_cast const_cast nullptr class namespace using operator typename "
    "decltype struct union dim3 half as_float vload2 vload4 vload8 vload16 ";

/* float2, uint3, int16 and so on; convert_float4 and its like. */
static bool is_unknown(const char *at, size_t length)
{
    static const char types[] = " char uchar short ushort int uint long ulong half float double ";
    size_t letters = length;
    while (letters > 0 && at[letters - 1] >= '0' && at[letters - 1] <= '9') letters--;
    const bool vector = letters < length && is_one_of(" 2 3 4 8 16 ", at + letters, length - letters) &&
                        is_one_of(types, at, letters) && strncmp(at, "float4", 6) != 0;
    return vector || is_one_of(unknown, at, length) || strncmp(at, "convert_", 8) == 0;
}

/* `.s0`, `.xy`: places of a vector that are none of its four words. */
static bool is_place(const char *at)
{
    const size_t length = *at == '.' ? user_kernel_word(at + 1) : 0;
    return (length == 2 && at[1] == 's' && strchr("0123", at[2]) != NULL) ||
           (length > 1 && length <= 4 && strspn(at + 1, "xyzw") == length);
}

bool rung_words_unknown(const char *flat, char word[RUNG_WORD])
{
    for (const char *at = flat; *at != '\0';) {
        const size_t length = user_kernel_word(at);
        if (is_place(at) || (length > 0 && is_unknown(at, length))) {
            snprintf(word, RUNG_WORD, "%.*s", (int)(length > 0 ? length : 1 + user_kernel_word(at + 1)), at);
            return true;
        }
        at += length > 0 ? length : 1;
    }
    return false;
}
