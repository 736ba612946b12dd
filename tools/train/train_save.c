/* SPDX-License-Identifier: MIT
 *
 * train_save.c: what --save of `leat train` must not replace. */
#include "train_run.h"

#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "formats/link.h"
#include "formats/safetensors.h"
#include "outputs.h"

/* All paths below are without a link at their end: what a link leads to is replaced.
 *
 * A checkpoint of any run, or a name that one has: --resume would go on with it, and `keep` delete it. */
static bool is_checkpoint(const char *path)
{
    const char *const name = leat_files_base_name(path);
    char *const folder = leat_files_text("%.*s.", (int)(name - path), path);
    leat_safetensors *file = NULL;
    leat_format_error why;
    int64_t step = -1;
    bool is = leat_outputs_is_step(name);
    if (!strcmp(name, LEAT_CHECKPOINT_BEST) && folder)
        is |= leat_checkpoint_newest(folder, &step, NULL) == LEAT_OK && step >= 0;
    if (!is && leat_safetensors_open(&file, path, &why) == LEAT_FORMAT_OK)
        is = leat_safetensors_note_of(file, "checkpoint") != NULL;
    leat_safetensors_close(&file);
    free(folder);
    return is;
}

/* The folder of the checkpoints keeps files of such names itself. */
static bool is_kept(const char *folder, const char *path)
{
    const char *const name = leat_files_base_name(path);
    char *const best = leat_files_text("%s/" LEAT_CHECKPOINT_BEST, folder);
    char *const own = leat_files_text("%s/%s", folder, name);
    char *const lock = leat_files_text("%s/.lock", folder);
    const bool kept = (best && leat_files_same(path, best)) ||
                      (lock && leat_files_same(path, lock)) ||
                      (own && !strncmp(name, "step-", 5) && leat_files_same(path, own));
    free(best);
    free(own);
    free(lock);
    return kept;
}

int leat_train_check_save(const leat_train_run *t, const leat_config *config, const char *save,
                          const char *resume, leat_error *err)
{
    static const leat_output_kind weights = { "a file of weights that leat wrote",
                                              "{\"__metadata__\":{\"writer\":\"leat ", 8 };
    const char *const folder = leat_trainer_get_info(t->trainer)->checkpoint_dir;
    char from[LEAT_CHECKPOINT_PATH];
    const bool begins =
        leat_config_get(config, "train.weights.file", from, sizeof from, NULL) == LEAT_OK ||
        leat_config_get(config, "train.weights", from, sizeof from, NULL) == LEAT_OK;
    leat_format_error why;
    const int rc = leat_files_check(save, &weights, err);
    if (rc < 0)
        return leat_fail_in(err, rc, "--save: ");
    char *path = NULL;
    if (leat_link_follow(save, &path, &why) < 0)
        return leat_fail_in(err, leat_files_fail(err, &why), "--save: ");
    const bool kept = (folder && is_kept(folder, path)) || (resume && is_kept(resume, path));
    const bool checkpoint = is_checkpoint(path);
    free(path);
    if (kept)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--save: %s is a file that --checkpoint keeps in its folder, and would be "
                         "overwritten: choose another name",
                         save);
    if ((begins && leat_files_same(save, from)) || (resume && leat_files_same(save, resume)))
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--save: %s is an input and would be overwritten: choose another name",
                         save);
    if (checkpoint)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--save: %s is a checkpoint of a run, or has the name of one, and would "
                         "be replaced by weights alone: choose another name",
                         save);
    return LEAT_OK;
}
