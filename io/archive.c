/* archive.c - where a member of a zip archive lies, as .npz is one: its directory, which is at its end and of which
 * nothing is believed. docs/decisions/0027-archives-by-own-code.md. */
#include "io_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the records: before a member, in the directory, at the end of the archive, and those of zip64 before
 * that. */
enum { LOCAL = 30, CENTRAL = 46, END = 22, LOCATOR = 20, END64 = 56, MOST_COMMENT = 65535 };

/* Bits of a member's flags. */
enum { ENCRYPTED = 1 | 1 << 6 | 1 << 13, SIZES_BEHIND = 1 << 3, PATCH = 1 << 5 };

enum { STORED = 0, DEFLATED = 8 };

typedef struct archive {
    const char *name;
    io_error *error;
    const unsigned char *bytes;
    uint64_t count;
    uint64_t begin, end, entries; /* of the directory */
} archive;

/* A member as the directory has it. */
typedef struct entry {
    const unsigned char *name;
    size_t name_bytes;
    unsigned flags, method;
    uint32_t crc;
    uint64_t packed, bytes, header; /* header: where its own lies */
} entry;

static uint64_t number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    while (bytes-- > 0) value = value << 8 | at[bytes];
    return value;
}

static const char *quoted(const entry *e, char text[64])
{
    io_quote(text, 64, e->name, e->name_bytes);
    return text;
}

/* "NAME: the member 'a.npy' WHAT" */
static io_status refuse(const archive *a, const entry *e, const char *what)
{
    char text[64];
    return io_fail(a->error, IO_BAD_FILE, a->name, "the member '%s' %s", quoted(e, text), what);
}

/* ---- the directory ------------------------------------------------------------------------------------- */

/* The last record of the archive; a comment may follow it. */
static const unsigned char *find_end(const archive *a)
{
    for (uint64_t comment = 0; comment <= MOST_COMMENT && END + comment <= a->count; comment++) {
        const unsigned char *at = a->bytes + a->count - END - comment;
        if (memcmp(at, "PK\5\6", 4) == 0 && number(at + 20, 2) == comment) return at;
    }
    return NULL;
}

/* The zip64 record, where numbers of the last one are too small for theirs; *room: what lies before both. NULL: there
 * is none. */
static const unsigned char *find_end64(const archive *a, const unsigned char *end, uint64_t *room)
{
    const bool full = number(end + 10, 2) == UINT16_MAX || number(end + 12, 4) == UINT32_MAX ||
                      number(end + 16, 4) == UINT32_MAX;
    if (!full || *room < LOCATOR || memcmp(end - LOCATOR, "PK\6\7", 4) != 0) return NULL;
    const uint64_t at = number(end - LOCATOR + 8, 8);
    if (at > *room - LOCATOR || *room - LOCATOR - at < END64 || memcmp(a->bytes + at, "PK\6\6", 4) != 0) return NULL;
    *room = at;
    return a->bytes + at;
}

static io_status find_directory(archive *a)
{
    const unsigned char *end = find_end(a);
    if (end == NULL)
        return io_fail(a->error, IO_BAD_FILE, a->name,
                       "is an archive without its end: it was cut short, or other bytes follow it");
    uint64_t room = (uint64_t)(end - a->bytes), parts = number(end + 4, 2) | number(end + 6, 2), bytes,
             here = number(end + 8, 2);
    a->entries = number(end + 10, 2), bytes = number(end + 12, 4), a->begin = number(end + 16, 4);
    const unsigned char *wide = find_end64(a, end, &room);
    if (wide != NULL) {
        parts = number(wide + 16, 4) | number(wide + 20, 4), here = number(wide + 24, 8);
        a->entries = number(wide + 32, 8), bytes = number(wide + 40, 8), a->begin = number(wide + 48, 8);
    }
    if (parts != 0 || here != a->entries)
        return io_fail(a->error, IO_BAD_FILE, a->name, "is one part of an archive in several files");
    if (a->begin > room || bytes > room - a->begin)
        return io_fail(a->error, IO_BAD_FILE, a->name,
                       "the archive's directory is said to have %" PRIu64 " bytes from byte %" PRIu64
                       " on, and ends behind byte %" PRIu64 " at most",
                       bytes, a->begin, room);
    if (a->entries > bytes / CENTRAL)
        return io_fail(a->error, IO_BAD_FILE, a->name,
                       "the archive announces %" PRIu64 " members, and its directory of %" PRIu64
                       " bytes has room for %" PRIu64,
                       a->entries, bytes, bytes / CENTRAL);
    a->end = a->begin + bytes;
    return IO_OK;
}

