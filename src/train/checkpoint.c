/* SPDX-License-Identifier: MIT
 *
 * checkpoint.c: writes and reads one checkpoint.
 *
 * DESIGN: checkpoints are written between two updates, so that no half-summed gradient has to be saved. A
 * digest over all tensors and notes detects a damaged file; the reader of safetensors refuses a truncated
 * one. Everything is checked before the trainer changes. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/not_finite.h"
#include "base/run_state.h"
#include "base/text.h"
#include "checkpoint_parts.h"
#include "weights/param_file.h"

/* X(name): the notes of `__metadata__`, in the order in which the digest chains them. The last one may be missing: the names
 * of classes (weight_classes.h), if they are known. */
#define NOTE_LIST(X)                                                                               \
    X(writer) X(checkpoint) X(model) X(steps) X(updates) X(sums) X(loader) X(decisions) X(classes)

enum {
#define NOTE_ENUM(name) NOTE_##name,
    NOTE_LIST(NOTE_ENUM)
#undef NOTE_ENUM
        N_NOTES
};

static const char *const note_names[] = {
#define NOTE_NAME(name) #name,
    NOTE_LIST(NOTE_NAME)
#undef NOTE_NAME
};

static const char version[] = "2";

int32_t leat_checkpoint_ready(const leat_trainer *trainer)
{
    return trainer && !trainer->whiten && trainer->n_accumulated % trainer->model.accumulate == 0;
}

int32_t leat_checkpoint_is_last(const leat_trainer *trainer, int64_t left)
{
    return leat_checkpoint_ready(trainer) && left < trainer->model.accumulate;
}

static unsigned saved_values(const leat_trainer *trainer)
{
    unsigned values = 1u << LEAT_VALUES_WEIGHT;
    for (int32_t i = 0; i < trainer->model.optimizer->n_states; i++)
        values |= 1u << (LEAT_VALUES_STATE + i);
    if (trainer->average.mode)
        values |= 1u << LEAT_VALUES_AVERAGE;
    return values;
}

/* --- writing --------------------------------------------------------------------------------- */

static void hex_of(const void *bytes, size_t n, char *text)
{
    for (size_t i = 0; i < n; i++)
        snprintf(text + 2 * i, 3, "%02x", ((const unsigned char *)bytes)[i]);
}

/* Losses since the epoch began, so that a resumed run reports the whole epoch. */
static int sums_of(leat_trainer *trainer, char *text, size_t size, leat_error *err)
{
    leat_net_sums s;
    const int rc = trainer->backend->sums(trainer->net, false, &s, err);
    if (rc == LEAT_OK && !isfinite(s.loss + trainer->carried.loss))
        return leat_not_finite(
            err, true,
            leat_fail(err, LEAT_E_DATA,
                      "the loss is not a finite number, so the weights are not saved"));
    if (rc == LEAT_OK)
        leat_text(text, size, "%" PRIu64 " %a %a", s.samples + trainer->carried.samples,
                  s.loss + trainer->carried.loss, s.right + trainer->carried.right);
    return rc;
}

static size_t count_notes(const char *const notes[N_NOTES])
{
    return N_NOTES - (notes[NOTE_classes] == NULL);
}

static int write_file(const leat_param_file *file, const char *const values[N_NOTES],
                      const char *path, leat_error *err)
{
    leat_safetensors_note notes[N_NOTES];
    for (int i = 0; i < N_NOTES; i++)
        notes[i] = (leat_safetensors_note){ note_names[i], values[i] };
    return leat_param_file_save(file, notes, count_notes(values), path, err);
}

static int write_parts(leat_trainer *trainer, const leat_loader_state *state, leat_param_file *file,
                       const char *model, const char *path, leat_error *err)
{
    char steps[24], updates[24], sums[96], loader[2 * sizeof *state + 1];
    char decisions[LEAT_DECIDE_TEXT];
    int rc = leat_param_file_open(&trainer->model, saved_values(trainer), file, err);
    if (rc < 0 ||
        (rc = leat_average_before(&trainer->average, trainer->backend, trainer->net, err)) < 0 ||
        (rc = leat_param_file_read(file, trainer, err)) < 0 ||
        (rc = sums_of(trainer, sums, sizeof sums, err)) < 0)
        return rc;
    snprintf(steps, sizeof steps, "%" PRId64, trainer->n_accumulated);
    snprintf(updates, sizeof updates, "%" PRId64, trainer->backend->updates(trainer->net));
    hex_of(state, sizeof *state, loader);
    leat_decide_text(&trainer->decide, decisions);
    const char *const notes[N_NOTES] = {
        [NOTE_writer] = "leat " LEAT_VERSION,
        [NOTE_checkpoint] = version,
        [NOTE_model] = model,
        [NOTE_steps] = steps,
        [NOTE_updates] = updates,
        [NOTE_sums] = sums,
        [NOTE_loader] = loader,
        [NOTE_decisions] = decisions,
        [NOTE_classes] = trainer->class_names,
    };
    return write_file(file, notes, path, err);
}

