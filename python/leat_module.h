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

/* In leat_tensor.c. A Batch with its n tensors; takes over the batch, also after an error. */
PyObject *leat_py_batch_of(leat_batch *held, int32_t n);
/* Makes the types. 0, or -1 with an exception. */
int leat_py_tensor_init(PyObject *module);

/* Functions of the module, in leat_doctor.c. */
PyObject *leat_py_usage(PyObject *self, PyObject *none);
PyObject *leat_py_observe(PyObject *self, PyObject *args);
PyObject *leat_py_predict(PyObject *self, PyObject *args);
PyObject *leat_py_guess(PyObject *self, PyObject *args);
PyObject *leat_py_taken(PyObject *self, PyObject *args);

#endif
