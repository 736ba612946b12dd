/* SPDX-License-Identifier: MIT */
#include "explain.h"

#include <stdlib.h>
#include <string.h>

#include "formats/figure.h"
#include "terminal.h"

enum { COLUMN = 36 }; /* of the texts */

static const char *const kinds[] = { "host", "pinned", "device", "mapped" };

/* --- as text --------------------------------------------------------------------------------------*/

/* "1 row", "2 rows", "1 batch". */
static leat_figure value_of(int64_t value, const char *unit)
{
    leat_figure figure = leat_figure_bytes((double)value);
    const size_t n = strlen(unit);
    size_t ending = 0;
    if (!strcmp(unit, "bytes"))
        return figure;
    if (value == 1 && n > 0 && unit[n - 1] == 's')
        ending = n > 4 && !strcmp(unit + n - 4, "ches") ? 2 : 1;
    snprintf(figure.text, sizeof figure.text, "%.26s %.*s", leat_figure_count((uint64_t)value).text,
             (int)(n - ending), unit);
    return figure;
}

/* Slots and device buffers beyond the first prefetch are allocated when the window grows. */
static int64_t first_bytes(const leat_budget *budget)
{
    const int64_t later = budget->prefetch_most - budget->prefetch;
    return budget->total_bytes -
           later * (budget->slot_bytes + (budget->n_buffers ? budget->buffer_bytes : 0));
}

void leat_explain_budget(const leat_budget *budget)
{
    const bool grows = first_bytes(budget) < budget->total_bytes;
    leat_terminal_say(
        2, "memory: %s%s%s of %s (%s); the minimum is %s (engine.memory=%lld)",
        grows ? leat_figure_bytes((double)first_bytes(budget)).text : "",
        grows ? " at first, at most " : "", leat_figure_bytes((double)budget->total_bytes).text,
        leat_figure_bytes((double)budget->limit_bytes).text, budget->limit_reason,
        leat_figure_bytes((double)budget->least_bytes).text, (long long)budget->least_bytes);
    for (int32_t i = 0; i < budget->n_rows; i++) {
        const leat_budget_row *row = &budget->rows[i];
        char head[160];
        snprintf(head, sizeof head, "  %-13s %9s  %-6s", row->name,
                 leat_figure_bytes((double)row->bytes).text, kinds[row->kind]);
        leat_terminal_entry(stdout, head, COLUMN, row->text);
    }
    printf("\ndecisions:\n");
    for (int32_t i = 0; i < budget->n_decisions; i++) {
        const leat_decision *one = &budget->decisions[i];
        char head[160];
        snprintf(head, sizeof head, "  %-13s %12s", one->name,
                 *one->unit ? value_of(one->to, one->unit).text : "");
        leat_terminal_entry(stdout, head, COLUMN, one->reason);
    }
}

enum { SHOWN = 128 };

/* Prints all changes with the name of list[i], its first entry: first and last value, how often, and
 * the last reason. */
static void print_changed(const leat_decision *list, size_t n, size_t i)
{
    int64_t low = list[i].from, high = list[i].from;
    size_t last = i, times = 0;
    char between[160] = "";
    for (size_t k = i; k < n; k++) {
        if (strcmp(list[k].name, list[i].name) != 0)
            continue;
        low = list[k].to < low ? list[k].to : low;
        high = list[k].to > high ? list[k].to : high;
        last = k;
        times++;
    }
    if (times > 2)
        snprintf(between, sizeof between, ", in %zu steps between %s and %s", times,
                 value_of(low, list[i].unit).text, value_of(high, list[i].unit).text);
    leat_terminal_say(4, "  %s: %s to %s%s: %s", list[i].name,
                      value_of(list[i].from, list[i].unit).text,
                      value_of(list[last].to, list[i].unit).text, between, list[last].reason);
}

static bool is_first(const leat_decision *list, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (!strcmp(list[k].name, list[i].name))
            return false;
    return true;
}

void leat_explain_changes(leat_loader *loader)
{
    leat_decision *const list = calloc(SHOWN, sizeof *list);
    const size_t all = list ? leat_loader_decisions(loader, list, SHOWN) : 0;
    const size_t n = all < SHOWN ? all : SHOWN;
    printf("changed during the run:%s\n", n ? "" : " nothing");
    for (size_t i = 0; i < n; i++)
        if (is_first(list, i))
            print_changed(list, n, i);
    if (all > n)
        printf("  (the last %d of %s changes)\n", SHOWN, leat_figure_count(all).text);
    free(list);
}

