/* SPDX-License-Identifier: MIT
 *
 * test_cache_crash.c: a process that dies by a signal while it fills a cache's file, in an op, in the
 * middle of a write or by another's hand, leaves a file that the next run continues and completes. A file
 * system that is really full does the same. */
#include "fixtures/cache_file_fixture.h"
#include "fixtures/small_disk.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

static uint64_t crash_at; /* sample at which `crash` ends the process; 0: none */
static _Atomic uint64_t n_until_crash;

static uint8_t *no_page; /* may not be touched */
static const char *engine = "{threads: 3, run: 1, digest: true}", *prefetch = "2";

/* Dies by a true SIGSEGV, whoever listens to it (a sanitizer does). */
static int crash_apply(const void *o, const leat_draw *p, const leat_view *in, const leat_view *out,
                       leat_scratch *scratch, leat_error *err)
{
    if (atomic_fetch_add(&n_until_crash, 1) + 1 == crash_at) {
        signal(SIGSEGV, SIG_DFL);
        *(volatile uint8_t *)no_page = 1;
    }
    return stall_apply(o, p, in, out, scratch, err);
}

static const leat_op crash_op = { .name = "crash",
                                  .help = "ends the process",
                                  .options = no_options,
                                  .flags = LEAT_OP_IN_PLACE,
                                  .shape = same_shape,
                                  .apply = crash_apply };

/* Samples of differing sizes at the cache; `crash` stands before or after it. */
static leat_plan *crash_plan(const char *cache, bool crashes_before)
{
    char source[300];
    leat_builder *b = leat_builder_open();
    snprintf(source, sizeof source, "{files: '%s', features: {x: {}, id: {shape: []}}}", data_path);
    leat_builder_source(b, "tfrecord", source);
    leat_builder_op(b, &crash_op);
    leat_builder_op(b, &shrink_op);
    leat_builder_op(b, &widen_op);
    leat_builder_op(b, &jitter_op);
    leat_builder_engine(b, engine);
    leat_builder_stage(b, "shuffle", NULL);
    leat_builder_stage(b, "map", crashes_before ? "[crash, shrink]" : "[shrink]");
    if (cache)
        leat_builder_stage(b, "cache", cache);
    leat_builder_stage(b, "map", crashes_before ? "[widen, jitter]" : "[widen, crash, jitter]");
    leat_builder_stage(b, "batch", "16");
    leat_builder_stage(b, "prefetch", prefetch);
    return plan_of_builder(b);
}

static uint64_t crash_digest(const char *cache, bool crashes_before, leat_cache_stats *stats)
{
    leat_plan *plan = crash_plan(cache, crashes_before);
    const uint64_t digest = digest_of(plan, 1, stats);
    leat_plan_close(&plan);
    return digest;
}

/* Runs body(arg) in a child; its wait status. */
static int child_status(int (*body)(uint64_t), uint64_t arg)
{
    int status;
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
        _exit(body(arg));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* The file takes up what is whole in it, and the next run finds all. Returns what was found at first. */
static uint64_t check_heals(bool crashes_before, uint64_t want)
{
    leat_cache_stats cache;
    assert_true(crash_digest(cache_path, crashes_before, &cache) == want);
    const uint64_t n_found = cache.hits;
    assert_int_equal(cache.hits + cache.misses, N_RECORDS);
    assert_int_equal(cache.damaged, 0);
    assert_int_equal(cache.entries, N_RECORDS);
    assert_string_equal(cache.note, ""); /* the lock of the dead went with it */
    assert_true(crash_digest(cache_path, crashes_before, &cache) == want);
    assert_int_equal(cache.misses, 0);
    return n_found;
}

/* --- an op that crashes -------------------------------------------------------------------------- */

static int crash_in_op(uint64_t before)
{
    crash_digest(cache_path, before != 0, NULL);
    return 0;
}

TEST(an_op_that_crashes_leaves_a_good_file)
{
    no_page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(no_page != MAP_FAILED);
    for (int before = 0; before < 2; before++) {
        const uint64_t want = crash_digest(NULL, before, NULL);
        uint64_t n_found = 0;
        for (uint64_t at = 1; at <= N_RECORDS; at += 37) {
            unlink(cache_path);
            crash_at = at;
            n_until_crash = 0;
            const int status = child_status(crash_in_op, (uint64_t)before);
            crash_at = 0;
            if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV)
                fail_msg("crash at sample %d: status %x", (int)at, status);
            n_found += check_heals(before, want);
        }
        assert_true(n_found > 0); /* it was in the middle of it */
    }
    munmap(no_page, 4096);
}

/* --- a write that is never finished -------------------------------------------------------------- */

/* Beyond the limit, which comes after the cache has looked for one, the kernel takes a part of an entry
 * and then ends the process, if the thread does not block the signal as workers do. */
