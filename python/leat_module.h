/* SPDX-License-Identifier: MIT
 *
 * leat_module.h: what the files of the extension leat_data._leat share. */
#ifndef LEAT_MODULE_H
#define LEAT_MODULE_H

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <leat/leat.h>

/* Raises what leat_data._errors makes of it. Returns NULL. */
PyObject *leat_py_raise(const leat_error *err);

/* A str of a text that may be cut inside a character, or not be UTF-8: such bytes become \xHH. NULL with an exception. */
PyObject *leat_py_text(const char *text);

/* Appends `one`, whose reference it takes. Without it (NULL with an exception) the list is given up, and *list NULL. */
void leat_py_append(PyObject **list, PyObject *one);

#define LEAT_PY_ROWS 64 /* arrays as a source */

/* In leat_plan.c. A plan, and the arrays that are its source. All zero: none. */
typedef struct leat_py_plan {
    leat_plan *plan;
    size_t n_buffers;
    Py_buffer buffers[LEAT_PY_ROWS];
} leat_py_plan;

/* From the arguments of Loader(), which also say how many batches can be held, and on which device (NULL: in host memory).
 * 0, or -1 with an exception. */
int leat_py_plan_open(leat_py_plan *p, PyObject *args, PyObject *keywords, int *hold,
                      const char **device);
void leat_py_plan_close(leat_py_plan *p);
/* A new dict of counts, tensors, notes and classes. */
PyObject *leat_py_plan_info(const leat_plan *plan);

/* In leat_device.c. A counted GPU. NULL is host memory, which use() and leave() take, too. */
typedef struct leat_py_device leat_py_device;

leat_py_device *leat_py_device_open(const char *name); /* NULL with an exception */
leat_py_device *leat_py_device_use(leat_py_device *d); /* returns it */
void leat_py_device_leave(leat_py_device *d);          /* any thread, without the GIL */
leat_device *leat_py_device_get(const leat_py_device *d);
int leat_py_device_number(const leat_py_device *d); /* N of cuda:N */

#define LEAT_PY_STREAMS 8

/* The streams whose work uses one batch. All zero: none. */
typedef struct leat_py_streams {
    int n;
    long long native[LEAT_PY_STREAMS]; /* cudaStream_t as a number; 1: the legacy stream */
    leat_stream *stream[LEAT_PY_STREAMS];
} leat_py_streams;

/* Work on this stream waits for the batch's copy, and the batch waits for the stream when it is released. 0, or -1 with an
 * exception. */
int leat_py_streams_add(leat_py_streams *s, leat_py_device *d, leat_batch *batch, long long native);
/* Releases the batch behind their work so far. Any thread, without the GIL. */
void leat_py_streams_release(leat_py_streams *s, leat_batch *batch);

/* In leat_loader.c. Makes the type. 0, or -1 with an exception. */
int leat_py_loader_init(PyObject *module);

/* In leat_tensor.c. A batch that is held, counted: each Batch, Tensor, array and DLPack capsule is one user of it, and the
 * last one releases it. */
typedef struct leat_py_held leat_py_held;

/* With one user. Takes over the batch, also after an error (NULL with an exception). */
leat_py_held *leat_py_held_open(leat_batch *batch, leat_py_device *device);
/* One user less. [GIL], which it may release meanwhile */
void leat_py_held_leave(leat_py_held *h);
leat_batch *leat_py_held_batch(const leat_py_held *h);
/* The batch is not used again before the work of this stream. 0, or -1 with an exception. */
int leat_py_held_record_stream(leat_py_held *h, long long stream);

/* What a batch's tensors are. All zero: objects of the type Tensor. */
typedef struct leat_py_form {
    enum leat_py_kind {
        LEAT_PY_TENSOR,  /* Tensor */
        LEAT_PY_OBJECT,  /* convert(Tensor) */
        LEAT_PY_CAPSULE, /* convert(DLPack capsule), in host memory alone */
        LEAT_PY_ARRAY    /* convert(shape, dtype, memory), as numpy.ndarray; in host memory alone */
    } kind;
    PyObject *convert; /* NULL or None: none */
} leat_py_form;

/* A view of the held batch as an object of this form; the object is a user of the batch until it is freed. NULL with
 * an exception. */
PyObject *leat_py_tensor_of(leat_py_held *h, leat_view view, const leat_py_form *form);
/* Makes the types. 0, or -1 with an exception. */
int leat_py_tensor_init(PyObject *module);

/* In leat_batch.c. A Batch of tensors in this form, by name; takes over the batch, also after an error. */
PyObject *leat_py_batch_of(leat_batch *batch, PyObject *names, leat_py_device *device,
                           const leat_py_form *form);
/* Makes the type. 0, or -1 with an exception. */
int leat_py_batch_init(PyObject *module);

/* Functions of the module, in leat_doctor.c. */
PyObject *leat_py_usage(PyObject *self, PyObject *none);
PyObject *leat_py_observe(PyObject *self, PyObject *args);
PyObject *leat_py_predict(PyObject *self, PyObject *args);
PyObject *leat_py_guess(PyObject *self, PyObject *args);
PyObject *leat_py_taken(PyObject *self, PyObject *args);

#endif
