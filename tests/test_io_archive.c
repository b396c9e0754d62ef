/* test_io_archive.c - members of archives (.npz): what io_read() and io_source_open() take of them, and each way in
 * which an archive is spoilt. A build without zlib refuses them as it does gzip data (test_io_gz.c). */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/archive.h"
#include "support/folder.h"

/* ---- what is read -------------------------------------------------------------------------------------- */

static void members_of_archives(void)
{
    for (int wide = 0; wide < 2; wide++) {
        zip z = three_members(wide);
        take(z.bytes, z.count, "FILE.npz", "a", NULL);
        take(z.bytes, z.count, "FILE.npz", "a.npy", NULL);
        take(z.bytes, z.count, "FILE", "f/b..c:0", NULL);
        reject(z.bytes, z.count, "FILE.npz", "b", "the archive has no member 'b'; it has 2: a, f/b..c:0");
        reject(z.bytes, z.count, "FILE.npz", "", "the archive has no member ''");
        reject(z.bytes, z.count, "FILE.npz", "f/", "the archive has no member 'f/'");
        reject(z.bytes, z.count, "FILE.npz", NULL, "is an archive of 2 members; FILE.npz:NAME names one: a, f/b..c:0");
    }
    zip z = {.count = 0};
    zip_add(&z, "dir/", ZIP_STORED, "", 0, 0);
    zip_add(&z, "x.raw", ZIP_DEFLATED, six, 24, 0);
    zip_finish(&z);
    take(z.bytes, z.count, "FILE.npz", NULL, &raw_2x3);
    reject(z.bytes, z.count, "FILE.npz", NULL, "rows, columns and element type must be given");
    zip none = {.count = 0};
    zip_finish(&none);
    reject(none.bytes, none.count, "FILE.npz", NULL, "is an archive of 0 members");
    reject(none.bytes, none.count, "FILE.npz", "a", "the archive has no member 'a'; it has 0");
    reject(six_npy(), SIX_BYTES, "FILE.npz", "a", "is no archive, so it has no member 'a'");
    /* the whole name comes first */
    zip twins = {.count = 0};
    zip_add(&twins, "a.npy", ZIP_STORED, "no matri", 8, 0);
    zip_add(&twins, "a", ZIP_STORED, six_npy(), SIX_BYTES, 0);
    zip_finish(&twins);
    take(twins.bytes, twins.count, "FILE.npz", "a", NULL);
    reject(twins.bytes, twins.count, "FILE.npz", "a.npy", ":a.npy: no .npy file: it begins with 'no matri'");
}

static void many_members_are_cut(void)
{
    zip z = {.count = 0};
    for (int i = 0; i < ZIP_MOST_MEMBERS; i++) {
        char name[32];
        snprintf(name, sizeof name, "a_name_of_twenty_eight_char-%x", i & 15);
        zip_add(&z, name, ZIP_STORED, "", 0, 0);
    }
    zip_finish(&z);
    reject(z.bytes, z.count, "FILE.npz", NULL,
           "is an archive of 16 members; FILE.npz:NAME names one: a_name_of_twenty");
    reject(z.bytes, z.count, "FILE.npz", "b", "the archive has no member 'b'; it has 16: a_name");
    reject(z.bytes, z.count, "FILE.npz", "b", "eight_char-8 and 7 more");
    z.bytes[z.count - 2] = 30, z.count += 30; /* a comment */
    reject(z.bytes, z.count, "FILE.npz", "b", "it has 16: a_name");
}

/* Stored elements that are aligned are used where they lie, others are copied. */
static void stored_members_are_mapped(void)
{
    static const char *const names[] = {"ab", "abc", "abcd", "abcde"};
    io_matrix m;
    io_error error;
    int mapped = 0;
    for (size_t n = 0; n < COUNT(names); n++) {
        zip z = {.count = 0};
        zip_add(&z, names[n], ZIP_STORED, six_npy(), SIX_BYTES, 0);
        zip_finish(&z);
        write_file(in_folder("z.npz"), z.bytes, z.count);
        if (io_read(in_folder("z.npz"), NULL, &m, &error) != IO_OK) fail_msg("%s", error.text);
        assert_int_equal(m.mapped_bytes, z.at[0].data % 4 == 0 ? z.count : 0);
        assert_true(m.file.open == (m.mapped_bytes > 0));
        mapped += m.mapped_bytes > 0;
        check_six(&m);
        io_free(&m);
    }
    assert_int_equal(mapped, 1);
}

