/* shared.cuh - an address in shared memory as instructions take it. */
#ifndef TILEWRIGHT_SHARED
#define TILEWRIGHT_SHARED

static __device__ __forceinline__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

#endif
