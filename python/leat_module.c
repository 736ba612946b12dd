/* SPDX-License-Identifier: MIT
 *
 * leat_module.c: the extension leat_data._leat and its type Loader, over the public headers alone and the limited API of
 * CPython 3.11. leat_data/__init__.py is its only user and gives it a Python face.
 *
 * DESIGN. A Loader owns config, plan and C loader. Held batches (leat_tensor.c) outlive it, so nothing else is counted.
 * leat_loader_next() runs without the GIL, in slices of SLICE_NS, so that signals are handled in between. Several
 * threads may be in it (beyond_hold). close() cancels, waits until they have left, and frees. `n_inside` is guarded by
 * the GIL. */
#include "leat_module.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLICE_NS  50000000
#define MOST_ROWS 64 /* arrays as a source */

/* --- errors ------------------------------------------------------------------------------------- */

PyObject *leat_py_raise(const leat_error *err)
{
    PyObject *const module = PyImport_ImportModule("leat_data._errors");
    PyObject *const error =
        module ? PyObject_CallMethod(module, "make", "issiisLs", err->code,
                                     leat_code_name(err->code), err->message, (int)err->line,
                                     (int)err->column, err->path, (long long)err->record, err->op)
               : NULL;
    if (error && PyObject_SetAttrString(error, "file", Py_None) == 0 && err->file[0]) {
        PyObject *const file = PyUnicode_DecodeFSDefault(err->file);
        if (file)
            PyObject_SetAttrString(error, "file", file);
        Py_XDECREF(file);
    }
    if (error)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    Py_XDECREF(module);
    return NULL;
}

/* --- Loader ------------------------------------------------------------------------------------- */

typedef struct loader {
    PyObject_HEAD leat_plan *plan;
    leat_loader *loader; /* NULL: closed */
    int64_t n_inside;    /* threads in a call without the GIL [GIL] */
    bool closing;        /* a thread frees the C loader [GIL] */
    bool is_over;        /* close() was called [GIL] */
    size_t n_buffers;    /* of arrays that are the source */
    Py_buffer buffers[MOST_ROWS];
} loader;

static PyObject *fail_closed(void)
{
    PyErr_SetString(PyExc_ValueError, "the loader is closed");
    return NULL;
}

static int enter(loader *l)
{
    if (!l->loader || l->closing) {
        fail_closed();
        return -1;
    }
    l->n_inside++;
    return 0;
}

/* Ends the calls of other threads, then frees. The GIL is released meanwhile. */
static void close_loader(loader *l)
{
    if (l->closing || !l->loader)
        return;
    l->closing = true;
    leat_loader_cancel(l->loader);
    while (l->n_inside) {
        Py_BEGIN_ALLOW_THREADS nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
        Py_END_ALLOW_THREADS
    }
    Py_BEGIN_ALLOW_THREADS leat_loader_close(&l->loader);
    Py_END_ALLOW_THREADS l->closing = false;
}

