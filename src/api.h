/* api.h - how a call's arguments become a problem to plan: what the public calls share with the lab's. */
#ifndef TILEWRIGHT_API_H
#define TILEWRIGHT_API_H

#include "context.h"

/* api_settle - check the problem as the caller has it, take the context, and say how operands lie where this device
 * computes, which is what is planned. Copies are packed, but a kernel that the lab forces is tried on the caller's own
 * leading dimensions. */
tw_status api_settle(tw_context **context, const tw_lab_choice *choice, const tw_problem *user, const void *a,
                     const void *b, const void *c, tw_problem *host, tw_problem *device);

/* api_settle_unseen - the same where no operand is at hand. */
tw_status api_settle_unseen(tw_context **context, const tw_lab_choice *choice, const tw_problem *user, tw_problem *host,
                            tw_problem *device);

/* api_settle_batch - the same of a batch, which is taken from user_batch: what is planned is an item, aligned as all of
 * them are. seen: a, b and c are the caller's. */
tw_status api_settle_batch(tw_context **context, const tw_problem *user, const tw_batch *user_batch, bool seen,
                           const void *a, const void *b, const void *c, tw_problem *p, tw_batch *batch);

/* api_gemm, api_gemm_batched - tw_gemm() and tw_gemm_batched(), ended by `stop` instead of tw_cancel(). */
tw_status api_gemm(tw_context *context, const stop *stop, const tw_problem *problem, const void *a, const void *b,
                   void *c);
tw_status api_gemm_batched(tw_context *context, const stop *stop, const tw_problem *problem, const tw_batch *batch,
                           const void *a, const void *b, void *c);

/* api_stand_in - where no operand is at hand, an address that passes for one: aligned as the problem says. */
void *api_stand_in(uint32_t align);

#endif
