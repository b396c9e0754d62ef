/* wgmma_c.cuh - how the sums of wgmma become C: through shared memory by TMA or line by line, or as the threads hold
 * them. For gemm_wgmma_sm90 and gemm_fp8_sm90, after hopper.cuh. WIDE = 1 promises c aligned to 16 bytes and rows of C
 * a multiple of 16 bytes apart. */
#include "epilogue.cuh"

enum { OUT_COLS = 128 / sizeof(element_c) };

static __device__ __forceinline__ void store_two(unsigned at, int x, int y)
{
    asm volatile("st.shared.v2.s32 [%0], {%1, %2};" ::"r"(at), "r"(x), "r"(y) : "memory");
}

static __device__ __forceinline__ number load_word(unsigned at)
{
    unsigned x;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
#if SUMS_S32
    return (int)x;
#else
    return __uint_as_float(x);
#endif
}

/* Words of 4 bytes in a line of 128. */
enum { LINE_WORDS = 32 };

/* Where a word of a line lies. Swizzled as TMA reads them: 16 bytes number q of a line lie at number q ^ (line % 8). */
static __device__ __forceinline__ unsigned word_at(unsigned lines, int line, int word)
{
    return lines + line * 128 + (word / 4 ^ line % 8) * 16 + word % 4 * 4;
}

/* Writes 16 lines of LINE_WORDS scaled sums of a warp, from row `row` of the buffer on. Alternate lines take other
 * columns, so that the 16 lanes that store at once meet in no bank. */
static __device__ __forceinline__ void stage_sums(unsigned out, int row, int lane, number alpha, const number *sum)
{
    int line = lane / 4, odd = line % 2;
    UNROLLED
    for (int q = 0; q < 4; q++) {
        UNROLLED
        for (int half = 0; half < 4; half += 2) {
            number x = odd ? sum[4 * (q ^ 2) + half] : sum[4 * q + half],
                   y = odd ? sum[4 * (q ^ 2) + half + 1] : sum[4 * q + half + 1];
            store_two(out + (row + half * 4 + line) * 128 + (((q ^ odd * 2) * 2 + lane % 4 / 2) ^ line) * 16 +
                          lane % 2 * 8,
                      alpha * x, alpha * y);
        }
    }
}

/* The same as elements of C, OUT_COLS in a line. */
static __device__ __forceinline__ void stage_rows(unsigned out, int row, int lane, number alpha, const number *sum)
{
#if C_HALF
    UNROLLED
    for (int q = 0; q < 8; q += 2) {
        const number *x = &sum[4 * q];
        unsigned pairs[4];
        UNROLLED
        for (int e = 0; e < 4; e++) pairs[e] = pair_of(alpha * x[2 * e], alpha * x[2 * e + 1]);
        store_four(out + (row + lane % 16) * 128 + ((q + lane / 16) ^ lane % 8) * 16, pairs);
    }
#else
    stage_sums(out, row, lane, alpha, sum);
#endif
}

/* Epilogue by TMA: 64 x `columns` sums of a warpgroup to C from row i0, column j0 on, through its two buffers; `*next`
 * is the next. `within` is a named barrier of its threads. */
static __device__ __forceinline__ void epilogue_by_tma(element_c (*buffers)[64][OUT_COLS], int within, int *next,
                                                       const tensor_map *c_map, int i0, int j0, const int columns,
                                                       number alpha, const number *sum)
{
    int tid = threadIdx.x % 128;
    UNROLLED
    for (int j = 0; j < columns; j += OUT_COLS, *next ^= 1) {
        element_c(*out)[OUT_COLS] = buffers[*next];
        /* TMA has read the buffer; only the thread that started the store can wait for that */
        if (tid == 0) TMA_STORES_READ(1);
        named_barrier_sync(within, 128); /* all wait for that thread */
        stage_rows(shared_address(out), tid / 32 * 16, tid % 32, alpha, &sum[j / 2]);
        tma_fence();
        named_barrier_sync(within, 128); /* that thread waits for all: the lines are written */
        if (tid == 0) tma_store(c_map, j0 + j, i0, out);
    }
}

