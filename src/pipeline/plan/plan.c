/* SPDX-License-Identifier: MIT
 *
 * plan.c: public functions that describe a plan. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/grow.h"
#include "pipeline/source/nested.h"
#include "plan_impl.h"

const leat_plan_info *leat_plan_get_info(const leat_plan *plan)
{
    return plan ? &plan->info : NULL;
}

const leat_tensor_info *leat_plan_tensor(const leat_plan *plan, int32_t i)
{
    return plan && i >= 0 && i < plan->n_tensors ? &plan->tensors[i] : NULL;
}

int32_t leat_plan_tensor_index(const leat_plan *plan, const char *name)
{
    for (int32_t i = 0; plan && name && i < plan->n_tensors; i++)
        if (!strcmp(plan->tensors[i].name, name))
            return i;
    return -1;
}

void leat_plan_source(const leat_plan *plan, leat_source_info *out)
{
    const leat_source *const source = plan ? plan->source : NULL;
    if (out && !source)
        *out = (leat_source_info){ .name = "" };
    if (!out || !source)
        return;
    const double mean = leat_nested_mean(source, false);
    const double sample = leat_nested_mean(source, true) / (double)plan->order.samples_per_record;
    *out = (leat_source_info){
        .name = source->table->kind.name ? source->table->kind.name : "rows",
        .n_records = source->n_records,
        .n_bytes = source->n_bytes - (uint64_t)source->saved_bytes,
        .n_files = source->n_files,
        .mean_bytes = mean > 0 ? (uint64_t)mean : 0,
        .most_bytes = plan->probe.most_bytes,
        .sample_bytes = sample > 0 ? sample : 0,
    };
}

const leat_stage_info *leat_plan_stage(const leat_plan *plan, int32_t i)
{
    return plan && i >= 0 && i < plan->n_stages ? &plan->stages[i] : NULL;
}

leat_shape leat_plan_shape_before(const leat_plan *plan, const leat_chain *chain, int32_t n)
{
    leat_shape at = plan->source->features[chain->feature].shape;
    for (int32_t i = 0; i < n; i++) {
        if (plan->unbatches && i == chain->unbatch_at)
            at = leat_shape_part(&at);
        leat_shape to = at;
        chain->ops[i].op->shape(chain->ops[i].options, &at, &to, NULL); /* checked at open */
        at = to;
    }
    return at;
}

int64_t leat_plan_records(const leat_plan *plan, int64_t batch, uint64_t *out, int64_t n)
{
    if (!plan || batch < 0 || plan->info.n_batches == 0 || (n > 0 && !out))
        return 0;
    leat_order_cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return 0;
    const leat_order_place place = leat_order_find(&plan->order, cache, (uint64_t)batch);
    for (int64_t i = 0; i < n && i < (int64_t)place.rows; i++) {
        uint64_t sample, epoch;
        leat_order_row(&plan->order, cache, &place, (uint64_t)i, &sample, &epoch);
        out[i] = leat_order_record(&plan->order, sample);
    }
    free(cache);
    return (int64_t)place.rows;
}

const char *leat_plan_class(const leat_plan *plan, int32_t i)
{
    const leat_source *const source = plan ? plan->source : NULL;
    return source && source->class_names && i >= 0 && i < source->n_classes ? source->class_names[i]
                                                                            : NULL;
}

int32_t leat_plan_n_classes(const leat_plan *plan, const char *tensor)
{
    return plan && tensor ? leat_source_classes_of(plan->source, tensor).n : 0;
}

const char *leat_plan_tensor_class(const leat_plan *plan, const char *tensor, int32_t i)
{
    const leat_source_classes classes =
        plan && tensor ? leat_source_classes_of(plan->source, tensor) : (leat_source_classes){ 0 };
    return i >= 0 && i < classes.n_names ? classes.names[i] : NULL;
}

