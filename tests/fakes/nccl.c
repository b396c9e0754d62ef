/* nccl.c - a fake libnccl.so.2 over the fake driver's streams: bytes go from process to process in files of a folder,
 * whose name is the communicator's. Nothing blocks: a call is under way until the second question whether it is, and a
 * group's messages are put on their stream no sooner.
 *
 *   FAKE_NCCL  "version=22703 state=6 from=4 absent=1 wrong=1 quiet=1": its version; the communicator's state is 6 once
 *              4 groups were ended; this rank never joins; it sends other bytes; it sends none
 *   FAKE_NCCL_WORDS  what ncclGetLastError() says */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdint.h>
#include <sys/stat.h>

#include "engines/cuda/nccl_api.h"
#include "fake.h"

enum { INVALID_ARGUMENT = 4, INVALID_USAGE = 5, MOST_RANKS = 64, MOST_IN_GROUP = 8 };

typedef struct message {
    nccl_comm comm;
    char file[300];
    char *memory;
    size_t bytes;
    cu_stream stream;
    bool sends;
} message;

/* Never freed: streams may still hold messages. */
static struct nccl_comm_ {
    struct nccl_comm_ *before; /* made; so that a check for leaks finds them all */
    char folder[128];
    int rank, ranks, asked, groups;
    bool joins, joined, aborted;
    int sent[MOST_RANKS], received[MOST_RANKS];
    message *group[MOST_IN_GROUP];
    int in_group;
} * newest;

static _Thread_local int depth;
static _Thread_local nccl_comm current; /* of the group */

static int choice(const char *name, int otherwise)
{
    int unused;
    return fake_number("FAKE_NCCL", name, otherwise, &unused);
}

static void end(const char *what, const char *file)
{
    fprintf(stderr, "the fake NCCL: %s %s\n", what, file);
    abort();
}

/* ---- messages ---- */

static void write_file(const message *m)
{
    char other[304];
    snprintf(other, sizeof other, "%s.new", m->file);
    if (choice("wrong", 0)) m->memory[m->bytes - 1] ^= 1;
    FILE *file = fopen(other, "wb");
    if (file == NULL || fwrite(m->memory, 1, m->bytes, file) != m->bytes || fclose(file) != 0 ||
        rename(other, m->file) != 0)
        end("cannot write", m->file);
}

static void read_file(const message *m)
{
    FILE *file = fopen(m->file, "rb");
    if (file == NULL || fread(m->memory, 1, m->bytes, file) != m->bytes || fgetc(file) != EOF)
        end("there are other bytes than were expected in", m->file);
    fclose(file);
    unlink(m->file);
}

static bool is_ready(void *of)
{
    const message *m = of;
    return (m->sends && !choice("quiet", 0)) || m->comm->aborted || access(m->file, F_OK) == 0;
}

static void run(void *of)
{
    message *m = of;
    if (!m->comm->aborted) m->sends ? write_file(m) : read_file(m);
    free(m);
}

static nccl_result add(nccl_comm comm, void *memory, size_t bytes, int type, int peer, cu_stream stream, bool sends)
{
    if (depth == 0) return INVALID_USAGE;
    if (comm->aborted || type != NCCL_INT8 || peer < 0 || peer >= comm->ranks || bytes == 0 || !comm->joined ||
        comm->asked < 2 || comm->in_group == MOST_IN_GROUP)
        return INVALID_ARGUMENT;
    message *m = calloc(1, sizeof *m);
    *m = (message){.comm = comm, .memory = memory, .bytes = bytes, .stream = stream, .sends = sends};
    snprintf(m->file, sizeof m->file, "%s/%d-%d-%d", comm->folder, sends ? comm->rank : peer, sends ? peer : comm->rank,
             (sends ? comm->sent : comm->received)[peer]++);
    comm->group[comm->in_group++] = m;
    current = comm;
    return NCCL_SUCCESS;
}

static void find_in_driver(const char *name, void *slot)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found = dlsym(driver, name);
    memcpy(slot, &found, sizeof found);
    dlclose(driver); /* the engine has it open */
}

/* While the group's call is under way, its streams are NCCL's. */
static void hold_group(const struct nccl_comm_ *comm, bool held)
{
    void (*fake_hold)(cu_stream, bool);
    find_in_driver("fake_hold", &fake_hold);
    for (int i = 0; i < comm->in_group; i++) fake_hold(comm->group[i]->stream, held);
}

static void put_group(nccl_comm comm)
{
    void (*fake_put)(cu_stream, bool (*)(void *), void (*)(void *), void *, const void *, size_t);
    find_in_driver("fake_put", &fake_put);
    hold_group(comm, false);
    for (int sends = 1; sends >= 0; sends--) /* nobody waits for a sender */
        for (int i = 0; i < comm->in_group; i++) {
            message *m = comm->group[i];
            if (m == NULL || m->sends != (sends == 1)) continue;
            comm->group[i] = NULL; /* it ends where it is put, maybe */
            fake_put(m->stream, is_ready, run, m, m->memory, m->bytes);
        }
    comm->in_group = 0;
}

