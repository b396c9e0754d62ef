! blas.f90 - dgemm from Fortran: the program knows the reference's interface alone, libtilewright_blas has it.
!
! Prints
!     4.0 5.0
!     10.0 11.0
program blas
    implicit none
    double precision :: a(2, 3), b(3, 2), c(2, 2)
    external :: dgemm
    a = reshape([1d0, 4d0, 2d0, 5d0, 3d0, 6d0], [2, 3])
    b = reshape([1d0, 0d0, 1d0, 0d0, 1d0, 1d0], [3, 2])
    call dgemm('N', 'N', 2, 2, 3, 1d0, a, 2, b, 3, 0d0, c, 2)
    print '(f0.1, 1x, f0.1)', c(1, 1), c(1, 2), c(2, 1), c(2, 2)
end program
