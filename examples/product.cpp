/* product.cpp - a context that C++ closes by itself, and errors as exceptions.
 *
 * Prints
 *     4 5
 *     10 11
 *     ldb is 1, expected at least 2, the stored columns of b (3 x 2) */
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <tilewright.h>
#include <vector>

static void check(tw_status status)
{
    if (status != TW_OK) throw std::runtime_error(tw_error_text());
}

int main()
{
    try {
        tw_context *opened = nullptr;
        check(tw_open(nullptr, &opened));
        std::unique_ptr<tw_context, decltype(&tw_close)> context(opened, tw_close);
        const std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1, 0, 0, 1, 1, 1};
        std::vector<float> c(4);
        check(tw_sgemm(context.get(), TW_N, TW_N, 2, 2, 3, 1, a.data(), 3, b.data(), 2, 0, c.data(), 2));
        std::printf("%g %g\n%g %g\n", c[0], c[1], c[2], c[3]);
        check(tw_sgemm(context.get(), TW_N, TW_N, 2, 2, 3, 1, a.data(), 3, b.data(), 1, 0, c.data(), 2));
    } catch (const std::runtime_error &error) {
        std::printf("%s\n", error.what());
    }
}