/* FILE.npz:MEMBER, and files whose names have colons. */
static void names_with_colons(void)
{
    static const struct {
        const char *name, *member;
    } cases[] = {{"a.npy", NULL},
                 {"a.npz", NULL},
                 {"a.npz:", ""},
                 {"a.npz:b", "b"},
                 {"a.NpZ:b:c", "b:c"},
                 {"a:b.npz:c", "c"},
                 {"a.npz:b.npz:c", "b.npz:c"},
                 {"a.npy:b", NULL},
                 {"a.npz/b:c", NULL},
                 {"a.npz.gz:b", NULL},
                 {"whole.npz:b", NULL}};
    zip z = three_members(false);
    io_matrix m;
    io_error error;
    write_file(in_folder("whole.npz:b"), six_npy(), SIX_BYTES);
    write_file(in_folder("x:y.npz"), z.bytes, z.count);
    for (size_t c = 0; c < COUNT(cases); c++) {
        const char *path = in_folder(cases[c].name), *member;
        char *file = io_file_of(path, &member);
        assert_true((member == NULL) == (cases[c].member == NULL));
        if (member != NULL) assert_string_equal(member, cases[c].member);
        assert_int_equal(strlen(file), strlen(path) - (member != NULL ? strlen(member) + 1 : 0));
        free(file);
    }
    assert_int_equal(io_read(in_folder("whole.npz:b"), NULL, &m, &error), IO_OK);
    check_six(&m);
    io_free(&m);
    if (io_read(in_folder("x:y.npz:f/b..c:0"), NULL, &m, &error) != IO_OK) fail_msg("%s", error.text);
    check_six(&m);
    io_free(&m);
    assert_int_equal(io_read(in_folder("x.npz:a"), NULL, &m, &error), IO_BAD_FILE);
    check_sentence(&error, in_folder("x.npz: "), "cannot be read: No such file");
    assert_int_equal(io_named("a.raw.gz"), IO_FORMAT_RAW);
    assert_int_equal(io_named("a.npz:b.mtx"), IO_FORMAT_MTX);
    assert_int_equal(io_named("raw.gz"), IO_FORMAT_NONE);
}

/* ---- spoilt archives ----------------------------------------------------------------------------------- */

/* Where a byte lies: behind the beginning of a member's own header, of its entry in the directory, of its bytes, of the
 * end's record, or of those of zip64. */
typedef enum part { NOWHERE, HEAD, ENTRY, BYTES, LAST, LAST64, LOCATOR } part;

typedef struct patch {
    part part;
    int member, at, bytes;
    uint64_t value;
} patch;

static void apply(zip *z, const patch *p)
{
    const size_t begin = p->part == HEAD     ? z->at[p->member].header
                         : p->part == ENTRY  ? z->at[p->member].central
                         : p->part == BYTES  ? z->at[p->member].data
                         : p->part == LAST   ? z->end
                         : p->part == LAST64 ? z->end64
                                             : z->end - 20;
    if (p->part != NOWHERE) zip_number(z->bytes + begin + p->at, p->bytes, p->value);
}

/* Members of three_members(): 0 is a.npy, stored, 2 is f/b..c:0.npy, deflated. */
typedef struct spoilt {
    const char *wanted, *says;
    patch patches[3];
} spoilt;

#define STORED_MEMBER   "FILE.npz:a.npy: "
#define DEFLATED_MEMBER "FILE.npz:f/b..c:0.npy: "

