/* spread.h - a product as a list of steps, on one device or several: src/spread.c or panels.c makes it, an engine
 * carries it out. */
#ifndef TILEWRIGHT_SPREAD_H
#define TILEWRIGHT_SPREAD_H

#include "../plan.h"
#include "stop.h"

enum { MOST_JOINED = 16 };

/* The order in which a device does what it is told: one stream each. Tiles alternate between two, so that the last
 * blocks of one compute beside the first of the next. */
typedef enum spread_lane { LANE_UP, LANE_PEER, LANE_PACK, LANE_TILE, LANE_TILE_2, LANE_DOWN, SPREAD_LANES } spread_lane;

typedef enum spread_kind {
    SPREAD_UPLOAD,   /* its copies, from the caller's matrix */
    SPREAD_FETCH,    /* `bytes` from another device's memory, at a there to c here */
    SPREAD_PACK,     /* a to c, as the plan packs its operand */
    SPREAD_TILE,     /* c <- alpha a b + beta c */
    SPREAD_DOWNLOAD, /* its copies, to the caller's matrix */
} spread_kind;

/* An address of the caller's; or, where that is 0, bytes into the memory that the product takes on the device. */
typedef struct spread_at {
    uint64_t address;
    int64_t offset;
} spread_at;

/* Rows of `width` bytes between a matrix of the caller's, in host memory or a device's, and the step's device. */
typedef struct spread_copy {
    int operand;       /* 0, 1, 2: of A, B, C */
    int caller_device; /* that the caller's matrix lies on; HOST_MEMORY */
    uint64_t caller;   /* its address */
    size_t caller_pitch, pitch, width;
    int64_t rows;
    spread_at at;
} spread_copy;

enum { HOST_MEMORY = -1 };

typedef struct spread_step {
    spread_kind kind;
    spread_lane lane;
    int device;        /* index among the context's */
    int needs, copies; /* how many: steps to wait for, copies */
    int64_t first_need, first_copy;
    int plan, operand; /* PACK: of A, 0, or B, 1 */
    int other_device;  /* FETCH: that it comes from */
    spread_at a, b, c; /* by kind, above */
    int64_t bytes;     /* FETCH */
} spread_step;

/* A tile's plan: as it is launched, and as the planner made it, by which operands are packed once for many tiles. */
typedef struct spread_plan {
    plan tile, packs;
} spread_plan;

/* Steps stand in an order in which they can be begun: each needs only some before it. Each device has bytes[] of memory
 * for its panels, and a workspace in it for each of its two lanes of tiles. */
typedef struct spread_work {
    int devices;
    bool reads_c, keeps_memory; /* keeps: what is taken on a device stays for the next list, if it is little */
    const stop *stop;
    int64_t bytes[MOST_JOINED], workspace[MOST_JOINED][2];
    spread_plan *plans;
    spread_step *steps;
    int32_t *needs;
    spread_copy *copies;
    int64_t plan_count, step_count, need_count, copy_count;
} spread_work;

#endif
