/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include <math.h>

enum { LANE = 24, BAR = 18, HEAD = 26, GAP = 14, STEPS = 7, WORKERS_MOST = 12 };

/* The kinds of spans that are drawn, in the order of their names above the picture. */
static const int32_t drawn[] = { LEAT_SPAN_WORK, LEAT_SPAN_START, LEAT_SPAN_READ, LEAT_SPAN_COPY,
                                 LEAT_SPAN_STEP };
enum { N_DRAWN = sizeof drawn / sizeof *drawn };

/* By kind; LEAT_SPAN_NEXT has none. */
static const leat_chart_key keys[] = {
    [LEAT_SPAN_WORK] = { "samples are made", "input_wait", 0, NULL },
    [LEAT_SPAN_START] = { "reads and copies are started", "launch", 0, NULL },
    [LEAT_SPAN_READ] = { "reads in flight", "both", 0, NULL },
    [LEAT_SPAN_COPY] = { "a batch is copied", "exposed_copy", 0, NULL },
    [LEAT_SPAN_STEP] = { "training step", "busy", 0, NULL },
};

/* --- the window ------------------------------------------------------------------------------------*/

typedef struct steps {
    double first, last, middle; /* of all; the first start of those that count */
    size_t n;
    double busy; /* ms, of those that count */
} steps;

/* Steps of a trace, or what the consumer asked for where it has no steps. */
static steps steps_of(const leat_spans *s, int32_t kind)
{
    steps all = { .first = INFINITY, .last = -INFINITY, .middle = INFINITY };
    for (size_t i = 0; i < s->n; i++)
        if (s->spans[i].kind == kind) {
            all.first = fmin(all.first, s->spans[i].start_ms);
            all.last = fmax(all.last, s->spans[i].end_ms);
            all.n++;
        }
    /* The first half of a run may not be steady; a short trace was cut out of a longer one. */
    const double from = all.n < 3 * STEPS ? all.first : (all.first + all.last) / 2;
    for (size_t i = 0; i < s->n; i++)
        if (s->spans[i].kind == kind && s->spans[i].start_ms >= from) {
            all.middle = fmin(all.middle, s->spans[i].start_ms);
            all.busy += s->spans[i].end_ms - s->spans[i].start_ms;
        }
    return all;
}

static steps steps_or_batches(const leat_spans *s)
{
    const steps found = steps_of(s, LEAT_SPAN_STEP);
    return found.n > 1 ? found : steps_of(s, LEAT_SPAN_NEXT);
}

int leat_timeline_add(leat_timeline *t, const char *name, const leat_spans *spans)
{
    const steps all = steps_or_batches(spans);
    if (t->n == LEAT_TIMELINE_MOST || all.n < 2 || !(all.last > all.first))
        return 0;
    t->runs[t->n].name = name;
    t->runs[t->n++].spans = spans;
    return 1;
}

/* Share of a window in which the device computed. */
static double busy_in(const leat_spans *s, double first, double last)
{
    double busy = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->spans[i].kind == LEAT_SPAN_STEP)
            busy += fmax(0, fmin(s->spans[i].end_ms, last) - fmax(s->spans[i].start_ms, first));
    return busy / (last - first);
}

/* A window of the second half that begins with a step and in which the device is as busy as in all of that half. */
static void choose_window(struct leat_timeline_run *run, double window)
{
    enum { TRIES = 24 };
    const leat_spans *const s = run->spans;
    const steps all = steps_of(s, LEAT_SPAN_STEP);
    double best = INFINITY;
    size_t tried = 0, i = 0;
    run->busy = NAN;
    run->first_ms = fmax(0, steps_or_batches(s).middle);
    if (all.n < 2)
        return;
    run->busy = all.last > all.middle ? fmin(all.busy / (all.last - all.middle), 1) : NAN;
    for (; i < s->n && tried < TRIES; i++) {
        const double at = s->spans[i].start_ms;
        if (s->spans[i].kind != LEAT_SPAN_STEP || at < all.middle || at + window > all.last)
            continue;
        const double off = fabs(busy_in(s, at, at + window) - run->busy);
        tried++;
        if (off < best) {
            best = off;
            run->first_ms = at;
        }
    }
}

