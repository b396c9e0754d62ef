/* opts.c - the option table and the one parser that reads it. */
#include "opts.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "../lab/named.h"
#include "../program/diag.h"

enum {
    RUNS = CMD_BENCH | CMD_LADDER,
    FILES = CMD_MULTIPLY | CMD_VERIFY,
    DEVICE = RUNS | CMD_MULTIPLY | CMD_SELFTEST,
    JSON = FILES | DEVICE | CMD_TUNE | CMD_EXPLAIN | CMD_DEVICES | CMD_DOCTOR | CMD_VERSION | CMD_GRADE,
    EVERY = JSON | CMD_REPORT | CMD_HELP,
    MOST_RANKS = 1 << 16,
    LONGEST_SIDE = 100000000 /* of a shape to time: three operands of that many squared f64 can still be counted */
};

#define AT(field)   .offset = offsetof(options, field)
#define DTYPES      "f32 f64 bf16 f16 i8 u8 tf32 e4m3 e5m2"
#define ENGINES     "auto cpu opencl cuda"
#define FILE_TYPES  "f64 f32 tf32 f16 bf16 e4m3 e5m2 cf32 cf64 i8 i16 i32 i64 u8 u16 u32 u64"
#define BENCH_TYPES DTYPES " cf32 cf64 i16 i32 i64"

