/* cases.c - see cases.h. */
#include "cases.h"

#include <inttypes.h>
#include <stdio.h>
#include "../element.h"

/* clang-format off */
#define NN(group, m, n, k) {group, TW_N, TW_N, m, n, k, 0, false}
#define NT(group, m, n, k) {group, TW_N, TW_T, m, n, k, 0, false}
#define TRANSPOSED(group, n)                                                                                           \
    {group, TW_N, TW_T, n, n, n, 0, false}, {group, TW_T, TW_N, n, n, n, 0, false},                                    \
        {group, TW_T, TW_T, n, n, n, 0, false}
#define CUBE(group, n) NN(group, n, n, n)
/* clang-format on */

/* The classes of gpu-* are of a GPU's sizes. */
static const bench_case table[] = {
    CUBE("square", 512),
    CUBE("square", 768),
    CUBE("square", 1024),
    CUBE("square", 1536),
    CUBE("square", 2048),
    CUBE("square", 3072),
    CUBE("square", 4096),
    CUBE("small", 32),
    CUBE("small", 48),
    CUBE("small", 64),
    CUBE("small", 96),
    CUBE("small", 128),
    CUBE("small", 192),
    CUBE("small", 256),
    CUBE("small", 384),
    CUBE("odd", 8),
    CUBE("odd", 16),
    CUBE("odd", 17),
    CUBE("odd", 31),
    CUBE("odd", 33),
    CUBE("odd", 47),
    CUBE("odd", 65),
    CUBE("odd", 100),
    CUBE("odd", 127),
    CUBE("odd", 129),
    CUBE("odd", 255),
    CUBE("odd", 257),
    CUBE("odd", 1000),
    CUBE("odd", 3000),
    NN("skinny", 16, 4096, 4096),
    NN("skinny", 4096, 16, 4096),
    NN("skinny", 4096, 4096, 16),
    NN("skinny", 64, 64, 8192),
    NN("skinny", 20000, 64, 64),
    NN("skinny", 1, 4096, 4096),
    NN("skinny", 4096, 1, 4096),
    TRANSPOSED("transposed", 64),
    TRANSPOSED("transposed", 256),
    TRANSPOSED("transposed", 1000),
    TRANSPOSED("transposed", 2048),
    CUBE("gpu-square", 2048),
    CUBE("gpu-square", 3000),
    CUBE("gpu-square", 4096),
    CUBE("gpu-square", 5001),
    CUBE("gpu-square", 8192),
    TRANSPOSED("gpu-transposed", 4096),
    TRANSPOSED("gpu-transposed", 8192),
    NN("gpu-odd", 4095, 4097, 4099),
    {"gpu-odd", TW_N, TW_N, 4096, 4096, 4096, 1, false},
    CUBE("gpu-small", 256),
    CUBE("gpu-small", 512),
    CUBE("gpu-small", 1024),
    NN("gpu-thin", 4096, 16, 4096),
    NN("gpu-thin", 16, 4096, 4096),
    NN("gpu-thin", 64, 64, 65536),
    NN("gpu-thin", 1, 16384, 16384),
    NN("gpu-thin", 16384, 1, 16384),
    CUBE("gpu-half", 512),
    CUBE("gpu-half", 1024),
    CUBE("gpu-half", 2048),
    CUBE("gpu-half", 3072),
    CUBE("gpu-half", 4096),
    CUBE("gpu-half", 8192),
    NN("gpu-half", 5120, 4096, 14336),
    NN("gpu-half", 16384, 1024, 8192),
    TRANSPOSED("gpu-half", 4096),
    TRANSPOSED("gpu-half", 8192),
    /* B stored n x k, as units read types that lie along k only */
    NT("gpu-types", 512, 512, 512),
    NT("gpu-types", 4096, 4096, 4096),
    NT("gpu-types", 8192, 8192, 8192),
    NT("gpu-types", 16384, 16384, 16384),
    NT("gpu-types", 4097, 4095, 4093),
    NT("gpu-types", 1, 8192, 28672),
    NT("gpu-types", 16, 8192, 28672),
    NT("gpu-types", 64, 8192, 28672),
    CUBE("gpu-types", 4096),
    NN("gpu-few", 1, 8192, 8192),
    NN("gpu-few", 16, 8192, 8192),
    NN("gpu-few", 64, 8192, 8192),
    NN("gpu-few", 128, 8192, 8192),
    NN("gpu-few", 1, 28672, 4096),
    NN("gpu-few", 16, 28672, 4096),
    NN("gpu-few", 64, 28672, 4096),
    NN("gpu-few", 128, 28672, 4096),
};

const bench_case *cases_at(int index)
{
    return index >= 0 && (size_t)index < sizeof table / sizeof *table ? &table[index] : NULL;
}

void cases_random(bench_case *out)
{
    uint64_t state = 20261121;
    for (int i = 0; i < RANDOM_CASES; i++) {
        int64_t side[3];
        for (int s = 0; s < 3; s++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            int bits = (int)((state >> 33) % (s == 2 ? 16 : 12)); /* 2^bits ... 2^(bits + 1) */
            state = state * 6364136223846793005u + 1442695040888963407u;
            side[s] = ((int64_t)1 << bits) + (int64_t)((state >> 33) % (((uint64_t)1 << bits) + 1));
        }
        out[i] = (bench_case){"gpu-random", TW_N, TW_N, side[0], side[1], side[2], 0, false};
    }
}

static int64_t rows_apart(int64_t elements, int64_t whole) { return (elements + whole - 1) / whole * whole; }

tw_problem case_problem(const bench_case *c, tw_dtype dtype)
{
    const int64_t whole = c->padded ? 16 / element_of(dtype)->bytes : 1,
                  whole_c = c->padded ? 16 / element_of(element_of(dtype)->result)->bytes : 1;
    tw_problem p = tw_problem_make(dtype, c->op_a, c->op_b, c->m, c->n, c->k);
    p.lda = rows_apart(p.lda + c->pad, whole);
    p.ldb = rows_apart(p.ldb + c->pad, whole);
    p.ldc = rows_apart(p.ldc + c->pad, whole_c);
    p.accuracy = c->emulate ? TW_EMULATED : TW_NATIVE;
    return p;
}

const char *case_text(const tw_problem *p, case_name out)
{
    int length = snprintf(out, sizeof(case_name), "%" PRId64 "x%" PRId64 "x%" PRId64, p->m, p->n, p->k);
    if (p->op_a == TW_T || p->op_b == TW_T)
        length += snprintf(out + length, sizeof(case_name) - (size_t)length, " %c%c", p->op_a == TW_T ? 'T' : 'N',
                           p->op_b == TW_T ? 'T' : 'N');
    const tw_problem plain = tw_problem_make(p->dtype, p->op_a, p->op_b, p->m, p->n, p->k);
    const int64_t a = p->lda - plain.lda, b = p->ldb - plain.ldb, c = p->ldc - plain.ldc;
    if (a != b || b != c)
        snprintf(out + length, sizeof(case_name) - (size_t)length, " padded");
    else if (c > 0)
        snprintf(out + length, sizeof(case_name) - (size_t)length, " +%" PRId64, c);
    return out;
}