void leat_timeline_choose(leat_timeline *t)
{
    for (int i = 0; i < t->n; i++) {
        const steps all = steps_or_batches(t->runs[i].spans);
        const double window = (all.last - all.first) / (double)all.n * STEPS;
        t->window_ms = fmax(t->window_ms, fmin(window, all.last - all.first));
    }
    for (int i = 0; i < t->n; i++)
        choose_window(&t->runs[i], t->window_ms);
}

/* --- drawing ---------------------------------------------------------------------------------------*/

enum { BOXES_MOST = 1500 };

/* Spans of one batch and kind that are closer together than a picture can show become one box. */
typedef struct box {
    double start, end; /* ms from the start of the window */
    int64_t batch;
    int32_t kind;
} box;

static int boxes_of(const leat_timeline *t, const struct leat_timeline_run *run, int lane,
                    box boxes[BOXES_MOST])
{
    const double first = run->first_ms, near = t->window_ms / 1200;
    int n = 0;
    for (size_t i = 0; i < run->spans->n; i++) {
        const leat_span *const s = &run->spans->spans[i];
        const double start = fmax(s->start_ms - first, 0),
                     end = fmin(s->end_ms - first, t->window_ms);
        if (s->lane != lane || end <= 0 || start >= t->window_ms || s->kind == LEAT_SPAN_NEXT)
            continue;
        if (n > 0 && boxes[n - 1].kind == s->kind && boxes[n - 1].batch == s->batch &&
            start - boxes[n - 1].end < near)
            boxes[n - 1].end = fmax(boxes[n - 1].end, end);
        else if (n < BOXES_MOST)
            boxes[n++] = (box){ start, end, s->batch, s->kind };
    }
    return n;
}

static void put_box(FILE *out, const box *b, const leat_axis *x, double y)
{
    char kind[64], text[32];
    const double left = leat_axis_place(x, b->start);
    const double width = fmax(leat_axis_place(x, b->end) - left, 0.7);
    snprintf(kind, sizeof kind, "mark %s%s", keys[b->kind].kind, b->batch & 1 ? " odd" : "");
    leat_svg_rect(out, left, y, width, BAR, kind);
    snprintf(text, sizeof text, "%lld", (long long)b->batch);
    if (b->kind == LEAT_SPAN_STEP && width > leat_svg_width(text) + 8)
        leat_svg_text(out, left + width / 2, y + 13.5, "on small", "middle", text);
}

static void put_head(FILE *out, const struct leat_timeline_run *run, double width, double y)
{
    char text[300];
    leat_svg_name(out, 0, y + 14, "strong", "start", width - 220, run->name);
    if (isnan(run->busy))
        return;
    snprintf(text, sizeof text, "%sdevice busy %s", run->spans->simulated ? "simulated; " : "",
             leat_figure_percent(run->busy).text);
    leat_svg_text(out, width, y + 14, "strong", "end", text);
}

/* Lanes of a trace below its name: some of the workers, and all others. Returns where they end. */
static double put_run(FILE *out, const leat_timeline *t, const struct leat_timeline_run *run,
                      const leat_axis *x, double y)
{
    box boxes[BOXES_MOST];
    char text[100];
    int n_workers = 0;
    put_head(out, run, x->at + x->length, y);
    y += HEAD;
    for (int lane = 0; lane < run->spans->n_lanes; lane++) {
        const int n = boxes_of(t, run, lane, boxes);
        const bool works =
            n > 0 && (boxes[0].kind == LEAT_SPAN_WORK || boxes[0].kind == LEAT_SPAN_START);
        if (n == 0 || (works && n_workers++ >= WORKERS_MOST))
            continue;
        leat_svg_name(out, 0, y + 13.5, "", "start", x->at - 2, run->spans->lanes[lane].name);
        leat_svg_rect(out, x->at, y, x->length, BAR, "track");
        for (int i = 0; i < n; i++)
            put_box(out, &boxes[i], x, y);
        y += LANE;
    }
    if (n_workers > WORKERS_MOST) {
        snprintf(text, sizeof text, "%d of %d threads that make samples are drawn", WORKERS_MOST,
                 n_workers);
        leat_svg_text(out, x->at, y + 13.5, "small", "start", text);
        y += LANE;
    }
    return y + GAP;
}