static int die_in_write(uint64_t room)
{
    leat_plan *plan = crash_plan(cache_path, true);
    leat_loader *loader = open_loader(plan, NULL);
    const rlim_t limit = leat_cache_first_entry(N_RECORDS) + room;
    leat_loader_close(&loader);
    signal(SIGXFSZ, SIG_DFL);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ limit, limit });
    digest_of(plan, 1, NULL);
    return 0;
}

TEST(half_an_entry_is_passed_over)
{
    const uint64_t want = crash_digest(NULL, true, NULL);
    uint64_t n_found = 0;
    const char *const usual = engine;
    engine = "{threads: 0, digest: true}"; /* the consumer writes, and only when it asks */
    prefetch = "0";
    for (uint64_t room = 1; room < 3000; room += 211) {
        struct stat status;
        unlink(cache_path);
        const int ended = child_status(die_in_write, room);
        if (!WIFSIGNALED(ended) || WTERMSIG(ended) != SIGXFSZ)
            fail_msg("room for %d bytes: status %x", (int)room, ended);
        assert_int_equal(stat(cache_path, &status), 0);
        assert_int_equal(status.st_size, leat_cache_first_entry(N_RECORDS) + room); /* cut there */
        n_found += check_heals(true, want);
    }
    engine = usual;
    prefetch = "2";
    assert_true(n_found > 0);
}

/* --- killed from outside ------------------------------------------------------------------------ */

/* Waits until a child has written so many bytes. */
static void wait_for_size(uint64_t bytes)
{
    struct stat status;
    while (stat(cache_path, &status) < 0 || (uint64_t)status.st_size < bytes)
        pause_ns(50000);
}

TEST_WITH(a_killed_process_leaves_a_good_file, begin, NULL)
{
    const uint64_t want = plain_digest(1);
    const pipe_parts parts = parts_with(cache_path);
    leat_cache_stats cache;
    uint64_t n_partial = 0;
    for (int i = 0; i < 12; i++) {
        unlink(cache_path);
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            count_pause_ns = 500000;
            digest_of_parts(&parts, 1000000, NULL);
            _exit(0);
        }
        wait_for_size(leat_cache_first_entry(N_RECORDS) + 800 * (uint64_t)i);
        pause_ns(31000L * i);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        assert_true(digest_of_parts(&parts, 1, &cache) == want);
        assert_int_equal(cache.damaged, 0);
        assert_int_equal(cache.entries, N_RECORDS);
        assert_string_equal(cache.note, ""); /* its lock went with it */
        n_partial += cache.hits && cache.misses;
    }
    printf("%llu of 12 were killed while they filled the file\n", (unsigned long long)n_partial);
    assert_true(n_partial > 0);
}

/* --- a file system that is full ------------------------------------------------------------------ */

static uint64_t want_on_disk;

/* A file system of this many pages in a mount of our own, then with room for all. Nonzero: what went wrong. */
static int fill_disk(uint64_t pages)
{
    char small[50], options[40];
    leat_cache_stats cache;
    snprintf(small, sizeof small, "%s/small", test_folder);
    snprintf(cache_path, sizeof cache_path, "%s/c", small);
    snprintf(options, sizeof options, "size=%ld", (long)pages * sysconf(_SC_PAGESIZE));
    if (!small_disk_mount(small, options))
        return SMALL_DISK_REFUSED;
    char text[120];
    snprintf(text, sizeof text, "{file: %s, bytes: 1 MiB}", cache_path);
    if (crash_digest(text, true, &cache) != want_on_disk)
        return 1;
    const uint64_t n_kept = cache.entries;
    if (n_kept >= N_RECORDS || cache.damaged)
        return 2;
    if (!strstr(cache.note, strerror(ENOSPC)))
        return 3;
    if (crash_digest(text, true, &cache) != want_on_disk || cache.hits < n_kept)
        return 4;
    if (mount("tmpfs", small, "tmpfs", MS_REMOUNT, "size=1m") < 0)
        return 5;
    if (crash_digest(text, true, &cache) != want_on_disk || cache.entries != N_RECORDS ||
        cache.damaged || cache.note[0])
        return 6;
    return crash_digest(text, true, &cache) != want_on_disk || cache.misses ? 7 : 0;
}

TEST(a_full_file_system_stops_the_filling_only)
{
    const char *const small = in_folder("small");
    assert_int_equal(mkdir(small, 0777), 0);
    want_on_disk = crash_digest(NULL, true, NULL);
    for (uint64_t pages = 1; pages < 5; pages++) {
        const int status = child_status(fill_disk, pages);
        if (WIFEXITED(status) && WEXITSTATUS(status) == SMALL_DISK_REFUSED) {
            print_message("skipped: this user may not mount a small file system\n");
            rmdir(small);
            skip();
        }
        if (status)
            fail_msg("%d pages: status %x", (int)pages, status);
    }
    rmdir(small);
}

SUITE_FIXTURE(make_data, remove_folder)