/* name, letter, kind, where, commands, metavar ... */
const option_row option_rows[] = {
    {"output", 'o', OPT_TEXT, AT(output), CMD_MULTIPLY, "FILE",
     .help = "write C to FILE, which is not compressed; its ending gives the format: .npy, .mtx, .raw or .bin"},
    {"output", 'o', OPT_TEXT, AT(output), CMD_REPORT, "FILE",
     .help = "write the page to FILE; .svg: only the bar chart, without a ladder the libraries' speeds over sizes; "
             ".md: only the table of the rungs"},
    {"engine", 0, OPT_CHOICES, AT(engines), CMD_MULTIPLY, "E", ENGINES,
     "compute on this engine (default: auto: a CUDA GPU where it is faster, its start counted, else cpu; -v says why. "
     "With --device, in panels and under mpirun auto is cpu)",
     .list = 1},
    {"engine", 0, OPT_CHOICES, AT(engines), RUNS | CMD_SELFTEST, "E,...", ENGINES,
     "run on these engines, one after the other (default: auto, which is cpu)", .list = 8},
    {"engine", 0, OPT_CHOICES, AT(engines), CMD_TUNE, "E", ENGINES,
     "tune this engine (default: auto, which is cpu). With --show, --export, --import and --forget: its rows alone",
     .list = 1},
    {"engine", 0, OPT_CHOICES, AT(engines), CMD_EXPLAIN, "E", ENGINES,
     "explain this engine's kernel; needs no device (default: auto, the first of cuda, opencl and cpu that has the "
     "rung)",
     .list = 1},
    {"device", 0, OPT_DEVICES, AT(devices), CMD_MULTIPLY, "I,...|all", NULL,
     "use device I of the engine, as `tilewright devices` numbers them; of --engine cuda also several, or all, "
     "together",
     0, 4095, 16},
    {"device", 0, OPT_DEVICES, AT(devices), CMD_BENCH, "I,...|all", NULL,
     "use device I of the engine, as `tilewright devices` numbers them; of --engine cuda with --host also several, or "
     "all, together",
     0, 4095, 16},
    {"device", 0, OPT_WHOLE, AT(device), CMD_LADDER | CMD_SELFTEST | CMD_TUNE, "I", NULL,
     "use device I of the engine, as `tilewright devices` numbers them", 0, 4095},
    {"dtype", 0, OPT_TYPES, AT(dtypes), FILES, "T[,T]", FILE_TYPES,
     "compute in f32, f64, cf32, cf64, bf16 or f16 (C is f32), i8 or u8 (C is i32), on cpu also in i16 to i64 and u16 "
     "to u64, modulo 2^n; on cuda also e4m3, e5m2 or tf32 (C is f32); two for A and B: both of i8 and u8, or both of "
     "e4m3 and e5m2. NumPy's and C's names are taken too, such "
     "as float32, complex64, double and int8_t. Default: the type that NumPy would choose for the operands, f16 and "
     "integers raised to f32 or, "
     "if f32 does not hold every value, f64; of `verify` the type of C, of integers if all files are. "
     "For raw files, and for .npy files of raw bytes, also the type of their elements",
     .list = 2},
    {"dtype-c", 0, OPT_TYPES, AT(dtypes_c), FILES, "T", "f32 bf16 f16 i8 u8",
     "type of C, rounded once: f16 of f16 operands, bf16 of bf16 operands, bf16 or f16 of e4m3 and e5m2 (on cuda), "
     "and f32, i8 or u8 of i8 and u8 operands (on cpu), scaled by --alpha: it and --beta are any numbers then, and "
     "what i8 or u8 does not hold becomes its least or largest",
     .list = 1},
    {"dtype", 0, OPT_TYPES, AT(dtypes), CMD_BENCH, "T,...", BENCH_TYPES,
     "element types to time, one after the other (default: f32; for --set gpu-half or gpu-few: bf16,f16; for "
     "gpu-types: i8,tf32,e4m3)",
     .list = 4},
    {"dtype", 0, OPT_TYPES, AT(dtypes), CMD_SELFTEST, "T,...", BENCH_TYPES,
     "check only kernels of these element types (default: all; on the CPU also calls that mix types)", .list = 14},
    {"dtype", 0, OPT_TYPES, AT(dtypes), CMD_TUNE, "T,...", "f32 f64 bf16 f16 i8 u8 cf32 cf64",
     "element types to tune (default: f32)", .list = 8},
    {"dtype", 0, OPT_TYPES, AT(dtypes), CMD_LADDER, "T", DTYPES, "element type (default: f32)", .list = 1},
    {"shape", 0, OPT_SHAPES, AT(shapes), FILES, "MxNxK", NULL, "m, n and k of raw operands", 0, INT64_MAX, 1},
    {"shape", 0, OPT_SHAPES, AT(shapes), CMD_BENCH, "MxNxK,...", NULL, "shapes to time", 1, LONGEST_SIDE, OPT_LIST},
    {"shape", 0, OPT_SHAPES, AT(shapes), CMD_TUNE, "MxNxK,...", NULL,
     "tune the classes of these shapes (default: eight usual shapes, none of a single row or column)", 1, LONGEST_SIDE,
     OPT_LIST},
    {"shape", 0, OPT_SHAPES, AT(shapes), CMD_LADDER, "MxNxK", NULL, "the shape to time", 1, LONGEST_SIDE, 1},
    {"shape", 0, OPT_SHAPES, AT(shapes), CMD_EXPLAIN, "MxNxK", NULL,
     "the shape to explain (default: 4096x4096x4096, for skinny rungs 4096x4096x16); with --ranks the product's", 1,
     LONGEST_SIDE, 1},
    {"size", 0, OPT_WHOLES, AT(sizes), CMD_BENCH, "N,...", NULL, "square shapes N x N x N to time", 1, LONGEST_SIDE,
     OPT_LIST},
    {"size", 0, OPT_WHOLES, AT(sizes), CMD_TUNE, "N,...", NULL, "the same of square shapes N x N x N", 1, LONGEST_SIDE,
     OPT_LIST},
    {"size", 0, OPT_WHOLES, AT(sizes), CMD_LADDER, "N,...", NULL,
     "the square shape N x N x N to time; several shapes are also drawn as curves. With --skinny: the side of C "
     "(default: 4096 on a GPU, 1024 on the CPU, less on slow devices)",
     1, LONGEST_SIDE, OPT_LIST},
    {"skinny", 0, OPT_FLAG, AT(skinny), CMD_LADDER,
     .help = "time the skinny rungs: A has 16 or 32 columns. Prints the effective bandwidth beside the published one. "
             "Runs on cuda if it has a device, else on opencl, unless --engine names another"},
    {"all", 0, OPT_FLAG, AT(all), CMD_LADDER, .help = "time every production kernel too, in each of its tiles"},
    {"deep", 0, OPT_FLAG, AT(deep), CMD_LADDER,
     .help = "time split-K for a small C and a long k: r04, d1_splitk and the planner's choice (default shape: "
             "64x64x65536). Runs on cuda if it has a device, else on opencl, unless --engine names another"},
    {"set", 0, OPT_CHOICES, AT(sets), CMD_BENCH, "NAME,...",
     "square small odd skinny transposed all gpu-square gpu-transposed gpu-odd gpu-small gpu-thin gpu-random gpu-half "
     "gpu-few gpu-types",
     "lists of shapes to time (default: square). all: the sets without gpu- in their names. gpu-half and gpu-few are "
     "for bf16 and f16, gpu-types for i8, tf32 and e4m3",
     .list = 16},
    {"set", 0, OPT_CHOICES, AT(sets), CMD_TUNE, "NAME,...",
     "square small odd skinny transposed all gpu-square gpu-transposed gpu-small gpu-thin gpu-half",
     "the same of the lists of shapes of `tilewright bench`", .list = 16},
    {"cliffs", 0, OPT_FLAG, AT(cliffs), CMD_BENCH,
     .help = "time random shapes, each beside larger ones that contain it with m, n and k rounded up, and beside "
             "itself with aligned rows; print those first that take longer than a larger one"},
    {"regret", 0, OPT_FLAG, AT(regret), CMD_BENCH,
     .help = "with --cliffs: try every kernel that fits, and say how much longer the planner's choice takes than the "
             "best. On a GPU each is compiled first, which takes long"},
    {"shapes", 0, OPT_WHOLE, AT(shape_count), CMD_BENCH, "N", NULL, "with --cliffs: draw N shapes (default: 100)", 1,
     10000},
    {"budget", 0, OPT_WHOLE, AT(budget), CMD_SELFTEST, "S", NULL,
     "with --invariant: search for S seconds for each type (default: 10)", 1, 604800},
    {"budget", 0, OPT_WHOLE, AT(budget), CMD_TUNE, "S", NULL, "tune for S seconds in all (default: 120)", 1, 604800},
    {"show", 0, OPT_FLAG, AT(show), CMD_TUNE, .help = "show your tuned rows, and why one is not used; tune nothing"},
    {"export", 0, OPT_TEXT, AT(export), CMD_TUNE, "FILE", NULL, "write your tuned rows to FILE, for another machine"},
    {"import", 0, OPT_TEXT, AT(import), CMD_TUNE, "FILE", NULL,
     "take the rows of FILE that are verified here and faster here"},
    {"forget", 0, OPT_FLAG, AT(forget), CMD_TUNE, .help = "remove your tuned rows, and what was tried"},
    {"start", 0, OPT_TEXT, AT(start), CMD_TUNE, "VALUES"}, /* for tests: "name=value ..." to begin the search from */
    {"others", 0, OPT_TEXT, AT(others), CMD_TUNE,
     "PERCENT"}, /* for tests: of the processors, instead of measuring it */
    {"pad", 0, OPT_WHOLE, AT(pad), CMD_BENCH, "N", NULL,
     "padding between the rows of A, B and C, in elements (default: 0: contiguous rows, on a GPU too)", 0, 1 << 20},
    {"padded", 0, OPT_FLAG, AT(padded), CMD_BENCH,
     .help =
         "pad A, B and C so that each row begins at a multiple of 16 bytes, as tw_gemm() lays out its copies of host "
         "memory on a GPU; with --against the library gets the same rows"},
    {"batch", 0, OPT_WHOLE, AT(batch), CMD_BENCH, "N", NULL,
     "time tw_gemm_batched() on N products of each shape, with host pointers; report the time per product. With "
     "--against cublas or clblast: time tw_enqueue_batched()",
     1, 1000000},
    {"alpha", 0, OPT_SCALAR, AT(alpha), FILES, "X", NULL,
     "multiply A B by X (default: 1), a number; for complex products also a real and an imaginary part, as in --alpha "
     "1.5,-2"},
    {"beta", 0, OPT_SCALAR, AT(beta), FILES, "X", NULL, "add X times the matrix of --add; X is as in --alpha"},
    {"add", 0, OPT_TEXT, AT(add), FILES, "C0", NULL, "the file of the matrix that --beta scales; never written"},
    {"epilogue", 0, OPT_TEXT, AT(epilogue), FILES | CMD_BENCH, "TEXT", NULL,
     "what becomes of each element of C, as \"gelu(acc + bias[j])\": acc is alpha A B + beta C0, i and j are its row "
     "and column, other names are those of --bind, as s, v[i], bias[j], r[i, j] or t[j, i]; `bench` draws operands for "
     "them, and times each product without and with it. Operators: + - * / < <= > "
     ">= == !=. Functions:"
#define OPERATION(id, name, ...) " " #name
#define DEFINED(name, ...)       " " #name
#include "../data/functions.def"
     ". With --engine auto `multiply` is on the cpu then; it is in one process and not in panels"},
    {"bind", 0, OPT_TEXTS, AT(binds), FILES, "NAME=VALUE", NULL,
     "what NAME is in --epilogue: a number, else a .npy, .npz or .mtx file, of m elements for v[i], n for bias[j], m x "
     "n for r[i, j]. Give it once for each name, 16 times at most",
     .list = 16},
    {"transpose-a", 0, OPT_FLAG, AT(transpose_a), FILES | CMD_BENCH | CMD_LADDER | CMD_TUNE,
     .help = "multiply with A transposed"},
    {"transpose-b", 0, OPT_FLAG, AT(transpose_b), FILES | CMD_BENCH | CMD_LADDER | CMD_TUNE,
     .help = "multiply with B transposed"},
    {"conjugate-a", 0, OPT_FLAG, AT(conjugate_a), FILES,
     .help = "multiply with the complex conjugate of A; with --transpose-a with its conjugate transpose"},
    {"conjugate-b", 0, OPT_FLAG, AT(conjugate_b), FILES, .help = "the same of B"},
    {"memory", 0, OPT_BYTES, AT(memory), CMD_MULTIPLY, "LIMIT", NULL,
     "use at most LIMIT bytes of memory for matrices and workspaces, with K, M, G or T as 400M; larger products are "
     "computed in panels that are read from .npy and raw files, not compressed ones (default: three quarters of what "
     "the process may have)",
     1},
    {"device-memory", 0, OPT_BYTES, AT(device_memory), CMD_MULTIPLY, "LIMIT", NULL,
     "with --engine cuda or opencl: use at most LIMIT bytes of the device's memory (default: what is free)", 1},
    {"grid", 0, OPT_SHAPES, AT(grids), CMD_MULTIPLY, "MxNxK", NULL,
     "under mpirun: divide m, n and k among so many ranks; 0: chosen (default: 0x0x0)", 0, 1 << 20, 1},
    {"network", 0, OPT_REAL, AT(network), CMD_MULTIPLY, "GBPS", NULL,
     "under mpirun: choose the ranks for links of GBPS Gbit/s (default: 32 within one host, else 10)", 0, 1000000},
    {"ranks", 0, OPT_WHOLE, AT(ranks), CMD_EXPLAIN, "N", NULL,
     "without a rung: how `multiply` would divide a product among N ranks, and what it would take; runs nothing", 1,
     MOST_RANKS},
    {"hosts", 0, OPT_WHOLE, AT(hosts), CMD_EXPLAIN, "N", NULL,
     "with --ranks: on N hosts (default: one for each rank). Ranks of one host have other nominal speeds", 1,
     MOST_RANKS},
    {"network", 0, OPT_REAL, AT(network), CMD_EXPLAIN, "GBPS", NULL,
     "with --ranks: each rank's link has GBPS Gbit/s (default: 32 within one host, else 10)", 0, 1000000},
    {"rate", 0, OPT_WHOLE, AT(rate), CMD_EXPLAIN, "GFLOPS", NULL,
     "with --ranks: a rank computes GFLOPS GFLOP/s, as bench measures. Changes times, not the grid (default: 35 per "
     "thread in f64, 70 in narrower types, a quarter of it in complex ones)",
     1, 1000000000},
    {"grid", 0, OPT_SHAPES, AT(grids), CMD_EXPLAIN, "MxNxK", NULL,
     "with --ranks: divide m, n and k among so many ranks; 0: chosen (default: 0x0x0)", 0, MOST_RANKS, 1},
    {"memory", 0, OPT_BYTES, AT(memory), CMD_EXPLAIN, "LIMIT", NULL,
     "with --ranks: a rank may take LIMIT bytes for its blocks and buffers, with K, M, G or T as 400M (default: any)",
     1},
    {"dtype", 0, OPT_TYPES, AT(dtypes), CMD_EXPLAIN, "T", "f32 f64 bf16 f16 i8 u8 cf32 cf64",
     "with --ranks: the type of A and B (default: f32)", .list = 1},
    {"threads", 0, OPT_WHOLE, AT(threads), CMD_EXPLAIN, "N", NULL, "with --ranks: threads of each rank (default: 1)", 1,
     4096},
    {"timeout", 0, OPT_WHOLE, AT(timeout), CMD_MULTIPLY, "S", NULL,
     "under mpirun: give up where ranks have not answered for S seconds; computing may take longer (default: 600)", 1,
     1000000},
    {"panels", 0, OPT_CHOICES, AT(panels), CMD_MULTIPLY, "WAY", "auto nccl staged",
     "under mpirun with --engine cuda: how panels go between GPUs: from one to the other by NCCL, or staged through "
     "host "
     "memory by MPI (default: auto, by NCCL where all ranks can). The bits are the same",
     .list = 1},
    {"invariant", 0, OPT_FLAG, AT(invariant), CMD_MULTIPLY,
     .help =
         "give each row of C the bits that it has alone, whatever is computed beside it: it depends on its row of A "
         "and on B. On the cpu every product is so; on cuda it takes longer where C has few rows and columns. "
         "--engine auto is cpu then"},
    {"grade", 0, OPT_FLAG, AT(grade), CMD_SELFTEST,
     .help = "instead grade how accurate products of f32 and f64 are, on operands that rounding relative to a row's "
             "largest element, or mixing rows, spoils. A: each element is within the bound of a sum in any order"},
    {"emulate", 0, OPT_FLAG, AT(emulate), CMD_MULTIPLY | CMD_BENCH | CMD_SELFTEST,
     .help = "let f32 and cf32 on an NVIDIA GPU of sm_90 (Hopper) use three products of f16 for one, within the same "
             "error bound, where that is faster. No effect on other engines and types, or under mpirun"},
    {"invariant", 0, OPT_FLAG, AT(invariant), CMD_SELFTEST,
     .help = "instead search for a row of C whose bits depend on what is computed beside it: random products with "
             "TW_INVARIANT, then their rows alone, from operands that lie otherwise, and in batches, byte by byte"},
    {"verify", 0, OPT_FLAG, AT(verify), CMD_MULTIPLY,
     .help = "check the product before FILE is created; if the check fails, no file is left. A product in memory is "
             "checked row by row, one that is computed in panels or under mpirun at sampled elements alone"},
    {"rung", 0, OPT_NAMES, AT(rungs), CMD_LADDER, "R,...", NULL,
     "time only these: rungs (r04 or r04_banks), production kernels (sgemm_simt) or your own files (mine.cl, mine.cu)",
     .list = OPT_LIST, .words = words_rungs},
    {"rung", 0, OPT_NAMES, AT(rungs), CMD_GRADE, "R", NULL,
     "hold all files to this rung (default: to the one whose name the kernel bears)", .list = 1, .words = words_rungs},
    {"tile", 0, OPT_WHOLES, AT(tiles), CMD_LADDER, "T,...", NULL,
     "time each of these tile edges, for rungs that offer a choice; several are also drawn as a curve", 1, 1 << 20,
     OPT_LIST},
    {"tile", 0, OPT_WHOLES, AT(tiles), CMD_EXPLAIN, "T", NULL, "the tile edge, for a rung that offers a choice", 1,
     1 << 20, 1},
    {"element", 0, OPT_WHOLES, AT(element), CMD_EXPLAIN, "I,J", NULL, "the element of C to draw (default: 3,11)", 0,
     LONGEST_SIDE, 2},
    {"gpu", 0, OPT_TEXT, AT(gpu), CMD_LADDER, "MODEL", NULL,
     "predict the ladder on this published device, such as \"8800 GT\", \"GTX 280\", P100 or H200; nothing is run",
     .words = words_gpus},
    {"gpu", 0, OPT_TEXT, AT(gpu), CMD_EXPLAIN, "MODEL", NULL,
     "show bounds only for this published device, such as \"8800 GT\", \"GTX 280\", P100 or H200", .words = words_gpus},
    {"binary", 0, OPT_FLAG, AT(binary), CMD_EXPLAIN,
     .help = "show the inner loop as machine code (SASS, PTX or x86), with multiply-adds marked and instructions "
             "counted by kind"},
    {"tables", 0, OPT_FLAG, AT(tables), CMD_EXPLAIN,
     .help = "show the tables of the course documents: predicted beside published, and measured if a GPU is here"},
    {"kernel", 0, OPT_TEXT, AT(kernel), CMD_BENCH, "NAME", NULL, "time this kernel, not the planner's choice",
     .words = words_kernels},
    {"host", 0, OPT_FLAG, AT(host), CMD_BENCH, .help = "time tw_gemm() with host pointers, not only the launch"},
    {"explain-plan", 0, OPT_FLAG, AT(explain_plan), CMD_BENCH,
     .help = "print the plan below each row, with the estimated time of each kernel that the planner considered"},
    {"warm", 0, OPT_FLAG, AT(warm), CMD_BENCH,
     .help = "with --against cublas or clblast: leave the operands in place, in the cache if they fit (default: rotate "
             "them "
             "through more memory than it holds)"},
    {"against", 0, OPT_NAMES, AT(against), CMD_BENCH, "LIB,...", NULL,
     "compare tw_gemm() with other libraries, interleaved, each in its own process: openblas mkl onednn aocl blis "
     "eigen libxsmm, or all. `./dev peers` fetches them. With --engine cuda: compare tw_enqueue() with cublas "
     "(cuBLASLt). With --engine opencl: compare the launches of tw_gemm() with clblast",
     .list = OPT_LIST, .words = words_peers},
    {"deadline", 0, OPT_WHOLE, AT(deadline), CMD_BENCH, "S", NULL,
     "with --against: give up a library that has not answered S seconds after the time that its work may take "
     "(default: 60)",
     1, 86400},
    {"pause", 0, OPT_WHOLE, AT(pause), CMD_BENCH, "US", NULL,
     "with --against and the cpu engine: compute something else on one thread for US microseconds before each call, "
     "which is timed alone (default: call again at once)",
     1, 1000000},
    {"deadline", 0, OPT_WHOLE, AT(deadline), CMD_TUNE, "S", NULL,
     "give up a candidate that has not ended after S seconds (default: 60)", 1, 86400},
    {"deadline", 0, OPT_WHOLE, AT(deadline), CMD_LADDER, "S", NULL,
     "give up a kernel of your own file that has not ended after S seconds (default: 60 on the device, 10 where it is "
     "run work-item by work-item)",
     1, 86400},
    {"deadline", 0, OPT_WHOLE, AT(deadline), CMD_EXPLAIN, "S", NULL,
     "give up a kernel of your own file that has not ended after S seconds (default: 10), or with --binary has not "
     "compiled after S seconds (default: 60)",
     1, 86400},
    {"deadline", 0, OPT_WHOLE, AT(deadline), CMD_GRADE, "S", NULL,
     "give up a kernel that has not ended after S seconds (default: 10)", 1, 86400},
    {"threads", 0, OPT_WHOLE, AT(threads), CMD_GRADE, "N", NULL,
     "judge N files at once (default: one for each processor)", 1, 256},
    {"threads", 0, OPT_WHOLE, AT(threads), DEVICE | CMD_TUNE, "N", NULL,
     "use N threads (default: see `tilewright devices`)", 1, 4096},
    {"samples", 0, OPT_WHOLE, AT(samples), RUNS, "N", NULL, "measure each row N times (default: 11)", 1, 100000},
    {"seed", 0, OPT_SEED, AT(seed), FILES, "N", NULL, "seed for the check's random vectors and elements (default: 1)"},
    {"seed", 0, OPT_SEED, AT(seed), CMD_BENCH, "N", NULL,
     "seed for random operands, and for the shapes of --cliffs (default: 1)"},
    {"seed", 0, OPT_SEED, AT(seed), CMD_LADDER | CMD_SELFTEST | CMD_TUNE, "N", NULL,
     "seed for random operands (default: 1)"},
    {"json", 0, OPT_TEXT, AT(json), JSON, "FILE", NULL,
     "write one JSON object per line to FILE; for `-` to stdout, while the text goes to stderr"},
    {"html", 0, OPT_TEXT, AT(html), CMD_LADDER, "FILE", NULL,
     "write the results as one HTML page, as `tilewright report` does"},
    {"html", 0, OPT_TEXT, AT(html), CMD_EXPLAIN, "FILE", NULL, "also write it as one HTML page, with drawn pictures"},
    {"slides", 0, OPT_FLAG, AT(slides), CMD_REPORT | CMD_LADDER,
     .help = "write slides in place of the page: one question with its figure per screen, the answer closed"},
    {"append", 0, OPT_FLAG, AT(append), JSON, .help = "append to the file of --json instead of replacing it"},
    {"force", 0, OPT_FLAG, AT(force), JSON | CMD_REPORT, .help = "allow an output to replace a file of another kind"},
    {"no-self-test", 0, OPT_FLAG, AT(no_self_test), CMD_DOCTOR,
     .help = "leave out the self tests, which compile and run kernels"},
    {"verbose", 'v', OPT_FLAG, AT(verbose), FILES,
     .help = "print more: operands, kernel, times, and which errors the check can find"},
    {"quiet", 'q', OPT_FLAG, AT(quiet), FILES, .help = "print only errors"},
    {"help", 'h', OPT_FLAG, AT(help), EVERY, .help = "show this help"},
    {"man", 0, OPT_FLAG, AT(man), CMD_HELP},
    {"completion", 0, OPT_FLAG, AT(completion), CMD_HELP},
    {0},
};

