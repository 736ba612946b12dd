/* SPDX-License-Identifier: MIT
 *
 * leat_tensor.c: Batch and Tensor of leat_data._leat: a counted holding of one leat_batch. Each Tensor and each DLPack
 * capsule is one user of it, and the last one releases the batch, on whatever thread and without the GIL. */
#include "leat_module.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- a batch that is held ----------------------------------------------------------------------- */

typedef struct holding {
    leat_batch *batch;
    leat_py_device *device;  /* NULL: host memory */
    leat_py_streams streams; /* [GIL]; the last user's alone when it leaves */
    atomic_size_t n_users;
} holding;

static void leave(holding *h)
{
    if (atomic_fetch_sub(&h->n_users, 1) ==
        1) { /* pairs with itself: the last user sees all writes */
        leat_py_streams_release(&h->streams, h->batch);
        leat_py_device_leave(h->device);
        free(h);
    }
}

/* The same for a caller with the GIL, which goes on while a copy beyond `hold` waits for its stream. */
static void leave_with_gil(holding *h)
{
    if (!h->device) {
        leave(h);
        return;
    }
    Py_BEGIN_ALLOW_THREADS leave(h);
    Py_END_ALLOW_THREADS
}

/* --- DLPack ------------------------------------------------------------------------------------- */

enum { DL_CPU = 1, DL_CUDA = 2 };
typedef struct dl_device {
    int32_t type, id; /* DL_CPU, DL_CUDA */
} dl_device;
typedef struct dl_type {
    uint8_t code, bits; /* code 0: int, 1: unsigned, 2: float, 4: bfloat16 */
    uint16_t lanes;
} dl_type;
typedef struct dl_tensor {
    void *data;
    dl_device device;
    int32_t rank;
    dl_type type;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;
typedef struct dl_managed {
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *);
} dl_managed;
typedef struct dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_versioned *);
    uint64_t flags; /* 1: read only, 2: a copy */
    dl_tensor tensor;
} dl_versioned;

/* What a capsule points to: either form, and the shape behind it. */
typedef struct capsule {
    union {
        dl_managed plain;
        dl_versioned versioned;
    } as;
    holding *holding; /* NULL: a copy, which owns `copy` */
    void *copy;
    int64_t shape[LEAT_MAX_RANK + 1], strides[LEAT_MAX_RANK + 1];
} capsule;

static void free_capsule(capsule *c)
{
    if (c->holding)
        leave(c->holding);
    free(c->copy);
    free(c);
}

static void delete_plain(dl_managed *m)
{
    free_capsule(m->context);
}

static void delete_versioned(dl_versioned *m)
{
    free_capsule(m->context);
}

/* Nobody has taken the tensor: its name is still the first one. */
static void drop_capsule(PyObject *object)
{
    const char *const name = PyCapsule_GetName(object);
    if (name && (!strcmp(name, "dltensor") || !strcmp(name, "dltensor_versioned"))) {
        void *const pointer = PyCapsule_GetPointer(object, name);
        if (pointer && name[8])
            ((dl_versioned *)pointer)->deleter(pointer);
        else if (pointer)
            ((dl_managed *)pointer)->deleter(pointer);
    }
}

static const dl_type types[] = {
    [LEAT_U8] = { 1, 8, 1 },   [LEAT_I32] = { 0, 32, 1 }, [LEAT_I64] = { 0, 64, 1 },
    [LEAT_F32] = { 2, 32, 1 }, [LEAT_F16] = { 2, 16, 1 }, [LEAT_BF16] = { 4, 16, 1 },
};

/* --- Tensor ------------------------------------------------------------------------------------- */

typedef struct tensor {
    PyObject_HEAD holding *holding;
    leat_view view;
} tensor;

static PyTypeObject *tensor_type, *batch_type;