/* --- as JSON --------------------------------------------------------------------------------------*/

static void add_decision(json_t *list, const leat_decision *d)
{
    json_t *one = leat_json_row(list);
    leat_json_text(one, "name", d->name);
    leat_json_real(one, "at_s", (double)d->at_ns * 1e-9);
    leat_json_int(one, "batch", d->batch);
    leat_json_add(one, "from", d->from < 0 ? json_null() : json_integer(d->from));
    leat_json_add(one, "to", *d->unit ? json_integer(d->to) : json_null());
    leat_json_text(one, "unit", d->unit);
    leat_json_text(one, "reason", d->reason);
}

void leat_explain_add_notes(json_t *object, const leat_plan *plan, const char *more)
{
    json_t *notes = leat_json_list(object, "notes");
    for (int32_t i = 0; leat_plan_note(plan, i); i++)
        leat_json_append(notes, leat_plan_note(plan, i));
    if (*more)
        leat_json_append(notes, more);
}

json_t *leat_explain_budget_json(const leat_budget *budget)
{
    json_t *json = json_object();
    leat_json_int(json, "limit_bytes", budget->limit_bytes);
    leat_json_text(json, "limit_reason", budget->limit_reason);
    leat_json_int(json, "total_bytes", budget->total_bytes);
    leat_json_int(json, "first_bytes", first_bytes(budget));
    leat_json_int(json, "least_bytes", budget->least_bytes);
    leat_json_int(json, "threads", budget->threads);
    leat_json_int(json, "prefetch", budget->prefetch);
    leat_json_int(json, "prefetch_most", budget->prefetch_most);
    leat_json_int(json, "slots", budget->n_slots);
    leat_json_int(json, "buffers", budget->n_buffers);
    leat_json_int(json, "slot_bytes", budget->slot_bytes);
    leat_json_int(json, "buffer_bytes", budget->buffer_bytes);
    leat_json_int(json, "read_bytes", budget->read_bytes);
    leat_json_int(json, "scratch_bytes", budget->scratch_bytes);
    leat_json_int(json, "large_bytes", budget->large_bytes);
    leat_json_int(json, "room_bytes", budget->room_bytes);
    json_t *rows = leat_json_list(json, "rows");
    for (int32_t i = 0; i < budget->n_rows; i++) {
        const leat_budget_row *row = &budget->rows[i];
        json_t *one = leat_json_row(rows);
        leat_json_text(one, "name", row->name);
        leat_json_text(one, "kind", kinds[row->kind]);
        leat_json_int(one, "bytes", row->bytes);
        leat_json_text(one, "text", row->text);
    }
    json_t *decisions = leat_json_list(json, "decisions");
    for (int32_t i = 0; i < budget->n_decisions; i++)
        add_decision(decisions, &budget->decisions[i]);
    return json;
}

json_t *leat_explain_changes_json(leat_loader *loader)
{
    leat_decision *const list = calloc(SHOWN, sizeof *list);
    json_t *json = json_array();
    const size_t n = list ? leat_loader_decisions(loader, list, SHOWN) : 0;
    for (size_t i = 0; i < n && i < SHOWN; i++)
        add_decision(json, &list[i]);
    free(list);
    return json;
}

void leat_explain_jpeg(const leat_loader_stats_info *stats)
{
    if (stats->n_seek || stats->n_seek_refused)
        printf("index of JPEG files: used for %s samples", leat_figure_count(stats->n_seek).text);
    if (stats->n_seek_refused)
        printf("; it did not fit %s others, which were read without it: rebuild it with `leat "
               "index --jpeg`",
               leat_figure_count(stats->n_seek_refused).text);
    if (stats->n_seek || stats->n_seek_refused)
        putchar('\n');
    if (stats->n_jpeg_device || stats->n_jpeg_host)
        printf("JPEG files: %s decoded on the device, %s on the CPU\n",
               leat_figure_count(stats->n_jpeg_device).text,
               leat_figure_count(stats->n_jpeg_host).text);
}
