/* launched.c - see launched.h. Open MPI and MPICH have different ABIs, so each has a library of its own, and the
 * launcher's variables say which one this process needs. */
#define _GNU_SOURCE /* secure_getenv() */
#include "launched.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../program/diag.h"
#include "../program/numbers.h"

static int number_in(const char *variable)
{
    const char *text = getenv(variable);
    int64_t value;
    return text != NULL && parse_whole(text, 0, INT32_MAX, &value) ? (int)value : -1;
}

launched launched_find(void)
{
    const char *named = secure_getenv("TILEWRIGHT_MPI");
    launched l = {NULL, -1, -1};
    if (number_in("OMPI_COMM_WORLD_RANK") >= 0)
        l = (launched){"openmpi", number_in("OMPI_COMM_WORLD_RANK"), number_in("OMPI_COMM_WORLD_SIZE")};
    else if (number_in("PMI_RANK") >= 0)
        l = (launched){"mpich", number_in("PMI_RANK"), number_in("PMI_SIZE")};
    else if (number_in("PMIX_RANK") >= 0) /* srun's: of which MPI it does not say */
        l = (launched){"openmpi", number_in("PMIX_RANK"), number_in("SLURM_NTASKS")};
    if (l.mpi != NULL && named != NULL && named[0] != '\0') l.mpi = strcmp(named, "off") == 0 ? NULL : named;
    return l;
}

/* "libtilewright_openmpi.so.0" in a folder; NULL: it is not there, or cannot be loaded, and dlerror() says why. */
static void *open_beside(const char *mpi)
{
    static const char *const places[] = {"", LIBRARIES_FROM_PROGRAMS "/"};
    char *program = realpath("/proc/self/exe", NULL), *slash = program != NULL ? strrchr(program, '/') : NULL;
    void *library = NULL;
    for (size_t p = 0; slash != NULL && library == NULL && p < sizeof places / sizeof *places; p++) {
        char path[4400];
        snprintf(path, sizeof path, "%.*s/%slibtilewright_%.40s.so.0", (int)(slash - program), program, places[p], mpi);
        library = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* MPI's own plug-ins look for its names */
    }
    free(program);
    return library;
}

exit_code launched_open(const launched *l, const rank_plugin **out)
{
    void *library = strchr(l->mpi, '/') != NULL ? dlopen(l->mpi, RTLD_NOW | RTLD_GLOBAL) : open_beside(l->mpi);
    *out = NULL;
    if (library == NULL)
        return diag(
            EXIT_DEVICE,
            "started as one of several ranks, and the library for %s cannot be opened: %s. Where the build finds "
            "its mpicc it makes libtilewright_openmpi.so or libtilewright_mpich.so; TILEWRIGHT_MPI names another "
            "library, and off lets each process compute by itself",
            l->mpi, dlerror());
    const void *symbol = dlsym(library, RANK_PLUGIN);
    const rank_plugin *plugin = symbol;
    if (plugin == NULL || strcmp(plugin->version, tw_version()) != 0)
        return diag(EXIT_DEVICE, "the library for %s is of version %s, and the program of %s", l->mpi,
                    plugin != NULL ? plugin->version : "unknown", tw_version());
    *out = plugin;
    return EXIT_OK;
}
