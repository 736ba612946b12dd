/* SPDX-License-Identifier: MIT
 *
 * cache_file.c: the file of a cache: opens or creates it, reads and writes entries. cache.c calls it.
 * Only the process with the writer's lock writes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/working_folder.h"
#include "cache_impl.h"
#include "formats/format.h"
#include "formats/link.h"

#define CHUNK_PLACES 4096
/* Opening a pipe must not block. */
#define OPEN_FLAGS (O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW)

/* --- reading and writing ------------------------------------------------------------------------- */

bool leat_cache_file_read(leat_cache *cache, uint8_t *to, size_t size, uint64_t offset)
{
    const uint32_t every = cache->faults.unread_every;
    if (every && (atomic_fetch_add(&cache->n_accesses, 1) + 1) % every == 0)
        return false;
    return leat_format_pread(cache->fd, to, size, offset) == (ssize_t)size;
}

/* pwrite() with the faults that tests inject. */
static ssize_t write_some(leat_cache *cache, const uint8_t *from, size_t size, uint64_t offset)
{
    const leat_cache_faults *const f = &cache->faults;
    if (f->write_errno || (f->room && offset + size > f->room)) {
        errno = f->write_errno ? f->write_errno : ENOSPC;
        return -1;
    }
    if (f->short_every && size > 1 &&
        (atomic_fetch_add(&cache->n_accesses, 1) + 1) % f->short_every == 0)
        size /= 2;
    return pwrite(cache->fd, from, size, (off_t)offset);
}

