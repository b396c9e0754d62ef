/* probe_tiles.c - the ceiling of the matrix unit: products into four sums in turns, nothing loaded or stored. */
#include "rung.h"
#include "tiles.h"

double KERNEL(int64_t rounds, double *sink)
{
    real sums[TILE_EDGE][TILE_EDGE];
    tiles_configure();
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
    tile_zero(4);
    tile_zero(5);
    tile_zero(6);
    tile_zero(7);
    for (int64_t r = 0; r < rounds; r++) {
        tile_step(0, 0, 4, 6);
        tile_step(0, 1, 4, 7);
        tile_step(0, 2, 5, 6);
        tile_step(0, 3, 5, 7);
    }
    tile_store(0, sums, sizeof sums[0]);
    tiles_release();
    *sink = (double)sums[0][0];
    return 4 * 2.0 * TILE_EDGE * TILE_EDGE * (IS_INT8 ? 64 : 32) * (double)rounds;
}
