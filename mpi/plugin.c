/* plugin.c - the table that the program opens: one world, one plan at a time. */
#define _GNU_SOURCE /* sched_getaffinity() */
#include "plugin.h"
#include "files.h"
#include "plan.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT(x)    #x
#define TEXT_OF(x) TEXT(x)

static MPI_Comm world_comm = MPI_COMM_NULL, host_comm = MPI_COMM_NULL; /* host: the ranks beside this one */
static tw_mpi_plan *plan;
static int64_t received_words;
static char panels_text[512];
static double deadline_s;
static bool is_stuck;

static void set_timeout(double timeout_s) { deadline_s = timeout_s; }

/* ---- beginning and end ---- */

/* Ranks of this host for which these bytes are the same as for this one. */
static tw_status count_same(const void *mine, int bytes, const char *what, int *same)
{
    int beside;
    MPI_Request request;
    MPI_Comm_size(host_comm, &beside);
    char *all = malloc((size_t)beside * (size_t)bytes);
    if (all == NULL) return failure(TW_NO_MEMORY, "no memory for what %d ranks say", beside);
    tw_status status = failure_mpi(MPI_Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, host_comm, &request),
                                   what);
    if (status == TW_OK) status = failure_await(&request, what, deadline_s);
    if (status != TW_OK) return status; /* MPI may still write */
    *same = 0;
    for (int r = 0; status == TW_OK && r < beside; r++)
        *same += memcmp(all + r * bytes, mine, (size_t)bytes) == 0 ? 1 : 0;
    free(all);
    return status;
}

static tw_status count_sharing(int *sharing)
{
    cpu_set_t mine;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine); /* none: all are alike */
    return count_same(&mine, sizeof mine, "comparing the ranks' processors", sharing);
}

static tw_status beside(int64_t value, int *same)
{
    return count_same(&value, sizeof value, "comparing the ranks of this host", same);
}

static tw_status start(rank_world *world)
{
    /* Open MPI 4 would lay a lock beside each file for file pointers that are shared, of which there are none here */
    setenv("OMPI_MCA_sharedfp", "^lockedfile,individual", 0);
    /* MPICH's hwloc would open OpenCL's drivers to list devices: with PoCL's compiler 60 MB of each rank */
    setenv("HWLOC_COMPONENTS", "-opencl", 0);
    int level, length = 0;
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "", host_name[MPI_MAX_PROCESSOR_NAME] = "";
    tw_status status = failure_mpi(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
    if (status == TW_OK && level < MPI_THREAD_FUNNELED)
        status = failure(TW_NO_DEVICE, "this MPI does not let a rank have threads");
    if (status == TW_OK) status = failure_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world_comm), "copying the communicator");
    if (status != TW_OK) return status;
    MPI_Comm_set_errhandler(world_comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world_comm, &world->rank), MPI_Comm_size(world_comm, &world->ranks);
    MPI_Get_library_version(library, &length);
    snprintf(world->library, sizeof world->library, "%.*s", (int)strcspn(library, ",\n"), library);
    for (char *c = world->library; *c != '\0'; c++)
        if ((unsigned char)*c < ' ') *c = ' '; /* MPICH's has a tab */
    MPI_Get_processor_name(host_name, &length);
    snprintf(world->host, sizeof world->host, "%.250s", host_name);
    status = failure_mpi(MPI_Comm_split_type(world_comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host_comm),
                         "finding the ranks of this host");
    if (status != TW_OK) return status;
    MPI_Comm_size(host_comm, &world->beside), MPI_Comm_rank(host_comm, &world->place);
    return count_sharing(&world->sharing);
}

static void drop(void)
{
    tw_mpi_plan_free(plan);
    plan = NULL;
}

static void stop(void)
{
    drop();
    if (host_comm != MPI_COMM_NULL) MPI_Comm_free(&host_comm);
    if (world_comm != MPI_COMM_NULL) MPI_Comm_free(&world_comm);
    MPI_Finalize();
}

