/* SPDX-License-Identifier: MIT */
#include "rules.h"

#include <string.h>

#include "name_pattern.h"

enum { FORMS = 4, NAME_BYTES = LEAT_NAME_PATTERN_BYTES };

/* An option whose keys name parameters. */
typedef struct rule_option {
    const leat_model *model;
    const char *name;
    bool all; /* running statistics and frozen parameters, too */
} rule_option;

/* The names of a parameter, from the most general to the most specific. */
static void names_of(const leat_model_layer *l, int32_t k, char names[FORMS][NAME_BYTES])
{
    snprintf(names[0], NAME_BYTES, "%s", l->params[k].part);
    snprintf(names[1], NAME_BYTES, "%s.%s", l->layer->kind.name, l->params[k].part);
    snprintf(names[2], NAME_BYTES, "%s", l->name);
    snprintf(names[3], NAME_BYTES, "%s.%s", l->name, l->params[k].part);
}

/* 0: the key does not match the parameter; 1: it is a pattern that does; more: the form of the name that it is. */
static int fit(const rule_option *o, const leat_model_layer *l, int32_t k, const char *key)
{
    char names[FORMS][NAME_BYTES];
    if (!o->all && !l->params[k].trained)
        return 0;
    names_of(l, k, names);
    for (int i = FORMS; i > 0; i--)
        if (leat_name_pattern_fits(key, names[i - 1]))
            return leat_name_pattern_is(key) ? 1 : 1 + i;
    return 0;
}

/* --- keys that match nothing ------------------------------------------------------------------- */

/* Whether the key matches a parameter. */
static int check_key(const rule_option *o, const leat_node *node, const char *key, leat_error *err)
{
    char names[FORMS][NAME_BYTES], best[NAME_BYTES];
    leat_nearest_word near = leat_nearest_init(key);
    leat_words parts = { .length = 0 };
    for (int32_t i = 0; i < o->model->n_layers; i++) {
        const leat_model_layer *l = &o->model->layers[i];
        for (int32_t k = 0; k < l->n_params; k++) {
            if (fit(o, l, k, key))
                return LEAT_OK;
            if (!o->all && !l->params[k].trained)
                continue;
            names_of(l, k, names);
            for (int form = 0; form < FORMS; form++)
                leat_name_pattern_offer(&near, names[form], best);
            leat_nearest_add_word_once(&parts, l->params[k].part);
        }
    }
    return leat_node_fail(node, err, LEAT_E_CONFIG,
                          "train.%s: the model %s no '%.80s'%s%s%s; name a part (%s), KIND.PART, a "
                          "layer, LAYER.PART, or a pattern such as 'layer1.*'",
                          o->name, o->all ? "has" : "trains", key,
                          near.best ? "; did you mean '" : "", near.best ? near.best : "",
                          near.best ? "'" : "", parts.text);
}

/* --- frozen ------------------------------------------------------------------------------------- */

static void freeze(const rule_option *o, leat_model_layer *l, const char *key)
{
    for (int32_t k = 0; k < l->n_params; k++)
        if (fit(o, l, k, key)) {
            l->params[k].frozen = true;
            l->params[k].trained = false;
        }
    for (int32_t k = 0; k < l->n_params && leat_layer_is_fixed(l); k++)
        l->params[k].frozen |= l->params[k].statistic; /* mean and variance belong together */
}

int leat_rules_freeze(leat_model *model, const leat_node *owner, const leat_strings *frozen,
                      leat_error *err)
{
    const rule_option option = { model, "frozen", true };
    const leat_node *place = leat_node_find(owner, option.name);
    int rc = LEAT_OK;
    for (int32_t at = 0; at < frozen->n && rc == LEAT_OK; at++) {
        const char *key = frozen->values[at].text;
        rc = check_key(&option, place ? place : owner, key, err);
        for (int32_t i = 0; i < model->n_layers; i++)
            freeze(&option, &model->layers[i], key);
    }
    return rc;
}

/* --- rates and decay ---------------------------------------------------------------------------- */

static int read_factor(const leat_node *node, float *out, leat_error *err)
{
    static const leat_option row = {
        "multipliers", LEAT_OPTION_TYPE_F32, 0, "1", 0, 1e6, NULL, "", 0
    };
    if (node->kind != LEAT_NODE_SCALAR)
        return leat_node_fail(node, err, LEAT_E_CONFIG, "train.multipliers: '%.80s' needs a number",
                              node->key);
    const int rc = leat_option_set(&row, out, node->text, err);
    return rc < 0 ? leat_node_fail_in(node, err, rc) : rc;
}

/* The factor of the key that counts. */
static float rate_of(const rule_option *o, const leat_model_param *p, const leat_node *map)
{
    float rate = 1, value = 1;
    int best = 1;
    for (const leat_node *node = map->first; node; node = node->next) {
        const int how = fit(o, &o->model->layers[p->layer], p->index, node->key);
        if (how >= best && read_factor(node, &value, NULL) == LEAT_OK) {
            best = how;
            rate = value;
        }
    }
    return rate;
}

static int set_rates(leat_model *model, const leat_node *map, leat_error *err)
{
    const rule_option option = { model, "multipliers", false };
    float value;
    int rc = LEAT_OK;
    if (map->kind != LEAT_NODE_MAP)
        return leat_node_fail(map, err, LEAT_E_CONFIG,
                              "train.multipliers must be a map, such as {bias: 2}");
    for (const leat_node *node = map->first; node && rc == LEAT_OK; node = node->next)
        if ((rc = read_factor(node, &value, err)) == LEAT_OK)
            rc = check_key(&option, node, node->key, err);
    for (int32_t i = 0; i < model->n_params && rc == LEAT_OK; i++)
        model->params[i].rate = rate_of(&option, &model->params[i], map);
    return rc;
}

int leat_rules_set(leat_model *model, const leat_node *owner, const leat_node *multipliers,
                   const leat_strings *no_decay, leat_error *err)
{
    const rule_option option = { model, "no_decay", false };
    const leat_node *place = leat_node_find(owner, option.name);
    int rc = leat_node_is_null(multipliers) ? LEAT_OK : set_rates(model, multipliers, err);
    for (int32_t at = 0; at < no_decay->n && rc == LEAT_OK; at++) {
        const char *key = no_decay->values[at].text;
        rc = check_key(&option, place ? place : owner, key, err);
        for (int32_t i = 0; i < model->n_params; i++) {
            leat_model_param *p = &model->params[i];
            if (fit(&option, &model->layers[p->layer], p->index, key))
                p->decays = false;
        }
    }
    return rc;
}
