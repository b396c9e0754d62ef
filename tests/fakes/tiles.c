/* tiles.c - the matrix unit's instructions in plain C, after their description in Intel's manual, and a kernel
 * written for them: for test_tiles. The build compiles it once per type and kernel, with REAL, KERNEL, IS_INT8 and
 * TEXT. */
#define TILES_IN_C
#define MR 32
#define NR 32

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { ROWS = 16, BYTES = 64 };

static unsigned char tiles[8][ROWS][BYTES];
#define WHOLE(x)                                                                                                       \
    {                                                                                                                  \
        x, x, x, x, x, x, x, x                                                                                         \
    }
static uint8_t rows_of[8] = WHOLE(ROWS), bytes_of[8] = WHOLE(BYTES);

static inline void tiles_shape(const uint8_t rows[8], const uint8_t bytes[8])
{
    memcpy(rows_of, rows, sizeof rows_of), memcpy(bytes_of, bytes, sizeof bytes_of);
}

static inline __attribute__((unused)) void tiles_release(void) /* r13_matrix does not */
{
    static const uint8_t rows[8] = WHOLE(ROWS), bytes[8] = WHOLE(BYTES);
    tiles_shape(rows, bytes);
}

static inline void tile_zero(int t) { memset(tiles[t], 0, sizeof tiles[t]); }

/* What a tile lacks is 0. */
static void tile_load(int t, const void *at, int64_t stride)
{
    tile_zero(t);
    for (int i = 0; i < rows_of[t]; i++) memcpy(tiles[t][i], (const char *)at + i * stride, bytes_of[t]);
}

static void tile_store(int t, void *at, int64_t stride)
{
    for (int i = 0; i < rows_of[t]; i++) memcpy((char *)at + i * stride, tiles[t][i], bytes_of[t]);
}

#if IS_INT8
static int byte_at(const unsigned char *at, bool is_unsigned) { return is_unsigned ? *at : (int8_t)*at; }

static void tile_bytes(int sum, int a, int b, bool a_unsigned, bool b_unsigned)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < BYTES / 4; j++) {
            uint32_t s;
            memcpy(&s, &tiles[sum][i][4 * j], sizeof s);
            for (int p = 0; p < BYTES / 4; p++)
                for (int q = 0; q < 4; q++)
                    s += (uint32_t)(byte_at(&tiles[a][i][4 * p + q], a_unsigned) *
                                    byte_at(&tiles[b][p][4 * j + q], b_unsigned));
            memcpy(&tiles[sum][i][4 * j], &s, sizeof s);
        }
}
#define tile_ss(sum, a, b) tile_bytes(sum, a, b, false, false)
#define tile_su(sum, a, b) tile_bytes(sum, a, b, false, true)
#define tile_us(sum, a, b) tile_bytes(sum, a, b, true, false)
#define tile_uu(sum, a, b) tile_bytes(sum, a, b, true, true)
#else
static float flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

static float bf16_at(const unsigned char *at)
{
    uint32_t bits = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 24;
    float x;
    memcpy(&x, &bits, sizeof x);
    return flushed(x);
}

static void tile_bf16(int sum, int a, int b)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < BYTES / 4; j++) {
            float s, part[2] = {0, 0};
            memcpy(&s, &tiles[sum][i][4 * j], sizeof s);
            for (int p = 0; p < BYTES / 4; p++)
                for (int q = 0; q < 2; q++)
                    part[q] = flushed(
                        fmaf(bf16_at(&tiles[a][i][4 * p + 2 * q]), bf16_at(&tiles[b][p][4 * j + 2 * q]), part[q]));
            s = flushed(flushed(s) + flushed(part[0] + part[1]));
            memcpy(&tiles[sum][i][4 * j], &s, sizeof s);
        }
}
#endif

#define tiles_ordered() ((void)0)
#define REAL_IS_DOUBLE  0
#include TEXT
