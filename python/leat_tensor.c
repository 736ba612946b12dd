/* SPDX-License-Identifier: MIT
 *
 * leat_tensor.c: a held batch of leat_data._leat, and what its tensors are for Python. Each of them is one user of it, and
 * the last one releases the batch, on any thread, and on a GPU without the GIL. */
#include "leat_module.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- a batch that is held ----------------------------------------------------------------------- */

struct leat_py_held {
    leat_batch *batch;
    leat_py_device *device;  /* NULL: host memory */
    leat_py_streams streams; /* [GIL]; the last user's alone when it leaves */
    atomic_size_t n_users;
};

leat_py_held *leat_py_held_open(leat_batch *batch, leat_py_device *device)
{
    leat_py_held *const h = calloc(1, sizeof *h);
    if (!h) {
        leat_batch_release(batch);
        return (leat_py_held *)PyErr_NoMemory();
    }
    h->batch = batch;
    h->device = leat_py_device_use(device);
    atomic_init(&h->n_users, 1);
    return h;
}

static leat_py_held *use(leat_py_held *h)
{
    atomic_fetch_add_explicit(&h->n_users, 1, memory_order_relaxed);
    return h;
}

static void leave(leat_py_held *h)
{
    if (atomic_fetch_sub(&h->n_users, 1) ==
        1) { /* pairs with itself: the last user sees all writes */
        leat_py_streams_release(&h->streams, h->batch);
        leat_py_device_leave(h->device);
        free(h);
    }
}

/* Others go on while a copy beyond `hold` waits for its stream. */
void leat_py_held_leave(leat_py_held *h)
{
    if (!h->device) {
        leave(h);
        return;
    }
    Py_BEGIN_ALLOW_THREADS
    leave(h);
    Py_END_ALLOW_THREADS
}

leat_batch *leat_py_held_batch(const leat_py_held *h)
{
    return h->batch;
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
    leat_py_held *held; /* NULL: a copy, which owns `copy` */
    void *copy;
    int64_t shape[LEAT_MAX_RANK + 1], strides[LEAT_MAX_RANK + 1];
} capsule;