/* LEAT_OK or an errno. */
static int write_all(leat_cache *cache, const uint8_t *from, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = write_some(cache, from + done, size - done, offset + done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0)
            return ENOSPC;
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

bool leat_cache_file_write(leat_cache *cache, uint64_t record, const uint8_t *entry, size_t size,
                           uint64_t offset)
{
    const leat_cache_place place = { offset, size };
    uint8_t bytes[LEAT_CACHE_PLACE_BYTES];
    leat_cache_place_write(&place, bytes);
    int failed = write_all(cache, entry, size, offset);
    if (!failed)
        failed = write_all(cache, bytes, sizeof bytes,
                           LEAT_CACHE_HEADER_BYTES + record * LEAT_CACHE_PLACE_BYTES);
    if (failed)
        leat_cache_stop(cache, "it takes no more samples: writing failed: %s", strerror(failed));
    return !failed;
}

/* --- opening ------------------------------------------------------------------------------------- */

static int fail_path(const leat_cache *cache, leat_error *err, const char *what)
{
    return leat_fail(err, LEAT_E_IO, "%s: %s: %s", cache->path, what, strerror(errno));
}

/* error: errno of the first try. errno: of the last try. */
static int fail_open(const leat_cache *cache, int error, leat_error *err)
{
    const char *const slash = strrchr(cache->path, '/');
    const int n = slash ? (int)(slash - cache->path) + (slash == cache->path) : 1;
    const char *const folder = slash ? cache->path : ".";
    const char *const what = errno == ENOENT ? "cannot create it" : "cannot open it";
    char text[1024];
    struct stat status;
    snprintf(text, sizeof text, "%.*s", n, folder);
    if (fstatat(cache->folder, text, &status, 0) < 0)
        return leat_fail(
            err, LEAT_E_IO,
            "%s: cannot create it: folder %s: %s; create that folder, or give the cache "
            "another file",
            cache->path, text, strerror(errno));
    return leat_fail(err, LEAT_E_IO,
                     "%s: %s in folder %s: %s; give the cache a file that this process may write",
                     cache->path, what, text, leat_format_open_error(error));
}

static void become_reader(leat_cache *cache, const char *why)
{
    cache->is_reader = true;
    snprintf(cache->note, sizeof cache->note, "%s", why);
}

/* Takes the writer's lock on a descriptor of its own. The reader's I/O can keep the other descriptor,
 * and so its lock, alive for a moment after it was closed or the process was killed. */
static int take_lock(leat_cache *cache, const char *name, const struct stat *status,
                     leat_error *err)
{
    struct stat locked;
    cache->lock_fd = open(name, O_RDWR | OPEN_FLAGS);
    if (cache->lock_fd < 0 || fstat(cache->lock_fd, &locked) < 0)
        return fail_path(cache, err, "cannot open it to lock it");
    if (locked.st_ino != status->st_ino || locked.st_dev != status->st_dev)
        return leat_fail(err, LEAT_E_IO, "%s was replaced while it was being opened: try again",
                         cache->path);
    if (flock(cache->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return LEAT_OK;
    if (errno != EWOULDBLOCK)
        return fail_path(cache, err, "cannot lock it; choose a folder on a local disk");
    become_reader(cache, "read-only: another process or plan writes to it");
    return LEAT_OK;
}

/* Opens the file for writing, or for reading if writing is not allowed. `name`: where links lead. */
static int open_name(leat_cache *cache, const char *name, struct stat *status, leat_error *err)
{
    cache->fd = open(name, O_RDWR | O_CREAT | OPEN_FLAGS, 0666);
    const int error = errno;
    if (cache->fd < 0 && (error == EACCES || error == EROFS || error == EPERM)) {
        cache->fd = open(name, O_RDONLY | OPEN_FLAGS);
        become_reader(cache, "read-only: this process may not write to it");
    }
    if (cache->fd < 0)
        return fail_open(cache, error, err);
    if (fstat(cache->fd, status) < 0)
        return fail_path(cache, err, "cannot get its status");
    if (!S_ISREG(status->st_mode))
        return leat_fail(err, LEAT_E_IO, "%s is not a regular file", cache->path);
    return cache->is_reader ? LEAT_OK : take_lock(cache, name, status, err);
}

static int open_path(leat_cache *cache, struct stat *status, leat_error *err)
{
    char *name;
    leat_format_error why;
    char *const at = leat_working_folder_name(cache->folder, cache->path);
    if (!at)
        return leat_fail(err, LEAT_E_NOMEM, "%s: no memory for its name", cache->path);
    int rc = leat_link_follow(at, &name, &why);
    free(at);
    if (rc < 0) {
        leat_working_folder_shorten(cache->folder, why.text);
        return leat_fail(err, rc == LEAT_FORMAT_NOMEM ? LEAT_E_NOMEM : LEAT_E_IO, "%s", why.text);
    }
    rc = open_name(cache, name, status, err);
    free(name);
    return rc;
}

/* Largest file that this process may write; beyond it, the kernel sends a signal. */
static uint64_t size_limit(void)
{
    const uint64_t most = (uint64_t)INT64_MAX / 2;
    struct rlimit file;
    if (getrlimit(RLIMIT_FSIZE, &file) < 0 || file.rlim_cur > most)
        return most;
    return (uint64_t)file.rlim_cur;
}

/* True: the file is empty, or was cut inside a header of this same pipeline. It holds no samples. */
static bool has_no_header(leat_cache *cache, const struct stat *status,
                          const uint8_t header[LEAT_CACHE_HEADER_BYTES])
{
    uint8_t is[LEAT_CACHE_HEADER_BYTES];
    const size_t n = (size_t)status->st_size;
    return n == 0 || (n >= LEAT_CACHE_HEADER_LEAST && n < sizeof is &&
                      leat_cache_file_read(cache, is, n, 0) && !memcmp(is, header, n));
}

/* The writer writes the header of a new file; a reader waits up to a second for it. */
static int settle_header(leat_cache *cache, struct stat *status, leat_error *err)
{
    uint8_t header[LEAT_CACHE_HEADER_BYTES];
    leat_cache_header_write(&cache->origin, header);
    if (!cache->is_reader && has_no_header(cache, status, header)) {
        errno = size_limit() < sizeof header ? EFBIG : write_all(cache, header, sizeof header, 0);
        if (errno)
            return fail_path(cache, err, "cannot write its header");
    }
    for (int i = 0; status->st_size < (off_t)sizeof header && i < 100; i++) {
        if (fstat(cache->fd, status) < 0)
            return fail_path(cache, err, "cannot get its status");
        if (status->st_size < (off_t)sizeof header && cache->is_reader)
            nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    return LEAT_OK;
}

static int check_header(leat_cache *cache, leat_error *err)
{
    uint8_t header[LEAT_CACHE_HEADER_BYTES];
    leat_cache_origin is;
    const ssize_t n = leat_format_pread(cache->fd, header, sizeof header, 0);
    if (n < 0)
        return fail_path(cache, err, "cannot read it");
    int rc = leat_cache_header_read(header, (size_t)n, &is, err);
    if (rc >= 0)
        rc = leat_cache_origin_check(&is, &cache->origin, err);
    if (rc >= 0)
        return rc;
    return leat_fail_in(err, rc, "delete %s or give the cache another file: ", cache->path);
}

/* Loads a chunk of places. *end: raised to the end of the last entry. */
static void take_places(leat_cache *cache, const uint8_t *bytes, uint64_t record, uint64_t n,
                        uint64_t file_bytes, uint64_t *end)
{
    for (uint64_t i = 0; i < n; i++) {
        leat_cache_place place;
        if (!leat_cache_place_read(bytes + i * LEAT_CACHE_PLACE_BYTES, cache->first, file_bytes,
                                   &place) ||
            place.bytes / LEAT_CACHE_UNIT > UINT32_MAX)
            continue;
        atomic_store_explicit(&cache->units[record + i], (uint32_t)(place.bytes / LEAT_CACHE_UNIT),
                              memory_order_relaxed);
        atomic_store_explicit(&cache->words[record + i], leat_entry_word(place.offset),
                              memory_order_relaxed);
        cache->n_entries++;
        cache->n_bytes += place.bytes;
        if (*end < place.offset + place.bytes)
            *end = place.offset + place.bytes;
    }
}

/* Reads the places; skips holes of the file, which hold none. */
static int load_places(leat_cache *cache, uint64_t file_bytes, uint64_t *end, leat_error *err)
{
    const uint64_t n_records = cache->origin.n_records;
    const size_t chunk_bytes = CHUNK_PLACES * LEAT_CACHE_PLACE_BYTES;
    uint8_t *const chunk = malloc(chunk_bytes);
    if (!chunk)
        return leat_fail(err, LEAT_E_NOMEM, "cache: %zu bytes", chunk_bytes);
    for (uint64_t record = 0; record < n_records;) {
        const uint64_t at = LEAT_CACHE_HEADER_BYTES + record * LEAT_CACHE_PLACE_BYTES;
        const off_t data = lseek(cache->fd, (off_t)at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break;
        if (data > (off_t)at && (uint64_t)data - at >= LEAT_CACHE_PLACE_BYTES) {
            record += ((uint64_t)data - at) / LEAT_CACHE_PLACE_BYTES;
            continue;
        }
        ssize_t n = pread(cache->fd, chunk, chunk_bytes, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        uint64_t n_places = n < 0 ? 0 : (uint64_t)n / LEAT_CACHE_PLACE_BYTES;
        if (n_places == 0) /* the end of the file, or a read error: no more entries */
            break;
        if (n_places > n_records - record)
            n_places = n_records - record;
        take_places(cache, chunk, record, n_places, file_bytes, end);
        record += n_places;
    }
    free(chunk);
    return LEAT_OK;
}

/* Returns the limit for entries: as configured, or half of the free disk space. Space of existing
 * entries counts as free, so that every process has the same limit. */
static uint64_t limit(const leat_cache *cache, uint64_t used)
{
    struct statvfs disk;
    const uint64_t most = size_limit();
    uint64_t end = most;
    if (cache->bytes >= 0) {
        end = cache->first + (uint64_t)cache->bytes;
    } else if (fstatvfs(cache->fd, &disk) == 0) {
        const uint64_t planted = cache->faults.free_bytes;
        const uint64_t free_bytes = planted ? planted : (uint64_t)disk.f_bavail * disk.f_frsize;
        end = cache->first + (free_bytes + used - cache->first) / 2;
    }
    end = (end < most ? end : most) / LEAT_CACHE_UNIT * LEAT_CACHE_UNIT;
    return end > used ? end : used;
}

int leat_cache_file_open(leat_cache *cache, leat_error *err)
{
    struct stat status;
    uint64_t end;
    cache->is_reader = false;
    cache->first = leat_cache_first_entry(cache->origin.n_records);
    if (!cache->first)
        return leat_fail(err, LEAT_E_UNSUPPORTED, "too many records for a cache in a file");
    int rc;
    if ((rc = open_path(cache, &status, err)) < 0 ||
        (rc = settle_header(cache, &status, err)) < 0 || (rc = check_header(cache, err)) < 0)
        return rc;
    end = cache->first;
    rc = load_places(cache, (uint64_t)status.st_size, &end, err);
    cache->used = end;
    if (end - cache->first > cache->n_bytes)
        cache->n_lost = end - cache->first - cache->n_bytes;
    cache->end = limit(cache, end);
    return rc;
}