int leat_checkpoint_write(leat_trainer *trainer, const leat_loader_state *state, const char *path,
                          leat_error *err)
{
    if (!trainer || !state || !path)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_checkpoint_write: trainer, state and path must be given");
    int rc = leat_run_state_check(state, err);
    if (rc < 0 || (rc = leat_pretrained_load(trainer, err)) < 0)
        return rc;
    if (trainer->whiten)
        return leat_fail(err, LEAT_E_BUSY,
                         "no checkpoint before the first step: it decides the weights of init: "
                         "whiten");
    if (!leat_checkpoint_ready(trainer))
        return leat_fail(err, LEAT_E_BUSY,
                         "a checkpoint is written between two updates of the weights, here %lld of "
                         "%d batches of the next one are done (train.accumulate)",
                         (long long)(trainer->n_accumulated % trainer->model.accumulate),
                         trainer->model.accumulate);
    leat_param_file file = { 0 };
    rc = leat_trainer_sync(trainer, err);
    char *model = rc == LEAT_OK ? leat_checkpoint_describe(trainer) : NULL;
    if (rc == LEAT_OK)
        rc = model ? write_parts(trainer, state, &file, model, path, err)
                   : leat_fail(err, LEAT_E_NOMEM, "checkpoint: out of memory");
    leat_param_file_close(&file);
    free(model);
    return rc;
}

/* --- reading --------------------------------------------------------------------------------- */

/* The notes of a checkpoint. */
typedef struct read_notes {
    int64_t steps, updates;
    leat_net_sums sums;
    leat_loader_state state;
    const char *decisions;
    bool other_loss, other_metrics; /* evaluations measure something else than in the saved run */
} read_notes;

static int damaged(const char *path, const char *what, leat_error *err)
{
    return leat_fail(err, LEAT_E_DATA, "%s: the checkpoint is damaged: %s", path, what);
}

static bool bytes_of(const char *hex, void *bytes, size_t n)
{
    if (strlen(hex) != 2 * n || hex[strspn(hex, "0123456789abcdef")])
        return false;
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
            return false;
        ((unsigned char *)bytes)[i] = (unsigned char)byte;
    }
    return true;
}

static int find_notes(const leat_safetensors *file, const char *path, const char *notes[N_NOTES],
                      leat_error *err)
{
    const char *const saved = leat_safetensors_note_of(file, "checkpoint");
    if (!saved)
        return leat_fail(err, LEAT_E_DATA,
                         "%s holds weights and is no checkpoint: load it with --restore", path);
    if (strcmp(saved, version) != 0)
        return leat_fail(err, LEAT_E_DATA,
                         "%s: a checkpoint of version %.20s, this leat reads version %s", path,
                         saved, version);
    for (int i = 0; i < N_NOTES; i++)
        if (!(notes[i] = leat_safetensors_note_of(file, note_names[i])) && i != NOTE_classes)
            return leat_fail(err, LEAT_E_DATA, "%s: the checkpoint is damaged: it has no '%s'",
                             path, note_names[i]);
    return LEAT_OK;
}

static int check_digest(const leat_safetensors *file, const char *const notes[N_NOTES],
                        const char *path, leat_error *err)
{
    return leat_param_file_is_whole(file, note_names, count_notes(notes))
               ? LEAT_OK
               : damaged(path, "its bytes do not have the digest that was saved with them", err);
}

int leat_checkpoint_verify(const leat_safetensors *file, const char *path, leat_error *err)
{
    const char *notes[N_NOTES];
    const int rc = find_notes(file, path, notes, err);
    return rc < 0 ? rc : check_digest(file, notes, path, err);
}

/* Reads a count: digits only, below 10^15, so that it can still grow. */
static bool count_of(const char *text, int64_t *out)
{
    const size_t n = strspn(text, "0123456789");
    return n >= 1 && n <= 15 && !text[n] && sscanf(text, "%" SCNd64, out) == 1;
}

/* A number as %a writes it. Nothing but finite sums is ever saved. */
static bool sum_of(const char *text, double *out)
{
    *out = text[strspn(text, "+-.0123456789abcdefpx")] ? NAN : leat_text_f64(text);
    return isfinite(*out);
}

