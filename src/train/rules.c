/* SPDX-License-Identifier: MIT */
#include "rules.h"

#include <string.h>

enum { FORMS = 4, NAME_BYTES = 160 };

/* The names of a parameter, from the most general to the most specific. */
static void names_of(const leat_model *model, const leat_model_param *p,
                     char names[FORMS][NAME_BYTES])
{
    const leat_model_layer *l = &model->layers[p->layer];
    snprintf(names[0], NAME_BYTES, "%s", p->spec->part);
    snprintf(names[1], NAME_BYTES, "%s.%s", l->layer->kind.name, p->spec->part);
    snprintf(names[2], NAME_BYTES, "%s", l->name);
    leat_model_param_name(model, p->layer, p->index, names[3], NAME_BYTES);
}

/* 1 … FORMS: how specific the key is; 0: it does not match the parameter. */
static int fit(const leat_model *model, const leat_model_param *p, const char *key)
{
    char names[FORMS][NAME_BYTES];
    names_of(model, p, names);
    for (int i = FORMS; i > 0 && p->spec->trained; i--)
        if (!strcmp(names[i - 1], key))
            return i;
    return 0;
}

/* Whether the key matches a parameter. */
static int check_key(const leat_model *model, const leat_node *node, const char *option,
                     const char *key, leat_error *err)
{
    char names[FORMS][NAME_BYTES], best[NAME_BYTES];
    leat_nearest_word near = leat_nearest_init(key);
    leat_words parts = { .length = 0 };
    for (int32_t i = 0; i < model->n_params; i++) {
        const leat_model_param *p = &model->params[i];
        if (fit(model, p, key))
            return LEAT_OK;
        names_of(model, p, names);
        for (int k = 0; k < FORMS && p->spec->trained; k++) {
            leat_nearest_offer(&near, names[k]);
            if (near.best == names[k])
                near.best = strcpy(best, names[k]);
        }
        if (p->spec->trained)
            leat_nearest_add_word_once(&parts, p->spec->part);
    }
    return leat_node_fail(node, err, LEAT_E_CONFIG,
                          "train.%s: the model trains no '%.80s'%s%s%s; name a part (%s), "
                          "KIND.PART, a layer or LAYER.PART",
                          option, key, near.best ? "; did you mean '" : "",
                          near.best ? near.best : "", near.best ? "'" : "", parts.text);
}

static int read_factor(const leat_node *node, float *out, leat_error *err)
{
    static const leat_option row = {
        "multipliers", LEAT_OPTION_TYPE_F32, 0, "1", 0, 1e6, NULL, ""
    };
    if (node->kind != LEAT_NODE_SCALAR)
        return leat_node_fail(node, err, LEAT_E_CONFIG, "train.multipliers: '%.80s' needs a number",
                              node->key);
    const int rc = leat_option_set(&row, out, node->text, err);
    return rc < 0 ? leat_node_fail_in(node, err, rc) : rc;
}

/* The factor of the most specific key that matches. */
static float rate_of(const leat_model *model, const leat_model_param *p, const leat_node *map)
{
    float rate = 1, value = 1;
    int best = 0;
    for (const leat_node *node = map->first; node; node = node->next) {
        const int how = fit(model, p, node->key);
        if (how > best && read_factor(node, &value, NULL) == LEAT_OK) {
            best = how;
            rate = value;
        }
    }
    return rate;
}

static int set_rates(leat_model *model, const leat_node *map, leat_error *err)
{
    float value;
    int rc = LEAT_OK;
    if (map->kind != LEAT_NODE_MAP)
        return leat_node_fail(map, err, LEAT_E_CONFIG,
                              "train.multipliers must be a map, such as {bias: 2}");
    for (const leat_node *node = map->first; node && rc == LEAT_OK; node = node->next)
        if ((rc = read_factor(node, &value, err)) == LEAT_OK)
            rc = check_key(model, node, "multipliers", node->key, err);
    for (int32_t i = 0; i < model->n_params && rc == LEAT_OK; i++)
        model->params[i].rate = rate_of(model, &model->params[i], map);
    return rc;
}

int leat_rules_set(leat_model *model, const leat_node *owner, const leat_node *multipliers,
                   const leat_strings *no_decay, leat_error *err)
{
    const leat_node *place = leat_node_find(owner, "no_decay");
    int rc = leat_node_is_null(multipliers) ? LEAT_OK : set_rates(model, multipliers, err);
    for (int32_t k = 0; k < no_decay->n && rc == LEAT_OK; k++) {
        const char *key = no_decay->values[k].text;
        rc = check_key(model, place ? place : owner, "no_decay", key, err);
        for (int32_t i = 0; i < model->n_params; i++)
            if (fit(model, &model->params[i], key))
                model->params[i].decays = false;
    }
    return rc;
}
