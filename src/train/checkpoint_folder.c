/* SPDX-License-Identifier: MIT
 *
 * checkpoint_folder.c: a folder of checkpoints: saves a new one, deletes old ones, finds the newest undamaged one. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/run_state.h"
#include "checkpoint_parts.h"
#include "formats/grow.h"
#include "weights/weight_file.h"

/* Steps of the checkpoints in a folder, ascending. */
typedef struct listing {
    int64_t *steps;
    size_t n;
} listing;

static int path_of(const char *folder, int64_t step, char path[LEAT_CHECKPOINT_PATH],
                   leat_error *err)
{
    const int n =
        snprintf(path, LEAT_CHECKPOINT_PATH, "%s/step-%09" PRId64 ".safetensors", folder, step);
    return n < LEAT_CHECKPOINT_PATH
               ? LEAT_OK
               : leat_fail(err, LEAT_E_ARGUMENT, "%.200s…: the name of the folder is too long",
                           folder);
}

/* The step in a file's name; -1: no name of ours. */
static int64_t step_of(const char *name)
{
    char again[64];
    int64_t step;
    if (sscanf(name, "step-%18" SCNd64, &step) != 1 || step < 0)
        return -1;
    snprintf(again, sizeof again, "step-%09" PRId64 ".safetensors", step);
    return strcmp(name, again) == 0 ? step : -1;
}

static int add(listing *list, int64_t step, leat_error *err)
{
    int64_t *steps = leat_grow(list->steps, list->n, sizeof *steps);
    if (!steps)
        return leat_fail(err, LEAT_E_NOMEM, "checkpoint: out of memory");
    list->steps = steps;
    list->steps[list->n++] = step;
    return LEAT_OK;
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* A link that leads nowhere and a folder are no checkpoints. What cannot be looked at may be one: reading it says why
 * not. */
static bool is_file(int folder, const char *name)
{
    struct stat status;
    if (fstatat(folder, name, &status, 0) == 0)
        return S_ISREG(status.st_mode);
    return errno != ENOENT && errno != ELOOP;
}

/* A folder that does not exist has none. */
static int list_folder(const char *folder, listing *list, leat_error *err)
{
    struct dirent *entry = NULL;
    int rc = LEAT_OK;
    *list = (listing){ 0 };
    DIR *const dir = opendir(folder);
    if (!dir && errno == ENOENT)
        return LEAT_OK;
    if (!dir)
        return leat_fail(err, LEAT_E_IO, "%s: %s", folder, strerror(errno));
    for (errno = 0; rc == LEAT_OK && (entry = readdir(dir)); errno = 0)
        if (step_of(entry->d_name) >= 0 && is_file(dirfd(dir), entry->d_name))
            rc = add(list, step_of(entry->d_name), err);
    if (rc == LEAT_OK && errno) /* a part of the list: the newest one may be missing */
        rc = leat_fail(err, LEAT_E_IO, "%s: cannot list the folder: %s", folder, strerror(errno));
    closedir(dir);
    if (list->n)
        qsort(list->steps, list->n, sizeof *list->steps, ascending);
    return rc;
}

/* --- saving ---------------------------------------------------------------------------------- */

/* mkdir -p */
static int make_folder(const char *folder, leat_error *err)
{
    char path[LEAT_CHECKPOINT_PATH];
    if ((size_t)snprintf(path, sizeof path, "%s", folder) >= sizeof path)
        return leat_fail(err, LEAT_E_ARGUMENT, "%.200s…: the name of the folder is too long",
                         folder);
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = 0;
            if (mkdir(path, 0777) < 0 && errno != EEXIST)
                return leat_fail(err, LEAT_E_IO, "%s: %s", path, strerror(errno));
            *at = '/';
        }
    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return leat_fail(err, LEAT_E_IO, "%s: %s", path, strerror(errno));
    return LEAT_OK;
}

/* Whether a file begins as checkpoints do that leat writes: one that was cut is told, too. */
static bool begins_as_ours(const char *path)
{
    static const char writer[] = "{\"__metadata__\":{\"writer\":\"leat ";
    static const char note[] = "\",\"checkpoint\":\"";
    char text[128] = "";
    FILE *const file = fopen(path, "rbe");
    if (!file)
        return false;
    const size_t n =
        fseek(file, 8, SEEK_SET) == 0 ? fread(text, 1, sizeof text - 1, file) : 0; /* its length */
    fclose(file);
    text[n] = 0;
    if (strncmp(text, writer, sizeof writer - 1) != 0)
        return false;
    const char *const version = text + sizeof writer - 1;
    return strncmp(version + strcspn(version, "\""), note, sizeof note - 1) == 0;
}

/* Whether a file may be deleted: not of another program, and not a whole checkpoint of another model. */
static bool is_ours(const char *path, const char *model)
{
    char changed[300]; /* other settings do not count */
    leat_safetensors *file = NULL;
    leat_format_error why;
    bool ours = begins_as_ours(path);
    if (ours && leat_safetensors_open(&file, path, &why) == LEAT_FORMAT_OK) {
        const char *const saved = leat_safetensors_note_of(file, "model");
        ours = !saved ||
               leat_checkpoint_compare(saved, model, path, changed, sizeof changed, NULL) >= 0;
    }
    leat_safetensors_close(&file);
    return ours;
}

