/* SPDX-License-Identifier: MIT
 *
 * spans.c: reads a trace that `leat train --trace` or `leat bench --trace` wrote, event by event, because it can be
 * hundreds of megabytes. */
#include "chart.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/grow.h"
#include "formats/output_kind.h"
#include "print/fields.h"

static const struct {
    const char *name;
    leat_span_kind kind;
} kinds[] = {
    { "rows", LEAT_SPAN_WORK },         { "batch ops", LEAT_SPAN_WORK },
    { "start reads", LEAT_SPAN_START }, { "start copy", LEAT_SPAN_START },
    { "copy", LEAT_SPAN_COPY },         { "step", LEAT_SPAN_STEP },
    { "next", LEAT_SPAN_NEXT },
};

bool leat_spans_is_trace(const char *bytes, size_t n)
{
    const size_t wanted = strlen(LEAT_OUTPUT_KIND_SPANS);
    return n >= wanted && !memcmp(bytes, LEAT_OUTPUT_KIND_SPANS, wanted);
}

/* The lane of a thread, a new one if it has none; -1: there are too many. */
static int lane_of(leat_spans *s, int64_t thread)
{
    for (int i = s->n_lanes - 1; i >= 0; i--)
        if (s->lanes[i].thread == thread)
            return i;
    if (s->n_lanes == LEAT_SPANS_LANES_MOST)
        return -1;
    s->lanes[s->n_lanes].thread = thread;
    s->lanes[s->n_lanes].reads_since = NAN;
    snprintf(s->lanes[s->n_lanes].name, sizeof s->lanes[0].name, "thread %lld", (long long)thread);
    return s->n_lanes++;
}

static int add(leat_spans *s, leat_span span, leat_error *err)
{
    if (!(span.start_ms >= 0 && span.end_ms >= span.start_ms && span.end_ms < 1e15))
        return LEAT_OK; /* nothing that a picture can show */
    if (s->n == LEAT_SPANS_MOST)
        return leat_fail(err, LEAT_E_DATA,
                         "more than %d spans; write a shorter trace, or set "
                         "engine.spans to keep only the newest",
                         LEAT_SPANS_MOST);
    leat_span *const more = leat_grow(s->spans, s->n, sizeof *more);
    if (!more)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    s->spans = more;
    s->spans[s->n++] = span;
    return LEAT_OK;
}

static void name_lane(leat_spans *s, int lane, const json_t *args)
{
    const char *const name = leat_fields_text(args, "name");
    if (name && strlen(name) < sizeof s->lanes[lane].name)
        strcpy(s->lanes[lane].name, name);
}

/* How many tasks are being read from now on; a span is the time in which that is not 0. */
static int take_reads(leat_spans *s, int lane, double at_ms, const json_t *args, leat_error *err)
{
    const double since = s->lanes[lane].reads_since;
    const bool busy = leat_fields_number(args, "tasks") > 0;
    if (busy != isnan(since))
        return LEAT_OK;
    s->lanes[lane].reads_since = busy ? at_ms : NAN;
    return busy ? LEAT_OK : add(s, (leat_span){ since, at_ms, -1, lane, LEAT_SPAN_READ }, err);
}

static int take_event(leat_spans *s, const json_t *event, leat_error *err)
{
    const char *const phase = leat_fields_text_or(event, "ph", ""), *const name =
                                                                        leat_fields_text_or(
                                                                            event, "name", "");
    const json_t *const args = json_object_get(event, "args"), *const batch =
                                                                   json_object_get(args, "batch");
    const int lane = lane_of(s, json_integer_value(json_object_get(event, "tid")));
    const double at = leat_fields_number(event, "ts") * 1e-3;
    if (lane < 0)
        return LEAT_OK;
    if (!strcmp(phase, "M") && !strcmp(name, "thread_name"))
        name_lane(s, lane, args);
    if (!strcmp(phase, "C") && !strcmp(name, "tasks being read"))
        return take_reads(s, lane, at, args, err);
    for (size_t i = 0; !strcmp(phase, "X") && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(name, kinds[i].name))
            return add(s,
                       (leat_span){ at, at + leat_fields_number(event, "dur") * 1e-3,
                                    json_is_integer(batch) ? json_integer_value(batch) : -1, lane,
                                    (int32_t)kinds[i].kind },
                       err);
    return LEAT_OK;
}

/* The next character that is no space. */
static int next_sign(FILE *file)
{
    int c = getc(file);
    while (c != EOF && isspace(c))
        c = getc(file);
    return c;
}

/* What stands behind the events. Traces of older versions do not have it. */
static void take_rest(leat_spans *s, FILE *file)
{
    static const char key[] = ",\"otherData\":";
    char text[sizeof key];
    json_t *const rest = fgets(text, sizeof text, file) && !strcmp(text, key)
                             ? json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)
                             : NULL;
    s->simulated = leat_fields_true(rest, "simulated");
    json_decref(rest);
}

int leat_spans_read(FILE *file, const char *name, leat_spans *out, leat_error *err)
{
    char head[64];
    const int n = (int)strlen(LEAT_OUTPUT_KIND_SPANS);
    uint64_t n_events = 0;
    json_error_t why;
    int c, rc = LEAT_OK;
    *out = (leat_spans){ 0 };
    if (!fgets(head, n + 1, file) || !leat_spans_is_trace(head, strlen(head)))
        return leat_fail(err, LEAT_E_DATA, "%s: not a trace of `leat train` or `leat bench`", name);
    for (c = next_sign(file); c == '{' && rc == LEAT_OK; n_events++) {
        ungetc(c, file);
        json_t *const event = json_loadf(file, JSON_DISABLE_EOF_CHECK, &why);
        if (!event)
            return leat_fail(err, LEAT_E_DATA, "%s: the trace is damaged or cut at event %llu: %s",
                             name, (unsigned long long)n_events + 1, why.text);
        rc = take_event(out, event, err);
        json_decref(event);
        c = next_sign(file);
        if (c == ',')
            c = next_sign(file);
    }
    if (rc < 0)
        return leat_fail_in(err, rc, "%s: ", name);
    if (c != ']')
        return leat_fail(err, LEAT_E_DATA, "%s: the trace is damaged or cut after event %llu", name,
                         (unsigned long long)n_events);
    take_rest(out, file);
    return LEAT_OK;
}

void leat_spans_close(leat_spans *spans)
{
    free(spans->spans);
    *spans = (leat_spans){ 0 };
}
