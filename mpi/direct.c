/* direct.c - see direct.h. All ranks see what each of them has, so that all decide alike; what NCCL does is waited for
 * by polling, and a rank that fails tells the others by MPI. */
#include "direct.h"
#include "notice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORD = 512, FIRST_BYTES = 256 };

static const char telling[] = "telling how panels go";

/* What a rank has. */
typedef struct facts {
    int64_t version; /* of NCCL; 0: it cannot be used */
    int64_t gpu;     /* hash of the GPU's name; 0: nobody can say */
} facts;

static int computing(const tw_mpi_plan *plan) { return plan->grid.pm * plan->grid.pn * plan->grid.pk; }

static tw_status told(const tw_mpi_plan *plan, tw_status status)
{
    return status == TW_OK ? TW_OK : failure(status, "%.900s", plan->engine.error());
}

/* ---- what all ranks have ---- */

static int64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325;
    if (text[0] == '\0') return 0;
    for (; *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return (int64_t)hash;
}

/* why: what this rank lacks */
static facts facts_of(const tw_mpi_plan *plan, char why[WORD])
{
    char id[64] = "";
    int version = 0;
    const rank_engine *e = &plan->engine;
    snprintf(why, WORD, "nobody can say which GPU this is");
    if (!plan->computes) return (facts){0};
    if (e->device.nccl(plan->pipeline, &version) != TW_OK) {
        snprintf(why, WORD, "%.500s", e->error());
        return (facts){0};
    }
    if (e->device.id(e->self, id, (int)sizeof id) != TW_OK) id[0] = '\0';
    return (facts){version, hash_of(id)};
}

static void version_text(int64_t version, char text[32])
{
    snprintf(text, 32, "NCCL %" PRId64 ".%" PRId64 ".%" PRId64, version / 10000, version / 100 % 100, version % 100);
}

/* The first rank that has none, or *with another rank what both may not have; -1: all is well. */
static int first_without(const facts *all, int ranks, int *with)
{
    *with = -1;
    for (int r = 0; r < ranks; r++) {
        if (all[r].version == 0 || all[r].gpu == 0) return r;
        for (*with = 0; *with < r; ++*with)
            if (all[*with].version != all[r].version || all[*with].gpu == all[r].gpu) return r;
        *with = -1;
    }
    return -1;
}

/* Why not, in words that are the same on all ranks; "": all can. */
static tw_status compare(tw_mpi_plan *plan, char why[WORD])
{
    char mine[WORD], one[32], other[32];
    int with;
    facts *all = calloc((size_t)plan->ranks + 1, sizeof *all); /* and, last, its own */
    MPI_Request request;
    tw_status status = all != NULL ? TW_OK : failure(TW_NO_MEMORY, "no memory for what %d ranks have", plan->ranks);
    status = failure_agree(plan->comm, status, plan->timeout_s);
    if (status != TW_OK) return free(all), status;
    facts *own = all + plan->ranks;
    *own = facts_of(plan, mine);
    status = failure_mpi(MPI_Iallgather(own, sizeof *own, MPI_BYTE, all, sizeof *own, MPI_BYTE, plan->comm, &request),
                         "comparing the ranks' GPUs");
    if (status == TW_OK) status = failure_await(&request, "comparing the ranks' GPUs", plan->timeout_s);
    if (status != TW_OK) return status; /* MPI may still use all[] */
    const int who = first_without(all, computing(plan), &with);
    why[0] = '\0';
    if (who >= 0 && with < 0) {
        status = failure_tell(plan->comm, who, mine, WORD, telling, plan->timeout_s);
        snprintf(why, WORD, "rank %d: %.480s", who, mine);
    } else if (who >= 0 && all[who].gpu == all[with].gpu) {
        snprintf(why, WORD, "ranks %d and %d share a GPU", with, who);
    } else if (who >= 0) {
        version_text(all[with].version, one), version_text(all[who].version, other);
        snprintf(why, WORD, "rank %d has %s, rank %d has %s", with, one, who, other);
    }
    version_text(all[0].version, plan->panels_text);
    free(all);
    return status;
}

/* ---- joining ---- */

/* Until all have joined, so many exchanges are done, and all copies; or this rank has failed, or another one has, and
 * says so: *stopped. */
