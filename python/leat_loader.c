/* SPDX-License-Identifier: MIT
 *
 * leat_loader.c: the types Loader and Pass of leat_data._leat.
 *
 * DESIGN. A Loader owns a plan, and a run of it: a C loader, which the Loader replaces to go on elsewhere. Batches that
 * are held (leat_tensor.c) outlive it.
 *
 * Threads. Calls that wait run without the GIL, in slices of SLICE_NS, so that signals are handled in between; a handler
 * may do anything with the Loader, since its thread is not inside then. `n_inside` counts the threads that are inside. Only
 * with the GIL, and only while the run is the Loader's, does a thread go in; it leaves before it takes the GIL back,
 * because a daemon thread ends there when the interpreter does. So whoever takes a run from its Loader can cancel it, wait
 * for the threads inside, and close it. After fork() these threads do not exist in the child, which does not wait.
 *
 * Passes. Each loop over a Loader is a pass and has a number. An iterator of an older pass takes nothing. `end`
 * and `left` say which batch is asked for next: end - left.
 *
 * Signals. When a batch has come, handlers run before next() returns it. Meanwhile the run keeps it as the batch that comes
 * next, and it stays that if a handler raises. A thread that comes with a later batch meanwhile gives the kept one and leaves
 * its own, so that no batch behind the position was given. */
#include "leat_module.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS 50000000

typedef struct run {
    leat_loader *loader;
    pid_t owner;         /* process that opened it */
    atomic_int n_inside; /* threads in a call without the GIL; close_run() waits for 0 */
    leat_batch *kept;    /* taken from the C loader, and not given yet; NULL: none [GIL] */
} run;

/* All but plan, device and names, which are constant: [GIL] */
typedef struct loader {
    PyObject_HEAD leat_py_plan plan;
    leat_py_device *device; /* NULL: host memory */
    PyObject *names;        /* of the tensors, a tuple */
    PyObject *references;   /* weak ones to this Loader */
    int hold;
    bool at_exit;                  /* the interpreter closed it */
    run *run;                      /* NULL: closed */
    int64_t pass;                  /* the newest one */
    int64_t size;                  /* its batches; -1: endless */
    int64_t left;                  /* those that nobody has asked for */
    int64_t end;                   /* number of the first batch behind it */
    leat_loader_stats_info before; /* of the runs before this one, together */
    PyObject *errors;              /* the first of theirs, a list; NULL: none */
} loader;

static leat_loader *c_loader(PyObject *self)
{
    const run *const r = ((loader *)self)->run;
    return r ? r->loader : NULL;
}

/* At exit a thread ends without a word. */
static PyObject *fail_closed(PyObject *self)
{
    PyErr_SetString(((loader *)self)->at_exit ? PyExc_SystemExit : PyExc_ValueError,
                    "the loader is closed");
    return NULL;
}

/* -1 with an exception: the run cannot be replaced here. */
static int refuse_move(loader *l)
{
    if (!l->run) {
        fail_closed((PyObject *)l);
    } else if (l->run->owner != getpid()) {
        leat_error err = { .code = LEAT_E_FORKED,
                           .record = -1,
                           .message = "the loader belongs to the process that was forked: open "
                                      "another one here, and give it the state to continue" };
        leat_py_raise(&err);
    } else {
        return 0;
    }
    return -1;
}

/* -1 with an exception: a thread may not take a batch of this pass. */
static int refuse_next(loader *l, int64_t pass)
{
    if (!l->run) {
        fail_closed((PyObject *)l);
    } else if (pass != l->pass) {
        leat_error err = { .code = LEAT_E_CANCELED,
                           .record = -1,
                           .message = "a newer loop over this loader has ended this one: let "
                                      "threads share one iterator, or open another loader" };
        leat_py_raise(&err);
    } else {
        return 0;
    }
    return -1;
}

/* --- what all runs did ----------------------------------------------------------------------------- */

