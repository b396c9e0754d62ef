/* far.c - operands that are spread over far more addresses than there is memory. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "far.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Rows, or items, in a place of their own: only the pages that they lie on are there. */
typedef struct far_rows {
    char *at;
    int64_t count;
    size_t row_bytes, apart, bytes; /* from one row to the next; of all addresses */
} far_rows;

static bool far_make(far_rows *far)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if ((uint64_t)far->count * far->apart > SIZE_MAX / 2) return false;
    far->bytes = (size_t)far->count * far->apart + page;
    far->at = mmap(NULL, far->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (far->at == MAP_FAILED) return false;
    for (int64_t i = 0; i < far->count; i++) {
        const size_t first = (size_t)i * far->apart / page * page, last = (size_t)i * far->apart + far->row_bytes;
        if (mprotect(far->at + first, last - first, PROT_READ | PROT_WRITE) != 0) return false;
    }
    return true;
}

static void far_free(far_rows *far)
{
    if (far->at != NULL && far->at != MAP_FAILED) munmap(far->at, far->bytes);
}

static void spread(const far_rows *far, const char *from, size_t apart)
{
    for (int64_t i = 0; i < far->count; i++)
        memcpy(far->at + (size_t)i * far->apart, from + (size_t)i * apart, far->row_bytes);
}

static void gather(const far_rows *far, char *to, size_t apart)
{
    for (int64_t i = 0; i < far->count; i++)
        memcpy(to + (size_t)i * apart, far->at + (size_t)i * far->apart, far->row_bytes);
}

far_verdict far_product(tw_context *context, integers *x, bool items, int64_t apart, char *text, size_t text_bytes)
{
    tw_problem p = x->problem;
    tw_batch batch = x->batch;
    void *const near_by[3] = {x->a, x->b, x->c};
    const bool a_transposed = p.op_a == TW_T || p.op_a == TW_C, b_transposed = p.op_b == TW_T || p.op_b == TW_C;
    const int64_t rows[3] = {a_transposed ? p.k : p.m, b_transposed ? p.n : p.k, p.m};
    const int64_t cols[3] = {a_transposed ? p.m : p.k, b_transposed ? p.k : p.n, p.n};
    const int64_t lds[3] = {p.lda, p.ldb, p.ldc}, strides[3] = {batch.stride_a, batch.stride_b, batch.stride_c};
    far_rows far[3] = {{0}};
    size_t near_apart[3];
    far_verdict verdict = FAR_RIGHT;
    for (int i = 0; verdict == FAR_RIGHT && i < 3; i++) {
        const size_t bytes = (size_t)tw_lab_dtype_of(i < 2 ? p.dtype : element_of(p.dtype)->result)->bytes;
        far[i].count = items ? batch.count : rows[i];
        far[i].row_bytes = (size_t)(items ? (rows[i] - 1) * lds[i] + cols[i] : cols[i]) * bytes;
        far[i].apart = (size_t)apart * bytes;
        near_apart[i] = (size_t)(items ? strides[i] : lds[i]) * bytes;
        if (far_make(&far[i]))
            spread(&far[i], near_by[i], near_apart[i]);
        else
            verdict = FAR_NO_ROOM, snprintf(text, text_bytes, "no room for addresses this far apart");
    }
    if (items)
        batch.stride_a = batch.stride_b = batch.stride_c = apart;
    else
        p.lda = p.ldb = p.ldc = apart;
    for (int again = 0; verdict == FAR_RIGHT && again < 2; again++) {
        spread(&far[2], x->c, near_apart[2]);
        tw_status status = items ? tw_gemm_batched(context, &p, &batch, far[0].at, far[1].at, far[2].at)
                                 : tw_gemm(context, &p, far[0].at, far[1].at, far[2].at);
        gather(&far[2], x->c, near_apart[2]);
        if (status != TW_OK)
            verdict = FAR_WRONG, snprintf(text, text_bytes, "%s", tw_error_text());
        else if (!integers_judge(x, text, text_bytes))
            verdict = FAR_WRONG;
    }
    for (int i = 0; i < 3; i++) far_free(&far[i]);
    return verdict;
}
