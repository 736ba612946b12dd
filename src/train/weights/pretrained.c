/* SPDX-License-Identifier: MIT
 *
 * pretrained.c: the functions of pretrained.h, which describes them.
 *
 * Every parameter of the model and every weight of the file becomes a row with a state, so nothing is lost in silence:
 * where a row is not TAKEN, `skip` must name it. Everything is checked before the first parameter changes. */
#include "train/weights/pretrained.h"

#include <stdlib.h>
#include <string.h>

#include "base/float_mode.h"
#include "base/text.h"
#include "train/name_pattern.h"
#include "train/weights/weight_file.h"
#include "train/whiten.h"

int leat_pretrained_init(leat_pretrained *p, const leat_node *node, leat_error *err)
{
    leat_error place = { .code = LEAT_OK };
    if (leat_node_is_null(node))
        return LEAT_OK;
    const int rc = leat_trainer_options_weights(node, &p->options, err);
    leat_node_fail(node, &place, LEAT_E_CONFIG, "%s", "");
    snprintf(p->place, sizeof p->place, "%.300s", place.message);
    p->waits = rc == LEAT_OK;
    return rc;
}

void leat_pretrained_fini(leat_pretrained *p)
{
    free(p->rows);
    p->rows = NULL;
    p->n_rows = 0;
}

/* --- names ----------------------------------------------------------------------------------- */

/* A name without its last part: of a layer. */
static const char *layer_of(const char *name, char layer[LEAT_NAME_PATTERN_BYTES])
{
    const char *const dot = strrchr(name, '.');
    snprintf(layer, LEAT_NAME_PATTERN_BYTES, "%.*s",
             dot ? (int)(dot - name) : LEAT_NAME_PATTERN_BYTES, name);
    return layer;
}

/* Whether a key of `skip` fits a tensor or its layer. */
static bool covers(const char *key, const char *name)
{
    char layer[LEAT_NAME_PATTERN_BYTES];
    return leat_name_pattern_fits(key, name) || leat_name_pattern_fits(key, layer_of(name, layer));
}