const command *command_named(const char *name)
{
    for (const command *c = commands; c->name != NULL; c++)
        if (strcmp(c->name, name) == 0) return c;
    return NULL;
}

void words_commands(word_list *out)
{
    for (const command *c = commands; c->name != NULL; c++) words_add(out, c->name, (int)strlen(c->name));
}

exit_code option_gpu(const char *model, const published_device **out)
{
    words_hint meant;
    char known[1200] = "", name[DEVICES_NAME];
    if ((*out = devices_model(model)) != NULL) return EXIT_OK;
    for (int i = 0; devices_at(i) != NULL; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s %s", i > 0 ? "," : "", devices_name(devices_at(i), name));
    }
    return diag(EXIT_USAGE, "--gpu %s: no published figures of it are here; there are:%s%s", model, known,
                words_meant_of(words_gpus, model, meant));
}

void option_wants(const option_row *row, char *text, size_t size)
{
    char range[80] = "";
    if (row->most != INT64_MAX) snprintf(range, sizeof range, " from %" PRId64 " to %" PRId64, row->least, row->most);
    switch (row->kind) {
    case OPT_FLAG: snprintf(text, size, "no value"); break;
    case OPT_TEXT: snprintf(text, size, "a name"); break;
    case OPT_TEXTS: snprintf(text, size, "%s, at most %d times", row->metavar, row->list); break;
    case OPT_WHOLE: snprintf(text, size, "a whole number%s", range); break;
    case OPT_BYTES:
        snprintf(text, size, "a size in bytes of at least %" PRId64 ", such as 400M or 3G (K, M, G, T: powers of 1024)",
                 row->least);
        break;
    case OPT_SEED: snprintf(text, size, "a whole number from 0 to %" PRIu64, UINT64_MAX); break;
    case OPT_SCALAR:
        snprintf(text, size,
                 "a number that is finite as a double, such as 1, -0.5 or 1e-3, or two with a comma between them, such "
                 "as 1.5,-2: a real and an imaginary part");
        break;
    case OPT_REAL: snprintf(text, size, "a number above 0, to %" PRId64 ", such as 25 or 2.5", row->most); break;
    case OPT_SHAPES:
        if (row->least == 0) {
            snprintf(text, size, "three whole numbers%s, such as 2x2x1", range);
            break;
        }
        snprintf(text, size, "%s such as 1000x777x1023, each side a whole number%s",
                 row->list > 1 ? "shapes MxNxK with commas between them," : "one shape MxNxK,", range);
        break;
    case OPT_WHOLES:
        snprintf(text, size, "whole numbers%s%s", range, row->list > 1 ? ", commas between them" : "");
        break;
    case OPT_DEVICES: snprintf(text, size, "all, or whole numbers%s, commas between them", range); break;
    case OPT_NAMES: snprintf(text, size, "names, commas between them"); break;
    case OPT_TYPES:
    case OPT_CHOICES:
        snprintf(text, size, "%s: %s%s", row->list > 1 ? "any of, with commas between them" : "one of", row->choices,
                 row->kind == OPT_TYPES ? "; or a name that NumPy or C has for one" : "");
        break;
    }
}