/* Numbers of 32 bits that are full stand, in this order, in the zip64 field of the extra ones. False: it lacks one. */
static bool widen(const unsigned char *extra, size_t extra_bytes, uint64_t *const *numbers, int count)
{
    const unsigned char *at = NULL;
    size_t left = 0;
    for (size_t from = 0; at == NULL && extra_bytes - from >= 4;) {
        const size_t bytes = (size_t)number(extra + from + 2, 2);
        if (bytes > extra_bytes - from - 4) return false;
        if (number(extra + from, 2) == 1) at = extra + from + 4, left = bytes;
        from += 4 + bytes;
    }
    for (int n = 0; n < count; n++) {
        if (*numbers[n] != UINT32_MAX) continue;
        if (left < 8) return false;
        *numbers[n] = number(at, 8), at += 8, left -= 8;
    }
    return true;
}

/* A name that another program may read as another one, or as one of another folder. */
static io_status check_name(const archive *a, const entry *e)
{
    const char *const name = (const char *)e->name;
    if (e->name_bytes == 0 || memchr(name, '\0', e->name_bytes) != NULL)
        return refuse(a, e, "has a name that is empty or holds a NUL");
    for (size_t at = 0, length; at < e->name_bytes; at += length + 1) {
        const char *slash = memchr(name + at, '/', e->name_bytes - at);
        length = slash != NULL ? (size_t)(slash - name) - at : e->name_bytes - at;
        if (length == 2 && memcmp(name + at, "..", 2) == 0) return refuse(a, e, "has a name with '..'");
    }
    return IO_OK;
}

/* The entry at *at, and where the next one begins. */
static io_status next_entry(const archive *a, uint64_t *at, entry *e)
{
    const unsigned char *h = a->bytes + *at;
    const uint64_t left = a->end - *at;
    const bool here = left >= CENTRAL && memcmp(h, "PK\1\2", 4) == 0;
    const size_t name = here ? (size_t)number(h + 28, 2) : 0, extra = here ? (size_t)number(h + 30, 2) : 0;
    const uint64_t whole = here ? CENTRAL + name + extra + number(h + 32, 2) : UINT64_MAX;
    if (whole > left)
        return io_fail(a->error, IO_BAD_FILE, a->name, "the archive's directory is damaged at byte %" PRIu64, *at);
    *e = (entry){.name = h + CENTRAL,
                 .name_bytes = name,
                 .flags = (unsigned)number(h + 8, 2),
                 .method = (unsigned)number(h + 10, 2),
                 .crc = (uint32_t)number(h + 16, 4),
                 .packed = number(h + 20, 4),
                 .bytes = number(h + 24, 4),
                 .header = number(h + 42, 4)};
    *at += whole;
    uint64_t *const wide[] = {&e->bytes, &e->packed, &e->header};
    if (!widen(h + CENTRAL + name, extra, wide, 3)) return refuse(a, e, "lacks its sizes of 64 bits");
    return check_name(a, e);
}

/* ---- which member -------------------------------------------------------------------------------------- */

static bool is_folder(const entry *e) { return e->name[e->name_bytes - 1] == '/'; }

/* Is it the name, or that name and an ending? */
static bool is_named(const entry *e, const char *name, const char *ending)
{
    const size_t length = strlen(name), rest = strlen(ending);
    return e->name_bytes == length + rest && memcmp(e->name, name, length) == 0 &&
           memcmp(e->name + length, ending, rest) == 0;
}

/* Members that a name may mean: the last of them, and how many there are. */
typedef struct choice {
    entry entry;
    uint64_t number, count; /* number: in the directory */
} choice;

static void add(choice *to, const entry *e, uint64_t number) { *to = (choice){*e, number, to->count + 1}; }

