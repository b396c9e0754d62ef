/* route_type.h - the calls of route.c in numbers of type `real`, by BLAS(gemm) and so on, with the names NAMED(...).
 * route.c includes it once for each type. */

#define a NAMED(matrix_a)
#define b NAMED(matrix_b)
#define c NAMED(matrix_c)

static real a[N * LD], b[N * LD], c[N * LD];

/* Products of small integers, whose sums are exact: the number of wrong elements. */
static int NAMED(wrong_elements)(int m, int n, int k, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, real beta)
{
    int wrong = 0;
    for (int i = 0; i < N * LD; i++) a[i] = (real)value(i, 1), b[i] = (real)value(i, 2), c[i] = (real)value(i, 3);
    BLAS(gemm)(CblasRowMajor, op_a, op_b, m, n, k, 2, a, LD, b, LD, beta, c, LD);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < LD; j++) {
            int sum = 0;
            for (int p = 0; j < n && p < k; p++)
                sum += value(op_a == CblasTrans ? p * LD + i : i * LD + p, 1) *
                       value(op_b == CblasTrans ? j * LD + p : p * LD + j, 2);
            const real expected = j < n ? 2 * (real)sum + beta * (real)value(i * LD + j, 3)
                                        : (real)value(i * LD + j, 3);
            wrong += c[i * LD + j] != expected;
        }
    return wrong;
}

/* Exit status: 0, or 1 where something is wrong. */
static int NAMED(calls)(void)
{
    const CBLAS_TRANSPOSE as_stored = CblasNoTrans, transposed = CblasTrans;
    int wrong = NAMED(wrong_elements)(N, N, N, as_stored, as_stored, 0) + /* the GPU's */
                NAMED(wrong_elements)(N, N, N, transposed, as_stored, -1) +
                NAMED(wrong_elements)(N, N, N - 1, as_stored, transposed, 3) +
                NAMED(wrong_elements)(N, N, 40, transposed, transposed, 1) +
                NAMED(wrong_elements)(1, N, N, as_stored, as_stored, 0) + /* the cpu's */
                NAMED(wrong_elements)(N, 20, N, as_stored, as_stored, 0) +
                NAMED(wrong_elements)(63, 63, 63, transposed, as_stored, 0);
    for (int i = 0; i < N * LD; i++) a[i] = 1, b[i] = 1;
    BLAS(syrk)(CblasRowMajor, CblasLower, CblasNoTrans, N, N, 1, a, LD, 0, c, LD);
    BLAS(trmm)(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, N, N, 1, a, LD, b, LD);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) wrong += b[i * LD + j] != (real)(i + 1) || (j <= i && c[i * LD + j] != N);
    return wrong != 0;
}

static int NAMED(calls_on_a_fake)(void)
{
    open_fake();
    return NAMED(calls)();
}

static void NAMED(open)(void)
{
    open_fake();
    for (int i = 0; i < N * LD; i++) a[i] = 1, b[i] = 2, c[i] = 3;
}

static int NAMED(differ)(int elements, real expected)
{
    int wrong = 0;
    for (int i = 0; i < elements; i++) wrong += c[i] != expected;
    return wrong != 0;
}

static int NAMED(single_and_batch)(void)
{
    NAMED(open)();
    BLAS(gemm)(CblasColMajor, CblasNoTrans, CblasNoTrans, EDGE, EDGE, EDGE, 1, a, EDGE, b, EDGE, 0, c, EDGE);
    const int wrong = NAMED(differ)(ITEM, 2 * EDGE);
    memset(c, 0, sizeof c);
    BLAS(gemm_batch_strided)
    (CblasColMajor, CblasNoTrans, CblasNoTrans, EDGE, EDGE, EDGE, 1, a, EDGE, ITEM, b, EDGE, ITEM, 0, c, EDGE, ITEM, 3);
    return wrong || NAMED(differ)(3 * ITEM, 2 * EDGE);
}

