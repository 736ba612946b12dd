/* SPDX-License-Identifier: MIT
 *
 * leat_batch.c: the type Batch of leat_data: a dict of tensors that also holds the batch. An instance is a dict's, whose size
 * the limited API does not tell before the program runs, with a `rest` behind it. */
#include "leat_module.h"

#include <stddef.h>

typedef struct rest {
    leat_py_held *held; /* NULL: somebody has made the Batch from a dict */
    leat_py_form form;
} rest;

static PyTypeObject *batch_type;
static Py_ssize_t dict_bytes;
static newfunc dict_new;
static destructor dict_free;
static PyObject *no_arguments;

static rest *rest_of(PyObject *self)
{
    return (rest *)((char *)self + dict_bytes);
}

static void batch_free(PyObject *self)
{
    PyTypeObject *const type = Py_TYPE(self);
    rest *const r = rest_of(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(r->form.convert);
    if (r->held)
        leat_py_held_leave(r->held);
    dict_free(self);
    Py_DECREF(type);
}

PyObject *leat_py_batch_of(leat_batch *batch, PyObject *names, leat_py_device *device,
                           const leat_py_form *form)
{
    leat_py_held *const h = leat_py_held_open(batch, device);
    PyObject *const out = h ? dict_new(batch_type, no_arguments, NULL) : NULL;
    if (!out) {
        if (h)
            leat_py_held_leave(h);
        return NULL;
    }
    *rest_of(out) = (rest){ h, *form };
    Py_XINCREF(form->convert);
    const Py_ssize_t n = PyTuple_Size(names);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *const one = leat_py_tensor_of(h, leat_batch_tensor(batch, (int32_t)i), form);
        const int rc = one ? PyDict_SetItem(out, PyTuple_GetItem(names, i), one) : -1;
        Py_XDECREF(one);
        if (rc < 0) {
            Py_DECREF(out);
            return NULL;
        }
    }
    return out;
}

/* --- what it tells ------------------------------------------------------------------------------ */

/* NULL with an exception. */
static leat_py_held *held_of(PyObject *self)
{
    leat_py_held *const h = rest_of(self)->held;
    if (!h)
        PyErr_SetString(PyExc_AttributeError, "no loader made this Batch: it has tensors alone");
    return h;
}

static const leat_batch_info *info_of(PyObject *self)
{
    const leat_py_held *const h = held_of(self);
    return h ? leat_batch_get_info(leat_py_held_batch(h)) : NULL;
}

static PyObject *batch_info(PyObject *self, void *none)
{
    const leat_batch_info *const i = info_of(self);
    (void)none;
    return i ? Py_BuildValue("{sLsLsLsLsLsLsLsLsKsO}", "number", (long long)i->number, "epoch",
                             (long long)i->epoch, "in_epoch", (long long)i->in_epoch, "rows",
                             (long long)i->rows, "global_rows", (long long)i->global_rows,
                             "first_row", (long long)i->first_row, "n_masked",
                             (long long)i->n_masked, "n_replaced", (long long)i->n_replaced,
                             "digest", (unsigned long long)i->digest, "is_copy",
                             i->is_copy ? Py_True : Py_False)
             : NULL;
}

/* at: of a whole number in leat_batch_info */
static PyObject *batch_number(PyObject *self, void *at)
{
    const char *const info = (const char *)info_of(self);
    return info ? PyLong_FromLongLong(*(const int64_t *)(const void *)(info + (size_t)at)) : NULL;
}

static PyObject *batch_valid(PyObject *self, void *none)
{
    const leat_batch_info *const info = info_of(self);
    (void)none;
    if (!info)
        return NULL;
    leat_py_held *const h = rest_of(self)->held;
    const uint8_t *const valid = leat_batch_valid(leat_py_held_batch(h));
    if (!valid)
        return Py_NewRef(Py_None);
    return leat_py_tensor_of(h,
                             (leat_view){ .data = (uint8_t *)(uintptr_t)valid,
                                          .shape = leat_shape_make(LEAT_U8, 1, &info->rows) },
                             &rest_of(self)->form);
}

