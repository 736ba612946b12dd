/* SPDX-License-Identifier: MIT
 *
 * leat_plan.c: the plan of a Loader of leat_data._leat: opened from a config or from arrays, and described to Python.
 * leat_loader.c is its only user. */
#include "leat_module.h"

#include <string.h>

/* "path=value"; NULL with an exception. A NUL would end it for C. */
static const char *setting_of(PyObject *given)
{
    Py_ssize_t size;
    const char *const text = PyUnicode_AsUTF8AndSize(given, &size);
    if (!text || strlen(text) == (size_t)size)
        return text;
    PyErr_SetString(PyExc_ValueError, "embedded null character in a setting");
    return NULL;
}

/* Of the engine that the pipeline has: a section's own takes the place of the config's. */
static int set_engine(leat_config *config, const char *section, PyObject *given, leat_error *err)
{
    const char *assignment;
    char path[256] = "engine", first[2] = "";
    if (!PyArg_ParseTuple(given, "s", &assignment))
        return LEAT_E_ARGUMENT;
    if (section) {
        snprintf(path, sizeof path, "%s.engine", section);
        leat_config_get(config, path, first, sizeof first, NULL); /* "{": it is there, and a map */
    }
    PyObject *const whole =
        PyUnicode_FromFormat("%s.%s", *first || !section ? path : "engine", assignment);
    const char *const text = whole ? setting_of(whole) : NULL;
    const int rc = text ? leat_config_set(config, text, err) : LEAT_E_ARGUMENT;
    Py_XDECREF(whole);
    return rc;
}

/* Settings are "path=value" strings; in a tuple: of the engine. */
static int set_all(leat_config *config, const char *section, PyObject *settings, leat_error *err)
{
    const Py_ssize_t n = PyList_Size(settings);
    int rc = n < 0 ? LEAT_E_ARGUMENT : LEAT_OK;
    for (Py_ssize_t i = 0; i < n && rc >= 0; i++) {
        PyObject *const one = PyList_GetItem(settings, i);
        const char *const text = PyTuple_Check(one) ? NULL : setting_of(one);
        rc = text                 ? leat_config_set(config, text, err)
             : PyTuple_Check(one) ? set_engine(config, section, one, err)
                                  : LEAT_E_ARGUMENT;
    }
    return rc;
}

/* 0, or -1 with an exception. */
static int open_plan(leat_py_plan *p, const char *path, const char *text, const char *name,
                     const char *section, PyObject *settings)
{
    leat_config *config = NULL;
    leat_error err = { 0 };
    int rc;
    Py_BEGIN_ALLOW_THREADS
    rc =
        path ? leat_config_load(path, &config, &err) : leat_config_parse(text, name, &config, &err);
    Py_END_ALLOW_THREADS
    if (rc >= 0)
        rc = set_all(config, section, settings, &err);
    if (rc >= 0) {
        Py_BEGIN_ALLOW_THREADS
        rc = leat_plan_open(config, section, &p->plan, &err);
        Py_END_ALLOW_THREADS
    }
    leat_config_close(&config);
    if (rc < 0 && !PyErr_Occurred())
        leat_py_raise(&err);
    return rc < 0 ? -1 : 0;
}

/* A row of the source from (name, dtype, dims of a row, array). */
static int take_array(leat_py_plan *p, PyObject *item, leat_rows *out, int64_t *n_records)
{
    const char *name, *type;
    PyObject *dims, *array;
    int64_t sizes[LEAT_MAX_RANK] = { 0 };
    if (!PyArg_ParseTuple(item, "ssOO", &name, &type, &dims, &array) ||
        PyObject_GetBuffer(array, &p->buffers[p->n_buffers], PyBUF_C_CONTIGUOUS) < 0)
        return -1;
    const Py_buffer *const buffer = &p->buffers[p->n_buffers++];
    const Py_ssize_t rank = PyTuple_Size(dims);
    if (rank < 0 || rank > LEAT_MAX_RANK) {
        PyErr_Format(PyExc_ValueError,
                     "array '%s' has %zd dimensions: leat has %d at most, the rows' included", name,
                     rank < 0 ? 0 : rank + 1, LEAT_MAX_RANK + 1);
        return -1;
    }
    for (Py_ssize_t i = 0; i < rank; i++)
        sizes[i] = PyLong_AsLongLong(PyTuple_GetItem(dims, i));
    *out = (leat_rows){ name, leat_shape_make(leat_dtype_of(type), (int)rank, sizes), buffer->buf };
    const int64_t bytes = leat_shape_bytes(&out->shape);
    if (out->shape.dtype >= LEAT_N_DTYPES) {
        PyErr_Format(PyExc_ValueError,
                     "array '%s' is %s: leat has uint8, int32, int64, float16, bfloat16 and "
                     "float32; convert it, for example with array.astype('float32')",
                     name, type);
        return -1;
    }
    if (bytes <= 0) {
        PyErr_Format(PyExc_ValueError, "array '%s' has empty rows", name);
        return -1;
    }
    if (*n_records >= 0 && *n_records != buffer->len / bytes) {
        PyErr_Format(PyExc_ValueError, "array '%s' has %lld rows, and those before it have %lld",
                     name, (long long)(buffer->len / bytes), (long long)*n_records);
        return -1;
    }
    *n_records = buffer->len / bytes;
    return PyErr_Occurred() ? -1 : 0;
}