static int delete_one(const char *folder, int64_t step, const char *model, int64_t *keep,
                      leat_error *err)
{
    char path[LEAT_CHECKPOINT_PATH];
    const int rc = path_of(folder, step, path, err);
    if (rc < 0 || !is_ours(path, model) || (*keep)-- > 0 || unlink(path) == 0 || errno == ENOENT)
        return rc;
    return leat_fail(err, LEAT_E_IO, "%s: cannot delete it: %s", path, strerror(errno));
}

/* Those of later steps than `last`, the one just written, are damaged or of another run. They do not count. */
static int delete_old(const leat_trainer *trainer, const char *folder, int64_t keep, int64_t last,
                      leat_error *err)
{
    listing list;
    if (keep == 0)
        return LEAT_OK;
    int rc = list_folder(folder, &list, err);
    char *const model = leat_checkpoint_describe(trainer);
    if (rc == LEAT_OK && !model)
        rc = leat_fail(err, LEAT_E_NOMEM, "checkpoint: out of memory");
    for (size_t i = list.n; i-- > 0 && rc == LEAT_OK;)
        if (list.steps[i] <= last)
            rc = delete_one(folder, list.steps[i], model, &keep, err);
    free(model);
    free(list.steps);
    return rc;
}

int leat_checkpoint_save(leat_trainer *trainer, const leat_loader_state *state, const char *folder,
                         int64_t keep, char path[LEAT_CHECKPOINT_PATH], leat_error *err)
{
    char own[LEAT_CHECKPOINT_PATH];
    char *const to = path ? path : own;
    if (!trainer || !state || !folder || keep < 0)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_checkpoint_save: trainer, state and folder must be given");
    int rc = leat_run_state_check(state, err);
    if (rc < 0 || (rc = make_folder(folder, err)) < 0 ||
        (rc = path_of(folder, state->next_batch, to, err)) < 0 ||
        (rc = leat_checkpoint_write(trainer, state, to, err)) < 0)
        return rc;
    return delete_old(trainer, folder, keep, state->next_batch, err);
}

/* --- resuming -------------------------------------------------------------------------------- */

/* Passes over damaged files; if all are damaged, out->path stays "". A whole one that does not fit (of another model), which
 * leat_checkpoint_read() has named in out->path, ends the search: an older one would be a surprise. */
static int resume_newest(leat_trainer *trainer, const char *folder, const listing *list,
                         leat_checkpoint_found *out, leat_error *err)
{
    char path[LEAT_CHECKPOINT_PATH];
    for (size_t i = list->n; i-- > 0;) {
        leat_error why = { 0 };
        int rc = path_of(folder, list->steps[i], path, err);
        if (rc == LEAT_OK)
            rc = leat_checkpoint_read(trainer, path, out, &why);
        if (rc == LEAT_OK)
            return rc;
        const bool damaged = rc == LEAT_E_DATA && !*out->path;
        if (!damaged) {
            if (err && why.code)
                *err = why;
            return rc;
        }
        if (out->n_damaged++ == 0)
            snprintf(out->damaged, sizeof out->damaged, "%.500s", why.message);
    }
    return out->n_damaged
               ? leat_fail(err, LEAT_E_DATA, "%s has no whole checkpoint: %s", folder, out->damaged)
               : LEAT_OK;
}

int leat_checkpoint_newest(const char *folder, int64_t *step, leat_error *err)
{
    listing list;
    if (!folder || !step)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_checkpoint_newest: folder and step must be given");
    const int rc = list_folder(folder, &list, err);
    *step = rc == LEAT_OK && list.n ? list.steps[list.n - 1] : -1;
    free(list.steps);
    return rc;
}

int leat_checkpoint_resume(leat_trainer *trainer, const char *path, leat_checkpoint_found *out,
                           leat_error *err)
{
    struct stat status;
    listing list;
    if (!trainer || !path || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_checkpoint_resume: trainer, path and out must be given");
    *out = (leat_checkpoint_found){ 0 };
    if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode))
        return leat_checkpoint_read(trainer, path, out, err);
    int rc = list_folder(path, &list, err);
    if (rc == LEAT_OK)
        rc = resume_newest(trainer, path, &list, out, err);
    free(list.steps);
    return rc;
}

/* --- the best weights ------------------------------------------------------------------------ */

int leat_checkpoint_check_best(const leat_trainer *trainer, const char *folder, leat_error *err)
{
    char path[LEAT_CHECKPOINT_PATH], wanted[24];
    leat_weight_file file = { 0 };
    if (!trainer || !folder)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_checkpoint_check_best: trainer and folder must be given");
    if ((size_t)snprintf(path, sizeof path, "%s/" LEAT_CHECKPOINT_BEST, folder) >= sizeof path)
        return leat_fail(err, LEAT_E_ARGUMENT, "%.200s…: the name of the folder is too long",
                         folder);
    snprintf(wanted, sizeof wanted, "%" PRId64, trainer->decide.best.best_at);
    int rc = leat_weight_file_open(&file, path, LEAT_WEIGHT_LAYOUT_LEAT, err);
    const char *const batches =
        rc == LEAT_OK
            ? leat_safetensors_note_of(file.file, leat_weight_file_notes[LEAT_WEIGHT_NOTE_BATCHES])
            : NULL;
    if (rc == LEAT_OK && (!batches || strcmp(batches, wanted) != 0))
        rc = leat_fail(err, LEAT_E_DATA,
                       "%s has the weights after %s batches, the best evaluation was after %s",
                       path, batches ? batches : "an unknown number of", wanted);
    leat_weight_file_close(&file);
    return rc;
}
