/* SPDX-License-Identifier: MIT */
#include "explain.h"

#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "terminal.h"

enum { COLUMN = 36 }; /* of the texts */

static const char *const kinds[] = { "host", "pinned", "device", "mapped" };

/* --- as text --------------------------------------------------------------------------------------*/

/* "1 row", "2 rows", "1 batch". */
static const char *value_text(int64_t value, const char *unit, char text[64])
{
    const size_t n = strlen(unit);
    size_t ending = 0;
    if (!strcmp(unit, "bytes"))
        return leat_files_bytes_text((double)value, text);
    if (value == 1 && n > 0 && unit[n - 1] == 's')
        ending = n > 4 && !strcmp(unit + n - 4, "ches") ? 2 : 1;
    char count[32];
    snprintf(text, 64, "%s %.*s", leat_files_count_text((uint64_t)value, count), (int)(n - ending),
             unit);
    return text;
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
    char text[64], first[64], other[64], least[64];
    leat_terminal_say(
        2, "memory: %s%s%s of %s (%s); the minimum is %s (engine.memory=%lld)",
        grows ? leat_files_bytes_text((double)first_bytes(budget), first) : "",
        grows ? " at first, at most " : "",
        leat_files_bytes_text((double)budget->total_bytes, text),
        leat_files_bytes_text((double)budget->limit_bytes, other), budget->limit_reason,
        leat_files_bytes_text((double)budget->least_bytes, least), (long long)budget->least_bytes);
    for (int32_t i = 0; i < budget->n_rows; i++) {
        const leat_budget_row *row = &budget->rows[i];
        char head[160];
        snprintf(head, sizeof head, "  %-13s %9s  %-6s", row->name,
                 leat_files_bytes_text((double)row->bytes, text), kinds[row->kind]);
        leat_terminal_entry(stdout, head, COLUMN, row->text);
    }
    printf("\ndecisions:\n");
    for (int32_t i = 0; i < budget->n_decisions; i++) {
        const leat_decision *one = &budget->decisions[i];
        char head[160];
        snprintf(head, sizeof head, "  %-13s %12s", one->name,
                 *one->unit ? value_text(one->to, one->unit, text) : "");
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
    char between[160] = "", from[64], to[64], least[64], most[64];
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
                 value_text(low, list[i].unit, least), value_text(high, list[i].unit, most));
    leat_terminal_say(4, "  %s: %s to %s%s: %s", list[i].name,
                      value_text(list[i].from, list[i].unit, from),
                      value_text(list[last].to, list[i].unit, to), between, list[last].reason);
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
    char count[32];
    const size_t all = list ? leat_loader_decisions(loader, list, SHOWN) : 0;
    const size_t n = all < SHOWN ? all : SHOWN;
    printf("changed during the run:%s\n", n ? "" : " nothing");
    for (size_t i = 0; i < n; i++)
        if (is_first(list, i))
            print_changed(list, n, i);
    if (all > n)
        printf("  (the last %d of %s changes)\n", SHOWN, leat_files_count_text(all, count));
    free(list);
}

/* --- as JSON --------------------------------------------------------------------------------------*/

static json_t *decision_json(const leat_decision *d)
{
    json_t *one = json_object();
    leat_json_text(one, "name", d->name);
    leat_json_real(one, "at_s", (double)d->at_ns * 1e-9);
    leat_json_int(one, "batch", d->batch);
    leat_json_add(one, "from", d->from < 0 ? json_null() : json_integer(d->from));
    leat_json_add(one, "to", *d->unit ? json_integer(d->to) : json_null());
    leat_json_text(one, "unit", d->unit);
    leat_json_text(one, "reason", d->reason);
    return one;
}

json_t *leat_explain_budget_json(const leat_budget *budget)
{
    json_t *json = json_object(), *rows = json_array(), *decisions = json_array();
    for (int32_t i = 0; i < budget->n_rows; i++) {
        const leat_budget_row *row = &budget->rows[i];
        json_t *one = json_object();
        leat_json_text(one, "name", row->name);
        leat_json_text(one, "kind", kinds[row->kind]);
        leat_json_int(one, "bytes", row->bytes);
        leat_json_text(one, "text", row->text);
        json_array_append_new(rows, one);
    }
    for (int32_t i = 0; i < budget->n_decisions; i++)
        json_array_append_new(decisions, decision_json(&budget->decisions[i]));
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
    leat_json_add(json, "rows", rows);
    leat_json_add(json, "decisions", decisions);
    return json;
}

json_t *leat_explain_changes_json(leat_loader *loader)
{
    leat_decision *const list = calloc(SHOWN, sizeof *list);
    json_t *json = json_array();
    const size_t n = list ? leat_loader_decisions(loader, list, SHOWN) : 0;
    for (size_t i = 0; i < n && i < SHOWN; i++)
        json_array_append_new(json, decision_json(&list[i]));
    free(list);
    return json;
}
