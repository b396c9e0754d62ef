#!/usr/bin/env python3
"""mutate.py - the mutation gate: plants small faults one at a time; some test must catch each. ./dev mutate --help

Operators (OPERATORS) make faults from the text of src/, kernels/ and blas/. A seed draws some, at least three of each
class. Each is planted in a copy of the tree in build/mutate and judged by the programs that cover the file (COVERING),
fast ones first. Needs what the build needs, and Python's standard library.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

LIST = "tools/mutants.equivalent"
LIBRARY = "tilewright_objects" # the target of all objects of src/ and kernels/

# ---- operators: class, files, pattern in a line without comments and strings, replacements ----

C = r"\.[ch]$"
CL = r"\.clh?$"
CPU = r"^(src|kernels/cpu)/"
FAR = r"^src/|kernels/cpu/(gem|cpu)" # rungs and OpenCL's devices see no operand of 2^31 elements here
NAME = r"(?:\w+(?:->|\.))?"
VALUE = r"(?<![.\w>&])(?<!double )(?<!float )(?<!real )(?<!real \*)" # not where it is declared
LOST = r"\1 - (\1 % 1024 == 1023)"
OPERATORS = [
    *(("bounds", where, loop + sought, [r"\g<1>" + instead])
      for sought, instead in ((" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "))
      for where, loop in (("^kernels/", "()"), ("^(src|blas)/", r"(\b(?:for|while) \(.*?)"))),
    ("bounds", "", r" [-+] 1\b(?![.\d])", [""]),
    ("strides", "", r"\blda\b", ["ldb"]),
    ("strides", "", r"\bldb\b", ["lda"]),
    ("strides", "", r"\bldc\b", ["lda"]),
    ("strides", C, r"\ba_rs\b", ["a_cs"]),
    ("strides", C, r"\bb_rs\b", ["b_cs"]),
    ("strides", C, r"\ba_cs\b", ["a_rs"]),
    ("strides", C, r"\bb_cs\b", ["b_rs"]),
    ("strides", "", r" \* " + NAME + r"(?:ld[abc]?|\w*stride|[abc]_rs|[abc]_cs|x_k)\b", [""]),
    ("masks", C, r"\bvec_first\((?!0\))((?:[^()]|\([^()]*\))*)\)", [r"vec_first((\1) - 1)", r"vec_first((\1) + 1)"]),
    ("masks", "", r"\b(?:min_i64|smaller|min)\(([^,()]+), ([^,()]+)\)", [r"(\1)", r"(\2)"]),
    ("masks", "", r"(\w+ < \w+) && (\w+ < \w+)", [r"\1", r"\2"]),
    ("masks", CL, r"\b(load4|store4)\((.*?), (n|k|edges) - ", [r"\1(\2, \3 + 1 - "]),
    ("masks", C, r"% LANES\b", ["% (LANES + 1)"]),
    ("masks", C, r"\bcut \?", ["!cut ?"]),
    ("barriers", "", r"(?<!\w)(?:barrier|team_barrier|team_after|wait_until_left|signal_wait)\([^;{]*\);", [";"]),
    ("beta", "", NAME + r"\bbeta (?:!=|==) 0|(?<!bool )\breads_c\(beta\)", ["1", "0"]),
    ("beta", C, r"\.beta = (?!=)[^,;}]+", [".beta = 1"]),
    ("beta", "", VALUE + r"(" + NAME + r"beta)\b(?=[,)])", ["0", r"(\1 * \1)"]),
    ("beta", "", r"\bbeta \* ", [""]),
    ("alpha", C, r"\.alpha = (?![=0])[^,;}]+", [".alpha = 1"]),
    ("alpha", "", VALUE + r"(" + NAME + r"alpha)\b(?=[,)])", ["1", r"(\1 * \1)"]),
    ("alpha", C, r"\bkind##_mul\(alpha, sum\)", ["(sum)"]),
    ("alpha", "", r"\balpha \* ", ["", "alpha * alpha * "]),
    ("recall", r"^src/plan\.c$", r"\b[pq]->\w+ == [pq]->\w+", ["true"]),
    ("recall", r"^src/plan\.c$", r"\b(?:user->\w+|last\.\w+) [=!]= [\w>. -]+\b", ["true"]),
    ("recall", r"^src/plan\.c$", r"\((?:[pq]|user)->beta != 0\) == \([pq]->beta != 0\)", ["true"]),
    ("recall", r"^src/plan\.c$", r"last\.plan\.in_place|plans_alike\(&last\.plan, problem\)|q->k > 0(?= &&)|user->beta == 0(?=\))", ["true"]),
    ("batch", r"batch|problem\.h|src/api\.c", r"\bbatch_item\((.*?), i\)", [r"batch_item(\1, i & 1023)", r"batch_item(\1, i % 65536)"]),
    ("batch", r"problem\.h", r"\bstride \* \(size_t\)i\b", ["stride * (size_t)(i & 1023)", "stride * (size_t)(i - (i >= 1024))", "(int)stride * (size_t)(int)i"]),
    ("batch", r"problem\.h", r"\)items\)\[i\]", [")items)[i & 1023]", ")items)[i - (i >= 65536)]"]),
    ("batch", CPU, r"batch->stride_[ac]\b", ["batch->stride_b"]),
    ("batch", CPU, r"batch->stride_b\b", ["batch->stride_a"]),
    ("batch", r"engines/cpu|api\.c", r"\b((\w*->?)?batch->|items\.)count\b", [r"(\g<0> - 1)", r"(\g<0> & 1023)"]),
    ("batch", r"cpu/batch\.c", r"\btask (/|%) w->parts", [r"(task & 1023) \1 w->parts", r"(task + 1) \1 w->parts"]),
    ("batch", r"cpu/batch\.c", r"\ball_a\b", ["all_b"]),
    ("batch", r"cpu/batch\.c", r"\b(?:plan|cpu)->(together|gemv|at_once)\b", ["0", "1"]),
    ("offsets", FAR, r"\bint64_t (?=(?:ld[abc]?|\w*stride\w*|[abc]_rs|[abc]_cs|x_k|offset|apart|at)\b)", ["int32_t "]),
    ("offsets", FAR, r"\(size_t\)(?=\([^()]*(?:\bld|stride|_rs|_cs))", ["(int)"]),
    ("precision", C, r"\bdouble (?=\*?(?:alpha|beta|value)\b)", ["float "]),
    ("precision", C, r"\(real\)|\breal_of(?=\()|\(double\)(?=\*?\(?\w*(?:alpha|beta|value))", ["(float)"]),
    ("precision", C, r"\bTW_F64 \?", ["0 ?"]),
    ("precision", C, r"\bTW_F64\b(?! \?)", ["TW_F32"]),
    ("precision", CL, r"\bfma\(([^,()]+), ", [r"fma((float)(int)(\1), "]),
    ("precision", r"kernels/cpu", r"\breal (?=\w+\[)", ["float "]),
    ("transposes", "", r"\bTW_N\b", ["TW_T"]),
    ("transposes", "", r"\bTW_T\b", ["TW_N"]),
    ("transposes", "", r"\bop_a\b", ["op_b"]),
    ("transposes", "", r"\bop_b\b", ["op_a"]),
    ("transposes", "", r"(?<![.\w>])(" + NAME + r"\w*transposed)\b(?= [?&|)])", [r"!\1"]),
    ("transposes", CL, r"\bOP_[AB](?= \?|;|,)", [r"!\g<0>"]),
    ("nan", C, r"\bmemset\([^;]*, 0, [^;]*\);", [";"]),
    ("nan", C, r"\bpacked\[i\] = 0;", [";"]),
    ("nan", "", NAME + r"\balpha == 0", ["0"]),
    ("nan", "", NAME + r"\balpha != 0", ["1"]),
    ("nan", C, r"\bsum_in \?", ["1 ?"]),
    ("nan", CL, r"= \{0\}", ["= {1}"]),
    ("nan", CL, r"(\bsum =|:) 0(?=[;)])", [r"\1 NAN"]),
    ("nan", C, r"\b(vec|half)_all\(0\)", [r"\1_all(1)"]),
    ("nan", C, r"!reads\b", ["0"]),
    ("depth", "", r"(?<= < )(" + NAME + r"k)\b(?=;| &&|\))", [LOST]),
    ("depth", C, r"(?<== )(" + NAME + r"(?:k|steps|depth))\b(?=[;,])", [LOST]),
    ("depth", "", r"\bk_left > 0", ["k_left > (t->k % 1024 == 1023)"]),
    ("depth", CL, r"(?<=, )k\b(?=[,)])|\bk(?= - p\b)", ["k - (k % 1024 == 1023)"]),
]
CLASSES = list(dict.fromkeys(name for name, *_ in OPERATORS))

# Left out: CUDA's engine and kernels, which no test can run without a GPU; and what computes no element of C: drivers,
# caches, error texts, probes.
FILES = r"^(src|kernels|blas)/.*\.(c|h|cl|clh)$"
LEFT_OUT = r"/cuda/|/probe|sha256|jit_cache|processors|error\.|detect|/dl\.c|_api\.h|report\."
# Declarations, which would not compile; only their types are changed. A function on one line is more than its declaration.
DECLARES = r"^\s*(?:static |inline |const |typedef |extern )*(?:\w+_t|int|long|void|float|double|real|char|bool|call|tw_\w+|CBLAS_\w+) \**\w+(?:, \**\w+)*;|^(?!.*\{ return )(?:static |inline |typedef |ALWAYS |const )*\w+ \**\w+\([^;={}]*(?:[;,)]|$)"
# Lines that decide speed alone: prefetches and block sizes.
SPEED = r"prefetch|\bat_[ac]\b|a_next|b_next|c_next|PER_THREAD|even_block|WANTED|AHEAD|snprintf|static_assert|_Static_assert|fail\("

# Where equality changes nothing: the smaller of two; a loop over blocks, or guarded tiles of k, for one that is empty.
# Nor does a lost step of k = 1023 there: no block begins with it.
SAME_AT_EQUALITY = r"(\w+) < (\w+) \? \1 : \2\b|\bfor \([^;]*;[^;]* < [^;]*;[^;)]*\+= |\bt < ceil_div\(k, TILE\)"

# The programs that cover a fault, by its file and class: fast ones, and those likely to fail, first. Where the first cannot
# run, the fault is not judged. {stem}: the file's name without its ending.
API = ["test_api", "test_sizes", "test_recalled", "test_bits", "test_plans_cpu", "test_plans_gpu"]
LOOPS = ["test_strides --only cpu", "test_packed", *API, "test_triangle", "test_batch --only cpu", "test_kernels --only every",
         *(f"test_kernels --only cpu_{row}" for row in ("f32_gemm", "f64_gemm", "i8", "u8", "f16", "bf16"))]
PANELS = ["test_strides --only opencl",
          *(f"test_kernels --only opencl_f32_{rung}" for rung in ("r04_", "sgemm", "r10", "s3", "d1"))]
MEMORY = ["test_faults_memory", "test_faults --only memory", "test_faults_calls --only memory"]
COVERING = [
    (r"^src/toy", ["toy"]), # tests/test_mutate.py
    (r"kernels/cpu/(ladder/r13|tiles|gemv_tiles)", ["test_tiles", "test_kernels --only r13", *API]),
    (r"kernels/cpu/triangle", ["test_level3"]),
    (r"kernels/cpu/(b?f16|half|convert_half|finish)", ["test_results", "test_kernels --only cpu_f16"]),
    (r"kernels/cpu/(gem|vec|epilogue|cpu\.h)", [*LOOPS, "test_complex", "test_level3"]),
    (r"kernels/cpu/rung\.h", ["test_kernels --only cpu_f32_r0", "test_kernels --only cpu_f64_r0"]),
    (r"kernels/cpu/", ["test_kernels --only cpu_f32_{stem}", "test_kernels --only cpu_f64_{stem}"]),
    (r"kernels/opencl/.* barriers$", ["test_oclgrind --only {stem}", "test_kernels --only opencl_f32_{stem}"]),
    (r"kernels/opencl/.*\.cl ", ["test_kernels --only opencl_f32_{stem}", "test_strides --only opencl",
                                "test_access --only opencl_f32_{stem}", "test_oclgrind --only {stem}"]),
    (r"src/(expression|interval|bound)|kernels/cpu/(evaluate|elementary)|kernels/opencl/epilogue", ["test_expression", "test_queues", *PANELS]),
    (r"src/packed_b", ["test_packed"]),
    (r"kernels/opencl/|engines/opencl/", PANELS + ["test_sizes", "test_expression --only opencl", "test_queues", "test_batch --only opencl", *(f"test_faults{part} --only opencl" for part in ("", "_calls", "_cache"))]),
    (r"blas/", ["test_blas", "test_blas_batch", "test_names64", "test_complex", "test_level3", "test_route", *API]),
    (r"src/(first_use|self_test)", ["test_first_use"]),
    (r"src/plan/(?!cpu|batch_cpu)", ["test_plans", *API, "test_kernels --only opencl_f32_sgemm", "test_strides --only opencl"]),
    (r"src/(plan|table|problem)", ["test_plans", *LOOPS, "test_complex", "test_threads", "test_blas", "test_random",
                                   "test_kernels --only opencl_f32_sgemm", "test_first_use", *MEMORY]),
    (r"src/parts", ["test_parts", *MEMORY]),
    (r"src/(panels|spread)", ["test_spread", "test_faults_calls --only panels", *MEMORY]),
    (r"cpu/pack_words", ["test_tiles", *LOOPS]), # which has the layouts and the deep panels of AMX
    (r"cpu/(threads|masks|signals)", ["test_threads", *LOOPS, "test_random"]),
    (r"src/", [*LOOPS, "test_complex", "test_threads", "test_blas", "test_random", "test_strides --only opencl",
               "test_kernels --only opencl_f32_sgemm", *MEMORY, "test_faults --only large", "test_faults_calls --only large",
               "test_batch --only opencl", "test_queues --only error",
               "test_batch --full --only 'opencl: 65539'"]),
]


def masked(text):
    """The text with blanks for comments, strings and characters."""
    blank = lambda found: re.sub(r"[^\n]", " ", found.group())
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


class Fault:
    def __init__(self, kind, path, line, function, before, after):
        self.kind, self.path, self.line, self.function, self.before, self.after = kind, path, line, function, before, after
        self.id = hashlib.sha1("\0".join([path, str(line), before, after]).encode()).hexdigest()[:12]

    def __str__(self):
        return f"{self.path}:{self.line} {self.kind}\n    - {self.before.strip()}\n    + {self.after.strip()}"


def generate(root, files):
    """All faults, in the order of files, lines and operators; none twice."""
    faults, seen = [], set()
    for path in files:
        text, function = (root / path).read_text(), ""
        for number, (line, code) in enumerate(zip(text.split("\n"), masked(text).split("\n")), 1):
            heads = re.match(r"\w[^;=]*?\b(\w+)\([^;]*$", code) or re.match(r"\w[^;=]*?\b(\w+)\([^;]*\{.*\}", code)
            if heads: function = heads[1]
            if re.search(SPEED, code) or re.match(r"\s*#(?!define)", code): continue
            for kind, where, sought, instead in OPERATORS:
                if where and not re.search(where, path): continue
                if kind not in ("offsets", "precision") and re.search(DECLARES, code): continue
                if kind in ("bounds", "depth") and re.search(SAME_AT_EQUALITY, code): continue
                for found in re.finditer(sought, code):
                    for new in instead:
                        after = line[:found.start()] + found.expand(new) + line[found.end():]
                        if after != line and (number, after, path) not in seen:
                            seen.add((number, after, path))
                            faults.append(Fault(kind, path, number, function, line, after))
    return faults


def excused(fault, rule):
    path, kinds, piece, _ = rule
    if path != fault.path or (kinds != "*" and fault.kind not in kinds.split(",")): return False
    return piece == fault.function + "()" or piece in fault.before or piece == fault.after.strip()


def read_rules(file):
    """Lines of path, classes or *, what is excused and why, separated by tabs. Excused is a function ("name()"), a piece of
    the original line, or the whole planted line."""
    rules = []
    for number, line in enumerate(file.read_text().splitlines() if file.exists() else [], 1):
        if not line.strip() or line.startswith("#"): continue
        fields = line.split("\t")
        if len(fields) != 4 or not all(field.strip() for field in fields):
            sys.exit(f"{file}:{number}: expected path, class, piece and argument with tabs between them")
        rules.append(fields)
    return rules


def draw(faults, count, seed):
    """Slots: each a class and the faults tried for it in turn, until one counts. Classes take turns. A fault's place
    follows from the seed and itself, so that a draw is nearly the same again when what slipped has been mended."""
    place = lambda fault: hashlib.sha1(f"{seed} {fault.path} {fault.before} {fault.after}".encode()).digest()
    by_class = {kind: sorted((f for f in faults if f.kind == kind), key=place) for kind in CLASSES}
    kinds = [kind for kind in CLASSES if by_class[kind]]
    turns = [kinds[i % len(kinds)] for i in range(count)] if kinds else []
    slots = [(kind, by_class[kind][turns[:i].count(kind)::turns.count(kind)]) for i, kind in enumerate(turns)]
    return [slot for slot in slots if slot[1]]


def shows_in_a_product(entry):
    """Of what was judged, what `tilewright selftest` could see here: plans alone, lists of devices and barriers do not
    show, and it does not call the BLAS, whose kernel triangle_simd is."""
    looks_inside = re.match(r"test_(plans|recalled|faults|sizes|access|oclgrind)", entry["by"] or "")
    return entry["verdict"] == "caught" and not looks_inside and not re.match("blas/|kernels/cpu/triangle", entry["path"])


def covering(path, kind):
    commands = next((commands for sought, commands in COVERING if re.search(sought, f"{path} {kind}")), [])
    return [command.format(stem=pathlib.Path(path).stem) for command in commands]


# ---- a copy of the tree, its build, and that build as it was ----

class Workplace:
    def __init__(self, root, files, folder, options, targets):
        self.root, self.folder, self.options, self.targets = root, folder, options, targets
        self.tree, self.build, self.kept, self.files = folder / "tree", folder / "build", folder / "kept", files

    def run(self, command, limit, log=None):
        """Exit status, None where it ran past its limit; what it wrote is in log."""
        build = str(self.build)
        environment = dict(os.environ, LC_ALL="C.UTF-8", TILEWRIGHT_SOURCE=str(self.tree),
                           TILEWRIGHT_BUILD=build, TILEWRIGHT=build + "/tilewright", XDG_CACHE_HOME=build + "/test-cache",
                           TILEWRIGHT_CACHE=build + "/test-kernels",
                           TILEWRIGHT_SELF_TEST="off") # another kernel would compute in the place of a wrong one
        with open(log or os.devnull, "wb") as out:
            process = subprocess.Popen(command, cwd=build, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                return None
            finally: # and what it left behind
                try: os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError: pass
                process.wait()

    def make(self, target, limit=3600):
        command = ["cmake", "--build", str(self.build), "--target", target, "-j", str(self.options.build_jobs)]
        return self.run(command, limit, self.folder / "build.log")

    def prepare(self, digest):
        """Copied, configured and built, unless that is what lies there."""
        stamp = self.folder / "digest"
        wanted = digest + " " + " ".join(sorted(self.targets))
        if not (stamp.exists() and stamp.read_text() == wanted):
            shutil.rmtree(self.folder, ignore_errors=True)
            (self.build / "test-cache").mkdir(parents=True, mode=0o700)
            (self.build / "test-cache").chmod(0o700)
            for path in self.files:
                (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self.root / path, self.tree / path)
            configure = ["cmake", "-S", str(self.tree), "-B", str(self.build), "-DCMAKE_BUILD_TYPE=Release", *self.options.cmake]
            if shutil.which("ninja"): configure += ["-G", "Ninja"]
            if self.options.prefix: configure.append("-DCMAKE_PREFIX_PATH=" + self.options.prefix)
            log = self.folder / "configure.log"
            if self.run(configure, 600, log) != 0: sys.exit(f"the copy was not configured:\n{log.read_text()}")
            for target in sorted(self.targets):
                if self.make(target) != 0: say(f"{target} is not built here, so its cases are left out: {self.folder}/build.log")
            shutil.copytree(self.build, self.kept, symlinks=True)
            stamp.write_text(wanted)
        self.before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in self.built(self.kept)}

    def built(self, folder):
        written = ("test-cache", "test-kernels", "test-logs") # by tests
        return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and path.relative_to(folder).parts[0] not in written]

    def plant(self, fault):
        file = self.tree / fault.path
        shutil.copy2(file, self.folder / "original")
        lines = file.read_text().split("\n")
        assert lines[fault.line - 1] == fault.before
        lines[fault.line - 1] = fault.after
        file.write_text("\n".join(lines))

    def restore(self, fault):
        """The file and all that was built from it, with the times they had: nothing is built anew."""
        shutil.copy2(self.folder / "original", self.tree / fault.path)
        for kept, state in self.before.items():
            path = self.build / kept.relative_to(self.kept)
            if path.exists() and (path.stat().st_mtime_ns, path.stat().st_size) == state: continue
            path.unlink(missing_ok=True) # a program that still ends cannot be written to
            shutil.copy2(kept, path)

    def differs(self):
        """Does an object, or a text that becomes part of the library, differ from what it was?"""
        for kept, state in self.before.items():
            path = self.build / kept.relative_to(self.kept)
            changed = path.suffix == ".o" and path.stat().st_mtime_ns != state[0]
            if changed and path.read_bytes() != kept.read_bytes(): return True
        return False


def program_of(workplace, command):
    name, *arguments = shlex.split(command)
    for path in (workplace.build / "tests" / name, *sorted((workplace.tree / "tests").glob(name + ".[sp][hy]"))):
        if path.exists(): return [str(path), *arguments]
    return None


# ---- the run ----

def say(text, end="\n"):
    print(text, end=end, flush=True)


def counts(entry):
    return entry is not None and entry["verdict"] in ("caught", "slipped")


def files_of(root):
    """What git knows or would add; without git all but build/."""
    if (root / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, capture_output=True, check=False)
        if listed.returncode == 0: return sorted(n for n in listed.stdout.decode().split("\0") if n and (root / n).is_file())
    below = (p.relative_to(root) for p in root.rglob("*") if p.is_file())
    return sorted(str(p) for p in below if p.parts[0] not in ("build", ".git"))


class Gate:
    def __init__(self, root, options):
        self.root, self.options, self.lock, self.measuring = root, options, threading.Lock(), collections.defaultdict(threading.Lock)
        self.begin, self.spent = time.monotonic(), 0 # slots without a fault that counts
        self.left_out = collections.Counter() # faults by the program without which they are not judged
        self.out = pathlib.Path(options.folder).resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.files = files_of(root)
        digest = hashlib.sha1(str([options.prefix, options.cmake]).encode())
        for name in self.files: digest.update(name.encode() + b"\0" + (root / name).read_bytes())
        self.digest = digest.hexdigest()
        rules = read_rules(root / LIST)
        made = generate(root, [f for f in self.files if re.search(FILES, f) and not re.search(LEFT_OUT, f)])
        made = [f for f in made if options.only is None or options.only in str(f)]
        self.argued = [f for f in made if any(excused(f, rule) for rule in rules)]
        self.faults = [f for f in made if f not in self.argued]
        idle = [rule for rule in rules if options.only is None and not any(excused(f, rule) for f in self.argued)]
        if idle: sys.exit(f"{LIST}: no fault is excused by\n" + "\n".join("  " + " | ".join(rule) for rule in idle))
        shard, shards = options.shard
        self.slots = list(enumerate(draw(self.faults, options.count, options.seed)))[shard - 1::shards]
        self.log = self.out / "log.jsonl"
        self.known, self.commands = {}, {}
        for line in self.log.read_text().splitlines() if self.log.exists() else []:
            try: entry = json.loads(line)
            except ValueError: continue # a line that was being written
            if entry.get("tree") != self.digest: continue
            if "command" in entry:
                if entry["passes"]: self.commands[entry["command"]] = entry
            elif not counts(entry) or not options.selftest or "selftest" in entry: self.known[entry["id"]] = entry

    def write(self, entry):
        with self.lock, open(self.log, "a", encoding="utf-8") as out: out.write(json.dumps(dict(entry, tree=self.digest)) + "\n")
        return entry

    def over(self):
        return time.monotonic() - self.begin > self.options.budget

    def measure(self, workplace, commands):
        """Each command on the tree as it is: how long it takes, and whether it passes, without which it says nothing."""
        for command in commands:
            with self.lock: measuring = self.measuring[command]
            with measuring:
                if command not in self.commands: self.measure_one(workplace, command)

    def measure_one(self, workplace, command):
        program, begin, log = program_of(workplace, command), time.monotonic(), workplace.folder / "measure.log"
        status = workplace.run(program, 1800, log) if program else -1
        ran = program is not None and re.search(rb"^ok \d+(?!.*# SKIP)", log.read_bytes(), re.M) is not None
        entry = {"command": command, "passes": status == 0 and ran, "seconds": round(time.monotonic() - begin, 2)}
        self.commands[command] = self.write(entry)
        why = "it is not built here" if program is None else f"exit status {status}" if status != 0 else "all cases are skipped"
        if not entry["passes"]: say(f"left out: {command}: {why}")

    def judge(self, workplace, fault):
        """Plant, build, run; the entry for the log."""
        begin = time.monotonic()
        entry = {"id": fault.id, "class": fault.kind, "path": fault.path, "line": fault.line,
                 "before": fault.before.strip(), "after": fault.after.strip()}
        workplace.plant(fault)
        try:
            library = "tilewright_blas" if fault.path.startswith("blas/") else LIBRARY
            if workplace.make(library) != 0: return dict(entry, verdict="does not compile")
            if not workplace.differs(): return dict(entry, verdict="same object")
            entry["verdict"], entry["by"], entry["why"] = "slipped", None, None
            for command in covering(fault.path, fault.kind):
                if not self.commands[command]["passes"]: continue
                name = command.split()[0]
                if workplace.make(name) != 0: return dict(entry, verdict="does not compile")
                log = workplace.folder / "test.log"
                limit = self.options.least_limit + 10 * self.commands[command]["seconds"]
                status = workplace.run(program_of(workplace, command), limit, log)
                if status == 0: continue
                said = log.read_text(errors="replace")
                if re.search(r"\.cl could not be compiled for this device", said): return dict(entry, verdict="does not compile")
                failed = re.search(r"^not ok.*", said, re.M)
                why = "it hangs" if status is None else failed.group()[:160] if failed else f"exit status {status}"
                entry.update(verdict="caught", by=command, why=why)
                break
            if self.options.selftest: entry["selftest"] = self.selftest(workplace, fault)
            return dict(entry, seconds=round(time.monotonic() - begin, 1))
        finally:
            workplace.restore(fault)

    def selftest(self, workplace, fault):
        engine = "opencl" if "opencl" in fault.path else "cpu"
        if workplace.make("tilewright") != 0: return None
        command = [str(workplace.build / "tilewright"), "selftest", "--engine", engine]
        return workplace.run(command, 120, workplace.folder / "selftest.log") != 0

    def fill(self, workplaces, slot):
        """The slot's faults in turn until one counts; its entry, None: time is up, or there is none left."""
        number, (_, candidates) = slot
        workplace = None
        try:
            for fault in candidates:
                entry = self.known.get(fault.id)
                if entry is None:
                    if self.over(): return None
                    if workplace is None:
                        with self.lock: workplace = workplaces.pop()
                    commands = covering(fault.path, fault.kind)
                    self.measure(workplace, commands)
                    if not self.commands[commands[0]]["passes"]:
                        self.left_out[commands[0]] += 1
                        continue
                    entry = self.write(self.judge(workplace, fault))
                if not counts(entry): continue
                by = f"    by {entry['by']}: {entry['why']}\n" if entry["verdict"] == "caught" else ""
                say(f"{number + 1:3} of {self.options.count}  {entry['verdict']} in {entry['seconds']} s: {fault}\n{by}", end="")
                return entry
            self.spent += 1
            return None
        finally:
            if workplace is not None:
                with self.lock: workplaces.append(workplace)

    def run(self):
        open_slots = [s for s in self.slots if not any(counts(self.known.get(f.id)) for f in s[1][1])]
        paths = {(f.path, f.kind) for _, (_, candidates) in self.slots for f in candidates}
        targets = {LIBRARY} | {command.split()[0] for path in paths for command in covering(*path)}
        if self.options.selftest: targets.add("tilewright")
        if any(path.startswith("blas/") for path, _ in paths): targets.add("tilewright_blas")
        jobs = min(self.options.jobs, max(len(open_slots), 1))
        workplaces = [Workplace(self.root, self.files, self.out / f"work-{i + 1}", self.options, targets) for i in range(jobs)]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            if open_slots:
                say(f"building {jobs} cop{'y' if jobs == 1 else 'ies'} of the tree in {self.out} ...")
                list(pool.map(lambda w: w.prepare(self.digest), workplaces))
            try:
                entries = list(pool.map(lambda slot: self.fill(workplaces, slot), self.slots))
            except KeyboardInterrupt:
                self.options.budget = 0 # the faults that are planted are judged, and no other begins
                raise
        return self.report([e for e in entries if e], len(self.slots) - self.spent)

    def report(self, entries, wanted):
        slipped = [e for e in entries if e["verdict"] == "slipped"]
        say("")
        for kind in CLASSES:
            of_kind = [e for e in entries if e["class"] == kind]
            if of_kind: say(f"{kind:11} {len(of_kind):3} planted {sum(e['verdict'] == 'caught' for e in of_kind):3} caught")
        for by in sorted({e["by"] for e in entries if e["by"]}):
            say(f"caught by {by}: {sum(e['by'] == by for e in entries)}")
        tested = [e["selftest"] for e in entries if e.get("selftest") is not None and shows_in_a_product(e)]
        if tested:
            share = 100 * sum(tested) // len(tested)
            say(f"selftest caught {sum(tested)} of {len(tested)} that show in a product, {share} %")
        for command, count in sorted(self.left_out.items()):
            say(f"not judged, as {command} cannot run here: {count} fault{'s' * (count > 1)}")
        for e in slipped: say(f"SLIPPED {e['path']}:{e['line']} {e['class']}\n    - {e['before']}\n    + {e['after']}")
        tried = len({e["id"] for e in self.known.values()} | {e["id"] for e in entries})
        say(f"{len(entries)} planted, {len(entries) - len(slipped)} caught, {len(slipped)} slipped, {wanted - len(entries)} to go; "
            f"seed {self.options.seed}, {len(self.faults)} faults to draw from, {len(self.argued)} argued away; "
            f"{tried} judged in {self.log}")
        if tested and share < 75: say("selftest should catch 75 %")
        if slipped or (tested and share < 75): return 1
        if not entries: say("no fault could be judged")
        if len(entries) < wanted: say("not all were judged: the same command goes on from the log")
        return 3 if len(entries) < wanted or not entries else 0


