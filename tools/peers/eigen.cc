/* eigen.cc - Eigen's product of two dense matrices, compiled for the processor that compiles it. */
#include "shim.h"

#include <Eigen/Core>
#include <cstdio>
#include <cstring>

template <typename Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename Real>
using View = Eigen::Map<const Matrix<Real>, 0, Eigen::OuterStride<>>;

template <typename Real>
static void multiply(int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb,
                     void *c, int64_t ldc)
{
    View<Real> x(static_cast<const Real *>(a), transpose_a ? k : m, transpose_a ? m : k, Eigen::OuterStride<>(lda));
    View<Real> y(static_cast<const Real *>(b), transpose_b ? n : k, transpose_b ? k : n, Eigen::OuterStride<>(ldb));
    Eigen::Map<Matrix<Real>, 0, Eigen::OuterStride<>> z(static_cast<Real *>(c), m, n, Eigen::OuterStride<>(ldc));
    if (transpose_a && transpose_b) z.noalias() = x.transpose() * y.transpose();
    else if (transpose_a) z.noalias() = x.transpose() * y;
    else if (transpose_b) z.noalias() = x * y.transpose();
    else z.noalias() = x * y;
}

int peer_gemm(int is_f64, int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda, const void *b,
              int64_t ldb, void *c, int64_t ldc)
{
    if (is_f64) multiply<double>(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc);
    else multiply<float>(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc);
    return 0;
}

void peer_set_threads(int threads)
{
    Eigen::setNbThreads(threads);
}

const char *peer_version(void)
{
    static char text[48];
#ifdef EIGEN_VERSION_STRING
    std::snprintf(text, sizeof text, "Eigen %s", EIGEN_VERSION_STRING);
#else
    std::snprintf(text, sizeof text, "Eigen %d.%d.%d", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
#endif
    return text;
}

const char *peer_choice(void)
{
    static char first[48]; /* "AVX512, FMA, AVX2, ...": the widest */
    const char *all = Eigen::SimdInstructionSetsInUse();
    std::snprintf(first, sizeof first, "%.*s", static_cast<int>(std::strcspn(all, ",")), all);
    return first;
}
