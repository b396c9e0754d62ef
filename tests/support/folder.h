/* folder.h - a folder for one case, empty at its start and gone at its end, and the files in it. */
#ifndef TILEWRIGHT_FOLDER_H
#define TILEWRIGHT_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#define FOLDER_CASE(function)                                                                                          \
    {                                                                                                                  \
#function, function, folder_make, folder_remove                                                                \
    }

static char folder[64];
static char path_text[512];

static inline void folder_make(void)
{
    strcpy(folder, "/tmp/tilewright-case.XXXXXX");
    if (mkdtemp(folder) == NULL) perror(folder), exit(1);
}

static inline const char *in_folder(const char *name)
{
    snprintf(path_text, sizeof path_text, "%s/%s", folder, name);
    return path_text;
}

/* How many names the folder holds; each removed where `remove_them`. */
static inline int folder_entries(bool remove_them)
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        count++;
        if (remove_them) remove(in_folder(e->d_name));
    }
    if (dir != NULL) closedir(dir);
    return count;
}

static inline void folder_remove(void)
{
    chmod(folder, 0700);
    folder_entries(true);
    rmdir(folder);
}

static inline void write_file(const char *path, const void *bytes, size_t count)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, count, f), count);
    assert_int_equal(fclose(f), 0);
}

static inline size_t read_back(const char *path, void *bytes, size_t most)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t count = fread(bytes, 1, most, f);
    fclose(f);
    return count;
}

#endif
