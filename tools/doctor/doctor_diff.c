/* SPDX-License-Identifier: MIT
 *
 * doctor_diff.c: a suggested change as a unified diff of the config's file, as `leat tune --diff` prints one. Where the
 * layout of the file cannot be kept, it is a diff of the config as leat writes it. */
#include <stdlib.h>
#include <string.h>

#include "doctor_report.h"
#include "files.h"
#include "print/patch.h"
#include "print/terminal.h"
#include "setup.h"

/* Whether values of the command line change the config. */
static bool is_overridden(const leat_doctor_job *job)
{
    char *file = NULL, *config = NULL;
    const bool same = leat_setup_write(job->file, NULL, job->path, &file, NULL) == LEAT_OK &&
                      leat_setup_write(job->config, NULL, job->path, &config, NULL) == LEAT_OK &&
                      !strcmp(file, config);
    free(file);
    free(config);
    return !same;
}

static void say(const leat_doctor_job *job, bool kept, leat_doctor_diff *out)
{
    char *const note = out->note;
    const size_t size = sizeof out->note;
    if (!out->text[0]) {
        snprintf(note, size, "%.100s has this already: leave out what overrides it", job->path);
        return;
    }
    if (!kept)
        snprintf(note, size, "of the config as leat writes it: %s",
                 job->text ? "no edit is known that keeps its layout" : "it came through a pipe");
    if (is_overridden(job))
        leat_files_append(note, size, "%swith the other values of the command line, as measured",
                          *note ? "; " : "");
}

void leat_doctor_diff_make(const leat_doctor_job *job, const leat_doctor_suggestion *change,
                           leat_doctor_diff *out)
{
    leat_error err = { 0 };
    leat_config *config = NULL;
    char *before = NULL, *after = NULL;
    *out = (leat_doctor_diff){ .text = NULL };
    if (!change->n_set)
        return;
    int rc = leat_config_copy(job->config, &config, &err);
    if (rc == LEAT_OK)
        rc = leat_doctor_apply(change, config, &err);
    bool kept = rc == LEAT_OK && job->text;
    if (kept &&
        (rc = leat_setup_write(config, job->text, job->path, &after, &err)) == LEAT_E_UNSUPPORTED) {
        kept = false;
        rc = LEAT_OK;
    }
    if (!kept && rc == LEAT_OK &&
        (rc = leat_setup_write(job->file, NULL, job->path, &before, &err)) == LEAT_OK)
        rc = leat_setup_write(config, NULL, job->path, &after, &err);
    if (rc == LEAT_OK)
        out->text =
            leat_patch_text(kept ? job->text : before, after, leat_terminal_name(job->path));
    if (out->text)
        say(job, kept, out);
    else
        snprintf(out->note, sizeof out->note, "no diff: %.180s",
                 rc < 0 ? err.message : "out of memory");
    free(before);
    free(after);
    leat_config_close(&config);
}