static const spoilt plain_ones[] = {
    {"a", "is an archive without its end: it was cut short, or other bytes follow it", {{LAST, 0, 0, 4, 0}}},
    {"a", "is an archive without its end", {{LAST, 0, 20, 2, 1}}},
    {"a", "is one part of an archive in several files", {{LAST, 0, 4, 2, 1}}},
    {"a", "is one part of an archive in several files", {{LAST, 0, 6, 2, 1}}},
    {"a", "is one part of an archive in several files", {{LAST, 0, 8, 2, 2}}},
    {"a",
     "announces 1000 members, and its directory of 157 bytes has room for 3",
     {{LAST, 0, 8, 4, 1000 | 1000 << 16}}},
    {"a", "announces 65535 members", {{LAST, 0, 8, 4, UINT32_MAX}}},
    {"a", "directory is said to have 157 bytes from byte 1000000 on, and ends", {{LAST, 0, 16, 4, 1000000}}},
    {"a", "directory is said to have 158 bytes", {{LAST, 0, 12, 4, 158}}},
    {"a", "directory is said to have 4294967295 bytes", {{LAST, 0, 12, 4, UINT32_MAX}}},
    {"a", "directory has 58 bytes behind its 2 members", {{LAST, 0, 8, 4, 2 | 2 << 16}}},
    {"a", "directory is damaged at byte ", {{ENTRY, 2, 0, 4, 0}}},
    {"a", "directory is damaged at byte ", {{ENTRY, 2, 28, 2, 13}}},
    {"a", "directory is damaged at byte ", {{ENTRY, 2, 30, 2, 1}}},
    {"a", "directory is damaged at byte ", {{ENTRY, 2, 32, 2, 65535}}},
    {"a", "the member '' has a name that is empty or holds a NUL", {{ENTRY, 1, 28, 4, 2 << 16}}},
    {"a", "the member 'f/\\x00..c:0.npy' has a name that is empty or holds a NUL", {{ENTRY, 2, 48, 1, 0}}},
    {"a", "the member '../..c:0.npy' has a name with '..'", {{ENTRY, 2, 46, 3, 0x2f2e2e}}},
    {"a", "the member 'a.npy' is encrypted", {{ENTRY, 0, 8, 2, 1}}},
    {"a", "the member 'a.npy' is encrypted", {{ENTRY, 0, 8, 2, 1 << 6}}},
    {"a", "the member 'a.npy' is encrypted", {{ENTRY, 0, 8, 2, 1 << 13}}},
    {"a", "'a.npy' has another name, method, size or CRC in its own header", {{HEAD, 0, 6, 2, 1}}},
    {"a", "'a.npy' is packed by method 0, expected 0 (stored) or 8 (deflated)", {{ENTRY, 0, 8, 2, 1 << 5}}},
    {"a", "'a.npy' is packed by method 12, expected 0", {{ENTRY, 0, 10, 2, 12}, {HEAD, 0, 8, 2, 12}}},
    {"a", "'a.npy' has another name, method", {{HEAD, 0, 8, 2, 8}}},
    {"a", "'a.npy' has another name", {{HEAD, 0, 30, 1, 'b'}}},
    {"a", "'a.npy' has another name", {{HEAD, 0, 26, 2, 4}}},
    {"a", "'a.npy' has another name", {{HEAD, 0, 14, 4, 1}}},
    {"a", "'a.npy' has another name", {{HEAD, 0, 18, 4, 95}}},
    {"a", "'a.npy' has another name", {{HEAD, 0, 22, 4, 95}}},
    {"a", "'a.npy' is not where the directory has it", {{ENTRY, 0, 42, 4, 1}}},
    {"a", "'a.npy' is not where the directory has it", {{ENTRY, 0, 42, 4, UINT32_MAX - 1}}},
    {"a", "lacks its sizes of 64 bits", {{ENTRY, 0, 42, 4, UINT32_MAX}}},
    {"a", "'a.npy' is stored, and has two different sizes", {{ENTRY, 0, 20, 4, 95}}},
    {"a", "'a.npy' does not end before the archive's directory", {{HEAD, 0, 28, 2, 65535}}},
    {"a",
     "'a.npy' does not end before the archive's directory begins",
     {{ENTRY, 0, 20, 4, 4096}, {ENTRY, 0, 24, 4, 4096}}},
    {"a", "the members 'a.npy' and 'f/' overlap", {{ENTRY, 1, 42, 4, 0}}},
    {"a", "the members 'a.npy' and 'f/' overlap", {{ENTRY, 1, 42, 4, 130}}},
    {"f/b..c:0", "the members 'f/b..c:0.npy' and 'a.npy' overlap", {{ENTRY, 0, 20, 4, UINT32_MAX - 1}}},
    {"a", STORED_MEMBER "is damaged: its CRC", {{BYTES, 0, 90, 1, 1}}},
    {"a", STORED_MEMBER "is damaged: its CRC", {{ENTRY, 0, 16, 4, 1}, {HEAD, 0, 14, 4, 1}}},
    {"f/b..c:0", DEFLATED_MEMBER "is damaged: its CRC", {{ENTRY, 2, 16, 4, 1}, {HEAD, 2, 14, 4, 1}}},
    {"f/b..c:0",
     DEFLATED_MEMBER "is damaged: it has more than the 95 bytes that the archive says",
     {{ENTRY, 2, 24, 4, 95}, {HEAD, 2, 22, 4, 95}}},
    {"f/b..c:0",
     DEFLATED_MEMBER "is damaged: it has 96 bytes, the archive says 97",
     {{ENTRY, 2, 24, 4, 97}, {HEAD, 2, 22, 4, 97}}},
    {"f/b..c:0",
     DEFLATED_MEMBER "its compressed bytes end too early: it was cut short",
     {{ENTRY, 2, 20, 4, 9}, {HEAD, 2, 18, 4, 9}}},
    {"f/b..c:0", DEFLATED_MEMBER "its compressed bytes are damaged: invalid block type", {{BYTES, 2, 0, 1, 7}}},
};

