/* SPDX-License-Identifier: MIT
 *
 * reader.c: implements reader.h with liburing, or with reader_threads.h. */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/eventfd.h"
#include "base/text.h"

#define FILES_MAX 16384 /* higher descriptors are not registered and not read directly */
#define BLOCK     4096  /* of direct reads */
#define ATTEMPTS  400   /* failures in a row, of a kernel that lacks resources */
#define PAUSE_NS  50000 /* after each of them */

/* A call that takes longer than BLOCKED_NS for each read, and BLOCKED_MIB_NS for each MiB, has waited for storage: the
 * page cache is far faster. After BLOCKED_CALLS of them the kernel's threads read, KERNEL_THREADS_MAX at most. */
#define BLOCKED_NS         1000000
#define BLOCKED_MIB_NS     1000000
#define BLOCKED_CALLS      3
#define KERNEL_THREADS_MAX 32

leat_reader_faults leat_reader_fault;

/* A file, found by its descriptor. */
typedef struct file_entry {
    bool known, registered;
    int direct_fd; /* a second descriptor, opened with O_DIRECT [owned]; -1: none */
} file_entry;

struct leat_reader {
    leat_reader_threads *threads; /* NULL: the ring reads [const after open] */
    struct io_uring ring;
    bool ring_open, registered; /* [const after open] */
    bool direct;                /* open files directly; cleared when that fails [token] */
    bool files_registered;      /* the ring has a table of files [const after open] */
    file_entry *files;          /* by descriptor [token] */
    int n_files;                /* [const after open] */
    int wake_fd;                /* [const after open] */
    uint8_t *memory;            /* [const after open] */
    size_t bytes;
    leat_row_read *rows[LEAT_READER_DEPTH]; /* of the last queued reads, as a ring [token] */
    uint64_t n_queued;                      /* in total [token] */
    uint64_t n_entered;                     /* io_uring_enter calls, for faults [token] */
    unsigned n_failed;                      /* calls that failed in a row [token] */
    int refused;                            /* errno: nothing is submitted any more [token] */
    bool dropped;                           /* leat_reader_drop() was called [token] */
    unsigned n_blocked;                     /* calls in a row that waited for storage [token] */
    uint64_t bytes_queued;                  /* since the last call [token] */
    uint64_t n_read;                        /* finished reads, for faults [engine lock] */
    leat_reader_faults faults;              /* [const after open] */
    char note[160];
};

/* A seccomp filter may allow a ring and refuse its use: tries it with an empty request. */
static int try_ring(leat_reader *reader)
{
    struct io_uring_cqe *done;
    int rc;
    io_uring_prep_nop(io_uring_get_sqe(&reader->ring));
    while ((rc = leat_reader_submit(reader)) > 0) {
    }
    if (rc < 0 || (rc = io_uring_wait_cqe(&reader->ring, &done)) < 0)
        return rc;
    io_uring_cqe_seen(&reader->ring, done);
    return LEAT_OK;
}

static int open_ring(leat_reader *reader, leat_error *err)
{
    int rc = reader->faults.refuse_ring ? -ENOSYS
                                        : io_uring_queue_init(LEAT_READER_DEPTH, &reader->ring, 0);
    if (rc < 0)
        return leat_fail(err, LEAT_E_UNSUPPORTED, "io_uring is refused: %s", strerror(-rc));
    reader->ring_open = true;
    rc = try_ring(reader);
    if (rc < 0)
        return leat_fail(err, LEAT_E_UNSUPPORTED, "io_uring is refused: io_uring_enter: %s",
                         strerror(-rc));
    rc = io_uring_register_eventfd(&reader->ring, reader->wake_fd);
    if (rc < 0)
        return leat_fail(err, LEAT_E_UNSUPPORTED, "io_uring takes no eventfd: %s", strerror(-rc));
    return LEAT_OK;
}

/* Appends to the reader's note. */
static void note(leat_reader *reader, const char *format, ...) LEAT_PRINTF(2, 3);
static void note(leat_reader *reader, const char *format, ...)
{
    const size_t used = strlen(reader->note);
    va_list args;
    char text[sizeof reader->note];
    va_start(args, format);
    leat_text_v(text, sizeof text, format, args);
    va_end(args);
    snprintf(reader->note + used, sizeof reader->note - used, "%s%s", used ? "; " : "", text);
}

