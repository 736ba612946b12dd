/* SPDX-License-Identifier: MIT
 *
 * failing_malloc.h: malloc, calloc and realloc of the whole test program (libraries too) that can
 * be told to fail once, at the n-th call from now. Include in one file of a test.
 *
 *     for (long n = 0; failing_malloc_at(n), rc = work(), failing_malloc_hit(); n++)
 *         assert_int_equal(rc, LEAT_E_NOMEM); */
#ifndef LEAT_FAILING_MALLOC_H
#define LEAT_FAILING_MALLOC_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static atomic_long failing_malloc_left = -1; /* calls until the one that fails; < 0: none will */
static atomic_bool failing_malloc_failed;
static pthread_t failing_malloc_thread; /* that called failing_malloc_at() */

/* Makes the n-th allocation from now (0: the next) fail. */
static inline void failing_malloc_at(long n)
{
    failing_malloc_failed = false;
    failing_malloc_thread = pthread_self();
    failing_malloc_left = n;
}

/* Was it reached? Nothing fails from here on. */
static inline bool failing_malloc_hit(void)
{
    failing_malloc_left = -1;
    return failing_malloc_failed;
}

/* The sanitizers allocate before they are ready for their own instrumentation. */
#if defined(__clang__)
#define FAILING_MALLOC_PLAIN __attribute__((disable_sanitizer_instrumentation))
#else
#define FAILING_MALLOC_PLAIN __attribute__((no_sanitize_address, no_sanitize_thread))
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FAILING_MALLOC_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FAILING_MALLOC_SANITIZED 1
#endif
#endif

/* A sanitizer allocates for each thread that starts, and ends the program when that fails. */
FAILING_MALLOC_PLAIN static bool failing_malloc_concerns(void)
{
#ifdef FAILING_MALLOC_SANITIZED
    return pthread_equal(pthread_self(), failing_malloc_thread);
#else
    return true;
#endif
}

FAILING_MALLOC_PLAIN static bool failing_malloc_now(void)
{
    if (failing_malloc_left < 0 || !failing_malloc_concerns() || failing_malloc_left-- > 0)
        return false;
    failing_malloc_failed = true;
    errno = ENOMEM;
    return true;
}

/* The sanitizers and the C library both have second names for their own. */
#ifdef FAILING_MALLOC_SANITIZED
#define FAILING_MALLOC_REAL(name) __interceptor_##name
#else
#define FAILING_MALLOC_REAL(name) __libc_##name
#endif
extern void *FAILING_MALLOC_REAL(malloc)(size_t);
extern void *FAILING_MALLOC_REAL(calloc)(size_t, size_t);
extern void *FAILING_MALLOC_REAL(realloc)(void *, size_t);

/* Shared libraries must find them too, whatever visibility the program is compiled with. */
#pragma GCC visibility push(default)
FAILING_MALLOC_PLAIN void *malloc(size_t n)
{
    return failing_malloc_now() ? NULL : FAILING_MALLOC_REAL(malloc)(n);
}

FAILING_MALLOC_PLAIN void *calloc(size_t n, size_t size)
{
    return failing_malloc_now() ? NULL : FAILING_MALLOC_REAL(calloc)(n, size);
}

FAILING_MALLOC_PLAIN void *realloc(void *old, size_t n)
{
    return failing_malloc_now() ? NULL : FAILING_MALLOC_REAL(realloc)(old, n);
}
#pragma GCC visibility pop

#endif