static bool sums_from(const char *text, leat_net_sums *out)
{
    char samples[24], loss[40], right[40];
    int64_t n;
    int end = -1;
    if (sscanf(text, "%20s %39s %39s%n", samples, loss, right, &end) != 3 || text[end] ||
        !count_of(samples, &n) || !sum_of(loss, &out->loss) || !sum_of(right, &out->right))
        return false;
    out->samples = (uint64_t)n;
    return true;
}

/* Reads them into a copy. */
static bool check_decisions(const leat_decide *now, const char *text)
{
    leat_decide copy = *now;
    leat_patience plateau;
    if (now->plateau) {
        plateau = *now->plateau;
        copy.plateau = &plateau;
    }
    return leat_decide_read(&copy, text);
}

static int parse_notes(const leat_trainer *trainer, const char *const notes[N_NOTES],
                       const char *path, read_notes *out, leat_error *err)
{
    if (!count_of(notes[NOTE_steps], &out->steps) || !count_of(notes[NOTE_updates], &out->updates))
        return damaged(path, "its counts of steps are no numbers", err);
    if (!sums_from(notes[NOTE_sums], &out->sums))
        return damaged(path, "its sums of losses are no numbers", err);
    if (!bytes_of(notes[NOTE_loader], &out->state, sizeof out->state))
        return damaged(path, "the position of its loader cannot be read", err);
    out->decisions = notes[NOTE_decisions];
    if (!check_decisions(&trainer->decide, out->decisions))
        return damaged(path, "what its evaluations decided cannot be read", err);
    return LEAT_OK;
}

/* Under `micro_batches: auto` a run goes on with the number that it began with, whatever the rule is now. */
static int32_t saved_micro(const leat_trainer *trainer, const char *saved)
{
    static const char key[] = "\nmicro_batches ";
    const char *const at = strstr(saved, key);
    const long n = at ? strtol(at + sizeof key - 1, NULL, 10) : 0;
    const bool takes = trainer->auto_micro && trainer->backend == &leat_backend_cpu && n >= 1 &&
                       n <= 256 && n <= trainer->model.batch_size;
    return takes ? (int32_t)n : trainer->model.n_micro;
}

static int compare(leat_trainer *trainer, const char *const notes[N_NOTES], int32_t n_micro,
                   const char *path, leat_checkpoint_found *out, read_notes *parsed,
                   leat_error *err)
{
    const int32_t own = trainer->model.n_micro;
    trainer->model.n_micro = n_micro;
    char *now = leat_checkpoint_describe(trainer);
    trainer->model.n_micro = own;
    const int rc = now ? leat_checkpoint_compare(notes[NOTE_model], now, path, out->changed,
                                                 sizeof out->changed, err)
                       : leat_fail(err, LEAT_E_NOMEM, "checkpoint: out of memory");
    if (rc == LEAT_OK) {
        leat_checkpoint_compare_classes(notes[NOTE_classes], trainer->class_names, out->changed,
                                        sizeof out->changed);
        parsed->other_loss = leat_checkpoint_measures_other(notes[NOTE_model], now, true);
        parsed->other_metrics = leat_checkpoint_measures_other(notes[NOTE_model], now, false);
    }
    free(now);
    return rc;
}

static bool is_wanted(const leat_param_file *to, const char *name)
{
    for (size_t i = 0; i < to->n; i++)
        if (!strcmp(to->rows[i].name, name))
            return true;
    return false;
}

/* States of the optimiser of parameters that are frozen now. */
static size_t count_idle(const leat_safetensors *file, const leat_param_file *to)
{
    size_t n = 0;
    for (size_t i = 0; i < leat_safetensors_count(file); i++) {
        const char *const name = leat_safetensors_at(file, i)->name;
        const char *const of = leat_param_file_state_of(name);
        n += of && !is_wanted(to, name) && is_wanted(to, of);
    }
    return n;
}

static int take_one(const leat_safetensors *file, const char *path, leat_param_file *to, size_t i,
                    leat_error *err)
{
    const char *const name = to->rows[i].name;
    const leat_safetensor *const found = leat_safetensors_find(file, name);
    const char *const of = leat_param_file_state_of(name);
    if (!found && of && leat_safetensors_find(file, of))
        return leat_fail(err, LEAT_E_DATA,
                         "%s: '%s' was frozen in that run, so the optimizer has no state for it: "
                         "begin a run with its weights (--restore)",
                         path, of);
    return leat_param_file_take(to, i, found, path, err);
}