static const spoilt wide_ones[] = {
    {"a", "directory is said to have", {{LOCATOR, 0, 0, 4, 0}}},
    {"a", "directory is said to have", {{LOCATOR, 0, 8, 8, UINT64_MAX}}},
    {"a", "directory is said to have", {{LOCATOR, 0, 8, 8, 1}}},
    {"a", "is one part of an archive in several files", {{LAST64, 0, 16, 4, 1}}},
    {"a", "is one part of an archive in several files", {{LAST64, 0, 20, 4, 1}}},
    {"a", "is one part of an archive in several files", {{LAST64, 0, 24, 8, 2}}},
    {"a", "announces 18446744073709551615 members", {{LAST64, 0, 24, 8, UINT64_MAX}, {LAST64, 0, 32, 8, UINT64_MAX}}},
    {"a", "directory is said to have 18446744073709551615 bytes", {{LAST64, 0, 40, 8, UINT64_MAX}}},
    {"a", "from byte 18446744073709551615 on", {{LAST64, 0, 48, 8, UINT64_MAX}}},
    {"a", "'f/' lacks its sizes of 64 bits", {{ENTRY, 1, 46 + 2 + 6, 2, 23}}},
    {"a", "'f/' lacks its sizes of 64 bits", {{ENTRY, 1, 46 + 2 + 6, 2, 25}}},
    {"a", "'f/' lacks its sizes of 64 bits", {{ENTRY, 1, 46 + 2 + 4, 2, 2}}},
    {"a", "'a.npy' is stored, and has two different sizes", {{ENTRY, 0, 46 + 5 + 8, 8, UINT64_MAX}}},
    {"a",
     "'a.npy' does not end before the archive's directory",
     {{ENTRY, 0, 46 + 5 + 8, 8, UINT64_MAX}, {ENTRY, 0, 46 + 5 + 16, 8, UINT64_MAX}}},
    {"a", "'a.npy' is not where the directory has it", {{ENTRY, 0, 46 + 5 + 24, 8, UINT64_MAX}}},
    {"a", "'a.npy' has another name, method, size", {{HEAD, 0, 30 + 5 + 4, 8, 95}}},
    {"a", "'a.npy' has another name, method, size", {{HEAD, 0, 30 + 5 + 12, 8, 95}}},
    {"a", "'a.npy' has another name, method, size", {{HEAD, 0, 30 + 5, 2, 2}}},
    {"f/b..c:0", "'f/b..c:0.npy' and 'a.npy' overlap", {{ENTRY, 0, 46 + 5 + 16, 8, UINT64_MAX}}},
};

static void each_spoilt_archive_is_refused(void)
{
    for (int wide = 0; wide < 2; wide++)
        for (size_t c = 0; c < (wide ? COUNT(wide_ones) : COUNT(plain_ones)); c++) {
            const spoilt *s = wide ? &wide_ones[c] : &plain_ones[c];
            zip z = three_members(wide);
            for (size_t p = 0; p < COUNT(s->patches); p++) apply(&z, &s->patches[p]);
            reject(z.bytes, z.count, "FILE.npz", s->wanted, s->says);
        }
}

