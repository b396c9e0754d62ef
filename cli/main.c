/* main.c - the program: a table of commands, and the few lines that pick one. */
#include <stdio.h>
#include <string.h>
#include "cmd.h"
#include "files.h"
#include "guard.h"
#include "help.h"
#include "object.h"
#include "say.h"

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
    const char *names[16], *closest;
    int count = 0;
    for (const command *c = commands; c->name != NULL; c++) names[count++] = c->name;
    closest = say_closest(name, names, count);
    if (closest != NULL) return say(EXIT_USAGE, "unknown command '%s'; did you mean %s?", name, closest);
    return say(EXIT_USAGE, "unknown command '%s'; `tilewright help` lists them", name);
}

static exit_code cmd_help(session *s)
{
    const char *name = s->opt->operands[0];
    const command *about = name != NULL ? command_named(name) : NULL;
    if (name != NULL && about == NULL) return unknown_command(name);
    if (s->opt->man)
        help_man(s->text);
    else if (s->opt->completion)
        help_completion(s->text);
    else if (about != NULL)
        help_command(s->text, about);
    else
        help_overview(s->text);
    return session_flush(s);
}

const command commands[] = {
    {"multiply", "A B -o C [OPTION]...", "multiply two matrix files into a third",
     "  tilewright multiply A.npy B.npy -o C.npy\n"
     "  tilewright multiply A.npy A.npy --transpose-b -o gram.npy --verify\n"
     "  tilewright multiply A.raw B.raw --shape 1000x777x1023 --dtype f32 -o C.mtx\n"
     "  tilewright multiply A.npy B.npy --alpha 2 --beta -1 --add C0.npy -o C.npy\n",
     "C = alpha op(A) op(B) + beta C0. Files are .npy, Matrix Market (.mtx) or raw (.raw, .bin: elements in row "
     "order, shape and type from --shape and --dtype); an operand '-' is standard input. The output appears whole or "
     "not at all, also in the place of an operand; where it is a link, what the link names is written. One line tells "
     "the shape, the time of the product and the speed.",
     CMD_MULTIPLY, 2, 2, cmd_multiply},
    {"verify", "A B C [OPTION]...", "judge somebody's product C = A B by an independent check",
     "  tilewright verify A.npy B.npy C.npy\n"
     "  tilewright verify A.npy B.npy C.npy --transpose-a --alpha 2\n",
     "Residuals of random vectors in higher precision, then single elements recomputed against the bound that the "
     "arithmetic guarantees. Exit status 1 when C is not the product; the worst element is named. A NaN in C is warned "
     "of. An operand '-' is standard input.",
     CMD_VERIFY, 3, 3, cmd_verify},
    {"bench", "[OPTION]...", "time products, each verified first",
     "  tilewright bench\n"
     "  tilewright bench --shape 1000x777x1023,64x64x64 --dtype f32,f64 --json records.jsonl\n"
     "  tilewright bench --size 2048 --threads 1\n"
     "  tilewright bench --against all --set odd --threads 1\n"
     "  tilewright bench --engine cuda --against cublas --set gpu-square,gpu-odd --json records.jsonl\n",
     "One line per shape: median time, GFLOP/s and the share of the multiply-add peak measured in the same run. "
     "Operands rotate through more memory than the caches hold. A wrong kernel gets no time. --against: one table per "
     "class of shapes, GFLOP/s of each library and the ratio to the best of them.",
     CMD_BENCH, 0, 0, cmd_bench},
    {"ladder", "[OPTION]...", "run the rungs from three plain loops to what tw_gemm runs",
     "  tilewright ladder\n"
     "  tilewright ladder --size 512 --rung r01,r04,r14\n"
     "  tilewright ladder --rung r02 --tile 1,2,4,8,16,32,64,128\n"
     "  tilewright ladder --engine cpu,opencl,cuda --json records.jsonl --html ladder.html\n"
     "  tilewright ladder --engine cuda --tile 8,16,32\n"
     "  tilewright ladder --engine cuda --size 128,256,512,1024,2048,4096,8192,16384 --html sizes.html\n"
     "  tilewright ladder --skinny\n"
     "  tilewright ladder --deep\n"
     "  tilewright ladder --rung exercises/r01_naive.cl\n",
     "Each rung adds one idea to the rung before. Each is verified, then timed beside the bounds of the machine. The "
     "last, r14, is what tw_gemm runs for this shape; the line below it is the plan. On a "
     "GPU r01 to r05 are timed in two builds: loops held rolled, and as the compiler would have them. --rung also "
     "takes a file of your own, .cl for opencl or .cu for cuda: one kernel with the parameters of "
     "kernels/opencl/rung.clh or kernels/cuda/rung.cuh. Its name says which rung it is launched like: r05_mine like "
     "r05, any other like r01. It is compiled as it stands, judged as every rung is, and set beside that rung; it runs "
     "with your rights. A rung that does not fit is refused, with the reason, and is no failure; where all of an "
     "engine's are, the status is 3.",
     CMD_LADDER, 0, 0, cmd_ladder},
    {"explain", "RUNG [OPTION]...", "what a rung does and why: idea, picture, accesses, bounds, machine code",
     "  tilewright explain r04\n"
     "  tilewright explain r01 --element 1,5\n"
     "  tilewright explain r02 --gpu \"GTX 280\" --tile 32\n"
     "  tilewright explain r05 --engine opencl --binary\n"
     "  tilewright explain --tables\n",
     "No GPU is needed. The idea and the change from the rung before; the documents' pictures for one element of C; "
     "flop and bytes as formulas and in numbers; which sectors and banks each lane of a warp touches, by rows and by "
     "columns, on each generation of devices; two bounds (bound_asked, which caches may beat, and bound, which nothing "
     "may) on the documents' devices and the present one; what the compiler made of it. --tables: the documents' own "
     "tables, predicted beside published.",
     CMD_EXPLAIN, 0, 1, cmd_explain},
    {"report", "RECORDS... -o FILE.html", "make one page of HTML out of records",
     "  tilewright report records.jsonl -o report.html\n"
     "  tilewright report results/nvidia-h200/*.jsonl mine.jsonl -o both.html\n"
     "  tilewright report records.jsonl -o bars.svg\n",
     "RECORDS are files that --json of ladder and bench wrote, on any machine, pages that hold their records, and "
     "counters of ./dev counters; '-' is standard input. The page needs no network and no script: charts, rooflines, "
     "tables, every rung's story with its code, and the records themselves. The same records give the same page. A "
     "FILE that ends in .svg gets the bars of the first machine alone, one in .md the table of the rungs.",
     CMD_REPORT, 1, OPT_LIST, cmd_report},
    {"devices", "[OPTION]...", "list the devices that can compute",
     "  tilewright devices\n"
     "  tilewright devices --json -\n",
     "What each engine runs with or lacks; instruction set, threads or multiprocessors, caches, memory; multiply-add "
     "peak and bandwidths, measured now, beside the published ones. A driver that crashes is reported; the exit status "
     "is then 8.",
     CMD_DEVICES, 0, 0, cmd_devices},
    {"doctor", "[OPTION]...", "what matters on this machine, what is missing and how to get it",
     "  tilewright doctor\n",
     "Prints facts for a bug report and runs a quick self test. A driver that crashes is reported; the exit status is "
     "then 8.",
     CMD_DOCTOR, 0, 0, cmd_doctor},
    {"selftest", "[OPTION]...", "judge every kernel that fits this machine on a handful of shapes",
     "  tilewright selftest\n"
     "  tilewright selftest --engine cpu,opencl\n"
     "  TILEWRIGHT_CPU=avx2 tilewright selftest\n",
     "Each kernel against two oracles: exact (small integers, no bit may differ) and bound (random operands). On the "
     "CPU also, exactly: production kernels at every remainder of their tiles, plans, recalled plans, batches of more "
     "than 65,536 items, and rows 2^31 elements apart.",
     CMD_SELFTEST, 0, 0, cmd_selftest},
    {"version", "[OPTION]...", "print the version", "  tilewright version\n",
     "Prints the version of the library and the program.", CMD_VERSION, 0, 0, cmd_version},
    {"help", "[COMMAND]", "explain a command", "  tilewright help multiply\n", "Prints help.", CMD_HELP, 0, 1,
     cmd_help},
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

static exit_code start(int argc, char **argv)
{
    static options opt;
    if (argc < 2) {
        help_overview(stderr);
        return EXIT_USAGE;
    }
    const command *cmd = command_named(command_word(argv[1]));
    if (cmd == NULL) return unknown_command(argv[1]);
    say_command(cmd->name);
    exit_code code = options_parse(cmd, argc - 1, argv + 1, &opt);
    if (code == EXIT_OK && !opt.help) code = files_check(&opt);
    return code == EXIT_OK ? run(cmd, &opt) : code;
}

int main(int argc, char **argv)
{
    guard_install();
    return (int)start(argc, argv);
}
