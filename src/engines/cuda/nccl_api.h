/* nccl_api.h - the part of NCCL that the engine uses, declared here so that it is not needed to build. Names and
 * numbers: NCCL's user guide. From 2.14 on its calls need not block, so that a rank that never answers is noticed. */
#ifndef TILEWRIGHT_NCCL_API_H
#define TILEWRIGHT_NCCL_API_H

#include "cu_api.h"

typedef int nccl_result;
typedef struct nccl_comm_ *nccl_comm;

/* ncclUniqueId */
typedef struct nccl_id {
    char bytes[128];
} nccl_id;

/* ncclConfig_t of 2.14, which newer ones take. */
typedef struct nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking, unused;
} nccl_config;

enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7, NCCL_INT8 = 0, NCCL_OLDEST = 21400, NCCL_NEXT = 30000 };

#define NCCL_MAGIC 0xcafebeefU

#define NCCL_FUNCTIONS(F)                                                                                              \
    F(ncclGetVersion, (int *))                                                                                         \
    F(ncclGetUniqueId, (nccl_id *))                                                                                    \
    F(ncclCommInitRankConfig, (nccl_comm *, int, nccl_id, int, nccl_config *))                                         \
    F(ncclCommGetAsyncError, (nccl_comm, nccl_result *))                                                               \
    F(ncclCommAbort, (nccl_comm))                                                                                      \
    F(ncclGroupStart, (void))                                                                                          \
    F(ncclGroupEnd, (void))                                                                                            \
    F(ncclSend, (const void *, size_t, int, int, nccl_comm, cu_stream))                                                \
    F(ncclRecv, (void *, size_t, int, int, nccl_comm, cu_stream))

typedef struct nccl_api {
#define F(name, parameters) nccl_result(*name) parameters;
    NCCL_FUNCTIONS(F)
#undef F
    const char *(*ncclGetErrorString)(nccl_result);
    const char *(*ncclGetLastError)(nccl_comm); /* NULL: there is none */
    int version;                                /* 22703: 2.27.3 */
} nccl_api;

/* nccl_api_load - open NCCL; NULL, and fail()'s sentence, where there is none that can be used. Loaded once per
 * process. */
const nccl_api *nccl_api_load(void);

#endif
