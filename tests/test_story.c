/* test_story.c - what the rungs say of themselves reaches the reader whole: texts as the files have them, head comments
 * taken apart without a word lost, comparisons that give both texts back and have as much in common as can be. */
#include <stdlib.h>
#include <string.h>

#include "story.h"
#include "support/tap.h"

#define NEED(condition, ...)                                                                                           \
    if (!(condition)) {                                                                                                \
        tap_result(false, __VA_ARGS__);                                                                                \
        return;                                                                                                        \
    }

static char *read_file(const char *folder, const char *file)
{
    char path[4096], *text = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *input = fopen(path, "r");
    if (input == NULL) return NULL;
    fseek(input, 0, SEEK_END);
    long size = ftell(input);
    rewind(input);
    text = calloc((size_t)size + 1, 1);
    if (text != NULL && fread(text, 1, (size_t)size, input) != (size_t)size) text[0] = '\0';
    fclose(input);
    return text;
}

/* The words of a text, one blank between them, without the stars at the heads of lines. */
static void add_words(const char *text, size_t length, char *out, size_t size)
{
    size_t used = strlen(out);
    for (size_t i = 0; i < length && used + 2 < size;) {
        size_t word = 0;
        while (i + word < length && strchr(" \n", text[i + word]) == NULL) word++;
        bool star = word == 1 && text[i] == '*' && (i < 2 || text[i - 2] == '\n' || text[i - 1] == '\n');
        if (word > 0 && !star) used += (size_t)snprintf(out + used, size - used, " %.*s", (int)word, text + i);
        i += word + 1;
    }
}

static void test_text(const tw_lab_kernel *kernel)
{
    story s;
    char *file = read_file(TESTS_FOLDER "/../kernels", kernel->file);
    NEED(file != NULL, "%s cannot be read", kernel->file)
    NEED(story_tell(kernel, &s) == TW_OK, "there is no story of %s", kernel->file)
    NEED(strcmp(s.text, file) == 0, "the program's text of %s is not the file's", kernel->file)
    for (const char *const *label = (const char *const[]){"IDEA", "NUMBERS", "LIMITS", "SOURCE", NULL}; *label != NULL;
         label++)
        NEED(story_part_text(&s, *label) != NULL && strlen(story_part_text(&s, *label)) > 4, "%s has no %s",
             kernel->file, *label)
    const char *name = strrchr(kernel->file, '/') + 1;
    NEED(strncmp(s.title, name, strcspn(name, ".")) == 0, "the title of %s is '%s'", kernel->file, s.title)

    static char said[1 << 16], kept[1 << 16];
    said[0] = kept[0] = '\0';
    add_words(file + 2, (size_t)(strstr(file, "*/") - file) - 2, said, sizeof said);
    add_words(s.title, strlen(s.title), kept, sizeof kept);
    for (int i = 0; i < s.part_count; i++) {
        add_words(s.parts[i].label, strlen(s.parts[i].label), kept, sizeof kept);
        add_words(s.parts[i].text, strlen(s.parts[i].text), kept, sizeof kept);
        NEED(s.parts[i].text[0] != ' ' && s.parts[i].text[0] != '\n', "%s of %s begins with a blank", s.parts[i].label,
             kernel->file)
    }
    size_t at = 0;
    while (said[at] != '\0' && said[at] == kept[at]) at++;
    NEED(strcmp(said, kept) == 0, "of the head of %s words were lost at '%.60s', kept '%.60s'", kernel->file, said + at,
         kept + at)
    story_free(&s);
    free(file);
    tap_result(true, "ok");
}

/* The rung that the table has before this one in its engine; NULL for the first of a ladder. Variants vary the rung
 * before them, and are nobody's rung before. */
static const tw_lab_kernel *table_before(const tw_lab_kernel *kernel)
{
    const tw_lab_kernel *row, *before = NULL;
    for (int i = 0; (row = tw_lab_kernel_at(i)) != NULL; i++) {
        if (strcmp(row->engine, kernel->engine) != 0) continue;
        if (strcmp(row->rung, kernel->rung) == 0) break;
        if (strcspn(row->rung, "_") < 4 && !row->family) before = row;
    }
    return before;
}

