#!/bin/sh
# old_glibc.sh - lets this machine's gcc link what also runs with an older glibc.
#
#   tools/old_glibc.sh FOLDER 2.28        then: gcc ... $(cat FOLDER/link); or CC, also one for another machine
#
# glibc keeps every old version of a symbol, but the linker takes the newest: pthread_create@GLIBC_2.34. So FOLDER gets
# libc.so.6 and libm.so.6 without content, in which each function of this machine's glibc stands in its newest version
# up to the given one, and one that came later does not stand at all: to use it is an error of the linker. What moved
# into libc.so.6 in 2.34 was in libpthread.so.0 and libdl.so.2 before; both are named as needed, and are everywhere. The
# compiler is the machine's own, so the machine code is that of every other build. For x86-64 and arm64.
set -eu

folder=${1:?the folder} newest=${2:?the version of glibc} compiler=${CC:-gcc}
case $($compiler -dumpmachine) in
x86_64-*) loader=ld-linux-x86-64.so.2 version=1 ;; # of struct stat
aarch64-*) loader=ld-linux-aarch64.so.1 version=0 ;;
*) echo "old_glibc.sh: $compiler is for $($compiler -dumpmachine), expected x86_64 or aarch64" >&2 && exit 1 ;;
esac
mkdir -p "$folder" && folder=$(cd "$folder" && pwd)

# stub LIBRARY - FOLDER/LIBRARY with the names of the machine's, none newer.
stub() {
    readelf -W --dyn-syms "$($compiler -print-file-name="$1")" |
        LC_ALL=C awk -v newest="$newest" -v map="$folder/$1.map" '
    function number(version,    part) { split(version, part, "."); return part[1] * 1000000 + part[2] * 1000 + part[3] }
    BEGIN { limit = number(newest) }
    $7 != "UND" && $8 ~ /@+GLIBC_[0-9.]+$/ {
        split($8, word, "@+GLIBC_")
        name = word[1]
        if (number(word[2]) > limit || (name in best && number(best[name]) >= number(word[2]))) next
        best[name] = word[2]; size[name] = $3 + 0; type[name] = $4
    }
    END {
        for (name in best) {
            nodes[best[name]] = 1
            count++
            object = type[name] == "OBJECT"
            print (object ? ".bss\n.balign 32" : ".text")
            printf "s%d: .skip %d\n.globl s%d\n", count, object && size[name] ? size[name] : 1, count
            printf ".type s%d, %s\n.size s%d, %d\n", count, object ? "@object" : "@function", count, size[name]
            printf ".symver s%d, %s@@GLIBC_%s, remove\n", count, name, best[name]
        }
        for (version in nodes) print "GLIBC_" version " { };" >map
    }' >"$folder/$1.s"
    $compiler -shared -nostdlib -Wl,-soname,"$1" -Wl,--version-script="$folder/$1.map" -o "$folder/$1" "$folder/$1.s"
}
stub libc.so.6
stub libm.so.6
for library in libpthread.so.0 libdl.so.2; do
    echo | $compiler -shared -nostdlib -Wl,-soname,"$library" -o "$folder/$library" -x c -
done

# Before 2.33 these were functions of the program itself, around older ones of the library.
cat >"$folder/stat.c" <<'C'
#define _GNU_SOURCE
#include <sys/stat.h>

int __xstat(int version, const char *path, struct stat *to);
int __lxstat(int version, const char *path, struct stat *to);
int __fxstat(int version, int fd, struct stat *to);
int __fxstatat(int version, int fd, const char *path, struct stat *to, int flags);
int stat(const char *path, struct stat *to) { return __xstat(VERSION, path, to); }
int lstat(const char *path, struct stat *to) { return __lxstat(VERSION, path, to); }
int fstat(int fd, struct stat *to) { return __fxstat(VERSION, fd, to); }
int fstatat(int fd, const char *path, struct stat *to, int flags) { return __fxstatat(VERSION, fd, path, to, flags); }
C
$compiler -DVERSION=$version -O2 -fPIC -fvisibility=hidden -c -o "$folder/stat.o" "$folder/stat.c"
rm -f "$folder/libstat.a" && $($compiler -print-prog-name=ar) rcsD "$folder/libstat.a" "$folder/stat.o"

rest=$($compiler -print-file-name=libc_nonshared.a)
echo "GROUP ( $folder/libc.so.6 $folder/libstat.a $rest AS_NEEDED ( $($compiler -print-file-name=$loader) ) )" >"$folder/libc.so"
echo "GROUP ( $folder/libm.so.6 )" >"$folder/libm.so"
echo "-L$folder -Wl,--no-as-needed $folder/libpthread.so.0 $folder/libdl.so.2 -Wl,--as-needed" >"$folder/link"
