/* SPDX-License-Identifier: MIT
 *
 * net_graph.c: runs calls, and records steps as CUDA graphs, except passes of parts that are not the last of a model. See net_cuda.h. */
#include <string.h>

#include "net_cuda.h"

static const char *name_of(const leat_net *net, const leat_net_call *call)
{
    return call->layer >= 0 ? net->model->layers[call->layer].name : "step";
}

static void add_issued(leat_net *net, int64_t kernels)
{
    net->issued.launches++;
    net->issued.kernels += kernels;
}

/* "0.conv2d: conv 3x3 … bf16" or "0.conv2d: kernel leat_train_each". */
static void call_text(const leat_net *net, const leat_net_call *c, char *text, size_t size)
{
    char op[256];
    if (c->op)
        leat_gpu_lib_functions.op_text(c->op, op, sizeof op);
    else
        snprintf(op, sizeof op, "kernel %s", leat_net_kernel_name(c->kernel));
    snprintf(text, size, "%s: %s", name_of(net, c), op);
}

static int run_op(leat_net *net, const leat_net_call *c, cudaStream_t stream, leat_error *err)
{
    leat_gpu_lib_args args = c->lib;
    char what[400];
    args.workspace = net->workspace;
    const int rc = leat_gpu_lib_functions.op_run(c->op, stream, &args, err);
    if (rc == LEAT_OK || !err)
        return rc;
    const leat_error inner = *err;
    call_text(net, c, what, sizeof what);
    return leat_gpu_fail(err, rc, "%.330s: %.660s", what, inner.message);
}

static int run_kernel(leat_net *net, const leat_net_call *c, cudaStream_t stream, leat_error *err)
{
    void *all[] = { c->kernel == LEAT_NET_norm_running ? (void *)c->args.running
                                                       : (void *)(uintptr_t)&c->args };
    const void *function;
    char what[400];
    memcpy(&function, &net->kernels[c->kernel], sizeof function);
    const dim3 grid = { c->blocks[0], c->blocks[1], 1 }, block = { LEAT_TRAIN_THREADS, 1, 1 };
    const cudaError_t rc = cudaLaunchKernel(function, grid, block, all, 0, stream);
    if (rc == cudaSuccess)
        return LEAT_OK;
    call_text(net, c, what, sizeof what);
    return leat_gpu_check(net->gpu, rc, what, err);
}

int leat_net_run(leat_net *net, const leat_net_call *c, cudaStream_t stream, leat_error *err)
{
    char what[420];
    if (!c->op && c->blocks[0] == 0)
        return LEAT_OK;
    int rc = c->op ? run_op(net, c, stream, err) : run_kernel(net, c, stream, err);
    add_issued(net, 1);
    if (rc < 0 || !net->waits)
        return rc;
    const cudaError_t done = cudaStreamSynchronize(stream);
    call_text(net, c, what, sizeof what);
    return leat_gpu_check(net->gpu, done, what, err);
}

/* Calls [from, to) of a list. */
static int run_some(leat_net *net, const leat_net_calls *calls, int32_t from, int32_t to,
                    cudaStream_t stream, leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = from; i < to && rc == LEAT_OK; i++)
        rc = leat_net_run(net, &calls->list[i], stream, err);
    return rc;
}

static int run_all(leat_net *net, const leat_net_calls *calls, cudaStream_t stream, leat_error *err)
{
    return run_some(net, calls, 0, calls->n, stream, err);
}

/* --- parts of models ------------------------------------------------------------------------- */

/* Rows of tensor t, which are floats. from, to: memory of the device in place of the tensor's; NULL: the tensor. */
static int copy_rows(leat_net *net, const leat_net_program *p, int32_t t, const float *from,
                     float *to, int64_t rows, cudaStream_t stream, leat_error *err)
{
    const int64_t n = p->program->tensors[t].n * rows;
    void *const tensor = leat_net_address(net, p, t);
    leat_net_call c = { .kernel = LEAT_NET_each, .layer = -1 };
    c.args.train = (leat_train_args){ .in = { from ? from : tensor },
                                      .out = { to ? to : tensor },
                                      .in_type = LEAT_TRAIN_F32,
                                      .out_type = LEAT_TRAIN_F32,
                                      .mode = LEAT_EACH_COPY,
                                      .row_n = n,
                                      .n = (n + LEAT_EIGHT - 1) / LEAT_EIGHT };
    c.blocks[0] = leat_net_blocks(c.args.train.n);
    c.blocks[1] = 1;
    return leat_net_run(net, &c, stream, err);
}

int leat_net_part_give(leat_net *net, const leat_net_program *p, int64_t rows,
                       const leat_net_step *how, cudaStream_t stream, leat_error *err)
{
    const leat_program *const program = p->program;
    int rc = LEAT_OK;
    if (how->output && how->phase != LEAT_NET_BACKWARD)
        rc = copy_rows(net, p, program->logits, NULL, how->output, rows, stream, err);
    if (rc == LEAT_OK && how->input_grad && how->phase != LEAT_NET_FORWARD)
        rc = copy_rows(net, p, program->input_grad, NULL, how->input_grad, rows, stream, err);
    return rc;
}

static int backward(leat_net *net, const leat_net_plan *plan, const leat_net_step *how,
                    cudaStream_t stream, leat_error *err)
{
    const leat_program *const p = net->train.program;
    int rc = LEAT_OK;
    if (p->n_ops > p->n_forward)
        rc = copy_rows(net, &net->train, p->ops[p->n_forward].out[0], how->output_grad, NULL,
                       plan->rows, stream, err);
    if (rc == LEAT_OK)
        rc = run_some(net, &plan->calls, plan->n_forward, plan->calls.n, stream, err);
    return rc < 0 ? rc : run_all(net, &net->update[leat_net_variant(how)], stream, err);
}

