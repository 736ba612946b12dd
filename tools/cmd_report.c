/* SPDX-License-Identifier: MIT
 *
 * leat report: one page of what other commands measured. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "files.h"
#include "formats/figure.h"
#include "page/page.h"
#include "print/json.h"
#include "print/terminal.h"
#include "signals.h"

struct report_options {
    const char *output, *svg, *json;
};

static const leat_option options[] = {
    LEAT_OPTION_STRING(struct report_options, output, NULL, "the page to write (HTML)"),
    LEAT_OPTION_STRING(struct report_options, svg, NULL,
                       "write each chart as a picture (SVG) into this folder, too"),
    LEAT_ROW_JSON(struct report_options), LEAT_OPTION_END
};

typedef struct report {
    const struct report_options *o;
    leat_input inputs[LEAT_PAGE_INPUTS_MOST];
    int n;
    leat_page page;
} report;

static int check_options(const struct report_options *o, leat_error *err)
{
    static const leat_output_kind page = { "a report of leat (HTML)", LEAT_PAGE_BEGINS, 0 };
    if ((!o->output || !*o->output) && (!o->svg || !*o->svg))
        return leat_fail(err, LEAT_E_ARGUMENT, "needs -o FILE.html, or --svg FOLDER");
    return o->output ? leat_files_check(o->output, &page, err) : LEAT_OK;
}

/* Whether what is there is of this command, of any version, or empty or no file. */
static bool may_replace(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return leat_format_is_absent(errno);
    if (!S_ISREG(status.st_mode) || status.st_size == 0)
        return true;
    json_t *const old = json_load_file(path, 0, NULL);
    const char *const command = json_string_value(json_object_get(old, "command"));
    const bool may = json_object_get(old, "leat") && command && !strcmp(command, "report");
    json_decref(old);
    return may;
}

/* --json over what another command measured would lose it: both are JSON of leat, and `--json a.json b.json` takes the
 * first as a file to write. */
static int check_json(const char *path, leat_error *err)
{
    if (path && !leat_json_to_stdout(path) && !may_replace(path))
        return leat_fail(
            err, LEAT_E_ARGUMENT,
            "--json: %s is no result of `leat report` and would be overwritten: choose "
            "another name, or `--json -`",
            path);
    return leat_json_check(path, err);
}

static int read_inputs(report *r, const leat_call *call, leat_error *err)
{
    for (int i = 0; i < call->n_arguments; i++) {
        const int rc = leat_input_read(call->arguments[i], &r->inputs[r->n++], err);
        if (rc < 0)
            return rc;
    }
    return LEAT_OK;
}

static int write_picture(const char *folder, const leat_page_picture *picture, leat_error *err)
{
    char *const path = leat_files_text("%s/%s.svg", folder, picture->name);
    int rc = path ? leat_files_check(path, &leat_files_svg, err)
                  : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    if (rc == LEAT_OK)
        rc = leat_files_write(path, picture->text, picture->size, err);
    free(path);
    return rc;
}

static int write_report(report *r, leat_error *err)
{
    size_t size;
    int rc = LEAT_OK;
    r->page.wants_pictures = r->o->svg != NULL;
    char *const text = leat_page_write(&r->page, r->inputs, r->n, &size);
    if (!text)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    if (r->page.n_charts == 0 && !(r->page.says_enough && r->o->output))
        rc = leat_fail(err, LEAT_E_DATA, "%s: no numbers in it that can be drawn",
                       r->inputs[0].name);
    if (rc == LEAT_OK && r->o->output)
        rc = leat_files_write(r->o->output, text, size, err);
    for (int i = 0; i < r->page.n_pictures && rc == LEAT_OK; i++)
        rc = write_picture(r->o->svg, &r->page.pictures[i], err);
    free(text);
    return rc;
}

static int write_json(const report *r, leat_error *err)
{
    json_t *const json = leat_json_open("report");
    leat_json_text(json, "output", r->o->output ? r->o->output : r->o->svg);
    leat_json_int(json, "charts", r->page.n_charts);
    json_t *const answers = leat_json_list(json, "answers");
    for (int i = 0; i < r->n; i++) {
        leat_answer answer;
        if (!leat_page_answer(&r->inputs[i], &answer))
            continue;
        json_t *const one = leat_json_row(answers);
        leat_json_text(one, "file", r->inputs[i].name);
        leat_json_text(one, "verdict", answer.verdict);
    }
    json_t *const pictures = leat_json_list(json, "pictures");
    for (int i = 0; i < r->page.n_pictures; i++)
        leat_json_append(pictures, r->page.pictures[i].name);
    return leat_json_write(json, r->o->json, err);
}

static void print_result(const report *r)
{
    struct stat file;
    if (r->o->output && stat(r->o->output, &file) == 0)
        printf("%s: %d chart%s, %s; open it in a browser\n", leat_terminal_name(r->o->output),
               r->page.n_charts, r->page.n_charts == 1 ? "" : "s",
               leat_figure_bytes((double)file.st_size).text);
    for (int i = 0; i < r->page.n_pictures; i++)
        printf("%s/%s.svg\n", leat_terminal_name(r->o->svg), r->page.pictures[i].name);
}

static int run(const leat_call *call, leat_error *err)
{
    report *const r = calloc(1, sizeof *r);
    leat_signals_stop_at_once("report");
    if (!r)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    r->o = call->options;
    int rc = check_options(r->o, err);
    if (rc == LEAT_OK)
        rc = check_json(r->o->json, err);
    if (rc == LEAT_OK)
        rc = read_inputs(r, call, err);
    if (rc == LEAT_OK)
        rc = write_report(r, err);
    if (rc == LEAT_OK && !leat_json_to_stdout(r->o->json))
        print_result(r);
    if (rc == LEAT_OK)
        rc = write_json(r, err);
    for (int i = 0; i < r->n; i++)
        leat_input_close(&r->inputs[i]);
    leat_page_close(&r->page);
    free(r);
    return rc;
}

const leat_command leat_command_report = {
    .name = "report",
    .summary = "make one page (HTML) of what other commands measured",
    .arguments = "FILE...",
    .text = "Puts results into one page that needs no network and no script, fits light and dark "
            "screens and phones, and begins with the answer: what bounds the job, what could be "
            "gained, what to change. Below are charts, each with its data as a table.\n\n"
            "FILE is what `--json FILE` of doctor, compare, tune, whatif, experiment, train, watch "
            "or bench wrote; a folder of `leat train --log`, or its log.jsonl; or what `--trace "
            "FILE` of train or bench wrote, of which a timeline of a few typical steps is drawn. "
            "Traces stand below each other on one scale, under the names of their files; so do the "
            "curves of logs.\n\n"
            "The page depends on the files alone: the same files give the same page.",
    .example = "  leat compare examples/demo.yaml --vary engine.threads=1,2 --json a.json\n"
               "  leat train examples/demo.yaml --device sim --trace t.json --log runs/a\n"
               "  leat report a.json t.json runs/a -o report.html\n"
               "  leat report a.json --svg pictures",
    .n_min = 1,
    .n_max = LEAT_PAGE_INPUTS_MOST,
    LEAT_COMMAND_OPTIONS(struct report_options),
    .run = run,
};
