/* tiles.h - the matrix unit's registers, as every kernel of AMX uses them: tiles 0 to 3 for sums, 4 and 5 for A, 6 and
 * 7 for B, all of them 16 rows of 64 bytes but where a kernel gives them other shapes. tests/test_tiles.c gives its
 * own, in plain C, where the processor has none. */
#ifndef TILEWRIGHT_TILES_H
#define TILEWRIGHT_TILES_H

#include <stdint.h>

#ifndef TILES_IN_C
#include <immintrin.h>
#define tile_zero(t)              _tile_zero(t)
#define tile_load(t, at, stride)  _tile_loadd(t, at, stride)
#define tile_store(t, at, stride) _tile_stored(t, at, stride)
#define tile_bf16(sum, a, b)      _tile_dpbf16ps(sum, a, b)
#define tile_ss(sum, a, b)        _tile_dpbssd(sum, a, b)
#define tile_su(sum, a, b)        _tile_dpbsud(sum, a, b)
#define tile_us(sum, a, b)        _tile_dpbusd(sum, a, b)
#define tile_uu(sum, a, b)        _tile_dpbuud(sum, a, b)
/* gcc's tile loads do not say that they read memory */
#define tiles_ordered() __asm__ volatile("" ::: "memory")
#endif

/* kind, a constant: of bytes 2 for an unsigned A and 1 for an unsigned B, together. */
#if IS_INT8
#define tile_step(kind, sum, a, b)                                                                                     \
    do {                                                                                                               \
        if ((kind) == 0)                                                                                               \
            tile_ss(sum, a, b);                                                                                        \
        else if ((kind) == 1)                                                                                          \
            tile_su(sum, a, b);                                                                                        \
        else if ((kind) == 2)                                                                                          \
            tile_us(sum, a, b);                                                                                        \
        else                                                                                                           \
            tile_uu(sum, a, b);                                                                                        \
    } while (0)
#else
#define tile_step(kind, sum, a, b)                                                                                     \
    do {                                                                                                               \
        (void)(kind);                                                                                                  \
        tile_bf16(sum, a, b);                                                                                          \
    } while (0)
#endif

#if IS_INT8
#define real_of(x)          ((real)(int64_t)(x))
#define times_plus(x, y, z) ((x) * (y) + (z))
#else
#define real_of(x)          ((real)(x))
#define times_plus(x, y, z) __builtin_fmaf(x, y, z) /* rounded once, as gemm_simd does */
#endif

enum { TILE_EDGE = 16, TILE_BYTES = 64 };

#ifndef TILES_IN_C
/* Rows of each register and bytes of a row; 0: it is not used. What LDTILECFG takes: Intel SDM 1, 18.3. */
static inline void tiles_shape(const uint8_t rows[8], const uint8_t bytes[8])
{
    struct {
        uint8_t palette, start_row, zero[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    for (int t = 0; t < 8; t++) config.row_bytes[t] = bytes[t], config.rows[t] = rows[t];
    tiles_ordered();
    _tile_loadconfig(&config);
}

static inline void tiles_release(void) { _tile_release(); }
#endif

/* Whole ones. */
static inline void tiles_configure(void)
{
    static const uint8_t rows[8] = {16, 16, 16, 16, 16, 16, 16, 16}, bytes[8] = {64, 64, 64, 64, 64, 64, 64, 64};
    tiles_shape(rows, bytes);
}

#endif
