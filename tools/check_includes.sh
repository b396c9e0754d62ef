#!/bin/sh
# check_includes.sh - the include rule: cli -> course, ranks, multiply, tune -> program -> lab, io -> include <- src -> engines -> kernels,
# ranks -> multiply, blas, mpi, python -> include, pblas -> mpi, and no arrow back, but that ranks sees mpi/plugin.h, engine.h, grid.h and
# nominal.h; the tables of data/ are for all; a kernel for a GPU includes nothing of the system. Tests and fuzzers may include anything. Prints
# each include that breaks the rule; exit status 1 if there is one.
set -eu
cd "$(dirname "$0")/.."

# allowed FILE: the files it may include, as an extended regular expression over their paths.
find include src kernels lab io program course multiply ranks tune cli blas mpi pblas python -type f \( -name '*.c' -o -name '*.h' -o -name '*.def' -o -name '*.cl*' -o -name '*.cu*' \) |
    LC_ALL=C sort | xargs awk '
    function allowed(file,    engine) {
        if (file ~ /^include\//) return "^include/"
        if (file ~ /^kernels\//) return "^kernels/"
        if (file ~ /^io\//) return "^(io|include)/"
        if (file ~ /^python\//) return "^include/"
        if (file ~ /^blas\//) return "^(blas|include)/"
        if (file ~ /^pblas\//) return "^(pblas|mpi|include)/"
        if (file ~ /^mpi\//) return "^(mpi|include)/"
        if (file ~ /^lab\//) return "^(lab|include)/"
        if (file ~ /^program\//) return "^(program|lab|io|include)/"
        if (file ~ /^course\//) return "^(course|program|lab|io|include)/"
        if (file ~ /^multiply\//) return "^(multiply|program|lab|io|include)/"
        if (file ~ /^tune\//) return "^(tune|program|lab|io|include)/"
        if (file ~ /^ranks\//) return "^((ranks|multiply|program|lab|io|include)/|mpi/(plugin|engine|grid|nominal)\\.h$)"
        if (file ~ /^cli\//) return "^(cli|course|ranks|multiply|tune|program|lab|io|include)/"
        if (file ~ /^src\/engines\/[a-z]+\.h$/) return "^(include/|src/engines/(engine|spread|stop)\\.h$|src/(plan|error|table|jit_cache)\\.h$)"
        if (match(file, /^src\/engines\/[a-z]+\//)) {
            engine = substr(file, 1, RLENGTH)
            return "^(" engine "|kernels/|include/|src/engines/[a-z]+\\.h$|src/(plan|error|table|jit_cache|processors|first_line|thread|packed_b)\\.h$)"
        }
        if (file ~ /^src\//) return "^(include/|kernels/|src/[^/]*$|src/plan/[^/]*$|src/engines/(engine|spread)\\.h$)"
    }
    function exists(path,    line) {
        if (!(path in known)) { known[path] = (getline line < path) >= 0; close(path) }
        return known[path]
    }
    function resolve(file, name,    path, i) { # beside the file, else in a folder of -I
        path = file
        sub(/[^\/]*$/, "", path)
        path = path name
        while (sub(/[^\/.][^\/]*\/\.\.\//, "", path)) continue
        if (exists(path)) return path
        for (i = 1; i <= folders; i++) if (exists(folder[i] "/" name)) return folder[i] "/" name
        return ""
    }
    BEGIN { folders = split("include src kernels/cpu lab io program course multiply ranks tune cli blas mpi pblas", folder, " ") }
    /^[ \t]*#[ \t]*include[ \t]*["<]/ {
        quoted = $0 ~ /include[ \t]*"/
        split($0, part, /["<>]/)
        target = resolve(FILENAME, part[2])
        if (target == "") {
            if (!quoted && FILENAME !~ /^kernels\/(opencl|cuda)\//) next # of the system, where there is one
            print FILENAME ":" FNR ": " part[2] " is not a file of the repository"
            bad++
        } else if (target !~ /^data\// && target !~ allowed(FILENAME)) {
            print FILENAME ":" FNR ": may not include " target
            bad++
        }
    }
    END { exit bad > 0 }'
