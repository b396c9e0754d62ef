/* fault.c - preloaded into a rank: MPI's calls of one stage of `multiply` end or stop the process.
 *
 *   TEST_FAULT=STAGE:RANK:ACTION:CALL    ACTION is kill, stop, fail, late (by 0.3 s), term: SIGTERM comes, then late;
 *                                        or spoil: the last number of A.npy changes
 *
 * CALL counts the stage's calls from 1. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static void spoil(const char *path)
{
    char byte;
    const int file = open(path, O_RDWR);
    const off_t last = lseek(file, -1, SEEK_END);
    if (pread(file, &byte, 1, last) != 1 || (byte ^= 0x40, pwrite(file, &byte, 1, last)) != 1) perror(path);
    close(file);
}

/* True: the call is to fail. */
static bool meet(const char *stage)
{
    static int calls;
    char named[32] = "", action[32] = "";
    int rank = -1, wanted = -1, call = 1;
    const char *fault = getenv("TEST_FAULT");
    if (fault == NULL || sscanf(fault, "%31[^:]:%d:%31[^:]:%d", named, &wanted, action, &call) < 3) return false;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != wanted || strcmp(stage, named) != 0 || ++calls != call) return false;
    fprintf(stderr, "test fault: %s\n", fault);
    if (strcmp(action, "kill") == 0) kill(getpid(), SIGKILL);
    if (strcmp(action, "stop") == 0) kill(getpid(), SIGSTOP);
    if (strcmp(action, "term") == 0) kill(getpid(), SIGTERM);
    if (strcmp(action, "late") == 0 || strcmp(action, "term") == 0) usleep(300000);
    if (strcmp(action, "spoil") == 0) spoil("A.npy");
    return strcmp(action, "fail") == 0;
}

__attribute__((visibility("default"))) int MPI_Init_thread(int *argc, char ***argv, int wanted, int *level)
{
    const int code = PMPI_Init_thread(argc, argv, wanted, level);
    meet("start");
    return code;
}

/* The file of C has been made. */
__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
    va_end(more);
    const int file = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if ((flags & O_EXCL) != 0 && strstr(path, ".C.npy") != NULL) meet("file");
    return file;
}

__attribute__((visibility("default"))) int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request)
{
    meet("plan");
    return PMPI_Comm_idup(comm, copy, request);
}

__attribute__((visibility("default"))) int MPI_File_read_all(MPI_File file, void *data, int count, MPI_Datatype type,
                                                             MPI_Status *status)
{
    meet("read");
    return PMPI_File_read_all(file, data, count, type, status);
}

__attribute__((visibility("default"))) int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag,
                                                     MPI_Comm comm, MPI_Request *request)
{
    meet("product");
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}

__attribute__((visibility("default"))) int MPI_File_write_all(MPI_File file, const void *data, int count,
                                                              MPI_Datatype type, MPI_Status *status)
{
    const bool fails = meet("write");
    const int code = PMPI_File_write_all(file, data, count, type, status);
    return fails ? MPI_ERR_NO_SPACE : code;
}

__attribute__((visibility("default"))) int MPI_File_sync(MPI_File file)
{
    meet("sync");
    return PMPI_File_sync(file);
}

__attribute__((visibility("default"))) int MPI_Finalize(void)
{
    meet("end");
    return PMPI_Finalize();
}

__attribute__((visibility("default"))) int fallocate(int file, int mode, off_t from, off_t bytes)
{
    (void)file, (void)mode, (void)from, (void)bytes;
    if (!meet("room")) return 0;
    errno = ENOSPC;
    return -1;
}
