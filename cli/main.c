/* main.c - the program: a table of commands, and the few lines that pick one. */
#include <stdio.h>
#include <string.h>
#include "../program/diag.h"
#include "../program/guard.h"
#include "../program/object.h"
#include "../program/term.h"
#include "../ranks/launched.h"
#include "cmd.h"
#include "files.h"
#include "help.h"

static exit_code cmd_version(session *s)
{
    fprintf(s->text, "tilewright %s\n", tw_version());
    object o = object_begin(s->json);
    object_text(&o, "version", tw_version());
    object_end(&o);
    return session_flush(s);
}

static exit_code unknown_command(const char *name)
{
    words_hint meant;
    words_meant_of(words_commands, name, meant);
    return diag(EXIT_USAGE, "unknown command '%s'%s", name,
                meant[0] != '\0' ? meant : "; `tilewright help` lists them");
}

static exit_code cmd_help(session *s)
{
    const char *name = s->opt->operands[0];
    const command *about = name != NULL ? command_named(name) : NULL;
    if (name != NULL && about == NULL) return unknown_command(name);
    if (s->opt->man)
        help_man(term_beneath(s->text));
    else if (s->opt->completion)
        help_completion(term_beneath(s->text));
    else if (about != NULL)
        help_command(s->text, about);
    else
        help_overview(s->text);
    return session_flush(s);
}

