/* SPDX-License-Identifier: MIT
 *
 * counting_malloc.h: counts the allocations of the whole test program, libraries too. Include in
 * one file of a test. COUNTING_MALLOC is not defined under sanitizers, which have their own. */
#ifndef LEAT_COUNTING_MALLOC_H
#define LEAT_COUNTING_MALLOC_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTING_MALLOC_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTING_MALLOC_SANITIZED 1
#endif
#endif

#ifndef COUNTING_MALLOC_SANITIZED
#define COUNTING_MALLOC 1

/* Libraries find them only if they are visible, whatever -fvisibility says. */
#define COUNTING_MALLOC_API __attribute__((visibility("default")))

static atomic_size_t counting_malloc_n;
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

COUNTING_MALLOC_API void *malloc(size_t n)
{
    counting_malloc_n++;
    return __libc_malloc(n);
}

COUNTING_MALLOC_API void *calloc(size_t n, size_t size)
{
    counting_malloc_n++;
    return __libc_calloc(n, size);
}

COUNTING_MALLOC_API void *realloc(void *old, size_t n)
{
    counting_malloc_n++;
    return __libc_realloc(old, n);
}
#endif

#endif