/* ": a, b, c and 12 more"; as NumPy has them, without .npy */
static void list_members(const archive *a, uint64_t members, char *text, size_t size)
{
    entry e;
    size_t used = 0;
    uint64_t listed = 0, at = a->begin;
    text[0] = '\0';
    for (uint64_t i = 0; i < a->entries && next_entry(a, &at, &e) == IO_OK; i++) {
        char name[64];
        if (is_folder(&e)) continue;
        if (e.name_bytes > 4 && memcmp(e.name + e.name_bytes - 4, ".npy", 4) == 0) e.name_bytes -= 4;
        quoted(&e, name);
        if (used + strlen(name) + 40 > size) {
            snprintf(text + used, size - used, " and %" PRIu64 " more", members - listed);
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s", listed++ == 0 ? ": " : ", ", name);
    }
}

static io_status choose(const archive *a, const char *wanted, choice *out)
{
    choice any = {.count = 0}, same = any, longer = any;
    entry e;
    uint64_t at = a->begin;
    for (uint64_t i = 0; i < a->entries; i++) {
        const io_status status = next_entry(a, &at, &e);
        if (status != IO_OK) return status;
        if (is_folder(&e)) continue;
        add(&any, &e, i);
        if (wanted != NULL && is_named(&e, wanted, "")) add(&same, &e, i);
        if (wanted != NULL && is_named(&e, wanted, ".npy")) add(&longer, &e, i);
    }
    if (at != a->end)
        return io_fail(a->error, IO_BAD_FILE, a->name,
                       "the archive's directory has %" PRIu64 " bytes behind its %" PRIu64 " members", a->end - at,
                       a->entries);
    *out = wanted == NULL ? any : same.count > 0 ? same : longer;
    if (out->count == 1) return IO_OK;
    if (out->count > 1 && wanted != NULL) return refuse(a, &out->entry, "is there more than once");
    char members[320], name[64];
    list_members(a, any.count, members, sizeof members);
    if (wanted == NULL)
        return io_fail(a->error, IO_BAD_FILE, a->name, "is an archive of %" PRIu64 " members%s%s", any.count,
                       any.count > 0 ? "; FILE.npz:NAME names one" : "", members);
    io_quote(name, sizeof name, wanted, strlen(wanted));
    return io_fail(a->error, IO_BAD_FILE, a->name, "the archive has no member '%s'; it has %" PRIu64 "%s", name,
                   any.count, members);
}

/* ---- where it lies ------------------------------------------------------------------------------------- */

/* The header before a member says what the directory says; only sizes may stand behind the bytes. */
static io_status check_header(const archive *a, const entry *e, io_member *out)
{
    const uint64_t room = e->header <= a->begin ? a->begin - e->header : 0;
    const unsigned char *h = a->bytes + (room >= LOCAL ? e->header : 0);
    if (room < LOCAL || memcmp(h, "PK\3\4", 4) != 0) return refuse(a, e, "is not where the directory has it");
    const size_t name = (size_t)number(h + 26, 2), extra = (size_t)number(h + 28, 2);
    const uint64_t before = LOCAL + name + extra;
    if (before > room || e->packed > room - before)
        return refuse(a, e, "does not end before the archive's directory begins");
    uint64_t packed = number(h + 18, 4), bytes = number(h + 22, 4), *const wide[] = {&bytes, &packed};
    const bool sizes = ((number(h + 6, 2) | e->flags) & SIZES_BEHIND) == 0;
    if (name != e->name_bytes || memcmp(h + LOCAL, e->name, name) != 0 || number(h + 8, 2) != e->method ||
        (number(h + 6, 2) & (ENCRYPTED | PATCH)) != 0 || !widen(h + LOCAL + name, extra, wide, sizes ? 2 : 0) ||
        (sizes && (packed != e->packed || bytes != e->bytes || number(h + 14, 4) != e->crc)))
        return refuse(a, e, "has another name, method, size or CRC in its own header than in the directory");
    *out = (io_member){.begin = (size_t)(e->header + before),
                       .packed = (size_t)e->packed,
                       .bytes = (size_t)e->bytes,
                       .crc = e->crc,
                       .deflated = e->method == DEFLATED,
                       .name = (const char *)e->name,
                       .name_bytes = e->name_bytes};
    return IO_OK;
}

/* No byte of it is another member's. The extra fields before others are not looked at. */
static io_status check_others(const archive *a, const choice *chosen, const io_member *member)
{
    const uint64_t begin = chosen->entry.header, end = member->begin + member->packed;
    uint64_t at = a->begin;
    entry e;
    for (uint64_t i = 0; i < a->entries; i++) {
        const io_status status = next_entry(a, &at, &e);
        if (status != IO_OK) return status;
        const uint64_t least = LOCAL + e.name_bytes + (e.packed < a->count ? e.packed : a->count);
        if (i == chosen->number || e.header >= end || (e.header < begin && begin - e.header >= least)) continue;
        char name[64], other[64];
        return io_fail(a->error, IO_BAD_FILE, a->name, "the members '%s' and '%s' overlap",
                       quoted(&chosen->entry, name), quoted(&e, other));
    }
    return IO_OK;
}

io_status archive_find(const void *bytes, size_t count, const char *name, const char *wanted, io_member *out,
                       io_error *error)
{
    archive a = {.name = name, .error = error, .bytes = bytes, .count = count};
    choice chosen = {.count = 0};
    io_status status = unpack_ready(name, error);
    if (status == IO_OK) status = find_directory(&a);
    if (status == IO_OK) status = choose(&a, wanted, &chosen);
    if (status != IO_OK) return status;
    const entry *e = &chosen.entry;
    char text[64];
    if ((e->flags & ENCRYPTED) != 0) return refuse(&a, e, "is encrypted");
    if ((e->flags & PATCH) != 0 || (e->method != STORED && e->method != DEFLATED))
        return io_fail(error, IO_BAD_FILE, name,
                       "the member '%s' is packed by method %u, expected 0 (stored) or 8 (deflated)", quoted(e, text),
                       e->method);
    if (e->method == STORED && e->packed != e->bytes) return refuse(&a, e, "is stored, and has two different sizes");
    status = check_header(&a, e, out);
    return status == IO_OK ? check_others(&a, &chosen, out) : status;
}
