/* A stand-in for the runtime: the calls that compilers emit for -fsanitize=thread, each doing natively what the program
   asked for. Enough to link and run programs in the tests of this crate without the real runtime. */
#include <stddef.h>
#include <string.h>

void __tsan_init(void) {}
void __tsan_func_entry(void *pc) { (void)pc; }
void __tsan_func_exit(void) {}
void __tsan_vptr_update(void **vptr, void *new_value) { (void)vptr, (void)new_value; }
void __tsan_vptr_read(void **vptr) { (void)vptr; }
void __tsan_read_range(void *p, size_t n) { (void)p, (void)n; }
void __tsan_write_range(void *p, size_t n) { (void)p, (void)n; }
void *__tsan_memcpy(void *to, const void *from, size_t n) { return memcpy(to, from, n); }
void *__tsan_memmove(void *to, const void *from, size_t n) { return memmove(to, from, n); }
void *__tsan_memset(void *p, int c, size_t n) { return memset(p, c, n); }
void __tsan_atomic_thread_fence(int order) { (void)order, __atomic_thread_fence(5); }
void __tsan_atomic_signal_fence(int order) { (void)order; }

#define PLAIN(n)                                                                                                       \
    void __tsan_read##n(void *p) { (void)p; }                                                                          \
    void __tsan_write##n(void *p) { (void)p; }                                                                         \
    void __tsan_unaligned_read##n(void *p) { (void)p; }                                                                \
    void __tsan_unaligned_write##n(void *p) { (void)p; }                                                               \
    void __tsan_volatile_read##n(void *p) { (void)p; }                                                                 \
    void __tsan_volatile_write##n(void *p) { (void)p; }                                                                \
    void __tsan_unaligned_volatile_read##n(void *p) { (void)p; }                                                       \
    void __tsan_unaligned_volatile_write##n(void *p) { (void)p; }                                                      \
    void __tsan_read_write##n(void *p) { (void)p; }
PLAIN(1) PLAIN(2) PLAIN(4) PLAIN(8) PLAIN(16)

#define RMW(bits, T, name)                                                                                             \
    T __tsan_atomic##bits##_fetch_##name(volatile T *p, T v, int order) {                                              \
        (void)order;                                                                                                   \
        return __atomic_fetch_##name(p, v, 5);                                                                         \
    }
#define ATOMIC(bits, T)                                                                                                \
    T __tsan_atomic##bits##_load(const volatile T *p, int order) { (void)order; return __atomic_load_n(p, 5); }        \
    void __tsan_atomic##bits##_store(volatile T *p, T v, int order) { (void)order; __atomic_store_n(p, v, 5); }        \
    T __tsan_atomic##bits##_exchange(volatile T *p, T v, int order) {                                                  \
        (void)order;                                                                                                   \
        return __atomic_exchange_n(p, v, 5);                                                                           \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T *p, T *old, T v, int order, int fail) {               \
        (void)order, (void)fail;                                                                                       \
        return __atomic_compare_exchange_n(p, old, v, 0, 5, 5);                                                        \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T *p, T *old, T v, int order, int fail) {                 \
        (void)order, (void)fail;                                                                                       \
        return __atomic_compare_exchange_n(p, old, v, 0, 5, 5);                                                        \
    }                                                                                                                  \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T *p, T old, T v, int order, int fail) {                     \
        (void)order, (void)fail;                                                                                       \
        __atomic_compare_exchange_n(p, &old, v, 0, 5, 5);                                                              \
        return old;                                                                                                    \
    }                                                                                                                  \
    RMW(bits, T, add) RMW(bits, T, sub) RMW(bits, T, and) RMW(bits, T, or) RMW(bits, T, xor) RMW(bits, T, nand)
ATOMIC(8, char)
ATOMIC(16, short)
ATOMIC(32, int)
ATOMIC(64, long)