const command commands[] = {
    {"multiply", "A B -o C [OPTION]...", "multiply two matrix files",
     "  tilewright multiply A.npy B.npy -o C.npy\n"
     "  tilewright multiply A.npy A.npy --transpose-b -o gram.npy --verify\n"
     "  tilewright multiply A.raw B.raw --shape 1000x777x1023 --dtype f32 -o C.mtx\n"
     "  tilewright multiply A.npy B.npy --alpha 2 --beta -1 --add C0.npy -o C.npy\n"
     "  tilewright multiply weights.npz:layer1 X.mtx.gz -o C.npy\n"
     "  tilewright multiply A.npy B.npy -o C.npy --epilogue \"gelu(acc + b[j])\" --bind b=bias.npy\n"
     "  mpirun -n 4 tilewright multiply A.npy B.npy -o C.npy\n",
     "Computes C = alpha op(A) op(B) + beta C0, writes C to a file and prints the shape, the time of the product and "
     "the speed.\n\n"
     "Files are .npy, Matrix Market (.mtx) or raw (.raw, .bin). A raw file holds the elements row by row; --shape and "
     "--dtype give its shape and type. Operands may be compressed by gzip (A.npy.gz). FILE.npz:NAME is a member of an "
     "archive of NumPy's, FILE.npz its only one. The operand '-' is standard input.\n\n"
     "The output file appears whole or not at all. It may have the name of an operand. If it is a link, the file "
     "behind the link is written.",
     CMD_MULTIPLY, 2, 2, cmd_multiply},
    {"verify", "A B C [OPTION]...", "check a product C = A B that any program computed",
     "  tilewright verify A.npy B.npy C.npy\n"
     "  tilewright verify A.npy B.npy C.npy --transpose-a --alpha 2\n",
     "Checks each row of C with random vectors in higher precision, then recomputes single elements. An error may be "
     "as large as the rounding of the arithmetic allows. If C is not the product, the exit status is 1 and the worst "
     "element is named. A NaN in C brings a warning. The operand '-' is standard input; .gz files and members of an "
     "archive, FILE.npz:NAME, are read as by `multiply`.",
     CMD_VERIFY, 3, 3, cmd_verify},
    {"bench", "[OPTION]...", "time products, each verified first",
     "  tilewright bench\n"
     "  tilewright bench --shape 1000x777x1023,64x64x64 --dtype f32,f64 --json records.jsonl\n"
     "  tilewright bench --size 2048 --threads 1\n"
     "  tilewright bench --against all --set odd --threads 1\n"
     "  tilewright bench --engine cuda --against cublas --set gpu-square,gpu-odd --json records.jsonl\n"
     "  tilewright bench --engine opencl --against clblast --size 256,1024 --dtype f32,f64\n"
     "  tilewright bench --cliffs --seed 2 --json cliffs.jsonl\n",
     "Prints a line for each shape: median time, GFLOP/s, and the share of the multiply-add peak measured in the same "
     "run. The operands rotate through more memory than the caches hold. A kernel whose product is wrong gets no "
     "time.\n\n"
     "--against prints a table for each class of shapes: the GFLOP/s of each library, and the ratio to the best of "
     "them.\n\n"
     "--cliffs draws random shapes, of sizes that the device computes within some 30 ms, and times each beside larger "
     "ones that contain it. The worst come first: what takes longer than a larger product is a cliff.",
     CMD_BENCH, 0, 0, cmd_bench},
    {"ladder", "[OPTION]...", "verify and time the rungs, from three plain loops to tw_gemm's own kernel",
     "  tilewright ladder\n"
     "  tilewright ladder --size 512 --rung r01,r04,r14\n"
     "  tilewright ladder --rung r02 --tile 1,2,4,8,16,32,64,128\n"
     "  tilewright ladder --engine cpu,opencl,cuda --json records.jsonl --html ladder.html\n"
     "  tilewright ladder --engine cuda --tile 8,16,32\n"
     "  tilewright ladder --engine cuda --size 128,256,512,1024,2048,4096,8192,16384 --html sizes.html\n"
     "  tilewright ladder --skinny\n"
     "  tilewright ladder --deep\n"
     "  tilewright ladder --gpu \"GTX 280\"              # predicted, without any GPU\n"
     "  tilewright ladder --transpose-a --transpose-b  # column-major A and B\n"
     "  tilewright ladder --rung exercises/r01_naive.cl\n",
     "Each rung adds one idea to the rung before. Each is verified, then timed beside the bounds of the machine. The "
     "last one, r14, is the kernel that tw_gemm runs for this shape; the line below it is the plan. On a GPU r01 to "
     "r05 are built twice: with compiler unrolling off, and with the compiler's defaults.\n\n"
     "--rung also takes a file of your own: .cl for opencl, .cu for cuda. It begins with #include "
     "\"rung.clh\" (or \"rung.cuh\"), which is part of the program, and holds one kernel, void mine(PARAMETERS): "
     "exercises/r01_naive.cl is one to start from. Its name selects the launch: r05_mine is launched like r05, "
     "any other name like r01. The file is compiled unchanged, verified like a rung, also with an alpha and a beta, "
     "and compared with the rung it is launched like: its speed, and what it asks of memory, as explain FILE shows "
     "it. A wrong kernel is not timed, and its mistake is named as by explain FILE. A kernel that bears a rung's "
     "name must take the rung's transposes and cost no more; else the exit status is 1. It runs with your rights; a "
     "run that does not end by --deadline ends the command with exit status 8.\n\n"
     "A rung that does not fit the shape, type or device is refused with the reason; that is no failure. If every "
     "rung of an engine is refused, the exit status is 3.",
     CMD_LADDER, 0, 0, cmd_ladder},
    {"explain", "RUNG|FILE [OPTION]...", "describe a rung: idea, picture, accesses, bounds, machine code",
     "  tilewright explain r04\n"
     "  tilewright explain r01 --element 1,5\n"
     "  tilewright explain r02 --gpu \"GTX 280\" --tile 32\n"
     "  tilewright explain r05 --engine opencl --binary\n"
     "  tilewright explain r02 --html r02.html\n"
     "  tilewright explain mine.cl --tile 32\n"
     "  tilewright explain --tables\n"
     "  tilewright explain --ranks 64 --network 100 --shape 65536x65536x65536 --dtype f64 --threads 32\n",
     "Needs no GPU. Shows:\n"
     "- the idea, and what changed from the rung before\n"
     "- the pictures of the course documents for one element of C\n"
     "- flop and bytes, as formulas and in numbers\n"
     "- the sectors and banks that each lane of a warp touches, by rows and by columns, on each generation of devices\n"
     "- two bounds, on the devices of the course documents and on this one: caches may beat bound_asked, nothing may "
     "beat bound\n"
     "- registers, shared memory and occupancy after compilation\n\n"
     "--html FILE also makes a page of it, without the last point and what this machine measures.\n\n"
     "Of a file of your own (help ladder says which) it shows the sectors, lines and wavefronts of each request, "
     "beside those of the rung it is launched like, and says where they differ. The C compiler ($CC, else cc, gcc or "
     "clang) compiles the text as C, and it runs on this machine in a process of its own, with your rights, until "
     "--deadline at most, on whole and on edge tiles and with each transpose. A wrong product, a "
     "race of two work-items or an access outside the matrices is named, with exit status 1. So is a kernel that costs "
     "more than the rung whose name it bears. --binary shows its inner loop. "
     "A kernel with vectors other than float4, or with C++ features of CUDA C, is not judged.\n\n"
     "--tables shows the tables of the course documents instead.\n\n"
     "--ranks N shows how `mpirun -n N tilewright multiply` would divide a product: the grid that it chooses, the "
     "elements that each rank receives, by the formula, its memory, and the estimated times. docs/SCALE.md says how "
     "far they can be trusted.",
     CMD_EXPLAIN, 0, 1, cmd_explain},
    {"grade", "FILE|FOLDER... [OPTION]...", "judge solutions of the exercises, which nobody need have read",
     "  tilewright grade r02_tiled.cl\n"
     "  tilewright grade solutions\n"
     "  tilewright grade solutions --rung r04 --json verdicts.jsonl\n",
     "Says of each file `pass`, or the first mistake in a sentence and the page of docs/COURSE.md that teaches the "
     "rung, or why it is not judged. Of a folder these are all .cl and .cu files in it and below it. A file passes "
     "where its product is right, also on edge tiles, with an alpha and a beta and with each transpose that its rung "
     "takes, and where it asks of memory no more than its rung, meets no more barriers and unrolls what the rung "
     "unrolls. A right product that costs more is WRONG too: its sentence begins `right, but`. These are the words "
     "of `explain FILE`. No GPU is needed.\n\n"
     "The C compiler ($CC, else cc, gcc or clang) compiles the text as C, and it runs on this machine, work-item by "
     "work-item. Both are confined. The compiler reads the system's programs and libraries, writes into a folder of "
     "its own and runs its own parts, each with 2 GiB of memory at most. The kernel computes: it opens no file, "
     "reaches no network, starts no process, has 1 GiB at most, and for each run as much processor time as "
     "--deadline says. A text that says what no rung says, such as #include of another file, asm or a string, is not "
     "judged. This needs Linux on x86-64 or arm64. A verdict finds mistakes; a text can be written to forge its "
     "own.\n\n"
     "The exit status is 0 where all files pass, 1 where one is wrong, 3 where one is not judged and none is wrong. "
     "r11a to r11c and rungs from r12 on are for a GPU alone and are not judged. Neither is a kernel whose name is "
     "no rung's, or one with words that the judge does not know, such as float8: read those yourself. Files of other "
     "endings are passed over.",
     CMD_GRADE, 1, OPT_LIST, cmd_grade},
    {"tune", "[OPTION]...", "find faster parameters for this device, and keep them for every program",
     "  tilewright tune\n"
     "  tilewright tune --dtype f32,f64 --budget 600\n"
     "  tilewright tune --engine opencl --shape 1000x1000x1000\n"
     "  tilewright tune --engine cuda --dtype bf16 --budget 600\n"
     "  tilewright tune --show\n"
     "  tilewright tune --export mine.rows\n"
     "  tilewright tune --import colleagues.rows\n"
     "  tilewright tune --forget\n",
     "Products are tuned by classes: type, shape (row, column, few_rows, few_columns, deep, small, medium, large) and "
     "transposes. For each, candidates near the present parameters are tried: each is verified with two oracles, on "
     "the shape and on an odd one, then timed interleaved with the present choice. It replaces that only where it is "
     "faster beyond the spread, in two runs.\n\n"
     "What is found is kept at once, in one file that every program reads as it opens the device: no rebuild. Ctrl-C "
     "keeps it, and the next run goes on where this one was. A row is signed with device, driver, number of threads, "
     "kernels and version, and is used where all of them are the same. On cpu and opencl what is timed while other "
     "processes use a quarter of the processors or more is not judged: let nothing else run. A candidate that hangs or "
     "computes wrong numbers is marked and not tried again.\n\n"
     "On the cpu no row changes a bit of a result. On a GPU it may change the kernel and how k is divided, and so the "
     "last bits; --show names the kernel that computes instead of another. TILEWRIGHT_TUNED=off turns your rows off.",
     CMD_TUNE, 0, 0, cmd_tune},
    {"report", "RECORDS... -o FILE.html", "make one HTML page from records",
     "  tilewright report records.jsonl -o report.html\n"
     "  tilewright report results/nvidia-h200/*.jsonl mine.jsonl -o both.html\n"
     "  tilewright report records.jsonl --slides -o slides.html\n"
     "  tilewright report records.jsonl -o bars.svg\n",
     "RECORDS are files that `ladder --json` or `bench --json` wrote on any machine, pages that hold such records, and "
     "counters of `./dev counters`. '-' is standard input.\n\n"
     "The page has charts, rooflines, tables, the description and code of each rung, and the records. It needs no "
     "network and no script. The same records give the same page. If FILE ends in .svg it gets only the bar chart of "
     "the first machine; if it ends in .md, only the table of the rungs: both of the shape of which most rungs were "
     "timed, f64 apart from other types. Where there is no ladder, the .svg has the speeds of libraries over sizes.",
     CMD_REPORT, 1, OPT_LIST, cmd_report},
    {"devices", "[OPTION]...", "list the devices that can compute",
     "  tilewright devices\n"
     "  tilewright devices --json -\n",
     "Prints what each engine runs with or lacks. For each device: instruction set, threads or multiprocessors, caches "
     "and memory, then the multiply-add peak and the bandwidths, measured now, beside the published ones. If a driver "
     "crashes, that is reported and the exit status is 8.",
     CMD_DEVICES, 0, 0, cmd_devices},
    {"doctor", "[OPTION]...", "check this machine: what matters, what is missing and how to get it",
     "  tilewright doctor\n  tilewright doctor --no-self-test\n",
     "Prints whether all is well or what to mend, then the facts that a bug report needs. Runs a quick self test: "
     "many kernels of the CPU, and on each other engine two, which its driver compiles. If a driver crashes, that is "
     "reported and "
     "the exit status is 8.",
     CMD_DOCTOR, 0, 0, cmd_doctor},
    {"selftest", "[OPTION]...", "check every kernel that fits this machine, on a few shapes",
     "  tilewright selftest\n"
     "  tilewright selftest --engine cpu,opencl\n"
     "  tilewright selftest --engine opencl --dtype f32\n"
     "  TILEWRIGHT_CPU=avx2 tilewright selftest\n"
     "  tilewright selftest --invariant --engine cuda --dtype bf16\n",
     "Checks each kernel with two oracles: exact (small integers, no bit may differ) and bound (random operands). On "
     "the CPU it also checks exactly: every remainder of the production kernels' tiles, plans, recalled plans, batches "
     "of more than 65,536 items, and rows 2^31 elements apart.",
     CMD_SELFTEST, 0, 0, cmd_selftest},
    {"version", "[OPTION]...", "print the version", "  tilewright version\n",
     "Prints the version of the library and the program.", CMD_VERSION, 0, 0, cmd_version},
    {"help", "[COMMAND]", "describe a command", "  tilewright help multiply\n",
     "Describes a command and its options. Without COMMAND it lists the commands, exit statuses and environment "
     "variables.",
     CMD_HELP, 0, 1, cmd_help},
    {0},
};