/* arrays: list of tuples as above. stages: list of (name, options as YAML or None). */
static int open_arrays(leat_py_plan *p, PyObject *arrays, PyObject *stages, long long seed,
                       const char *engine)
{
    leat_rows rows[LEAT_PY_ROWS];
    leat_error err = { 0 };
    int64_t n_records = -1;
    const Py_ssize_t n = PyList_Size(arrays);
    if (n > LEAT_PY_ROWS) {
        PyErr_SetString(PyExc_ValueError, "too many arrays");
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (take_array(p, PyList_GetItem(arrays, i), &rows[i], &n_records) < 0)
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
    if (!PyErr_Occurred()) {
        Py_BEGIN_ALLOW_THREADS
        rc = leat_builder_plan(builder, &p->plan, &err);
        Py_END_ALLOW_THREADS
        if (rc < 0)
            leat_py_raise(&err);
    }
    leat_builder_close(&builder);
    return rc < 0 ? -1 : 0;
}

int leat_py_plan_open(leat_py_plan *p, PyObject *args, PyObject *keywords, int *hold,
                      const char **device)
{
    static char *names[] = { "path",   "text", "name",   "section", "settings", "arrays",
                             "stages", "seed", "engine", "hold",    "device",   NULL };
    const char *text, *name, *section, *engine;
    PyObject *given, *settings, *arrays, *stages;
    long long seed;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OzzzOOOLziz", names, &given, &text, &name,
                                     &section, &settings, &arrays, &stages, &seed, &engine, hold,
                                     device))
        return -1;
    char *path = NULL; /* without a NUL, which a size of NULL asks for */
    if (given != Py_None && PyBytes_AsStringAndSize(given, &path, NULL) < 0)
        return -1;
    return arrays != Py_None ? open_arrays(p, arrays, stages, seed, engine)
                             : open_plan(p, path, text, name, section, settings);
}

void leat_py_plan_close(leat_py_plan *p)
{
    leat_plan_close(&p->plan);
    for (size_t i = 0; i < p->n_buffers; i++)
        PyBuffer_Release(&p->buffers[i]);
}

static PyObject *list_tensors(const leat_plan *plan, int32_t n)
{
    PyObject *out = PyList_New(0);
    for (int32_t i = 0; out && i < n; i++) {
        const leat_tensor_info *const t = leat_plan_tensor(plan, i);
        PyObject *const dims = PyTuple_New(t->shape.rank);
        for (int32_t d = 0; dims && d < t->shape.rank; d++)
            PyTuple_SetItem(dims, d, PyLong_FromLongLong(t->shape.dims[d]));
        PyObject *const one =
            dims ? Py_BuildValue("ssO", t->name, leat_dtype_name(t->shape.dtype), dims) : NULL;
        leat_py_append(&out, one);
        Py_XDECREF(dims);
    }
    return out;
}

static PyObject *list_notes(const leat_plan *plan)
{
    PyObject *out = PyList_New(0);
    const char *note;
    for (int32_t i = 0; out && (note = leat_plan_note(plan, i)); i++)
        leat_py_append(&out, leat_py_text(note));
    return out;
}

/* tensor: NULL: those of the source. */
static PyObject *list_classes(const leat_plan *plan, const char *tensor)
{
    PyObject *out = PyList_New(0);
    const char *name;
    for (int32_t i = 0; out && (name = tensor ? leat_plan_tensor_class(plan, tensor, i)
                                              : leat_plan_class(plan, i));
         i++)
        leat_py_append(&out, leat_py_text(name));
    return out;
}

/* {tensor: names}, of those that have some. */
static PyObject *list_tensor_classes(const leat_plan *plan, int32_t n)
{
    PyObject *out = PyDict_New();
    for (int32_t i = 0; out && i < n; i++) {
        const char *const tensor = leat_plan_tensor(plan, i)->name;
        if (!leat_plan_tensor_class(plan, tensor, 0))
            continue;
        PyObject *const names = list_classes(plan, tensor);
        if (!names || PyDict_SetItemString(out, tensor, names) < 0)
            Py_CLEAR(out);
        Py_XDECREF(names);
    }
    return out;
}

PyObject *leat_py_plan_info(const leat_plan *plan)
{
    const leat_plan_info *const i = leat_plan_get_info(plan);
    return Py_BuildValue(
        "{sKsLsLsLsisisLsisKsKsNsNsNsN}", "n_records", (unsigned long long)i->n_records,
        "n_samples", (long long)i->n_samples, "n_batches", (long long)i->n_batches, "batch_size",
        (long long)i->batch_size, "rank", (int)i->rank, "ranks", (int)i->ranks, "prefetch",
        (long long)i->prefetch, "n_classes", (int)i->n_classes, "seed", (unsigned long long)i->seed,
        "digest", (unsigned long long)i->digest, "tensors", list_tensors(plan, i->n_tensors),
        "notes", list_notes(plan), "classes", list_classes(plan, NULL), "tensor_classes",
        list_tensor_classes(plan, i->n_tensors));
}