/* own: the model's name for it, which may be another; NULL: none. */
static bool is_skipped(const leat_pretrained *p, const char *name, const char *own)
{
    for (int32_t i = 0; i < p->options.skip.n; i++)
        if (covers(p->options.skip.values[i].text, name) ||
            (own && covers(p->options.skip.values[i].text, own)))
            return true;
    return false;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* A file that is compared with a model. */
typedef struct matching {
    leat_pretrained *p;
    const leat_weight_file *w;
    const leat_model *model;
    leat_param_file *to;
} matching;

static leat_loaded_row *add_row(leat_pretrained *p, const char *name, leat_loaded state)
{
    leat_loaded_row *row = &p->rows[p->n_rows++];
    *row = (leat_loaded_row){ .state = state };
    snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

/* Parameter i of the model. */
static int match_param(const matching *m, size_t i, leat_error *err)
{
    char name[LEAT_PARAM_NAME];
    leat_safetensor wanted;
    const leat_safetensor *found = leat_weight_file_find(m->w, m->model, m->to, i, name, &wanted);
    const bool fits = found && leat_param_file_fits(&wanted, found);
    const bool skipped = is_skipped(m->p, name, m->to->rows[i].name);
    leat_loaded_row *row = add_row(m->p, name,
                                   !found    ? LEAT_LOADED_NEW
                                   : !fits   ? LEAT_LOADED_UNFIT
                                   : skipped ? LEAT_LOADED_SKIPPED
                                             : LEAT_LOADED_TAKEN);
    leat_param_file_text(&wanted, row->model);
    if (found)
        leat_param_file_text(found, row->found);
    if (row->state != LEAT_LOADED_TAKEN)
        return LEAT_OK;
    m->to->tensors[i].data = found->data;
    return leat_param_file_check(&wanted, found, m->w->path, err);
}

static bool is_listed(const leat_pretrained *p, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(p->rows[i].name, name))
            return true;
    return false;
}

static int match_all(const matching *m, leat_error *err)
{
    const size_t n = leat_safetensors_count(m->w->file);
    int rc = LEAT_OK;
    leat_pretrained_fini(m->p);
    m->p->rows = calloc(m->to->n + n, sizeof *m->p->rows);
    if (!m->p->rows)
        return leat_fail(err, LEAT_E_NOMEM, "weights: no memory for a list of %zu tensors",
                         m->to->n + n);
    for (size_t i = 0; i < m->to->n && rc == LEAT_OK; i++)
        rc = match_param(m, i, err);
    for (size_t i = 0; i < n && rc == LEAT_OK; i++) {
        const leat_safetensor *t = leat_safetensors_at(m->w->file, i);
        if (leat_weight_file_is_weight(t->name) && !is_listed(m->p, m->to->n, t->name))
            leat_param_file_text(t, add_row(m->p, t->name, LEAT_LOADED_UNUSED)->found);
    }
    return rc;
}

/* --- what does not fit ----------------------------------------------------------------------- */

/* The parameter of a row; NULL: none. */
static const char *own_name(const matching *m, size_t row)
{
    return row < m->to->n ? m->to->rows[row].name : NULL;
}

static bool is_open(const matching *m, size_t i)
{
    const leat_loaded state = m->p->rows[i].state;
    return state != LEAT_LOADED_TAKEN && state != LEAT_LOADED_SKIPPED &&
           !is_skipped(m->p, m->p->rows[i].name, own_name(m, i));
}

/* "; 2 do not fit: 'fc.bias' (F32 [1000], in the model F32 [10]), …" Returns their number. */
static size_t add_open(const matching *m, leat_loaded state, const char *what, char *text,
                       size_t size)
{
    enum { SHOWN = 3 };
    size_t n = 0, shown = 0;
    for (size_t i = 0; i < m->p->n_rows; i++)
        n += m->p->rows[i].state == state && is_open(m, i);
    if (n)
        leat_text_append(text, size, "; %zu %s: ", n, what);
    for (size_t i = 0; i < m->p->n_rows && shown < SHOWN; i++) {
        const leat_loaded_row *row = &m->p->rows[i];
        if (row->state != state || !is_open(m, i))
            continue;
        leat_text_append(text, size, "%s'%.48s'", shown ? ", " : "", row->name);
        if (state == LEAT_LOADED_UNFIT)
            leat_text_append(text, size, " (%.32s, in the model %.32s)", row->found, row->model);
        shown++;
    }
    if (n > SHOWN)
        leat_text_append(text, size, ", …");
    return n;
}

/* The layers of rows that no `skip` covers, as it would be written. */
static void add_layers(const matching *m, leat_words *layers)
{
    char layer[LEAT_NAME_PATTERN_BYTES];
    for (size_t i = 0; i < m->p->n_rows; i++)
        if (is_open(m, i) && layers->length < 100)
            leat_nearest_add_word_once(layers, layer_of(m->p->rows[i].name, layer));
}

static int check_rows(const matching *m, leat_error *err)
{
    char text[700] = "";
    leat_words layers = { .length = 0 };
    const size_t n =
        add_open(m, LEAT_LOADED_UNFIT, "of another shape or type", text, sizeof text) +
        add_open(m, LEAT_LOADED_NEW, "of the model not in the file", text, sizeof text) +
        add_open(m, LEAT_LOADED_UNUSED, "of the file not in the model", text, sizeof text);
    if (n == 0)
        return LEAT_OK;
    for (int32_t i = 0; i < m->p->options.skip.n; i++)
        leat_nearest_add_word_once(&layers, m->p->options.skip.values[i].text);
    add_layers(m, &layers);
    return leat_fail(err, LEAT_E_CONFIG,
                     "%s does not fit the model%s; if that is meant, write `skip: [%.120s]`; else "
                     "name the layers as there (`name: …`)",
                     m->w->path, text, layers.text);
}

/* A key of `skip` that fits nothing is a mistake. */
static int check_skip(const matching *m, const char *key, leat_error *err)
{
    char layer[LEAT_NAME_PATTERN_BYTES], best[LEAT_NAME_PATTERN_BYTES];
    leat_nearest_word near = leat_nearest_init(key);
    for (size_t i = 0; i < m->p->n_rows; i++) {
        const char *const name = m->p->rows[i].name, *const own = own_name(m, i);
        if (covers(key, name) || (own && covers(key, own)))
            return LEAT_OK;
        leat_name_pattern_offer(&near, name, best);
        leat_name_pattern_offer(&near, layer_of(name, layer), best);
    }
    return leat_fail(err, LEAT_E_CONFIG,
                     "skip: neither the model nor %s has a tensor '%.80s'%s%s%s", m->w->path, key,
                     near.best ? "; did you mean '" : "", near.best ? near.best : "",
                     near.best ? "'?" : "");
}

static int check_all(const matching *m, leat_error *err)
{
    int rc = match_all(m, err);
    for (int32_t i = 0; i < m->p->options.skip.n && rc == LEAT_OK; i++)
        rc = check_skip(m, m->p->options.skip.values[i].text, err);
    return rc == LEAT_OK ? check_rows(m, err) : rc;
}

/* --- loading --------------------------------------------------------------------------------- */

/* The first batch decides only weights that are not the file's. */
static void keep_from_whitening(leat_trainer *trainer, const leat_param_file *to)
{
    for (size_t i = 0; i < to->n; i++) {
        leat_param *const p = &trainer->model.layers[to->rows[i].layer].params[to->rows[i].param];
        if (to->tensors[i].data && p->init == LEAT_INIT_WHITEN)
            p->init = LEAT_INIT_HE;
    }
    trainer->whiten = trainer->whiten && leat_whiten_wanted(&trainer->model);
}

/* Whether the model's outputs are those of the file: its last layer that has parameters was taken. */
static bool is_head_taken(const leat_param_file *to)
{
    bool taken = to->n > 0;
    for (size_t i = to->n; taken && i-- > 0 && to->rows[i].layer == to->rows[to->n - 1].layer;)
        taken = to->tensors[i].data != NULL;
    return taken;
}

static int take_classes(leat_trainer *trainer, const matching *m, leat_error *err)
{
    free(trainer->restored_classes);
    trainer->restored_classes = NULL;
    return is_head_taken(m->to) ? leat_weight_file_classes(m->w, &trainer->restored_classes, err)
                                : LEAT_OK;
}

static int compare_file(leat_trainer *trainer, bool load, leat_error *err)
{
    leat_pretrained *p = &trainer->pretrained;
    leat_param_file to = { 0 };
    leat_weight_file w;
    const matching m = { p, &w, &trainer->model, &to };
    int rc =
        leat_weight_file_open(&w, p->options.file.text, (leat_weight_layout)p->options.layout, err);
    if (rc == LEAT_OK)
        rc = leat_param_file_open(&trainer->model, 1u << LEAT_VALUES_WEIGHT, &to, err);
    if (rc == LEAT_OK)
        rc = check_all(&m, err);
    if (rc == LEAT_OK)
        rc = leat_param_file_check_constants(&trainer->model, &to, w.path, err);
    if (rc == LEAT_OK)
        rc = leat_weight_file_check_layout(&w, &trainer->model, &to, err);
    if (rc == LEAT_OK && load && (rc = leat_weight_file_write(&w, &to, trainer, err)) == LEAT_OK) {
        p->waits = false;
        keep_from_whitening(trainer, &to);
        rc = take_classes(trainer, &m, err);
    }
    leat_param_file_close(&to);
    leat_weight_file_close(&w);
    if (rc < 0)
        leat_pretrained_fini(p);
    return rc < 0 ? leat_fail_in(err, rc, "%strain.weights: ", p->place) : rc;
}

int leat_pretrained_check(leat_trainer *trainer, leat_error *err)
{
    return trainer->pretrained.waits ? compare_file(trainer, false, err) : LEAT_OK;
}

int leat_pretrained_load(leat_trainer *trainer, leat_error *err)
{
    if (!trainer->pretrained.waits || trainer->info.simulated)
        return LEAT_OK;
    LEAT_FLOAT_MODE;
    const int rc = leat_trainer_sync(trainer, err);
    return rc < 0 ? rc : compare_file(trainer, true, err);
}

int leat_trainer_load(leat_trainer *trainer, leat_error *err)
{
    return trainer ? leat_pretrained_load(trainer, err)
                   : leat_fail(err, LEAT_E_ARGUMENT, "leat_trainer_load: trainer must be given");
}

const char *leat_loaded_name(leat_loaded state)
{
    static const char *const names[] = {
#define LOADED_NAME(name, text) text,
        LEAT_LOADED_LIST(LOADED_NAME)
#undef LOADED_NAME
    };
    return (size_t)state < sizeof names / sizeof *names ? names[state] : "?";
}

int leat_trainer_loaded(const leat_trainer *trainer, int32_t i, leat_loaded_info *out)
{
    if (!trainer || !out || i < 0 || (size_t)i >= trainer->pretrained.n_rows)
        return LEAT_E_END;
    const leat_loaded_row *row = &trainer->pretrained.rows[i];
    *out = (leat_loaded_info){ row->name, row->state, row->model, row->found };
    return LEAT_OK;
}