static void loader_free(PyObject *self)
{
    PyTypeObject *const type = Py_TYPE(self);
    loader *const l = (loader *)self;
    close_loader(l);
    leat_plan_close(&l->plan);
    for (size_t i = 0; i < l->n_buffers; i++)
        PyBuffer_Release(&l->buffers[i]);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* Settings are "path=value" strings. */
static int set_all(leat_config *config, PyObject *settings, leat_error *err)
{
    const Py_ssize_t n = PyList_Size(settings);
    int rc = n < 0 ? LEAT_E_ARGUMENT : LEAT_OK;
    for (Py_ssize_t i = 0; i < n && rc >= 0; i++) {
        const char *const text = PyUnicode_AsUTF8AndSize(PyList_GetItem(settings, i), NULL);
        rc = text ? leat_config_set(config, text, err) : LEAT_E_ARGUMENT;
    }
    return rc;
}

/* 0, or -1 with an exception. */
static int open_plan(loader *l, const char *path, const char *text, const char *name,
                     const char *section, PyObject *settings)
{
    leat_config *config = NULL;
    leat_error err = { 0 };
    int rc =
        path ? leat_config_load(path, &config, &err) : leat_config_parse(text, name, &config, &err);
    if (rc >= 0)
        rc = set_all(config, settings, &err);
    if (rc >= 0) {
        Py_BEGIN_ALLOW_THREADS rc = leat_plan_open(config, section, &l->plan, &err);
        Py_END_ALLOW_THREADS
    }
    leat_config_close(&config);
    if (rc < 0 && !PyErr_Occurred())
        leat_py_raise(&err);
    return rc < 0 ? -1 : 0;
}

/* A row of the source from (name, dtype, dims of a row, array). */
static int take_array(loader *l, PyObject *item, leat_rows *out, int64_t *n_records)
{
    const char *name, *type;
    PyObject *dims, *array;
    int64_t sizes[LEAT_MAX_RANK] = { 0 };
    if (!PyArg_ParseTuple(item, "ssOO", &name, &type, &dims, &array) ||
        PyObject_GetBuffer(array, &l->buffers[l->n_buffers], PyBUF_C_CONTIGUOUS) < 0)
        return -1;
    const Py_buffer *const buffer = &l->buffers[l->n_buffers++];
    const Py_ssize_t rank = PyTuple_Size(dims);
    if (rank < 0 || rank > LEAT_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "array '%s': too many dimensions", name);
        return -1;
    }
    for (Py_ssize_t i = 0; i < rank; i++)
        sizes[i] = PyLong_AsLongLong(PyTuple_GetItem(dims, i));
    *out = (leat_rows){ name, leat_shape_make(leat_dtype_of(type), (int)rank, sizes), buffer->buf };
    const int64_t bytes = leat_shape_bytes(&out->shape);
    if (out->shape.dtype >= LEAT_N_DTYPES) {
        PyErr_Format(PyExc_ValueError, "array '%s' is %s: leat has no such type", name, type);
        return -1;
    }
    if (bytes <= 0 || (*n_records >= 0 && *n_records != buffer->len / bytes)) {
        PyErr_Format(PyExc_ValueError, "array '%s' has another number of rows, or empty ones",
                     name);
        return -1;
    }
    *n_records = buffer->len / bytes;
    return PyErr_Occurred() ? -1 : 0;
}

/* arrays: list of tuples as above. stages: list of (name, options as YAML or None). */
static int open_arrays(loader *l, PyObject *arrays, PyObject *stages, long long seed,
                       const char *engine)
{
    leat_rows rows[MOST_ROWS];
    leat_error err = { 0 };
    int64_t n_records = -1;
    const Py_ssize_t n = PyList_Size(arrays);
    if (n > MOST_ROWS) {
        PyErr_SetString(PyExc_ValueError, "too many arrays");
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (take_array(l, PyList_GetItem(arrays, i), &rows[i], &n_records) < 0)
            return -1;
    leat_builder *builder = leat_builder_open();
    if (!builder) {
        PyErr_NoMemory();
        return -1;
    }
    leat_builder_rows(builder, n_records < 0 ? 0 : (uint64_t)n_records, rows, (int32_t)n);
    leat_builder_seed(builder, seed);
    leat_builder_engine(builder, engine);
    for (Py_ssize_t i = 0; i < PyList_Size(stages) && !PyErr_Occurred(); i++) {
        const char *name, *options;
        if (PyArg_ParseTuple(PyList_GetItem(stages, i), "sz", &name, &options))
            leat_builder_stage(builder, name, options);
    }
    int rc = LEAT_E_ARGUMENT;
    if (!PyErr_Occurred() && (rc = leat_builder_plan(builder, &l->plan, &err)) < 0)
        leat_py_raise(&err);
    leat_builder_close(&builder);
    return rc < 0 ? -1 : 0;
}

/* (size, version, digest, n_records, seed, batch_size, n_batches, next_batch, checksum) */
static int parse_state(PyObject *given, leat_loader_state *out)
{
    unsigned int version;
    unsigned long long digest, n_records, seed, checksum;
    long long batch_size, n_batches, next_batch;
    if (!PyArg_ParseTuple(given, "IKKKLLLK", &version, &digest, &n_records, &seed, &batch_size,
                          &n_batches, &next_batch, &checksum))
        return -1;
    *out = (leat_loader_state){ .magic = "leatrun",
                                .version = version,
                                .size = sizeof *out,
                                .plan_digest = digest,
                                .n_records = n_records,
                                .seed = seed,
                                .batch_size = batch_size,
                                .n_batches = n_batches,
                                .next_batch = next_batch,
                                .checksum = checksum };
    return 0;
}

static int open_loader(const leat_plan *plan, int hold, PyObject *state, long long first_batch,
                       leat_loader **out)
{
    leat_loader_options options = {
        .epochs = -1, .hold = hold, .beyond_hold = 1, .first_batch = first_batch
    };
    leat_loader_state at;
    leat_error err = { 0 };
    if (state != Py_None && parse_state(state, &at) < 0)
        return -1;
    if (state != Py_None)
        options.state = &at;
    int rc;
    Py_BEGIN_ALLOW_THREADS rc = leat_loader_open(plan, &options, out, &err);
    Py_END_ALLOW_THREADS if (rc < 0) leat_py_raise(&err);
    return rc < 0 ? -1 : 0;
}

static PyObject *loader_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "path",   "text", "name",   "section", "settings", "arrays",
                             "stages", "seed", "engine", "hold",    NULL };
    const char *path, *text, *name, *section, *engine;
    PyObject *settings, *arrays, *stages;
    long long seed;
    int hold;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "zzzzOOOLzi", names, &path, &text, &name,
                                     &section, &settings, &arrays, &stages, &seed, &engine, &hold))
        return NULL;
    loader *const l = (loader *)PyType_GenericAlloc(type, 0);
    if (!l)
        return NULL;
    const int rc = arrays != Py_None ? open_arrays(l, arrays, stages, seed, engine)
                                     : open_plan(l, path, text, name, section, settings);
    if (rc == 0 && open_loader(l->plan, hold, Py_None, 0, &l->loader) == 0)
        return (PyObject *)l;
    Py_DECREF(l);
    return NULL;
}

