/* SPDX-License-Identifier: MIT
 *
 * shard_commits.h: syncs the files of a set beside the conversion. A disk takes milliseconds to sync a small file, and
 * hardly longer for several at once. shards.c and record_shards.c use it. */
#ifndef LEAT_SHARD_COMMITS_H
#define LEAT_SHARD_COMMITS_H

#include "formats/tfrecord.h"
#include "leat/error.h"

typedef struct leat_shard_commits leat_shard_commits;

/* Returns LEAT_OK or LEAT_E_NOMEM. */
int leat_shard_commits_open(leat_shard_commits **out, leat_error *err);

/* Takes over a writer whose records are all written: syncs it and gives it its name, which the caller must sync
 * (leat_tfrecord_writer_commit_unsynced()). Waits while many others are being synced. Any thread.
 *
 * shard    its number, so that the first of several errors is reported */
void leat_shard_commits_add(leat_shard_commits *commits, leat_tfrecord_writer *writer,
                            int32_t shard);

/* Waits for all that were added. */
void leat_shard_commits_wait(leat_shard_commits *commits);

/* Does not wait. Returns LEAT_FORMAT_OK, or the error of the first shard that has one so far, with its number. */
int leat_shard_commits_error(leat_shard_commits *commits, int32_t *shard, leat_format_error *why);

/* Waits for all, and frees. Takes NULL. */
void leat_shard_commits_close(leat_shard_commits **commits);

#endif
