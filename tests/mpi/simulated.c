/* simulated.c - one product over ranks that SimGrid's SMPI simulates: the schedule of mpi/ as it is, with an engine
 * that takes the time of a product and computes nothing. tools/scale.py runs and reads it.
 *
 *   simulated MxNxK PMxPNxPK DTYPE GBPS THREADS    0x0x0: the grid is chosen; prints one JSON object
 *
 * A simulated clock stands still while a rank only polls. So the linker (--wrap) leads what polls here: a test of a
 * collective waits for it, and a poll behind failure_idle(), which is called where there is nothing to do, waits for a
 * message. Messages move on by themselves meanwhile, as polling between stripes is to achieve. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../mpi/nominal.h"
#include "../../mpi/plan.h"
#include "tilewright_lab.h"

/* ---- waiting in place of polling ---- */

static bool waits; /* of this rank: SMPI gives each rank its own */

void __wrap_failure_idle(double waited_s);
int __wrap_MPI_Test(MPI_Request *request, int *done, MPI_Status *status);
int __wrap_MPI_Testsome(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]);
int __wrap_MPI_Comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request);
int __wrap_MPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                          MPI_Request *request);
int __real_MPI_Testsome(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]);

void __wrap_failure_idle(double waited_s)
{
    (void)waited_s;
    waits = true;
}

int __wrap_MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    *done = 1;
    return MPI_Wait(request, status);
}

int __wrap_MPI_Testsome(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])
{
    if (!waits) return __real_MPI_Testsome(count, requests, done, indices, statuses);
    waits = false;
    return MPI_Waitsome(count, requests, done, indices, statuses);
}

/* SMPI has none. */
int __wrap_MPI_Comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    return MPI_Comm_dup(comm, copy);
}

/* SMPI's own sends a message from every rank to every other. */
int __wrap_MPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                          MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    return MPI_Allreduce(from, to, count, type, op, comm);
}

/* ---- memory ---- */

/* All blocks and buffers of all ranks lie in one region, at its beginning: nobody looks at their elements, and SMPI
 * does not copy what it knows to be shared. */
enum { LARGE_BYTES = 1 << 16 };
static char *region;
static int64_t region_bytes;

void *__wrap_smpi_shared_malloc_intercept(size_t bytes, const char *file, int line);
void *__real_smpi_shared_malloc_intercept(size_t bytes, const char *file, int line);
void __wrap_smpi_shared_free(void *data);
void __real_smpi_shared_free(void *data);

void *__wrap_smpi_shared_malloc_intercept(size_t bytes, const char *file, int line)
{
    if (region == NULL || bytes < LARGE_BYTES) return __real_smpi_shared_malloc_intercept(bytes, file, line);
    return (int64_t)bytes <= region_bytes ? region : NULL;
}

void __wrap_smpi_shared_free(void *data)
{
    if (data == NULL || data != region) __real_smpi_shared_free(data);
}

/* A block as bytes that lie one after the other: of types that it was given SMPI packs every byte. */
int __wrap_MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                     MPI_Request *request);
int __real_MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                     MPI_Request *request);
int __wrap_MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request);
int __real_MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request);

static int bytes_of(int count, MPI_Datatype type)
{
    int each = 0;
    MPI_Type_size(type, &each);
    return count * each;
}

int __wrap_MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                     MPI_Request *request)
{
    return __real_MPI_Isend(data, bytes_of(count, type), MPI_BYTE, to, tag, comm, request);
}

int __wrap_MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    return __real_MPI_Irecv(data, bytes_of(count, type), MPI_BYTE, from, tag, comm, request);
}

/* Ranks are threads of one process: what rank 0 has allocated is there for all. */
static void share_region(int64_t bytes)
{
    int rank;
    char *memory = NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) memory = SMPI_SHARED_MALLOC((size_t)bytes);
    MPI_Bcast(&memory, sizeof memory, MPI_BYTE, 0, MPI_COMM_WORLD);
    region = memory, region_bytes = bytes;
}

/* ---- the engine ---- */

static tw_status check(tw_context *self, const tw_problem *problem)
{
    (void)self, (void)problem;
    return TW_OK;
}

static tw_status gemm(tw_context *self, const tw_problem *p, const void *a, const void *b, void *c)
{
    (void)self, (void)a, (void)b, (void)c;
    smpi_execute_flops(2.0 * (double)p->m * (double)p->n * (double)p->k);
    return TW_OK;
}

