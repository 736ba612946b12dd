/* SPDX-License-Identifier: MIT */
#include "explain.h"

#include <stdlib.h>
#include <string.h>

#include "files.h"

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
    snprintf(text, 64, "%lld %.*s", (long long)value, (int)(n - ending), unit);
    return text;
}

void leat_explain_budget(const leat_budget *budget)
{
    char text[64], other[64];
    printf("memory: %s of %s (%s); the least that works is %lld bytes\n",
           leat_files_bytes_text((double)budget->total_bytes, text),
           leat_files_bytes_text((double)budget->limit_bytes, other), budget->limit_reason,
           (long long)budget->least_bytes);
    for (int32_t i = 0; i < budget->n_rows; i++) {
        const leat_budget_row *row = &budget->rows[i];
        printf("  %-16s %12s  %-7s %s\n", row->name,
               leat_files_bytes_text((double)row->bytes, text), kinds[row->kind], row->text);
    }
    printf("\ndecisions:\n");
    for (int32_t i = 0; i < budget->n_decisions; i++) {
        const leat_decision *one = &budget->decisions[i];
        printf("  %-16s %12s  %s\n", one->name,
               *one->unit ? value_text(one->to, one->unit, text) : "", one->reason);
    }
}

enum { SHOWN = 128 };

void leat_explain_changes(leat_loader *loader)
{
    leat_decision *const list = calloc(SHOWN, sizeof *list);
    char from[64], to[64];
    const size_t n = list ? leat_loader_decisions(loader, list, SHOWN) : 0;
    if (n == 0)
        printf("changed while running: nothing\n");
    else
        printf("changed while running, %zu time%s%s:\n", n, n == 1 ? "" : "s",
               n > SHOWN ? " (the last of them)" : "");
    for (size_t i = 0; i < n && i < SHOWN; i++)
        printf("  %8.1f ms, batch %-6lld %-10s %s to %s: %s\n", (double)list[i].at_ns * 1e-6,
               (long long)list[i].batch, list[i].name, value_text(list[i].from, list[i].unit, from),
               value_text(list[i].to, list[i].unit, to), list[i].reason);
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
