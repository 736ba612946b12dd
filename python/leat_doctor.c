/* SPDX-License-Identifier: MIT
 *
 * leat_doctor.c: leat/observe.h for leat_data/_doctor.py and _watch.py. */
#include "leat_module.h"

#include <stdlib.h>
#include <string.h>

/* --- observed runs ------------------------------------------------------------------------------ */

/* From what usage() gave. */
static int take_usage(const char *bytes, Py_ssize_t n, leat_usage *out)
{
    if (n != sizeof *out) {
        PyErr_SetString(PyExc_ValueError, "not what usage() gave");
        return -1;
    }
    memcpy(out, bytes, sizeof *out);
    return 0;
}

/* (wall ns, wait ns, steps, rows, usage, usage[, all rows]) */
static int parse_run(PyObject *given, leat_observed_run *out)
{
    long long wall, wait, steps;
    const char *from, *to;
    Py_ssize_t n_from, n_to;
    out->all_rows = 0;
    if (!PyArg_ParseTuple(given, "LLLdy#y#|d", &wall, &wait, &steps, &out->rows, &from, &n_from,
                          &to, &n_to, &out->all_rows))
        return -1;
    if (take_usage(from, n_from, &out->from) < 0 || take_usage(to, n_to, &out->to) < 0)
        return -1;
    out->wall_ns = wall;
    out->wait_ns = wait;
    out->steps = steps;
    return 0;
}

/* (on_host, overlaps, workers, [(whole, loader, step), …]). `rounds` is to be freed. */
static int parse_observed(PyObject *given, leat_observed *out, leat_observed_round **rounds)
{
    int on_host, overlaps, workers;
    PyObject *list;
    if (!PyArg_ParseTuple(given, "ppiO", &on_host, &overlaps, &workers, &list))
        return -1;
    const Py_ssize_t n = PyList_Size(list);
    if (n < 0)
        return -1;
    *rounds = calloc((size_t)n + 1, sizeof **rounds);
    if (!*rounds) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        leat_observed_round *const r = &(*rounds)[i];
        PyObject *whole, *loader, *step;
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "OOO", &whole, &loader, &step) ||
            parse_run(whole, &r->whole) < 0 || parse_run(loader, &r->loader) < 0 ||
            parse_run(step, &r->step) < 0)
            return -1;
    }
    *out = (leat_observed){ .on_host = on_host,
                            .overlaps = overlaps,
                            .workers = workers,
                            .n_rounds = (int32_t)n,
                            .rounds = *rounds };
    return 0;
}

/* --- the result --------------------------------------------------------------------------------- */

static PyObject *list_capacities(const leat_doctor_result *r)
{
    PyObject *out = PyList_New(0);
    for (int32_t i = 0; out && i < r->n_capacities; i++) {
        const leat_doctor_capacity *const c = &r->capacities[i];
        PyObject *const one = Py_BuildValue("{sssssdsd}", "part", leat_verdict_part(c->part)->word,
                                            "text", leat_verdict_part(c->part)->text, "step_ms",
                                            c->step_ms, "samples_per_s", c->samples_per_s.value);
        leat_py_append(&out, one);
    }
    return out;
}

/* word: share, those that are not 0; and for each the text of the screen. */
static PyObject *list_shares(const leat_doctor_result *r)
{
    PyObject *out = PyList_New(0);
    for (int i = 0; out && i < LEAT_N_SHARES; i++) {
        const leat_share_row *const row = leat_verdict_share((leat_share)i);
        PyObject *const one = Py_BuildValue("ssd", row->word, row->text, r->shares[i]);
        leat_py_append(&out, one);
    }
    return out;
}

static PyObject *result_of(const leat_doctor_result *r)
{
    char label[LEAT_VERDICT_LABEL];
    return Py_BuildValue(
        "{sssssssssssdsdsdsdsdsssdsisdsdsNsN}", "verdict",
        leat_verdict_about(r->verdict.kind)->name, "label", leat_verdict_label(&r->verdict, label),
        "severity", leat_verdict_severity(r->verdict.severity), "also",
        leat_verdict_about(r->verdict.also)->name, "sentence", r->sentence, "batch", r->batch,
        "samples_per_s", r->samples_per_s.value, "measured_step_ms", r->measured_step_ms,
        "predicted_step_ms", r->predicted_step_ms, "next_limit_step_ms", r->next_limit_step_ms,
        "next_limit", leat_verdict_part(r->next_limit)->limit, "cores_taken", r->cores_taken,
        "cores", (int)r->cores, "throttled", r->throttled, "run_busy", r->meter.busy, "capacities",
        list_capacities(r), "shares", list_shares(r));
}

/* --- functions ---------------------------------------------------------------------------------- */

PyObject *leat_py_usage(PyObject *self, PyObject *none)
{
    leat_usage now;
    (void)self;
    (void)none;
    leat_usage_now(&now);
    return PyBytes_FromStringAndSize((const char *)&now, sizeof now);
}

PyObject *leat_py_observe(PyObject *self, PyObject *args)
{
    leat_observed observed;
    leat_observed_round *rounds = NULL;
    leat_error err = { 0 };
    PyObject *out = NULL;
    (void)self;
    leat_doctor_result *const result = malloc(sizeof *result);
    if (!result)
        return PyErr_NoMemory();
    if (parse_observed(args, &observed, &rounds) == 0)
        out = leat_doctor_observed(&observed, result, &err) < 0 ? leat_py_raise(&err)
                                                                : result_of(result);
    free(rounds);
    free(result);
    return out;
}

/* (observed, workers): the step, ns; 0: it cannot be told. */
PyObject *leat_py_predict(PyObject *self, PyObject *args)
{
    PyObject *given;
    int workers;
    leat_observed observed;
    leat_observed_round *rounds = NULL;
    double ns = -1;
    (void)self;
    if (PyArg_ParseTuple(args, "Oi", &given, &workers) &&
        parse_observed(given, &observed, &rounds) == 0)
        ns = leat_observed_predict(&observed, workers);
    free(rounds);
    return ns < 0 ? NULL : PyFloat_FromDouble(ns);
}

/* (busy, input_wait, on_host): leat_doctor_guess(). */
PyObject *leat_py_guess(PyObject *self, PyObject *args)
{
    leat_meter meter = { 0 };
    int on_host;
    char text[256];
    (void)self;
    if (!PyArg_ParseTuple(args, "ddp", &meter.busy, &meter.input_wait, &on_host))
        return NULL;
    meter.other = 1 - meter.busy - meter.input_wait;
    return PyUnicode_FromString(leat_doctor_guess(&meter, on_host, text, sizeof text));
}

/* (usage, usage): CPUs of this process, of other processes, and that it may use. */
PyObject *leat_py_taken(PyObject *self, PyObject *args)
{
    leat_usage from, to;
    const char *given[2];
    Py_ssize_t n[2];
    (void)self;
    if (!PyArg_ParseTuple(args, "y#y#", &given[0], &n[0], &given[1], &n[1]) ||
        take_usage(given[0], n[0], &from) < 0 || take_usage(given[1], n[1], &to) < 0)
        return NULL;
    const double wall = (double)(to.at_ns - from.at_ns), own = (double)(to.own_ns - from.own_ns);
    return Py_BuildValue("ddi", wall > 0 ? own / wall : 0, leat_usage_others(&from, &to),
                         (int)to.n_cpus);
}
