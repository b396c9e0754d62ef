/* boxes.cuh - TMA copies of batches at strides: an operand of all items is one tensor of three dimensions, the third
 * the item, and a tile of an item is one box. Loads fill with zeros outside an item; stores write nothing there. After
 * hopper.cuh.
 *
 * SOURCE    PTX ISA: cp.async.bulk.tensor, its swizzles */

static __device__ __forceinline__ void fetch_box(void *to, const tensor_map *map, int x, int y, int item, barrier *bar)
{
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
            "r"(shared_address(to)),
        "l"(map), "r"(x), "r"(y), "r"(item), "r"(shared_address(bar))
        : "memory");
}

static __device__ __forceinline__ void store_box(const tensor_map *map, int x, int y, int item, const void *from)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map), "r"(x),
                 "r"(y), "r"(item), "r"(shared_address(from))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
