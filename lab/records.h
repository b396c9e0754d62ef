/* records.h - many measurements in memory: those of a run that is going on, or read from files that another run wrote.
 * What reports and curves are made of. */
#ifndef TILEWRIGHT_RECORDS_H
#define TILEWRIGHT_RECORDS_H

#include "record.h"

/* What tools/counters.sh writes beside a record's own fields: averages over a rung's instructions of a kind, as the
 * access model predicts them, and what else the hardware counted. NAN: unknown. */
/* clang-format off */
#define COUNTER_FIELDS(NUMBER)                                                                                         \
    NUMBER(sectors_per_load_predicted) NUMBER(bank_degree_load_predicted) NUMBER(bank_degree_store_predicted)          \
    NUMBER(load_sectors) NUMBER(load_requests) NUMBER(dram_read_bytes) NUMBER(l2_bytes) NUMBER(issue_percent)          \
    NUMBER(fma_percent) NUMBER(duration_ns)
/* clang-format on */

typedef struct counters {
#define NUMBER(name) double name;
    COUNTER_FIELDS(NUMBER)
#undef NUMBER
} counters;

/* One measurement. Its strings and its line stay as long as the records do. */
typedef struct records_row {
    record r;
    bool counted; /* hardware counters: c is filled in, r has degrees but no times */
    counters c;
    const char *line; /* the record as JSON, unknown fields left out, one line without its end */
    char *memory;
} records_row;

typedef struct records {
    int count, room;
    records_row *rows;
} records;

enum {
    RECORDS_MOST = 10000,         /* in all */
    RECORDS_LINE_BYTES = 1 << 16, /* of one record */
    RECORDS_ESCAPED = 6,          /* times as long as that where a page escapes it */
    RECORDS_TEXT_BYTES = 1000,    /* of one string of a record */
    RECORDS_PAGE_BYTES = 1 << 26  /* of a page before its records */
};

/* records_add - copy a record. c NULL: no counters. line: as JSON; NULL: as record_write prints it, now. TW_OK,
 * TW_NO_MEMORY. */
tw_status records_add(records *all, const record *r, const counters *c, const char *line);
void records_free(records *all); /* zeroed records are fine */

/* The line of a page of HTML behind which its records stand, one a line, up to a line </script>. */
#define RECORDS_ELEMENT "<script id=\"tilewright-records\" type=\"application/x-ndjson\">"

typedef enum records_status { RECORDS_OK, RECORDS_BAD, RECORDS_NO_MEMORY, RECORDS_NO_READER } records_status;

/* records_read - add the records of a file of JSON lines, or of a page that holds them; nothing in it is believed. On
 * failure error says which file, line and field, and `all` keeps what came before. Without jansson at build:
 * RECORDS_NO_READER. */
records_status records_read(const char *path, records *all, char *error, size_t error_bytes);
/* name: for the sentence */
records_status records_read_stream(FILE *stream, const char *name, records *all, char *error, size_t error_bytes);
bool records_can_read(void); /* was there jansson at build? */

#endif
