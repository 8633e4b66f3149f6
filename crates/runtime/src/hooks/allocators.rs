//! Allocators that libraries bring along, which come without instrumentation: what they order when they hand a block
//! from one thread to another could not be seen. The program gets its memory from the one heap that is watched.

use super::{hook, memory};

// oneTBB's, for containers; their alignment is that of a cache line.
const CACHE_LINE: usize = 128;

hook! { fn _ZN3tbb6detail2r115allocate_memoryEm(size: usize) -> usize {
    memory::allocate(size, 16, false)
} }

hook! { fn _ZN3tbb6detail2r117deallocate_memoryEPv(block: usize) {
    memory::release(block)
} }

hook! { fn _ZN3tbb6detail2r122cache_aligned_allocateEm(size: usize) -> usize {
    memory::allocate(size.max(1), CACHE_LINE, false)
} }

hook! { fn _ZN3tbb6detail2r124cache_aligned_deallocateEPv(block: usize) {
    memory::release(block)
} }
