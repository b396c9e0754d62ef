/* cosma.cc - COSMA for tools/pblas_bench.c: A, B and C of an f64 product of n x n x n as COSMA lays them out over the ranks,
 * and the product of these. cosma_pdgemm_() comes with its library. */
#include <cosma/multiply.hpp>

namespace {
struct product {
    cosma::Strategy strategy;
    std::unique_ptr<cosma::cosma_context<double>> context = cosma::make_context<double>();
    cosma::CosmaMatrix<double> matrix[3];

    product(int n, int rank, int ranks)
        : strategy(n, n, n, (size_t)ranks, cosma::get_cpu_max_memory<double>(), false,
                   cosma::get_overlap_comm_and_comp()),
          matrix{{context, 'A', strategy, rank}, {context, 'B', strategy, rank}, {context, 'C', strategy, rank}}
    {
    }
};
product *made;
} // namespace

extern "C" {
/* Elements that this rank holds of A, B and C. */
void peer_cosma_make(int n, int64_t count[3])
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    made = new product(n, rank, ranks);
    for (int x = 0; x < 3; x++) count[x] = (int64_t)made->matrix[x].matrix_size();
}

/* An element of a matrix, and its row and column. The memory pool may move it when a product is computed. */
double *peer_cosma_element(int matrix, int64_t element, int64_t *row, int64_t *col)
{
    const auto at = made->matrix[matrix].global_coordinates((int)element);
    *row = at.first, *col = at.second;
    return made->matrix[matrix].matrix_pointer() + element;
}

void peer_cosma_multiply()
{
    cosma::multiply(made->matrix[0], made->matrix[1], made->matrix[2], made->strategy, MPI_COMM_WORLD, 1.0, 0.0);
}
}
