/* cpu.h - what the strategies by which a CPU computes a product look at and share. Each has a file here, cpu_*.c; cpu.c
 * has their order. All are pure, as plan.c. */
#ifndef TILEWRIGHT_PLAN_CPU_H
#define TILEWRIGHT_PLAN_CPU_H

#include "../planners.h"
#include "../tuned.h"

/* One product by one row on one device, and what several strategies ask of it. */
typedef struct cpu_case {
    const tw_problem *p;
    const kernel_row *row;
    const device_facts *device;
    const tuned_values *tuned;
    tuned_values room;     /* for them */
    int threads, woken;    /* as in the plan */
    int64_t mr, nr, bytes; /* of the register tile; of a sum */
    int64_t chunk;         /* steps of k in a chunk, where threads share none */
    bool complex, gemv;    /* gemv: a matrix times a vector, by a kernel that reads both in place */
    bool a_transposed, b_transposed;
    bool a_conflicts, b_conflicts; /* rows a multiple of 4 KiB apart fall into the same few sets of the cache */
    bool readable;                 /* panels would hold elements as they lie */
    bool copies_b;                 /* so, but a copy of B pays */
    bool in_place;                 /* neither; and all of C is computed: of a triangle the loops leave out tiles */
} cpu_case;

typedef struct cpu_strategy {
    const char *name;
    bool (*suits)(const cpu_case *c);            /* where none before it does; NULL: always */
    void (*fill)(const cpu_case *c, plan *plan); /* all but threads, chunk and the workspace */
} cpu_strategy;

extern const cpu_strategy strategy_divided, strategy_gemv, strategy_alone, strategy_transposed, strategy_unpacked,
    strategy_loops;

/* cpu_look - the case of a product. cpu_strategy_of - the first strategy that suits it. */
void cpu_look(cpu_case *c, const tw_problem *p, const kernel_row *row, const device_facts *device, int wanted_threads);
const cpu_strategy *cpu_strategy_of(const cpu_case *c);

/* cpu_strategy_at - the strategies in their order; NULL beyond the last. */
const cpu_strategy *cpu_strategy_at(int index);

/* How an operand is read. */
typedef enum cpu_way {
    READ_PACKED,  /* from panels that threads pack for all */
    READ_BEFORE,  /* B: from panels that the caller had packed before (TW_PACKED_B) */
    READ_COPIED,  /* B: each thread copies what it multiplies, a few rows at a time */
    READ_BY_ROWS, /* B: in place, a few rows at a time */
    READ_IN_PLACE
} cpu_way;

typedef struct cpu_reading {
    cpu_way a, b;
    int64_t kc; /* steps of k in a panel */
} cpu_reading;

/* cpu_one_panel - whether A, B and C are so small that k is one panel, and an operand is packed only where it must be.
 * cpu_one_panel_reading - how they are read then. */
bool cpu_one_panel(const cpu_case *c);
cpu_reading cpu_one_panel_reading(const cpu_case *c);

/* cpu_packed_depth - steps of k in a panel that threads pack for all. */
int64_t cpu_packed_depth(const cpu_case *c);

/* cpu_fill_shares - tasks are shares of C, each a product of its own on one thread. */
void cpu_fill_shares(const cpu_case *c, const tw_problem *share, plan *plan);

/* cpu_count_workspace - of the blocks of a plan. cpu_keeps_c - whether C cannot hold sums until the end.
 * cpu_keeps_sums - whether the partial sums of a chunk are kept beside C. */
void cpu_count_workspace(plan *plan);
bool cpu_keeps_c(const tw_problem *p);
bool cpu_keeps_sums(const plan *plan);

/* cpu_rows_together - rows of an unpacked product are divided in multiples of this. */
int64_t cpu_rows_together(const plan *plan);

/* SMALL_L1: the kinds of cores that were measured differ in it. LEAST_GEMV: outputs of a task of GEMV, or of a share of
 * a long k. */
enum { MEASURED_THREADS = 16, SMALL_L1 = 32768, PAGE_BYTES = 4096, LEAST_GEMV = 64 };

/* cpu_count_threads - threads and woken. cpu_threads_of - for so many multiply-adds, `each` for a thread, `most` at
 * most. cpu_threads_waited - of a call that waits for its threads. */
void cpu_count_threads(cpu_case *c, int wanted);
int cpu_threads_of(double work, double each, int most);
int cpu_threads_waited(const tw_problem *p, const kernel_row *row, const device_facts *device, int wanted);

