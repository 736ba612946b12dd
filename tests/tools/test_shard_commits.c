/* SPDX-License-Identifier: MIT
 *
 * test_shard_commits.c: a set of many small files waits for the disk about once, not once or twice for each file; and
 * what the disk says of any of them ends the conversion. */
#include "fixtures/own_folder.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include "convert/file_set.h"

enum { SHARDS = 200 };

static atomic_int n_syncs, n_at_once, most_at_once;
static atomic_int fails_at; /* this sync and all later ones fail; 0: none */

/* In place of the C library's: a disk that takes 3 ms. */
int fsync(int fd)
{
    const int at_once = atomic_fetch_add(&n_at_once, 1) + 1;
    int most = atomic_load(&most_at_once);
    (void)fd;
    while (at_once > most && !atomic_compare_exchange_weak(&most_at_once, &most, at_once))
        ;
    nanosleep(&(struct timespec){ .tv_nsec = 3000000 }, NULL);
    atomic_fetch_sub(&n_at_once, 1);
    const int number = atomic_fetch_add(&n_syncs, 1) + 1;
    errno = EIO;
    const int fails = atomic_load(&fails_at);
    return fails && number >= fails ? -1 : 0;
}

/* A record a shard. */
static int write_set(const char *prefix, int fails, leat_error *err)
{
    leat_progress progress;
    leat_record_shards s = {
        .prefix = prefix, .n_shards = SHARDS, .total = SHARDS, .progress = &progress
    };
    leat_progress_init(&progress, "test", "records", SHARDS, LEAT_PROGRESS_OFF);
    int rc = leat_record_shards_open(&s, err);
    if (rc == LEAT_OK)
        rc = leat_record_shards_lock(&s, err);
    atomic_store(&fails_at, fails);
    atomic_store(&n_syncs, 0);
    atomic_store(&most_at_once, 0);
    for (int i = 0; i < SHARDS && rc == LEAT_OK; i++)
        rc = leat_record_shards_write(&s, &i, sizeof i, err);
    if (rc == LEAT_OK)
        rc = leat_record_shards_commit(&s, err);
    leat_record_shards_close(&s);
    atomic_store(&fails_at, 0);
    leat_progress_fini(&progress);
    return rc;
}

TEST(small_files_are_synced_together)
{
    leat_error err;
    assert_int_equal(write_set(in_folder("a/x"), 0, &err), LEAT_OK);
    assert_in_range(atomic_load(&n_syncs), SHARDS, SHARDS + 20); /* each file, and a few folders */
    assert_in_range(atomic_load(&most_at_once), 4, 17);
}

TEST(a_failed_sync_ends_the_conversion)
{
    static const int at[] = { 1, 2, 100, SHARDS - 1, SHARDS };
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        leat_error err = { 0 };
        struct stat status;
        char *const name = leat_shard_name(in_folder("b/x"), 0, SHARDS);
        assert_int_equal(write_set(in_folder("b/x"), at[i], &err), LEAT_E_IO);
        assert_non_null(strstr(err.message, "of-00200.tfrecord: "));
        assert_true(atomic_load(&n_syncs) <= at[i] + 60); /* it stops early */
        assert_int_equal(lstat(name, &status), -1);
        free(name);
    }
}

SUITE_FIXTURE(make_folder, remove_folder)