static bool is_choice(const char *choices, const char *word)
{
    size_t length = strlen(word);
    for (const char *c = choices; length > 0 && c[0] != '\0'; c += strcspn(c, " "), c += c[0] == ' ')
        if (strcspn(c, " ") == length && strncmp(c, word, length) == 0) return true;
    return false;
}

static bool read_shapes(const option_row *row, const char *text, shape_list *list)
{
    char word[80];
    for (list->count = 0; list->count < row->list && parse_word(&text, word, sizeof word); list->count++)
        if (!parse_shape(word, row->least, row->most, &list->items[list->count])) return false;
    return text != NULL && *text == '\0' && list->count > 0;
}

static bool read_wholes(const option_row *row, const char *text, number_list *list)
{
    char word[32];
    for (list->count = 0; list->count < row->list && parse_word(&text, word, sizeof word); list->count++)
        if (!parse_whole(word, row->least, row->most, &list->items[list->count])) return false;
    return text != NULL && *text == '\0' && list->count > 0;
}

static bool read_devices(const option_row *row, const char *text, number_list *list)
{
    if (strcmp(text, "all") != 0) return read_wholes(row, text, list);
    list->count = 1, list->items[0] = -1;
    return true;
}

static bool read_names(const option_row *row, const char *text, name_list *list)
{
    for (list->count = 0; list->count < row->list; list->count++) {
        char *word = list->items[list->count];
        if (!parse_word(&text, word, sizeof list->items[0])) break;
        if (row->kind == OPT_TYPES && type_called(word) != word) strcpy(word, type_called(word));
        if (row->choices != NULL && !is_choice(row->choices, word)) return false;
    }
    return text != NULL && *text == '\0' && list->count > 0;
}