/* Epilogue by lines, for a C of any alignment: each warp's sums go through its 16 lines of the two buffers, so that 32
 * lanes store 32 neighbours. */
static __device__ __forceinline__ void epilogue_by_lines(element_c (*buffers)[64][OUT_COLS], const struct out &to,
                                                         int i0, int j0, const int columns, const number *sum)
{
    enum { AT_ONCE = MATRIX_N > 128 ? 2 : 8 }; /* loaded before the first is stored, as registers allow */
    int tid, next = 0; /* read again, so that nothing derived from it occupies registers in the mainloop */
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(tid));
    int lane = tid % 32, row = tid % 128 / 32 * 16;
    UNROLLED
    for (int j = 0; j < columns; j += LINE_WORDS, next ^= 1) {
        unsigned lines = shared_address(buffers[next][row]);
        int first = i0 + row, column = j0 + j + lane;
        asm volatile("" : "+r"(lines), "+r"(first), "+r"(column)); /* no other addresses stay in registers */
        stage_sums(lines, 0, lane, 1, &sum[j / 2]);
        __syncwarp(); /* the lines are written, and those before the last have been read */
        ROLLED
        for (int line = 0; line < 16; line += AT_ONCE) {
            number x[AT_ONCE];
            UNROLLED
            for (int e = 0; e < AT_ONCE; e++) x[e] = load_word(word_at(lines, line + e, lane));
            UNROLLED
            for (int e = 0; e < AT_ONCE; e++) put_one(to, first + line + e, column, x[e]);
        }
    }
}

/* Epilogue by threads, for a C of whole 16 bytes that TMA may not store: they store their sums as they hold them, two
 * neighbours at a time. */
static __device__ __forceinline__ void epilogue_by_threads(const struct out &to, int i0, int j0, const int columns,
                                                           const number *sum)
{
    int lane = threadIdx.x % 32, row = i0 + threadIdx.x % 128 / 32 * 16 + lane / 4, column = j0 + lane % 4 * 2;
    UNROLLED
    for (int j = 0; j < columns / 8; j++, column += 8)
        put<2>(to, row, column, &sum[4 * j]), put<2>(to, row + 8, column, &sum[4 * j + 2]);
}

/* May a tile of `columns` from column j0 on leave by TMA, which reads no C and writes whole 16 bytes? A last tile that
 * ends within them may not. The partial sums of split-K may. */
static __device__ __forceinline__ bool leaves_by_tma(int j0, const int columns, int n, number beta)
{
    return SPLIT_K || WIDE && !reads_c(beta) && (j0 + columns <= n || n % (16 / (int)sizeof(element_c)) == 0);
}

#ifdef EPILOGUE_VALUES
/* made(), of an element whose row's and columns' elements of vectors are held: of 32 columns each lane has one. */
#undef BOUND_I
#undef BOUND_J
#define BOUND_I(v, element) of_row[v]
#define BOUND_J(v, element) __shfl_sync(0xffffffff, of_columns[v], column % 32)
static __device__ __forceinline__ number made(const struct out &to, int row, int column, number acc,
                                              const number *of_row, const number *of_columns)
{
    const bound_operands &bound = *to.bound;
    const long long i = row, j = column;
    EPILOGUE_VALUES
}
#undef BOUND_I
#undef BOUND_J
#define BOUND_I(v, element) element
#define BOUND_J(v, element) element
#endif

#ifdef EPILOGUE_VALUES
/* What becomes of the sums of a thread, in their place, from row and column on. INSIDE: all lie in C. Else its nearest
 * element stands for one outside, so that what the text reads is there. */
