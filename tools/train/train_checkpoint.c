/* SPDX-License-Identifier: MIT */
#include "train_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "formats/figure.h"
#include "formats/safetensors.h"
#include "host.h"
#include "print/terminal.h"

/* --- the folder --------------------------------------------------------------------------------*/

/* What runs left that were killed while they wrote. */
static void remove_parts(const char *folder)
{
    const struct dirent *entry;
    DIR *const dir = opendir(folder);
    while (dir && (entry = readdir(dir)))
        if (!fnmatch(".step-*.safetensors.*.tmp", entry->d_name, 0) ||
            !fnmatch("." LEAT_CHECKPOINT_BEST ".*.tmp", entry->d_name, 0))
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
}

/* Opens .lock and locks it. -1: *err says why not. */
static int take_lock(const char *folder, leat_error *err)
{
    static const int tries[] = { O_RDWR | O_CREAT, O_RDONLY };
    char *const path = leat_files_text("%s/.lock", folder);
    int lock = -1;
    if (!path) {
        leat_fail(err, LEAT_E_NOMEM, "out of memory");
        return -1;
    }
    for (size_t i = 0; i < 2 && lock < 0; i++)
        lock = open(path, tries[i] | O_NOFOLLOW | O_CLOEXEC, 0666);
    free(path);
    if (lock < 0)
        leat_fail(err, LEAT_E_IO, "--checkpoint %s: its file .lock: %s", folder, strerror(errno));
    else if (flock(lock, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        leat_fail(err, LEAT_E_IO,
                  "--checkpoint %s: another leat train, which is still running, keeps its "
                  "checkpoints there: stop it, or name another folder",
                  folder);
        close(lock);
        lock = -1;
    }
    return lock;
}

/* Two runs would delete each other's checkpoints. A file, open for writing, as NFS has no locks of folders; some file systems
 * have none at all. */
static int lock(leat_train_checkpoint *keep, leat_error *err)
{
    keep->lock = take_lock(keep->folder, err);
    if (keep->lock < 0)
        return err->code;
    stat(keep->folder, &keep->held);
    if (flock(keep->lock, LOCK_EX | LOCK_NB) ==
        0) /* else there are no locks: they may be a live run's */
        remove_parts(keep->folder);
    return LEAT_OK;
}

/* Makes the folder and checks that files can be written, so that no epoch is lost. */
static int open_folder(leat_train_checkpoint *keep, leat_error *err)
{
    char *const file = leat_files_text("%s/.check", keep->folder);
    const int rc =
        file ? leat_files_check(file, NULL, err) : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    free(file);
    return rc < 0 ? leat_fail_in(err, rc, "--checkpoint: ") : lock(keep, err);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool leat_train_checkpoint_held(const leat_train_checkpoint *keep)
{
    struct stat held, named;
    char *const path = leat_files_text("%s/.lock", keep->folder);
    const bool is_held = keep->lock <= 0 || (path && fstat(keep->lock, &held) == 0 &&
                                             lstat(path, &named) == 0 && same_file(&held, &named));
    free(path);
    return is_held;
}

/* Whether the folder is this run's without its lock: the same one, or one with its last checkpoint, such as a copy. The number
 * of a folder that was removed is given to no other while its .lock is open. */
static bool is_ours(const leat_train_checkpoint *keep)
{
    struct stat now;
    if (stat(keep->folder, &now) == 0 && same_file(&now, &keep->held))
        return true;
    return *keep->path && stat(keep->path, &now) == 0 && now.st_size == keep->last.st_size &&
           now.st_mtim.tv_sec == keep->last.st_mtim.tv_sec;
}

int leat_train_checkpoint_ensure_held(leat_train_checkpoint *keep, leat_error *err)
{
    if (leat_train_checkpoint_held(keep))
        return LEAT_OK;
    if (!is_ours(keep))
        return leat_fail(err, LEAT_E_IO,
                         "--checkpoint %s: it is not the folder any more that this run holds: it "
                         "was moved, removed or replaced, and may be another run's; move it back, "
                         "or end this run",
                         keep->folder);
    const int again = take_lock(keep->folder, err);
    if (again < 0)
        return err->code;
    close(keep->lock);
    keep->lock = again;
    stat(keep->folder, &keep->held);
    fprintf(
        stderr,
        "leat train: --checkpoint %s: its file .lock was removed or replaced; it is held again\n",
        keep->folder);
    return LEAT_OK;
}

void leat_train_checkpoint_close(leat_train_checkpoint *keep)
{
    if (keep->lock > 0)
        close(keep->lock);
    keep->lock = 0;
}

/* --- resuming ----------------------------------------------------------------------------------*/

/* Whether the best weights there are whole, and of a program that does not write after how many batches, as a run does. */
static bool is_foreign_best(const char *folder)
{
    char *const path = leat_files_text("%s/" LEAT_CHECKPOINT_BEST, folder);
    leat_safetensors *file = NULL;
    leat_format_error why;
    const bool is = path && leat_safetensors_open(&file, path, &why) == LEAT_FORMAT_OK &&
                    !leat_safetensors_note_of(file, "batches");
    leat_safetensors_close(&file);
    free(path);
    return is;
}

/* A run would replace the best weights of another one. */
static int refuse_best(const char *folder, leat_error *err)
{
    char *const path = leat_files_text("%s/" LEAT_CHECKPOINT_BEST, folder);
    if (!path)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    const bool is_there = access(path, F_OK) == 0;
    int rc = LEAT_OK;
    if (!is_there && !leat_format_is_absent(errno))
        rc = leat_fail(err, LEAT_E_IO, "--checkpoint: %s: %s", path, strerror(errno));
    free(path);
    return is_there ? leat_fail(err, LEAT_E_ARGUMENT,
                                "--checkpoint %s: the folder has " LEAT_CHECKPOINT_BEST
                                " of another run, or of one that has no checkpoint or went on "
                                "without `best` or by another metric or loss, which would be "
                                "replaced: name another folder, or move it",
                                folder)
                    : rc;
}

static int refuse_used(const char *folder, bool keeps_best, leat_error *err)
{
    int64_t step;
    const int rc = leat_checkpoint_newest(folder, &step, err);
    if (rc < 0)
        return leat_fail_in(err, rc, "--checkpoint: ");
    if (step < 0)
        return keeps_best ? refuse_best(folder, err) : LEAT_OK;
    return leat_fail(err, LEAT_E_ARGUMENT,
                     "--checkpoint %s: the folder has checkpoints of a run of %lld steps: add "
                     "--resume to go on with it, or name another folder",
                     folder, (long long)step);
}

/* True if `from` is this folder, or a file in it. */
static bool is_of_folder(const leat_train_checkpoint *keep, const char *from)
{
    struct stat there;
    char *const here = leat_files_text(
        "%s/%s", keep->folder,
        stat(from, &there) == 0 && S_ISDIR(there.st_mode) ? "." : leat_files_base_name(from));
    const bool is = here && leat_files_same(from, here);
    free(here);
    return is;
}

/* --resume alone would go on with later steps of the folder, or with those of another run, which this one would also delete
 * one by one. Damaged ones that were passed over are its own. */
static int refuse_others(const leat_train_checkpoint *keep, const char *from,
                         const leat_checkpoint_found *found, bool keeps_best, leat_error *err)
{
    int64_t newest;
    const bool own = is_of_folder(keep, from);
    const int rc = leat_checkpoint_newest(keep->folder, &newest, err);
    if (rc < 0)
        return leat_fail_in(err, rc, "--checkpoint: ");
    if (own ? newest > found->state.next_batch && !found->n_damaged : newest >= 0)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--checkpoint %s: the folder has checkpoints of %s than %s, up to %lld, "
                         "with which --resume would go on: name another folder, or move them",
                         keep->folder, own ? "later steps" : "another run", found->path,
                         (long long)newest);
    return keeps_best && !own ? refuse_best(keep->folder, err) : LEAT_OK;
}

/* The number of parts of a batch in what a checkpoint says of its model; 0: it is none. */
static int64_t parts_in(const char *path)
{
    static const char key[] = "\nmicro_batches ";
    leat_safetensors *file = NULL;
    leat_format_error why;
    int64_t n = 0;
    if (leat_safetensors_open(&file, path, &why) == LEAT_FORMAT_OK) {
        const char *const model = leat_safetensors_note_of(file, "model");
        const char *const at = model ? strstr(model, key) : NULL;
        n = at ? strtoll(at + sizeof key - 1, NULL, 10) : 0;
    }
    leat_safetensors_close(&file);
    return n;
}

/* Of the newest one of a folder that can be opened. */
static int64_t parts_in_folder(const char *folder)
{
    const struct dirent *entry;
    char newest[sizeof entry->d_name] = "";
    int64_t n = 0;
    DIR *const dir = opendir(folder);
    while (dir && (entry = readdir(dir))) {
        if (fnmatch("step-*.safetensors", entry->d_name, 0) || strcmp(entry->d_name, newest) < 0)
            continue;
        char *const path = leat_files_text("%s/%s", folder, entry->d_name);
        const int64_t found = path ? parts_in(path) : 0;
        if (found > 0) {
            n = found;
            snprintf(newest, sizeof newest, "%s", entry->d_name);
        }
        free(path);
    }
    if (dir)
        closedir(dir);
    return n;
}

int leat_train_checkpoint_parts(leat_config *config, const char *from, int64_t batch_size,
                                leat_error *err)
{
    char text[LEAT_CHECKPOINT_PATH];
    struct stat there;
    if (leat_config_get(config, "train.micro_batches", text, sizeof text, NULL) == LEAT_OK &&
        strcmp(text, "auto") != 0)
        return LEAT_OK;
    if (*from)
        snprintf(text, sizeof text, "%s", from);
    else if (leat_config_get(config, "train.checkpoint.dir", text, sizeof text, NULL) < 0)
        return LEAT_OK;
    const bool is_folder = stat(text, &there) == 0 && S_ISDIR(there.st_mode);
    const int64_t n = is_folder ? parts_in_folder(text) : parts_in(text);
    snprintf(text, sizeof text, "train.micro_batches=%lld", (long long)n);
    return n >= 1 && n <= batch_size ? leat_config_set_as(config, text, "--resume", err) : LEAT_OK;
}

/* Batches of the run before the weights of a file; INT64_MAX: not known, 0: there is no file. */
static int64_t batches_of(const char *path)
{
    leat_safetensors *file = NULL;
    leat_format_error why;
    int64_t n = INT64_MAX;
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return 0;
    if (leat_safetensors_open(&file, path, &why) == LEAT_FORMAT_OK) {
        const char *const note = leat_safetensors_note_of(file, "batches");
        n = note ? strtoll(note, NULL, 10) : n;
    }
    leat_safetensors_close(&file);
    return n;
}

int leat_train_checkpoint_known_best(leat_train_run *t, const leat_checkpoint_found *found,
                                     leat_error *err)
{
    if (!t->keep.has_best || found->best_batch != found->state.next_batch)
        return LEAT_OK;
    char *const path = leat_files_text("%s/" LEAT_CHECKPOINT_BEST, t->keep.folder);
    int rc = path ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    if (path && batches_of(path) < found->best_batch &&
        (rc = leat_train_checkpoint_ensure_held(&t->keep, err)) == LEAT_OK)
        rc = leat_trainer_save(t->trainer, path, err);
    if (rc == LEAT_E_IO) { /* as of a full disk, which ends no run */
        fprintf(stderr, "leat train: cannot save the best weights, the run goes on: %s\n",
                err->message);
        rc = LEAT_OK;
    }
    free(path);
    return rc;
}

static void say_found(const char *path, const leat_checkpoint_found *found)
{
    if (found->n_damaged)
        fprintf(stderr, "leat train: passed over %d checkpoint%s that %s not whole: %s\n",
                found->n_damaged, found->n_damaged == 1 ? "" : "s",
                found->n_damaged == 1 ? "is" : "are", found->damaged);
    if (*found->path)
        fprintf(stderr, "leat train: goes on from %s, after %s steps\n",
                leat_terminal_name(found->path),
                leat_figure_count((uint64_t)found->state.next_batch).text);
    else
        fprintf(stderr, "leat train: no checkpoint in %s: begins at the first step\n",
                leat_terminal_name(path));
    if (*found->changed)
        fprintf(stderr, "leat train: other settings than in the saved run: %s\n",
                leat_terminal_name(found->changed));
    if (found->anew)
        fprintf(stderr, "leat train: with them evaluations measure something else: the best one "
                        "begins anew, as does the patience of train.stop and `plateau`\n");
}

int leat_train_checkpoint_open(leat_train_run *t, const char *from, bool writes,
                               leat_checkpoint_found *found, leat_error *err)
{
    const leat_trainer_info *info = leat_trainer_get_info(t->trainer);
    leat_train_checkpoint *const keep = &t->keep;
    *keep = (leat_train_checkpoint){
        .folder = writes ? info->checkpoint_dir : NULL,
        .every_steps = info->checkpoint_steps,
        .every_ns = (int64_t)(info->checkpoint_minutes * 60e9),
        .n_kept = info->checkpoint_keep,
        .last_ns = leat_host_now_ns(),
    };
    *found = (leat_checkpoint_found){ 0 };
    if (keep->folder && info->simulated)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--checkpoint: %s is simulated, so there are no weights to save",
                         info->simulated_by);
    int rc = keep->folder ? open_folder(keep, err) : LEAT_OK;
    if (rc < 0)
        return rc;
    if (!from)
        return keep->folder ? refuse_used(keep->folder, info->checkpoint_best, err) : LEAT_OK;
    const bool named = *from != '\0';
    if (!named)
        from = info->checkpoint_dir;
    if (!from)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--resume: name the folder with --checkpoint DIR, or a checkpoint with "
                         "--resume=FILE");
    rc = leat_checkpoint_resume(t->trainer, from, found, err);
    if (rc == LEAT_OK && named && !*found->path)
        rc = leat_fail(err, LEAT_E_IO, "%s: there is no checkpoint", from);
    if (rc < 0)
        return leat_fail_in(err, rc, "--resume: ");
    if (keep->folder && named &&
        (rc = refuse_others(keep, from, found, info->checkpoint_best, err)) < 0)
        return rc;
    say_found(from, found);
    /* In the folder of the run itself, no other run with best weights has begun if the checkpoint knows of them. */
    if (keep->folder && info->checkpoint_best && (!named || is_of_folder(keep, from))) {
        keep->has_best = *found->path && found->kept_best;
        if ((!found->kept_best || is_foreign_best(keep->folder)) &&
            (rc = refuse_best(keep->folder, err)) < 0)
            return rc;
    }
    keep->goes_on = *found->path != '\0';
    return LEAT_OK;
}

