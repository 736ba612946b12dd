/* SPDX-License-Identifier: MIT
 *
 * net_memory.c: opens a net: its kernels, device memory, programs and tables. See net_cuda.h. */
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "net_cuda.h"

extern const unsigned char leat_fatbin[] __attribute__((visibility("hidden"))); /* gpu_kernels.cu */

/* --- memory ---------------------------------------------------------------------------------- */

static int no_memory(leat_net *net, size_t bytes, const char *what, leat_error *err)
{
    size_t n_free = 0, total = 0;
    leat_gpu_memory_info(&net->gpu->base, &n_free, &total);
    return leat_gpu_fail(err, LEAT_E_NOMEM,
                         "training needs %.1f MiB of device memory for %s, beside %.1f MiB that it "
                         "has; %.1f of %.1f MiB are free: lower batch.size, or end what else uses "
                         "the GPU",
                         (double)bytes / 1048576, what, (double)net->device_bytes / 1048576,
                         (double)n_free / 1048576, (double)total / 1048576);
}

static void *allocate(leat_net *net, size_t bytes, const char *what, leat_error *err)
{
    void *const memory = leat_gpu_device_alloc(&net->gpu->base, bytes);
    if (!memory)
        no_memory(net, bytes, what, err);
    else
        net->device_bytes += bytes;
    return memory;
}

int leat_net_take(leat_net *net, size_t bytes, const char *what, void *out, leat_error *err)
{
    void *memory = NULL;
    if (net->n_blocks == LEAT_NET_BLOCKS)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "training: too many pieces of device memory");
    if (!(memory = allocate(net, bytes ? bytes : 256, what, err)))
        return LEAT_E_NOMEM;
    net->blocks[net->n_blocks++] = memory;
    memcpy(out, &memory, sizeof memory);
    return leat_gpu_check(
        net->gpu, cudaMemsetAsync(memory, 0, bytes ? bytes : 256, leat_gpu_stream_cuda(net->own)),
        "clearing device memory", err);
}

/* A device that reads pageable memory itself may do so after the call, so this waits. */
int leat_net_put(leat_net *net, void *to, const void *from, size_t bytes, const char *what,
                 leat_error *err)
{
    const cudaStream_t own = leat_gpu_stream_cuda(net->own);
    cudaError_t rc =
        bytes ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, own) : cudaSuccess;
    if (rc == cudaSuccess)
        rc = cudaStreamSynchronize(own);
    return leat_gpu_check(net->gpu, rc, what, err);
}

int leat_net_arena(leat_net *net, leat_param_values which, float **out, leat_error *err)
{
    int rc = LEAT_OK;
    if (!net->arenas[which]) {
        rc = leat_net_take(net, net->model->n_floats * sizeof(float), "weights",
                           &net->arenas[which], err);
        if (rc == LEAT_OK) /* other streams use it next */
            rc = leat_gpu_stream_sync(net->own, err);
    }
    *out = net->arenas[which];
    return rc;
}

int leat_net_workspace(leat_net *net, size_t bytes, leat_error *err)
{
    if (bytes <= net->workspace_bytes)
        return LEAT_OK;
    int rc = LEAT_OK;
    if (net->stream) {
        rc = leat_gpu_check(net->gpu, cudaStreamSynchronize(net->stream), "waiting for steps", err);
        leat_net_graphs_close(net); /* they hold the old address */
    }
    if (rc < 0)
        return rc;
    if (net->workspace)
        leat_gpu_device_free(&net->gpu->base, net->workspace);
    const size_t before = net->workspace_bytes;
    net->device_bytes -= before;
    net->workspace = allocate(net, bytes, "workspace of the libraries", err);
    net->workspace_bytes = net->workspace ? bytes : 0;
    if (net->workspace)
        return LEAT_OK;
    if (before && (net->workspace = allocate(net, before, "workspace of the libraries", NULL)))
        net->workspace_bytes = before; /* older plans run on */
    return LEAT_E_NOMEM;
}

/* --- packed copies --------------------------------------------------------------------------- */

const leat_train_pack *leat_net_pack_of(const leat_net *net, int32_t param)
{
    const int64_t at = (int64_t)net->model->params[param].at;
    for (int32_t i = 0; i < net->n_packs; i++)
        if (net->packs[i].plain == at)
            return &net->packs[i];
    return NULL;
}

