/* SPDX-License-Identifier: MIT
 *
 * test_shard_commits.c: a set of many small files waits for the disk about once, not once or twice for each file; no file
 * counts as complete before the disk has it; and what the disk says of any of them ends the conversion. */
#include "fixtures/own_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>

#include "convert/convert.h"
#include "convert/file_set.h"
#include "convert/image_file.h"

enum { SHARDS = 200, TOGETHER = 4, WAIT_S = 60 };

/* What has been seen of the disk. All [lock], but what a test sets before its threads start. */
static struct {
    int n_syncs, n_at_once, most_at_once;
    int n_renamed;      /* shards that have a name in the folder .x.part */
    ino_t folder;       /* synced since the last rename */
    int at_unlink;      /* n_renamed when `unfinished` was removed; -1: was not */
    bool synced_before; /* the folder was synced between the last rename and that */
    bool shard_failed[SHARDS], shard_came[SHARDS];
    /* of the test */
    int fails_at; /* this sync and all later ones fail; 0: none */
    int (*shard_of)(const char *bytes,
                    size_t n_bytes); /* which shard a file is; NULL: all are alike */
    int failing[2];                  /* shards that fail, the second before the first */
} disk;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t main_thread;

/* Until it is true, or much longer than any machine takes: the test then fails by what it compares. */
static void wait_until_locked(const bool *is_so)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += WAIT_S;
    while (!*is_so && pthread_cond_timedwait(&changed, &lock, &end) == 0)
        ;
}

/* Time for the caller of a failed fsync() to note it. With less the tests pass too, but find less. */
static void let_others_see(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
}

static int shard_of_file(int fd)
{
    char path[64], bytes[8192];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const int file = open(path, O_RDONLY | O_CLOEXEC); /* fd itself may be for writing only */
    const ssize_t n = read(file, bytes, sizeof bytes);
    close(file);
    return n > 0 ? disk.shard_of(bytes, (size_t)n) : -1;
}

/* In place of the C library's: a disk that is slow until TOGETHER threads wait for it, or all of which fails from
 * some point on, or that refuses two shards, the later one first. */
int fsync(int fd)
{
    static bool are_together;
    struct stat status;
    fstat(fd, &status);
    const int shard = disk.shard_of && S_ISREG(status.st_mode) ? shard_of_file(fd) : -1;
    pthread_mutex_lock(&lock);
    const int number = ++disk.n_syncs;
    int rc = disk.fails_at && number >= disk.fails_at ? -1 : 0;
    if (S_ISDIR(status.st_mode))
        disk.folder = status.st_ino;
    if (++disk.n_at_once > disk.most_at_once)
        disk.most_at_once = disk.n_at_once;
    are_together = disk.most_at_once >= TOGETHER;
    if (shard >= 0)
        disk.shard_came[shard] = true;
    pthread_cond_broadcast(&changed);
    if (!disk.shard_of && !pthread_equal(pthread_self(), main_thread))
        wait_until_locked(&are_together);
    if (shard >= 0 && (shard == disk.failing[0] || shard == disk.failing[1])) {
        if (shard == disk.failing[0]) {
            wait_until_locked(&disk.shard_failed[disk.failing[1]]);
            pthread_mutex_unlock(&lock);
            let_others_see();
            pthread_mutex_lock(&lock);
        }
        disk.shard_failed[shard] = true;
        rc = -1;
    }
    disk.n_at_once--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    errno = EIO;
    return rc;
}

int rename(const char *from, const char *to)
{
    pthread_mutex_lock(&lock);
    const int rc = renameat(AT_FDCWD, from, AT_FDCWD, to);
    disk.n_renamed += strstr(to, ".x.part/") && strstr(to, ".tfrecord");
    disk.folder = 0;
    pthread_mutex_unlock(&lock);
    return rc;
}

int unlink(const char *path)
{
    const char *const name = strrchr(path, '/');
    struct stat status;
    pthread_mutex_lock(&lock);
    if (name && !strcmp(name, "/unfinished") && disk.at_unlink < 0) {
        char *const folder = strndup(path, (size_t)(name - path));
        disk.at_unlink = disk.n_renamed;
        disk.synced_before = stat(folder, &status) == 0 && status.st_ino == disk.folder;
        free(folder);
    }
    pthread_mutex_unlock(&lock);
    return unlinkat(AT_FDCWD, path, 0);
}

static void forget(void)
{
    memset(&disk, 0, sizeof disk);
    disk.at_unlink = disk.failing[0] = disk.failing[1] = -1;
    main_thread = pthread_self();
}

/* --- records: a record a shard ------------------------------------------------------------------- */

