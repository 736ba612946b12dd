/* SPDX-License-Identifier: MIT
 *
 * cuda_fake_graph.c: the fake GPU's kernels and graphs. */
#include "cuda_fake_impl.h"

#include <stdlib.h>
#include <string.h>

/* --- kernels ------------------------------------------------------------------------------------- */

cudaError_t cudaLibraryLoadData(cudaLibrary_t *out, const void *code,
                                enum cudaJitOption *jit_options, void **jit_values, unsigned n_jit,
                                enum cudaLibraryOption *options, void **values, unsigned n)
{
    ENTER();
    (void)code, (void)jit_options, (void)jit_values, (void)n_jit, (void)options, (void)values;
    (void)n;
    struct CUlib_st *const library = calloc(1, sizeof *library);
    library->next = fake.libraries;
    fake.libraries = library;
    fake.live[LIBRARIES]++;
    *out = library;
    return cuda_fake_leave(cudaSuccess);
}

static bool is_library(cudaLibrary_t library)
{
    for (struct CUlib_st *l = fake.libraries; l; l = l->next)
        if (l == library)
            return true;
    cuda_fake_violate("a library that is not there");
    return false;
}

static struct CUkern_st *find_kernel(const void *handle)
{
    for (struct CUlib_st *l = fake.libraries; l; l = l->next)
        for (struct CUkern_st *k = l->kernels; k; k = k->next)
            if (k == handle)
                return k;
    cuda_fake_violate("a kernel of a library that is not there");
    return NULL;
}

static bool library_is_used(const void *what)
{
    const struct CUlib_st *const library = what;
    for (struct CUstream_st *s = fake.streams; s; s = s->next)
        for (const op *o = s->first; o; o = o->next)
            for (const struct CUkern_st *k = library->kernels; k; k = k->next)
                if (o->kernel == k)
                    return true;
    return false;
}

static cudaError_t unload(cudaLibrary_t library)
{
    if (!is_library(library))
        return cudaErrorInvalidResourceHandle;
    cuda_fake_await(library_is_used, library, "kernels unloaded under work that uses them");
    for (struct CUlib_st **at = &fake.libraries; *at; at = &(*at)->next)
        if (*at == library) {
            *at = library->next;
            break;
        }
    while (library->kernels) {
        struct CUkern_st *const k = library->kernels;
        library->kernels = k->next;
        free(k);
    }
    fake.live[LIBRARIES]--;
    free(library);
    return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    END(unload(library));
}

static struct CUkern_st *kernel_of(struct CUlib_st *library, const char *name)
{
    for (struct CUkern_st *k = library->kernels; k; k = k->next)
        if (!strcmp(k->what->name, name))
            return k;
    for (const cuda_fake_kernel *what = cuda_fake_kernels; what->name; what++)
        if (!strcmp(what->name, name)) {
            struct CUkern_st *const k = calloc(1, sizeof *k);
            *k = (struct CUkern_st){ .what = what, .next = library->kernels };
            library->kernels = k;
            return k;
        }
    return NULL;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t *out, cudaLibrary_t library, const char *name)
{
    ENTER();
    struct CUkern_st *const k = is_library(library) ? kernel_of(library, name) : NULL;
    *out = k;
    return cuda_fake_leave(k ? cudaSuccess : cudaErrorSymbolNotFound);
}

static bool fits(dim3 grid, dim3 block)
{
    return grid.x && grid.y && grid.z == 1 && block.x && block.y == 1 && block.z == 1 &&
           grid.x <= INT32_MAX && grid.y <= 65535 && block.x <= 1024;
}
cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
                             cudaStream_t stream)
{
    ENTER_AS(CAPTURED);
    struct CUkern_st *const kernel = find_kernel(func);
    if (!kernel || !cuda_fake_is_stream(stream) || stream->device != cuda_fake_device)
        return cuda_fake_leave(cudaErrorInvalidResourceHandle);
    if (!fits(grid, block) || shared)
        return cuda_fake_leave(cudaErrorInvalidConfiguration);
    if (stream->capturing && !kernel->loaded)
        cuda_fake_violate("a kernel loaded in a capture");
    kernel->loaded = true;
    op o = { .kind = KERNEL, .kernel = kernel, .blocks = { grid.x, grid.y }, .threads = block.x };
    o.args = malloc(kernel->what->args_bytes);
    memcpy(o.args, args[0], kernel->what->args_bytes);
    const cudaError_t own = cuda_fake_enqueue(stream, &o);
    if (own != cudaSuccess)
        free(o.args);
    return cuda_fake_leave(own);
}

/* --- capture ------------------------------------------------------------------------------------- */