/* "tilewright --help" and "tilewright -V" are what people type first. */
static const char *command_word(const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) return "help";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) return "version";
    return word;
}

static exit_code run(const command *cmd, const options *opt)
{
    session s;
    exit_code code = session_begin(&s, opt);
    if (code == EXIT_OK && opt->help)
        help_command(s.text, cmd);
    else if (code == EXIT_OK)
        code = cmd->run(&s);
    return session_end(&s, code);
}

/* Of the ranks of `multiply` only the first writes records and results. */
static void settle_rank(options *opt)
{
    const launched l = launched_find();
    if (opt->command->bit != CMD_MULTIPLY || l.mpi == NULL || l.rank <= 0) return;
    opt->json = NULL, opt->append = opt->verbose = false, opt->quiet = true;
}

static exit_code start(int argc, char **argv)
{
    static options opt;
    if (argc < 2) {
        help_overview(stderr);
        return EXIT_USAGE;
    }
    const command *cmd = command_named(command_word(argv[1]));
    if (cmd == NULL) return unknown_command(argv[1]);
    diag_command(cmd->name);
    exit_code code = options_parse(cmd, argc - 1, argv + 1, &opt);
    settle_rank(&opt);
    if (opt.help) opt.json = NULL, opt.append = false; /* nothing is written */
    if (code == EXIT_OK && !opt.help) code = files_check(&opt);
    return code == EXIT_OK ? run(cmd, &opt) : code;
}

int main(int argc, char **argv)
{
    guard_install();
    const exit_code code = start(argc, argv);
    guard_done();
    return (int)code;
}
