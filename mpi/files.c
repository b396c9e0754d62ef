/* files.c - see files.h. */
#include "files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct rank_file {
    MPI_File handle;
    bool writes;
    char path[512]; /* for sentences */
};

tw_status files_open(MPI_Comm comm, const char *path, bool writes, rank_file **out)
{
    rank_file *file = calloc(1, sizeof *file);
    char what[600];
    *out = NULL;
    if (file == NULL) return failure(TW_NO_MEMORY, "no memory for an open file");
    snprintf(file->path, sizeof file->path, "%.500s", path);
    file->writes = writes;
    snprintf(what, sizeof what, "%.500s: opening it for all ranks", path);
    MPI_Info info = MPI_INFO_NULL; /* the usual 16 or 32 MiB would be much of a rank's memory */
    if (MPI_Info_create(&info) == MPI_SUCCESS) MPI_Info_set(info, "cb_buffer_size", "4194304");
    const tw_status status = failure_mpi(
        MPI_File_open(comm, path, writes ? MPI_MODE_WRONLY : MPI_MODE_RDONLY, info, &file->handle), what);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    if (status == TW_OK)
        *out = file;
    else
        free(file);
    return status;
}

/* The lines of a piece in the file. */
static int file_type(const rank_piece *p, MPI_Datatype *type)
{
    const bool solid = p->lines < 2 || p->stride_bytes == p->line_bytes;
    int code = solid ? MPI_Type_contiguous((int)(p->lines * p->line_bytes), MPI_BYTE, type)
                     : MPI_Type_create_hvector((int)p->lines, (int)p->line_bytes, (MPI_Aint)p->stride_bytes, MPI_BYTE,
                                               type);
    return code == MPI_SUCCESS ? MPI_Type_commit(type) : code;
}

static tw_status move(rank_file *f, const rank_piece *p, void *data, const char *what)
{
    MPI_Datatype type = MPI_BYTE;
    MPI_Status found;
    const int64_t bytes = p->lines * p->line_bytes;
    int moved = 0;
    int code = bytes > 0 ? file_type(p, &type) : MPI_SUCCESS;
    if (code == MPI_SUCCESS)
        code = MPI_File_set_view(f->handle, bytes > 0 ? p->offset : 0, MPI_BYTE, type, "native", MPI_INFO_NULL);
    if (code == MPI_SUCCESS)
        code = f->writes ? MPI_File_write_all(f->handle, data, (int)bytes, MPI_BYTE, &found)
                         : MPI_File_read_all(f->handle, data, (int)bytes, MPI_BYTE, &found);
    if (type != MPI_BYTE) MPI_Type_free(&type);
    if (code != MPI_SUCCESS) return failure_mpi(code, what);
    if (bytes > 0) MPI_Get_count(&found, MPI_BYTE, &moved);
    if (moved == bytes) return TW_OK;
    return failure(TW_DEVICE_FAILED, "%s: %d of %" PRId64 " bytes from byte %" PRId64 " on were %s", f->path, moved,
                   bytes, p->offset, f->writes ? "written" : "there: the file became shorter while it was in use");
}

tw_status files_move(rank_file *file, const rank_piece *piece, void *data)
{
    char what[600];
    snprintf(what, sizeof what, "%s: %s", file->path, file->writes ? "writing" : "reading");
    return move(file, piece, data, what);
}

tw_status files_close(rank_file *file)
{
    char what[600];
    snprintf(what, sizeof what, "%s: finishing", file->path);
    int code = file->writes ? MPI_File_sync(file->handle) : MPI_SUCCESS;
    const int closed = MPI_File_close(&file->handle);
    free(file);
    return failure_mpi(code != MPI_SUCCESS ? code : closed, what);
}
