/* SPDX-License-Identifier: MIT
 *
 * net_part.c: steps of a net that computes a part of a model: a forward and a backward pass on their own, and what
 * the parts around it give and get. Never as graphs. See net_cuda.h. */
#include "net_cuda.h"

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
        rc = leat_net_run_some(net, &plan->calls, plan->n_forward, plan->calls.n, stream, err);
    return rc < 0 ? rc : leat_net_run_all(net, &net->update[leat_net_variant(how)], stream, err);
}

int leat_net_part_run(leat_net *net, const leat_net_plan *plan, const leat_net_call *ingest,
                      const leat_net_step *how, cudaStream_t stream, leat_error *err)
{
    if (how->phase == LEAT_NET_BACKWARD)
        return backward(net, plan, how, stream, err);
    const int rc = leat_net_run(net, ingest, stream, err);
    return rc < 0 ? rc : leat_net_run_some(net, &plan->calls, 0, plan->n_forward, stream, err);
}
