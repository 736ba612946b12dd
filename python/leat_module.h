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

/* Functions of the module, in leat_doctor.c. */
PyObject *leat_py_usage(PyObject *self, PyObject *none);
PyObject *leat_py_observe(PyObject *self, PyObject *args);
PyObject *leat_py_predict(PyObject *self, PyObject *args);
PyObject *leat_py_guess(PyObject *self, PyObject *args);
PyObject *leat_py_taken(PyObject *self, PyObject *args);

#endif
