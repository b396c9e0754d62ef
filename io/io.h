/* io.h - matrices in files: .npy, Matrix Market and raw, as they are, compressed (.gz), or a member of an archive
 * (.npz); readers that believe nothing, a writer that never leaves half a file.
 *
 * Nothing here knows of engines, kernels or the library: an io_matrix is a typed, strided view of elements.
 * Every function that can fail returns an io_status and puts one sentence into io_error.text that names the
 * file, what was found and what was expected. Nothing prints, exits or aborts.
 */
#ifndef TILEWRIGHT_IO_H
#define TILEWRIGHT_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The element types a file may hold: io/types.def. Integers are two's complement, fp8 as in the OCP specification
 * (ml_dtypes' float8_e4m3fn and float8_e5m2), bf16 is the upper half of an f32, and complex numbers are two of half the
 * bytes, the real part first. */
typedef enum io_type {
#define IO_TYPE(id, ...) id,
#include "types.def"
    IO_TYPE_COUNT
} io_type;

typedef enum io_status {
    IO_OK = 0,
    IO_BAD_FILE,    /* cannot be opened, or its content is not what its format promises */
    IO_NO_MEMORY,   /* the host has too little memory for it */
    IO_CANNOT_WRITE /* the output could not be made, written or renamed */
} io_status;

typedef struct io_error {
    char text[768]; /* one sentence, no newline; empty after success */
} io_error;

typedef enum io_format { IO_FORMAT_NONE = 0, IO_FORMAT_NPY, IO_FORMAT_MTX, IO_FORMAT_RAW } io_format;

/* A file that is open while its elements are in use. */
typedef struct io_file {
    bool open;
    int fd;
    int64_t seen[6]; /* when it was opened: bytes (-1: not regular), links, times of the last write and change */
} io_file;

/* A matrix as a view: element (i, j) lies at data + (i * row_stride + j * col_stride) * io_type_bytes(type). */
typedef struct io_matrix {
    io_type type;
    bool swapped;                   /* numbers are stored in the other byte order than this machine's */
    int64_t rows, cols;             /* >= 0; rows * cols * bytes fits in PTRDIFF_MAX */
    int64_t row_stride, col_stride; /* in elements, >= 0 */
    const void *data;               /* aligned to one number; may be NULL when rows * cols == 0 */
    /* what io_free gives back: a mapping or a malloc block, NULL for a borrowed view */
    void *memory;
    size_t mapped_bytes; /* > 0: memory is a mapping of that many bytes */
    io_file file;        /* open where the elements are those of a mapping */
} io_matrix;

/* What a file does not say about itself. rows < 0: not given, and a raw file is refused. Of a .npy file only the type
 * is read, where its header calls the elements raw bytes, as NumPy does with ml_dtypes' bf16 (V2) and e4m3 (V1). */
typedef struct io_raw_shape {
    io_type type;
    int64_t rows, cols;
    bool result; /* it is C or C0, whose type --dtype-c names, not --dtype: error sentences advise so */
    bool plain;  /* the file is neither compressed nor an archive, whatever its first bytes are */
    bool vector; /* a .npy array of one dimension is taken too, as a column, and a number without any */
} io_raw_shape;

size_t io_type_bytes(io_type type);
const char *io_type_name(io_type type);
/* io_type_parse - "f32" -> IO_F32; false: no such name. */
bool io_type_parse(const char *name, io_type *out);
io_type io_type_part(io_type type); /* of a complex type that of its parts; else type */
bool io_type_is_complex(io_type type);
bool io_type_is_integer(io_type type);
bool io_type_is_unsigned(io_type type); /* an integer without a sign */
bool io_type_is_half(io_type type);     /* a floating-point number of 2 bytes */
bool io_type_is_fp8(io_type type);
bool io_type_is_byte(io_type type); /* an integer of one byte */

/* io_format_of - the format that a path's ending names: .npy, .mtx, .raw or .bin (any case); NONE otherwise. */
io_format io_format_of(const char *path);

/* An input is named by a path, or FILE.npz:MEMBER: behind the first ".npz:" (any case), unless there is a file of the
 * whole name, stands the name of a member, with or without its ending .npy. */

/* io_member_of - the member's name, within path; NULL: it names none. */
const char *io_member_of(const char *path);

/* io_file_of - the file's path, for free(), and the member. NULL: no memory. */
char *io_file_of(const char *path, const char **member);

/* io_named - io_format_of() an input: of A.npy.gz that of A.npy, and of a member its own. */
io_format io_named(const char *path);

bool io_unpacks(void); /* was there zlib at build? Else what is compressed or an archive is refused */

/* io_recognise - the format that a file's first bytes name: .npy by its magic, .mtx by its banner; NONE otherwise. */
io_format io_recognise(const void *bytes, size_t count);

/* io_read - open a matrix file, trust none of it.
 *
 * The format follows the content for .npy (magic) and Matrix Market (banner), else the ending. Regular files are
 * mapped where the elements can be used in place (.npy, raw); anything else (pipes, Matrix Market) is read into
 * memory, a stream no further than its header or raw promises. raw may be NULL. Sizes are checked against the file's
 * length before anything is allocated.
 *
 * gzip data is inflated, and so is a deflated member of an archive: a stream, whose CRC and sizes are checked, and
 * behind whose matrix nothing may follow. A stored member is used in its archive's mapping, behind a check of its CRC.
 * A member must be named where there are several. What is raw is never unpacked, whatever its first bytes are: a name
 * that ends in .raw or .bin, and, where raw gives a shape, one without an ending that is known, as a stream's.
 *
 * Returns IO_OK and *out (give it to io_free), or another status, *out zeroed and nothing kept. IO_BAD_FILE too where
 * the file was changed while it was read. */
io_status io_read(const char *path, const io_raw_shape *raw, io_matrix *out, io_error *error);
void io_free(io_matrix *matrix); /* a zeroed matrix is fine */

/* io_unchanged - IO_BAD_FILE if the file was written, or its times set, since it was opened; else IO_OK, also if it is
 * not open. Replacing the file, or adding or removing links to it, is no change. A write of another process through
 * a mapping is seen only if its pages were clean before (mmap(2) does not say when the times change). */
io_status io_unchanged(const io_file *file, const char *path, io_error *error);

/* io_allow_memory - no matrix that is not mapped may take more than so many bytes; before any is read. */
void io_allow_memory(uint64_t bytes);

/* The three readers on bytes in memory; name is used in error sentences only. npy and raw give a view into bytes
 * where its alignment allows it (memory == NULL), a copy otherwise; mtx always allocates. bytes must outlive a view. */
io_status npy_parse(const void *bytes, size_t count, const char *name, const io_raw_shape *raw, io_matrix *out,
                    io_error *error);
io_status mtx_parse(const void *bytes, size_t count, const char *name, io_matrix *out, io_error *error);
io_status raw_parse(const void *bytes, size_t count, const char *name, const io_raw_shape *shape, io_matrix *out,
                    io_error *error);

/* A matrix in a file that is read block by block, into the caller's memory: for what is larger than that. */
typedef struct io_source {
    io_matrix matrix; /* data NULL */
    io_file file;
    int64_t begin;   /* byte of the first element */
    bool compressed; /* the reason why it is not open */
    char path[4352]; /* of the file */
} io_source;

/* io_source_open - a regular .npy or raw file, or such a member that is stored in an archive; of that no CRC is
 * checked. Returns IO_OK, or another status: it is no such file (io_read says what is wrong with it, or reads it), and
 * *out is not open. */
io_status io_source_open(const char *path, const io_raw_shape *raw, io_source *out, io_error *error);
void io_source_close(io_source *source); /* one that is not open is fine */

/* io_source_read - the rows x cols elements from (i, j) on as type `to` (io_convert), without padding: in the file's
 * order, row by row or, where row_stride is 1 and not col_stride, column by column; by_rows: row by row in any case.
 * Needs no memory. Returns IO_OK, or IO_BAD_FILE where the file became shorter or cannot be read. */
io_status io_source_read(const io_source *source, int64_t i, int64_t j, int64_t rows, int64_t cols, io_type to,
                         bool by_rows, void *out, io_error *error);

/* io_by_columns - do the elements of a column lie side by side, and not those of a row? */
bool io_by_columns(const io_matrix *matrix);

/* io_result_type - NumPy's result_type of two element types (numpy.result_type, NEP 50 has no say between arrays): f16
 * with i16 is f32, f32 with i32 is f64, i64 with u64 is f64, i8 with u8 is i16, ... bf16, e4m3 and e5m2, unknown to
 * NumPy, are f32 with any type but themselves that f32 could be the result of. A complex type with any other is
 * complex, of the parts that hold both: cf32 with f64 or i32 is cf64. */
io_type io_result_type(io_type a, io_type b);

/* io_convert - write every element as type `to` into out, rows * cols elements, C order. To floating point it rounds to
 * nearest even: values beyond the range become infinities, of IO_E4M3, which has none, NaN; NaN stays NaN. Integers
 * take what io_fits_exactly() lets pass. IO_CF32 and IO_CF64 take real elements as complex ones without an
 * imaginary part; of complex elements the other types take the real parts. */
void io_convert(const io_matrix *matrix, io_type to, void *out);

/* io_fits_exactly - true if every element is a value of type `to` (NaN and infinities are, but for infinities of
 * IO_E4M3; of a real type no element of a complex matrix is). When false, *i and *j hold the first offender in C order
 * and value (at least 64 bytes) its text. */
bool io_fits_exactly(const io_matrix *matrix, io_type to, int64_t *i, int64_t *j, char *value, size_t value_size);

/* io_fits_range - true if no element of a real matrix rounds to more than the largest number of the floating-point type
 * `to`. NaN and infinities may stand, but for infinities in IO_E4M3. When false, as above. */
bool io_fits_range(const io_matrix *matrix, io_type to, int64_t *i, int64_t *j, char *value, size_t value_size);

enum { IO_UNNAMED = 32 };

/* An output file that appears whole or not at all: it has no name until it is whole, or another one beside its target.
 * Over a file that exists it is linked to that other name first, then renamed. */
typedef struct io_output {
    char *path, *temp_path;
    char unnamed[IO_UNNAMED]; /* "/proc/self/fd/N" while it has no name; else "" */
    int fd;                   /* holds a lock on the file, which tells other processes that this one lives */
    io_matrix blocks;         /* of io_output_begin: swapped where the file's byte order is not this machine's */
    int64_t begin;            /* byte of the first element */
} io_output;

/* io_output_open - a symbolic link stays; its target is replaced, or made if it does not exist. Removes files that this
 * user's dead processes left beside it. io_output_open_named - the same for a file that other processes open: it has
 * the name temp_path, and stays if this process is killed. io_output_readable - the path by which this process opens
 * it. */
io_status io_output_open(io_output *output, const char *path, io_error *error);
io_status io_output_open_named(io_output *output, const char *path, io_error *error);
const char *io_output_readable(const io_output *output);

/* io_follow - the path behind symbolic links, whether a file has that name or not; for free(). NULL: errno says why. */
char *io_follow(const char *path);

/* io_cannot_open - the sentence for a path that could not be opened for writing: a missing folder, else errno. */
io_status io_cannot_open(const char *path, io_error *error);

/* io_output_write - the whole matrix in that format (NPY: version 1, C order, little endian; MTX: array real general,
 * shortest digits that read back exactly, `nan` `inf` `-inf`, or array complex, integer or, of u64, unsigned-integer
 * general; RAW: C order, this machine's byte order). Integers, and types of 2 bytes and more, bf16 in NPY as raw bytes,
 * V2. */
io_status io_output_write(io_output *output, io_format format, const io_matrix *matrix, io_error *error);

/* io_output_begin, io_output_put - the same block by block, in any order, .npy and raw only: `matrix` says type and
 * sizes, and its room on the disk is taken at once. A block is rows x cols elements without padding. */
io_status io_output_begin(io_output *output, io_format format, const io_matrix *matrix, io_error *error);
io_status io_output_put(io_output *output, int64_t i, int64_t j, int64_t rows, int64_t cols, const void *block,
                        io_error *error);
io_status io_output_commit(io_output *output, io_error *error); /* flush, fsync, name; discards on failure */
void io_output_discard(io_output *output);                      /* removes the temporary file; safe after commit */

/* io_output_name - what commit does last, for signal handlers. 0, or -1 and errno: temp_path may be left. */
int io_output_name(const char *unnamed, const char *temp_path, const char *path);

#endif
