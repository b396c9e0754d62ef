/* context.c - the library's version, its devices, and contexts: opened, found and closed. */
#define _GNU_SOURCE /* secure_getenv: a privileged program's kernels are tested, whatever its user says */
#include "context.h"
#include "first_use.h"
#include "sized.h"
#include "tuned_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const engine_ops *const engines[] = {&cpu_engine, &opencl_engine, &cuda_engine};

enum { ENGINE_COUNT = sizeof engines / sizeof *engines };

enum { DEVICE_FIRST_BYTES = offsetof(tw_device, l3_bytes) + sizeof(int64_t) }; /* of the first layout */

/* ---- devices ---- */

tw_status devices_check(const tw_device *devices, int32_t capacity, const int32_t *count)
{
    if (count == NULL) return fail(TW_BAD_ARGUMENT, "count is NULL");
    if (capacity < 0 || (capacity > 0 && devices == NULL))
        return fail(TW_BAD_ARGUMENT, "capacity is %d and devices is %s", (int)capacity, devices ? "given" : "NULL");
    return capacity > 0 ? sized_check("devices[0]", devices[0].size, DEVICE_FIRST_BYTES) : TW_OK;
}

/* devices have this library's own size. */
static tw_status list_devices(tw_device *devices, int32_t capacity, int32_t *count)
{
    char skipped[400] = "";
    *count = 0;
    for (int i = 0; i < ENGINE_COUNT; i++) {
        int32_t found = 0, room = capacity > *count ? capacity - *count : 0;
        fail(TW_OK, "%s", "");
        tw_status status = engines[i]->devices(room > 0 ? devices + *count : NULL, room, &found);
        /* an environment variable is wrong: tw_open() would say so too */
        if (status == TW_BAD_ARGUMENT) return status;
        if (status == TW_OK) *count += found;
        size_t used = strlen(skipped);
        if (tw_error_text()[0] != '\0')
            snprintf(skipped + used, sizeof skipped - used, "%s%s: %s", used > 0 ? "; " : "", engines[i]->name,
                     tw_error_text());
    }
    fail(TW_OK, "%s", skipped);
    return TW_OK;
}

/* devices are of another size than this library's: list them apart, then copy. */
static tw_status list_resized(tw_device *devices, int32_t capacity, int32_t *count)
{
    const uint32_t size = devices[0].size;
    TRY(list_devices(NULL, 0, count));
    if (capacity > *count) capacity = *count;
    tw_device *own = calloc((size_t)capacity + 1, sizeof *own);
    if (own == NULL) return fail(TW_NO_MEMORY, "no memory for a list of %d devices", (int)capacity);
    tw_status status = list_devices(own, capacity, count);
    for (int32_t i = 0; status == TW_OK && i < capacity && i < *count; i++) {
        char *user = (char *)devices + (size_t)i * size;
        memcpy(user, &size, sizeof size);
        sized_store(&own[i], sizeof *own, user);
    }
    free(own);
    return status;
}

tw_status tw_devices(tw_device *devices, int32_t capacity, int32_t *count)
{
    HOLD_CANCELLATION;
    TRY(devices_check(devices, capacity, count));
    return capacity > 0 && devices[0].size != sizeof *devices ? list_resized(devices, capacity, count)
                                                              : list_devices(devices, capacity, count);
}

const engine_ops *engine_at(int index) { return index >= 0 && index < ENGINE_COUNT ? engines[index] : NULL; }

const engine_ops *engine_named(const char *name)
{
    /* the one that multiplies any shape of f64 and f32 without moving it */
    if (name == NULL || strcmp(name, "auto") == 0) return &cpu_engine;
    for (int i = 0; i < ENGINE_COUNT; i++)
        if (strcmp(engines[i]->name, name) == 0) return engines[i];
    return NULL;
}

/* ---- contexts ---- */

/* A copy of the user's options, whatever their size, in which reserved fields are 0. */
static tw_status take_options(const tw_options *user, tw_options *own)
{
    *own = (tw_options){.size = sizeof *own};
    if (user == NULL) return TW_OK;
    TRY(sized_load("options", user, offsetof(tw_options, flags), own, sizeof *own));
    if (own->flags & ~(uint32_t)(TW_UNTUNED | TW_STAY))
        return fail(TW_BAD_ARGUMENT, "options.flags is %u, expected 0, TW_UNTUNED (%d), TW_STAY (%d) or both by |",
                    own->flags, TW_UNTUNED, TW_STAY);
    if (own->parallel_for == NULL && own->parallel_state != NULL)
        return fail(TW_BAD_ARGUMENT, "options.parallel_state is given, and options.parallel_for is NULL");
    if (own->parallel_for != NULL && (own->flags & TW_STAY) != 0)
        return fail(TW_BAD_ARGUMENT,
                    "options.flags has TW_STAY (%d), which is for threads of the library, beside "
                    "options.parallel_for",
                    TW_STAY);
    return TW_OK;
}

/* ---- several devices ---- */