/* The keys of what is drawn. */
static int used_keys(const leat_timeline *t, leat_chart_key *used)
{
    box boxes[BOXES_MOST];
    bool seen[sizeof keys / sizeof *keys] = { false };
    int n_used = 0;
    for (int i = 0; i < t->n; i++)
        for (int lane = 0; lane < t->runs[i].spans->n_lanes; lane++)
            for (int b = boxes_of(t, &t->runs[i], lane, boxes) - 1; b >= 0; b--)
                seen[boxes[b].kind] = true;
    for (int k = 0; k < N_DRAWN; k++)
        if (seen[drawn[k]])
            used[n_used++] = keys[drawn[k]];
    return n_used;
}

static double draw(FILE *out, const void *data, double width)
{
    const leat_timeline *const t = data;
    leat_chart_key used[N_DRAWN];
    const int n_used = used_keys(t, used);
    const double at = width > 500 ? 92 : 80;
    const leat_axis x =
        leat_axis_linear(0, t->window_ms, false, at, width - at, width > 500 ? 8 : 4);
    double y = leat_chart_keys(out, used, n_used, width) + 6;
    for (int i = 0; i < t->n; i++)
        y = put_run(out, t, &t->runs[i], &x, y);
    leat_chart_axis(out, &x, y - GAP, y - GAP, "milliseconds");
    return y - GAP + LEAT_CHART_AXIS;
}

/* --- the table -------------------------------------------------------------------------------------*/

/* Of each lane and kind: how long, and how often. All spans would be too many to read. */
static void put_lane(leat_chart_table *table, const leat_timeline *t,
                     const struct leat_timeline_run *run, int lane)
{
    box boxes[BOXES_MOST];
    const int n = boxes_of(t, run, lane, boxes);
    for (int k = 0; k < N_DRAWN; k++) {
        double ms = 0;
        int64_t low = INT64_MAX, high = -1;
        for (int i = 0; i < n; i++)
            if (boxes[i].kind == drawn[k]) {
                ms += boxes[i].end - boxes[i].start;
                low = boxes[i].batch < low ? boxes[i].batch : low;
                high = boxes[i].batch > high ? boxes[i].batch : high;
            }
        if (low > high && ms == 0)
            continue;
        char text[64] = "–";
        if (high >= 0)
            snprintf(text, sizeof text, "%lld–%lld", (long long)low, (long long)high);
        leat_chart_cell_text(table, run->name);
        leat_chart_cell_text(table, run->spans->lanes[lane].name);
        leat_chart_cell_text(table, keys[drawn[k]].name);
        leat_chart_cell_text(table, text);
        leat_chart_cell_number(table, ms);
        leat_chart_cell_percent(table, ms / t->window_ms);
    }
}

static void put_table(FILE *out, const void *data)
{
    static const char *const heads[] = { "trace",   "row", "what",
                                         "batches", "ms",  "share of the window",
                                         NULL };
    const leat_timeline *const t = data;
    leat_chart_table table = leat_chart_table_open(out, heads);
    for (int i = 0; i < t->n; i++)
        for (int lane = 0; lane < t->runs[i].spans->n_lanes; lane++)
            put_lane(&table, t, &t->runs[i], lane);
    leat_chart_table_close(&table);
}

leat_chart leat_chart_timeline(const leat_timeline *data)
{
    return (leat_chart){
        .id = "timeline",
        .title = "What workers, copies and the device do",
        .about = "A few typical steps. Numbers are batches; even and odd ones differ in shade. "
                 "Where the row of the device is empty, it is idle.",
        .data = data,
        .draw = draw,
        .table = put_table,
    };
}
