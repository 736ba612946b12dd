/* SPDX-License-Identifier: MIT */
#include "page.h"

#include <stdlib.h>
#include <string.h>

#include "chart/svg.h"
#include "fields.h"
#include "leat/error.h"
#include "page_kinds.h"
#include "page_runs.h"
#include "page_style.h"

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

int leat_page_chart(leat_page *page, const leat_chart *chart)
{
    page->n_charts++;
    if (page->wants_pictures && page->n_pictures < LEAT_PAGE_PICTURES_MOST) {
        leat_page_picture *const picture = &page->pictures[page->n_pictures];
        name_picture(page, chart->id, picture->name);
        picture->text = leat_chart_file(chart, &picture->size);
        if (!picture->text)
            return LEAT_E_NOMEM;
        page->n_pictures++;
    }
    return leat_chart_figure(page->out, chart);
}

void leat_page_fact(leat_page *page, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    fprintf(page->out, "<p class=\"fact\"><b>%s</b> ", name);
    leat_svg_escape(page->out, value);
    fputs("</p>\n", page->out);
}

/* --- the page --------------------------------------------------------------------------------------*/

typedef struct answered {
    const leat_page_kind *kind; /* NULL: the input has no answer */
    leat_answer answer;
    char title[200];
} answered;

/* The input that the page begins with: the first one of the kind that is earliest in the list of kinds; -1: none. */
static int choose_head(const answered *all, int n)
{
    int head = -1;
    for (int i = 0; i < n; i++)
        if (all[i].kind && (head < 0 || all[i].kind < all[head].kind))
            head = i;
    return head;
}

bool leat_page_answer(const leat_input *input, leat_answer *out)
{
    *out = (leat_answer){ 0 };
    if (input->kind != LEAT_INPUT_JSON)
        return false;
    leat_page_kind_of(input->json)->answer(input->json, out);
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
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>",
          out);
    leat_svg_escape(out, title);
    fputs("</title>\n<style>\n", out);
    fputs(leat_page_style, out);
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
            fprintf(out, "<li><a href=\"#s%d\">", i);
            leat_svg_escape(out, inputs[i].title);
            fprintf(out, "</a> <span class=\"soft\">%s</span> ", all[i].kind->command);
            leat_svg_escape(out, all[i].answer.verdict);
            if (all[i].answer.n_facts > 0) {
                fputs(" <span class=\"soft\">· ", out);
                leat_svg_escape(out, all[i].answer.facts[0].name);
                fputs(" ", out);
                leat_svg_escape(out, all[i].answer.facts[0].value);
                fputs("</span>", out);
            }
            fputs("</li>\n", out);
        }
    if (n_traces)
        fputs("<li><a href=\"#traces\">Timeline</a></li>\n", out);
    if (n_logs)
        fputs("<li><a href=\"#logs\">Learning curves</a></li>\n", out);
    fputs("</ul>\n</nav>\n", out);
}

static int put_section(leat_page *page, const leat_input *input, const answered *a, int i,
                       bool head)
{
    fprintf(page->out, "<section id=\"s%d\">\n", i);
    if (head)
        fputs("<h2>What was measured</h2>\n", page->out);
    else
        leat_answer_put(page->out, &a->answer, a->title, false);
    leat_page_fact(page, "File", input->name);
    const int rc = a->kind->section(page, input->json);
    fputs("</section>\n", page->out);
    return rc;
}

static int put_sections(leat_page *page, const leat_input *inputs, int n, const answered *all,
                        int head)
{
    int rc = head >= 0 ? put_section(page, &inputs[head], &all[head], head, true) : LEAT_OK;
    if (rc == LEAT_OK)
        rc = leat_page_traces(page, inputs, n);
    for (int i = 0; i < n && rc == LEAT_OK; i++)
        if (all[i].kind && i != head)
            rc = put_section(page, &inputs[i], &all[i], i, false);
    return rc == LEAT_OK ? leat_page_logs(page, inputs, n) : rc;
}

static int write_page(leat_page *page, const leat_input *inputs, int n, answered *all)
{
    int n_answers = 0, n_logs = 0, n_traces = 0;
    make_answers(inputs, n, all);
    for (int i = 0; i < n; i++) {
        n_answers += all[i].kind != NULL;
        n_logs += inputs[i].kind == LEAT_INPUT_LOG;
        n_traces += inputs[i].kind == LEAT_INPUT_TRACE;
    }
    int head = choose_head(all, n);
    for (int i = 0; head >= 0 && i < n; i++)
        if (i != head && all[i].kind == all[head].kind &&
            !strcmp(all[i].kind->command, "experiment")) {
            head = -1; /* none of them stands for all */
            break;
        }
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
    const int rc = put_sections(page, inputs, n, all, head);
    fprintf(
        page->out,
        "<footer><p>Made by <code>leat report</code>, leat %s. Intervals are bootstrap 95&#160;%% "
        "intervals.</p></footer>\n</main>\n</body>\n</html>\n",
        leat_version());
    return rc;
}

char *leat_page_write(leat_page *page, const leat_input *inputs, int n, size_t *size)
{
    char *text = NULL;
    answered *const all = calloc((size_t)n + 1, sizeof *all);
    page->out = all ? open_memstream(&text, size) : NULL;
    const int rc = page->out ? write_page(page, inputs, n, all) : LEAT_E_NOMEM;
    free(all);
    if ((page->out && fclose(page->out) != 0) || rc < 0) {
        free(text);
        text = NULL;
    }
    page->out = NULL;
    return text;
}

void leat_page_close(leat_page *page)
{
    for (int i = 0; i < page->n_pictures; i++)
        free(page->pictures[i].text);
    *page = (leat_page){ 0 };
}
