/* SPDX-License-Identifier: MIT */
#include "file_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "formats/format.h"

#define CHECK_EVERY_NS 1000000000
#define CHANGED        INT64_MIN

#define BLOCK       4096
#define FILES_MOST  4096 /* whose content is in a stamp */
#define BLOCKS_MOST 4096 /* of all, as long as each of these files has BLOCKS_LEAST */
enum { BLOCKS_LEAST = 3, BLOCKS_OF_FILE = 64 };
enum { SOME_FILES = 256, SOME_BLOCKS = 4 };

leat_file_watch_id leat_file_watch_id_in(const struct stat *status)
{
    return (leat_file_watch_id){ .bytes = (uint64_t)status->st_size,
                                 .mtime_ns = (int64_t)status->st_mtim.tv_sec * 1000000000 +
                                             status->st_mtim.tv_nsec };
}

leat_file_watch_stamp leat_file_watch_stamp_of_content(uint64_t n_files)
{
    const uint64_t n = n_files ? n_files : 1, share = BLOCKS_MOST / n;
    return (leat_file_watch_stamp){
        .every = (n + FILES_MOST - 1) / FILES_MOST,
        .n_blocks = share > BLOCKS_OF_FILE ? BLOCKS_OF_FILE
                    : share < BLOCKS_LEAST ? BLOCKS_LEAST
                                           : share,
    };
}

leat_file_watch_stamp leat_file_watch_stamp_of_some(uint64_t n_files)
{
    return (leat_file_watch_stamp){ .every = (n_files + SOME_FILES - 1) / SOME_FILES,
                                    .n_blocks = SOME_BLOCKS,
                                    .some = true };
}

bool leat_file_watch_stamp_skips(leat_file_watch_stamp *stamp)
{
    const bool skips = stamp->some && stamp->every && stamp->n_files % stamp->every != 0;
    stamp->n_files += skips;
    return skips;
}

/* Blocks from the first to the last of a file, which may be all of it. */
static uint64_t digest_blocks(int fd, uint64_t bytes, uint64_t n_most)
{
    uint8_t block[BLOCK];
    const uint64_t all = (bytes + BLOCK - 1) / BLOCK, n = all < n_most ? all : n_most;
    uint64_t digest = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t offset = leat_digest_place(bytes, BLOCK, i, n);
        const ssize_t got = leat_format_pread(fd, block, sizeof block, offset);
        digest = leat_digest_chain(digest, got < 0 ? 0 : leat_digest_row(block, (size_t)got, i));
    }
    return digest;
}

static int add_content(leat_file_watch_stamp *stamp, int folder, const char *path, int fd,
                       uint64_t bytes, leat_error *err)
{
    const int from =
        fd >= 0 ? fd : openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (from < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return leat_fail(err, LEAT_E_IO, "cannot open %s: %s", path, leat_format_open_error(errno));
    const uint64_t content = from < 0 ? 0 : digest_blocks(from, bytes, stamp->n_blocks);
    stamp->digest = leat_digest_chain(stamp->digest, content);
    if (fd < 0 && from >= 0)
        close(from);
    return LEAT_OK;
}

int leat_file_watch_stamp_add(leat_file_watch_stamp *stamp, int folder, const char *path, int fd,
                              const struct stat *status, leat_error *err)
{
    const uint64_t facts[] = { (uint64_t)status->st_size, (uint64_t)status->st_mtim.tv_sec,
                               (uint64_t)status->st_mtim.tv_nsec };
    const leat_file_watch_id id = leat_file_watch_id_in(status);
    const int64_t replaced_ns =
        (int64_t)status->st_ctim.tv_sec * 1000000000 + status->st_ctim.tv_nsec;
    const int64_t ns = id.mtime_ns > replaced_ns ? id.mtime_ns : replaced_ns;
    stamp->digest = leat_digest_chain(stamp->digest, leat_digest_row(facts, sizeof facts, 0));
    stamp->newest_ns = ns > stamp->newest_ns ? ns : stamp->newest_ns;
    const bool reads = stamp->every && stamp->n_files % stamp->every == 0;
    stamp->n_files++;
    return reads && S_ISREG(status->st_mode) ? add_content(stamp, folder, path, fd, id.bytes, err)
                                             : LEAT_OK;
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
    atomic_init(&watch->read, false);
    atomic_init(&watch->next_check_ns, coarse_ns() + CHECK_EVERY_NS);
}

int leat_file_watch_check_now(leat_file_watch *watch, int fd, leat_error *err)
{
    const int rc = leat_file_watch_same(&watch->id, fd, "", err);
    if (rc == LEAT_E_DATA)
        atomic_store_explicit(&watch->next_check_ns, CHANGED, memory_order_relaxed);
    return rc;
}

int leat_file_watch_check_read(leat_file_watch *watch, int fd, leat_error *err)
{
    return atomic_exchange_explicit(&watch->read, false, memory_order_relaxed)
               ? leat_file_watch_check_now(watch, fd, err)
               : LEAT_OK;
}

int leat_file_watch_check(leat_file_watch *watch, int fd, leat_error *err)
{
    const int64_t now = coarse_ns();
    if (!atomic_load_explicit(&watch->read, memory_order_relaxed)) /* threads share the line */
        atomic_store_explicit(&watch->read, true, memory_order_relaxed);
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