static bool take_text(const option_row *row, const char *text, text_list *list)
{
    if (text[0] == '\0' || list->count == row->list) return false;
    list->items[list->count++] = text;
    return true;
}

static bool read_value(const option_row *row, const char *text, options *out)
{
    void *at = (char *)out + row->offset;
    scalar_option *x = at;
    switch (row->kind) {
    case OPT_FLAG: return *(bool *)at = true;
    case OPT_TEXT: *(const char **)at = text; return text[0] != '\0';
    case OPT_TEXTS: return take_text(row, text, at);
    case OPT_WHOLE: return parse_whole(text, row->least, row->most, at);
    case OPT_BYTES: return parse_bytes(text, row->least, at);
    case OPT_REAL: return parse_real(text, at) && *(double *)at > 0 && *(double *)at <= (double)row->most;
    case OPT_SEED: return parse_seed(text, at);
    case OPT_SCALAR:
        x->given = parse_complex(text, &x->value, &x->imaginary) && isfinite(x->value) && isfinite(x->imaginary);
        return x->given;
    case OPT_SHAPES: return read_shapes(row, text, at);
    case OPT_WHOLES: return read_wholes(row, text, at);
    case OPT_DEVICES: return read_devices(row, text, at);
    case OPT_NAMES:
    case OPT_TYPES:
    case OPT_CHOICES: return read_names(row, text, at);
    }
    return false;
}

