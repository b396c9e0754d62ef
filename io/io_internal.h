/* io_internal.h - what the files of io/ share with each other and show to nobody else. */
#ifndef TILEWRIGHT_IO_INTERNAL_H
#define TILEWRIGHT_IO_INTERNAL_H

/* POSIX 2008 and realpath. Every file of io/ includes this header before any other. */
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif

#include "io.h"

#include <locale.h>

#if defined(__GNUC__)
#define IO_PRINTF __attribute__((format(printf, 4, 5)))
#else
#define IO_PRINTF
#endif

/* io_type_is_newer - is it a floating-point type that NumPy has not? (convert.c) */
bool io_type_is_newer(io_type type);

/* ---- sentences (sentences.c) and memory (shared.c) ---------------------------------------------------- */

/* io_fail - write "NAME: sentence" into error, control characters replaced. Returns status. */
io_status io_fail(io_error *error, io_status status, const char *name, const char *format, ...) IO_PRINTF;

/* io_cannot_write - what failed, and what errno says of it. Returns IO_CANNOT_WRITE. */
io_status io_cannot_write(const char *path, const char *what, io_error *error);

/* io_quote - bytes of a file as text that may stand in a sentence: printable ASCII, any other byte as \xNN,
 * "..." where it was cut to fit size bytes (at least 8). */
void io_quote(char *text, size_t size, const void *bytes, size_t count);

/* The most bytes that one matrix or one stream may take; 0 stands for the machine's memory. Set by tests and
 * fuzzers, before any other thread reads. */
extern uint64_t io_memory_cap;
uint64_t io_memory_limit(void);

/* io_fits - IO_OK, or IO_NO_MEMORY where a stream of that many bytes is more than the limit. */
io_status io_fits(const char *name, size_t bytes, io_error *error);

/* io_size - the bytes of rows x cols elements. Returns IO_OK, or IO_BAD_FILE where a size is negative or the
 * bytes do not fit in PTRDIFF_MAX. */
io_status io_size(const char *name, io_type type, int64_t rows, int64_t cols, size_t *bytes, io_error *error);

/* io_allocate - memory of zeros for out's type, rows and cols, into out->memory and out->data.
 * No elements: data stays NULL. Returns IO_OK, or IO_NO_MEMORY beyond io_memory_limit(). */
io_status io_allocate(const char *name, io_matrix *out, io_error *error);

/* io_place - let out (type, sizes, strides set) hold the elements at bytes: a view where they are aligned,
 * else a copy. bytes holds all of them. Returns IO_OK, or IO_NO_MEMORY. */
io_status io_place(const char *name, const void *bytes, io_matrix *out, io_error *error);

/* ---- open files (file.c) ------------------------------------------------------------------------------- */

/* io_file_open - a file that is open as fd, which is its own from now on; io_unchanged() has nothing to say of
 * one that is not regular. */
io_file io_file_open(int fd);
void io_file_close(io_file *file); /* one that is not open is fine */

/* ---- names (names.c) ----------------------------------------------------------------------------------- */

bool io_is_gz(const char *path);          /* does it end in .gz, in any case? */
bool io_is_packed_name(const char *path); /* or in .npz? */

/* ---- content (read.c, unpack.c) ------------------------------------------------------------------------ */

/* io_format_in - the content decides, then the end of the name; what has neither is raw where a shape was given. */
io_format io_format_in(const void *bytes, size_t count, const char *name, bool was_gz, const io_raw_shape *raw);

/* io_cannot_read - "cannot be read", and what errno says of it. Returns IO_BAD_FILE. */
io_status io_cannot_read(const char *path, io_error *error);

/* ---- what is compressed (unpack.c, archive.c) ---------------------------------------------------------- */

typedef enum io_packing { IO_PLAIN, IO_GZIP, IO_ARCHIVE } io_packing;

/* io_packing_of - what a file is by its first four bytes. A raw one, whose numbers may begin with any, is plain: its
 * name ends so, or a shape was given and the name ends as nothing else's. */
io_packing io_packing_of(const void *bytes, size_t count, const char *path, const io_raw_shape *raw);

/* A member of an archive: where its bytes lie there, how many they are, and inflated. */
typedef struct io_member {
    size_t begin, packed, bytes;
    uint32_t crc;
    bool deflated;    /* else stored: packed == bytes */
    const char *name; /* not ended by a zero */
    size_t name_bytes;
} io_member;

/* archive_find - the member of that name, or of it and ".npy"; wanted NULL: the only one. The archive's directory is
 * checked as a whole, of other members only that they lie elsewhere; nothing is allocated. IO_BAD_FILE: a sentence that
 * begins with name, the file's. */
io_status archive_find(const void *bytes, size_t count, const char *name, const char *wanted, io_member *out,
                       io_error *error);

/* io_member_name - "FILE.npz:MEMBER", for free(); NULL: no memory. */
char *io_member_name(const char *path, const io_member *member);