static void other_spoilt_archives(void)
{
    zip z = three_members(false);
    memcpy(z.bytes + z.count, "more", 4);
    reject(z.bytes, z.count + 4, "FILE.npz", "a", "is an archive without its end");
    zip twice = {.count = 0};
    for (int i = 0; i < 2; i++) zip_add(&twice, "a.npy", ZIP_STORED, six_npy(), SIX_BYTES, 0);
    zip_finish(&twice);
    reject(twice.bytes, twice.count, "FILE.npz", "a", "the member 'a.npy' is there more than once");
    reject(twice.bytes, twice.count, "FILE.npz", "a.npy", "the member 'a.npy' is there more than once");
    zip behind = {.count = 0};
    zip_add(&behind, "a.npy", ZIP_DEFLATED, six_npy(), SIX_BYTES, 3);
    zip_finish(&behind);
    reject(behind.bytes, behind.count, "FILE.npz", "a", ":a.npy: is damaged: 3 of its ");
    zip inside = {.count = 0};
    zip_add(&inside, "a.zip", ZIP_DEFLATED, z.bytes, z.count, 0);
    zip_finish(&inside);
    reject(inside.bytes, inside.count, "FILE.npz", "a.zip", "it is an archive: unpack it first");
    /* nor is gzip data in an archive taken as a raw matrix */
    zip twofold = {.count = 0};
    io_matrix m;
    io_error error;
    const size_t count = gz(six, 24);
    const io_raw_shape shape = {IO_U8, 1, (int64_t)count};
    zip_add(&twofold, "a.raw.gz", ZIP_DEFLATED, gz_bytes, count, 0);
    zip_finish(&twofold);
    assert_int_equal(io_parse(twofold.bytes, twofold.count, "FILE.npz", NULL, &shape, &m, &error), IO_BAD_FILE);
    check_sentence(&error, "FILE.npz:a.raw.gz: ", "it is compressed: unpack it first");
}

/* As an archive that was written to a pipe has it: sizes and CRC behind the bytes, and none in the header. */
static void sizes_behind_the_bytes(void)
{
    zip z = {.count = 0};
    zip_add(&z, "a.npy", ZIP_DEFLATED, six_npy(), SIX_BYTES, 0);
    zip_put(&z, "4444", N(0x08074b50), N(z.at[0].crc), N(z.at[0].packed), N(z.at[0].bytes));
    zip_finish(&z);
    const patch patches[] = {{HEAD, 0, 6, 2, 8}, {HEAD, 0, 14, 4, 0}, {HEAD, 0, 18, 8, 0}, {ENTRY, 0, 8, 2, 8}};
    for (size_t p = 0; p < COUNT(patches); p++) apply(&z, &patches[p]);
    take(z.bytes, z.count, "FILE.npz", "a", NULL);
}

static void each_bit_of_an_archive(void)
{
    for (int wide = 0; wide < 2; wide++) {
        zip z = three_members(wide);
        each_length_and_each_bit(z.bytes, z.count, "a");
        each_length_and_each_bit(z.bytes, z.count, "f/b..c:0");
    }
}

/* ---- blocks of a file ---------------------------------------------------------------------------------- */