_Thread_local enum cudaStreamCaptureMode cuda_fake_mode = cudaStreamCaptureModeGlobal;

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    const enum cudaStreamCaptureMode before = cuda_fake_mode;
    pthread_mutex_lock(&fake.lock);
    fake.contexts |= 1u << cuda_fake_device; /* as any call of the runtime may */
    pthread_mutex_unlock(&fake.lock);
    cuda_fake_mode = *mode;
    *mode = before;
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    ENTER();
    if (!cuda_fake_is_stream(stream))
        return cuda_fake_leave(cudaErrorInvalidResourceHandle);
    if (mode != cudaStreamCaptureModeThreadLocal)
        cuda_fake_violate("a capture that forbids other threads' calls");
    if (stream->capturing)
        return cuda_fake_leave(cudaErrorIllegalState);
    stream->capturing = true;
    stream->broken = false;
    cuda_fake_capturing = stream;
    stream->graph = calloc(1, sizeof *stream->graph);
    fake.live[GRAPHS]++;
    return cuda_fake_leave(cudaSuccess);
}

static cudaError_t destroy_ops(op *first, int kind, void *owner)
{
    while (first) {
        op *const o = first;
        first = o->next;
        cuda_fake_drop(o);
    }
    free(owner);
    fake.live[kind]--;
    return cudaSuccess;
}

/* A capture that fails leaves no graph. */
static cudaError_t end_capture(cudaStream_t stream, cudaGraph_t *out, cudaError_t rc)
{
    *out = NULL;
    if (!cuda_fake_is_stream(stream) || !stream->capturing)
        return cudaErrorIllegalState;
    if (stream != cuda_fake_capturing)
        return cudaErrorStreamCaptureWrongThread;
    if (rc == cudaSuccess && stream->broken)
        rc = cudaErrorStreamCaptureInvalidated;
    if (rc == cudaSuccess)
        *out = stream->graph;
    else
        destroy_ops(stream->graph->first, GRAPHS, stream->graph);
    stream->graph = NULL;
    stream->capturing = false;
    cuda_fake_capturing = NULL;
    return rc;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    const cudaError_t rc = cuda_fake_enter(__func__, CAPTURED);
    return cuda_fake_leave(end_capture(stream, out, rc));
}

/* The first node of each chain; a captured stream has one. Where fewer are asked for than there are, *n does not say so. */
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n)
{
    ENTER();
    const size_t n_roots = graph->first ? 1 : 0;
    if (nodes && *n <= n_roots)
        cuda_fake_violate("so few roots of a graph that one more would not show");
    for (size_t i = 0; nodes && i < *n; i++)
        nodes[i] = i < n_roots ? (cudaGraphNode_t)(void *)graph->first : NULL;
    *n = !nodes || *n > n_roots ? n_roots : *n;
    return cuda_fake_leave(cudaSuccess);
}
/* For later launches; the kernel stays the same. */
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *params)
{
    ENTER();
    op *o = exec->first;
    while (o && o->node != node)
        o = o->next;
    if (!o || o->kind != KERNEL || (const void *)o->kernel != params->func ||
        params->blockDim.x != o->threads || params->sharedMemBytes)
        return cuda_fake_leave(cudaErrorInvalidValue);
    memcpy(o->args, params->kernelParams[0], o->kernel->what->args_bytes);
    o->blocks[0] = params->gridDim.x;
    o->blocks[1] = params->gridDim.y;
    return cuda_fake_leave(cudaSuccess);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    ENTER();
    (void)exec;
    return cuda_fake_leave(cuda_fake_is_stream(stream) ? cudaSuccess
                                                       : cudaErrorInvalidResourceHandle);
}

static void *copy_args(const op *o)
{
    void *const args = o->args ? malloc(o->kernel->what->args_bytes) : NULL;
    if (args)
        memcpy(args, o->args, o->kernel->what->args_bytes);
    return args;
}

/* --- graphs -------------------------------------------------------------------------------------- */

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    ENTER();
    (void)flags;
    struct CUgraphExec_st *const exec = calloc(1, sizeof *exec);
    op *last = NULL;
    for (const op *o = graph->first; o; o = o->next) {
        cuda_fake_append(&exec->first, &last, o);
        last->args = copy_args(o);
        last->node = o;
    }
    fake.live[EXECS]++;
    *out = exec;
    return cuda_fake_leave(cudaSuccess);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    ENTER();
    if (!cuda_fake_is_stream(stream) || stream->device != cuda_fake_device)
        return cuda_fake_leave(cudaErrorInvalidResourceHandle);
    for (const op *o = exec->first; o && rc == cudaSuccess; o = o->next) {
        op copy = *o;
        copy.of = exec;
        copy.args = copy_args(o);
        rc = o->kind != KERNEL || find_kernel(o->kernel) ? cuda_fake_enqueue(stream, &copy)
                                                         : cudaErrorInvalidResourceHandle;
    }
    if (rc == cudaSuccess)
        rc = cuda_fake_enqueue(stream, &(op){ .kind = GRAPH_END });
    return cuda_fake_leave(rc);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    END(destroy_ops(graph->first, GRAPHS, graph));
}

static bool exec_is_used(const void *what)
{
    for (struct CUstream_st *s = fake.streams; s; s = s->next)
        for (const op *o = s->first; o; o = o->next)
            if (o->of == what)
                return true;
    return false;
}

static cudaError_t destroy_exec(cudaGraphExec_t exec)
{
    cuda_fake_await(exec_is_used, exec, "a graph closed under work of it");
    return destroy_ops(exec->first, EXECS, exec);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    END(destroy_exec(exec));
}
