/* SPDX-License-Identifier: MIT */
#include "train_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

static char *best_path(const leat_train_run *t)
{
    return leat_files_text("%s/" LEAT_CHECKPOINT_BEST, t->keep.folder);
}

/* As with checkpoints, a disk that is full for a while does not end a run. Then the best ones are those in the file. */
static int save_best(leat_train_run *t, leat_train_epoch *e, leat_error *err)
{
    char *const path = best_path(t);
    if (!path)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    const int rc = leat_trainer_save(t->trainer, path, err);
    if (rc < 0)
        fprintf(stderr,
                "leat train: cannot save the best weights, the run goes on; %s has those of an "
                "earlier epoch, if it is there: %s\n",
                path, err->message);
    free(path);
    return rc == LEAT_E_IO ? leat_trainer_decide_unkept(t->trainer, &e->decided, err) : rc;
}

int leat_train_decide(leat_train_run *t, leat_train_epoch *e, leat_error *err)
{
    int rc = leat_trainer_decide(t->trainer, &e->eval, &e->decided, err);
    if (rc == LEAT_OK && e->decided.better && t->keep.folder)
        rc = save_best(t, e, err);
    t->decided = e->decided;
    return rc;
}

void leat_train_decide_print(const leat_train_run *t, const leat_train_epoch *e)
{
    if (e->decided.lowered)
        printf("%7s (no better evaluation: the learning rate is now %.4g)\n", "",
               leat_trainer_learning_rate(t->trainer));
    if (e->decided.stop)
        printf("%7s (no better evaluation: the run ends here, as train.stop says)\n", "");
}

/* The epoch of the best evaluation, from 0; -1: none. */
static int64_t best_epoch(const leat_train_run *t)
{
    const int64_t per_epoch = leat_plan_get_info(t->plan)->n_batches;
    const bool known = t->decided.best_batch > 0 && per_epoch > 0;
    return known ? t->decided.best_batch / per_epoch - 1 : -1;
}

/* The file of its weights, in new memory. NULL: it is not there, as when the run went on in another folder and the best epoch
 * was before that, or *why not. */
static char *best_file(const leat_train_run *t, leat_error *why)
{
    char *path = best_path(t);
    if (path && leat_checkpoint_check_best(t->trainer, t->keep.folder, why) < 0) {
        free(path);
        path = NULL;
    }
    return path;
}

void leat_train_decide_end(const leat_train_run *t)
{
    const char *const metric = leat_trainer_get_info(t->trainer)->checkpoint_best;
    if (!metric || !t->keep.folder || best_epoch(t) < 0)
        return;
    leat_error why = { 0 };
    char *const path = best_file(t, &why);
    printf("; best weights, %s %.6g in epoch %lld, %s %s", metric, t->decided.best,
           (long long)best_epoch(t) + 1, path ? "in" : "not in", path ? path : t->keep.folder);
    if (why.code == LEAT_E_DATA)
        printf(" (%s)", why.message);
    free(path);
}

void leat_train_decide_add(json_t *object, const leat_train_run *t)
{
    const char *const metric = leat_trainer_get_info(t->trainer)->checkpoint_best;
    leat_json_add(object, "best", json_null());
    if (!metric || !t->keep.folder || best_epoch(t) < 0)
        return;
    char *const path = best_file(t, NULL);
    json_t *json = leat_json_object(object, "best");
    leat_json_text(json, "metric", metric);
    leat_json_real(json, "value", t->decided.best);
    leat_json_int(json, "epoch", best_epoch(t));
    leat_json_text(json, "file", path);
    free(path);
}