static int write_set(const char *prefix, int fails_at, leat_error *err)
{
    leat_progress progress;
    const leat_convert how = { .prefix = prefix, .n_shards = SHARDS };
    leat_record_shards s = { .how = &how, .about.total = SHARDS, .progress = &progress };
    leat_progress_init(&progress, "test", "records", SHARDS, LEAT_PROGRESS_OFF);
    int rc = leat_record_shards_open(&s, err);
    disk.n_syncs = disk.most_at_once = 0;
    disk.fails_at = fails_at;
    for (int i = 0; i < SHARDS && rc == LEAT_OK; i++)
        rc = leat_record_shards_write(&s, &i, sizeof i, err);
    if (rc == LEAT_OK)
        rc = leat_record_shards_end(&s, err);
    if (rc == LEAT_OK)
        rc = leat_record_shards_commit(&s, err);
    leat_record_shards_close(&s);
    leat_progress_fini(&progress);
    return rc;
}

TEST(small_files_are_synced_together)
{
    leat_error err;
    char prefix[64];
    forget();
    snprintf(prefix, sizeof prefix, "%s/a/x", test_folder);
    assert_int_equal(write_set(prefix, 0, &err), LEAT_OK);
    assert_in_range(disk.n_syncs, SHARDS, SHARDS + 20); /* each file, and a few folders */
    assert_in_range(disk.most_at_once, TOGETHER, 17);
    assert_int_equal(disk.at_unlink, SHARDS);
    assert_true(disk.synced_before);
}

TEST(a_failed_sync_ends_the_conversion)
{
    static const int at[] = { 1, 2, 100, SHARDS - 1, SHARDS };
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s/b/x", test_folder);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        leat_error err = { 0 };
        struct stat status;
        char *const name = leat_shard_name(prefix, 0, SHARDS);
        forget();
        assert_int_equal(write_set(prefix, at[i], &err), LEAT_E_IO);
        assert_non_null(strstr(err.message, "of-00200.tfrecord: "));
        assert_true(disk.n_syncs <= at[i] + 40); /* it stops early */
        assert_int_equal(lstat(name, &status), -1);
        free(name);
    }
}

static int shard_of_record(const char *bytes, size_t n_bytes)
{
    int shard = -1;
    if (n_bytes == 12 + sizeof shard + 4) /* length, its CRC, record, its CRC */
        memcpy(&shard, bytes + 12, sizeof shard);
    return shard >= 0 && shard < SHARDS ? shard : -1;
}

/* The first in order, though it fails last. */
TEST(of_two_failed_shards_the_first_is_reported)
{
    leat_error err = { 0 };
    char prefix[64];
    forget();
    disk.shard_of = shard_of_record;
    disk.failing[0] = 3;
    disk.failing[1] = 5;
    snprintf(prefix, sizeof prefix, "%s/c/x", test_folder);
    assert_int_equal(write_set(prefix, 0, &err), LEAT_E_IO);
    assert_non_null(strstr(err.message, "/c/x-00003-of-00200.tfrecord: "));
    assert_true(disk.shard_failed[5]);
}

/* --- images: one a shard --------------------------------------------------------------------------- */

static int shard_of_image(const char *bytes, size_t n_bytes)
{
    for (int i = 0; i < 3; i++) {
        const char name[] = { 'c', '/', (char)('0' + i), '.', 'p', 'n', 'g', 0 };
        if (memmem(bytes, n_bytes, name, 7))
            return i;
    }
    return -1;
}

/* In place of the C library's, for the images: 0.png is slow until the sync of shard 2 has failed, 1.png until shard 0
 * is complete. So a worker that is at position 0 learns of an error at position 2, while position 1 is not read. */
int openat(int folder, const char *path, int flags, ...)
{
    const bool is_first = !strcmp(path, "c/0.png");
    if (is_first || !strcmp(path, "c/1.png")) {
        pthread_mutex_lock(&lock);
        wait_until_locked(is_first ? &disk.shard_failed[2] : &disk.shard_came[0]);
        pthread_mutex_unlock(&lock);
        let_others_see();
    }
    return (int)syscall(SYS_openat, folder, path, flags, 0600);
}

TEST(a_bad_image_before_a_failed_shard_is_reported)
{
    static uint8_t pixels[8 * 8 * 3];
    leat_error err = { 0 };
    uint8_t *png;
    size_t n;
    char images[64], prefix[64];
    assert_int_equal(leat_image_encode_png(pixels, 8, 8, &png, &n, &err), LEAT_OK);
    put_file("images/c/0.png", png, n);
    put_file("images/c/1.png", png, 12); /* cut in its header */
    put_file("images/c/2.png", png, n);
    free(png);
    snprintf(images, sizeof images, "%s/images", test_folder);
    snprintf(prefix, sizeof prefix, "%s/d/x", test_folder);
    const char *const input = images;
    const leat_convert how = {
        .kind = "images",
        .inputs = &input,
        .n_inputs = 1,
        .prefix = prefix,
        .n_shards = 3,
        .threads = 3,
        .list = { .root = "", .delimiter = "auto", .file = "", .suffix = "", .class_from = "" },
        .progress = LEAT_PROGRESS_OFF
    };
    forget();
    disk.shard_of = shard_of_image;
    disk.failing[1] = 2;
    assert_int_equal(leat_convert_images_run(&how, &err), LEAT_E_DATA);
    assert_non_null(strstr(err.message, "1.png"));
}

SUITE_FIXTURE(make_folder, remove_folder)