static tw_status await(tw_mpi_plan *plan, int64_t exchanges, bool *stopped)
{
    const rank_device *d = &plan->engine.device;
    const double start_s = failure_now_s();
    for (;;) {
        int64_t count = -1;
        int copied = 0;
        tw_status status = d->exchanged(plan->pipeline, &count);
        if (status == TW_OK) status = d->poll(plan->pipeline, 0, &copied);
        if (status != TW_OK || (count >= exchanges && copied)) return told(plan, status);
        *stopped = notice_heard(plan->comm);
        if (*stopped) return TW_OK;
        const double waited_s = failure_now_s() - start_s;
        if (plan->timeout_s > 0 && waited_s > plan->timeout_s && count < 0)
            return failure(TW_DEVICE_FAILED, "the other ranks have not joined NCCL's communicator for %g s",
                           plan->timeout_s);
        if (plan->timeout_s > 0 && waited_s > plan->timeout_s)
            return failure(TW_DEVICE_FAILED, "NCCL has not moved the first bytes between ranks for %g s",
                           plan->timeout_s);
        failure_idle(waited_s);
    }
}

/* ---- the first exchanges, for which NCCL connects ranks ---- */

/* Exchange i of a panel: A's peers, then B's. */
static tw_lab_exchange exchange_at(const tw_mpi_plan *plan, int i)
{
    const int of_a = plan->a.peers - 1;
    return i < of_a ? side_exchange(&plan->a, i + 1) : side_exchange(&plan->b, i - of_a + 1);
}

static void fill(char *bytes, int from, int to)
{
    for (int i = 0; i < FIRST_BYTES; i++) bytes[i] = (char)((from * 5 + to * 3 + i) * 7 + 1);
}

/* Of `count` peers: what each is sent, and behind all of that what each sends. */
static tw_status exchange_all(tw_mpi_plan *plan, char *host, char *there, int count, bool *stopped)
{
    const rank_device *d = &plan->engine.device;
    const int64_t bytes = (int64_t)count * FIRST_BYTES;
    const tw_lab_copy up = {.to = there, .from = host, .width = 2 * bytes, .rows = 1, .way = TW_LAB_UP},
                      down = {.to = host, .from = there, .width = 2 * bytes, .rows = 1, .way = TW_LAB_DOWN};
    tw_status status = d->copy(plan->pipeline, &up);
    for (int i = 0; i < count && status == TW_OK; i++) {
        tw_lab_exchange x = exchange_at(plan, i);
        x.sent = there + (int64_t)i * FIRST_BYTES, x.received = there + bytes + (int64_t)i * FIRST_BYTES;
        x.sent_bytes = x.received_bytes = FIRST_BYTES;
        status = d->exchange(plan->pipeline, &x);
    }
    status = status == TW_OK ? await(plan, count, stopped) : told(plan, status);
    if (status != TW_OK || *stopped) return status;
    status = told(plan, d->copy(plan->pipeline, &down));
    return status == TW_OK ? await(plan, count, stopped) : status;
}

/* With each peer of the plan, in the memory that panels lie in. */
static tw_status try_peers(tw_mpi_plan *plan, bool *stopped)
{
    const int count = plan->a.peers + plan->b.peers - 2;
    const int64_t bytes = (int64_t)count * FIRST_BYTES;
    char expected[FIRST_BYTES];
    void *host, *there;
    tw_status status = plan->engine.device.memory(plan->pipeline, 0, 2 * bytes, &host);
    if (status == TW_OK) status = plan->engine.device.memory(plan->pipeline, 1, 2 * bytes, &there);
    if (status != TW_OK) return told(plan, status);
    memset(host, 0, (size_t)(2 * bytes));
    for (int i = 0; i < count; i++) fill((char *)host + (int64_t)i * FIRST_BYTES, plan->rank, exchange_at(plan, i).to);
    status = exchange_all(plan, host, there, count, stopped);
    if (status != TW_OK || *stopped) return status;
    for (int i = 0; i < count; i++) {
        const int from = exchange_at(plan, i).from;
        fill(expected, from, plan->rank);
        if (memcmp((char *)host + bytes + (int64_t)i * FIRST_BYTES, expected, FIRST_BYTES) != 0)
            return failure(TW_DEVICE_FAILED, "NCCL has brought other bytes from rank %d than it has sent", from);
    }
    plan->pending.exchanged = count;
    return TW_OK;
}

/* ---- */

/* The sentence that all ranks were told of, with the rank that has failed. */
static void name_failure(const tw_mpi_plan *plan, char why[WORD])
{
    const char *text = tw_mpi_error_text();
    if (strncmp(text, "rank ", 5) == 0) /* another one's */
        snprintf(why, WORD, "%.500s", text);
    else
        snprintf(why, WORD, "rank %d: %.480s", plan->rank, text);
}

