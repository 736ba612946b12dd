/* SPDX-License-Identifier: MIT
 *
 * cudnn_build.c: makes descriptors of cuDNN; see cudnn_build.h. */
#include "cudnn_build.h"
#include "cudnn_plan.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

void leat_cudnn_failed(leat_cudnn_build *b, int status, const char *what)
{
    char text[800] = "";
    if (b->status)
        return;
    b->status = status ? status : -1;
    b->api->cudnnGetLastErrorString(text, sizeof text);
    for (char *end; (end = strchr(text, '\n')) != NULL;) /* one line of several */
        *end = end[1] ? ' ' : 0;
    snprintf(b->what, sizeof b->what, "%s: %d %s", what, status,
             *text ? text : b->api->cudnnGetErrorString(status));
}

void *leat_cudnn_make(leat_cudnn_build *b, int kind)
{
    void *d = NULL;
    if (b->status)
        return NULL;
    if (b->n_made == CUDNN_MADE) {
        leat_cudnn_failed(b, 0, "too many descriptors");
        return NULL;
    }
    const int rc = b->api->cudnnBackendCreateDescriptor(kind, &d);
    if (rc != CUDNN_STATUS_SUCCESS) {
        leat_cudnn_failed(b, rc, "creating a descriptor");
        return NULL;
    }
    return b->made[b->n_made++] = d;
}

void leat_cudnn_set(leat_cudnn_build *b, void *d, int name, int type, int64_t n, const void *values)
{
    const int rc = b->status ? 0 : b->api->cudnnBackendSetAttribute(d, name, type, n, values);
    char what[48];
    snprintf(what, sizeof what, "setting attribute %d", name);
    if (rc != CUDNN_STATUS_SUCCESS)
        leat_cudnn_failed(b, rc, what);
}

void leat_cudnn_set_int(leat_cudnn_build *b, void *d, int name, int type, int value)
{
    leat_cudnn_set(b, d, name, type, 1, &value); /* all of cuDNN's enums are ints */
}

void leat_cudnn_set_desc(leat_cudnn_build *b, void *d, int name, void *value)
{
    leat_cudnn_set(b, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

void *leat_cudnn_finalize(leat_cudnn_build *b, void *d)
{
    const int rc = b->status ? 0 : b->api->cudnnBackendFinalize(d);
    if (rc != CUDNN_STATUS_SUCCESS)
        leat_cudnn_failed(b, rc, "finishing a descriptor");
    return d;
}

void leat_cudnn_close(leat_cudnn_build *b)
{
    while (b->n_made > 0)
        b->api->cudnnBackendDestroyDescriptor(b->made[--b->n_made]);
}

/* --- many plans ------------------------------------------------------------------------------- */

/* Builds many plans in several threads; see cudnn_plan.h. */

typedef struct all {
    const leat_gpu_lib_spec *specs;
    leat_cudnn_plan **plans;
    int n, device;
    atomic_int next;
} all;

typedef struct builder {
    pthread_t thread;
    const leat_cudnn_target *target;
    all *of;
} builder;

static void *build(void *arg)
{
    const builder *const b = arg;
    all *const a = b->of;
    if (a->device >= 0 && cudaSetDevice(a->device) != cudaSuccess) {
        cudaGetLastError();
        return NULL;
    }
    for (int i; (i = atomic_fetch_add(&a->next, 1)) < a->n;) {
        int n;
        if (leat_cudnn_plans(b->target, &a->specs[i], 1, &a->plans[i], &n, NULL) < 0)
            a->plans[i] = NULL;
    }
    return NULL;
}

void leat_cudnn_plans_ahead(const leat_cudnn_target *targets, int n_targets, int device,
                            const leat_gpu_lib_spec *specs, int n, leat_cudnn_plan **out)
{
    builder builders[LEAT_CUDNN_BUILDERS];
    all a = { .specs = specs, .plans = out, .n = n, .device = device };
    int n_threads = 0;
    for (int i = 0; i < n; i++)
        out[i] = NULL;
    for (; n_threads < n_targets && n_threads < LEAT_CUDNN_BUILDERS; n_threads++) {
        builder *const b = &builders[n_threads];
        *b = (builder){ .target = &targets[n_threads], .of = &a };
        if (pthread_create(&b->thread, NULL, build, b) != 0)
            break;
    }
    for (int i = 0; i < n_threads; i++)
        pthread_join(builders[i].thread, NULL);
}
