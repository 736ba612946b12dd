/* SPDX-License-Identifier: MIT
 *
 * trainer_feed.c: which tensors of a plan a trainer reads, and whether those of another plan fit. */
#include <stdio.h>
#include <string.h>

#include "classes/class_ask.h"
#include "trainer.h"

/* --- of the plan of training --------------------------------------------------------------------- */

static int no_tensor(const leat_node *node, const leat_plan *plan, const char *option,
                     const char *name, leat_error *err)
{
    leat_words known = { .length = 0 };
    for (int32_t i = 0; leat_plan_tensor(plan, i); i++)
        leat_nearest_add_word(&known, leat_plan_tensor(plan, i)->name);
    return leat_node_fail(
        node, err, LEAT_E_CONFIG,
        "train.%s: the pipeline gives no tensor '%s'; it gives: %s; name one of them in train.%s",
        option, name, known.text, option);
}

/* One float32 per sample. node: NULL, or who to blame. */
static int check_weight(const leat_plan *plan, int32_t i, const leat_node *node, leat_error *err)
{
    const leat_tensor_info *const tensor = leat_plan_tensor(plan, i);
    char is[96];
    if (!tensor)
        return leat_fail(err, LEAT_E_CONFIG,
                         "the pipeline has no tensor %d, which is train.sample_weight", i);
    if (!tensor->varies && tensor->shape.dtype == LEAT_F32 &&
        leat_shape_elements(&tensor->shape) == 1)
        return LEAT_OK;
    leat_shape_text(&tensor->shape, is, sizeof is);
    return leat_node_fail(
        node, err, LEAT_E_CONFIG,
        "train.sample_weight: a weight is one float32 per sample, but '%s' is %s%s", tensor->name,
        is, tensor->shape.dtype == LEAT_F32 ? "" : ": add the op cast to it");
}

static int find_weight(const leat_train_options *o, const leat_node *node, const leat_plan *plan,
                       leat_trainer_feed *feed, leat_error *err)
{
    feed->weight_at = -1;
    if (!*o->sample_weight.text)
        return LEAT_OK;
    feed->weight_at = leat_plan_tensor_index(plan, o->sample_weight.text);
    return feed->weight_at < 0 ? no_tensor(node, plan, "sample_weight", o->sample_weight.text, err)
                               : check_weight(plan, feed->weight_at, node, err);
}

/* Whether a tensor is the sizes of another one's rows, which padded_batch adds. */
static bool is_lengths(const leat_plan *plan, const leat_tensor_info *tensor)
{
    const int n = (int)strlen(tensor->name) - (int)strlen("_length");
    char of[64] = "";
    if (n > 0 && !strcmp(tensor->name + n, "_length") && tensor->shape.dtype == LEAT_I64)
        snprintf(of, sizeof of, "%.*s", n, tensor->name);
    return *of && leat_plan_tensor_index(plan, of) >= 0;
}

/* The tensor of this name; without a name `image`, or the first that is nothing else. -1: there is none. */
static void find_input(const char *name, const leat_plan *plan, leat_trainer_feed *feed)
{
    feed->input_at = leat_plan_tensor_index(plan, *name ? name : "image");
    for (int32_t i = 0; !*name && leat_plan_tensor(plan, i); i++) {
        if (i == feed->target_at || i == feed->weight_at || i == feed->input_at)
            continue;
        if (feed->input_at < 0)
            feed->input_at = i;
        else if (!is_lengths(plan, leat_plan_tensor(plan, i)))
            feed->input_chosen = strcmp(leat_plan_tensor(plan, feed->input_at)->name, "image") != 0;
    }
}

/* Refuses tensors whose size differs between batches: a model has one size. */
static int check_steady(const leat_tensor_info *tensor, const leat_node *node, leat_error *err)
{
    if (!tensor->varies)
        return LEAT_OK;
    return leat_node_fail(
        node, err, LEAT_E_CONFIG,
        "the length of '%s' differs between batches (bucket_by_length), but a model needs one "
        "size: set it in `shapes: {%s: […]}` of bucket_by_length, or use padded_batch",
        tensor->name, tensor->name);
}

/* Another tensor that one of the ops mixes; NULL: none. */
static const leat_tensor_info *mixed_with(const leat_plan *plan, const leat_tensor_info *tensor,
                                          uint32_t ops)
{
    const leat_tensor_info *other;
    for (int32_t i = 0; (other = leat_plan_tensor(plan, i)); i++)
        if (other != tensor && other->mixed & ops)
            return other;
    return NULL;
}

/* A mixed row has a share of another sample: it would not have that one's weight, and needs the same share of its target. */
static int check_mixed(const leat_train_options *o, const leat_node *node, const leat_plan *plan,
                       const leat_trainer_feed *feed, leat_error *err)
{
    const leat_tensor_info *const input = leat_plan_tensor(plan, feed->input_at),
                                  *const target = leat_plan_tensor(plan, feed->target_at);
    if (*o->sample_weight.text && (input->mixed || target->mixed))
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "train.sample_weight: mixup and cutmix mix pairs of samples, and a "
                              "mixed row would count with the weight of one of them only: leave "
                              "out one of the two");
    if (target->mixed & ~input->mixed && !mixed_with(plan, target, target->mixed & ~input->mixed))
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "a map after batch mixes '%s', which the model learns, and not '%s', "
                              "which it reads: write `map: {tensor: %s, ops: [{mixup: {label: "
                              "%s}}]}` (or cutmix) to mix both",
                              target->name, input->name, input->name, target->name);
    for (int i = 0; i < 2; i++) {
        const leat_tensor_info *const one = i ? target : input, *const other = i ? input : target;
        const leat_tensor_info *const third = mixed_with(plan, one, one->mixed & ~other->mixed);
        if (third)
            return leat_node_fail(
                node, err, LEAT_E_CONFIG,
                "a map after batch mixes '%s' and '%s', but the model reads '%s' and learns '%s': "
                "write `map: {tensor: %s, ops: [{mixup: {label: %s}}]}` (or cutmix), or `label: "
                "none` to mix no target",
                one->name, third->name, input->name, target->name, input->name, target->name);
    }
    return LEAT_OK;
}

