/* arguments.h - the parameters of CUDA's production kernels in their order, once for the kernels and for the host that
 * launches them (src/engines/cuda/launch.c). A list is a macro of a macro _(type, name): a kernel's parameters are
 * LIST(PARAMETER, types), and the host's addresses LIST(ADDRESS, ) of a struct that has every name. Rungs spell out
 * theirs, in the same order, for their readers. */
#ifndef TILEWRIGHT_CUDA_ARGUMENTS_H
#define TILEWRIGHT_CUDA_ARGUMENTS_H

#define PARAMETER(type, name) type name

/* What an epilogue's text reads (epilogue.cuh): operands by their numbers. In front of each list of a kernel that is
 * compiled with such a text; the host's lists always begin with it, and leave it out where there is none. */
enum { BOUND_OPERANDS = 16 };
struct bound_operands {
    const void *at[BOUND_OPERANDS];
    long long ld[BOUND_OPERANDS], stride[BOUND_OPERANDS];
    double number[BOUND_OPERANDS];
};
#if defined HOST_LISTS
#define BOUND(_) _(, bound),
#elif defined EPILOGUE_VALUES && __CUDA_ARCH__ >= 700
#define BOUND(_) _(const __grid_constant__ bound_operands, bound),
#elif defined EPILOGUE_VALUES
#define BOUND(_) _(const bound_operands, bound),
#else
#define BOUND(_)
#endif

/* A and B as addresses, of elements of these types */
#define PLAIN_ARGUMENTS(_, number, of_a, of_b, of_c)                                                                   \
    BOUND(_)                                                                                                           \
    _(int, m), _(int, n), _(int, k), _(number, alpha), _(const of_a *__restrict__, a), _(long, lda),                   \
        _(const of_b *__restrict__, b), _(long, ldb), _(number, beta), _(of_c *__restrict__, c), _(long, ldc)

/* A and B as tensor maps: zeros beyond the edges */
#define MAP                               const __grid_constant__ tensor_map
#define MAPS(_)                           BOUND(_) _(MAP, a_map), _(MAP, b_map)
#define SCALED(_, number)                 _(int, m), _(int, n), _(int, k), _(number, alpha), _(number, beta)
#define MAPPED_ARGUMENTS(_, number, of_c) MAPS(_), SCALED(_, number), _(of_c *__restrict__, c), _(long, ldc)

/* C as a tensor map too */
#define MAPPED_C_ARGUMENTS(_, number, of_c)                                                                            \
    MAPS(_), _(MAP, c_map), SCALED(_, number), _(of_c *__restrict__, c), _(long, ldc)

/* The same. SPLIT_K = 1: split-K in two kernels. Each tile's k is divided into `splits` parts of `length` steps, their
 * sums lie in the workspace, and add.cu adds them. Part number r has the rows from r * SPLIT_ROWS(m) on, which is a
 * multiple of every tile's height, SPLIT_COLUMNS(n) apart. */
#if defined SPLIT_K && SPLIT_K
#define MAYBE_SPLIT_ARGUMENTS(_, number, of_c) MAPPED_C_ARGUMENTS(_, number, of_c), RUNS_ARGUMENTS(_)
#else
#define MAYBE_SPLIT_ARGUMENTS MAPPED_C_ARGUMENTS
#endif
#define SPLIT_ROWS(m)    (((m) + 255) / 256 * 256)
#define SPLIT_COLUMNS(n) (((n) + 3) / 4 * 4)

/* A block of add.cu has ADD_ELEMENTS of C, and ADD_SHARES of its warps at most share the parts. */
enum { ADD_LANES = 32, ADD_ELEMENTS = 128, ADD_SHARES = 8 };

/* Behind either, where blocks divide k: how many blocks do, by runs of so many steps, and where their sums meet. */
#define RUNS_ARGUMENTS(_)             _(int, splits), _(int, length)
#define FLAGGED(_, sums)              _(sums, memory), _(unsigned long long *, flags), _(unsigned long long, epoch)
#define SPLIT_ARGUMENTS(_, sums)      _(int, splits), FLAGGED(_, sums)
#define SPLIT_RUNS_ARGUMENTS(_, sums) RUNS_ARGUMENTS(_), FLAGGED(_, sums)
/* split-K in two kernels without tensor maps: parts have `part_rows` rows each, SPLIT_COLUMNS(n) apart */
#define ADDED_ARGUMENTS(_, sums)    SPLIT_ARGUMENTS(_, sums), _(int, part_rows)
#define STREAM_K_ARGUMENTS(_, sums) _(int, whole), _(int, length), FLAGGED(_, sums)

/* Emulated f32 (emulated.cuh). split.cu's f16 numbers lie in steps of HALVES_STEP of k; what it counts in COUNTED_LINES
 * lines is read by sgemm_emulated_sm90 and, compiled with REST, by sgemm_tma_sm90, which computes the tiles that the
 * former leaves. */
enum { HALVES_STEP = 32, COUNTED_LINES = 32, LINE_COUNTS_BYTES = 8, EMULATED_EDGE = 128, EMULATED_LEAST_K = 128 };
enum { SCAN_THREADS = 32 * COUNTED_LINES, HALVES_THREADS = 256, HALVES_TILE = 64 };
#define COUNTS_ARGUMENTS(_)                                                                                            \
    _(const struct line_counts *, a_counts), _(const int *, a_exponents), _(const struct line_counts *, b_counts),     \
        _(const int *, b_exponents), _(int *, tiles_left)
#if defined REST || defined HOST_LISTS
#define MAYBE_COUNTS_ARGUMENTS(_) , COUNTS_ARGUMENTS(_)
#else
#define MAYBE_COUNTS_ARGUMENTS(_)
#endif

/* A block of complex.cu has a square of so many elements, and so many rows of threads. An element becomes EXPAND_MOST
 * real numbers at most, each a part of it. SUMS_: what is made of real products: the sums, pair by pair; their real
 * parts above the imaginary ones; or four products, those of A's real parts above those of its imaginary ones, each by
 * pairs of B, which is to be conjugated or not. */
enum { EXPAND_TILE = 32, EXPAND_LINES = 8, EXPAND_MOST = 4 };
enum { PART_REAL = 0, PART_IMAGINARY = 1, PART_NEGATED = 2 };
enum { SUMS_PAIRS, SUMS_PLANES, SUMS_PRODUCTS, SUMS_CONJUGATED };

/* Batches: the first items, or arrays of addresses; at strides by tensor maps of rank 3. */
#define BATCH_ARGUMENTS(_, number)                                                                                     \
    BOUND(_)                                                                                                           \
    _(int, m), _(int, n), _(int, k), _(number, alpha), _(const void *, a_items), _(long, lda),                         \
        _(const void *, b_items), _(long, ldb), _(number, beta), _(void *, c_items), _(long, ldc), _(int, works),      \
        _(int, pointers), _(long, stride_a), _(long, stride_b), _(long, stride_c)
#define BOXES_ARGUMENTS(_, number, of_c)                                                                               \
    MAPS(_), _(MAP, c_map), SCALED(_, number), _(of_c *__restrict__, c_items), _(long, ldc), _(long, stride_c),        \
        _(int, works), _(int, a_shared), _(int, b_shared)

#endif