/* The rows of one command in the form that getopt_long reads: val is the row's number + FIRST, or its letter. */
enum { MOST_OPTIONS = 48, FIRST = 256 };

typedef struct getopt_table {
    struct option rows[MOST_OPTIONS];
    char letters[2 * MOST_OPTIONS + 2];
    const char *names[MOST_OPTIONS];
    int count;
} getopt_table;

static void make_table(const command *cmd, getopt_table *t)
{
    char *letter = t->letters;
    t->count = 0;
    *letter++ = ':'; /* a missing value comes back as ':' */
    for (int i = 0; option_rows[i].name != NULL; i++) {
        const option_row *row = &option_rows[i];
        if (!(row->commands & cmd->bit)) continue;
        int takes = row->kind == OPT_FLAG ? no_argument : required_argument;
        t->rows[t->count] = (struct option){row->name, takes, NULL, FIRST + i};
        t->names[t->count++] = row->name;
        if (row->letter != 0) *letter++ = row->letter;
        if (row->letter != 0 && takes == required_argument) *letter++ = ':';
    }
    t->rows[t->count] = (struct option){0};
    *letter = '\0';
}

static const option_row *row_of(int value, const command *cmd)
{
    if (value >= FIRST) return &option_rows[value - FIRST];
    for (const option_row *row = option_rows; row->name != NULL; row++)
        if (row->letter == value && (row->commands & cmd->bit)) return row;
    return NULL;
}

