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

/* Names of NumPy, ml_dtypes and C. Not NumPy's codes: its i8 has 8 bytes. */
static const char *const type_names[][2] = {
    {"float64", "f64"},      {"double", "f64"},     {"float32", "f32"},   {"single", "f32"},
    {"float16", "f16"},      {"half", "f16"},       {"bfloat16", "bf16"}, {"float8_e4m3fn", "e4m3"},
    {"float8_e5m2", "e5m2"}, {"complex64", "cf32"}, {"csingle", "cf32"},  {"complex128", "cf64"},
    {"cdouble", "cf64"},     {"int8", "i8"},        {"int8_t", "i8"},     {"int16", "i16"},
    {"int16_t", "i16"},      {"int32", "i32"},      {"int32_t", "i32"},   {"int64", "i64"},
    {"int64_t", "i64"},      {"uint8", "u8"},       {"uint8_t", "u8"},    {"uint16", "u16"},
    {"uint16_t", "u16"},     {"uint32", "u32"},     {"uint32_t", "u32"},  {"uint64", "u64"},
    {"uint64_t", "u64"},
};

/* Words that C and Python have for different types. */
static const char *const type_doubts[][2] = {
    {"float", "f32 in C and f64 in Python"},
    {"int", "i32 in C and i64 in Python"},
};

static const char *beside(const char *const pairs[][2], size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(pairs[i][0], word) == 0) return pairs[i][1];
    return NULL;
}

const char *type_called(const char *word)
{
    const char *name = beside(type_names, sizeof type_names / sizeof *type_names, word);
    return name != NULL ? name : word;
}

const char *type_doubt(const char *word) { return beside(type_doubts, sizeof type_doubts / sizeof *type_doubts, word); }