/* Weights of convolutions always; the others where the libraries read bfloat16. */
static void add_packs(leat_net *net, const leat_model_layer *l, bool padded, size_t *bytes)
{
    const bool bf16 = net->model->precision == LEAT_PRECISION_BF16;
    const size_t element = bf16 ? 2 : 4;
    for (int32_t k = 0; k < l->n_params; k++) {
        const leat_shape *const s = &l->params[k].shape;
        const leat_model_param *const p = &net->model->params[l->first_param + k];
        leat_train_pack pack = { .n = (int64_t)p->n,
                                 .plain = (int64_t)p->at,
                                 .at = (int64_t)*bytes,
                                 .krsc = s->rank == 4,
                                 .type = bf16 ? LEAT_TRAIN_BF16 : LEAT_TRAIN_F32 };
        if (!pack.krsc && !bf16)
            continue;
        if (pack.krsc) {
            pack.taps = s->dims[0] * s->dims[1];
            pack.channels = s->dims[2];
            pack.padded = padded ? LEAT_EIGHT : s->dims[2];
            pack.filters = s->dims[3];
            pack.n = pack.filters * pack.taps * pack.padded;
        }
        net->packs[net->n_packs++] = pack;
        *bytes += ((size_t)pack.n * element + 255) / 256 * 256;
    }
}

static int open_packs(leat_net *net, leat_error *err)
{
    const leat_program *const p = net->train.program;
    size_t bytes = 0;
    net->packs = calloc((size_t)net->model->n_params + 1, sizeof *net->packs);
    if (!net->packs)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "training: no memory for a plan");
    for (int32_t i = 0; i < p->n_forward; i++)
        if (p->ops[i].prim == LEAT_PRIM_CONV || p->ops[i].prim == LEAT_PRIM_DENSE)
            add_packs(net, &net->model->layers[p->ops[i].layer],
                      net->train.padded && p->ops[i].in[0] == net->train.input_tensor, &bytes);
    const size_t table = (size_t)net->n_packs * sizeof *net->packs;
    int rc = leat_net_take(net, bytes, "copies of weights", &net->copies, err);
    if (rc < 0 ||
        (rc = leat_net_take(net, bytes, "gradients of convolutions", &net->grad_copies, err)) < 0 ||
        (rc = leat_net_take(net, table, "tables", &net->device_packs, err)) < 0)
        return rc;
    return leat_net_put(net, net->device_packs, net->packs, table, "copying tables", err);
}

/* --- programs -------------------------------------------------------------------------------- */

/* Convolutions in bfloat16 are far quicker over eight channels than over three. */
static bool may_pad(const leat_net *net, const leat_program *p, int32_t t)
{
    const leat_shape *const shape = &p->tensors[t].shape;
    if (p->tensors[t].type != LEAT_PRIM_BF16 || shape->rank != 3 || shape->dims[2] >= LEAT_EIGHT ||
        p->input_grad >= 0)
        return false;
    for (int32_t i = 0; i < p->n_ops; i++) {
        const leat_prim_op *const op = &p->ops[i];
        const bool reads = op->in[0] == t || op->in[1] == t || op->in[2] == t;
        const bool conv = op->prim == LEAT_PRIM_CONV || op->prim == LEAT_PRIM_CONV_GRAD_WEIGHTS;
        if (!reads)
            continue;
        if (!conv ||
            ((const leat_conv2d_options *)net->model->layers[op->layer].options)->groups > 1)
            return false;
    }
    return true;
}

/* Ingest converts the input where the program begins with that, else it copies it. */
static int open_input(leat_net *net, leat_net_program *p, leat_error *err)
{
    const leat_program *const program = p->program;
    const leat_prim_op *const first = program->ops; /* a part of flatten alone has none */
    const bool converts =
        program->n_ops > 0 && first->prim == LEAT_PRIM_CONVERT && first->in[0] == 0;
    int32_t readers = 0;
    for (int32_t i = 0; i < program->n_ops; i++)
        for (int k = 0; k < LEAT_PRIM_MAX_IN; k++)
            readers += program->ops[i].in[k] == 0;
    p->skipped = converts && readers == 1 ? 0 : -1;
    p->input_tensor = p->skipped == 0 ? first->out[0] : 0;
    p->padded = p == &net->train ? may_pad(net, program, p->input_tensor) : net->train.padded;
    const leat_program_tensor *const t = &program->tensors[p->input_tensor];
    size_t values = (size_t)(t->n * net->model->batch_size);
    if (p->padded)
        values = values / (size_t)t->shape.dims[2] * LEAT_EIGHT;
    else if (p->skipped == 0) {
        p->input = net->memory + t->at;
        return LEAT_OK;
    }
    return leat_net_take(net, values * 4, "the batch", &p->input, err);
}

