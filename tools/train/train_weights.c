/* SPDX-License-Identifier: MIT */
#include "train_run.h"

#include "formats/figure.h"
#include "print/terminal.h"

enum { ROWS_MOST = 40 };

/* The next tensor from *i on that the model has not from the file. */
static bool next_other(const leat_trainer *trainer, int32_t *i, leat_loaded_info *out)
{
    while (leat_trainer_loaded(trainer, (*i)++, out) == LEAT_OK)
        if (out->state != LEAT_LOADED_TAKEN)
            return true;
    return false;
}

static int64_t count_all(const leat_trainer *trainer, int64_t *taken)
{
    leat_loaded_info row;
    int32_t n = 0;
    *taken = 0;
    for (; leat_trainer_loaded(trainer, n, &row) == LEAT_OK; n++)
        *taken += row.state == LEAT_LOADED_TAKEN;
    return n;
}

void leat_train_weights_print(const leat_trainer *trainer)
{
    leat_loaded_info row;
    int64_t taken;
    int32_t i = 0;
    const int64_t others = count_all(trainer, &taken) - taken;
    if (others + taken == 0)
        return;
    leat_terminal_say(2, "weights: %s tensors taken from the file, %s not%s",
                      leat_figure_count((uint64_t)taken).text,
                      leat_figure_count((uint64_t)others).text, others ? ":" : "");
    for (int shown = 0; next_other(trainer, &i, &row); shown++) {
        if (shown == ROWS_MOST) {
            printf("  … and %s more\n", leat_figure_count((uint64_t)(others - ROWS_MOST)).text);
            break;
        }
        printf("  %-26s", leat_terminal_name(row.name));
        printf(" %-18s %-18s %s\n", *row.file ? row.file : "-", *row.model ? row.model : "-",
               leat_loaded_name(row.state));
    }
    if (others)
        puts("  (type and shape in the file, and in the model)");
}

json_t *leat_train_weights_json(const leat_trainer *trainer)
{
    leat_loaded_info row;
    int64_t taken;
    int32_t i = 0;
    if (count_all(trainer, &taken) == 0)
        return json_null();
    json_t *json = json_object();
    leat_json_int(json, "taken", taken);
    json_t *list = leat_json_list(json, "others");
    while (next_other(trainer, &i, &row)) {
        json_t *one = leat_json_row(list);
        leat_json_text(one, "name", row.name);
        leat_json_text(one, "state", leat_loaded_name(row.state));
        leat_json_text(one, "file", row.file);
        leat_json_text(one, "model", row.model);
    }
    return json;
}