/* One operation an element: memory's part of it is not simulated. */
static tw_status finish(tw_context *self, tw_dtype dtype, int64_t m, int64_t n, double alpha, const void *sums,
                        int64_t ld_sums, double beta, void *c, int64_t ldc)
{
    (void)self, (void)dtype, (void)alpha, (void)sums, (void)ld_sums, (void)beta, (void)c, (void)ldc;
    smpi_execute_flops((double)m * (double)n);
    return TW_OK;
}

static const char *error(void) { return "the simulated engine has failed"; }

/* ---- the product ---- */

static void end(const char *what)
{
    fprintf(stderr, "simulated: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void *block_of(const tw_mpi_block *own, int64_t bytes)
{
    void *memory = malloc((size_t)(own->rows * own->cols * bytes + 1));
    if (memory == NULL) end("no memory for a block");
    return memory;
}

/* The grid as plan_make() will choose it: its bytes. */
static int64_t bytes_of_rank(const tw_problem *p, const tw_mpi_options *o, int threads)
{
    nominal_machine machine = {.threads = threads, .network_gbps = o->network_gbps};
    tw_problem settled = *p;
    grid g;
    MPI_Comm_size(MPI_COMM_WORLD, &machine.ranks);
    settled.dtype_b = p->dtype, settled.dtype_c = nominal_result(p->dtype);
    grid_problem sizes = nominal_problem(&settled, tw_lab_sum_depth(p->dtype), &machine);
    for (int d = 0; d < 3; d++) sizes.asked[d] = o->grid[d];
    if (!grid_choose(&sizes, &g)) end("there is no such grid");
    return g.bytes;
}

static void simulate(const tw_problem *p, const tw_mpi_options *options, int threads)
{
    const rank_engine engine = {
        .check = check, .gemm = gemm, .finish = finish, .depth = tw_lab_sum_depth, .error = error, .threads = threads};
    tw_mpi_plan *plan;
    tw_mpi_layout own = {.size = sizeof own};
    if (plan_make(&engine, p, MPI_COMM_WORLD, options, NULL, &plan) != TW_OK) end(tw_mpi_error_text());
    tw_mpi_plan_layout(plan, &own);
    void *a = block_of(&own.a, plan->sizes.a_bytes), *b = block_of(&own.b, plan->sizes.b_bytes),
         *c = block_of(&own.c, plan->sizes.c_bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start_s = MPI_Wtime();
    if (tw_mpi_gemm(plan, a, own.a.cols + (own.a.cols == 0), b, own.b.cols + (own.b.cols == 0), c,
                    own.c.cols + (own.c.cols == 0)) != TW_OK)
        end(tw_mpi_error_text());
    double mine_s = MPI_Wtime() - start_s, longest_s;
    int64_t mine = tw_mpi_received_words(plan), all;
    MPI_Reduce(&mine_s, &longest_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (plan->rank == 0)
        printf(
            "{\"pm\": %d, \"pn\": %d, \"pk\": %d, \"simulated_s\": %.9g, \"predicted_s\": %.9g, \"compute_s\": %.9g, "
            "\"received_by_all\": %" PRId64 "}\n",
            own.grid[0], own.grid[1], own.grid[2], longest_s, own.seconds, plan->grid.compute_s, all);
    free(a), free(b), free(c);
    tw_mpi_plan_free(plan);
}

int main(int argc, char **argv)
{
    int64_t m, n, k;
    tw_mpi_options o = {.size = sizeof o};
    MPI_Init(&argc, &argv);
    if (argc != 6 || sscanf(argv[1], "%" SCNd64 "x%" SCNd64 "x%" SCNd64, &m, &n, &k) != 3 ||
        sscanf(argv[2], "%" SCNd32 "x%" SCNd32 "x%" SCNd32, &o.grid[0], &o.grid[1], &o.grid[2]) != 3)
        end("usage: simulated MxNxK PMxPNxPK f32|f64 GBPS THREADS");
    o.network_gbps = atof(argv[4]);
    const tw_problem p = tw_problem_make(strcmp(argv[3], "f64") == 0 ? TW_F64 : TW_F32, TW_N, TW_N, m, n, k);
    const int threads = atoi(argv[5]);
    share_region(bytes_of_rank(&p, &o, threads) + LARGE_BYTES);
    simulate(&p, &o, threads);
    MPI_Finalize();
    return 0;
}