int leat_trainer_feed_find(const leat_train_options *o, const leat_node *node,
                           const leat_plan *plan, leat_trainer_feed *feed, leat_error *err)
{
    feed->target_at = leat_plan_tensor_index(plan, o->target.text);
    if (feed->target_at < 0)
        return no_tensor(node, plan, "target", o->target.text, err);
    int rc = find_weight(o, node, plan, feed, err);
    if (rc < 0)
        return rc;
    find_input(o->input.text, plan, feed);
    if (feed->input_at < 0)
        return no_tensor(node, plan, "input", *o->input.text ? o->input.text : "image", err);
    feed->input = leat_plan_tensor(plan, feed->input_at)->shape;
    feed->channels_first = leat_plan_tensor(plan, feed->input_at)->channels_first;
    feed->channels_last = leat_plan_tensor(plan, feed->input_at)->channels_last;
    feed->target = leat_plan_tensor(plan, feed->target_at)->shape;
    const int32_t at[] = { feed->input_at, feed->target_at, feed->weight_at };
    for (int i = 0; i < (*o->sample_weight.text ? 3 : 2); i++)
        feed->names[i] = leat_plan_tensor(plan, at[i])->name;
    for (int i = 0; i < 2 && rc == LEAT_OK; i++)
        rc = check_steady(leat_plan_tensor(plan, at[i]), node, err);
    return rc < 0 ? rc : check_mixed(o, node, plan, feed, err);
}

/* --- of another plan ------------------------------------------------------------------------------ */

/* Checks that tensor i of another plan has the model's type and shape, in every batch. */
static int check_tensor(const leat_plan *plan, int32_t i, const leat_shape *wanted,
                        const char *what, leat_error *err)
{
    const leat_tensor_info *const tensor = leat_plan_tensor(plan, i);
    char is[96], text[96];
    if (!tensor)
        return leat_fail(err, LEAT_E_CONFIG, "the pipeline has no tensor %d, which is the %s", i,
                         what);
    if (tensor->varies)
        return check_steady(tensor, NULL, err);
    if (leat_shape_equal(&tensor->shape, wanted))
        return LEAT_OK;
    return leat_fail(err, LEAT_E_CONFIG,
                     "the model's %s is %s, but here tensor %d is '%s', %s: write the same tensors "
                     "in the same order as for training, and of the same type (op cast)",
                     what, leat_shape_text(wanted, text, sizeof text), i, tensor->name,
                     leat_shape_text(&tensor->shape, is, sizeof is));
}

/* Another plan may have other names, but none of these in another place: types and shapes would not tell. */
static int check_names(const leat_trainer *trainer, const leat_plan *plan, leat_error *err)
{
    static const char *const what[] = { "train.input", "train.target", "train.sample_weight" };
    const int32_t at[] = { trainer->input_at, trainer->target_at, trainer->weight_at };
    for (int i = 0; i < 3; i++) {
        const char *const name = trainer->names[i];
        const int32_t here = name ? leat_plan_tensor_index(plan, name) : -1;
        if (here >= 0 && here != at[i])
            return leat_fail(err, LEAT_E_CONFIG,
                             "'%s', which is %s, is tensor %d in training, but tensor %d here: "
                             "write the same tensors in the same order as for training",
                             name, what[i], at[i], here);
    }
    return LEAT_OK;
}

int leat_trainer_feed_classes(const leat_trainer *trainer, const leat_plan *plan, leat_error *err)
{
    const leat_model *const model = &trainer->model;
    const leat_expect expect = {
        .tensor = trainer->target_at,
        .classes =
            model->loss->classes ? model->loss->classes(&model->layers[model->n_layers - 1].out) : 0
    };
    return leat_loader_check(plan, &expect, err);
}

int leat_trainer_check(leat_trainer *trainer, const leat_plan *plan, leat_error *err)
{
    if (!trainer || !plan)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_check: trainer and plan must be given");
    const leat_model *const model = &trainer->model;
    int rc = check_names(trainer, plan, err);
    if (rc == LEAT_OK)
        rc = check_tensor(plan, trainer->input_at, &model->input, "input", err);
    if (rc == LEAT_OK)
        rc = check_tensor(plan, trainer->target_at, &model->target, "target", err);
    if (rc == LEAT_OK && model->weighted)
        rc = check_weight(plan, trainer->weight_at, NULL, err);
    if (rc == LEAT_OK)
        rc = leat_trainer_feed_classes(trainer, plan, err);
    const leat_plan_info *const info = leat_plan_get_info(plan);
    if (rc == LEAT_OK && info->n_batches < 0)
        rc = leat_fail(err, LEAT_E_CONFIG, "the pipeline repeats without end: leave out repeat");
    if (rc == LEAT_OK && info->ranks > 1 &&
        trainer->net) /* there is one: this is no check of a config */
        rc = leat_fail(err, LEAT_E_CONFIG,
                       "this plan has only the rows of rank %d of %d: write `engine: {}` in its "
                       "part of the config, such as `eval`, which else takes that of the top",
                       info->rank, info->ranks);
    return rc == LEAT_OK ? leat_class_ask_memory(trainer, info->n_batches * info->batch_size, err)
                         : rc;
}