/* TW_OK: all ranks have joined and reach their peers, or none has, and why says what has failed. */
static tw_status join(tw_mpi_plan *plan, char why[WORD])
{
    struct {
        int64_t status;
        char id[TW_LAB_COMM_ID], why[WORD];
    } from_first = {0};
    int64_t failed = 0;
    bool stopped = false;
    if (plan->rank == 0) {
        from_first.status = plan->engine.device.comm_id(plan->pipeline, from_first.id);
        snprintf(from_first.why, WORD, "rank 0: %.480s", plan->engine.error());
    }
    tw_status status = failure_tell(plan->comm, 0, &from_first, sizeof from_first, telling, plan->timeout_s);
    if (status != TW_OK) return status;
    if (from_first.status != TW_OK) {
        snprintf(why, WORD, "%s", from_first.why);
        return TW_OK;
    }
    if (plan->computes) {
        status = told(plan, plan->engine.device.join(plan->pipeline, from_first.id, plan->rank, computing(plan)));
        if (status == TW_OK) status = await(plan, 0, &stopped);
        if (status == TW_OK && !stopped) status = try_peers(plan, &stopped);
        if (status != TW_OK) notice_send(plan->comm, computing(plan));
    }
    const bool sent = status != TW_OK;
    status = failure_agree(plan->comm, status, 2 * plan->timeout_s); /* others may have waited as long as they may */
    if (status == TW_OK) return TW_OK;
    if (!failure_is_agreed()) return status;
    name_failure(plan, why);
    const tw_status left = plan->computes ? told(plan, plan->engine.device.leave(plan->pipeline)) : TW_OK;
    status = notice_collect(plan->comm, computing(plan), sent, &failed, plan->timeout_s);
    return status == TW_OK ? failure_agree(plan->comm, left, plan->timeout_s) : status;
}

/* ---- the way ---- */

static tw_status staged(tw_mpi_plan *plan, int wanted, const char *why)
{
    if (wanted == TW_MPI_PANELS_NCCL) return failure(TW_NO_DEVICE, "panels cannot go by NCCL: %.900s", why);
    snprintf(plan->panels_text, sizeof plan->panels_text, "staged through host memory: %.400s", why);
    return TW_OK;
}

tw_status direct_make(tw_mpi_plan *plan, int wanted)
{
    char why[WORD] = "";
    if (!plan->engine.on_device) return TW_OK;
    if ((plan->grid.pm == 1 && plan->grid.pn == 1) || plan->sizes.k == 0)
        return snprintf(plan->panels_text, sizeof plan->panels_text, "none between ranks"), TW_OK;
    if (wanted == TW_MPI_PANELS_STAGED) return staged(plan, wanted, "as asked");
    tw_status status = compare(plan, why);
    if (status == TW_OK && why[0] == '\0') status = join(plan, why);
    if (status != TW_OK) return status;
    if (why[0] != '\0') return staged(plan, wanted, why);
    plan->direct = true;
    plan->pending.engine = &plan->engine, plan->pending.pipeline = plan->pipeline;
    return TW_OK;
}

void direct_drop(tw_mpi_plan *plan)
{
    char why[WORD];
    name_failure(plan, why);
    staged(plan, TW_MPI_PANELS_AUTO, why);
    plan->direct = false;
    plan->pending.pipeline = NULL, plan->pending.exchanged = 0;
}

/* ---- the end of a call that failed ---- */

tw_status direct_stop(tw_mpi_plan *plan, tw_status status)
{
    pending_drop_exchanges(&plan->pending);
    if (plan->pending.heard || plan->stopped) return status; /* all hear of it */
    plan->stopped = true;
    const tw_status sent = notice_send(plan->comm, computing(plan));
    if (sent != TW_OK) plan->pending.status = sent;
    return status;
}

tw_status direct_end(tw_mpi_plan *plan)
{
    int64_t count = 0;
    const tw_status status = notice_collect(plan->comm, computing(plan), plan->stopped, &count, plan->timeout_s);
    plan->lost = status != TW_OK;
    if (count > 0 && !plan->lost) direct_leave(plan);
    plan->ended = plan->ended || count > 0;
    return status;
}

void direct_leave(tw_mpi_plan *plan)
{
    if (plan->computes && !plan->pending.stuck) plan->engine.device.leave(plan->pipeline);
}
