/* cmd_devices.c - `tilewright devices`: what can compute here, and what was chosen why. */
#include <inttypes.h>
#include <stdlib.h>
#include "cmd.h"
#include "object.h"
#include "say.h"
#include "term.h"

static void print_cache(FILE *text, const char *name, int64_t bytes)
{
    if (bytes > 0) fprintf(text, "  %s %" PRId64 " KiB", name, bytes / 1024);
}

static void print_device(FILE *text, const tw_device *d)
{
    const char *limit = getenv("TILEWRIGHT_CPU");
    fprintf(text, "%s %" PRId32 "      %s\n", d->engine, d->index, d->name);
    if (limit != NULL && limit[0] != '\0')
        fprintf(text, "  code     %s, because TILEWRIGHT_CPU says so\n", d->instruction_set);
    else
        fprintf(text, "  code     %s, the best that processor and system offer\n", d->instruction_set);
    fprintf(text, "  threads  %" PRId32 ", from the %s\n  caches ", d->threads, d->threads_from);
    print_cache(text, "L1", d->l1_bytes);
    print_cache(text, "L2", d->l2_bytes);
    print_cache(text, "L3", d->l3_bytes);
    if (d->l1_bytes + d->l2_bytes + d->l3_bytes == 0) fprintf(text, "  unknown");
    fprintf(text, "\n  memory   %.1f GiB\n", (double)d->memory_bytes / 1073741824);
}

static void write_device(FILE *json, const tw_device *d)
{
    object o = object_begin(json);
    object_text(&o, "engine", d->engine);
    object_number(&o, "device", d->index);
    object_text(&o, "name", d->name);
    object_text(&o, "instruction_set", d->instruction_set);
    object_number(&o, "threads", d->threads);
    object_text(&o, "threads_from", d->threads_from);
    object_number(&o, "l1_bytes", (double)d->l1_bytes);
    object_number(&o, "l2_bytes", (double)d->l2_bytes);
    object_number(&o, "l3_bytes", (double)d->l3_bytes);
    object_number(&o, "memory_bytes", (double)d->memory_bytes);
    object_end(&o);
}

exit_code cmd_devices(session *s)
{
    enum { MOST = 64 };
    tw_device devices[MOST] = {{.size = sizeof devices[0]}};
    int32_t count = 0;
    tw_status status = tw_devices(devices, MOST, &count);
    if (status != TW_OK) return say_tw(status);
    if (count == 0) return say(EXIT_DEVICE, "no device was found");
    for (int i = 0; i < count && i < MOST; i++) {
        print_device(s->text, &devices[i]);
        write_device(s->json, &devices[i]);
        s->json_lines = true;
    }
    return session_flush(s);
}
