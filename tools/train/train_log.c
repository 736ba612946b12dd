/* SPDX-License-Identifier: MIT */
#include "train_run.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "convert/image_file.h"
#include "files.h"
#include "formats/events.h"
#include "host.h"
#include "print/sheet.h"

#define FLUSH_NS 1000000000 /* a killed process loses lines of at most this time */

struct leat_train_log {
    char *path, *picture; /* of log.jsonl and batch.png */
    FILE *lines;
    leat_event_writer *events;
    int64_t flushed_ns;
    int64_t step;     /* that the run begins after */
    leat_error first; /* code is not 0: logging has stopped */
    leat_error sheet; /* code is not 0: the picture was not written */
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)(now.tv_nsec / 1000000) * 1e-3;
}

/* --- opening ---------------------------------------------------------------------------------------*/

static bool has_lines(const leat_train_log *log)
{
    struct stat lines;
    return stat(log->path, &lines) == 0 && lines.st_size > 0;
}

/* Reads log.jsonl. run: the last line of kind "run", which alone begins like this; NULL: there is none; owned by the caller.
 * Returns true if there are others: curves. */
static bool read_lines(const leat_train_log *log, json_t **run)
{
    static const char begin[] = "{\"leat\": ";
    char *line = NULL;
    size_t size = 0;
    bool others = false;
    FILE *const file = fopen(log->path, "re");
    *run = NULL;
    while (file && getline(&line, &size, file) >= 0) {
        const bool is_run = strncmp(line, begin, sizeof begin - 1) == 0;
        json_t *const json = is_run ? json_loads(line, 0, NULL) : NULL; /* NULL: a half line */
        others |= !is_run;
        if (json) {
            json_decref(*run);
            *run = json;
        }
    }
    free(line);
    if (file)
        fclose(file);
    return others;
}

/* What a run that goes on has as before, and a checkpoint compares: where it differs, the folder is of another run, whose
 * curves would be mixed with those of this one. A run without a checkpoint yet has nothing else that tells. */
static int refuse_other(const json_t *last, const char *folder, const json_t *run, leat_error *err)
{
    static const struct {
        const char *key, *what;
    } same[] = { { "simulated", "simulated" },
                 { "parameters", "parameters" },
                 { "records", "records" },
                 { "batch_size", "batch size" } };
    int rc = LEAT_OK;
    for (size_t i = 0; i < sizeof same / sizeof *same && rc == LEAT_OK; i++) {
        const json_t *const was = json_object_get(last, same[i].key);
        const json_t *const is = json_object_get(run, same[i].key);
        if (!was || json_equal(was, is))
            continue;
        char *const before = json_dumps(was, JSON_ENCODE_ANY);
        char *const now = json_dumps(is, JSON_ENCODE_ANY);
        rc = leat_fail(err, LEAT_E_ARGUMENT,
                       "%s: the folder has the log of another run (%s: %s, here %s), whose curves "
                       "would be mixed with those of this one: name another folder",
                       folder, same[i].what, before ? before : "?", now ? now : "?");
        free(before);
        free(now);
    }
    return rc;
}

/* Refuses a folder in which readers find curves. */
static int refuse_curves(const leat_train_log *log, const char *folder, leat_error *err)
{
    struct dirent *entry;
    struct stat lines;
    if (stat(log->path, &lines) < 0 && !leat_format_is_absent(errno))
        return leat_fail(err, LEAT_E_IO, "%s: %s", log->path, strerror(errno));
    bool found = has_lines(log);
    DIR *const dir = opendir(folder);
    int error = dir ? 0 : errno;
    for (errno = 0; dir && !found && (entry = readdir(dir)); errno = 0)
        found = leat_event_is_name(entry->d_name);
    if (dir) {
        error = errno;
        closedir(dir);
    }
    if (!found && error && error != ENOENT)
        return leat_fail(err, LEAT_E_IO, "%s: cannot list the folder: %s", folder, strerror(error));
    if (!found)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_ARGUMENT,
                     "%s: the folder has the log of another run: name another folder, or go on "
                     "with that run (--resume)",
                     folder);
}

/* A resumed run replaces the picture, and any run one that is left of another. */
static int check_picture(const leat_train_log *log, leat_error *err)
{
    static const leat_output_kind ours = { "a picture of leat", "tEXtleat", 37 };
    return has_lines(log) ? LEAT_OK : leat_files_check(log->picture, &ours, err);
}

