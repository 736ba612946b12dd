/* SPDX-License-Identifier: MIT
 *
 * leat_device.c: the GPU of a Loader of leat_data._leat. Its Loader and its batches share it, and the last one closes it. */
#include "leat_module.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct leat_py_device {
    leat_device *device;
    int number; /* as DLPack counts: N of cuda:N */
    atomic_size_t n_users;
};

leat_py_device *leat_py_device_open(const char *name)
{
    leat_error err = { .record = -1 };
    leat_py_device *const d = calloc(1, sizeof *d);
    int rc;
    if (!d)
        return (leat_py_device *)PyErr_NoMemory();
    atomic_init(&d->n_users, 1);
    Py_BEGIN_ALLOW_THREADS
    rc = leat_device_open(name, &d->device, &err);
    Py_END_ALLOW_THREADS
    if (rc < 0) {
        leat_py_raise(&err);
        free(d);
        return NULL;
    }
    const char *const number = strchr(leat_device_get_info(d->device)->name, ':');
    d->number = number ? atoi(number + 1) : 0;
    return d;
}

leat_py_device *leat_py_device_use(leat_py_device *d)
{
    if (d)
        atomic_fetch_add(&d->n_users, 1);
    return d;
}

void leat_py_device_leave(leat_py_device *d)
{
    if (d && atomic_fetch_sub(&d->n_users, 1) == 1) {
        leat_device_close(&d->device);
        free(d);
    }
}

leat_device *leat_py_device_get(const leat_py_device *d)
{
    return d ? d->device : NULL;
}

int leat_py_device_number(const leat_py_device *d)
{
    return d->number;
}

/* --- streams of others ---------------------------------------------------------------------------- */

int leat_py_streams_add(leat_py_streams *s, leat_py_device *d, leat_batch *batch, long long native)
{
    leat_error err = { .record = -1 };
    leat_stream *stream;
    int rc = LEAT_OK;
    for (int i = 0; i < s->n; i++)
        if (s->native[i] == native)
            return 0;
    if (s->n == LEAT_PY_STREAMS) {
        PyErr_Format(PyExc_BufferError, "more than %d streams use one batch", LEAT_PY_STREAMS);
        return -1;
    }
    rc = leat_stream_wrap(d->device, (void *)(uintptr_t)native, &stream, &err);
    /* Of another device it could wait for the batch, but the batch's memory not for it. */
    if (rc == LEAT_OK && ((rc = leat_batch_wait_on(batch, stream)) < 0 ||
                          (s->n && (rc = leat_stream_follow(stream, stream)) < 0))) {
        leat_stream_unwrap(&stream);
        err = (leat_error){ .code = rc,
                            .record = -1,
                            .message = "the stream and the batch cannot wait for each other: is it "
                                       "a stream of another device?" };
    }
    if (rc < 0) {
        leat_py_raise(&err);
        return -1;
    }
    s->native[s->n] = native;
    s->stream[s->n++] = stream;
    return 0;
}

void leat_py_streams_release(leat_py_streams *s, leat_batch *batch)
{
    for (int i = 1; i < s->n; i++)
        leat_stream_follow(s->stream[0], s->stream[i]);
    if (s->n)
        leat_batch_release_on(batch, s->stream[0]);
    else
        leat_batch_release(batch);
    for (int i = 0; i < s->n; i++)
        leat_stream_unwrap(&s->stream[i]);
}
