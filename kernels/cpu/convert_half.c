/* convert_half - rows of a type of 2 bytes (HALF: f16) to float, for its panels.
 *
 * IDEA      Panels of it hold floats: widening is exact, so the micro-kernel of f32 and its sums serve, bit for bit.
 * NUMBERS   16, 8 or 4 elements an instruction by AVX-512, F16C or NEON; else some 15 instructions of SSE2 for 4.
 * LIMITS    None: any address of a half, any count.
 * SOURCE    IEEE 754-2019, 3.6; Intel SDM 2, VCVTPH2PS. */
#include "rung.h"
#include "vec.h"
#include "half.h"

#define JOIN(x, y)  JOIN_(x, y)
#define JOIN_(x, y) x##y

void JOIN(KERNEL, _widen)(const uint16_t *from, float *to, int64_t count)
{
    int64_t i = 0;
    for (; i + (int)LANES <= count; i += LANES) vec_store(to + i, of_half(load)(from + i));
    if (i < count) vec_store_some(to + i, vec_first(count - i), of_half(load_some)(from + i, vec_first(count - i)));
}