static void sum_stages(leat_loader_stats_info *s, const leat_loader_stats_info *before)
{
    for (int32_t i = 0; i < before->n_stages; i++) {
        leat_stage_stats *const t = &s->stages[i];
        const leat_stage_stats *const b = &before->stages[i];
        t->samples += b->samples;
        t->busy_ns += b->busy_ns;
        t->cpu_ns = t->cpu_ns < 0 ? b->cpu_ns : t->cpu_ns + (b->cpu_ns > 0 ? b->cpu_ns : 0);
        t->bytes_out += b->bytes_out;
    }
}

/* Figures of a run, NULL for none, and of those before it. What is no sum is that of the newest. */
static void sum_stats(const loader *l, leat_loader *newest, leat_loader_stats_info *out)
{
    const leat_loader_stats_info *const b = &l->before;
    leat_loader_stats(newest, out);
    if (out->n_stages == 0) { /* closed, or of the process that was forked */
        *out = *b;
        return;
    }
    out->wall_ns += b->wall_ns;
    out->batches += b->batches;
    out->samples += b->samples;
    out->n_copied += b->n_copied;
    out->n_masked += b->n_masked;
    out->n_replaced += b->n_replaced;
    out->bytes_read += b->bytes_read;
    out->bytes_out += b->bytes_out;
    out->wait_ns += b->wait_ns;
    out->busy_ns += b->busy_ns;
    out->help_ns += b->help_ns;
    out->sleep_ns += b->sleep_ns;
    out->cpu_ns += b->cpu_ns;
    out->memory_peak = b->memory_peak > out->memory_peak ? b->memory_peak : out->memory_peak;
    sum_stages(out, b);
}

/* The same of the bad records. NULL with an exception. */
static PyObject *list_errors(const loader *l, leat_loader *newest)
{
    static leat_row_error rows[LEAT_BATCH_ERRORS]; /* [GIL] */
    PyObject *out = l->errors ? PyList_GetSlice(l->errors, 0, LEAT_BATCH_ERRORS) : PyList_New(0);
    const int32_t room = LEAT_BATCH_ERRORS - (out ? (int32_t)PyList_Size(out) : 0);
    const int32_t n = leat_loader_errors(newest, rows, room);
    for (int32_t i = 0; out && i < n; i++) {
        const leat_row_error *const r = &rows[i];
        PyObject *const one = Py_BuildValue(
            "{sLsLsKsKsKsOsssN}", "batch", (long long)r->batch, "row", (long long)r->row, "record",
            (unsigned long long)r->record, "epoch", (unsigned long long)r->epoch, "replacement",
            (unsigned long long)r->replacement, "replaced", r->replaced ? Py_True : Py_False,
            "code", leat_code_name(r->code), "message", leat_py_text(r->message));
        leat_py_append(&out, one);
    }
    return out;
}

/* Before the end of a run. */
static void keep_figures(loader *l, const run *r)
{
    leat_loader_stats_info sum;
    PyObject *const errors = list_errors(l, r->loader);
    sum_stats(l, r->loader, &sum);
    l->before = sum;
    if (errors) {
        Py_XDECREF(l->errors);
        l->errors = errors;
    } else {
        PyErr_Clear(); /* no memory for more of them */
    }
}

/* --- runs --------------------------------------------------------------------------------------- */

/* Ends the calls of other threads, then frees. No Loader has it any more. The GIL is released meanwhile.
 * l: that had it, and keeps its figures; NULL: none */
static void close_run(loader *l, run *r)
{
    if (!r)
        return;
    Py_BEGIN_ALLOW_THREADS
    if (r->owner == getpid()) {
        leat_loader_cancel(r->loader);
        while (atomic_load(&r->n_inside))
            nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
    }
    Py_END_ALLOW_THREADS
    if (l)
        keep_figures(l, r);
    Py_BEGIN_ALLOW_THREADS
    leat_batch_release(r->kept);
    leat_loader_close(&r->loader);
    Py_END_ALLOW_THREADS
    free(r);
}