/* The number of PyTorch's stream, CuPy's, or a number. */
static PyObject *native_of(PyObject *stream)
{
    PyObject *native = PyObject_GetAttrString(stream, "cuda_stream");
    if (!native) {
        PyErr_Clear();
        native = PyObject_GetAttrString(stream, "ptr");
    }
    if (native)
        return native;
    PyErr_Clear();
    return Py_NewRef(stream);
}

static PyObject *batch_record_stream(PyObject *self, PyObject *stream)
{
    leat_py_held *const h = held_of(self);
    PyObject *const native = h ? native_of(stream) : NULL;
    const long long number = native ? PyLong_AsLongLong(native) : 0;
    Py_XDECREF(native);
    if (PyErr_Occurred() || leat_py_held_record_stream(h, number ? number : 1) < 0)
        return NULL;
    return Py_NewRef(Py_None);
}

static PyObject *batch_reduce(PyObject *self, PyObject *none)
{
    (void)none;
    return Py_BuildValue("O(N)", &PyDict_Type, PyDict_Copy(self));
}

/* --- the type ----------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    { "record_stream", batch_record_stream, METH_O,
      "On a GPU: other work on this stream uses the batch, too, which is kept until that is done. "
      "The "
      "stream is one of PyTorch or CuPy, or the address of a cudaStream_t. The stream on which the "
      "batch was taken needs no such call." },
    { "__reduce__", batch_reduce, METH_NOARGS,
      "Another process, or a copy, gets the tensors by name alone." },
    { NULL, NULL, 0, NULL }
};
static PyGetSetDef fields[] = {
    { "info", batch_info, NULL, "number, epoch, in_epoch, rows, n_masked, ... as a dict.", NULL },
    { "number", batch_number, NULL, "From 0, counted from the start of the run.",
      (void *)offsetof(leat_batch_info, number) },
    { "epoch", batch_number, NULL,
      "The pass, from 0: the loop over the loader; with a `repeat` behind `batch`, each of its "
      "passes is one.",
      (void *)offsetof(leat_batch_info, epoch) },
    { "rows", batch_number, NULL, "Samples in the batch.",
      (void *)offsetof(leat_batch_info, rows) },
    { "valid", batch_valid, NULL,
      "One uint8 per row: 1 for a sample, 0 for a row that `on_error: mask` has masked. None: all "
      "rows are samples. To index with it, make it bool: x[batch.valid.astype(bool)].",
      NULL },
    { NULL, NULL, NULL, NULL, NULL }
};
static PyType_Slot slots[] = {
    { Py_tp_dealloc, (void *)batch_free },
    { Py_tp_methods, methods },
    { Py_tp_getset, fields },
    { Py_tp_doc,
      "Tensors by name, in the memory of the batch. They stay valid as long as one of them "
      "lives.\n\nThe memory is yours: writing to it changes no other batch." },
    { 0, NULL }
};

int leat_py_batch_init(PyObject *module)
{
    PyType_Spec spec = { "leat_data.Batch", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots };
    PyObject *const size = PyObject_GetAttrString((PyObject *)&PyDict_Type, "__basicsize__");
    dict_bytes = size ? PyLong_AsSsize_t(size) : -1;
    Py_XDECREF(size);
    dict_new = (newfunc)PyType_GetSlot(&PyDict_Type, Py_tp_new);
    dict_free = (destructor)PyType_GetSlot(&PyDict_Type, Py_tp_dealloc);
    no_arguments = PyTuple_New(0);
    if (dict_bytes < 0 || !dict_new || !dict_free || !no_arguments)
        return -1;
    spec.basicsize = (int)(dict_bytes + (Py_ssize_t)sizeof(rest));
    batch_type = (PyTypeObject *)PyType_FromSpecWithBases(&spec, (PyObject *)&PyDict_Type);
    return batch_type ? PyModule_AddObjectRef(module, "Batch", (PyObject *)batch_type) : -1;
}
