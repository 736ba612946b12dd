/* SPDX-License-Identifier: MIT
 *
 * cuda_fake_graph.c: kernels and graphs of the fake GPU. */
#include <stdlib.h>
#include <string.h>

#include "cuda_fake_state.h"

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                enum cudaJitOption *jit_options, void **jit_values, unsigned n_jit,
                                enum cudaLibraryOption *options, void **values, unsigned n)
{
    ENTER();
    (void)code, (void)jit_options, (void)jit_values, (void)n_jit, (void)options, (void)values;
    (void)n;
    fake.live[LIBRARIES]++;
    *library = (cudaLibrary_t)(void *)malloc(1);
    return leave(cudaSuccess);
}
static cudaError_t unload(cudaLibrary_t library)
{
    fake.live[LIBRARIES]--;
    free((void *)library);
    return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    END(unload(library));
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t *out, cudaLibrary_t library, const char *name)
{
    ENTER();
    (void)library;
    for (const cuda_fake_kernel *k = cuda_fake_kernels; k->name; k++)
        if (!strcmp(k->name, name)) {
            *(const void **)out = k;
            return leave(cudaSuccess);
        }
    return leave(cudaErrorSymbolNotFound);
}
cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
                             cudaStream_t stream)
{
    ENTER();
    (void)shared;
    if (!grid.x || !grid.y || !block.x || grid.y > 65535 || block.x > 1024)
        return leave(cudaErrorInvalidConfiguration);
    op o = {
        .kind = KERNEL, .kernel = func, .blocks = { grid.x, grid.y }, .threads = block.x * block.y
    };
    o.args = malloc(o.kernel->args_bytes);
    memcpy(o.args, args[0], o.kernel->args_bytes);
    const cudaError_t own = enqueue(stream, &o);
    if (own != cudaSuccess)
        free(o.args);
    return leave(own);
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    ENTER();
    if (mode != cudaStreamCaptureModeThreadLocal)
        violate("a capture that forbids other threads' calls");
    stream->capturing = true;
    stream->graph = calloc(1, sizeof *stream->graph);
    fake.live[GRAPHS]++;
    return leave(cudaSuccess);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    cudaError_t rc = enter(__func__);
    *out = stream->graph;
    stream->capturing = false;
    if (rc != cudaSuccess && *out) { /* a capture that fails leaves no graph */
        while ((*out)->first) {
            op *const o = (*out)->first;
            (*out)->first = o->next;
            drop(o);
        }
        free(*out);
        *out = NULL;
        fake.live[GRAPHS]--;
    }
    stream->graph = NULL;
    return leave(rc);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    ENTER();
    (void)flags;
    struct CUgraphExec_st *const exec = calloc(1, sizeof *exec);
    op *last = NULL;
    for (const op *o = graph->first; o; o = o->next) {
        append(&exec->first, &last, o);
        if (o->args) {
            last->args = malloc(o->kernel->args_bytes);
            memcpy(last->args, o->args, o->kernel->args_bytes);
        }
    }
    fake.live[EXECS]++;
    *out = exec;
    return leave(cudaSuccess);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    ENTER();
    (void)exec, (void)stream;
    return leave(cudaSuccess);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    ENTER();
    for (const op *o = exec->first; o && rc == cudaSuccess; o = o->next) {
        op copy = *o;
        copy.of_graph = true;
        rc = enqueue(stream, &copy);
    }
    if (rc == cudaSuccess)
        rc = enqueue(stream, &(op){ .kind = GRAPH_END });
    return leave(rc);
}
static cudaError_t destroy_ops(op *first, int kind, void *owner)
{
    while (first) {
        op *const o = first;
        first = o->next;
        drop(o);
    }
    free(owner);
    fake.live[kind]--;
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    END(destroy_ops(graph->first, GRAPHS, graph));
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    END(destroy_ops(exec->first, EXECS, exec));
}
