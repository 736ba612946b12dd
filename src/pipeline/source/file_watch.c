/* SPDX-License-Identifier: MIT */
#include "file_watch.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/digest.h"

#define CHECK_EVERY_NS 1000000000
#define CHANGED        INT64_MIN

leat_file_watch_id leat_file_watch_id_in(const struct stat *status)
{
    return (leat_file_watch_id){ .bytes = (uint64_t)status->st_size,
                                 .mtime_ns = (int64_t)status->st_mtim.tv_sec * 1000000000 +
                                             status->st_mtim.tv_nsec };
}

void leat_file_watch_stamp_add(leat_file_watch_stamp *stamp, const struct stat *status)
{
    const uint64_t facts[] = { (uint64_t)status->st_size, (uint64_t)status->st_mtim.tv_sec,
                               (uint64_t)status->st_mtim.tv_nsec };
    const int64_t ns = leat_file_watch_id_in(status).mtime_ns;
    stamp->digest = leat_digest_chain(stamp->digest, leat_digest_row(facts, sizeof facts, 0));
    stamp->newest_ns = ns > stamp->newest_ns ? ns : stamp->newest_ns;
}

int leat_file_watch_id_of(int fd, leat_file_watch_id *out)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return LEAT_E_IO;
    *out = leat_file_watch_id_in(&status);
    return LEAT_OK;
}

int leat_file_watch_same(const leat_file_watch_id *id, int fd, const char *path, leat_error *err)
{
    leat_file_watch_id now;
    const char *const colon = *path ? ": " : "";
    if (leat_file_watch_id_of(fd, &now) < 0)
        return leat_fail(err, LEAT_E_IO, "%s%s%s", path, colon, strerror(errno));
    if (now.bytes != id->bytes)
        return leat_fail(err, LEAT_E_DATA,
                         "%s%sthe file was changed while it was in use: it had %llu bytes and has "
                         "%llu now; open the data again",
                         path, colon, (unsigned long long)id->bytes, (unsigned long long)now.bytes);
    if (now.mtime_ns != id->mtime_ns)
        return leat_fail(
            err, LEAT_E_DATA,
            "%s%sthe file was changed while it was in use: it was written to; open the "
            "data again",
            path, colon);
    return LEAT_OK;
}

/* A cheap clock, exact to a few milliseconds. */
static int64_t coarse_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void leat_file_watch_init(leat_file_watch *watch, const leat_file_watch_id *id)
{
    watch->id = *id;
    atomic_init(&watch->next_check_ns, coarse_ns() + CHECK_EVERY_NS);
}

int leat_file_watch_check_now(leat_file_watch *watch, int fd, leat_error *err)
{
    const int rc = leat_file_watch_same(&watch->id, fd, "", err);
    if (rc == LEAT_E_DATA)
        atomic_store_explicit(&watch->next_check_ns, CHANGED, memory_order_relaxed);
    return rc;
}

int leat_file_watch_check(leat_file_watch *watch, int fd, leat_error *err)
{
    const int64_t now = coarse_ns();
    int64_t next = atomic_load_explicit(&watch->next_check_ns, memory_order_relaxed);
    if (now < next && next != CHANGED)
        return LEAT_OK;
    /* Only one of the threads that get here checks the file. */
    if (next != CHANGED &&
        !atomic_compare_exchange_strong_explicit(&watch->next_check_ns, &next, now + CHECK_EVERY_NS,
                                                 memory_order_relaxed, memory_order_relaxed))
        return LEAT_OK;
    return leat_file_watch_check_now(watch, fd, err);
}
