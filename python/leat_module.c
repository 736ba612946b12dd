/* SPDX-License-Identifier: MIT
 *
 * leat_module.c: the extension leat_data._leat, over the public headers alone and the limited API of CPython 3.11.
 * leat_data/__init__.py is its only user and gives it a Python face. Loader is in leat_loader.c, and what it delivers
 * in leat_batch.c and leat_tensor.c. */
#include "leat_module.h"

#include <string.h>

PyObject *leat_py_text(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace");
}

void leat_py_append(PyObject **list, PyObject *one)
{
    if (!one || PyList_Append(*list, one) < 0)
        Py_CLEAR(*list);
    Py_XDECREF(one);
}

/* --- errors ------------------------------------------------------------------------------------- */

PyObject *leat_py_raise(const leat_error *err)
{
    PyObject *const module = PyImport_ImportModule("leat_data._errors");
    PyObject *const error =
        module ? PyObject_CallMethod(module, "make", "isNiiNLN", err->code,
                                     leat_code_name(err->code), leat_py_text(err->message),
                                     (int)err->line, (int)err->column, leat_py_text(err->path),
                                     (long long)err->record, leat_py_text(err->op))
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
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && (kind = at(i)); i++) {
        PyObject *options = PyList_New(0);
        for (const leat_option *row = kind->options;
             options && row && row->type != LEAT_OPTION_TYPE_END; row++) {
            char type[128];
            PyObject *const one =
                Py_BuildValue("sszs", row->name, leat_option_type_text(row, type, sizeof type),
                              row->initial, row->help);
            leat_py_append(&options, one);
        }
        PyObject *const one =
            options ? Py_BuildValue("ssN", kind->name, kind->help, options) : NULL;
        leat_py_append(&out, one);
    }
    return out;
}

static PyMethodDef functions[] = { { "kinds", kinds, METH_VARARGS, "" },
                                   { "usage", leat_py_usage, METH_NOARGS, "" },
                                   { "observe", leat_py_observe, METH_VARARGS, "" },
                                   { "predict", leat_py_predict, METH_VARARGS, "" },
                                   { "guess", leat_py_guess, METH_VARARGS, "" },
                                   { "taken", leat_py_taken, METH_VARARGS, "" },
                                   { NULL, NULL, 0, NULL } };

/* Static types and rows are of the process, so only one interpreter may have them. */
static int fill_module(PyObject *m)
{
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError,
                        "leat_data works in the main interpreter alone: in place of a "
                        "sub-interpreter use threads or processes");
        return -1;
    }
    if (leat_py_tensor_init(m) < 0 || leat_py_batch_init(m) < 0 || leat_py_loader_init(m) < 0)
        return -1;
    return PyModule_AddStringConstant(m, "version", leat_version());
}

static PyModuleDef_Slot slots[] = { { Py_mod_exec, (void *)fill_module }, { 0, NULL } };
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_leat", NULL, 0, functions, slots, NULL, NULL, NULL
};

PyMODINIT_FUNC PyInit__leat(void)
{
    return PyModuleDef_Init(&module);
}