/* getopt_long met something that it does not know: optopt holds the letter, or argv[optind - 1] the word. */
static exit_code refuse_unknown(const command *cmd, const getopt_table *t, char **argv)
{
    char name[64];
    const char *word = argv[optind - 1];
    if (optopt >= FIRST)
        return diag(EXIT_USAGE, "--%s takes no value, found '%s'", option_rows[optopt - FIRST].name, word);
    if (optopt != 0)
        return diag(EXIT_USAGE, "unknown option '-%c'; `tilewright %s --help` lists them", optopt, cmd->name);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (int i = 0, found = 0; i < t->count; i++)
        if (strncmp(t->names[i], name, strlen(name)) == 0 && ++found > 1)
            return diag(EXIT_USAGE, "'--%s' could be --%s or another option: write it out", name, t->names[i]);
    static word_list known;
    words_hint meant;
    char option[80];
    for (int i = 0; i < t->count; i++) {
        snprintf(option, sizeof option, "--%s", t->names[i]);
        words_add(&known, option, (int)strlen(option));
    }
    snprintf(option, sizeof option, "--%s", name);
    if (words_meant(&known, option, meant)[0] != '\0') return diag(EXIT_USAGE, "unknown option '%s'%s", option, meant);
    return diag(EXIT_USAGE, "unknown option '%s'; `tilewright %s --help` lists them", option, cmd->name);
}

