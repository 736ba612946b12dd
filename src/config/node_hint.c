/* SPDX-License-Identifier: MIT
 *
 * node_hint.c: advice about options that only other programs have, for node.c's message on an unknown key. */
#include <string.h>

#include "node.h"

static const struct {
    const char *key, *advice;
} hints[] = {
    { "activation", "write the activation as a layer of its own after it, such as `- relu`" },
    { "input_shape", "leave it out: the shape comes from the data" },
    { "input_dim", "leave it out: the shape comes from the data" },
    { "in_features", "leave it out: the shape comes from the data" },
    { "in_channels", "leave it out: the shape comes from the data" },
    { "kernel_initializer", "leave it out: the layer has its own" },
    { "metrics", "leave it out: loss and accuracy are always reported" },
    { "tfrecord", "write it under `source:`" },
    { "images", "write it under `source:`" },
    { "num_classes", "leave it out: give the last layer as many units as there are classes" },
};

const char *leat_node_hint(const char *noun, const leat_node *node)
{
    if (strcmp(noun, "option") != 0)
        return NULL;
    if (!strcmp(node->key, "activation") && node->kind == LEAT_NODE_SCALAR &&
        !strcmp(node->text, "softmax"))
        return "leave it out: the loss softmax_cross_entropy computes the softmax";
    if (node->key[0] && !node->key[strspn(node->key, "0123456789")] && leat_node_is_null(node))
        return "if it is part of a number: write '.' as the decimal point";
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (!strcmp(hints[i].key, node->key))
            return hints[i].advice;
    return NULL;
}