/* unpack_ready - IO_OK, or a sentence: this build has no zlib. unpack_check - is the CRC of a stored member's bytes
 * that of its archive? */
io_status unpack_ready(const char *name, io_error *error);
io_status unpack_check(const void *bytes, const io_member *member, const char *name, io_error *error);

/* io_parse - io_read() where the file's bytes are in memory, for tests and fuzzers: its matrix may be a view of
 * them. */
io_status io_parse(const void *bytes, size_t count, const char *name, const char *member, const io_raw_shape *raw,
                   io_matrix *out, io_error *error);

/* Bytes in order: those in memory from `at` on, then what fd brings; inflated behind unpack_begin(). */
typedef struct io_stream {
    const char *name; /* for sentences */
    int fd;           /* -1: nothing follows */
    const unsigned char *at, *end;
    unsigned char first[4];
    struct inflater *inflater;
} io_stream;

/* stream_begin - of a file: its first four bytes, or as many as it has, are at `at`. */
io_status stream_begin(io_stream *stream, io_error *error);

/* stream_take - at most room bytes, as they come; *got 0: the end. Where they are inflated it was right: CRC and size
 * are those that the file has, and nothing follows. */
io_status stream_take(io_stream *stream, void *to, size_t room, size_t *got, io_error *error);

/* unpack_begin - what the stream brings from now on is inflated: gzip data, or a deflated member. unpack_end gives the
 * memory back; it is fine without. */
io_status unpack_begin(io_stream *stream, const io_member *member, io_error *error);
void unpack_end(io_stream *stream);

/* ---- elements (convert.c) ------------------------------------------------------------------------------ */

bool io_host_is_big_endian(void);
double io_real_at(const io_matrix *matrix, int64_t i, int64_t j); /* of the class 'f' only */
/* of any class; as io_real_text, of a complex element both parts with a space between them */
void io_number_text(const io_matrix *matrix, int64_t i, int64_t j, char *text, size_t size);

/* io_real_text - the shortest text that reads back as value, itself a value of type (f64, or one that f32 holds).
 * Special cases: `nan`, `inf`, `-inf`. Needs the C locale (io_locale_enter). */
void io_real_text(double value, io_type type, char *text, size_t size);

/* The calling thread reads and prints numbers with a '.', whatever the program's locale is. */
typedef struct io_locale {
    locale_t c, before;
} io_locale;
bool io_locale_enter(io_locale *locale); /* false: no memory, nothing to leave */
void io_locale_leave(io_locale *locale);

/* ---- formats ------------------------------------------------------------------------------------------- */

bool npy_recognised(const void *bytes, size_t count); /* begins with the magic of .npy */
bool mtx_recognised(const void *bytes, size_t count); /* begins with the banner of Matrix Market */

/* npy_describe, raw_describe - type, sizes and strides of a file of `whole` bytes, of which the first count are here:
 * no elements yet, which begin at *begin, of raw files at 0. */
io_status npy_describe(const void *bytes, size_t count, size_t whole, const char *name, const io_raw_shape *raw,
                       io_matrix *out, size_t *begin, io_error *error);
io_status raw_describe(size_t whole, const char *name, const io_raw_shape *shape, io_matrix *out, io_error *error);

enum { NPY_HEADER_MOST = 65535 + 12 }; /* bytes before the elements */

/* npy_need, mtx_need, raw_need - how many bytes of a stream to read before asking again, from its first count bytes.
 * *need <= count: these are enough, to read the matrix or to say what is wrong. Returns IO_OK, or the error of a header
 * that is wrong, of a size beyond the memory, or of a stream that goes on behind its end. */
io_status npy_need(const void *bytes, size_t count, const char *name, const io_raw_shape *raw, size_t *need,
                   io_error *error);
io_status mtx_need(const void *bytes, size_t count, const char *name, size_t *need, io_error *error);
io_status raw_need(size_t count, const char *name, const io_raw_shape *shape, size_t *need, io_error *error);

/* io_other_kind - "; it is ..." where the first bytes are those of what is compressed, of an archive, or of numbers as
 * text; else "". */
const char *io_other_kind(const void *bytes, size_t count);

/* The writers behind io_output_write; matrix is of a type that it takes. */
io_status npy_write_header(io_output *output, const io_matrix *matrix, io_error *error);
io_status npy_write(io_output *output, const io_matrix *matrix, io_error *error);
io_status mtx_write(io_output *output, const io_matrix *matrix, io_error *error);
io_status raw_write(io_output *output, const io_matrix *matrix, io_error *error);

/* io_put - write count bytes to the temporary file, all or an error. */
io_status io_put(io_output *output, const void *bytes, size_t count, io_error *error);

/* io_put_elements - write every element in C order, big or little endian. */
io_status io_put_elements(io_output *output, const io_matrix *matrix, bool big_endian, io_error *error);

#endif
