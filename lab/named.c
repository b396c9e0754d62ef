/* named.c - see named.h. */
#include "named.h"

#include <string.h>

static bool begins(const char *name, const char *word)
{
    size_t length = strlen(word);
    return strncmp(word, name, length) == 0 && (name[length] == '\0' || name[length] == '_');
}

bool kernel_is_called(const tw_lab_kernel *row, const char *word)
{
    return begins(row->rung, word) || (row->formerly != NULL && begins(row->formerly, word)) ||
           tw_lab_kernel_named(word) == row;
}

/* Names of NumPy, ml_dtypes and C, and those of unsigned integers, which files hold. */
static const char *const type_names[][2] = {
#define DTYPE(id, name, bytes, class, result, gpu_name, fraction, bias, names, ...) {names, #name},
#include "../data/dtypes.def"
#undef DTYPE
    {"uint16 uint16_t", "u16"},
    {"uint32 uint32_t", "u32"},
    {"uint64 uint64_t", "u64"},
};

/* Words that C and Python have for different types. */
static const char *const type_doubts[][2] = {
    {"float", "f32 in C and f64 in Python"},
    {"int", "i32 in C and i64 in Python"},
};

/* Is it one of the words, between which stand blanks? */
static bool is_word(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (; *words != '\0'; words += strcspn(words, " "), words += *words == ' ')
        if (length > 0 && strcspn(words, " ") == length && strncmp(words, word, length) == 0) return true;
    return false;
}

static const char *beside(const char *const pairs[][2], size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (is_word(pairs[i][0], word)) return pairs[i][1];
    return NULL;
}

const char *type_called(const char *word)
{
    const char *name = beside(type_names, sizeof type_names / sizeof *type_names, word);
    return name != NULL ? name : word;
}

const char *type_doubt(const char *word) { return beside(type_doubts, sizeof type_doubts / sizeof *type_doubts, word); }