/* ---- the library ---- */

nccl_result ncclGetVersion(int *version)
{
    *version = choice("version", 22703);
    return NCCL_SUCCESS;
}

const char *ncclGetErrorString(nccl_result error)
{
    return error == 2   ? "unhandled system error"
           : error == 4 ? "invalid argument"
           : error == 6 ? "remote process exited or there was a network error"
                        : "another error";
}

const char *ncclGetLastError(nccl_comm comm)
{
    (void)comm;
    const char *words = getenv("FAKE_NCCL_WORDS");
    return words != NULL ? words : "";
}

nccl_result ncclGetUniqueId(nccl_id *id)
{
    FAULT(ncclGetUniqueId, fault);
    const char *folder = getenv("FAKE_NCCL_FOLDER");
    if (fault != 0) return fault;
    memset(id, 0, sizeof *id);
    snprintf(id->bytes, sizeof id->bytes, "%s/nccl.XXXXXX", folder != NULL ? folder : "/tmp");
    return mkdtemp(id->bytes) != NULL ? NCCL_SUCCESS : 2;
}

nccl_result ncclCommInitRankConfig(nccl_comm *out, int ranks, nccl_id id, int rank, nccl_config *config)
{
    char file[300];
    FAULT(ncclCommInitRankConfig, fault);
    *out = NULL;
    if (fault != 0) return fault;
    if (config->size != 24 || config->magic != NCCL_MAGIC || config->version != 21400 || config->blocking != 0 ||
        ranks > MOST_RANKS)
        return INVALID_ARGUMENT;
    nccl_comm comm = *out = calloc(1, sizeof *comm);
    comm->before = newest, newest = comm;
    snprintf(comm->folder, sizeof comm->folder, "%s", id.bytes);
    comm->rank = rank, comm->ranks = ranks;
    snprintf(file, sizeof file, "%s/rank %d", comm->folder, rank);
    FILE *mine = choice("absent", 0) ? NULL : fopen(file, "w");
    if (mine != NULL) fclose(mine);
    return NCCL_IN_PROGRESS;
}

static bool all_have_joined(const struct nccl_comm_ *comm)
{
    int count = 0;
    DIR *folder = opendir(comm->folder);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        count += strncmp(entry->d_name, "rank ", 5) == 0;
    if (folder != NULL) closedir(folder);
    return count == comm->ranks;
}

nccl_result ncclCommGetAsyncError(nccl_comm comm, nccl_result *state)
{
    const int error = choice("state", 0);
    if (comm->aborted) return INVALID_ARGUMENT;
    *state = NCCL_IN_PROGRESS;
    if (error != 0 && comm->groups >= choice("from", 0)) *state = error;
    if (*state == error) return NCCL_SUCCESS;
    if (!comm->joined && !all_have_joined(comm)) return NCCL_SUCCESS;
    comm->joined = true;
    if (++comm->asked < 2) return NCCL_SUCCESS;
    if (comm->in_group > 0) put_group(comm);
    *state = NCCL_SUCCESS;
    return NCCL_SUCCESS;
}

nccl_result ncclCommAbort(nccl_comm comm)
{
    FAULT(ncclCommAbort, fault);
    char file[300];
    if (depth > 0) end("a group was not ended, so nothing is done for", comm->folder);
    if (fault != 0) return fault;
    if (comm->aborted) return INVALID_ARGUMENT;
    comm->aborted = true;
    hold_group(comm, false);
    snprintf(file, sizeof file, "%s/rank %d", comm->folder, comm->rank);
    unlink(file), rmdir(comm->folder); /* the last one's is empty, unless messages are left */
    return NCCL_SUCCESS;
}

nccl_result ncclGroupStart(void)
{
    FAULT(ncclGroupStart, fault);
    if (fault != 0) return fault;
    depth++;
    return NCCL_SUCCESS;
}

nccl_result ncclGroupEnd(void)
{
    FAULT(ncclGroupEnd, fault);
    if (depth == 0) return INVALID_USAGE;
    depth--;
    if (fault != 0 || current == NULL) return fault != 0 ? fault : NCCL_SUCCESS;
    current->groups++, current->asked = 0;
    hold_group(current, true);
    current = NULL;
    return NCCL_IN_PROGRESS;
}

nccl_result ncclSend(const void *memory, size_t bytes, int type, int peer, nccl_comm comm, cu_stream stream)
{
    FAULT(ncclSend, fault);
    return fault != 0 ? fault : add(comm, (void *)(uintptr_t)memory, bytes, type, peer, stream, true);
}

nccl_result ncclRecv(void *memory, size_t bytes, int type, int peer, nccl_comm comm, cu_stream stream)
{
    FAULT(ncclRecv, fault);
    return fault != 0 ? fault : add(comm, memory, bytes, type, peer, stream, false);
}