static PyObject *loader_next(PyObject *self, PyObject *none)
{
    loader *const l = (loader *)self;
    leat_batch *taken;
    leat_error err;
    int rc;
    (void)none;
    if (enter(l) < 0)
        return NULL;
    do {
        Py_BEGIN_ALLOW_THREADS rc = leat_loader_next_within(l->loader, SLICE_NS, &taken, &err);
        Py_END_ALLOW_THREADS
    } while (rc == LEAT_E_AGAIN && PyErr_CheckSignals() == 0 && !l->closing);
    l->n_inside--;
    if (rc == LEAT_OK)
        return leat_py_batch_of(taken, leat_plan_get_info(l->plan)->n_tensors);
    if (!PyErr_Occurred()) {
        if (rc == LEAT_E_CANCELED || rc == LEAT_E_AGAIN)
            fail_closed();
        else
            leat_py_raise(&err);
    }
    return NULL;
}

static PyObject *loader_close(PyObject *self, PyObject *none)
{
    (void)none;
    ((loader *)self)->is_over = true; /* also if another thread is in reopen() */
    close_loader((loader *)self);
    return Py_NewRef(Py_None);
}

/* Continues elsewhere: at a state, or at a number of batch. After an error all is as it was. */
static PyObject *loader_reopen(PyObject *self, PyObject *args)
{
    loader *const l = (loader *)self;
    PyObject *state;
    long long first_batch;
    int hold;
    if (!PyArg_ParseTuple(args, "iOL", &hold, &state, &first_batch))
        return NULL;
    if (l->closing)
        return fail_closed();
    leat_loader *opened = NULL;
    if (open_loader(l->plan, hold, state, first_batch, &opened) < 0)
        return NULL;
    if (!l->closing && !l->is_over) {
        close_loader(l);
        l->loader = opened;
        opened = l->is_over ? opened : NULL;
    }
    if (!opened)
        return Py_NewRef(Py_None);
    if (l->loader == opened)
        l->loader = NULL;
    Py_BEGIN_ALLOW_THREADS /* another thread has closed it, or moves it elsewhere */
        leat_loader_close(&opened);
    Py_END_ALLOW_THREADS return fail_closed();
}

static PyObject *loader_state(PyObject *self, PyObject *none)
{
    leat_loader_state s;
    (void)none;
    if (!((loader *)self)->loader)
        return fail_closed();
    leat_loader_get_state(((loader *)self)->loader, &s);
    return Py_BuildValue("IKKKLLLK", s.version, (unsigned long long)s.plan_digest,
                         (unsigned long long)s.n_records, (unsigned long long)s.seed,
                         (long long)s.batch_size, (long long)s.n_batches, (long long)s.next_batch,
                         (unsigned long long)s.checksum);
}

static PyObject *list_tensors(const leat_plan *plan, int32_t n)
{
    PyObject *const out = PyList_New(0);
    for (int32_t i = 0; out && i < n; i++) {
        const leat_tensor_info *const t = leat_plan_tensor(plan, i);
        PyObject *const dims = PyTuple_New(t->shape.rank);
        for (int32_t d = 0; dims && d < t->shape.rank; d++)
            PyTuple_SetItem(dims, d, PyLong_FromLongLong(t->shape.dims[d]));
        PyObject *const one =
            dims ? Py_BuildValue("ssO", t->name, leat_dtype_name(t->shape.dtype), dims) : NULL;
        if (one)
            PyList_Append(out, one);
        Py_XDECREF(one);
        Py_XDECREF(dims);
    }
    return out;
}