/* How threads divide rows of C: `length` of them, in tasks of a multiple of `unit` rows, `most` at most; there are
 * `others` tasks for each of these, and all of them `repeats` times. */
typedef struct division {
    int64_t length, unit, most, others, repeats;
} division;

/* cpu_even_rows - rows of a task: as usual, or those of `each` to twice as many tasks a thread, where that ends earlier
 * by a sixteenth or more. */
int64_t cpu_even_rows(const cpu_case *c, const division *d, int64_t usual, int64_t each);

static inline double work_of(const tw_problem *p) { return (double)p->m * (double)p->n * (double)max_i64(p->k, 1); }

/* Whether rows begin at multiples of so many bytes, a power of two, behind the first. */
static inline bool rows_apart(int64_t ld, int64_t element_bytes, int bytes)
{
    return (uint64_t)ld * (uint64_t)element_bytes % (uint64_t)bytes == 0;
}

/* Pieces of at most `high` x `wide` that m x n has. */
static inline int64_t pieces_of(int64_t m, int64_t n, int64_t high, int64_t wide)
{
    return ceil_div(m, high) * ceil_div(n, wide);
}

/* Split `length` evenly into blocks of at most `most`, each a multiple of `unit`: 1000 in blocks of at most 384 is
 * 3 x 336. */
static inline int64_t even_block(int64_t length, int64_t most, int64_t unit)
{
    const int64_t blocks = max_i64(ceil_div(length, max_i64(most, unit)), 1);
    return max_i64(round_up(ceil_div(length, blocks), unit), unit);
}

/* A task in halves of multiples of `unit`, until there are so many: pieces of `length`, `others` tasks for each. */
static inline int64_t halved(int64_t task, int64_t unit, int64_t length, int64_t others, int64_t wanted)
{
    while (task > unit && ceil_div(length, task) * others < wanted) task = round_up(task / 2, unit);
    return task;
}

/* Bytes of elements in the workspace. */
static inline size_t padded(int64_t elements, size_t element_bytes)
{
    return (size_t)round_up(elements * (int64_t)element_bytes, 64);
}

/* Elements of k in a chunk; sums of integers are exact in any order, and chunks only what threads share. */
static inline int64_t chunk_of(const tw_problem *p)
{
    return CPU_CHUNK_BYTES / (p->dtype == TW_F64 || p->dtype == TW_CF64 ? 8 : 4);
}
static inline int64_t chunk_in_loops(const tw_problem *p)
{
    return dtype_is_integer(p->dtype) ? max_i64(p->k, 1) : chunk_of(p);
}
static inline bool in_chunks(const cpu_case *c) { return c->p->k > c->chunk; }

/* The C of a small-m and of a small-n product, in tiles. */
static inline bool has_few_rows(const cpu_case *c) { return c->p->m <= 16 * c->mr; }
static inline bool has_few_columns(const cpu_case *c) { return c->p->n <= 4 * c->nr; }

/* Do many threads share what one packs? */
static inline bool has_many_threads(const cpu_case *c) { return c->threads >= 8; }

/* Are the steps of a tile so few that its store counts? */
static inline bool has_short_k(const cpu_case *c) { return c->p->k < 64; }

/* Every panel but the last is a multiple of so many steps deep. */
static inline int64_t panel_unit(const kernel_row *row) { return row->layout == CPU_PLAIN ? 4 : CPU_K_UNIT; }

/* Columns of B that a task reads again and again from the L2, of which they take b_share. */
static inline int64_t cached_columns(const cpu_case *c, int64_t kc)
{
    return (int64_t)((double)c->device->l2_bytes * c->tuned->b_share) /
           (cpu_layout_steps(c->row->layout, kc) * c->bytes);
}

/* Are vectors of 64 bytes? */
static inline bool has_wide_vectors(const device_facts *device) { return cpu_vector_bytes(device->features) >= 64; }

/* Has it AVX2, and no wider vectors? */
static inline bool has_avx2_alone(const device_facts *device)
{
    return (device->features & (CPU_AVX2 | CPU_AVX512)) == CPU_AVX2;
}

/* Of the processors that were measured that with two units of 512 bits has an L1 of 48 KiB, which tells it from those
 * that compute such vectors in halves. */
static inline bool has_two_wide_units(const device_facts *device)
{
    return has_wide_vectors(device) && device->l1_bytes > SMALL_L1;
}

#endif
