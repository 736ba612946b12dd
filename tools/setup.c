/* SPDX-License-Identifier: MIT */
#include "setup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "files.h"
#include "formats/figure.h"
#include "formats/tfrecord.h"
#include "formats/visible.h"
#include "formats/whole_file.h"
#include "host.h"
#include "outputs.h"
#include "print/terminal.h"

enum {
    TRACE_SPANS = 1 << 20, /* in all */
    OTHER_ROWS = 4,        /* of a trace: consumer, reader, copies, steps */
};

/* True if a file begins like a TFRecord file. */
static bool is_tfrecord(const char *path)
{
    uint8_t header[LEAT_TFRECORD_HEADER];
    uint64_t length;
    FILE *const file = fopen(path, "rbe");
    const bool read = file && fread(header, 1, sizeof header, file) == sizeof header;
    if (file)
        fclose(file);
    return read && leat_tfrecord_check_length(header, &length, NULL) == LEAT_FORMAT_OK;
}

/* Detects data given instead of a config, a common mistake for which YAML errors do not help. */
static int load(const char *path, leat_config **out, leat_error *err)
{
    struct stat status = { 0 };
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return leat_fail(
            err, LEAT_E_IO,
            "%s is a folder, not a config (.yaml), which names the data under `source:`; `leat "
            "convert images %s -o PREFIX` makes record files of pictures",
            path, path);
    const int rc = leat_config_load(path, out, err);
    if (rc != LEAT_E_CONFIG || !S_ISREG(status.st_mode) || !is_tfrecord(path))
        return rc; /* a pipe that was read would wait for another writer */
    return leat_fail(err, LEAT_E_CONFIG,
                     "%s: this is a TFRecord file, not a config (.yaml), which names it under "
                     "`source: {tfrecord: ...}`; `leat inspect` shows its contents",
                     path);
}

int leat_setup_set(leat_config *config, const leat_texts *set, leat_error *err)
{
    for (int32_t i = 0; i < set->n; i++)
        if (leat_stage_name_value(config, set->values[i], err) < 0 ||
            leat_config_set(config, set->values[i], err) < 0) /* says --set and the path */
            return leat_fail_in(err, LEAT_E_ARGUMENT, "%s", "");
    return LEAT_OK;
}

int leat_setup_config(const leat_call *call, const char *path, const leat_texts *set,
                      leat_config **out, leat_error *err)
{
    *out = NULL;
    int rc = load(path, out, err);
    if (rc == LEAT_OK)
        rc = leat_setup_set(*out, set, err);
    if (rc == LEAT_OK)
        rc = leat_outputs_spare(call, *out, err);
    if (rc < 0)
        leat_config_close(out);
    return rc;
}

int leat_setup_text(const char *path, char **text, leat_error *err)
{
    leat_format_error why;
    struct stat status;
    size_t n;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return LEAT_OK;
    return leat_whole_file_read(path, SIZE_MAX, text, &n, &why) < 0 ? leat_files_fail(err, &why)
                                                                    : LEAT_OK;
}

int leat_setup_write(const leat_config *config, const char *before, const char *path, char **text,
                     leat_error *err)
{
    size_t n = 0;
    int rc = LEAT_OK;
    *text = NULL;
    for (int round = 0; round < 2 && rc == LEAT_OK; round++) {
        const size_t size = round ? n + 1 : 0;
        if (round && !(*text = malloc(size)))
            return leat_files_no_memory(err);
        rc = before ? leat_config_edit(config, before, path, *text, size, &n, err)
                    : leat_config_text(config, *text, size, &n, err);
    }
    if (rc < 0) {
        free(*text);
        *text = NULL;
    }
    return rc;
}

int leat_setup_threads(leat_config *config, int64_t threads, leat_error *err)
{
    char text[64];
    if (threads < 0)
        return LEAT_OK;
    snprintf(text, sizeof text, "engine.threads=%lld", (long long)threads);
    return leat_config_set_as(config, text, "--threads", err);
}

int leat_setup_device(const leat_config *config, const char *name, leat_device **out,
                      leat_error *err)
{
    *out = NULL;
    if (!name)
        return leat_trainer_open_device(config, out, err);
    const int rc = leat_device_open(name, out, err);
    return rc < 0 ? leat_fail_in(err, LEAT_E_ARGUMENT, "--device %s: ", name) : rc;
}

/* Spans per thread, so that a browser can still open the trace of all threads. */
static int64_t spans_of_thread(const leat_config *config)
{
    char text[64];
    char *end = text;
    int64_t threads = leat_host_cores(), n = 1;
    if (leat_config_get(config, "engine.threads", text, sizeof text, NULL) == LEAT_OK) {
        const double given = strtod(text, &end);
        if (end != text && given >= 0 && given <= 1024)
            threads = (int64_t)given;
    }
    while (n * 2 * (threads + OTHER_ROWS) <= TRACE_SPANS)
        n *= 2;
    return n;
}

int leat_setup_same_class(const char *section, int64_t i, const char *name, const char *trained,
                          leat_error *err)
{
    if (leat_visible_same(name, trained))
        return LEAT_OK;
    return leat_fail(err, LEAT_E_CONFIG,
                     "%s: class %lld is '%s' there, but '%s' in the source of training, so the "
                     "labels mean other classes: both need the same names in the same order (a "
                     "folder without images counts)",
                     section, (long long)i, name, trained);
}

void leat_setup_target(const leat_config *config, char target[LEAT_OPTION_STRING_MAX])
{
    strcpy(target, "label");
    leat_config_get(config, "train.target", target, LEAT_OPTION_STRING_MAX, NULL);
}