/* stamp: as begun. */
static leat_file_watch_stamp stamp_of(const leat_plan *plan, leat_file_watch_stamp stamp)
{
    const leat_source *const source = plan ? plan->source : NULL;
    return source && source->table->stamp && source->table->stamp(source, &stamp, NULL) == LEAT_OK
               ? stamp
               : (leat_file_watch_stamp){ 0 };
}

int64_t leat_plan_changed_ns(const leat_plan *plan)
{
    return stamp_of(plan, (leat_file_watch_stamp){ 0 }).newest_ns;
}

uint64_t leat_plan_stamp(const leat_plan *plan)
{
    return stamp_of(plan, (leat_file_watch_stamp){ 0 }).digest;
}

uint64_t leat_plan_fingerprint(const leat_plan *plan)
{
    return plan ? stamp_of(plan, leat_file_watch_stamp_of_some(plan->source->n_files)).digest : 0;
}

uint64_t leat_plan_content(const leat_plan *plan)
{
    return plan ? plan->content : 0;
}

char *leat_plan_record_text(const leat_plan *plan, uint64_t record, char *text, size_t size)
{
    if (!text || !size)
        return text;
    *text = 0;
    if (plan && record < plan->source->n_records)
        plan->source->table->describe(plan->source, record, text, size);
    return text;
}

const leat_plan *leat_plan_on(const leat_plan *plan, const leat_device *device)
{
    return plan && plan->gpu && device && device->table->ops_open ? plan->gpu : plan;
}

int leat_plan_chain_op(const leat_plan *plan, int32_t t, int32_t i, leat_chain_op_info *out)
{
    if (!plan || !out)
        return LEAT_E_ARGUMENT;
    if (t < 0 || t >= plan->n_chains || i < 0 || i >= plan->chains[t].n_ops)
        return LEAT_E_END;
    const leat_chain *const chain = &plan->chains[t];
    const leat_op *const op = chain->ops[i].op;
    *out = (leat_chain_op_info){ .name = op->name,
                                 .shape = leat_plan_shape_before(plan, chain, i + 1),
                                 .fused = chain->fused && i < chain->n_host &&
                                          i >= chain->fused_from &&
                                          i < chain->fused_from + chain->n_fused,
                                 .random = (op->flags & LEAT_OP_RANDOM) != 0,
                                 .device = i >= chain->n_host };
    return LEAT_OK;
}

/* --- notes ----------------------------------------------------------------------------------- */

/* Adds a note that does not exist yet. */
static bool keep_note(leat_plan *plan, char *text)
{
    for (int32_t i = 0; i < plan->n_notes; i++)
        if (!strcmp(plan->notes[i], text))
            return false;
    char **const more = leat_grow(plan->notes, (size_t)plan->n_notes, sizeof *more);
    if (!more)
        return false;
    plan->notes = more;
    plan->notes[plan->n_notes++] = text;
    snprintf(plan->more_notes, sizeof plan->more_notes, "and %d more notes",
             plan->n_notes - LEAT_MAX_NOTES + 1);
    return true;
}

void leat_note_add(leat_plan *plan, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = leat_text_v(NULL, 0, format, args);
    va_end(args);
    char *const text = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (!text)
        return;
    va_start(args, format);
    leat_text_v(text, (size_t)length + 1, format, args);
    va_end(args);
    if (!keep_note(plan, text))
        free(text);
}

void leat_note_clear(leat_plan *plan)
{
    while (plan->n_notes)
        free(plan->notes[--plan->n_notes]);
    free(plan->notes);
    plan->notes = NULL;
}

const char *leat_plan_note(const leat_plan *plan, int32_t i)
{
    if (!plan || i < 0 || i >= plan->n_notes || i >= LEAT_MAX_NOTES)
        return NULL;
    return i == LEAT_MAX_NOTES - 1 && plan->n_notes > LEAT_MAX_NOTES ? plan->more_notes
                                                                     : plan->notes[i];
}
