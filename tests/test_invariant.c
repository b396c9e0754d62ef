/* test_invariant.c - with TW_INVARIANT a row of C has the same bits whatever is computed beside it: every type of the
 * CPU, one thread and three; and on CUDA, where without the flag a row is found that has not. */
#include <stdlib.h>

#include "invariant.h"
#include "support/tap.h"
#include "tilewright_lab.h"

static void search_case(const char *engine, tw_dtype dtype, int threads, uint32_t flags, int draws, int64_t most_work)
{
    if (!tap_case("%s %s, %d threads%s: rows alone, among others, as they lie, in a batch", engine,
                  tw_lab_dtype_of(dtype)->name, threads, flags == 0 ? ", without the flag a row differs" : ""))
        return;
    const bool cuda = engine[0] == 'c' && engine[1] == 'u';
    invariant_search s = {
        .dtype = dtype, .cuda_device = cuda ? 0 : -1, .most_work = most_work, .flags = flags, .seed = 71};
    tw_status status = tw_open(&(tw_options){.size = sizeof(tw_options), .engine = engine, .threads = threads},
                               &s.context);
    if (status == TW_NO_DEVICE) {
        tap_skip(tw_error_text());
        return;
    }
    for (int i = 0; status == TW_OK && !s.differs && i < draws; i++) status = invariant_draw(&s, (uint64_t)i);
    tap_result(status == TW_OK && (flags == 0 ? s.differs : !s.differs && s.products == 3 * draws), "%s%s, %d products",
               s.text, status == TW_OK ? "" : tw_error_text(), (int)s.products);
    tw_close(s.context);
}

int main(int argc, char **argv)
{
    static const tw_dtype on_cpu[] = {TW_F32, TW_F64, TW_BF16, TW_F16, TW_CF32, TW_CF64,
                                      TW_I8,  TW_U8,  TW_I16,  TW_I32, TW_I64},
                          on_cuda[] = {TW_F32, TW_F64, TW_BF16, TW_F16, TW_TF32, TW_I8};
    tap_start(argc, argv);
    for (size_t i = 0; !tap.gpu && i < sizeof on_cpu / sizeof *on_cpu; i++)
        for (int threads = 1; threads <= 3; threads += 2)
            search_case("cpu", on_cpu[i], threads, TW_INVARIANT, tap.full ? 60 : 8, tap.full ? 1 << 24 : 1 << 21);
    for (size_t i = 0; i < sizeof on_cuda / sizeof *on_cuda; i++)
        search_case("cuda", on_cuda[i], 0, TW_INVARIANT, tap.full ? 300 : 30, (int64_t)1 << 29);
    search_case("cuda", TW_F32, 0, 0, 300, (int64_t)1 << 29);
    return tap_finish();
}