/* The devices that the options name, of an engine that has found some. */
static tw_status list_wanted(const tw_options *options, const engine_ops *ops, int32_t wanted[MOST_JOINED], int *count)
{
    int32_t all = 0;
    *count = 1, wanted[0] = options->device;
    if (options->device_count == 0 && options->devices == NULL) return TW_OK;
    if (ops->spread == NULL)
        return fail(TW_BAD_ARGUMENT, "options.%s is set, expected 0: the %s engine computes a product on one device",
                    options->devices != NULL ? "devices" : "device_count", ops->name);
    if (options->device != 0 || options->device_context != NULL)
        return fail(TW_BAD_ARGUMENT, "options.%s is set beside options.device_count, expected 0",
                    options->device != 0 ? "device" : "device_context");
    if (options->device_count < -1 || (options->device_count > 0) != (options->devices != NULL))
        return fail(TW_BAD_ARGUMENT, "options.device_count is %d and options.devices is %s", (int)options->device_count,
                    options->devices != NULL ? "given" : "NULL");
    if (options->device_count == -1) TRY(ops->devices(NULL, 0, &all));
    *count = options->device_count == -1 ? (int)all : (int)options->device_count;
    if (*count > MOST_JOINED)
        return fail(TW_BAD_ARGUMENT, "a product over %d devices: expected at most %d", *count, MOST_JOINED);
    for (int i = 0; i < *count; i++) {
        wanted[i] = options->devices != NULL ? options->devices[i] : i;
        for (int j = 0; j < i; j++)
            if (wanted[j] == wanted[i]) return fail(TW_BAD_ARGUMENT, "options.devices has %d twice", (int)wanted[i]);
    }
    return TW_OK;
}

/* Devices share one plan. */
static tw_status check_alike(const tw_context *context, int other)
{
    const device_facts *one = &context->facts;
    device_facts facts;
    context->ops->facts(context->devices[other], &facts);
    if (facts.sm == one->sm && facts.multiprocessors == one->multiprocessors && facts.tensor_maps == one->tensor_maps &&
        facts.clusters == one->clusters)
        return TW_OK;
    return fail(
        TW_NO_DEVICE,
        "devices of one context are of one kind: the first has %d multiprocessors of sm_%d, number %d has %d of "
        "sm_%d",
        one->multiprocessors, one->sm, other, facts.multiprocessors, facts.sm);
}

static void close_devices(tw_context *context)
{
    for (int i = 0; i < context->device_count; i++) context->ops->close(context->devices[i]);
}

/* Opens each device, and says how they work together. On failure none is left open. */
static tw_status open_devices(tw_context *made, const tw_options *options, bool despite)
{
    int32_t wanted[MOST_JOINED];
    int count;
    tw_options one = *options;
    one.device_count = 0, one.devices = NULL;
    TRY(list_wanted(options, made->ops, wanted, &count));
    tw_status status = TW_OK;
    for (int i = 0; i < count && status == TW_OK; i++) {
        one.device = wanted[i];
        status = made->ops->open(&one, despite, &made->devices[i]);
        if (status != TW_OK) break;
        made->device_count++;
        if (i == 0) made->ops->facts(made->devices[0], &made->facts);
        if (i > 0) status = check_alike(made, i);
    }
    if (status == TW_OK && count > 1)
        status = made->ops->join(made->devices, count, &made->peers, made->joined, sizeof made->joined);
    if (status != TW_OK) close_devices(made);
    made->engine = made->devices[0];
    return status;
}

void context_renew(tw_context *context)
{
    static atomic_ullong opened;
    context->facts.context = atomic_fetch_add_explicit(&opened, 1, memory_order_relaxed) + 1;
}

void context_signature(const tw_context *context, tuned_signature *out)
{
    char driver[sizeof out->driver];
    tw_device device;
    context->ops->describe(context->engine, &device);
    context->ops->identity(context->engine, driver, sizeof driver);
    tuned_sign_here(context->ops->name, device.name, driver, out);
}

/* The committed rows and, where they are wanted, the user's. false: no memory. */
static bool read_tuned(tw_context *context, bool users)
{
    tuned_signature here;
    tuned_own own = {.count = 0};
    context_signature(context, &here);
    if (users) {
        char said[1024]; /* of an environment that is ignored; why a row is not read is for own.state */
        snprintf(said, sizeof said, "%s", tw_error_text());
        tuned_own_read(&here, &own);
        fail(TW_OK, "%s", said);
    } else
        snprintf(own.state, sizeof own.state, "not tuned: the context was opened with TW_UNTUNED");
    context->facts.tuned = context->tuned = tuned_table_make(&context->facts, own.rows, own.count);
    _Static_assert(sizeof context->tuned_state == sizeof own.state, "one sentence");
    memcpy(context->tuned_state, own.state, sizeof own.state);
    free(own.rows);
    return context->tuned != NULL;
}