static void register_memory(leat_reader *reader)
{
    const struct iovec all = { reader->memory, reader->bytes };
    const int rc = reader->faults.refuse_registration
                       ? -ENOMEM
                       : io_uring_register_buffers(&reader->ring, &all, 1);
    reader->registered = rc >= 0;
    if (rc < 0)
        note(reader, "read buffers are not registered (%s; RLIMIT_MEMLOCK may be below %zu KiB)",
             strerror(-rc), reader->bytes >> 10);
}

/* Allocates one entry per possible descriptor. Registered files are faster; older kernels do not support
 * sparse tables, and then plain descriptors are used. */
static int open_files(leat_reader *reader, leat_error *err)
{
    struct rlimit limit;
    reader->n_files = FILES_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FILES_MAX)
        reader->n_files = (int)limit.rlim_cur;
    reader->files = calloc((size_t)reader->n_files + 1, sizeof *reader->files);
    if (!reader->files)
        return leat_fail(err, LEAT_E_NOMEM, "reader: %d files", reader->n_files);
    reader->files_registered =
        !reader->faults.refuse_registration &&
        io_uring_register_files_sparse(&reader->ring, (unsigned)reader->n_files) >= 0;
    return LEAT_OK;
}

/* Opens the same file again with O_DIRECT. -1: the file system cannot. */
static int open_direct(const leat_reader *reader, int fd)
{
    char path[64];
    struct statx status;
    if (reader->faults.refuse_direct) {
        errno = EINVAL;
        return -1;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const int direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (direct < 0)
        return -1;
#ifdef STATX_DIOALIGN
    if (statx(direct, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
        status.stx_mask & STATX_DIOALIGN &&
        (!status.stx_dio_offset_align || BLOCK % status.stx_dio_offset_align ||
         BLOCK % status.stx_dio_mem_align)) {
        close(direct);
        errno = EINVAL;
        return -1;
    }
#else
    (void)status;
#endif
    return direct;
}

static void register_file(leat_reader *reader, int fd)
{
    file_entry *const file = &reader->files[fd];
    file->known = true;
    file->direct_fd = -1;
    if (reader->direct) {
        file->direct_fd = open_direct(reader, fd);
        if (file->direct_fd < 0)
            note(reader, "io: direct is refused (%s): read through the page cache",
                 strerror(errno));
        reader->direct = file->direct_fd >= 0; /* tried once: all files are on one file system */
    }
    const int used = file->direct_fd >= 0 ? file->direct_fd : fd;
    file->registered = reader->files_registered &&
                       io_uring_register_files_update(&reader->ring, (unsigned)fd, &used, 1) == 1;
}

bool leat_reader_is_direct(leat_reader *reader, int fd)
{
    if (fd < 0 || fd >= reader->n_files)
        return false;
    if (!reader->files[fd].known)
        register_file(reader, fd);
    return reader->files[fd].direct_fd >= 0;
}

/* Makes a reader that cannot read yet. Close it also after an error. */
static int make(leat_reader **out, size_t bytes, leat_error *err)
{
    leat_reader *const reader = *out = calloc(1, sizeof *reader);
    if (!reader)
        return leat_fail(err, LEAT_E_NOMEM, "reader: %zu bytes", sizeof *reader);
    reader->faults = leat_reader_fault;
    reader->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (reader->wake_fd < 0)
        return leat_fail(err, LEAT_E_UNSUPPORTED, "there is no eventfd: %s", strerror(errno));
    void *const memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return leat_fail(err, LEAT_E_NOMEM, "read buffers: %zu bytes: %s", bytes, strerror(errno));
    reader->memory = memory;
    reader->bytes = bytes;
    return LEAT_OK;
}

int leat_reader_open(leat_reader **out, size_t bytes, bool direct, leat_error *err)
{
    int rc;
    if ((rc = make(out, bytes, err)) < 0 || (rc = open_ring(*out, err)) < 0 ||
        (rc = open_files(*out, err)) < 0) {
        leat_reader_close(out);
        return rc;
    }
    (*out)->direct = direct;
    register_memory(*out);
    return LEAT_OK;
}

int leat_reader_open_threads(leat_reader **out, size_t bytes, leat_read_row *read, void *arg,
                             leat_error *err)
{
    int rc = make(out, bytes, err);
    if (rc >= 0)
        rc = leat_reader_threads_open(&(*out)->threads, read, arg, (*out)->wake_fd, err);
    if (rc < 0)
        leat_reader_close(out);
    return rc;
}

void leat_reader_close(leat_reader **out)
{
    leat_reader *const reader = *out;
    if (reader)
        leat_reader_threads_close(&reader->threads);
    /* The kernel frees a ring some time later; files and memory must be free at once. */
    if (reader && reader->files_registered)
        io_uring_unregister_files(&reader->ring);
    if (reader && reader->registered)
        io_uring_unregister_buffers(&reader->ring);
    leat_reader_close_forked(out);
}

/* Unmaps and closes only: both concern this process alone. */
void leat_reader_close_forked(leat_reader **out)
{
    leat_reader *const reader = *out;
    if (!reader)
        return;
    leat_reader_threads_close_forked(&reader->threads);
    if (reader->ring_open)
        io_uring_queue_exit(&reader->ring);
    for (int fd = 0; reader->files && fd < reader->n_files; fd++)
        if (reader->files[fd].known && reader->files[fd].direct_fd >= 0)
            close(reader->files[fd].direct_fd);
    free(reader->files);
    if (reader->memory)
        munmap(reader->memory, reader->bytes);
    if (reader->wake_fd >= 0)
        close(reader->wake_fd);
    free(reader);
    *out = NULL;
}

uint8_t *leat_reader_memory(leat_reader *reader)
{
    return reader->memory;
}

const char *leat_reader_note(const leat_reader *reader)
{
    return reader->note;
}

int64_t leat_reader_cpu_ns(const leat_reader *reader)
{
    return reader->threads ? leat_reader_threads_cpu_ns(reader->threads) : 0;
}

static void queue_in_ring(leat_reader *reader, leat_row_read *first)
{
    const int fd = first->fd;
    uint8_t *const to = leat_row_read_to(first);
    struct io_uring_sqe *const sqe = io_uring_get_sqe(&reader->ring);
    leat_check(sqe && to >= reader->memory && to + first->length <= reader->memory + reader->bytes);
    const file_entry *const file = fd < reader->n_files ? &reader->files[fd] : NULL;
    const bool known = file && file->known, in_table = known && file->registered;
    const int used = in_table ? fd : known && file->direct_fd >= 0 ? file->direct_fd : fd;
    if (reader->registered)
        io_uring_prep_read_fixed(sqe, used, to, (unsigned)first->length, first->from, 0);
    else
        io_uring_prep_read(sqe, used, to, (unsigned)first->length, first->from);
    io_uring_sqe_set_flags(sqe, (in_table ? (unsigned)IOSQE_FIXED_FILE : 0U) |
                                    (leat_reader_blocks(reader) ? (unsigned)IOSQE_ASYNC : 0U));
    reader->bytes_queued += first->length;
    io_uring_sqe_set_data(sqe, first);
    reader->rows[reader->n_queued++ % LEAT_READER_DEPTH] = first;
}

void leat_reader_queue(leat_reader *reader, leat_row_read *first)
{
    if (reader->threads)
        leat_reader_threads_queue(reader->threads, first);
    else
        queue_in_ring(reader, first);
}

bool leat_reader_blocks(const leat_reader *reader)
{
    return reader->n_blocked >= BLOCKED_CALLS;
}

/* Some file systems read inside of the call, one after the other: with 16 reads of 8 ms it was 174 ms, and 48 ms where the
 * kernel's threads read (FUSE with direct_io, Linux 6.18). */
static int submit_timed(leat_reader *reader)
{
    const unsigned n = io_uring_sq_ready(&reader->ring);
    const int64_t from = leat_clock_ns();
    const uint64_t call = reader->n_entered - 1;
    const int rc = io_uring_submit(&reader->ring);
    int64_t took = leat_clock_ns() - from;
    if (reader->faults.blocks_ns)
        took =
            call < 32 && reader->faults.blocks_not >> call & 1 ? 0 : n * reader->faults.blocks_ns;
    const bool waited = took > (int64_t)n * BLOCKED_NS +
                                   (int64_t)(reader->bytes_queued >> 10) * (BLOCKED_MIB_NS >> 10);
    reader->bytes_queued = 0;
    reader->n_blocked = waited ? reader->n_blocked + 1 : 0;
    if (leat_reader_blocks(reader)) {
        unsigned most[2] = { KERNEL_THREADS_MAX, 0 };
        io_uring_register_iowq_max_workers(&reader->ring, most); /* else four per CPU */
    }
    return rc;
}

/* io_uring_submit(), or an injected fault. */
static int enter(leat_reader *reader)
{
    const leat_reader_faults *const f = &reader->faults;
    const uint64_t n = ++reader->n_entered;
    if (f->enter_error && n >= f->enter_from &&
        (!f->enter_times || n - f->enter_from < f->enter_times))
        return -f->enter_error;
    return leat_reader_blocks(reader) ? io_uring_submit(&reader->ring) : submit_timed(reader);
}

/* The kernel lacks resources, which may pass. 0: it took nothing and does not say why. */
static bool may_pass(int rc)
{
    return rc == 0 || rc == -EAGAIN || rc == -EBUSY || rc == -EINTR || rc == -ENOMEM;
}

int leat_reader_submit(leat_reader *reader)
{
    unsigned n_left;
    if (reader->threads)
        leat_reader_threads_submit(reader->threads);
    while (!reader->threads && !reader->refused &&
           (n_left = io_uring_sq_ready(&reader->ring)) > 0) {
        const int rc = enter(reader);
        if (rc > 0) {
            reader->n_failed = 0;
        } else if (!may_pass(rc) || ++reader->n_failed == ATTEMPTS) {
            reader->refused = rc < 0 ? -rc : EAGAIN;
        } else if (rc != -EINTR) {
            nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
            return (int)n_left;
        }
    }
    return -reader->refused;
}

void leat_reader_drop(leat_reader *reader, leat_reader_done *done, void *arg)
{
    if (reader->threads)
        leat_reader_threads_drop(reader->threads);
    if (reader->threads || reader->dropped)
        return;
    if (!reader->refused)
        reader->refused = ECANCELED;
    reader->dropped = true;
    for (uint64_t n = io_uring_sq_ready(&reader->ring); n > 0; n--)
        done(arg, reader->rows[(reader->n_queued - n) % LEAT_READER_DEPTH], -reader->refused);
}

/* The result, or an injected fault: then the bytes may be there, but nobody may rely on them. */
static int spoil(leat_reader *reader, int result)
{
    const uint64_t n = ++reader->n_read;
    if (reader->faults.error_every && n % reader->faults.error_every == 0)
        return reader->faults.error ? -reader->faults.error : -EAGAIN;
    if (reader->faults.short_every && n % reader->faults.short_every == 0 && result > 0)
        return result / 2;
    return result;
}

static int reap_threads(leat_reader *reader, leat_reader_done *done, void *arg)
{
    int n = 0;
    for (leat_row_read *row = leat_reader_threads_take(reader->threads), *next; row; row = next) {
        next = row->next_done; /* done() may give the row away */
        done(arg, row, spoil(reader, row->error ? -row->error : (int)row->length));
        n++;
    }
    return n;
}

int leat_reader_reap(leat_reader *reader, leat_reader_done *done, void *arg)
{
    if (reader->threads)
        return reap_threads(reader, done, arg);
    struct io_uring_cqe *cqe;
    unsigned head;
    int n = 0;
    io_uring_for_each_cqe(&reader->ring, head, cqe)
    {
        done(arg, io_uring_cqe_get_data(cqe), spoil(reader, cqe->res));
        n++;
    }
    if (n)
        io_uring_cq_advance(&reader->ring, (unsigned)n);
    return n;
}

void leat_reader_wait(leat_reader *reader)
{
    if (!reader->threads || leat_reader_threads_watch(reader->threads, true))
        leat_eventfd_wait(reader->wake_fd);
    if (reader->threads)
        leat_reader_threads_watch(reader->threads, false);
}

bool leat_reader_wait_until(leat_reader *reader, int64_t until_ns)
{
    if (reader->threads && !leat_reader_threads_watch(reader->threads, true))
        leat_eventfd_signal(reader->wake_fd); /* the row may be taken before leat_reader_wait() */
    return leat_eventfd_wait_until(reader->wake_fd, until_ns);
}

void leat_reader_wake(leat_reader *reader)
{
    leat_eventfd_signal(reader->wake_fd);
}