static void free_capsule(capsule *c)
{
    if (c->held)
        leave(c->held);
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

/* Also a Memory, which NumPy's arrays over a batch have as their base. */
typedef struct tensor {
    PyObject_HEAD leat_py_held *held;
    leat_view view;
} tensor;

static PyTypeObject *tensor_type, *memory_type;

static void tensor_free(PyObject *self)
{
    PyTypeObject *const type = Py_TYPE(self);
    leat_py_held_leave(((tensor *)self)->held);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *make_tensor(PyTypeObject *type, leat_py_held *h, leat_view view)
{
    tensor *const t = PyObject_New(tensor, type);
    if (!t)
        return NULL;
    t->held = use(h);
    t->view = view;
    return (PyObject *)t;
}

static dl_device device_of(const leat_py_held *h)
{
    return h->device ? (dl_device){ DL_CUDA, leat_py_device_number(h->device) }
                     : (dl_device){ DL_CPU, 0 };
}

/* versioned: since DLPack 1.0. NULL with an exception. */
static PyObject *make_capsule(leat_py_held *h, const leat_view *view, bool versioned, bool copies)
{
    capsule *const c = calloc(1, sizeof *c);
    const size_t bytes = (size_t)leat_shape_bytes(&view->shape);
    if (!c)
        return PyErr_NoMemory();
    if (copies && posix_memalign(&c->copy, 64, bytes ? bytes : 1)) {
        free(c);
        return PyErr_NoMemory();
    }
    if (copies)
        memcpy(c->copy, view->data, bytes);
    else
        c->held = use(h);
    int64_t stride = 1;
    for (int32_t i = view->shape.rank - 1; i >= 0; i--) {
        c->shape[i] = view->shape.dims[i];
        c->strides[i] = stride;
        stride *= c->shape[i];
    }
    const dl_tensor described = { .data = copies ? c->copy : view->data,
                                  .device = device_of(h),
                                  .rank = view->shape.rank,
                                  .type = types[view->shape.dtype],
                                  .shape = c->shape,
                                  .strides = c->strides };
    if (versioned)
        c->as.versioned = (dl_versioned){ .major = 1,
                                          .context = c,
                                          .deleter = delete_versioned,
                                          .flags = copies ? 2 : 0,
                                          .tensor = described };
    else
        c->as.plain = (dl_managed){ .tensor = described, .context = c, .deleter = delete_plain };
    PyObject *const out =
        PyCapsule_New(&c->as, versioned ? "dltensor_versioned" : "dltensor", drop_capsule);
    if (!out)
        free_capsule(c);
    return out;
}

/* A number of a pair; `otherwise` for None. */
static long number_of(PyObject *pair, int i, long otherwise)
{
    if (pair == Py_None)
        return otherwise;
    PyObject *const one = PySequence_GetItem(pair, i);
    const long value = one ? PyLong_AsLong(one) : -1;
    Py_XDECREF(one);
    return value;
}

/* -1 says that the consumer waits by itself. */
int leat_py_held_record_stream(leat_py_held *h, long long stream)
{
    if (!h->device)
        return 0;
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

/* Raises why it cannot be exported like this. stays: on its own device. 0, or -1. */
static int check_export(const tensor *t, PyObject *stream, bool stays, PyObject *copy)
{
    const bool on_gpu = t->held->device;
    const long long number =
        on_gpu && !PyErr_Occurred() && stream != Py_None ? PyLong_AsLongLong(stream) : 1;
    if (PyErr_Occurred())
        return -1;
    if (!on_gpu && (stream != Py_None || !stays))
        PyErr_SetString(PyExc_BufferError, "this tensor is in host memory: it has no stream, and "
                                           "can only be exported to the CPU");
    else if (on_gpu && (!stays || copy == Py_True))
        PyErr_SetString(PyExc_BufferError,
                        "this tensor is in the GPU's memory: it can only be exported there and "
                        "without a copy; let the library that takes it copy it");
    else
        return leat_py_held_record_stream(t->held, number);
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
    const tensor *const t = (tensor *)self;
    const dl_device here = device_of(t->held);
    const long major = number_of(version, 0, 0), type = number_of(device, 0, here.type);
    const bool stays = type == here.type && number_of(device, 1, here.id) == here.id;
    if (check_export(t, stream, stays, copy) < 0)
        return NULL;
    return make_capsule(t->held, &t->view, major >= 1, copy == Py_True);
}

static PyObject *tensor_device(PyObject *self, PyObject *none)
{
    const dl_device device = device_of(((tensor *)self)->held);
    (void)none;
    return Py_BuildValue("ii", (int)device.type, (int)device.id);
}

/* Another type can be another name for the same elements. 1, 0, or -1 with an exception. */
static int is_copy(PyObject *numpy, PyObject *array, PyObject *view)
{
    PyObject *const shared = PyObject_CallMethod(numpy, "shares_memory", "OO", array, view);
    const int is = shared ? !PyObject_IsTrue(shared) : -1;
    Py_XDECREF(shared);
    return is;
}

/* NumPy's asarray(): a view, unless another type or a copy is asked for. */
static PyObject *tensor_array(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "dtype", "copy", NULL };
    PyObject *dtype = Py_None, *copy = Py_None, *out = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OO", names, &dtype, &copy))
        return NULL;
    if (((tensor *)self)->held->device) {
        PyErr_SetString(PyExc_TypeError, "this tensor is in the GPU's memory: NumPy has no such "
                                         "arrays; torch, jax and cupy take it by from_dlpack()");
        return NULL;
    }
    PyObject *const numpy = PyImport_ImportModule("numpy");
    PyObject *view = numpy ? PyObject_CallMethod(numpy, "from_dlpack", "O", self) : NULL;
    if (view && (dtype != Py_None || copy == Py_True)) {
        out = copy == Py_True ? PyObject_CallMethod(numpy, "array", "OO", view, dtype)
                              : PyObject_CallMethod(numpy, "asarray", "OO", view, dtype);
        const int copied = copy == Py_False && out ? is_copy(numpy, out, view) : 0;
        if (copied > 0)
            PyErr_SetString(PyExc_ValueError,
                            "another type takes a copy, and copy=False forbids it");
        if (copied)
            Py_CLEAR(out);
        Py_DECREF(view);
        view = out;
    }
    Py_XDECREF(numpy);
    return view;
}

static PyObject *shape_of(const leat_shape *shape)
{
    PyObject *const out = PyTuple_New(shape->rank);
    for (int32_t i = 0; out && i < shape->rank; i++)
        PyTuple_SetItem(out, i, PyLong_FromLongLong(shape->dims[i]));
    return out;
}

static PyObject *tensor_shape(PyObject *self, void *none)
{
    (void)none;
    return shape_of(&((tensor *)self)->view.shape);
}

static PyObject *tensor_dtype(PyObject *self, void *none)
{
    (void)none;
    return PyUnicode_FromString(leat_dtype_name(((tensor *)self)->view.shape.dtype));
}

/* --- Memory, and the forms of a tensor ------------------------------------------------------------ */

static int memory_buffer(PyObject *self, Py_buffer *out, int flags)
{
    const leat_view *const view = &((tensor *)self)->view;
    return PyBuffer_FillInfo(out, self, view->data, (Py_ssize_t)leat_shape_bytes(&view->shape), 0,
                             flags);
}

/* NumPy's type of elements, borrowed; NULL with an exception. */
static PyObject *numpy_type(leat_dtype dtype)
{
    static PyObject *made[LEAT_N_DTYPES]; /* [GIL] */
    PyObject *const numpy = made[dtype] ? NULL : PyImport_ImportModule("numpy");
    if (numpy)
        made[dtype] = PyObject_CallMethod(numpy, "dtype", "s", leat_dtype_name(dtype));
    Py_XDECREF(numpy);
    if (!made[dtype])
        PyErr_Format(PyExc_TypeError,
                     "NumPy has no %s: end the pipeline with `cast: {dtype: float32}`, take "
                     "to='torch', or import ml_dtypes, which gives it to NumPy",
                     leat_dtype_name(dtype));
    return made[dtype];
}

static PyObject *array_of(leat_py_held *h, leat_view view, PyObject *convert)
{
    PyObject *const dtype = numpy_type(view.shape.dtype);
    PyObject *const shape = dtype ? shape_of(&view.shape) : NULL;
    PyObject *const memory = shape ? make_tensor(memory_type, h, view) : NULL;
    PyObject *const out =
        memory ? PyObject_CallFunctionObjArgs(convert, shape, dtype, memory, NULL) : NULL;
    Py_XDECREF(memory);
    Py_XDECREF(shape);
    return out;
}

PyObject *leat_py_tensor_of(leat_py_held *h, leat_view view, const leat_py_form *form)
{
    if (form->kind == LEAT_PY_ARRAY)
        return array_of(h, view, form->convert);
    PyObject *const made = form->kind == LEAT_PY_CAPSULE
                               ? make_capsule(h, &view, false /* versioned */, false /* copies */)
                               : make_tensor(tensor_type, h, view);
    if (!made || form->kind == LEAT_PY_TENSOR)
        return made;
    PyObject *const out = PyObject_CallFunctionObjArgs(form->convert, made, NULL);
    Py_DECREF(made);
    return out;
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

static PyType_Slot memory_slots[] = { { Py_tp_dealloc, (void *)tensor_free },
                                      { Py_bf_getbuffer, (void *)memory_buffer },
                                      { 0, NULL } };
static PyType_Spec memory_spec = { "leat_data._leat.Memory", sizeof(tensor), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                   memory_slots };

int leat_py_tensor_init(PyObject *module)
{
    tensor_type = (PyTypeObject *)PyType_FromSpec(&tensor_spec);
    memory_type = tensor_type ? (PyTypeObject *)PyType_FromSpec(&memory_spec) : NULL;
    return memory_type ? PyModule_AddObjectRef(module, "Tensor", (PyObject *)tensor_type) : -1;
}
