/* SPDX-License-Identifier: MIT
 *
 * loader_files.c: checks that files were not changed while records were read from them, before an epoch or a run counts.
 * Without the lock: it asks the file system. */
#include "engine.h"

int leat_loader_check_files(leat_loader *loader, leat_error *err)
{
    leat_error why = { 0 };
    if (!loader)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_loader_check_files: loader must be given");
    if (leat_loader_is_forked(loader))
        return leat_loader_fail_forked(err);
    const leat_source *const source = loader->plan->source;
    if (!source->table->check_read || source->table->check_read(source, &why) >= 0)
        return LEAT_OK;
    pthread_mutex_lock(&loader->lock);
    if (loader->failure.code >= 0)
        loader->failure = why;
    pthread_mutex_unlock(&loader->lock);
    return leat_fail_as(err, &why);
}

int leat_loader_check_epoch(leat_loader *loader, int rc, leat_batch **out, leat_error *err)
{
    const int64_t n_batches = loader->plan->info.n_batches;
    const bool last = rc >= 0 && n_batches > 0 && ((*out)->info.number + 1) % n_batches == 0;
    const int checked = last || rc == LEAT_E_END ? leat_loader_check_files(loader, err) : LEAT_OK;
    if (checked >= 0)
        return rc;
    leat_batch_release(*out);
    *out = NULL;
    return checked;
}
