/* SPDX-License-Identifier: MIT
 *
 * kill_at.c: a library for LD_PRELOAD that kills its process right before the n-th call of rename() or
 * unlink(): LEAT_KILL_AT=N. */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int n_calls;

static void *count_and_find(const char *name)
{
    const char *const at = getenv("LEAT_KILL_AT");
    if (at && atoi(at) == atomic_fetch_add(&n_calls, 1) + 1)
        kill(getpid(), SIGKILL);
    void *const found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

__attribute__((visibility("default"))) int rename(const char *from, const char *to)
{
    int (*call)(const char *, const char *);
    void *const found = count_and_find("rename");
    memcpy(&call, &found, sizeof call);
    return call(from, to);
}

__attribute__((visibility("default"))) int unlink(const char *path)
{
    int (*call)(const char *);
    void *const found = count_and_find("unlink");
    memcpy(&call, &found, sizeof call);
    return call(path);
}