static void blocks_of_a_stored_member(void)
{
    zip z = three_members(true);
    float block[4];
    io_source source;
    io_error error;
    write_file(in_folder("z.npz"), z.bytes, z.count);
    if (io_source_open(in_folder("z.npz:a"), NULL, &source, &error) != IO_OK) fail_msg("%s", error.text);
    assert_string_equal(source.path, in_folder("z.npz"));
    assert_int_equal(io_source_read(&source, 0, 1, 2, 2, IO_F32, true, block, &error), IO_OK);
    assert_true(block[0] == 2 && block[1] == 3 && block[2] == 5 && block[3] == 6);
    io_source_close(&source);
    assert_int_equal(io_source_open(in_folder("z.npz:f/b..c:0"), NULL, &source, &error), IO_BAD_FILE);
    assert_true(source.compressed);
    assert_int_equal(io_source_open(in_folder("z.npz"), NULL, &source, &error), IO_BAD_FILE);
    assert_false(source.compressed);
    write_file(in_folder("a.gz"), gz_bytes, gz(six, 24)); /* of the size that is promised, were it raw */
    const io_raw_shape shape = {IO_U8, 1, (int64_t)gz(six, 24)};
    assert_int_equal(io_source_open(in_folder("a.gz"), &shape, &source, &error), IO_BAD_FILE);
    assert_true(source.compressed);
    write_file(in_folder("b.gz"), six, 24);
    assert_int_equal(io_source_open(in_folder("b.gz"), &raw_2x3, &source, &error), IO_BAD_FILE);
    write_file(in_folder("c.npz"), six_npy(), SIX_BYTES); /* the content decides */
    assert_int_equal(io_source_open(in_folder("c.npz"), NULL, &source, &error), IO_OK);
    io_source_close(&source);
    assert_int_equal(io_source_open(in_folder("c.npz:a"), NULL, &source, &error), IO_BAD_FILE);
    /* a member that is named as a .npy file is none that is raw */
    zip raw = {.count = 0};
    zip_add(&raw, "x.npy", ZIP_STORED, six, 24, 0);
    zip_finish(&raw);
    write_file(in_folder("x.npz"), raw.bytes, raw.count);
    assert_int_equal(io_source_open(in_folder("x.npz:x"), &raw_2x3, &source, &error), IO_BAD_FILE);
}

/* np.savez() writes zip64 fields, and a member may be longer than 4 GiB: one that is a hole in its file. */
static void a_member_beyond_4_gib(void)
{
    enum { COLS = 1024 };
    const int64_t rows = (1 << 22) + 1, bytes = rows * COLS;
    static unsigned char head[256];
    zip z = {.wide = true};
    io_source source;
    io_error error;
    char header[100], last[2];
    snprintf(header, sizeof header, "{'descr': '|u1', 'fortran_order': False, 'shape': (%" PRId64 ", %d)}", rows, COLS);
    const size_t count = make_npy(head, 1, header, "", 0);
    zip_add(&z, "a.npy", ZIP_STORED, head, count, 0);
    z.at[0].bytes = z.at[0].packed += (size_t)bytes; /* in the directory; in the header: */
    zip_number(z.bytes + 30 + 5 + 4, 8, z.at[0].bytes), zip_number(z.bytes + 30 + 5 + 12, 8, z.at[0].bytes);
    const size_t first = z.count;
    zip_finish(&z);
    const size_t behind = z.count - first, directory = first + (size_t)bytes;
    zip_number(z.bytes + z.end64 + 48, 8, directory), zip_number(z.bytes + z.end - 12, 8, z.end64 + (size_t)bytes);
    write_file(in_folder("z.npz"), z.bytes, first);
    const int fd = open(in_folder("z.npz"), O_WRONLY);
    assert_true(pwrite(fd, z.bytes + first, behind, (off_t)directory) == (ssize_t)behind);
    assert_true(pwrite(fd, "\7", 1, (off_t)directory - 1) == 1);
    close(fd);
    if (io_source_open(in_folder("z.npz"), NULL, &source, &error) != IO_OK) fail_msg("%s", error.text);
    assert_true(source.matrix.rows == rows && source.matrix.cols == COLS);
    assert_int_equal(io_source_read(&source, rows - 1, COLS - 2, 1, 2, IO_U8, true, last, &error), IO_OK);
    assert_true(last[0] == 0 && last[1] == 7);
    io_source_close(&source);
}

static const check_case cases[] = {
    CHECK_CASE(members_of_archives),
    CHECK_CASE(many_members_are_cut),
    FOLDER_CASE(stored_members_are_mapped),
    FOLDER_CASE(names_with_colons),
    CHECK_CASE(each_spoilt_archive_is_refused),
    CHECK_CASE(other_spoilt_archives),
    CHECK_CASE(sizes_behind_the_bytes),
    CHECK_CASE(each_bit_of_an_archive),
    FOLDER_CASE(blocks_of_a_stored_member),
    FOLDER_CASE(a_member_beyond_4_gib),
};

CHECK_MAIN(cases)
