/* tuned_file.h - the user's file of tuned rows: where it is, what its lines say, and which of them hold here. */
#ifndef TILEWRIGHT_TUNED_FILE_H
#define TILEWRIGHT_TUNED_FILE_H

#include "tuned.h"

/* What a row was measured on: rows of another device are passed over, those of this one with anything else changed are
 * stale. kernels: a digest of the engine's kernel texts. */
typedef struct tuned_signature {
    const char *engine;
    char device[96], driver[320], kernels[24], version[16];
} tuned_signature;

/* tuned_sign_here - the signature of this device and driver. */
void tuned_sign_here(const char *engine, const char *device, const char *driver, tuned_signature *out);

/* tuned_judge - read a line, and say what it is here (NULL: nowhere in particular). row: what the planner reads of it,
 * where it is not damaged. */
void tuned_judge(const char *line, size_t length, const tuned_signature *here, tw_lab_tuned *out, tuned_row *row);

/* tuned_line - the text of a line, signed here and with its checksum; TW_BAD_ARGUMENT where out->row is none. */
tw_status tuned_line(const tw_lab_tuned *what, const tuned_signature *here, char *line, size_t bytes);

/* tuned_path - the user's file: TILEWRIGHT_TUNED, else tilewright/tuned in XDG_CONFIG_HOME, else in .config of HOME;
 * all existing folders of those two must be this user's. false: there is none, and path says why. */
bool tuned_path(char *path, size_t bytes);

/* The rows of the user's file that hold here. */
typedef struct tuned_own {
    tuned_row *rows; /* for free() */
    int count;
    char state[700]; /* in a sentence: how many rows are used, and why the first that is not used is not */
} tuned_own;

/* tuned_own_read - trouble with the file costs its rows and is told in out->state, never a failure. */
void tuned_own_read(const tuned_signature *here, tuned_own *out);

/* Digests of the engines' kernels, which tools/embed.c made at build. Ends with a row of NULL. */
typedef struct kernel_digest {
    const char *engine, *digest;
} kernel_digest;
extern const kernel_digest kernel_digests[];

#endif
