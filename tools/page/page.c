/* SPDX-License-Identifier: MIT */
#include "page.h"

#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "formats/grow.h"

/* Of the page around the charts. It has no '<' and no '&', so that a page is XML, too. */
static const char style[] =
    ":root{color-scheme:light dark;--page:#fcfcfb;--card:#f4f3ef;--ink:#141413;--soft:#55544f;"
    "--rule:#e2e1dc;--link:#1f62b4;--good:#177466;--warn:#8a5a00;--bad:#b3261e;--open:#6b6a64}\n"
    "@media (prefers-color-scheme:dark){:root{--page:#1a1a19;--card:#242422;--ink:#f5f4ef;"
    "--soft:#c3c2b7;--rule:#3a3a37;--link:#8fc1ff;--good:#2fbf9f;--warn:#f2cb4f;--bad:#ff8f85;"
    "--open:#a3a29a}}\n"
    "*{box-sizing:border-box}\n"
    "html{-webkit-text-size-adjust:100%}\n"
    "body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"
    "'Segoe UI','DejaVu Sans',sans-serif;overflow-wrap:anywhere}\n"
    "main{max-width:768px;margin:0 auto;padding:40px 24px 64px}\n"
    "h1{font-size:34px;line-height:1.15;letter-spacing:-.015em;margin:4px 0 12px;"
    "text-wrap:balance}\n"
    "h2{font-size:22px;line-height:1.25;letter-spacing:-.01em;margin:40px 0 10px}\n"
    "h3{font-size:17px;line-height:1.3;margin:0}\n"
    "p{margin:0 0 10px;max-width:68ch}\n"
    "a{color:var(--link)}\n"
    "code,pre{font:14px/1.5 ui-monospace,'SF Mono','DejaVu Sans Mono',Menlo,monospace}\n"
    "pre{margin:8px 0 0;padding:8px 12px;background:var(--page);border:1px solid var(--rule);"
    "border-radius:6px;white-space:pre-wrap}\n"
    ".answer{border-left:5px solid var(--open);padding-left:20px}\n"
    ".answer.good{border-color:var(--good)}.answer.warn{border-color:var(--warn)}"
    ".answer.bad{border-color:var(--bad)}.answer.plain{border-color:var(--rule)}\n"
    ".answer h2{margin-top:24px}.answer>.from+h2{margin-top:2px}\n"
    ".from{color:var(--soft);font-size:14px;margin:0}\n"
    ".mock{border:1px solid var(--soft);border-radius:99px;padding:1px 8px;font-size:12px;"
    "white-space:nowrap}\n"
    ".lead{font-size:18px}\n"
    ".facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;"
    "margin:18px 0 0}\n"
    ".facts div{max-width:340px;background:var(--card);border-radius:8px;padding:10px 14px}\n"
    ".facts dt{font-size:13px;color:var(--soft)}.facts dd{margin:0;font-size:13px;"
    "color:var(--soft);line-height:1.4}\n"
    ".facts dd.value{font-size:24px;line-height:1.3;font-weight:600;color:var(--ink);"
    "letter-spacing:-.01em;font-variant-numeric:tabular-nums}\n"
    ".changes{margin:0;padding:0;list-style:none;counter-reset:n}\n"
    ".changes li{counter-increment:n;position:relative;background:var(--card);border-radius:8px;"
    "padding:12px 16px 14px 48px;margin:0 0 10px}\n"
    ".changes li::before{content:counter(n);position:absolute;left:16px;top:12px;font-weight:600;"
    "color:var(--soft)}\n"
    ".changes p{margin:2px 0 0;color:var(--soft);font-size:15px}\n"
    ".gain{display:block;font-size:15px;color:var(--good);font-weight:600}.gain.off{color:var(--"
    "warn)}\n"
    "nav{margin-top:40px;border-top:1px solid var(--rule)}nav h2{margin-top:16px;font-size:17px}\n"
    "nav ul{margin:0;padding-left:20px}\n"
    "section{border-top:1px solid var(--rule);margin-top:48px;padding-top:24px}"
    "section>h2:first-child{margin-top:0}.answer+.fact{margin-top:14px}.soft{color:var(--soft)}\n"
    ".fact+h3{margin-top:22px}section>ul{margin:6px 0 0;padding-left:20px}\n"
    ".fact{margin:0;font-size:14px;color:var(--soft)}.fact b{color:var(--ink);font-weight:600}\n"
    "figure{margin:36px 0 0}figcaption{margin-bottom:14px}"
    "figcaption p{margin:3px 0 0;color:var(--soft);font-size:15px;line-height:1.45}\n"
    "svg.chart{display:block;width:100%;height:auto}svg.phone{display:none}\n"
    "details{margin-top:8px;font-size:14px}summary{cursor:pointer;color:var(--soft)}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;margin:8px 0;font-size:13px;"
    "line-height:1.35;overflow-wrap:normal}\n"
    "th{text-align:left;vertical-align:bottom;font-weight:600}"
    "th,td{padding:4px 14px 4px 0;border-bottom:1px solid var(--rule)}\n"
    "td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    ".findings{list-style:none;margin:0;padding:0}.findings li{padding:8px 0 8px 30px;"
    "border-bottom:1px solid var(--rule);position:relative}\n"
    ".findings b{position:absolute;left:2px}.findings .yes b{color:var(--good)}"
    ".findings .no b{color:var(--bad)}.findings .open b{color:var(--open)}\n"
    ".small{font-size:13px;color:var(--soft)}\n"
    "footer{margin-top:56px;border-top:1px solid var(--rule);padding-top:14px;font-size:13px;"
    "color:var(--soft)}\n"
    "@media (max-width:600px){main{padding:20px 16px 48px}h1{font-size:27px}"
    ".answer{padding-left:14px}.lead{font-size:17px}svg.big{display:none}svg.phone{display:block;"
    "max-width:440px}"
    ".facts{grid-template-columns:1fr 1fr;gap:8px}.facts div{padding:8px 12px}"
    ".facts dd.value{font-size:20px}.changes li{padding-left:38px}"
    ".changes li::before{left:14px}}\n"
    "@media print{details{display:none}section,figure{break-inside:avoid}}\n";

/* --- for page_*.c ----------------------------------------------------------------------------------*/

/* "waterfall", and from the second one on "waterfall-2". */
static void name_picture(const leat_page *page, const char *id, char name[40])
{
    int n = 1;
    const size_t length = strlen(id);
    for (int i = 0; i < page->n_pictures; i++)
        n += !strncmp(page->pictures[i].name, id, length) &&
             (!page->pictures[i].name[length] || page->pictures[i].name[length] == '-');
    if (n == 1)
        snprintf(name, 40, "%.24s", id);
    else
        snprintf(name, 40, "%.24s-%d", id, n);
}

/* False: out of memory. */
static bool keep_picture(leat_page *page, const leat_chart *chart)
{
    leat_page_picture *const more =
        leat_grow(page->pictures, (size_t)page->n_pictures, sizeof *more);
    if (!more)
        return false;
    page->pictures = more;
    leat_page_picture *const picture = &more[page->n_pictures];
    name_picture(page, chart->id, picture->name);
    picture->text = leat_chart_file(chart, 1, &picture->size);
    page->n_pictures += picture->text != NULL;
    return picture->text != NULL;
}

void leat_page_chart(leat_page *page, leat_chart chart, int n)
{
    if (!n)
        return;
    page->n_charts++;
    page->failed |= page->wants_pictures && !keep_picture(page, &chart);
    page->failed |= leat_chart_figure(page->out, &chart) < 0;
}

void leat_page_fact(leat_page *page, const char *name, const char *value)
{
    if (value && *value)
        leat_svg_put(page->out, "<p class=\"fact\"><b>%s</b> %s</p>\n", name, value);
}

/* --- the page --------------------------------------------------------------------------------------*/

typedef struct answered {
    const leat_page_kind *kind; /* NULL: the input has no answer */
    leat_answer answer;
    char title[200];
} answered;

/* The input that the page begins with: the first one of the kind that is earliest in the list of kinds; -1: none, or
 * several experiments, of which none stands for all. */
static int choose_head(const answered *all, int n)
{
    int head = -1;
    for (int i = 0; i < n; i++)
        if (all[i].kind && (head < 0 || all[i].kind < all[head].kind))
            head = i;
    for (int i = head + 1; head >= 0 && i < n; i++)
        if (all[i].kind == all[head].kind && !strcmp(all[head].kind->command, "experiment"))
            return -1;
    return head;
}

bool leat_page_answer(const leat_input *input, leat_answer *out)
{
    const json_t *const json = input->json;
    *out = (leat_answer){ 0 };
    if (input->kind != LEAT_INPUT_JSON)
        return false;
    out->config = leat_fields_text(json, "config");
    out->device = leat_fields_text(json, "device");
    out->simulated = leat_fields_true(json, "simulated");
    out->sentence = leat_fields_text(json, "sentence");
    leat_page_kind_of(json)->answer(json, out);
    return true;
}

static void make_answers(const leat_input *inputs, int n, answered *all)
{
    for (int i = 0; i < n; i++) {
        char name[100];
        if (!leat_page_answer(&inputs[i], &all[i].answer))
            continue;
        all[i].kind = leat_page_kind_of(inputs[i].json);
        leat_svg_fit(all[i].answer.config ? all[i].answer.config : inputs[i].title, 90 * 7, name,
                     sizeof name);
        snprintf(all[i].title, sizeof all[i].title, "leat %s · %s", all[i].kind->command, name);
    }
}

static void put_head(FILE *out, const char *title)
{
    leat_svg_put(out,
                 LEAT_PAGE_BEGINS
                 "\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                 "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>%s</title>\n"
                 "<style>\n",
                 title);
    fputs(style, out);
    leat_chart_style(out);
    fputs("</style>\n</head>\n<body>\n<main>\n", out);
}

/* Links to the sections, with what each says. */
static void put_contents(FILE *out, const leat_input *inputs, const answered *all, int n,
                         int n_logs, int n_traces)
{
    fputs("<nav>\n<h2>In this report</h2>\n<ul>\n", out);
    for (int i = 0; i < n; i++)
        if (all[i].kind) {
            leat_svg_put(out, "<li><a href=\"#s%d\">%s</a> <span class=\"soft\">%s</span> %s", i,
                         inputs[i].title, all[i].kind->command, all[i].answer.verdict);
            if (all[i].answer.n_facts > 0)
                leat_svg_put(out, " <span class=\"soft\">· %s %s</span>",
                             all[i].answer.facts[0].name, all[i].answer.facts[0].value);
            fputs("</li>\n", out);
        }
    if (n_traces)
        fputs("<li><a href=\"#traces\">Timeline</a></li>\n", out);
    if (n_logs)
        fputs("<li><a href=\"#logs\">Learning curves</a></li>\n", out);
    fputs("</ul>\n</nav>\n", out);
}

static void put_section(leat_page *page, const leat_input *input, const answered *a, int i,
                        bool head)
{
    fprintf(page->out, "<section id=\"s%d\">\n", i);
    if (head)
        fputs("<h2>What was measured</h2>\n", page->out);
    else
        leat_answer_put(page->out, &a->answer, a->title, false);
    leat_page_fact(page, "File", input->name);
    a->kind->section(page, input->json);
    fputs("</section>\n", page->out);
}

static void put_sections(leat_page *page, const leat_input *inputs, int n, const answered *all,
                         int head)
{
    if (head >= 0)
        put_section(page, &inputs[head], &all[head], head, true);
    leat_page_traces(page, inputs, n);
    for (int i = 0; i < n; i++)
        if (all[i].kind && i != head)
            put_section(page, &inputs[i], &all[i], i, false);
    leat_page_logs(page, inputs, n);
}

static void write_page(leat_page *page, const leat_input *inputs, int n, answered *all)
{
    int n_answers = 0, n_logs = 0, n_traces = 0;
    make_answers(inputs, n, all);
    for (int i = 0; i < n; i++) {
        n_answers += all[i].kind != NULL;
        n_logs += inputs[i].kind == LEAT_INPUT_LOG;
        n_traces += inputs[i].kind == LEAT_INPUT_TRACE;
    }
    const int head = choose_head(all, n);
    put_head(page->out, head >= 0 ? all[head].answer.verdict : "Report of leat");
    if (head >= 0)
        leat_answer_put(page->out, &all[head].answer, all[head].title, true);
    else
        fprintf(page->out, "<h1>%s</h1>\n",
                n_answers ? "Experiments"
                : n_logs  ? "Training runs"
                          : "Timeline of a run");
    if (n_answers + (n_logs > 0) + (n_traces > 0) > 1)
        put_contents(page->out, inputs, all, n, n_logs, n_traces);
    put_sections(page, inputs, n, all, head);
    fprintf(
        page->out,
        "<footer><p>Made by <code>leat report</code>, leat %s. Intervals are bootstrap 95&#160;%% "
        "intervals.</p></footer>\n</main>\n</body>\n</html>\n",
        leat_version());
}

char *leat_page_write(leat_page *page, const leat_input *inputs, int n, size_t *size)
{
    char *text = NULL;
    answered *const all = calloc((size_t)n + 1, sizeof *all);
    page->out = all ? open_memstream(&text, size) : NULL;
    if (page->out)
        write_page(page, inputs, n, all);
    free(all);
    leat_files_close_text(page->out, &text);
    page->out = NULL;
    if (page->failed) {
        free(text);
        text = NULL;
    }
    return text;
}

void leat_page_close(leat_page *page)
{
    for (int i = 0; i < page->n_pictures; i++)
        free(page->pictures[i].text);
    free(page->pictures);
    *page = (leat_page){ 0 };
}

void leat_page_lines(leat_page *page, leat_lines *lines)
{
    int n_points = 0;
    for (int i = 0; i < lines->n; i++)
        n_points += lines->lines[i].fit ? 0 : lines->lines[i].n;
    page->failed |= lines->failed;
    if (!lines->failed)
        leat_page_chart(page, leat_chart_lines(lines), n_points);
    leat_lines_close(lines);
}

/* --- kinds of JSON -------------------------------------------------------------------------------*/

static const leat_page_kind kinds[] = {
#define LEAT_PAGE_KIND_ROW(name, needs, may_be_empty)                                              \
    { #name, needs, may_be_empty, leat_page_##name##_answer, leat_page_##name##_section },
    LEAT_PAGE_KIND_LIST(LEAT_PAGE_KIND_ROW)
#undef LEAT_PAGE_KIND_ROW
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

const leat_page_kind *leat_page_kind_of(const json_t *json)
{
    const char *const command = leat_fields_text_or(json, "command", "");
    for (int i = 0; i < N_KINDS; i++)
        if (!strcmp(kinds[i].command, command))
            return &kinds[i];
    return NULL;
}

const char *leat_page_kind_list(char *text, size_t size)
{
    *text = 0;
    for (int i = 0; i < N_KINDS; i++)
        leat_files_append(text, size, "%s%s", i ? ", " : "", kinds[i].command);
    return text;
}