static void test_before(const tw_lab_kernel *kernel)
{
    story s;
    NEED(story_tell(kernel, &s) == TW_OK, "there is no story")
    const tw_lab_kernel *before = table_before(kernel);
    const char *found = s.before != NULL ? s.before->rung : "none", *expected = before != NULL ? before->rung : "none";
    if (strncmp(kernel->rung, "s1_", 3) == 0) expected = "r01_naive";
    if (strncmp(kernel->rung, "r13q_", 5) == 0) expected = "r13i_int8"; /* a variant of a variant */
    static const char *const steps[][2] = {
        {"r11b_boxes", "r11a_ring"},    /* one idea after the other, */
        {"r11c_swizzle", "r11b_boxes"}, /* not variants of r11 and r12 */
        {"r12_async", "r11c_swizzle"},       {"r12b_persistent", "r12a_producer"}, {"r12c_store", "r12b_persistent"},
        {"r12d_streamk", "r12b_persistent"}, {"r12e_multicast", "r12a_producer"},  {"r12f_cluster", "r12a_producer"},
        {"r12g_launch", "r12a_producer"},    {"r12i_mma", "r12a_producer"},        {"r12j_wgmma", "r12i_mma"},
        {"r13_matrix", "r12j_wgmma"},        {"r13f_f64", "r12a_producer"}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (strcmp(kernel->engine, "cuda") == 0 && strcmp(kernel->rung, steps[i][0]) == 0) expected = steps[i][1];
    if (kernel->deep) expected = "r04_banks"; /* a flight of its own */
    /* for all: no small step from the rung before, and none need be named */
    if (kernel->production || kernel->family) expected = found;
    NEED(strcmp(found, expected) == 0, "the rung before is %s, expected %s", found, expected)
    NEED(s.before == NULL || strcmp(s.before->engine, kernel->engine) == 0, "of another engine")
    story_free(&s);
    tap_result(true, "ok");
}

/* The old (minus) or the new text out of a comparison; NULL where a number of a line is wrong. */
static char *put_together(const story_diff *d, char without, char *out)
{
    char *end = out;
    int number = 0;
    for (int i = 0; i < d->count; i++) {
        const story_line *line = &d->lines[i];
        if (line->kind == without) continue;
        if ((without == '+' ? line->old_number : line->new_number) != ++number) return NULL;
        memcpy(end, line->text, (size_t)line->length);
        end += line->length;
        *end++ = '\n';
    }
    *end = '\0';
    return out;
}

static bool gives_back(const story_diff *d, const char *old_text, const char *new_text)
{
    static char text[1 << 17];
    return put_together(d, '+', text) != NULL && strcmp(text, old_text) == 0 && put_together(d, '-', text) != NULL &&
           strcmp(text, new_text) == 0;
}

static void test_changes(const tw_lab_kernel *kernel)
{
    story s, before = {0};
    story_diff d;
    NEED(story_tell(kernel, &s) == TW_OK && story_changes(&s, &d) == TW_OK, "no memory")
    NEED(s.before == NULL || story_tell(s.before, &before) == TW_OK, "no memory")
    NEED(gives_back(&d, before.code != NULL ? before.code : "", s.code), "the texts do not come back")
    NEED(s.before != NULL || (d.removed == 0 && d.added == d.count), "lines that nobody had")
    NEED(s.before == NULL || (d.added > 0 && d.added < d.count), "nothing changed, or all")
    story_diff_free(&d);
    story_free(&before);
    story_free(&s);
    tap_result(true, "ok");
}

/* Lines in common by trying everything. */
static int in_common(const char *a, const char *b)
{
    if (*a == '\0' || *b == '\0') return 0;
    size_t x = strcspn(a, "\n") + 1, y = strcspn(b, "\n") + 1;
    if (x == y && memcmp(a, b, x) == 0) return 1 + in_common(a + x, b + y);
    int without_a = in_common(a + x, b), without_b = in_common(a, b + y);
    return without_a > without_b ? without_a : without_b;
}

static unsigned state = 1;

static void draw_text(char *out)
{
    for (unsigned lines = (state = state * 1103515245 + 12345) >> 16 & 7; lines > 0; lines--) {
        state = state * 1103515245 + 12345;
        *out++ = (char)('a' + (state >> 16) % 3);
        *out++ = '\n';
    }
    *out = '\0';
}

static void test_small_texts(void)
{
    char a[32], b[32];
    for (int i = 0; i < 2000; i++) {
        story_diff d;
        draw_text(a);
        draw_text(b);
        NEED(story_compare(a, b, &d) == TW_OK, "no memory")
        NEED(gives_back(&d, a, b), "the texts do not come back")
        NEED(d.count - d.added - d.removed == in_common(a, b), "%d lines in common, there can be %d",
             d.count - d.added - d.removed, in_common(a, b))
        story_diff_free(&d);
    }
    tap_result(true, "ok");
}

static void test_last_line(void)
{
    story_diff d;
    NEED(story_compare("x\ny", "x\ny\n\nz", &d) == TW_OK, "no memory")
    NEED(d.count == 4 && d.added == 2 && d.removed == 0 && d.lines[2].length == 0 && d.lines[3].length == 1,
         "%d lines, %d new", d.count, d.added)
    story_diff_free(&d);
    tap_result(true, "ok");
}

int main(int argc, char **argv)
{
    const tw_lab_kernel *kernel;
    tap_start(argc, argv);
    for (int i = 0; (kernel = tw_lab_kernel_at(i)) != NULL; i++) {
        if (tap_case("text of %s", kernel->name)) test_text(kernel);
        if (tap_case("before %s", kernel->name)) test_before(kernel);
        if (tap_case("changes of %s", kernel->name)) test_changes(kernel);
    }
    if (tap_case("comparisons of small texts")) test_small_texts();
    if (tap_case("a last line without an end")) test_last_line();
    return tap_finish();
}