tw_status context_open(const tw_options *user, bool despite, tw_context **context)
{
    tw_options options;
    *context = NULL;
    TRY(take_options(user, &options));
    if (options.threads < 0 || options.threads > MOST_THREADS)
        return fail(TW_BAD_ARGUMENT, "options.threads is %d, expected 0 to %d", (int)options.threads, MOST_THREADS);
    const engine_ops *ops = engine_named(options.engine);
    if (ops == NULL)
        return fail(TW_NO_DEVICE, "there is no engine named %s: there are cpu, opencl and cuda", options.engine);
    if (options.device_context != NULL && ops->enqueue == NULL)
        return fail(TW_BAD_ARGUMENT,
                    "options.device_context is given, expected NULL: the %s engine works in none of its caller's",
                    ops->name);
    if (options.device_id != NULL && ops->find == NULL)
        return fail(TW_BAD_ARGUMENT, "options.device_id is set, expected 0: the %s engine does nothing with it",
                    ops->name);
    if (options.parallel_for != NULL && ops->compute == NULL)
        return fail(TW_BAD_ARGUMENT, "options.parallel_for is given, expected NULL: the %s engine has no tasks for it",
                    ops->name);
    if (options.memory_bytes != 0 && ops->enqueue == NULL)
        return fail(TW_BAD_ARGUMENT, "options.memory_bytes is set, expected 0: the %s engine computes in its caller's",
                    ops->name);
    if (options.memory_bytes < 0)
        return fail(TW_BAD_ARGUMENT, "options.memory_bytes is %lld, expected 0 or more",
                    (long long)options.memory_bytes);
    tw_context *made = calloc(1, sizeof *made);
    if (made == NULL) return fail(TW_NO_MEMORY, "no memory for a context of %zu bytes", sizeof *made);
    made->ops = ops;
    made->memory_bytes = options.memory_bytes;
    tw_status status = open_devices(made, &options, despite);
    if (status != TW_OK) {
        free(made);
        return status;
    }
    pthread_mutex_init(&made->testing, NULL);
    if (!read_tuned(made, (options.flags & TW_UNTUNED) == 0)) {
        tw_close(made);
        return TW_NO_MEMORY;
    }
    context_renew(made);
    const char *wish = secure_getenv("TILEWRIGHT_SELF_TEST");
    made->tests = ops->kept_verdict != NULL && !(wish != NULL && strcmp(wish, "off") == 0);
    *context = made;
    return TW_OK;
}

static _Thread_local char not_opened[512]; /* why this thread's last tw_open() failed; "" where it did not */

tw_status tw_open(const tw_options *options, tw_context **context)
{
    HOLD_CANCELLATION;
    if (context == NULL) return fail(TW_BAD_ARGUMENT, "context is NULL");
    tw_status status = context_open(options, false, context);
    snprintf(not_opened, sizeof not_opened, "%s", status == TW_OK ? "" : tw_error_text());
    return status;
}

tw_status context_refuse_default(const tw_context *context)
{
    return fail(TW_NO_KERNEL,
                "the operands are in device memory, the %s engine takes them from the host's only: the context is "
                "NULL, the default one%s%s",
                context->ops->name, not_opened[0] != '\0' ? "; this thread's last tw_open() failed: " : "", not_opened);
}

void tw_close(tw_context *context)
{
    HOLD_CANCELLATION;
    if (context == NULL) return;
    close_devices(context);
    first_use_close(context);
    free(context->tuned);
    free(context);
}

_Atomic(tw_context *) context_default;

/* Of calls with a NULL context, of which a signal handler need not know whether it is open. */
static atomic_uint default_cancelled;
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "for signal handlers");

static atomic_uint *count_of(tw_context *context) { return context != NULL ? &context->cancelled : &default_cancelled; }

void tw_cancel(tw_context *context) { atomic_fetch_add_explicit(count_of(context), 1, memory_order_release); }

stop context_stop(tw_context *context) { return stop_begin(count_of(context)); }

tw_status context_find(tw_context **context)
{
    if (*context != NULL) return TW_OK;
    *context = atomic_load_explicit(&context_default, memory_order_acquire);
    if (*context != NULL) return TW_OK;
    tw_context *made, *expected = NULL;
    TRY(context_open(NULL, false, &made));
    if (atomic_compare_exchange_strong(&context_default, &expected, made)) {
        *context = made;
    } else {
        tw_close(made);
        *context = expected;
    }
    return TW_OK;
}

/* What several devices have together. */
static void describe_all(const tw_context *context, tw_device *out)
{
    char name[sizeof out->name];
    snprintf(name, sizeof name, "%d x %.80s", context->device_count, out->name);
    memcpy(out->name, name, sizeof name);
    for (int i = 1; i < context->device_count; i++) {
        tw_device other;
        context->ops->describe(context->devices[i], &other);
        out->threads += other.threads, out->memory_bytes += other.memory_bytes;
    }
}

tw_status tw_describe(tw_context *context, tw_device *device)
{
    HOLD_CANCELLATION;
    tw_device own;
    if (device == NULL) return fail(TW_BAD_ARGUMENT, "device is NULL");
    TRY(sized_check("device", device->size, DEVICE_FIRST_BYTES));
    TRY(context_find(&context));
    context->ops->describe(context->engine, &own);
    if (context->device_count > 1) describe_all(context, &own);
    sized_store(&own, sizeof own, device);
    return TW_OK;
}