/* --- saving ------------------------------------------------------------------------------------*/

static int save(leat_train_run *t, leat_error *err)
{
    leat_train_checkpoint *const keep = &t->keep;
    char path[LEAT_CHECKPOINT_PATH];
    leat_loader_state state;
    leat_loader_get_state(t->loader, &state);
    leat_train_log_flush(t->log); /* a run that is killed goes on behind these steps */
    int rc = leat_train_checkpoint_ensure_held(keep, err);
    if (rc == LEAT_OK)
        rc = leat_checkpoint_save(t->trainer, &state, keep->folder, keep->n_kept, path, err);
    keep->due = false;
    keep->failed = rc < 0;
    keep->last_steps = t->steps;
    keep->last_ns = leat_host_now_ns();
    if (rc < 0)
        return rc;
    snprintf(keep->path, sizeof keep->path, "%s", path);
    stat(path, &keep->last);
    keep->saved_steps = t->steps;
    return LEAT_OK;
}

static void try_save(leat_train_run *t)
{
    leat_error err;
    if (save(t, &err) < 0)
        fprintf(stderr, "leat train: cannot write a checkpoint, the run goes on: %s\n",
                err.message);
}

void leat_train_checkpoint_before_best(leat_train_run *t)
{
    if (leat_checkpoint_ready(t->trainer))
        try_save(t);
}

