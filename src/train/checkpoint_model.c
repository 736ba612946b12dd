/* SPDX-License-Identifier: MIT
 *
 * checkpoint_model.c: describes the model of a checkpoint and its training in text, and compares two such texts. */
#include <stdlib.h>
#include <string.h>

#include "checkpoint_parts.h"
#include "config/node.h"
#include "config/option_impl.h"
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

static const char of_layer[] = "train.model.";

/* A line for each option of a layer but those that all have: name and from are in its first line, and its device changes
 * nothing but rounding. */
static void describe_options(FILE *to, const leat_model *model, int32_t i)
{
    const leat_model_layer *const l = &model->layers[i];
    for (const leat_option *row = l->layer->kind.options; row->name; row++) {
        if (row->offset < sizeof(leat_layer_common))
            continue;
        fprintf(to, "%s%d.%s.%s ", of_layer, i, l->layer->kind.name, row->name);
        leat_option_print(to, row, l->options);
        fputc('\n', to);
    }
}

/* Keys that change no weight, and those that have lines of their own; and of `eval`, what changes no result. */
static const char *const of_train[] = { "model", "device",     "threads",       "graph",
                                        "cuda",  "sync_every", "checkpoint",    "seed",
                                        "stop",  "accumulate", "micro_batches", "precision",
                                        NULL };
static const char *const of_eval[] = { "engine", NULL };

static bool is_among(const char *key, const char *const *keys)
{
    while (*keys && strcmp(*keys, key) != 0)
        keys++;
    return *keys != NULL;
}

/* A line for each entry but for those. False: out of memory. */
static bool describe_entries(FILE *to, const char *section, const leat_node *entries,
                             const char *const *left_out)
{
    for (const leat_node *n = entries ? entries->first : NULL; n; n = n->next) {
        if (is_among(n->key, left_out) || leat_node_is_null(n))
            continue;
        const size_t length = leat_node_text(n, NULL, 0) + 1;
        char *const value = malloc(length);
        if (!value)
            return false;
        leat_node_text(n, value, length);
        fprintf(to, "%s.%s %s\n", section, n->key, value);
        free(value);
    }
    return true;
}

char *leat_checkpoint_settings(const leat_node *train, const leat_node *eval)
{
    char *text = NULL;
    size_t size;
    FILE *const to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    bool failed = !describe_entries(to, "train", train, of_train) ||
                  !describe_entries(to, "eval", eval, of_eval);
    failed |= ferror(to) != 0;
    if (fclose(to) == 0 && !failed)
        return text;
    free(text);
    return NULL;
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
    fprintf(to, "seed %llu\nbatch size %lld\nmicro_batches %d\naccumulate %d\nprecision %s\n",
            (unsigned long long)model->seed, (long long)model->batch_size, model->n_micro,
            model->accumulate, precisions[model->precision]);
    leat_decide_describe(&trainer->decide, decisions);
    fputs(decisions, to);
    for (int32_t i = 0; i < model->n_layers; i++)
        describe_options(to, model, i);
    fputs(trainer->settings, to);
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

/* The first word: what the line is about. */
static int key_length(line l)
{
    const char *const space = memchr(l.text, ' ', (size_t)l.length);
    return space ? (int)(space - l.text) : l.length;
}

/* The line about the same setting; length 0: there is none. */
static line find(const char *text, line like)
{
    const int n = key_length(like);
    line l;
    while ((l = next(&text)).length && (key_length(l) != n || memcmp(l.text, like.text, (size_t)n)))
        ;
    return l;
}

static const char content_of_eval[] = "eval.content ";

/* Whether the absence of a line says nothing: an older leat wrote none, or fewer; or there are no files. */
static bool may_lack(line l)
{
    return begins(l, of_layer) || begins(l, "data.files ") || begins(l, "eval.files ") ||
           begins(l, content_of_eval);
}

/* Adds "seed 2, was 1"; a line of length 0: "not set". Ends in "…" where there is no room. */
static void add_change(line saved, line now, char *changed, size_t size)
{
    const size_t used = strlen(changed);
    const line set = now.length ? now : saved;
    const int key = key_length(set);
    const int n = saved.length > key ? saved.length - key - 1 : 0;
    const int written =
        snprintf(changed + used, size - used, "%s%.*s%s, was %.*s%s", used ? "; " : "",
                 now.length ? now.length : key, set.text, now.length ? "" : " not set", n,
                 n ? saved.text + key + 1 : "", saved.length ? "" : "not set");
    if (written >= 0 && (size_t)written >= size - used)
        memcpy(changed + size - sizeof "…", "…", sizeof "…");
}

int leat_checkpoint_compare(const char *saved, const char *now, const char *path, char *changed,
                            size_t size, leat_error *err)
{
    const char *before = saved, *after = now;
    line a, b;
    *changed = 0;
    while (a = next(&before), b = next(&after), is_model(a) || is_model(b))
        if (!same(a, b))
            return differs(a, b, path, err);
    for (after = now; (b = next(&after)).length;)
        if (!is_model(b) && !same(a = find(saved, b), b) && (a.length || !may_lack(b)))
            add_change(a, b, changed, size);
    for (before = saved; (a = next(&before)).length;)
        if (!is_model(a) && !may_lack(a) && !(b = find(now, a)).length)
            add_change(a, b, changed, size);
    return LEAT_OK;
}

/* Whether a line is about what evaluations measure; of_loss: also about the loss alone. */
static bool is_measure(line l, bool of_loss)
{
    static const char *const keys[] = { "train.loss ",   "train.sample_weight ", "train.views ",
                                        "train.target ", "train.input ",         "train.normalize ",
                                        content_of_eval };
    bool is = false;
    for (size_t i = of_loss ? 0 : 2; i < sizeof keys / sizeof *keys; i++)
        is |= begins(l, keys[i]);
    return is;
}

bool leat_checkpoint_measures_other(const char *saved, const char *now, bool of_loss)
{
    const char *const texts[] = { saved, now };
    if (!strstr(saved, "\neval.")) /* it evaluated nothing */
        return false;
    for (int k = 0; k < 2; k++) {
        const char *at = texts[k];
        line l;
        while ((l = next(&at)).length) {
            const line other = find(texts[!k], l);
            if (is_measure(l, of_loss) && !same(l, other) && (other.length || !may_lack(l)))
                return true;
        }
    }
    return false;
}

void leat_checkpoint_compare_classes(const char *saved, const char *now, char *changed, size_t size)
{
    char before[300], after[300];
    for (int i = 0; saved && now && (*saved || *now); i++) {
        const line a = next(&saved), b = next(&now);
        if (same(a, b))
            continue;
        const int n = snprintf(before, sizeof before, "class[%d] %.*s", i,
                               a.length < 255 ? a.length : 255, a.text);
        const int m = snprintf(after, sizeof after, "class[%d] %.*s", i,
                               b.length < 255 ? b.length : 255, b.text);
        add_change((line){ before, a.length ? n : 0 }, (line){ after, b.length ? m : 0 }, changed,
                   size);
        return;
    }
}