static int take_all(const leat_safetensors *file, const char *path, leat_param_file *to,
                    leat_error *err)
{
    const size_t n = leat_safetensors_count(file);
    int rc = LEAT_OK;
    for (size_t i = 0; i < to->n && rc == LEAT_OK; i++)
        rc = take_one(file, path, to, i, err);
    if (rc == LEAT_OK && n != to->n && n - count_idle(file, to) != to->n)
        rc = leat_fail(err, LEAT_E_DATA, "%s: it has %zu tensors, the run has %zu", path, n, to->n);
    return rc;
}

/* Loads the checked values. Only copying them to the device can still fail. */
static int apply(leat_trainer *trainer, const leat_param_file *values, const read_notes *notes,
                 int32_t n_micro, leat_error *err)
{
    leat_net_sums ignored;
    int rc =
        n_micro == trainer->model.n_micro ? LEAT_OK : leat_trainer_recut(trainer, n_micro, err);
    if (rc < 0)
        return rc;
    rc = leat_param_file_write(values, trainer, NULL, err);
    if (rc == LEAT_OK)
        rc = trainer->backend->sums(trainer->net, true, &ignored, err);
    if (rc < 0)
        return rc;
    trainer->backend->set_updates(trainer->net, notes->updates);
    trainer->n_accumulated = notes->steps - notes->steps % trainer->model.accumulate;
    const int64_t skipped = notes->state.next_batch - trainer->n_accumulated;
    trainer->n_skipped = skipped > 0 ? skipped : 0;
    trainer->carried = notes->sums;
    leat_decide_read(&trainer->decide, notes->decisions);
    trainer->average.begun = trainer->average.mode != LEAT_AVERAGE_NONE;
    trainer->whiten = trainer->pretrained.waits = false;
    return LEAT_OK;
}

static int read_parts(leat_trainer *trainer, const leat_safetensors *file, const char *path,
                      leat_checkpoint_found *out, leat_param_file *values, leat_error *err)
{
    const char *notes[N_NOTES];
    char *classes = NULL, best[40];
    read_notes parsed = { 0 };
    int rc = find_notes(file, path, notes, err);
    if (rc < 0 || (rc = check_digest(file, notes, path, err)) < 0 ||
        (rc = parse_notes(trainer, notes, path, &parsed, err)) < 0)
        return rc;
    const int32_t n_micro = saved_micro(trainer, notes[NOTE_model]);
    snprintf(out->path, sizeof out->path, "%s", path);
    if ((rc = compare(trainer, notes, n_micro, path, out, &parsed, err)) < 0 ||
        (rc = leat_param_file_open(&trainer->model, saved_values(trainer), values, err)) < 0 ||
        (rc = take_all(file, path, values, err)) < 0 ||
        (rc = leat_param_file_check_constants(&trainer->model, values, path, err)) < 0)
        return rc;
    if (notes[NOTE_classes] && !(classes = strdup(notes[NOTE_classes])))
        return leat_fail(err, LEAT_E_NOMEM, "no memory for the names of classes");
    if ((rc = apply(trainer, values, &parsed, n_micro, err)) < 0) {
        free(classes);
        return rc;
    }
    free(trainer->restored_classes);
    trainer->restored_classes = classes;
    out->anew = leat_decide_anew(&trainer->decide, parsed.other_loss, parsed.other_metrics);
    out->state = parsed.state;
    out->updates = parsed.updates;
    out->owes_evaluation = leat_decide_owes(&trainer->decide, parsed.state.next_batch);
    out->ended = leat_patience_is_over(&trainer->decide.stop);
    out->best = trainer->decide.best.best;
    out->best_batch = trainer->decide.best.best_at;
    snprintf(best, sizeof best, "\nbest %s ", leat_patience_metrics[trainer->decide.best.metric]);
    const bool other =
        trainer->decide.best.metric == LEAT_METRIC_LOSS ? parsed.other_loss : parsed.other_metrics;
    out->kept_best = !other && strstr(parsed.decisions, best) != NULL;
    return LEAT_OK;
}

int leat_checkpoint_read_opened(leat_trainer *trainer, const leat_safetensors *file,
                                const char *path, leat_checkpoint_found *out, leat_error *err)
{
    leat_param_file values = { 0 };
    int rc = leat_trainer_sync(trainer, err);
    if (rc == LEAT_OK)
        rc = read_parts(trainer, file, path, out, &values, err);
    leat_param_file_close(&values);
    return rc;
}

int leat_checkpoint_read(leat_trainer *trainer, const char *path, leat_checkpoint_found *out,
                         leat_error *err)
{
    leat_safetensors *file;
    leat_format_error from;
    if (leat_safetensors_open(&file, path, &from) < 0)
        return leat_param_file_failed(err, &from);
    const int rc = leat_checkpoint_read_opened(trainer, file, path, out, err);
    leat_safetensors_close(&file);
    return rc;
}