static int open_program(leat_net *net, leat_net_program *p, bool training, leat_error *err)
{
    const int rc = net->host->program_open(net->model, training, &p->program, err);
    if (rc < 0)
        return rc;
    p->program->apart = true; /* the libraries' batch_norm is not in place */
    leat_net_fuse(p->program);
    return net->host->program_place(p->program, net->model->batch_size, err);
}

/* Five numbers per channel for each batch_norm. */
static int open_saved(leat_net *net, leat_error *err)
{
    const leat_program *const p = net->train.program;
    size_t n = 0;
    net->saved_at = calloc((size_t)p->n_saved + 1, sizeof *net->saved_at);
    if (!net->saved_at)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "training: no memory for a plan");
    for (int32_t i = 0; i < p->n_saved; i++) {
        net->saved_at[i] = n;
        n += 5 * (size_t)leat_net_padded(p->saved[i]);
    }
    return leat_net_take(net, n * sizeof(float), "statistics", &net->saved, err);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static int open_tensors(leat_net *net, leat_error *err)
{
    int rc = open_program(net, &net->train, true, err);
    if (rc < 0 || (rc = open_program(net, &net->even, false, err)) < 0)
        return rc;
    const size_t rows = (size_t)net->model->batch_size;
    size_t partial = larger(
        rows * 3, 2 * (net->model->n_floats / LEAT_TRAIN_RANGE + (size_t)net->model->n_params));
    size_t fixed = 0;
    leat_net_make_sizes(net, net->train.program, &partial, &fixed);
    leat_net_make_sizes(net, net->even.program, &partial, &fixed);
    const size_t target = (size_t)leat_gpu_launch_elements(&net->model->target) * 8 * rows;
    const size_t bytes = larger(net->train.program->bytes, net->even.program->bytes);
    if ((rc = leat_net_take(net, bytes, "activations", &net->memory, err)) < 0 ||
        (rc = leat_net_take(net, partial * sizeof(double), "sums", &net->partial, err)) < 0 ||
        (rc = leat_net_take(net, fixed * sizeof(float), "statistics", &net->fixed, err)) < 0 ||
        (rc = leat_net_take(net, rows, "the batch", &net->valid, err)) < 0 ||
        (rc = leat_net_take(net, target, "the batch", &net->target, err)) < 0 ||
        (net->model->weighted && (rc = leat_net_take(net, rows * sizeof *net->weights, "the batch",
                                                     &net->weights, err)) < 0) ||
        (rc = leat_net_take(net, sizeof *net->step, "a step", &net->step, err)) < 0 ||
        (rc = leat_net_take(net, sizeof *net->sums, "sums", &net->sums, err)) < 0 ||
        (rc = open_input(net, &net->train, err)) < 0 || (rc = open_input(net, &net->even, err)) < 0)
        return rc;
    return open_saved(net, err);
}

/* --- open ------------------------------------------------------------------------------------ */

/* Factors of the loss of each class, if there are. */
static int open_class_weights(leat_net *net, leat_error *err)
{
    const leat_model *const model = net->model;
    const leat_softmax_options *const o = model->loss_options;
    const size_t bytes =
        (size_t)model->layers[model->n_layers - 1].out.dims[0] * sizeof *o->weights;
    if (net->loss != LEAT_LOSS_SOFTMAX || !o->weights)
        return LEAT_OK;
    const int rc = leat_net_take(net, bytes, "class weights", &net->class_weights, err);
    return rc < 0 ? rc
                  : leat_net_put(net, net->class_weights, o->weights, bytes,
                                 "copying class weights", err);
}

const char *leat_net_kernel_name(leat_net_kernel kernel)
{
    static const char *const names[] = {
#define LEAT_TRAIN_KERNEL(name, type, call)           "leat_train_" #name,
#define LEAT_TRAIN_BLOCKS(name, type, n_phases, call) "leat_train_" #name,
#include "kernels/train_list.h"
    };
    return names[kernel];
}

static int find_kernels(leat_net *net, leat_error *err)
{
    int rc = leat_gpu_check(
        net->gpu, cudaLibraryLoadData(&net->library, leat_fatbin, NULL, NULL, 0, NULL, NULL, 0),
        "loading kernels", err);
    for (int i = 0; i < LEAT_N_NET_KERNELS && rc == LEAT_OK; i++) {
        const char *const name = leat_net_kernel_name((leat_net_kernel)i);
        char what[80];
        snprintf(what, sizeof what, "finding kernel %s", name);
        rc = leat_gpu_check(net->gpu, cudaLibraryGetKernel(&net->kernels[i], net->library, name),
                            what, err);
    }
    return rc;
}

static bool needs_library(const leat_net *net)
{
    for (int32_t i = 0; i < net->train.program->n_forward; i++)
        if (net->train.program->ops[i].prim == LEAT_PRIM_CONV ||
            net->train.program->ops[i].prim == LEAT_PRIM_DENSE)
            return true;
    return false;
}

