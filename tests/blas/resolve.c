/* resolve.c - opens a library as programs do that choose their BLAS at run time, and prints for each name that is given
 * which file it is found in by dlsym(): "daxpy_ /usr/lib/.../libblas.so.3". Exit status 1 if one is found nowhere.
 *
 * resolve LIBRARY NAME ... */
#define _GNU_SOURCE /* dladdr() */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **words)
{
    void *library = count > 1 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        fprintf(stderr, "%s\n", count > 1 ? dlerror() : "usage: resolve LIBRARY NAME ...");
        return 2;
    }
    int missing = 0;
    for (int i = 2; i < count; i++) {
        Dl_info found;
        void *address = dlsym(library, words[i]);
        if (address != NULL && dladdr(address, &found) != 0) {
            printf("%s %s\n", words[i], found.dli_fname);
        } else {
            printf("%s is missing\n", words[i]);
            missing++;
        }
    }
    return missing > 0;
}