/* (version, digest, n_records, seed, batch_size, n_batches, next_batch, checksum[, is_begun]) */
static int parse_state(PyObject *given, leat_loader_state *out, int *is_begun)
{
    unsigned int version;
    unsigned long long digest, n_records, seed, checksum;
    long long batch_size, n_batches, next_batch;
    if (!PyArg_ParseTuple(given, "IKKKLLLK|p", &version, &digest, &n_records, &seed, &batch_size,
                          &n_batches, &next_batch, &checksum, is_begun))
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

/* At a state, or at a number of batch. NULL with an exception. */
static run *open_run(const loader *l, const leat_loader_state *state, int64_t first_batch)
{
    const leat_loader_options options = { .device = leat_py_device_get(l->device),
                                          .epochs = -1,
                                          .hold = l->hold,
                                          .beyond_hold = 1,
                                          .first_batch = first_batch,
                                          .state = state };
    leat_error err = { 0 };
    run *r = calloc(1, sizeof *r);
    int rc;
    if (!r) {
        PyErr_NoMemory();
        return NULL;
    }
    r->owner = getpid();
    Py_BEGIN_ALLOW_THREADS
    rc = leat_loader_open(l->plan.plan, &options, &r->loader, &err);
    Py_END_ALLOW_THREADS
    if (rc < 0) {
        leat_py_raise(&err);
        free(r);
        r = NULL;
    }
    return r;
}

/* The next pass goes from a batch to the end of its epoch. Returns its number. */
static int64_t begin_pass(loader *l, int64_t first)
{
    const int64_t n = leat_plan_get_info(l->plan.plan)->n_batches;
    l->size = l->left = n > 0 ? n - first % n : n;
    l->end = first + l->left;
    return ++l->pass;
}

/* Of the C loader, which has given the kept one. */
static int64_t next_batch(const run *r)
{
    leat_loader_state s;
    leat_loader_get_state(r->loader, &s);
    return s.next_batch;
}

static void drop_kept(run *r)
{
    leat_batch_release(r->kept);
    r->kept = NULL;
}

/* Continues elsewhere in a new pass, and returns its number. -1 with an exception: all is as it was. That is so, too, if the
 * list `gone` has something in it by then: nobody waits for this any more. */
static int64_t move(loader *l, const leat_loader_state *state, int64_t first_batch, PyObject *gone)
{
    run *const opened = refuse_move(l) == 0 ? open_run(l, state, first_batch) : NULL;
    if (!opened)
        return -1;
    const bool is_wanted = PyList_Size(gone) == 0;
    if (!l->run || !is_wanted) { /* or another thread has closed it meanwhile */
        close_run(NULL, opened);
        if (is_wanted)
            fail_closed((PyObject *)l);
        else if (!PyErr_Occurred())
            PyErr_SetNone(PyExc_KeyboardInterrupt);
        return -1;
    }
    run *const old = l->run;
    l->run = opened;
    const int64_t pass = begin_pass(l, next_batch(opened));
    close_run(l, old); /* meanwhile other threads may begin newer ones */
    return pass;
}

/* --- Loader ------------------------------------------------------------------------------------- */

static void loader_free(PyObject *self)
{
    PyTypeObject *const type = Py_TYPE(self);
    loader *const l = (loader *)self;
    PyObject_ClearWeakRefs(self);
    close_run(NULL, l->run);
    Py_XDECREF(l->errors);
    leat_py_plan_close(&l->plan);
    leat_py_device_leave(l->device);
    Py_XDECREF(l->names);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* NULL with an exception. */
static PyObject *names_of(const leat_plan *plan)
{
    const int32_t n = leat_plan_get_info(plan)->n_tensors;
    PyObject *out = PyTuple_New(n);
    for (int32_t i = 0; out && i < n; i++)
        PyTuple_SetItem(out, i, PyUnicode_InternFromString(leat_plan_tensor(plan, i)->name));
    if (PyErr_Occurred())
        Py_CLEAR(out);
    return out;
}

static PyObject *loader_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    loader *const l = (loader *)PyType_GenericAlloc(type, 0);
    const char *device;
    if (!l)
        return NULL;
    if (leat_py_plan_open(&l->plan, args, keywords, &l->hold, &device) == 0 &&
        (l->names = names_of(l->plan.plan)) != NULL &&
        (!device || (l->device = leat_py_device_open(device)) != NULL) &&
        (l->run = open_run(l, NULL, 0)) != NULL) {
        begin_pass(l, 0);
        return (PyObject *)l;
    }
    Py_DECREF(l);
    return NULL;
}

/* --- Pass --------------------------------------------------------------------------------------- */

/* The rest of one pass. Any number of threads may take batches from it. */
typedef struct pass {
    PyObject_HEAD loader *loader;
    int64_t number; /* 0: over, and it stays over [GIL] */
    leat_py_form form;
} pass;

static PyTypeObject *pass_type;

static void pass_free(PyObject *self)
{
    PyTypeObject *const type = Py_TYPE(self);
    Py_DECREF(((pass *)self)->loader);
    Py_XDECREF(((pass *)self)->form.convert);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* 0, or -1 with an exception. */
static int form_of(const char *word, PyObject *convert, leat_py_form *out)
{
    static const char *const words[] = { [LEAT_PY_TENSOR] = "tensor",
                                         [LEAT_PY_OBJECT] = "object",
                                         [LEAT_PY_CAPSULE] = "capsule",
                                         [LEAT_PY_ARRAY] = "array" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(word, words[i])) {
            *out = (leat_py_form){ .kind = (enum leat_py_kind)i, .convert = convert };
            return 0;
        }
    PyErr_Format(PyExc_ValueError, "'%s' is no form of a tensor", word);
    return -1;
}

/* begin(form, convert, gone): an iterator of a new pass. A pass of which somebody has asked for a batch is over. Where `gone`
 * is None and it takes a move(), None. */
static PyObject *loader_begin(PyObject *self, PyObject *args)
{
    loader *const l = (loader *)self;
    PyObject *convert, *gone;
    const char *word;
    leat_py_form form;
    if (!PyArg_ParseTuple(args, "sOO", &word, &convert, &gone) ||
        form_of(word, convert, &form) < 0 || refuse_move(l) < 0)
        return NULL;
    int64_t number = l->pass;
    if (l->left != l->size && next_batch(l->run) == l->end) {
        drop_kept(l->run);
        number = begin_pass(l, l->end);
    } else if (l->left != l->size && gone == Py_None) {
        return Py_NewRef(Py_None);
    } else if (l->left != l->size) {
        number = move(l, NULL, l->end, gone);
    } else if (l->size >= 0) { /* else endless: all loops share it */
        number = begin_pass(l, l->end - l->size);
    }
    pass *const p = number < 0 ? NULL : PyObject_New(pass, pass_type);
    if (!p)
        return NULL;
    p->loader = (loader *)Py_NewRef(self);
    p->number = number;
    p->form = form;
    Py_INCREF(convert);
    return (PyObject *)p;
}

static int take_within(run *r, int64_t ns, leat_batch **out, leat_error *err)
{
    int rc;
    atomic_fetch_add(&r->n_inside, 1);
    Py_BEGIN_ALLOW_THREADS
    rc = leat_loader_next_within(r->loader, ns, out, err);
    atomic_fetch_sub(&r->n_inside, 1); /* `r` may be gone from here on */
    Py_END_ALLOW_THREADS
    return rc;
}

/* Gives the first of two batches, and keeps the other. */
static void keep_later(run *r, leat_batch **out)
{
    leat_batch *const kept = r->kept;
    if (leat_batch_get_info(kept)->number < leat_batch_get_info(*out)->number) {
        r->kept = *out;
        *out = kept;
    }
}

/* Waits for the next batch of a pass for a slice of time, and handles signals. Returns as leat_loader_next_within(); LEAT_E_AGAIN
 * also with an exception. */
static int take_slice(loader *l, int64_t number, leat_batch **out, leat_error *err)
{
    const bool has_kept = l->run->kept && l->run->owner == getpid();
    const int rc = has_kept ? LEAT_E_AGAIN : take_within(l->run, SLICE_NS, out, err);
    if (rc == LEAT_OK) {
        if (!l->run || l->pass != number)
            return rc; /* there is no place to keep it */
        if (l->run->kept) {
            keep_later(l->run, out);
            return rc;
        }
        l->run->kept = *out;
    } else if (rc != LEAT_E_AGAIN) {
        return rc;
    }
    if (PyErr_CheckSignals() < 0 || refuse_next(l, number) < 0 || !l->run->kept)
        return LEAT_E_AGAIN;
    *out = l->run->kept;
    l->run->kept = NULL;
    return LEAT_OK;
}

/* The next Batch; NULL without an exception behind the last one. */
static PyObject *pass_next(PyObject *self)
{
    pass *const p = (pass *)self;
    loader *const l = p->loader;
    leat_batch *taken;
    leat_error err;
    int rc;
    const int64_t number = p->number;
    if (!number || refuse_next(l, number) < 0)
        return NULL;
    if (l->left == 0) {
        p->number = 0;
        return NULL;
    }
    l->left -= l->left > 0;
    do
        rc = take_slice(l, number, &taken, &err);
    while (rc == LEAT_E_AGAIN && !PyErr_Occurred());
    if (rc == LEAT_OK)
        return leat_py_batch_of(taken, l->names, l->device, &p->form);
    if (!PyErr_Occurred() && (rc != LEAT_E_CANCELED || refuse_next(l, number) == 0))
        leat_py_raise(&err);
    if (number == l->pass)
        l->left += l->left >= 0;
    return NULL;
}

/* close(at_exit) */
static PyObject *loader_close(PyObject *self, PyObject *args)
{
    loader *const l = (loader *)self;
    int at_exit;
    if (!PyArg_ParseTuple(args, "p", &at_exit))
        return NULL;
    run *const r = l->run;
    l->run = NULL;
    l->at_exit = at_exit || l->at_exit;
    close_run(l, r);
    return Py_NewRef(Py_None);
}

/* resume(state, gone): the next pass begins at this state, or behind the pass that it is in the middle of, if state() says so;
 * gone: as in move(). */
static PyObject *loader_resume(PyObject *self, PyObject *args)
{
    loader *const l = (loader *)self;
    leat_loader_state at;
    PyObject *state, *gone;
    int is_begun = 0;
    if (!PyArg_ParseTuple(args, "OO", &state, &gone) || parse_state(state, &at, &is_begun) < 0)
        return NULL;
    const int64_t number = move(l, &at, 0, gone);
    if (number < 0)
        return NULL;
    l->size += is_begun && number == l->pass; /* as if somebody had asked for a batch */
    return Py_NewRef(Py_None);
}

/* set_epoch(epoch, gone): the next pass is that of this epoch, if it is not anyway, or the rest of it; gone: as in move(). */
static PyObject *loader_set_epoch(PyObject *self, PyObject *args)
{
    loader *const l = (loader *)self;
    const int64_t n = leat_plan_get_info(l->plan.plan)->n_batches;
    leat_error err;
    long long epoch;
    PyObject *gone;
    if (!PyArg_ParseTuple(args, "LO", &epoch, &gone) || refuse_move(l) < 0)
        return NULL;
    /* A pass without an end is the only one; one of no batches may be any. */
    const long long last = n < 0 ? 0 : (INT64_C(1) << 62) / (n ? n : 1);
    if (epoch < 0 || epoch > last) {
        leat_fail(&err, LEAT_E_ARGUMENT, "epoch %lld: %s0 to %lld", epoch,
                  n < 0 ? "the pipeline has no end, so epochs are " : "epochs are ", last);
        return leat_py_raise(&err);
    }
    const int64_t next = l->left == l->size ? l->end - l->size : l->end;
    /* The position behind a pass that was left is within it, as is that of a state. */
    const bool is_left = l->left != l->size && next_batch(l->run) != l->end;
    if (n > 0 && (next / n != epoch || is_left) && move(l, NULL, epoch * n, gone) < 0)
        return NULL;
    return Py_NewRef(Py_None);
}

/* As parse_state() takes it. */
static PyObject *loader_state(PyObject *self, PyObject *none)
{
    const loader *const l = (loader *)self;
    leat_loader_state s;
    (void)none;
    if (!c_loader(self))
        return fail_closed(self);
    leat_batch *const kept = l->run->kept;
    if (kept)
        leat_loader_state_at(l->plan.plan, leat_batch_get_info(kept)->number, &s);
    else
        leat_loader_get_state(c_loader(self), &s);
    return Py_BuildValue("IKKKLLLKi", s.version, (unsigned long long)s.plan_digest,
                         (unsigned long long)s.n_records, (unsigned long long)s.seed,
                         (long long)s.batch_size, (long long)s.n_batches, (long long)s.next_batch,
                         (unsigned long long)s.checksum, l->left > 0 && l->left != l->size);
}

static PyObject *loader_plan(PyObject *self, void *none)
{
    (void)none;
    return leat_py_plan_info(((loader *)self)->plan.plan);
}

static PyObject *list_stages(const leat_loader_stats_info *s)
{
    PyObject *out = PyList_New(0);
    for (int32_t i = 0; out && i < s->n_stages; i++) {
        const leat_stage_stats *const t = &s->stages[i];
        PyObject *const one = Py_BuildValue("{sssKsLsLsK}", "name", t->name, "samples",
                                            (unsigned long long)t->samples, "busy_ns",
                                            (long long)t->busy_ns, "cpu_ns", (long long)t->cpu_ns,
                                            "bytes_out", (unsigned long long)t->bytes_out);
        leat_py_append(&out, one);
    }
    return out;
}

static PyObject *loader_stats(PyObject *self, PyObject *none)
{
    leat_loader_stats_info s;
    (void)none;
    sum_stats((loader *)self, c_loader(self), &s);
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
    const run *const r = ((loader *)self)->run;
    (void)none;
    return list_errors((loader *)self, r ? r->loader : NULL);
}

static PyObject *loader_trace(PyObject *self, PyObject *args)
{
    PyObject *path;
    leat_error err = { 0 };
    int rc;
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    run *const r = ((loader *)self)->run;
    if (!r) {
        Py_DECREF(path);
        return fail_closed(self);
    }
    const char *const name = PyBytes_AsString(path);
    atomic_fetch_add(&r->n_inside, 1);
    Py_BEGIN_ALLOW_THREADS
    rc = leat_loader_trace_write(r->loader, name, &err);
    atomic_fetch_sub(&r->n_inside, 1);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    return rc < 0 ? leat_py_raise(&err) : Py_NewRef(Py_None);
}

static PyMethodDef loader_methods[] = { { "begin", loader_begin, METH_VARARGS, "" },
                                        { "resume", loader_resume, METH_VARARGS, "" },
                                        { "set_epoch", loader_set_epoch, METH_VARARGS, "" },
                                        { "state", loader_state, METH_NOARGS, "" },
                                        { "stats", loader_stats, METH_NOARGS, "" },
                                        { "errors", loader_errors, METH_NOARGS, "" },
                                        { "trace", loader_trace, METH_VARARGS, "" },
                                        { "close", loader_close, METH_VARARGS, "" },
                                        { NULL, NULL, 0, NULL } };
static PyGetSetDef loader_fields[] = { { "plan", loader_plan, NULL, NULL, NULL },
                                       { NULL, NULL, NULL, NULL, NULL } };
static PyMemberDef loader_members[] = { { "__weaklistoffset__", T_PYSSIZET,
                                          offsetof(loader, references), READONLY, NULL },
                                        { NULL, 0, 0, 0, NULL } };
static PyType_Slot loader_slots[] = {
    { Py_tp_new, (void *)loader_new }, { Py_tp_dealloc, (void *)loader_free },
    { Py_tp_methods, loader_methods }, { Py_tp_getset, loader_fields },
    { Py_tp_members, loader_members }, { 0, NULL }
};
static PyType_Spec loader_spec = { "leat_data._leat.Loader", sizeof(loader), 0, Py_TPFLAGS_DEFAULT,
                                   loader_slots };

static PyType_Slot pass_slots[] = { { Py_tp_dealloc, (void *)pass_free },
                                    { Py_tp_iter, (void *)PyObject_SelfIter },
                                    { Py_tp_iternext, (void *)pass_next },
                                    { 0, NULL } };
static PyType_Spec pass_spec = { "leat_data._leat.Pass", sizeof(pass), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 pass_slots };

int leat_py_loader_init(PyObject *m)
{
    PyObject *const type = PyType_FromSpec(&loader_spec);
    pass_type = (PyTypeObject *)PyType_FromSpec(&pass_spec);
    const int rc = type && pass_type ? PyModule_AddObjectRef(m, "Loader", type) : -1;
    Py_XDECREF(type);
    return rc;
}
