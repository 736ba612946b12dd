/* SPDX-License-Identifier: MIT
 *
 * axes.c: follows through the ops of a chain whether its images are [height, width, channels] or have their channels
 * first. stage_map.c calls it for each op. Shapes cannot tell: an image may have as few columns as channels.
 *
 * DESIGN. Nothing is known of the arrays of a source. Ops on images (LEAT_OP_IMAGE) and a normalize per colour take
 * and leave channels last. `layout`, and that of normalize, move them. "Last" is forgotten after an op that gives other
 * dimensions, or that is not one of ours; "first" stays until channels are last again, since it only makes a plan refuse
 * more. */
#include "axes.h"

#include "ops/fused.h"
#include "ops/op_list.h"

enum { COLOURS = 4 };

bool leat_axes_are_first(const leat_chain *chain)
{
    return chain->axes == LEAT_AXES_FIRST && chain->shape.rank == 3;
}

bool leat_axes_are_last(const leat_chain *chain)
{
    return chain->axes == LEAT_AXES_LAST && chain->shape.rank == 3;
}

/* Whether the op reads its input as height, width, channels. A number for each entry of the last dimension may also be one for
 * each sensor, say: for colours there are few. */
static bool takes_last(const leat_chain *chain, const leat_chain_op *op)
{
    return op->op->flags & LEAT_OP_IMAGE ||
           (op->op == &leat_op_normalize && leat_normalize_has_channels(op->options) &&
            chain->shape.dims[2] <= COLOURS);
}

static bool puts_first(const leat_chain_op *op)
{
    return (op->op == &leat_op_layout && leat_layout_is_planar(op->options)) ||
           (op->op == &leat_op_normalize && leat_normalize_is_planar(op->options));
}

static bool puts_last(const leat_chain_op *op)
{
    return op->op == &leat_op_layout && !leat_layout_is_planar(op->options);
}

int leat_axes_check(const leat_chain *chain, const leat_chain_op *op, leat_error *err)
{
    const char *const name = op->op->name;
    char text[128];
    if (chain->shape.rank != 3)
        return LEAT_OK;
    if (chain->axes == LEAT_AXES_LAST && puts_last(op))
        return leat_layout_fail(name, &chain->shape, false, err);
    if (chain->axes == LEAT_AXES_FIRST && puts_first(op))
        return leat_layout_fail(name, &chain->shape, true, err);
    if (chain->axes == LEAT_AXES_FIRST && takes_last(chain, op))
        return leat_fail(err, LEAT_E_CONFIG,
                         "%s reads height, width, channels, but `layout` (the op, or that of "
                         "normalize) has put the channels first, %s: put %s before it",
                         name, leat_shape_text(&chain->shape, text, sizeof text), name);
    return LEAT_OK;
}

static bool has_dims_of(const leat_shape *a, const leat_shape *b)
{
    leat_shape same = *a;
    same.dtype = b->dtype;
    return leat_shape_equal(&same, b);
}

void leat_axes_follow(leat_chain *chain, const leat_chain_op *op, const leat_shape *out)
{
    const bool is_ours = leat_op_find(op->op->name) == op->op;
    if (puts_first(op))
        chain->axes = LEAT_AXES_FIRST;
    else if (puts_last(op) || takes_last(chain, op))
        chain->axes = LEAT_AXES_LAST;
    else if (chain->axes == LEAT_AXES_LAST && !(is_ours && has_dims_of(&chain->shape, out)))
        chain->axes = LEAT_AXES_UNKNOWN;
}