static int NAMED(without_old_c)(void)
{
    NAMED(open)();
    BLAS(gemm)(CblasRowMajor, CblasNoTrans, CblasNoTrans, EDGE, EDGE, EDGE, 1, a, EDGE, b, EDGE, 0, c, EDGE);
    return NAMED(differ)(ITEM, 2 * EDGE);
}

static int NAMED(with_old_c)(void)
{
    NAMED(open)();
    BLAS(gemm)(CblasRowMajor, CblasNoTrans, CblasNoTrans, EDGE, EDGE, EDGE, 1, a, EDGE, b, EDGE, 1, c, EDGE);
    return 0;
}

/* After a failure all is the cpu's. */
static int NAMED(twice)(void)
{
    NAMED(open)();
    BLAS(gemm)(CblasRowMajor, CblasNoTrans, CblasNoTrans, EDGE, EDGE, EDGE, 1, a, EDGE, b, EDGE, 1, c, EDGE);
    for (int i = 0; i < ITEM; i++) c[i] = 3;
    BLAS(gemm)(CblasRowMajor, CblasNoTrans, CblasNoTrans, EDGE, EDGE, EDGE, 1, a, EDGE, b, EDGE, 1, c, EDGE);
    return NAMED(differ)(ITEM, 2 * EDGE + 3);
}

/* Of each kind of failure the first is told. */
static int NAMED(several)(void)
{
    int wrong = 0;
    NAMED(open)();
    for (int i = 0; i < 4; i++) {
        BLAS(gemm)(CblasRowMajor, CblasNoTrans, CblasNoTrans, EDGE, EDGE, EDGE, 1, a, EDGE, b, EDGE, 0, c, EDGE);
        wrong |= NAMED(differ)(ITEM, 2 * EDGE);
    }
    return wrong;
}

static int NAMED(triangular)(void)
{
    NAMED(open)();
    BLAS(trmm)(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, N, N, 1, a, N, b, N);
    return 0;
}

static int NAMED(thin)(void)
{
    static const int sizes[][3] = {{20, N, N}, {N, 20, N}, {N, N, 20}};
    int wrong = 0;
    NAMED(open)();
    for (int i = 0; i < 3; i++) {
        const int m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
        BLAS(gemm)(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, N, b, N, 0, c, n);
        wrong |= NAMED(differ)(m * n, 2 * (real)k);
    }
    return wrong;
}

/* Three groups of one product each, of which the GPU fails at the second. */
static int NAMED(groups)(void)
{
    const CBLAS_TRANSPOSE ops[3] = {CblasNoTrans, CblasNoTrans, CblasNoTrans};
    const int edge[3] = {EDGE, EDGE, EDGE}, size[3] = {1, 1, 1};
    const real one[3] = {1, 1, 1}, *at_a[3] = {a, a, a}, *at_b[3] = {b, b, b};
    real *at_c[3] = {c, c + ITEM, c + 2 * ITEM};
    NAMED(open)();
    BLAS(gemm_batch)(CblasColMajor, ops, ops, edge, edge, edge, one, at_a, edge, at_b, edge, one, at_c, edge, 3, size);
    for (int i = 2 * ITEM; i < 3 * ITEM; i++)
        if (c[i] != 3) return 1;
    return 0;
}

/* A large C, which comes down in pieces: memory for a copy runs out after some have. */
static int NAMED(pieces)(void)
{
    enum { ROWS = 3072, DEPTH = 64 };
    NAMED(open)();
    real *const large = calloc((size_t)ROWS * (ROWS + DEPTH), sizeof *large), *const thin = large + ROWS * ROWS;
    if (large == NULL) return 98;
    BLAS(gemm)
    (CblasRowMajor, CblasNoTrans, CblasNoTrans, ROWS, ROWS, DEPTH, 1, thin, DEPTH, thin, ROWS, 1, large, ROWS);
    free(large);
    return 0;
}

#undef a
#undef b
#undef c