static PyObject *list_notes(const leat_plan *plan)
{
    PyObject *const out = PyList_New(0);
    const char *note;
    for (int32_t i = 0; out && (note = leat_plan_note(plan, i)); i++) {
        PyObject *const one = PyUnicode_FromString(note);
        if (one)
            PyList_Append(out, one);
        Py_XDECREF(one);
    }
    return out;
}

static PyObject *list_classes(const leat_plan *plan)
{
    PyObject *const out = PyList_New(0);
    const char *name;
    for (int32_t i = 0; out && (name = leat_plan_class(plan, i)); i++) {
        PyObject *const one = PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
        if (one)
            PyList_Append(out, one);
        Py_XDECREF(one);
    }
    return out;
}

static PyObject *loader_plan(PyObject *self, void *none)
{
    const leat_plan *const plan = ((loader *)self)->plan;
    const leat_plan_info *const i = leat_plan_get_info(plan);
    (void)none;
    return Py_BuildValue(
        "{sKsLsLsLsisisLsisKsKsNsNsN}", "n_records", (unsigned long long)i->n_records, "n_samples",
        (long long)i->n_samples, "n_batches", (long long)i->n_batches, "batch_size",
        (long long)i->batch_size, "rank", (int)i->rank, "ranks", (int)i->ranks, "prefetch",
        (long long)i->prefetch, "n_classes", (int)i->n_classes, "seed", (unsigned long long)i->seed,
        "digest", (unsigned long long)i->digest, "tensors", list_tensors(plan, i->n_tensors),
        "notes", list_notes(plan), "classes", list_classes(plan));
}

static PyObject *list_stages(const leat_loader_stats_info *s)
{
    PyObject *const out = PyList_New(0);
    for (int32_t i = 0; out && i < s->n_stages; i++) {
        const leat_stage_stats *const t = &s->stages[i];
        PyObject *const one = Py_BuildValue("{sssKsLsLsK}", "name", t->name, "samples",
                                            (unsigned long long)t->samples, "busy_ns",
                                            (long long)t->busy_ns, "cpu_ns", (long long)t->cpu_ns,
                                            "bytes_out", (unsigned long long)t->bytes_out);
        if (one)
            PyList_Append(out, one);
        Py_XDECREF(one);
    }
    return out;
}

static PyObject *loader_stats(PyObject *self, PyObject *none)
{
    leat_loader_stats_info s;
    (void)none;
    leat_loader_stats(((loader *)self)->loader, &s);
    return Py_BuildValue(
        "{sLsKsKsKsKsKsKsKsLsisssLsLsLsLsLsLsLsN}", "wall_ns", (long long)s.wall_ns, "batches",
        (unsigned long long)s.batches, "samples", (unsigned long long)s.samples, "n_copied",
        (unsigned long long)s.n_copied, "n_masked", (unsigned long long)s.n_masked, "n_replaced",
        (unsigned long long)s.n_replaced, "bytes_read", (unsigned long long)s.bytes_read,
        "bytes_out", (unsigned long long)s.bytes_out, "wait_ns", (long long)s.wait_ns, "threads",
        (int)s.threads, "reader", s.reader, "prefetch", (long long)s.prefetch, "memory_bytes",
        (long long)s.memory_bytes, "memory_peak", (long long)s.memory_peak, "busy_ns",
        (long long)s.busy_ns, "help_ns", (long long)s.help_ns, "sleep_ns", (long long)s.sleep_ns,
        "cpu_ns", (long long)s.cpu_ns, "stages", list_stages(&s));
}

static PyObject *loader_errors(PyObject *self, PyObject *none)
{
    static leat_row_error rows[LEAT_BATCH_ERRORS]; /* [GIL] */
    const int32_t n = leat_loader_errors(((loader *)self)->loader, rows, LEAT_BATCH_ERRORS);
    PyObject *const out = PyList_New(0);
    (void)none;
    for (int32_t i = 0; out && i < n; i++) {
        const leat_row_error *const r = &rows[i];
        PyObject *const one = Py_BuildValue(
            "{sLsLsKsKsKsOssss}", "batch", (long long)r->batch, "row", (long long)r->row, "record",
            (unsigned long long)r->record, "epoch", (unsigned long long)r->epoch, "replacement",
            (unsigned long long)r->replacement, "replaced", r->replaced ? Py_True : Py_False,
            "code", leat_code_name(r->code), "message", r->message);
        if (one)
            PyList_Append(out, one);
        Py_XDECREF(one);
    }
    return out;
}