int leat_setup_check_eval(const leat_config *config, const leat_plan *eval, const leat_plan *plan,
                          leat_error *err)
{
    const char *name, *trained;
    char target[LEAT_OPTION_STRING_MAX];
    const bool trains = leat_config_get(config, "train", target, sizeof target, NULL) == LEAT_OK;
    int rc = LEAT_OK;
    for (int32_t i = 0; trains && eval && i < leat_plan_get_info(eval)->n_tensors; i++)
        if (leat_plan_tensor(eval, i)->mixed)
            return leat_fail(err, LEAT_E_CONFIG,
                             "eval: mixup and cutmix mix each sample with another one, and an "
                             "evaluation judges samples: leave them out of the `eval` part");
    leat_setup_target(config, target);
    for (int32_t i = 0; rc == LEAT_OK && (name = leat_plan_tensor_class(eval, target, i)) &&
                        (trained = leat_plan_tensor_class(plan, target, i));
         i++)
        rc = leat_setup_same_class("eval", i, name, trained, err);
    return rc;
}

int64_t leat_setup_rows(const leat_plan *plan)
{
    const int64_t n = leat_plan_get_info(plan)->n_batches;
    int64_t rows = 0;
    for (int64_t b = 0; b < n; b++)
        rows += leat_plan_records(plan, b, NULL, 0);
    return n < 0 ? -1 : rows;
}

/* How often each batch of a pass comes in it; 0: not all equally often. */
static int64_t times_of_batches(const leat_plan *plan)
{
    const leat_stage_info *stage;
    uint64_t made = 0; /* by the stage that batches */
    bool grows = false, shrinks = false;
    for (int32_t i = 0; (stage = leat_plan_stage(plan, i)); i++) {
        grows |= made && stage->n_out > stage->n_in;
        shrinks |= made && stage->n_out < stage->n_in;
        if (!made && stage->batches)
            made = stage->n_out;
    }
    return !grows ? 1 : shrinks ? 0 : leat_plan_get_info(plan)->n_batches / (int64_t)made;
}

int64_t leat_setup_left_out(const leat_plan *plan)
{
    const leat_plan_info *const info = leat_plan_get_info(plan);
    const int64_t times = info->n_samples >= 0 && info->n_batches >= 0 && info->ranks == 1
                              ? times_of_batches(plan)
                              : 0;
    return times ? info->n_samples - leat_setup_rows(plan) / times : -1;
}

void leat_setup_say_left_out(const leat_plan *plan, const char *where)
{
    const int64_t left = plan ? leat_setup_left_out(plan) : 0;
    if (left > 0)
        leat_terminal_say(
            2, "note: %s%s of %s samples are in no batch (drop_remainder, or a stage after batch)",
            where, leat_figure_count((uint64_t)left).text,
            leat_figure_count((uint64_t)leat_plan_get_info(plan)->n_samples).text);
}

bool leat_setup_find_not_finite(const leat_plan *plan, int64_t first, int64_t n, leat_error *err)
{
    const leat_loader_options how = { .epochs = -1, .first_batch = first, .expect.finite = 1 };
    leat_row_error list[64];
    leat_loader *loader = NULL;
    leat_batch *batch;
    bool found = false;
    int rc = leat_loader_open(plan, &how, &loader, err);
    for (int64_t i = 0; i < n && rc == LEAT_OK; i++) {
        rc = leat_loader_next(loader, &batch, err);
        if (rc == LEAT_OK)
            leat_batch_release(batch);
    }
    if (rc < 0)
        found = err->not_finite;
    const int32_t n_listed =
        loader ? leat_loader_errors(loader, list, sizeof list / sizeof *list) : 0;
    for (int32_t i = 0; i < n_listed && !found; i++)
        if ((found = list[i].not_finite))
            leat_fail(err, LEAT_E_DATA, "%s", list[i].message);
    leat_loader_close(&loader);
    return found;
}

int leat_setup_trace(leat_config *config, const char *path, leat_error *err)
{
    char text[64];
    char *end = text;
    if (!path)
        return LEAT_OK;
    int rc = leat_files_check(path, &leat_output_kind_trace, err);
    if (rc == LEAT_OK && leat_config_get(config, "engine.spans", text, sizeof text, NULL) < 0) {
        snprintf(text, sizeof text, "engine.spans=%lld", (long long)spans_of_thread(config));
        rc = leat_config_set_as(config, text, "--trace", err);
    } else if (rc == LEAT_OK && strtod(text, &end) == 0 && end != text) {
        rc = leat_fail(err, LEAT_E_ARGUMENT,
                       "engine.spans is 0, so nothing would be recorded; leave it out, or set it "
                       "to the number of spans per thread");
    }
    return rc < 0 ? leat_fail_in(err, rc, "--trace: ") : rc;
}

int leat_setup_trace_write(leat_loader *loader, const char *path, bool talks, int rc,
                           leat_error *err)
{
    struct stat status;
    if (!loader || !path)
        return rc;
    leat_error *const why = rc < 0 ? NULL : err;
    const int written = leat_loader_trace_write(loader, path, why);
    if (written == LEAT_OK && (talks || rc < 0) && stat(path, &status) == 0)
        fprintf(rc < 0 ? stderr : stdout, "trace: %s, %s; open it in https://ui.perfetto.dev\n",
                path, leat_figure_bytes((double)status.st_size).text);
    return rc < 0 ? rc : written;
}
