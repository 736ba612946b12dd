/* SPDX-License-Identifier: MIT
 *
 * failing_malloc.h: malloc, calloc and realloc of the whole test program (libraries too) that can
 * be told to fail once, at the n-th call from now. Include in one file of a test.
 *
 *     for (long n = 0; failing_malloc_at(n), rc = work(), failing_malloc_hit(); n++)
 *         assert_int_equal(rc, LEAT_E_NOMEM); */
#ifndef LEAT_FAILING_MALLOC_H
#define LEAT_FAILING_MALLOC_H

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static atomic_long failing_malloc_left = -1; /* calls until the one that fails; < 0: none will */
static atomic_bool failing_malloc_failed;

/* Makes the n-th allocation from now (0: the next) fail. */
static inline void failing_malloc_at(long n)
{
    failing_malloc_failed = false;
    failing_malloc_left = n;
}

/* Was it reached? Nothing fails from here on. */
static inline bool failing_malloc_hit(void)
{
    failing_malloc_left = -1;
    return failing_malloc_failed;
}

static bool failing_malloc_now(void)
{
    if (failing_malloc_left < 0 || failing_malloc_left-- > 0)
        return false;
    failing_malloc_failed = true;
    errno = ENOMEM;
    return true;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FAILING_MALLOC_DLSYM 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FAILING_MALLOC_DLSYM 1
#endif
#endif

#ifdef FAILING_MALLOC_DLSYM
/* The sanitizer's functions come next; what is asked for before they are known (dlsym itself may
 * ask) comes from a small buffer that is never given back. */
static void *failing_malloc_next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}
#define FAILING_MALLOC_REAL(type, name, arguments, ...)                                            \
    static type(*next) arguments;                                                                  \
    if (!next) {                                                                                   \
        void *found = failing_malloc_next(#name);                                                  \
        memcpy(&next, &found, sizeof next);                                                        \
    }                                                                                              \
    return next(__VA_ARGS__)
#else
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
#define FAILING_MALLOC_REAL(type, name, arguments, ...) return __libc_##name(__VA_ARGS__)
#endif

/* Shared libraries must find them too, whatever visibility the program is compiled with. */
#pragma GCC visibility push(default)
void *malloc(size_t n)
{
    if (failing_malloc_now())
        return NULL;
    FAILING_MALLOC_REAL(void *, malloc, (size_t), n);
}

void *calloc(size_t n, size_t size)
{
    if (failing_malloc_now())
        return NULL;
    FAILING_MALLOC_REAL(void *, calloc, (size_t, size_t), n, size);
}

void *realloc(void *old, size_t n)
{
    if (failing_malloc_now())
        return NULL;
    FAILING_MALLOC_REAL(void *, realloc, (void *, size_t), old, n);
}
#pragma GCC visibility pop

#endif