/* A run that failed or was killed before its first line of a step or an epoch has left no curve that could be mixed. */
static int refuse(const leat_train_log *log, const char *folder, const json_t *run, bool goes_on,
                  leat_error *err)
{
    json_t *last;
    const bool curves = read_lines(log, &last);
    int rc = LEAT_OK;
    if (goes_on && curves)
        rc = refuse_other(last, folder, run, err);
    else if (!goes_on && (curves || !last))
        rc = refuse_curves(log, folder, err);
    json_decref(last);
    return rc;
}

/* One run at a time logs to a folder: it keeps log.jsonl locked. */
static int open_lines(leat_train_log *log, const char *folder, const json_t *run, bool goes_on,
                      leat_error *err)
{
    static const leat_output_kind ours = { "a log of leat", "{\"leat\": ", 0 };
    int rc = leat_files_check(log->path, &ours, err);
    if (rc == LEAT_OK)
        rc = refuse(log, folder, run, goes_on, err);
    if (rc == LEAT_OK)
        rc = check_picture(log, err);
    if (rc == LEAT_OK)
        rc = leat_files_stream(log->path, &log->lines, err);
    const bool is_locked = rc == LEAT_OK && flock(fileno(log->lines), LOCK_EX | LOCK_NB) == 0;
    if (rc == LEAT_OK && !is_locked && errno == EWOULDBLOCK)
        rc = leat_fail(err, LEAT_E_BUSY, "%s: another run logs to this folder now", folder);
    if (rc == LEAT_OK) /* another run may have come and gone since the first look */
        rc = refuse(log, folder, run, goes_on, err);
    if (rc == LEAT_OK && !is_locked &&
        !goes_on) /* no locks here: one without curves may be alive */
        rc = refuse_curves(log, folder, err);
    if (rc == LEAT_OK)
        leat_files_end_line(log->lines);
    return rc;
}

/* --- lines -----------------------------------------------------------------------------------------*/

static void fail_lines(leat_train_log *log)
{
    if (log->first.code == LEAT_OK)
        leat_fail(&log->first, LEAT_E_IO, "%s: %s", log->path, strerror(errno));
}

static void fail_events(leat_train_log *log, const leat_format_error *from)
{
    if (log->first.code == LEAT_OK)
        leat_files_fail(&log->first, from);
}

void leat_train_log_flush(leat_train_log *log)
{
    leat_format_error why;
    if (!log)
        return;
    if (log->first.code == LEAT_OK && fflush(log->lines) != 0)
        fail_lines(log);
    if (log->first.code == LEAT_OK && leat_event_writer_flush(log->events, &why) < 0)
        fail_events(log, &why);
    log->flushed_ns = leat_host_now_ns();
}

static bool is_place(const char *key)
{
    static const char *const places[] = { "step", "epoch", "steps", "measured_steps", "time_s" };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (!strcmp(key, places[i]))
            return true;
    return false;
}

static void add_scalars(leat_train_log *log, const char *kind, int64_t step, double time_s,
                        json_t *line)
{
    const char *key;
    json_t *value;
    char tag[96];
    leat_format_error why;
    json_object_foreach(line, key, value)
    {
        const bool no_samples = !strcmp(key, "samples") && json_number_value(value) == 0;
        if (!json_is_number(value) || is_place(key) || no_samples)
            continue;
        snprintf(tag, sizeof tag, "%s/%s", kind, key);
        if (leat_event_writer_scalar(log->events, tag, step, time_s, json_number_value(value),
                                     &why) < 0)
            fail_events(log, &why);
    }
}

static void write_line(leat_train_log *log, json_t *line)
{
    if (json_dumpf(line, log->lines, JSON_REAL_PRECISION(15)) < 0 || putc('\n', log->lines) == EOF)
        fail_lines(log);
}

void leat_train_log_add(leat_train_log *log, const char *kind, int64_t step, json_t *line)
{
    if (log && log->first.code == LEAT_OK) {
        const double time_s = now_s();
        json_t *whole = json_object();
        leat_json_text(whole, "kind", kind);
        leat_json_int(whole, "step", step);
        leat_json_real(whole, "time_s", time_s);
        json_object_update(whole, line);
        write_line(log, whole);
        add_scalars(log, kind, step, time_s, line);
        json_decref(whole);
        if (strcmp(kind, "step") != 0 || leat_host_now_ns() - log->flushed_ns >= FLUSH_NS)
            leat_train_log_flush(log);
    }
    json_decref(line);
}