void leat_train_checkpoint_step(leat_train_run *t, int64_t left)
{
    leat_train_checkpoint *const keep = &t->keep;
    const bool is_saved = *keep->path && keep->saved_steps == t->steps;
    if (leat_checkpoint_ready(t->trainer))
        keep->ready_steps = t->steps;
    if (!keep->folder)
        return;
    /* Half the batches, where several make an update: if as many are masked, this update is the last one all the same. */
    const bool halves = keep->masks && leat_checkpoint_is_last(t->trainer, 1);
    keep->due |= (!is_saved && leat_checkpoint_is_last(t->trainer, halves ? left / 2 : left)) ||
                 (left == 0 && keep->ready_steps != keep->saved_steps) ||
                 (keep->every_steps > 0 && t->steps - keep->last_steps >= keep->every_steps) ||
                 (keep->every_ns > 0 && leat_host_now_ns() - keep->last_ns >= keep->every_ns);
    if (keep->due && leat_checkpoint_ready(t->trainer))
        try_save(t);
}

/* What batches behind the last update change all the same: the statistics of batch_norm, and at the end of the run weights by
 * `average: lookahead`. */
static void say_unused(const leat_train_checkpoint *keep)
{
    const char *more =
        "; the last checkpoint is from before them, and --save, which is of the end, "
        "may differ from it in statistics of batch_norm, and with lookahead in "
        "weights";
    if (!keep->folder)
        more = "";
    else if (keep->ready_steps == 0 && !keep->goes_on)
        more = ", and there is no checkpoint of them";
    else if (keep->saved_steps != keep->ready_steps)
        more = "; there is no checkpoint of the last update, because batches after it were masked";
    fprintf(stderr,
            "leat train: the last batches made no update: they are only a part of those that "
            "make one (train.accumulate)%s\n",
            more);
}

int leat_train_checkpoint_end(leat_train_run *t, leat_error *err)
{
    leat_train_checkpoint *const keep = &t->keep;
    const bool is_whole = leat_checkpoint_ready(t->trainer);
    if (is_whole)
        keep->ready_steps = t->steps;
    else if (keep->failed)
        return leat_fail(err, LEAT_E_IO,
                         "--checkpoint %s: the checkpoint of the last update could not be written",
                         keep->folder);
    else if (t->steps > 0)
        say_unused(keep);
    if (!keep->folder || t->steps == 0 || !is_whole ||
        (*keep->path && keep->saved_steps == t->steps))
        return LEAT_OK;
    return save(t, err);
}