static void tensor_free(PyObject *self)
{
    PyTypeObject *const type = Py_TYPE(self);
    leave_with_gil(((tensor *)self)->holding);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *tensor_of(holding *h, leat_view view)
{
    tensor *const t = PyObject_New(tensor, tensor_type);
    if (!t)
        return NULL;
    atomic_fetch_add(&h->n_users, 1);
    t->holding = h;
    t->view = view;
    return (PyObject *)t;
}

static capsule *make_capsule(const tensor *t, bool copies)
{
    capsule *const c = calloc(1, sizeof *c);
    const size_t bytes = (size_t)leat_shape_bytes(&t->view.shape);
    if (!c)
        return NULL;
    if (copies && posix_memalign(&c->copy, 64, bytes ? bytes : 1)) {
        free(c);
        return NULL;
    }
    if (copies)
        memcpy(c->copy, t->view.data, bytes);
    int64_t stride = 1;
    for (int32_t i = t->view.shape.rank - 1; i >= 0; i--) {
        c->shape[i] = t->view.shape.dims[i];
        c->strides[i] = stride;
        stride *= c->shape[i];
    }
    if (!copies) {
        atomic_fetch_add(&t->holding->n_users, 1);
        c->holding = t->holding;
    }
    return c;
}

static dl_device device_of(const tensor *t)
{
    const leat_py_device *const gpu = t->holding->device;
    return gpu ? (dl_device){ DL_CUDA, leat_py_device_number(gpu) } : (dl_device){ DL_CPU, 0 };
}

static dl_tensor describe(const tensor *t, capsule *c)
{
    return (dl_tensor){ .data = c->copy ? c->copy : t->view.data,
                        .device = device_of(t),
                        .rank = t->view.shape.rank,
                        .type = types[t->view.shape.dtype],
                        .shape = c->shape,
                        .strides = c->strides };
}

/* The first number of a pair; `otherwise` for None. */
static long first_of(PyObject *pair, long otherwise)
{
    if (pair == Py_None)
        return otherwise;
    PyObject *const first = PySequence_GetItem(pair, 0);
    const long value = first ? PyLong_AsLong(first) : -1;
    Py_XDECREF(first);
    return value;
}

/* The consumer's stream; -1 says that it waits by itself. 0, or -1 with an exception. */
static int take_stream(holding *h, long long stream)
{
    if (stream == 0 || stream == 2 || stream < -1) {
        PyErr_SetString(PyExc_ValueError,
                        stream == 2 ? "the per-thread default stream is of one thread, and any "
                                      "thread may free a batch: give a stream of your own"
                                    : "a stream is 1 (the legacy default stream), -1 (do not "
                                      "wait) or the address of a cudaStream_t");
        return -1;
    }
    return leat_py_streams_add(&h->streams, h->device, h->batch, stream == -1 ? 1 : stream);
}

/* Raises why it cannot be exported like this. 0, or -1. */
static int check_export(const tensor *t, PyObject *stream, long device, PyObject *copy)
{
    const bool on_gpu = t->holding->device;
    const long long number =
        on_gpu && !PyErr_Occurred() && stream != Py_None ? PyLong_AsLongLong(stream) : 1;
    if (PyErr_Occurred())
        return -1;
    if (!on_gpu && (stream != Py_None || device != DL_CPU))
        PyErr_SetString(PyExc_BufferError, "this tensor is in host memory: it has no stream, and "
                                           "can only be exported to the CPU");
    else if (on_gpu && (device != DL_CUDA || copy == Py_True))
        PyErr_SetString(PyExc_BufferError,
                        "this tensor is in the GPU's memory: it can only be exported there and "
                        "without a copy; let the library that takes it copy it");
    else
        return on_gpu ? take_stream(t->holding, number) : 0;
    return -1;
}

/* stream, max_version, dl_device, copy: as the array API standard says. */
static PyObject *tensor_dlpack(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "stream", "max_version", "dl_device", "copy", NULL };
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO", names, &stream, &version, &device,
                                     &copy))
        return NULL;
    const long major = first_of(version, 0);
    const long type = first_of(device, device_of((tensor *)self).type);
    if (check_export((tensor *)self, stream, type, copy) < 0)
        return NULL;
    const tensor *const t = (tensor *)self;
    capsule *const c = make_capsule(t, copy == Py_True);
    if (!c)
        return PyErr_NoMemory();
    if (major >= 1)
        c->as.versioned = (dl_versioned){ .major = 1,
                                          .context = c,
                                          .deleter = delete_versioned,
                                          .flags = copy == Py_True ? 2 : 0,
                                          .tensor = describe(t, c) };
    else
        c->as.plain =
            (dl_managed){ .tensor = describe(t, c), .context = c, .deleter = delete_plain };
    PyObject *const out =
        PyCapsule_New(&c->as, major >= 1 ? "dltensor_versioned" : "dltensor", drop_capsule);
    if (!out)
        free_capsule(c);
    return out;
}

