/* words.c - see words.h. */
#include "words.h"

#include <stdio.h>
#include <string.h>
#include "../lab/devices.h"
#include "../lab/named.h"
#include "../lab/peers.h"

void words_add(word_list *out, const char *word, int length)
{
    for (int i = 0; i < out->count; i++)
        if (strncmp(out->items[i], word, (size_t)length) == 0 && out->items[i][length] == '\0') return;
    if (out->count == WORDS_MOST || out->used + (size_t)length + 1 > sizeof out->room) return;
    char *kept = out->room + out->used;
    memcpy(kept, word, (size_t)length);
    kept[length] = '\0';
    out->used += (size_t)length + 1;
    out->items[out->count++] = kept;
}

static void add(word_list *out, const char *word) { words_add(out, word, (int)strlen(word)); }

void words_choices(word_list *out, const char *choices)
{
    for (const char *c = choices; *c != '\0'; c += strspn(c, " ")) {
        const int length = (int)strcspn(c, " ");
        words_add(out, c, length);
        c += length;
    }
}

void words_kernels(word_list *out)
{
    const tw_lab_kernel *row;
    for (int i = 0; (row = tw_lab_kernel_at(i)) != NULL; i++) add(out, row->name);
}

void words_rungs(word_list *out)
{
    const tw_lab_kernel *row;
    for (int i = 0; (row = tw_lab_kernel_at(i)) != NULL; i++) {
        if (!row->family) words_add(out, row->rung, (int)strcspn(row->rung, "_"));
        add(out, row->rung);
    }
    add(out, RUNG_PLANNED);
}

void words_peers(word_list *out)
{
    add(out, "all");
    for (const peer_row *row = peer_rows; row->name != NULL; row++) add(out, row->name);
}

void words_gpus(word_list *out)
{
    char name[DEVICES_NAME];
    for (int i = 0; devices_at(i) != NULL; i++) { /* "GeForce GTX 280" is "GTX 280" too */
        const char *blank = strchr(devices_name(devices_at(i), name), ' ');
        if (blank != NULL && strcspn(name, "0123456789") > (size_t)(blank - name)) add(out, blank + 1);
        add(out, name);
    }
}

/* Letters to change, add, leave out or exchange with the next to make one word of another. */
static int distance(const char *a, const char *b)
{
    enum { MOST = 60 };
    static int d[MOST + 1][MOST + 1];
    const int m = (int)strlen(a), n = (int)strlen(b);
    if (m > MOST || n > MOST) return MOST;
    for (int i = 0; i <= m; i++)
        for (int j = 0; j <= n; j++) {
            d[i][j] = i == 0 ? j : i;
            if (i == 0 || j == 0) continue;
            const int changed = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
                      added = 1 + (d[i - 1][j] < d[i][j - 1] ? d[i - 1][j] : d[i][j - 1]);
            d[i][j] = changed < added ? changed : added;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] < d[i][j])
                d[i][j] = d[i - 2][j - 2] + 1;
        }
    return d[m][n];
}

const char *words_meant(const word_list *list, const char *word, words_hint out)
{
    const int letters = (int)strlen(word);
    int least = letters > 3 ? 3 : 2; /* of a short word one letter */
    out[0] = '\0';
    for (int i = 0; i < list->count; i++) {
        const int d = distance(word, list->items[i]);
        if (d < least) least = d, snprintf(out, sizeof(words_hint), "; did you mean %s?", list->items[i]);
    }
    return out;
}

const char *words_meant_of(words_fill *fill, const char *word, words_hint out)
{
    static word_list list;
    list.count = 0, list.used = 0;
    fill(&list);
    return words_meant(&list, word, out);
}
