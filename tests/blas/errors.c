/* errors.c - calls sgemm, dgemm and the rest of level 3 of d and z of a BLAS library with wrong arguments and prints
 * what its handlers are told, one line each: two libraries agree where the output is the same.
 * tests/test_blas_reference.sh compiles it with -DOWN_XERBLA and -DOWN_CBLAS_XERBLA, with the second alone, and with
 * neither: then each call is made by a process of its own, since the reference's handler ends it.
 *
 * errors LIBRARY */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef OWN_XERBLA
void xerbla_(const char *routine, const int *number, size_t routine_length)
{
    printf(" xerbla %.*s %d", (int)routine_length, routine, *number);
}
#endif

#ifdef OWN_CBLAS_XERBLA
void cblas_xerbla(int number, const char *routine, const char *format, ...)
{
    va_list arguments;
    printf(" cblas_xerbla %s %d ", routine, number);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}
#endif

typedef void cblas_gemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                        double *, int);
typedef void cblas_gemm_f32(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                            int);
typedef void fortran_gemm(const char *, const char *, const int *, const int *, const int *, const void *, const void *,
                          const int *, const void *, const int *, const void *, void *, const int *, size_t, size_t);

static struct {
    cblas_gemm *cblas_f64;
    cblas_gemm_f32 *cblas_f32;
    fortran_gemm *fortran_f64, *fortran_f32;
} library;

typedef struct call {
    int layout; /* 0: Fortran */
    int op_a, op_b, size[3], ld[3], is_f32;
} call;

static void make(const call *x)
{
    static double zeros[64];
    static float zeros_f32[64];
    double one = 1;
    float one_f32 = 1;
    char op_a = (char)x->op_a, op_b = (char)x->op_b;
    const int *s = x->size, *ld = x->ld;
    if (x->layout == 0 && x->is_f32)
        library.fortran_f32(&op_a, &op_b, &s[0], &s[1], &s[2], &one_f32, zeros_f32, &ld[0], zeros_f32, &ld[1], &one_f32,
                            zeros_f32, &ld[2], 1, 1);
    else if (x->layout == 0)
        library.fortran_f64(&op_a, &op_b, &s[0], &s[1], &s[2], &one, zeros, &ld[0], zeros, &ld[1], &one, zeros, &ld[2],
                            1, 1);
    else if (x->is_f32)
        library.cblas_f32(x->layout, x->op_a, x->op_b, s[0], s[1], s[2], 1, zeros_f32, ld[0], zeros_f32, ld[1], 1,
                          zeros_f32, ld[2]);
    else
        library.cblas_f64(x->layout, x->op_a, x->op_b, s[0], s[1], s[2], 1, zeros, ld[0], zeros, ld[1], 1, zeros,
                          ld[2]);
}

static void try(const call *x)
{
    printf("%d %d %d %d  %d %d %d  %d %d %d:", x->is_f32, x->layout, x->op_a, x->op_b, x->size[0], x->size[1],
           x->size[2], x->ld[0], x->ld[1], x->ld[2]);
    fflush(stdout);
#ifdef OWN_CBLAS_XERBLA
    make(x);
#else
    if (fork() == 0) {
        dup2(STDOUT_FILENO, STDERR_FILENO);
        make(x);
        _exit(0);
    }
    wait(NULL);
#endif
    printf("\n");
}

/* Bits of `bad`: m, n, k negative; lda, ldb, ldc one less than the least. Bits of `nothing`: m, n, k zero. */
static void try_each(int layout, int op_a, int op_b, int is_f32)
{
    for (int bad = 0; bad < 64; bad++)
        for (int nothing = 0; nothing < 8; nothing += layout == 0 || bad % 8 == 0 ? 1 : 8) {
            int m = nothing & 1 ? 0 : 3, n = nothing & 2 ? 0 : 4, k = nothing & 4 ? 0 : 5;
            int rows = layout == 101, a_plain = op_a == 111 || op_a == 'N' || op_a == 'n',
                b_plain = op_b == 111 || op_b == 'N' || op_b == 'n';
            int ld[3] = {a_plain == rows ? k : m, b_plain == rows ? n : k, rows ? n : m};
            call x = {layout, op_a, op_b, {bad & 1 ? -1 : m, bad & 2 ? -1 : n, bad & 4 ? -1 : k}, {0, 0, 0}, is_f32};
            for (int i = 0; i < 3; i++) x.ld[i] = (ld[i] > 1 ? ld[i] : 1) - (bad >> (3 + i) & 1);
            try(&x);
        }
}

/* ---- the rest of level 3, d and z: one argument wrong, or two ---- */