def shard_of(text):
    found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
    if not found or int(found[1]) > int(found[2]): raise argparse.ArgumentTypeError(f"found '{text}', expected I/N with I from 1 to N")
    return int(found[1]), int(found[2])


def main():
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__.split("\n\n", 1)[1])
    parser.add_argument("--seed", type=int, default=1, help="which faults are drawn (1)")
    parser.add_argument("--count", type=int, default=60, help="so many faults that compile and change an object (60)")
    parser.add_argument("--only", metavar="TEXT", help="only faults whose file, class or lines contain TEXT")
    parser.add_argument("--shard", type=shard_of, default=(1, 1), metavar="I/N", help="part I of N of the draw")
    parser.add_argument("--jobs", type=int, default=1, help="N faults side by side, each in a copy of its own (1)")
    parser.add_argument("--build-jobs", type=int, default=2, help="processes of one copy's build (2)")
    parser.add_argument("--budget", type=float, default=10800, metavar="SECONDS", help="begin no fault after so long (10800); the same command goes on from the log")
    parser.add_argument("--selftest", action="store_true", help="also say what share `tilewright selftest` catches")
    parser.add_argument("--list", action="store_true", help="print the faults that there are to draw from, and plant none")
    parser.add_argument("--prefix", help="where cmake finds jansson (CMAKE_PREFIX_PATH)")
    parser.add_argument("--folder", default="build/mutate", help="copies and log.jsonl (build/mutate)")
    parser.add_argument("--least-limit", type=float, default=30, metavar="SECONDS", help="a program that runs for so long and ten times what it takes hangs (30)")
    parser.add_argument("--root", default=".", help=argparse.SUPPRESS)
    parser.add_argument("--cmake", action="append", default=[], metavar="ARGUMENT", help="for cmake, as --cmake=-DCMAKE_C_COMPILER=clang; may be repeated")
    options = parser.parse_args()
    gate = Gate(pathlib.Path(options.root).resolve(), options)
    if options.list:
        for fault in gate.faults: say(str(fault))
        by_class = ", ".join(f"{kind} {sum(f.kind == kind for f in gate.faults)}" for kind in CLASSES)
        say(f"{len(gate.faults)} faults: {by_class}; {len(gate.argued)} argued away")
        return 0
    if not gate.slots: sys.exit("no fault to plant")
    return gate.run()


if __name__ == "__main__":
    sys.exit(main())
