/* SPDX-License-Identifier: MIT
 *
 * checkpoint_model.c: describes the model of a checkpoint in text, and compares two such texts. */
#include <stdlib.h>
#include <string.h>

#include "checkpoint_parts.h"
#include "nn_text.h"

/* --- describing ------------------------------------------------------------------------------ */

static void describe_layer(FILE *to, const leat_model *model, int32_t i)
{
    const leat_model_layer *l = &model->layers[i];
    char text[160];
    fprintf(to, "layer %s: %s from", l->name, l->layer->kind.name);
    for (int32_t k = 0; k < l->n_inputs; k++)
        fprintf(to, "%s %s", k ? "," : "",
                l->inputs[k] < 0 ? "input" : model->layers[l->inputs[k]].name);
    fprintf(to, ", gives %s\n", leat_nn_dims_text(&l->out, text, sizeof text));
}

char *leat_checkpoint_describe(const leat_trainer *trainer)
{
    static const char *const averages[] = { "none", "ema", "lookahead" };
    const leat_model *model = &trainer->model;
    static const char *const precisions[] = {
#define PRECISION(name, text) text,
        LEAT_PRECISION_LIST(PRECISION)
#undef PRECISION
    };
    char *text = NULL, shape[160], decisions[LEAT_DECIDE_TEXT];
    size_t size;
    FILE *const to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fprintf(to, "input %s\n", leat_shape_text(&model->input, shape, sizeof shape));
    for (int32_t i = 0; i < model->n_layers; i++)
        describe_layer(to, model, i);
    fprintf(to, "loss %s\noptimizer %s\naverage %s\n", model->loss->kind.name,
            model->optimizer->kind.name, averages[trainer->average.mode]);
    fprintf(to, "seed %llu\nbatch size %lld\nmicro_shards %d\naccumulate %d\nprecision %s\n",
            (unsigned long long)model->seed, (long long)model->batch_size, model->shards,
            model->accumulate, precisions[model->precision]);
    leat_decide_describe(&trainer->decide, decisions);
    fputs(decisions, to);
    const bool failed = ferror(to);
    if (fclose(to) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}

/* --- comparing ------------------------------------------------------------------------------- */

typedef struct line {
    const char *text;
    int length;
} line;

/* The next line, without its end; *text moves on. Length 0: the text is over. */
static line next(const char **text)
{
    const line out = { *text, (int)strcspn(*text, "\n") };
    *text += out.length + ((*text)[out.length] == '\n');
    return out;
}

static bool same(line a, line b)
{
    return a.length == b.length && !memcmp(a.text, b.text, (size_t)a.length);
}

static bool begins(line l, const char *word)
{
    return (size_t)l.length >= strlen(word) && !memcmp(l.text, word, strlen(word));
}

/* Lines about the model itself; the others are about how a run trains it. */
static bool is_model(line l)
{
    return begins(l, "input ") || begins(l, "layer ") || begins(l, "loss ") ||
           begins(l, "optimizer ") || begins(l, "average ");
}

static int differs(line saved, line now, const char *path, leat_error *err)
{
    return leat_fail(err, LEAT_E_DATA,
                     "%s is a checkpoint of another model: it has '%.*s' where the config has "
                     "'%.*s'",
                     path, saved.length, saved.text, now.length, now.text);
}

static void add_change(line saved, line now, char *changed, size_t size)
{
    const size_t used = strlen(changed);
    snprintf(changed + used, size - used, "%s%.*s, was %.*s", used ? "; " : "", now.length,
             now.text, saved.length, saved.text);
}

int leat_checkpoint_compare(const char *saved, const char *now, const char *path, char *changed,
                            size_t size, leat_error *err)
{
    *changed = 0;
    for (;;) {
        const line a = next(&saved), b = next(&now);
        if (!a.length && !b.length)
            return LEAT_OK;
        if (same(a, b))
            continue;
        if (is_model(a) || is_model(b))
            return differs(a, b, path, err);
        add_change(a, b, changed, size);
    }
}
