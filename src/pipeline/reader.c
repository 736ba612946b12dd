/* SPDX-License-Identifier: MIT */
#include "reader.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

leat_reader_faults leat_reader_fault;

struct leat_reader {
    struct io_uring ring;
    bool ring_open, registered; /* [const after open] */
    int wake_fd;                /* [const after open] */
    uint8_t *memory;            /* [const after open] */
    size_t bytes;
    unsigned n_queued;         /* [start token] */
    uint64_t n_read;           /* [engine lock] for fault injection */
    leat_reader_faults faults; /* [const after open] */
    char note[160];
};

static int open_ring(leat_reader *reader, leat_error *err)
{
    int rc = reader->faults.refuse_ring ? -ENOSYS
                                        : io_uring_queue_init(LEAT_READER_DEPTH, &reader->ring, 0);
    if (rc < 0)
        return leat_fail(err, LEAT_E_UNSUPPORTED, "io_uring is refused: %s", strerror(-rc));
    reader->ring_open = true;
    reader->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (reader->wake_fd < 0)
        return leat_fail(err, LEAT_E_IO, "eventfd: %s", strerror(errno));
    rc = io_uring_register_eventfd(&reader->ring, reader->wake_fd);
    if (rc < 0)
        return leat_fail(err, LEAT_E_UNSUPPORTED, "io_uring takes no eventfd: %s", strerror(-rc));
    return LEAT_OK;
}

static void register_memory(leat_reader *reader)
{
    const struct iovec all = { reader->memory, reader->bytes };
    const int rc = reader->faults.refuse_registration
                       ? -ENOMEM
                       : io_uring_register_buffers(&reader->ring, &all, 1);
    reader->registered = rc >= 0;
    if (rc < 0)
        snprintf(reader->note, sizeof reader->note,
                 "read buffers are not registered (%s; RLIMIT_MEMLOCK may be below %zu KiB)",
                 strerror(-rc), reader->bytes >> 10);
}

int leat_reader_open(leat_reader **out, size_t bytes, leat_error *err)
{
    *out = NULL;
    leat_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return leat_fail(err, LEAT_E_NOMEM, "reader: %zu bytes", sizeof *reader);
    reader->wake_fd = -1;
    reader->faults = leat_reader_fault;
    reader->bytes = bytes;
    int rc = open_ring(reader, err);
    if (rc >= 0) {
        void *memory =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            rc =
                leat_fail(err, LEAT_E_NOMEM, "read buffers: %zu bytes: %s", bytes, strerror(errno));
        else
            reader->memory = memory;
    }
    if (rc < 0) {
        leat_reader_close(&reader);
        return rc;
    }
    register_memory(reader);
    *out = reader;
    return LEAT_OK;
}

void leat_reader_close(leat_reader **out)
{
    leat_reader *const reader = *out;
    if (!reader)
        return;
    if (reader->ring_open)
        io_uring_queue_exit(&reader->ring);
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

void leat_reader_queue(leat_reader *reader, int fd, uint64_t offset, void *to, size_t size,
                       void *tag)
{
    struct io_uring_sqe *const sqe = io_uring_get_sqe(&reader->ring);
    if (reader->registered)
        io_uring_prep_read_fixed(sqe, fd, to, (unsigned)size, offset, 0);
    else
        io_uring_prep_read(sqe, fd, to, (unsigned)size, offset);
    io_uring_sqe_set_data(sqe, tag);
    reader->n_queued++;
}

int leat_reader_submit(leat_reader *reader)
{
    while (reader->n_queued) {
        const int rc = io_uring_submit(&reader->ring);
        if (rc > 0)
            reader->n_queued -= (unsigned)rc;
        else if (rc != -EINTR)
            break; /* -EAGAIN, -EBUSY: the kernel is out of something; try later */
    }
    return (int)reader->n_queued;
}

/* What the injected faults make of a result. The bytes may be there, but nobody may rely on it. */
static int spoil(leat_reader *reader, int result)
{
    const uint64_t n = ++reader->n_read;
    if (reader->faults.error_every && n % reader->faults.error_every == 0)
        return -EAGAIN;
    if (reader->faults.short_every && n % reader->faults.short_every == 0 && result > 0)
        return result / 2;
    return result;
}

int leat_reader_reap(leat_reader *reader, void (*done)(void *arg, void *tag, int result), void *arg)
{
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
    uint64_t count;
    while (read(reader->wake_fd, &count, sizeof count) < 0 && errno == EINTR) {
    }
}

void leat_reader_wake(leat_reader *reader)
{
    const uint64_t one = 1;
    while (write(reader->wake_fd, &one, sizeof one) < 0 && errno == EINTR) {
    }
}