template <bool INSIDE, int OF_I, int OF_J>
static __device__ __forceinline__ void make_sums(const struct out &to, int row, int column, const int columns,
                                                 const number (*of_row)[OF_I], const number (*of_columns)[OF_J],
                                                 number *sum)
{
    UNROLLED
    for (int q = 0; q < columns / 2; q += 4) {
        /* four at a time: more side by side need more registers than there are */
        asm volatile("" : "+f"(sum[q]), "+f"(sum[q + 1]), "+f"(sum[q + 2]), "+f"(sum[q + 3]));
        UNROLLED
        for (int e = q; e < q + 4; e++) {
            int i = row + e / 2 % 2 * 8, j = column + e / 4 * 8 + e % 2;
            if (!INSIDE) i = min(i, to.m - 1), j = min(j, to.n - 1);
            number old = reads_c(to.beta) ? value_of(to.c[i * to.ldc + j]) : 0;
            sum[e] = made(to, i, j, result(to.alpha, sum[e], to.beta, old), of_row[e / 2 % 2], of_columns[e / 16]);
        }
        asm volatile("" : "+f"(sum[q]), "+f"(sum[q + 1]), "+f"(sum[q + 2]), "+f"(sum[q + 3]));
    }
}
#endif

/* The same where a caller's epilogue makes it: the text is compiled here, and not for each way in which sums leave.
 * Vectors are loaded ahead, a line at a time. Returns C for what is made already. j0: a multiple of 32. */
static __device__ __forceinline__ struct out make_all(const struct out &to, int i0, int j0, const int columns,
                                                      number *sum)
{
    struct out plain = to;
#ifdef EPILOGUE_VALUES
    enum { MOST_GROUPS = 6, OF_I = EPILOGUE_COUNT_I + 1, OF_J = EPILOGUE_COUNT_J + 1 }; /* at least one */
    number of_row[2][OF_I], of_columns[MOST_GROUPS][OF_J];
    const bound_operands &bound = *to.bound;
    int lane = threadIdx.x % 32, row = i0 + threadIdx.x % 128 / 32 * 16 + lane / 4, column = j0 + lane % 4 * 2;
    UNROLLED
    for (int g = 0; g < columns / 32; g++) {
        const long long j = min(j0 + 32 * g + lane, to.n - 1);
#define HOLD(v, element) of_columns[g][v] = element;
        EPILOGUE_J(HOLD)
#undef HOLD
    }
    UNROLLED
    for (int r = 0; r < 2; r++) {
        const long long i = min(row + 8 * r, to.m - 1);
#define HOLD(v, element) of_row[r][v] = element;
        EPILOGUE_I(HOLD)
#undef HOLD
    }
#ifdef EPILOGUE_MATRICES
    /* then addresses take more instructions than a second copy of the text costs */
    if (i0 + 64 <= to.m && j0 + columns <= to.n)
        make_sums<true>(to, row, column, columns, of_row, of_columns, sum);
    else
#endif
        make_sums<false>(to, row, column, columns, of_row, of_columns, sum);
    plain.alpha = 1, plain.beta = 0, plain.bound = NULL;
#endif
    return plain;
}

/* 64 x `columns` sums of a warpgroup become C from row i0, column j0 on. */
static __device__ __forceinline__ void store_sums(element_c (*buffers)[64][OUT_COLS], int within, int *next,
                                                  const tensor_map *c_map, const struct out &to, int i0, int j0,
                                                  const int columns, number *sum)
{
    const struct out plain = make_all(to, i0, j0, columns, sum);
    if (leaves_by_tma(j0, columns, to.n, to.beta))
        epilogue_by_tma(buffers, within, next, c_map, i0, j0, columns, SPLIT_K ? (number)1 : plain.alpha, sum);
    else if (WIDE)
        epilogue_by_threads(plain, i0, j0, columns, sum);
    else
        epilogue_by_lines(buffers, plain, i0, j0, columns, sum);
}
