/* What a test harness tells Fencepost: where the operations of a data structure begin and end, and what came of them.

       fencepost_op_begin("dequeue");
       int value = dequeue(&queue);
       fencepost_op_end();
       fencepost_observe("first consumer", value);

   `fencepost test --spec atomic` then reports every execution whose observations no execution has in which each
   operation takes effect at once. Outside of Fencepost all of this does nothing, and nothing has to be linked.

   An outcome is the last value of each key at the end of the program. Observe results, never addresses, and give each
   thread keys of its own. Operations of one thread do not overlap; inside another one, an operation is part of it. */
#ifndef FENCEPOST_H
#define FENCEPOST_H

#ifdef __cplusplus
extern "C" {
#endif

/* The runtime's part: there if the program runs under Fencepost. Strings have a length, or end with 0 if it is -1. */
extern void __fencepost_op_begin(const char *name, long length) __attribute__((weak));
extern void __fencepost_op_end(void) __attribute__((weak));
extern void __fencepost_observe(const char *key, long length, long long value) __attribute__((weak));
extern int __fencepost_dcas(volatile void *a, volatile void *b, unsigned long old_a, unsigned long old_b,
                            unsigned long new_a, unsigned long new_b) __attribute__((weak));

#ifdef __cplusplus
}
#endif

/* These are macros so that findings name the line of the harness. */

/* The calling thread begins an operation: fencepost_op_begin(const char *name). */
#define fencepost_op_begin(name) (__fencepost_op_begin ? __fencepost_op_begin((name), -1) : (void)0)

/* The calling thread has completed its operation: fencepost_op_end(). */
#define fencepost_op_end() (__fencepost_op_end ? __fencepost_op_end() : (void)0)

/* The execution has this result: fencepost_observe(const char *key, long long value). */
#define fencepost_observe(key, value) (__fencepost_observe ? __fencepost_observe((key), -1, (value)) : (void)0)

/* Two words of memory at once: fencepost_dcas(a, b, old_a, old_b, new_a, new_b). If *a is old_a and *b is old_b, they
   become new_a and new_b, and the result is 1, otherwise 0. To all other threads that is one step. It orders no other
   accesses than a relaxed compare-exchange does. No processor has this: it is for algorithms that are published with
   it, and a program that is not run by Fencepost ends here. */
#define fencepost_dcas(a, b, old_a, old_b, new_a, new_b) \
    (__fencepost_dcas ? __fencepost_dcas((a), (b), (unsigned long)(old_a), (unsigned long)(old_b), \
                                         (unsigned long)(new_a), (unsigned long)(new_b)) \
                      : (__builtin_trap(), 0))

#endif