int leat_net_part_run(leat_net *net, const leat_net_plan *plan, const leat_net_call *ingest,
                      const leat_net_step *how, cudaStream_t stream, leat_error *err)
{
    if (how->phase == LEAT_NET_BACKWARD)
        return backward(net, plan, how, stream, err);
    const int rc = leat_net_run(net, ingest, stream, err);
    return rc < 0 ? rc : run_some(net, &plan->calls, 0, plan->n_forward, stream, err);
}

/* --- graphs ---------------------------------------------------------------------------------- */

static void close_graph(leat_net_graph *g)
{
    if (g->exec)
        cudaGraphExecDestroy(g->exec);
    if (g->graph)
        cudaGraphDestroy(g->graph);
    *g = (leat_net_graph){ .warm = false }; /* new ops may not be recorded before they have run */
}

/* The caller has waited for the work. */
void leat_net_graphs_close(leat_net *net)
{
    for (int i = 0; i < LEAT_NET_GRAPHS; i++)
        close_graph(&net->graphs[i]);
    cudaGetLastError();
}

static int run_step(leat_net *net, const leat_net_plan *plan, const leat_net_call *ingest,
                    int variant, cudaStream_t stream, leat_error *err)
{
    int rc = leat_net_run(net, ingest, stream, err);
    if (rc == LEAT_OK)
        rc = run_all(net, &plan->calls, stream, err);
    return rc < 0 ? rc : run_all(net, &net->update[variant], stream, err);
}

/* New arguments for later launches. The kernel is named by its own handle: what cudaGraphKernelNodeGetParams says
 * of a kernel that no host symbol stands for is not documented. */
static cudaError_t set_ingest(const leat_net *net, const leat_net_graph *g,
                              const leat_net_call *ingest)
{
    void *all[] = { (void *)(uintptr_t)&ingest->args };
    struct cudaKernelNodeParams params = { .gridDim = { ingest->blocks[0], ingest->blocks[1], 1 },
                                           .blockDim = { LEAT_TRAIN_THREADS, 1, 1 },
                                           .kernelParams = all };
    memcpy(&params.func, &net->kernels[ingest->kernel], sizeof params.func);
    return cudaGraphExecKernelNodeSetParams(g->exec, g->ingest, &params);
}

/* A captured stream is a chain, so the graph's one root is ingest. */
static cudaError_t find_ingest(leat_net_graph *g)
{
    cudaGraphNode_t roots[2] = { NULL }; /* CUDA gives no more than it is asked for */
    size_t n = 2;
    const cudaError_t rc = cudaGraphGetRootNodes(g->graph, roots, &n);
    g->ingest = roots[0];
    return rc == cudaSuccess && n != 1 ? cudaErrorInvalidValue : rc;
}

static int capture(leat_net *net, const leat_net_plan *plan, const leat_net_call *ingest,
                   int variant, cudaStream_t stream, leat_error *err)
{
    leat_net_graph *const g = &net->graphs[variant];
    const leat_net_issued before = net->issued;
    cudaError_t rc = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (rc == cudaSuccess) {
        const int own = run_step(net, plan, ingest, variant, stream, err);
        rc = cudaStreamEndCapture(stream, &g->graph);
        g->kernels = net->issued.kernels - before.kernels;
        net->issued = before; /* recorded, not launched */
        if (own < 0)
            return own;
    }
    if (rc == cudaSuccess)
        rc = cudaGraphInstantiate(&g->exec, g->graph, 0);
    if (rc == cudaSuccess)
        rc = find_ingest(g);
    if (rc == cudaSuccess) /* here, so that `graph: auto` goes on where it fails */
        rc = set_ingest(net, g, ingest);
    if (rc == cudaSuccess)
        rc = cudaGraphUpload(g->exec, stream);
    return leat_gpu_check(net->gpu, rc, "recording a step as a graph", err);
}

static int replay(leat_net *net, const leat_net_graph *g, const leat_net_call *ingest,
                  cudaStream_t stream, leat_error *err)
{
    cudaError_t rc = set_ingest(net, g, ingest);
    add_issued(net, g->kernels);
    if (rc == cudaSuccess)
        rc = cudaGraphLaunch(g->exec, stream);
    return leat_gpu_check(net->gpu, rc, "launching a step", err);
}

/* graph: auto goes on without graphs where recording fails, and says why, unless the device itself has failed. */
int leat_net_run_step(leat_net *net, leat_net_plan *plan, const leat_net_call *ingest, int variant,
                      cudaStream_t stream, leat_error *err)
{
    leat_net_graph *const g = &net->graphs[variant];
    const bool full = plan->rows == net->model->batch_size && !plan->own_norm;
    if (!full || net->no_graphs || !g->warm) {
        const int rc = run_step(net, plan, ingest, variant, stream, err);
        g->warm |= full && rc == LEAT_OK;
        return rc;
    }
    if (!g->exec) {
        leat_error why = { 0 };
        const int rc = capture(net, plan, ingest, variant, stream, &why);
        if (rc < 0) {
            close_graph(g);
            cudaGetLastError();
            if (net->model->graph == LEAT_GRAPH_TRUE) {
                if (err)
                    *err = why;
                return rc;
            }
            net->no_graphs = true;
            snprintf(net->graph_failure, sizeof net->graph_failure, "%.399s", why.message);
            return run_step(net, plan, ingest, variant, stream, err);
        }
    }
    return replay(net, g, ingest, stream, err);
}
