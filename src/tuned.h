/* tuned.h - numbers of the planners that measurements gave, as rows of text: the committed ones (data/tuned/), which
 * the build embeds, and a context's own. */
#ifndef TILEWRIGHT_TUNED_H
#define TILEWRIGHT_TUNED_H

#include "error.h"
#include "table.h"

/* The parameters of src/tuned.def, as an enumeration and as the planner reads them. */
typedef enum tuned_parameter {
#define TUNED(name, ...) TUNED_##name,
#include "tuned.def"
#undef TUNED
    TUNED_PARAMETERS
} tuned_parameter;

typedef union tuned_values {
    struct {
#define TUNED(name, ...) double name;
#include "tuned.def"
#undef TUNED
    };
    double each[TUNED_PARAMETERS];
} tuned_values;

typedef struct tuned_about {
    const char *name, *engine;
    bool each_kernel; /* tune gives each kernel one of its own */
    double least, most, step;
    const char *what;
} tuned_about;

const tuned_about *tuned_about_at(int parameter); /* NULL beyond the last */

/* tuned_shape_class - the shape of a product in a word: "large", "few_rows". tuned_ops - how its operands lie: "nt". */
const char *tuned_shape_class(const tw_problem *p);
const char *tuned_ops(const tw_problem *p);

enum { TUNED_WORD = 48, TUNED_MOST_VALUES = TUNED_PARAMETERS, TUNED_LINE = 1024 };

/* One row: for which devices and products it is, and what it gives.
 *
 *     engine device dtype shape ops kernel name=value... | where it comes from
 *
 * device   "gpu", "nvidia", "sm_90"; "processor", "vector64" by the bytes of a vector
 * kernel   a rung of kernels.def. In place of each of the last five words "*" stands for all; at the end of the kernel
 *          for any end: "sgemm_tma_sm90_*" */
typedef struct tuned_row {
    char engine[8], device[16], dtype[8], shape[16], ops[4], kernel[TUNED_WORD];
    int count;
    struct {
        tuned_parameter parameter;
        double value;
    } values[TUNED_MOST_VALUES];
} tuned_row;

/* tuned_parse - a row from its text, of which `length` bytes count. TW_OK; TW_BAD_ARGUMENT with a sentence that begins
 * with `where`. */
tw_status tuned_parse(const char *text, size_t length, const char *where, tuned_row *out);

/* Rows that hold for one device. Of the rows that hold for a product the last that names a parameter gives it. */
typedef struct tuned_table {
    int count, committed;   /* the committed ones come first */
    int general;            /* so many of the first hold for every product */
    tuned_values *resolved; /* what these say of each kernel, by kernel_index() */
    tuned_row rows[];
} tuned_table;

/* tuned_table_make - the committed rows for this device, then `own` ones; free() frees it. NULL: no memory, and
 * tw_error_text() says so. */
tuned_table *tuned_table_make(const device_facts *device, const tuned_row *own, int own_count);

/* tuned_find - the parameters for this product on this device by this kernel; NULL: by any. From device->tuned, or from
 * the committed rows where that is NULL. What is returned is the table's, or *room. */
const tuned_values *tuned_find(const device_facts *device, const tw_problem *p, const kernel_row *row,
                               tuned_values *room);

/* tuned_number_read - a number, digits with a point among them or not, of which *end is behind the last character;
 * `text` itself where there is none. tuned_number_text - one of so many digits. Both whatever the program's locale says
 * of decimal commas. */
double tuned_number_read(const char *text, const char **end);
const char *tuned_number_text(double value, int digits, char text[32]);

/* tuned_text - the row as tuned_parse() reads it, up to the bar. */
void tuned_text(const tuned_row *row, char *text, size_t bytes);

/* tuned_took_part - the rows behind the committed ones that hold for this product and kernel, "; " between them. */
void tuned_took_part(const device_facts *device, const tw_problem *p, const kernel_row *row, char *text, size_t bytes);

/* tuned_check - are the committed rows whole, known, and do they give every parameter? The build runs it
 * (tools/check_tuned.c). */
tw_status tuned_check(void);

/* The files of data/tuned/ as tools/embed.c made them at build. Ends with a row of NULL. */
typedef struct tuned_file {
    const char *file, *text;
} tuned_file;
extern const tuned_file tuned_files[];

#endif