enum { SIDE = 1, UPLO = 2, OP = 4, DIAG = 8, M = 16, N = 32, K = 64, LDA = 128, LDB = 256, LDC = 512, ALL = 1024 };
typedef struct routine {
    const char *name;
    int has; /* bits of its arguments */
} routine;
enum {
    SYMM = SIDE | UPLO | M | N | LDA | LDB | LDC,
    SYRK = UPLO | OP | N | K | LDA | LDC,
    SYR2K = UPLO | OP | N | K | LDA | LDB | LDC,
    TR = SIDE | UPLO | OP | DIAG | M | N | LDA | LDB
};
static const routine routines[] = {{"dsymm", SYMM}, {"dsyrk", SYRK}, {"dsyr2k", SYR2K}, {"dtrmm", TR}, {"dtrsm", TR},
                                   {"zsymm", SYMM}, {"zsyrk", SYRK}, {"zsyr2k", SYR2K}, {"ztrmm", TR}, {"ztrsm", TR},
                                   {"zhemm", SYMM}, {"zherk", SYRK}, {"zher2k", SYR2K}};

/* layout 0: Fortran. bad: bits of what is wrong. variant: bits of the right side, a transpose, and m, n, k of 0. Else
 * m, n, k are 3, 4, 5. */
static void make_level3(void *handle, int layout, const routine *r, int bad, int variant)
{
    static double x[128];
    const double one[2] = {1, 0};
    char name[32];
    const int rows = layout == 101, ranks = r->has & K, right = variant & 1, transposes = variant & 2,
              side = bad & SIDE ? 140 : 141 + right, uplo = bad & UPLO ? 120 : 121,
              op = bad & OP            ? 110
                   : !transposes       ? 111
                   : r->name[1] == 'h' ? 113
                                       : 112,
              diag = bad & DIAG ? 130 : 131, m0 = variant & 4 ? 0 : 3, n0 = variant & 8 ? 0 : 4,
              k0 = variant & 16 ? 0 : 5, m = bad & M ? -1 : m0, n = bad & N ? -1 : n0, k = bad & K ? -1 : k0,
              tall = ranks   ? (!transposes == rows ? k0 : n0)
                     : right ? n0
                             : m0,
              wide = ranks  ? tall
                     : rows ? n0
                            : m0,
              high = rows || ranks ? n0 : m0, lda = (tall > 1 ? tall : 1) - !!(bad & LDA),
              ldb = (wide > 1 ? wide : 1) - !!(bad & LDB), ldc = (high > 1 ? high : 1) - !!(bad & LDC);
    const char l_side = bad & SIDE ? 'X'
                        : right    ? 'R'
                                   : 'l',
               l_uplo = bad & UPLO ? 'X' : 'u',
               l_op = bad & OP     ? 'X'
                      : transposes ? (r->name[0] == 'd' || r->name[1] == 'h' || ranks == 0 ? 'c' : 't')
                                   : 'n',
               l_diag = bad & DIAG ? 'X' : 'n';
    union {
        void *at;
        void (*f_symm)(const char *, const char *, const int *, const int *, const double *, const double *,
                       const int *, const double *, const int *, const double *, double *, const int *, size_t, size_t);
        void (*f_syrk)(const char *, const char *, const int *, const int *, const double *, const double *,
                       const int *, const double *, double *, const int *, size_t, size_t);
        void (*f_tr)(const char *, const char *, const char *, const char *, const int *, const int *, const double *,
                     const double *, const int *, double *, const int *, size_t, size_t, size_t, size_t);
        void (*symm)(int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
        void (*syrk)(int, int, int, int, int, double, const double *, int, double, double *, int);
        void (*tr)(int, int, int, int, int, int, int, double, const double *, int, double *, int);
        void (*zsymm)(int, int, int, int, int, const void *, const double *, int, const double *, int, const void *,
                      double *, int);
        void (*zher2k)(int, int, int, int, int, const void *, const double *, int, const double *, int, double,
                       double *, int);
        void (*zsyrk)(int, int, int, int, int, const void *, const double *, int, const void *, double *, int);
        void (*ztr)(int, int, int, int, int, int, int, const void *, const double *, int, double *, int);
    } call;
    const int is_symm = r->has == SYMM, is_syrk = r->has == SYRK, is_syr2k = r->has == SYR2K, is_z = r->name[0] == 'z';
    snprintf(name, sizeof name, layout == 0 ? "%s_" : "cblas_%s", r->name);
    call.at = dlsym(handle, name);
    if (call.at == NULL)
        printf(" there is no %s", name);
    else if (is_symm && layout == 0)
        call.f_symm(&l_side, &l_uplo, &m, &n, one, x, &lda, x, &ldb, one, x, &ldc, 1, 1);
    else if (is_symm && is_z)
        call.zsymm(layout, side, uplo, m, n, one, x, lda, x, ldb, one, x, ldc);
    else if (is_symm)
        call.symm(layout, side, uplo, m, n, 1, x, lda, x, ldb, 1, x, ldc);
    else if (is_syrk && layout == 0)
        call.f_syrk(&l_uplo, &l_op, &n, &k, one, x, &lda, one, x, &ldc, 1, 1);
    else if (is_syrk && is_z && r->name[1] != 'h')
        call.zsyrk(layout, uplo, op, n, k, one, x, lda, one, x, ldc);
    else if (is_syrk)
        call.syrk(layout, uplo, op, n, k, 1, x, lda, 1, x, ldc);
    else if (is_syr2k && layout == 0)
        call.f_symm(&l_uplo, &l_op, &n, &k, one, x, &lda, x, &ldb, one, x, &ldc, 1, 1);
    else if (is_syr2k && is_z && r->name[1] == 'h')
        call.zher2k(layout, uplo, op, n, k, one, x, lda, x, ldb, 1, x, ldc);
    else if (is_syr2k && is_z)
        call.zsymm(layout, uplo, op, n, k, one, x, lda, x, ldb, one, x, ldc);
    else if (is_syr2k)
        call.symm(layout, uplo, op, n, k, 1, x, lda, x, ldb, 1, x, ldc);
    else if (layout == 0)
        call.f_tr(&l_side, &l_uplo, &l_op, &l_diag, &m, &n, one, x, &lda, x, &ldb, 1, 1, 1, 1);
    else if (is_z)
        call.ztr(layout, side, uplo, op, diag, m, n, one, x, lda, x, ldb);
    else
        call.tr(layout, side, uplo, op, diag, m, n, 1, x, lda, x, ldb);
}

static void try_level3(void *handle, int layout, const routine *r, int bad, int variant)
{
    printf("%s %d %d %d:", r->name, layout, bad, variant);
    fflush(stdout);
#ifdef OWN_CBLAS_XERBLA
    make_level3(handle, layout, r, bad, variant);
#else
    if (fork() == 0) {
        dup2(STDOUT_FILENO, STDERR_FILENO);
        make_level3(handle, layout, r, bad, variant);
        _exit(0);
    }
    wait(NULL);
#endif
    printf("\n");
}

static void try_all_level3(void *handle, int layout)
{
    for (size_t r = 0; r < sizeof routines / sizeof *routines; r++)
        for (int one = 1; one < ALL; one *= 2)
            for (int other = 1; other <= one; other *= 2)
                for (int variant = 0; variant < (other == one ? 32 : 4); variant++)
                    if ((one | other | routines[r].has) == routines[r].has)
                        try_level3(handle, layout, &routines[r], one | other, variant);
}

int main(int argc, char **argv)
{
    static const int layouts[] = {101, 102, 100}, ops[] = {111, 112, 113, 110};
    static const char letters[] = "NnTtCcX";
    void *handle = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (handle == NULL) {
        fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: errors LIBRARY");
        return 2;
    }
    *(void **)&library.cblas_f64 = dlsym(handle, "cblas_dgemm");
    *(void **)&library.cblas_f32 = dlsym(handle, "cblas_sgemm");
    *(void **)&library.fortran_f64 = dlsym(handle, "dgemm_");
    *(void **)&library.fortran_f32 = dlsym(handle, "sgemm_");
    if (!library.cblas_f64 || !library.cblas_f32 || !library.fortran_f64 || !library.fortran_f32) return 2;
#ifdef OWN_XERBLA
    for (int pair = 0; pair < 2 * 7 * 7; pair++) try_each(0, letters[pair / 2 % 7], letters[pair / 14], pair % 2);
    for (int pair = 0; pair < 2 * 3 * 4 * 4; pair++)
        try_each(layouts[pair / 32], ops[pair / 2 % 4], ops[pair / 8 % 4], pair % 2);
    try_all_level3(handle, 0);
#else
    (void)letters;
    for (int layout = 0; layout < 3; layout++)
        for (int op = 0; op < 4; op += 3)
            try_each(layouts[layout], 111, ops[op], layout % 2), try_each(layouts[layout], ops[op], 111, layout % 2);
#endif
    for (int layout = 0; layout < 3; layout++) try_all_level3(handle, layouts[layout]);
    return 0;
}
