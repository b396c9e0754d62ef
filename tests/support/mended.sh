#!/bin/sh
# mended.sh - what a reference BLAS tells its handlers, with the numbers that it has since July 2026. In row-major calls an older one
# gives gemm's TransB a 2 and a rank update's uplo a 3. Read by other scripts.
mended() {
    sed -z -e 's/ 2 Illegal TransB/ 3 Illegal TransB/g; s/\(cblas_[a-z]*\(syr\|her\)[2k]*\) 3 Illegal Uplo/\1 2 Illegal Uplo/g' \
        -e 's/Parameter 2\( to routine [a-z0-9_]* was incorrect\nIllegal TransB\)/Parameter 3\1/g' \
        -e 's/Parameter 3\( to routine cblas_[a-z]*\(syr\|her\)[2k]* was incorrect\nIllegal Uplo\)/Parameter 2\1/g'
}
