/* SPDX-License-Identifier: MIT
 *
 * test_kinds.c: the lists of what exists (stages, sources, engine, layers, losses, optimisers, ops) as
 * help, reference and completion see them: every row has what they print, and holds what it says. */
#include "fixtures/unit.h"
#include "leat/leat.h"

static const leat_kind *op_kind(size_t i)
{
    static leat_kind kind;
    for (size_t n = 0; n <= i; n++)
        if (!leat_ops()[n])
            return NULL;
    kind = (leat_kind){ leat_ops()[i]->name, leat_ops()[i]->help, leat_ops()[i]->options };
    return &kind;
}

static const struct {
    const char *name;
    const leat_kind *(*at)(size_t i);
    size_t least; /* how many there are at least */
} lists[] = {
    { "stage", leat_stage_kind, 8 },
    { "source", leat_source_kind, 2 },
    { "engine", leat_engine_kind, 2 },
    { "layer", leat_layer_kind, 7 },
    { "loss", leat_loss_kind, 2 },
    { "optimizer", leat_optimizer_kind, 2 },
    { "checkpoint", leat_checkpoint_kind, 1 },
    { "train", leat_train_kind, 1 },
    { "cuda", leat_cuda_kind, 1 },
    { "normalize", leat_normalize_kind, 1 },
    { "stop", leat_stop_kind, 1 },
    { "weights", leat_weights_kind, 1 },
    { "op", op_kind, 14 },
    { "batch op", leat_batch_op_kind, 2 },
    { "ready-made model", leat_preset_kind, 6 },
    { "schedule", leat_schedule_kind, 6 },
    { "average", leat_average_kind, 2 },
};

static int is_name(const char *text)
{
    return text && *text && text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")] == 0 &&
           strspn(text, "0123456789_") == 0;
}

/* One line, a phrase: no full stop, no line end. */
static int is_help(const char *text)
{
    return text && *text && !strchr(text, '\n') && text[strlen(text) - 1] != '.';
}

/* Bounds that a double or the field can hold, words only where they mean something. */
static void check_row(const char *list, const leat_kind *kind, const leat_option *row)
{
    static union {
        char bytes[1 << 17];
        double aligned;
    } options;
    leat_error err = { 0 };
    char text[400];
    if (!is_name(row->name) || !is_help(row->help) || row->type >= LEAT_OPTION_TYPE_END)
        fail_msg("%s %s: option '%s' (%s)", list, kind->name, row->name, row->help);
    for (const leat_option *other = kind->options; other < row; other++)
        if (!strcmp(other->name, row->name))
            fail_msg("%s %s: option '%s' twice", list, kind->name, row->name);
    if (row->low > row->high)
        fail_msg("%s %s.%s: %g … %g", list, kind->name, row->name, row->low, row->high);
    if (row->type == LEAT_OPTION_TYPE_ENUM)
        assert_non_null(row->choices);
    assert_ptr_equal(leat_option_find(kind->options, row->name), row);
    assert_true(leat_option_type_text(row, text, sizeof text) == text && *text);
    assert_true(row->offset + sizeof(leat_strings) <= sizeof options);
    if (row->initial && row->type != LEAT_OPTION_TYPE_NODE &&
        leat_option_set(row, &options, row->initial, &err) != LEAT_OK)
        fail_msg("%s %s: %s", list, kind->name, err.message);
    for (size_t k = 0; row->choices && row->choices[k]; k++)
        if (leat_option_set(row, &options, row->choices[k], &err) != LEAT_OK)
            fail_msg("%s %s: %s", list, kind->name, err.message);
}

TEST(every_list_is_complete)
{
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        size_t n = 0;
        for (const leat_kind *kind; (kind = lists[l].at(n)); n++) {
            const leat_kind here = *kind; /* op_kind() has one place for all */
            if (!is_name(here.name) || !is_help(here.help))
                fail_msg("%s %zu: '%s' (%s)", lists[l].name, n, here.name, here.help);
            assert_non_null(here.options);
            for (const leat_option *row = here.options; row->name; row++)
                check_row(lists[l].name, &here, row);
            for (size_t m = 0; m < n; m++)
                if (!strcmp(lists[l].at(m)->name, here.name))
                    fail_msg("%s '%s' is there twice", lists[l].name, here.name);
        }
        if (n < lists[l].least)
            fail_msg("%zu of kind %s", n, lists[l].name);
        assert_null(lists[l].at(n));
        if (lists[l].at != op_kind)
            assert_null(lists[l].at(SIZE_MAX));
    }
}

/* A config names stages and ops in one breath: "did you mean" tells them apart by name alone. */
TEST(no_stage_has_the_name_of_an_op)
{
    for (size_t i = 0; leat_stage_kind(i); i++)
        assert_null(leat_op_find(leat_stage_kind(i)->name));
}