int leat_train_log_open(leat_train_log **out, const char *folder, json_t *run, int64_t step,
                        bool goes_on, leat_error *err)
{
    leat_train_log *log = calloc(1, sizeof *log);
    json_t *line = leat_json_open("train");
    leat_format_error why;
    int rc = LEAT_OK;
    *out = NULL;
    if (log) {
        log->path = leat_files_text("%s/log.jsonl", folder);
        log->picture = leat_files_text("%s/batch.png", folder);
        log->step = step;
    }
    if (!log || !line || !log->path || !log->picture)
        rc = leat_fail(err, LEAT_E_NOMEM, "--log: out of memory");
    if (rc == LEAT_OK)
        rc = open_lines(log, folder, run, goes_on, err);
    if (rc == LEAT_OK && leat_event_writer_open(&log->events, folder, now_s(), step + 1, &why) < 0)
        rc = leat_files_fail(err, &why);
    if (rc == LEAT_OK) {
        leat_json_text(line, "kind", "run");
        leat_json_int(line, "step", step);
        leat_json_real(line, "time_s", now_s());
        json_object_update(line, run);
        write_line(log, line);
        leat_train_log_flush(log);
        *out = log;
    } else {
        if (log)
            leat_train_log_close(&log, NULL);
        leat_fail_in(err, rc, "--log: ");
    }
    json_decref(line);
    json_decref(run);
    return rc;
}

/* --- the sheet -------------------------------------------------------------------------------------*/

/* A full disk is told and ends no run, as with lines; that there is no picture is the error of the log at its end. */
static int write_sheet(leat_train_log *log, const leat_sheet *sheet, leat_error *err)
{
    uint8_t *png = NULL;
    size_t size;
    leat_format_error why;
    int rc = leat_image_encode_png(sheet->pixels, sheet->height, sheet->width, &png, &size, err);
    if (rc == LEAT_OK && leat_files_write(log->picture, png, size, &log->sheet) < 0)
        fprintf(stderr, "leat train: --log: cannot write a picture, the run goes on: %s\n",
                log->sheet.message);
    if (rc == LEAT_OK && leat_event_writer_image(log->events, "batch", log->step, now_s(),
                                                 sheet->height, sheet->width, png, size, &why) < 0)
        fail_events(log, &why);
    free(png);
    return rc;
}

int leat_train_log_sheet(leat_train_log *log, const leat_plan *plan, int32_t tensor,
                         int64_t first_batch, leat_error *err)
{
    const leat_loader_options how = { .epochs = -1, .first_batch = first_batch };
    leat_loader *loader = NULL;
    leat_batch *batch = NULL;
    leat_sheet sheet = { 0 };
    if (!leat_sheet_fits(&leat_plan_tensor(plan, tensor)->shape))
        return LEAT_OK;
    int rc = leat_loader_open(plan, &how, &loader, err);
    if (rc == LEAT_E_UNSUPPORTED) /* a map that only a GPU runs */
        return LEAT_OK;
    if (rc == LEAT_OK)
        rc = leat_loader_next(loader, &batch, err);
    const bool has_rows = rc == LEAT_OK && leat_batch_get_info(batch)->rows > 0;
    if (has_rows) { /* a rank may have none of a short batch */
        const leat_view images = leat_batch_tensor(batch, tensor);
        rc = leat_sheet_make(&images, &sheet);
        rc = rc == LEAT_OK ? write_sheet(log, &sheet, err)
                           : leat_fail(err, rc, "%s", leat_code_text(rc));
        free(sheet.pixels);
    }
    leat_batch_release(batch);
    leat_loader_close(&loader);
    leat_train_log_flush(log);
    return rc < 0 ? leat_fail_in(err, rc, "--log: the sheet of the first batch: ") : rc;
}

int leat_train_log_close(leat_train_log **log, leat_error *err)
{
    int rc = LEAT_OK;
    if (!*log)
        return rc;
    if ((*log)->lines) {
        if ((*log)->events)
            leat_train_log_flush(*log);
        if (fclose((*log)->lines) != 0)
            fail_lines(*log);
    }
    if ((*log)->first.code != LEAT_OK)
        rc = leat_fail(err, (*log)->first.code, "--log: %s; the log ends there",
                       (*log)->first.message);
    else if ((*log)->sheet.code != LEAT_OK)
        rc = leat_fail(err, (*log)->sheet.code, "--log: %s", (*log)->sheet.message);
    leat_event_writer_close(&(*log)->events);
    free((*log)->path);
    free((*log)->picture);
    free(*log);
    *log = NULL;
    return rc;
}