static PyObject *tensor_device(PyObject *self, PyObject *none)
{
    const dl_device device = device_of((tensor *)self);
    (void)none;
    return Py_BuildValue("ii", (int)device.type, (int)device.id);
}

/* NumPy's asarray(): a view, unless another type or a copy is asked for. */
static PyObject *tensor_array(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "dtype", "copy", NULL };
    PyObject *dtype = Py_None, *copy = Py_None, *out = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OO", names, &dtype, &copy))
        return NULL;
    if (((tensor *)self)->holding->device) {
        PyErr_SetString(PyExc_TypeError, "this tensor is in the GPU's memory: NumPy has no such "
                                         "arrays; torch, jax and cupy take it by from_dlpack()");
        return NULL;
    }
    PyObject *const numpy = PyImport_ImportModule("numpy");
    PyObject *view = numpy ? PyObject_CallMethod(numpy, "from_dlpack", "O", self) : NULL;
    if (view && (dtype != Py_None || copy == Py_True)) {
        out = copy == Py_True ? PyObject_CallMethod(numpy, "array", "OO", view, dtype)
                              : PyObject_CallMethod(numpy, "asarray", "OO", view, dtype);
        Py_DECREF(view);
        view = out;
    }
    Py_XDECREF(numpy);
    return view;
}

static PyObject *tensor_shape(PyObject *self, void *none)
{
    const leat_shape *const shape = &((tensor *)self)->view.shape;
    PyObject *const out = PyTuple_New(shape->rank);
    (void)none;
    for (int32_t i = 0; out && i < shape->rank; i++)
        PyTuple_SetItem(out, i, PyLong_FromLongLong(shape->dims[i]));
    return out;
}

static PyObject *tensor_dtype(PyObject *self, void *none)
{
    (void)none;
    return PyUnicode_FromString(leat_dtype_name(((tensor *)self)->view.shape.dtype));
}

/* --- Batch -------------------------------------------------------------------------------------- */

typedef struct batch {
    PyObject_HEAD holding *holding;
    PyObject *tensors; /* a tuple, in the order of the plan */
} batch;