/* ---- agreement ---- */

static tw_status worst(int code, int *most_code, int *rank)
{
    int mine;
    MPI_Comm_rank(world_comm, &mine);
    const int64_t value = ((int64_t)code << 32) + (INT32_MAX - mine);
    int64_t all = 0;
    const tw_status status = failure_reduce(world_comm, &value, &all, 1, MPI_MAX, "agreeing on the outcome",
                                            deadline_s);
    *most_code = (int)(all >> 32), *rank = (int)(INT32_MAX - (all & INT32_MAX));
    return status;
}

static tw_status alike(const rank_value *values, int count)
{
    return failure_alike(world_comm, values, count, deadline_s);
}

static tw_status add(int64_t *values, int count)
{
    int64_t sums[16];
    if (count > 16) return failure(TW_BAD_ARGUMENT, "more than 16 values to add");
    const tw_status status = failure_reduce(world_comm, values, sums, count, MPI_SUM, "adding up", deadline_s);
    if (status == TW_OK) memcpy(values, sums, (size_t)count * sizeof *sums);
    return status;
}

/* Numbers that are not negative are in the order of their bits. */
static tw_status most(double *values, int count)
{
    int64_t bits[16], largest[16];
    if (count > 16) return failure(TW_BAD_ARGUMENT, "more than 16 values to compare");
    memcpy(bits, values, (size_t)count * sizeof *bits);
    const tw_status status = failure_reduce(world_comm, bits, largest, count, MPI_MAX, "comparing", deadline_s);
    if (status == TW_OK) memcpy(values, largest, (size_t)count * sizeof *largest);
    return status;
}

static tw_status tell(char *text, int size)
{
    return failure_tell(world_comm, 0, text, size, "telling all ranks", deadline_s);
}

/* ---- products ---- */

static tw_status make(const rank_engine *engine, const tw_problem *problem, const tw_mpi_options *options,
                      tw_mpi_layout *layout)
{
    const tw_status status = plan_make(engine, problem, world_comm, options, NULL, &plan);
    snprintf(panels_text, sizeof panels_text, "%s", tw_mpi_panels_text(plan));
    return status == TW_OK ? tw_mpi_plan_layout(plan, layout) : status;
}

static tw_status gemm(const void *a, int64_t lda, const void *b, int64_t ldb, void *c, int64_t ldc)
{
    const tw_status status = tw_mpi_gemm(plan, a, lda, b, ldb, c, ldc);
    received_words = tw_mpi_received_words(plan), is_stuck = plan->pending.stuck;
    return status;
}

static int64_t received(void) { return received_words; }

static bool stuck(void) { return is_stuck; }

static const char *panels(void) { return panels_text; }

/* ---- files ---- */

static tw_status open_file(const char *path, bool writes, rank_file **file)
{
    return files_open(world_comm, path, writes, file);
}

static tw_status write_piece(rank_file *file, const rank_piece *piece, const void *data)
{
    return files_move(file, piece, (void *)(uintptr_t)data);
}

TW_API extern const rank_plugin tilewright_mpi_plugin;
const rank_plugin tilewright_mpi_plugin = {
    .version = TEXT_OF(TW_VERSION_MAJOR) "." TEXT_OF(TW_VERSION_MINOR) "." TEXT_OF(TW_VERSION_PATCH),
    .start = start,
    .stop = stop,
    .error = tw_mpi_error_text,
    .agreed = failure_is_agreed,
    .worst = worst,
    .alike = alike,
    .add = add,
    .most = most,
    .tell = tell,
    .beside = beside,
    .make = make,
    .gemm = gemm,
    .panels = panels,
    .drop = drop,
    .received = received,
    .open = open_file,
    .read = files_move,
    .write = write_piece,
    .close = files_close,
    .timeout = set_timeout,
    .while_idle = failure_while_idle,
    .stuck = stuck};