static int open_arenas(leat_net *net, leat_error *err)
{
    const size_t bytes = net->model->n_trained_floats * sizeof(float);
    float *arena;
    int rc = LEAT_OK;
    for (int i = 0; i <= net->model->optimizer->n_states && rc == LEAT_OK; i++)
        rc = leat_net_arena(net, (leat_param_values)i, &arena, err);
    if (rc == LEAT_OK)
        rc = leat_net_take(net, bytes, "gradients", &net->grads, err);
    if (rc == LEAT_OK && net->model->accumulate > 1)
        rc = leat_net_take(net, bytes, "gradients", &net->accumulated, err);
    return rc;
}

static int draw_weights(leat_net *net, leat_error *err)
{
    const leat_model *const model = net->model;
    const size_t bytes = model->n_floats * sizeof(float);
    float *const host = calloc(model->n_floats ? model->n_floats : 1, sizeof *host);
    if (!host)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "training: %zu bytes of weights", bytes);
    for (int32_t i = 0; i < model->n_params; i++)
        net->host->draw(model, model->params[i].layer, model->params[i].index,
                        host + model->params[i].at);
    const int rc =
        leat_net_put(net, net->arenas[LEAT_VALUES_WEIGHT], host, bytes, "copying weights", err);
    free(host);
    return rc;
}

/* Opens the plans of full batches, so that a model that is too large fails here. */
static int open_plans(leat_net *net, leat_error *err)
{
    leat_net_plan *plan;
    const int64_t rows = net->model->batch_size;
    int rc = leat_net_plan_for(net, &net->train, rows, false, &plan, err);
    if (rc == LEAT_OK)
        rc = leat_net_plan_for(net, &net->even, rows, false, &plan, err);
    return rc < 0 ? rc : leat_gpu_stream_sync(net->own, err);
}

int leat_net_open_all(leat_net *net, leat_error *err)
{
    const leat_gpu_lib_options options = { .device = net->gpu->number,
                                           .measure = net->model->measure_plans,
                                           .cache_path = net->model->plan_cache };
    int rc = leat_net_find_loss_optimizer(net, err);
    if (rc < 0 || (rc = leat_net_use(net, err)) < 0 ||
        (rc = leat_gpu_stream_open(&net->gpu->base, &net->own, err)) < 0 ||
        (rc = find_kernels(net, err)) < 0 || (rc = open_tensors(net, err)) < 0)
        return rc;
    if (needs_library(net) && (rc = leat_gpu_lib_functions.open(&options, &net->lib, err)) < 0)
        return rc;
    if ((rc = open_class_weights(net, err)) < 0 || (rc = open_arenas(net, err)) < 0 ||
        (rc = open_packs(net, err)) < 0 || (rc = draw_weights(net, err)) < 0 ||
        (rc = leat_net_update_open(net, err)) < 0)
        return rc;
    net->packs_stale = true;
    const char *const waits = getenv("LEAT_GPU_SYNC");
    net->waits = waits && !strcmp(waits, "1");
    net->no_graphs = net->model->graph == LEAT_GRAPH_FALSE || net->waits;
    return open_plans(net, err);
}

/* --- close ----------------------------------------------------------------------------------- */

static void close_program(leat_net *net, leat_net_program *p)
{
    for (int i = 0; i < LEAT_NET_PLANS; i++)
        leat_net_calls_close(&p->plans[i].calls);
    net->host->program_close(&p->program);
}

/* Takes half-built nets. Work of the last step may still run. */
void leat_net_close(leat_net *net)
{
    leat_gpu_use(net->gpu);
    if (net->stream)
        cudaStreamSynchronize(net->stream);
    if (net->own)
        leat_gpu_stream_sync(net->own, NULL);
    leat_net_graphs_close(net);
    close_program(net, &net->train);
    close_program(net, &net->even);
    for (int i = 0; i < LEAT_NET_GRAPHS; i++)
        leat_net_calls_close(&net->update[i]);
    leat_net_calls_close(&net->products);
    if (net->lib)
        leat_gpu_lib_functions.close(&net->lib);
    if (net->workspace)
        leat_gpu_device_free(&net->gpu->base, net->workspace);
    for (int32_t i = 0; i < net->n_blocks; i++)
        leat_gpu_device_free(&net->gpu->base, net->blocks[i]);
    leat_gpu_stream_close(net->own);
    if (net->library)
        cudaLibraryUnload(net->library);
    cudaGetLastError();
    free(net->packs);
    free(net->saved_at);
    free(net);
}
