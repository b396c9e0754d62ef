/* test_faults_memory.c - products of the CPU while memory runs out: the same bits with less of it, or with none. */
#include "support/aligned.h"
#include "support/tap.h"

#include <stdatomic.h>

#include "tilewright_lab.h"

static atomic_size_t most_bytes = SIZE_MAX; /* that the library gets at a time */
static atomic_int refusals;

/* In place of the system's, for the library in this program. */
void *aligned_alloc(size_t alignment, size_t bytes)
{
    if (bytes <= atomic_load(&most_bytes)) return system_aligned_alloc(alignment, bytes);
    atomic_fetch_add(&refusals, 1);
    return NULL;
}

/* A product on a context of its own, with no more than `most` bytes at a time; as two items, of half its rows each,
 * where halves is set. */
static tw_status product_within(size_t most, int threads, bool halves, const tw_problem *p, const void *a,
                                const void *b, void *c)
{
    tw_problem half = *p;
    half.m /= 2;
    const tw_batch batch = {.size = sizeof batch, .count = 2, .stride_a = half.m * p->lda, .stride_c = half.m * p->ldc};
    const tw_options options = {.size = sizeof options, .engine = "cpu", .threads = threads};
    tw_context *context = NULL;
    tw_status status = tw_open(&options, &context);
    if (status != TW_OK) return status;
    atomic_store(&most_bytes, most);
    status = halves ? tw_gemm_batched(context, &half, &batch, a, b, c) : tw_gemm(context, p, a, b, c);
    atomic_store(&most_bytes, SIZE_MAX);
    tw_close(context);
    return status;
}

/* Less and less memory for the packed parts: smaller blocks, none, those on the stack; always the same bits. */
static void memory_case(tw_dtype dtype, tw_op op_a, tw_op op_b, double beta)
{
    /* rows of B 4 KiB apart, and not few of C: packed, however large the caches are */
    enum { ROWS = 150, COLS = 1024, DEPTH = 700, MOST = 16 };
    static const size_t limits[] = {4 << 20, 1 << 20, 300 << 10, 100 << 10, 20 << 10, 0};
    if (!tap_case("cpu, memory runs out: %s %c%c beta %g", tw_lab_dtype_of(dtype)->name, "ntcr"[op_a], "ntcr"[op_b],
                  beta))
        return;
    tw_problem p = tw_problem_make(dtype, op_a, op_b, ROWS, COLS / tw_lab_dtype_of(dtype)->parts, DEPTH);
    unsigned char *a = malloc(ROWS * DEPTH * MOST), *b = malloc(DEPTH * COLS * MOST);
    char *old = calloc(ROWS * COLS, MOST), *whole = malloc(ROWS * COLS * MOST), *part = malloc(ROWS * COLS * MOST);
    bool right = a && b && old && whole && part;
    const int parts = tw_lab_dtype_of(dtype)->parts, width = tw_lab_dtype_of(dtype)->bytes / parts;
    p.beta = beta;
    if (parts == 2) p.alpha_imaginary = 0.5, p.beta_imaginary = -beta;
    /* Bytes of whatever pattern, but no number too large: the highest two of each are those of 1 to 2. */
    for (int i = 0; right && i < ROWS * DEPTH * MOST; i++) a[i] = (unsigned char)(i % 251 * 31);
    for (int i = 0; right && i < DEPTH * COLS * MOST; i++) b[i] = (unsigned char)(i % 241 * 37);
    for (int i = width - 1; right && width > 1 && i < ROWS * DEPTH * MOST; i += width) a[i] = 0x3f, a[i - 1] |= 0x80;
    for (int i = width - 1; right && width > 1 && i < DEPTH * COLS * MOST; i += width) b[i] = 0xbf, b[i - 1] |= 0x80;
    if (right) memcpy(whole, old, ROWS * COLS * MOST);
    right = right && product_within(SIZE_MAX, 1, false, &p, a, b, whole) == TW_OK;
    size_t most = SIZE_MAX;
    for (size_t i = 0; right && i < 4 * sizeof limits / sizeof *limits; i++) {
        if (i % 4 >= 2 && (op_a == TW_T || op_a == TW_C))
            continue; /* halves of its rows do not lie one after the other */
        int before = atomic_load(&refusals);
        most = limits[i / 4];
        memcpy(part, old, ROWS * COLS * MOST);
        right = product_within(most, 1 + (int)(i % 2), i % 4 >= 2, &p, a, b, part) == TW_OK &&
                memcmp(part, whole, ROWS * COLS * MOST) == 0;
        if (most == 0 && i % 4 < 2) right = right && atomic_load(&refusals) > before;
    }
    free(a), free(b), free(old), free(whole), free(part);
    tap_result(right, "within %zu bytes at a time: %s", most, tw_error_text());
}

static void memory_cases(void)
{
    memory_case(TW_F32, TW_N, TW_N, 0);
    memory_case(TW_F32, TW_N, TW_T, 1.5);
    memory_case(TW_F32, TW_T, TW_N, 1.5);
    memory_case(TW_F64, TW_N, TW_N, 1.5);
    memory_case(TW_F64, TW_T, TW_T, 0.5);
    memory_case(TW_BF16, TW_N, TW_N, 1.5);
    memory_case(TW_I8, TW_N, TW_T, 2);
    memory_case(TW_I16, TW_N, TW_T, 2);
    memory_case(TW_I64, TW_T, TW_N, -3);
    memory_case(TW_CF32, TW_N, TW_C, 1.5);
    memory_case(TW_CF32, TW_C, TW_R, 0);
    memory_case(TW_CF64, TW_T, TW_N, 0.5);
    memory_case(TW_CF64, TW_R, TW_T, 0);
}

int main(int argc, char **argv)
{
    tap_start(argc, argv);
    memory_cases();
    return tap_finish();
}
