/* SPDX-License-Identifier: MIT
 *
 * check.h: leat_check(condition) states an invariant of our own code. Debug and sanitizer builds abort where
 * it is false; other builds do not evaluate it. Every room may use it. Input is never checked with it. */
#ifndef LEAT_CHECK_H
#define LEAT_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#ifdef __has_feature /* clang; gcc defines the macros itself */
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

/* RelWithDebInfo defines NDEBUG, so sanitizers are asked for by name. */
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LEAT_CHECKS 1
#else
#define LEAT_CHECKS 0
#endif

static inline _Noreturn void leat_check_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: leat_check(%s) failed\n", file, line, condition);
    abort();
}

/* The compiler sees the condition in every build, so it always compiles, and its variables count as used. */
#define leat_check(condition)                                                                      \
    ((LEAT_CHECKS && !(condition)) ? leat_check_failed(__FILE__, __LINE__, #condition) : (void)0)

#endif