static PyObject *loader_trace(PyObject *self, PyObject *args)
{
    loader *const l = (loader *)self;
    PyObject *path;
    leat_error err = { 0 };
    int rc;
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    const char *const name = PyBytes_AsString(path);
    if (!name || enter(l) < 0) {
        Py_DECREF(path);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS rc = leat_loader_trace_write(l->loader, name, &err);
    Py_END_ALLOW_THREADS l->n_inside--;
    Py_DECREF(path);
    return rc < 0 ? leat_py_raise(&err) : Py_NewRef(Py_None);
}

/* --- the module --------------------------------------------------------------------------------- */

/* kinds("stage"), kinds("source"): (name, help, [(option, type, default or None, help), …]) of each. */
static PyObject *kinds(PyObject *self, PyObject *args)
{
    const char *which;
    const leat_kind *kind;
    (void)self;
    if (!PyArg_ParseTuple(args, "s", &which))
        return NULL;
    const leat_kind *(*const at)(size_t) =
        strcmp(which, "stage") ? leat_source_kind : leat_stage_kind;
    PyObject *const out = PyList_New(0);
    for (size_t i = 0; out && (kind = at(i)); i++) {
        PyObject *const options = PyList_New(0);
        for (const leat_option *row = kind->options;
             options && row && row->type != LEAT_OPTION_TYPE_END; row++) {
            char type[128];
            PyObject *const one =
                Py_BuildValue("sszs", row->name, leat_option_type_text(row, type, sizeof type),
                              row->initial, row->help);
            if (one)
                PyList_Append(options, one);
            Py_XDECREF(one);
        }
        PyObject *const one =
            options ? Py_BuildValue("ssN", kind->name, kind->help, options) : NULL;
        if (one)
            PyList_Append(out, one);
        Py_XDECREF(one);
    }
    return out;
}

static PyMethodDef loader_methods[] = {
    { "next", loader_next, METH_NOARGS, "" },      { "close", loader_close, METH_NOARGS, "" },
    { "reopen", loader_reopen, METH_VARARGS, "" }, { "state", loader_state, METH_NOARGS, "" },
    { "stats", loader_stats, METH_NOARGS, "" },    { "errors", loader_errors, METH_NOARGS, "" },
    { "trace", loader_trace, METH_VARARGS, "" },   { NULL, NULL, 0, NULL }
};
static PyGetSetDef loader_fields[] = { { "plan", loader_plan, NULL, NULL, NULL },
                                       { NULL, NULL, NULL, NULL, NULL } };
static PyType_Slot loader_slots[] = { { Py_tp_new, (void *)loader_new },
                                      { Py_tp_dealloc, (void *)loader_free },
                                      { Py_tp_methods, loader_methods },
                                      { Py_tp_getset, loader_fields },
                                      { 0, NULL } };
static PyType_Spec loader_spec = { "leat_data._leat.Loader", sizeof(loader), 0, Py_TPFLAGS_DEFAULT,
                                   loader_slots };

static PyMethodDef functions[] = { { "kinds", kinds, METH_VARARGS, "" },
                                   { "usage", leat_py_usage, METH_NOARGS, "" },
                                   { "observe", leat_py_observe, METH_VARARGS, "" },
                                   { "predict", leat_py_predict, METH_VARARGS, "" },
                                   { "guess", leat_py_guess, METH_VARARGS, "" },
                                   { "taken", leat_py_taken, METH_VARARGS, "" },
                                   { NULL, NULL, 0, NULL } };
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_leat", NULL, -1, functions, NULL, NULL, NULL, NULL
};

PyMODINIT_FUNC PyInit__leat(void)
{
    PyObject *const m = PyModule_Create(&module);
    PyObject *const loaders = m ? PyType_FromSpec(&loader_spec) : NULL;
    if (loaders && leat_py_tensor_init(m) == 0 &&
        PyModule_AddObjectRef(m, "Loader", loaders) == 0 &&
        PyModule_AddStringConstant(m, "version", leat_version()) == 0)
        return m;
    Py_XDECREF(m);
    return NULL;
}
