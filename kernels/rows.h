/* rows.h - kernels.def as text, for those who are no C program: of each row the preprocessor makes
 *
 *     @ what  engine  (types)  rung or family  numbers  :  fields
 *
 * with the fields as written there, and those that the tiles of a family have in common. CMakeLists.txt keeps them as
 * kernels/rows.txt of the build folder, a row a line. EVERY_MACHINE: the rows of all processors, not only of the one
 * that is compiled for. */
#include "each.h"

#define CPU_RUNG(name, ...)                            @ rung cpu (f32, f64) name : __VA_ARGS__
#define CPU_WIDE(name, ...)                            @ wide cpu (f32, f64) name : __VA_ARGS__
#define CPU_TILES(types, micros, isa, mr, nr, kc, ...) @ tile cpu types gemm_simd micros isa mr nr kc : __VA_ARGS__
#define CPU_MATRIX(types, micros, mr, nr, kc, ...)     @ matrix cpu types r13_matrix micros amx mr nr kc : __VA_ARGS__
#define GPU_RUNG(name, ...)                            @ rung gpu (f32) name : __VA_ARGS__
#define CUDA_RUNGS(types, name, ...)                   @ rung cuda types name : __VA_ARGS__
#define CUDA_TILES(types, family, m, n, ...)                                                                           \
    @ tile cuda types family m n : COMMON(CUDA_##family, m, n, __VA_ARGS__)
#define OPENCL_TILES(types, family, m, n, ...)                                                                         \
    @ tile opencl types family m n : COMMON(OPENCL_##family, m, n, __VA_ARGS__)
#define CUDA_BATCHES(types, family, m, n, ...)                                                                         \
    @ batch cuda types family m n : COMMON(CUDA_##family, m, n, __VA_ARGS__)
#define COMMON(of, m, n, k, stages, threads, ...)                                                                      \
    of(type, m, n, k, stages, threads), STAGES(stages), THREADS(threads), __VA_ARGS__
#include "kernels.def"