/* A hint on the first word of a list that is none of the choices. */
static const char *meant_by(const option_row *row, const char *found, words_hint out)
{
    static word_list choices;
    char word[32];
    out[0] = '\0';
    if (row->choices == NULL) return out;
    words_choices(&choices, row->choices);
    while (parse_word(&found, word, sizeof word))
        if (!is_choice(row->choices, type_called(word))) return words_meant(&choices, word, out);
    return out;
}

static exit_code refuse_value(const option_row *row, const char *found)
{
    char wants[240];
    words_hint meant;
    option_wants(row, wants, sizeof wants);
    if (found == NULL) return diag(EXIT_USAGE, "--%s needs a value: %s", row->name, wants);
    char word[32];
    for (const char *rest = found; row->kind == OPT_TYPES && parse_word(&rest, word, sizeof word);)
        if (type_doubt(word) != NULL)
            return diag(EXIT_USAGE, "--%s: '%s' is %s: expected %s", row->name, word, type_doubt(word), wants);
    return diag(EXIT_USAGE, "--%s: found '%s', expected %s%s", row->name, found, wants, meant_by(row, found, meant));
}

static exit_code read_operands(const command *cmd, int argc, char **argv, options *out)
{
    int found = argc - optind;
    if (found < cmd->least_operands || found > cmd->most_operands)
        return diag(EXIT_USAGE,
                    "found %d operand%s, expected %s%d: tilewright %s %s; `tilewright help %s` says what they are",
                    found, found == 1 ? "" : "s",
                    found < cmd->least_operands && cmd->most_operands > cmd->least_operands ? "at least " : "",
                    found < cmd->least_operands ? cmd->least_operands : cmd->most_operands, cmd->name, cmd->arguments,
                    cmd->name);
    for (int i = 0; i < found; i++) out->operands[out->operand_count++] = argv[optind + i];
    return EXIT_OK;
}

exit_code options_parse(const command *cmd, int argc, char **argv, options *out)
{
    getopt_table table;
    const option_row *given[MOST_OPTIONS];
    int count = 0;
    make_table(cmd, &table);
    *out = (options){.command = cmd, .seed = 1, .alpha.value = 1};
    opterr = 0;
    for (int value; (value = getopt_long(argc, argv, table.letters, table.rows, NULL)) != -1;) {
        if (value == '?') return refuse_unknown(cmd, &table, argv);
        const option_row *row = row_of(value == ':' ? optopt : value, cmd);
        if (value == ':') return refuse_value(row, NULL);
        const bool once = row->kind != OPT_FLAG && row->kind != OPT_TEXTS;
        for (int i = 0; once && i < count; i++)
            if (given[i] == row)
                return diag(EXIT_USAGE, "--%s is given twice: give it once%s", row->name,
                            row->list > 1 ? ", its values with commas between them" : "");
        if (once) given[count++] = row;
        if (!read_value(row, optarg, out)) return refuse_value(row, optarg);
    }
    return out->help ? EXIT_OK : read_operands(cmd, argc, argv, out);
}