static void batch_free(PyObject *self)
{
    PyTypeObject *const type = Py_TYPE(self);
    batch *const b = (batch *)self;
    Py_XDECREF(b->tensors);
    if (b->holding)
        leave_with_gil(b->holding);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *leat_py_batch_of(leat_batch *held, int32_t n, leat_py_device *device)
{
    holding *const h = calloc(1, sizeof *h);
    batch *const b = h ? PyObject_New(batch, batch_type) : NULL;
    if (!b) {
        free(h);
        leat_batch_release(held);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    h->batch = held;
    h->device = leat_py_device_use(device);
    atomic_init(&h->n_users, 1);
    b->holding = h;
    b->tensors = PyTuple_New(n);
    for (int32_t i = 0; b->tensors && i < n; i++) {
        PyObject *const one = tensor_of(h, leat_batch_tensor(held, i));
        if (!one)
            Py_CLEAR(b->tensors);
        else
            PyTuple_SetItem(b->tensors, i, one);
    }
    if (b->tensors)
        return (PyObject *)b;
    Py_DECREF(b);
    return NULL;
}

static PyObject *batch_tensors(PyObject *self, void *none)
{
    (void)none;
    return Py_NewRef(((batch *)self)->tensors);
}

static PyObject *batch_info(PyObject *self, void *none)
{
    const leat_batch_info *const i = leat_batch_get_info(((batch *)self)->holding->batch);
    (void)none;
    return Py_BuildValue("{sLsLsLsLsLsLsLsLsKsO}", "number", (long long)i->number, "epoch",
                         (long long)i->epoch, "in_epoch", (long long)i->in_epoch, "rows",
                         (long long)i->rows, "global_rows", (long long)i->global_rows, "first_row",
                         (long long)i->first_row, "n_masked", (long long)i->n_masked, "n_replaced",
                         (long long)i->n_replaced, "digest", (unsigned long long)i->digest,
                         "is_copy", i->is_copy ? Py_True : Py_False);
}

/* record_stream(number): the batch is not used again before the work of this stream. */
static PyObject *batch_record_stream(PyObject *self, PyObject *number)
{
    holding *const h = ((batch *)self)->holding;
    const long long native = PyLong_AsLongLong(number);
    if (PyErr_Occurred() || (h->device && take_stream(h, native ? native : 1) < 0))
        return NULL;
    return Py_NewRef(Py_None);
}

/* None: all rows are samples. */
static PyObject *batch_valid(PyObject *self, void *none)
{
    holding *const h = ((batch *)self)->holding;
    const uint8_t *const valid = leat_batch_valid(h->batch);
    (void)none;
    if (!valid)
        return Py_NewRef(Py_None);
    const int64_t rows = leat_batch_get_info(h->batch)->rows;
    return tensor_of(h, (leat_view){ .data = (uint8_t *)(uintptr_t)valid,
                                     .shape = leat_shape_make(LEAT_U8, 1, &rows) });
}

/* --- types -------------------------------------------------------------------------------------- */

static PyMethodDef tensor_methods[] = {
    { "__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack, METH_VARARGS | METH_KEYWORDS, "" },
    { "__dlpack_device__", tensor_device, METH_NOARGS, "" },
    { "__array__", (PyCFunction)(void (*)(void))tensor_array, METH_VARARGS | METH_KEYWORDS, "" },
    { NULL, NULL, 0, NULL }
};
static PyGetSetDef tensor_fields[] = { { "shape", tensor_shape, NULL, NULL, NULL },
                                       { "dtype", tensor_dtype, NULL, NULL, NULL },
                                       { NULL, NULL, NULL, NULL, NULL } };
static PyType_Slot tensor_slots[] = { { Py_tp_dealloc, (void *)tensor_free },
                                      { Py_tp_methods, tensor_methods },
                                      { Py_tp_getset, tensor_fields },
                                      { Py_tp_doc, "A tensor of a batch, in its memory. It keeps "
                                                   "the batch." },
                                      { 0, NULL } };
static PyType_Spec tensor_spec = { "leat_data._leat.Tensor", sizeof(tensor), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                   tensor_slots };

static PyMethodDef batch_methods[] = { { "record_stream", batch_record_stream, METH_O, "" },
                                       { NULL, NULL, 0, NULL } };
static PyGetSetDef batch_fields[] = { { "tensors", batch_tensors, NULL, NULL, NULL },
                                      { "info", batch_info, NULL, NULL, NULL },
                                      { "valid", batch_valid, NULL, NULL, NULL },
                                      { NULL, NULL, NULL, NULL, NULL } };
static PyType_Slot batch_slots[] = { { Py_tp_dealloc, (void *)batch_free },
                                     { Py_tp_methods, batch_methods },
                                     { Py_tp_getset, batch_fields },
                                     { 0, NULL } };
static PyType_Spec batch_spec = { "leat_data._leat.Batch", sizeof(batch), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  batch_slots };

int leat_py_tensor_init(PyObject *module)
{
    tensor_type = (PyTypeObject *)PyType_FromSpec(&tensor_spec);
    batch_type = tensor_type ? (PyTypeObject *)PyType_FromSpec(&batch_spec) : NULL;
    return batch_type ? PyModule_AddObjectRef(module, "Tensor", (PyObject *)tensor_type) : -1;
}
