/* SPDX-License-Identifier: MIT
 *
 * test_cache_damage.c: whatever happens to the bytes of a cache's file or to its disk, batches are the
 * same and the run goes on. */
#include "fixtures/cache_file_fixture.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* --- what disks do ------------------------------------------------------------------------------- */

TEST(a_full_disk_stops_the_filling_only)
{
    const uint64_t want = plain_digest(2), want_once = plain_digest(1);
    const uint64_t first = leat_cache_first_entry(N_RECORDS);
    const pipe_parts parts = parts_with(cache_path);
    leat_cache_stats cache;
    for (uint64_t room = 0; room < 9000; room += 611) {
        unlink(cache_path);
        leat_cache_fault = (leat_cache_faults){ .room = first + room, .short_every = 3 };
        assert_true(digest_of_parts(&parts, 2, &cache) == want);
        assert_non_null(strstr(cache.note, strerror(ENOSPC)));
        assert_true(cache.entries < N_RECORDS);
        leat_cache_fault = (leat_cache_faults){ 0 };
        const uint64_t n_kept = cache.entries;
        assert_true(digest_of_parts(&parts, 1, &cache) == want_once);
        assert_int_equal(cache.hits, n_kept);
        assert_int_equal(cache.damaged, 0);
        assert_int_equal(cache.entries, N_RECORDS);
    }
    leat_cache_fault = (leat_cache_faults){ .write_errno = EIO };
    leat_plan *plan = cache_plan(&parts);
    assert_true(digest_of(plan, 2, &cache) == want);
    assert_string_equal(cache.note, ""); /* all is there */
    leat_plan_close(&plan);
    unlink(cache_path);
    plan = cache_plan(&parts);
    leat_loader *loader;
    leat_error err;
    assert_int_equal(leat_loader_open(plan, NULL, &loader, &err), LEAT_E_IO);
    assert_non_null(strstr(err.message, strerror(EIO)));
    leat_plan_close(&plan);
}

/* Beyond RLIMIT_FSIZE a write is a signal. In a child, since a limit cannot be raised again. */
TEST(a_file_size_limit_is_kept)
{
    const uint64_t want = plain_digest(2);
    const pipe_parts parts = parts_with(cache_path);
    for (rlim_t limit = 0; limit < 24000; limit += 3000) {
        unlink(cache_path);
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            leat_cache_stats cache;
            leat_plan *plan = cache_plan(&parts);
            leat_loader *loader;
            leat_error err;
            setrlimit(RLIMIT_FSIZE, &(struct rlimit){ limit, limit });
            if (leat_loader_open(plan, NULL, &loader, &err) < 0)
                _exit(limit < 4096 && strstr(err.message, cache_path) ? 0 : 2);
            leat_loader_close(&loader);
            const uint64_t got = digest_of(plan, 2, &cache);
            _exit(got == want && cache.entries < N_RECORDS ? 0 : 3);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status)
            fail_msg("limit %llu: status %x", (unsigned long long)limit, status);
    }
}

TEST(failing_reads_are_computed_again)
{
    static const char *const engines[] = { "{threads: 0, digest: true, reader: pread}",
                                           "{threads: 3, digest: true}" };
    const uint64_t want = plain_digest(3);
    pipe_parts parts = parts_with(cache_path);
    leat_cache_stats cache;
    digest_of_parts(&parts, 1, NULL);
    for (uint32_t every = 1; every < 9; every += 3)
        for (int e = 0; e < 2; e++) {
            leat_cache_fault = (leat_cache_faults){ .unread_every = every };
            parts.engine = engines[e];
            assert_true(digest_of_parts(&parts, 3, &cache) == want);
            assert_true(e || cache.damaged);
        }
}

TEST(a_file_cut_while_it_is_used_costs_nothing_but_time)
{
    const uint64_t want = plain_digest(1);
    const pipe_parts parts = parts_with(cache_path);
    leat_cache_stats cache;
    leat_plan *plan = cache_plan(&parts);
    assert_true(digest_of(plan, 1, &cache) == want);
    assert_int_equal(truncate(cache_path, (off_t)(leat_cache_first_entry(N_RECORDS) + 1000)), 0);
    assert_true(digest_of(plan, 1, &cache) == want);
    assert_true(cache.damaged > 0);
    assert_int_equal(cache.entries, N_RECORDS); /* filled again */
    assert_true(digest_of(plan, 1, &cache) == want);
    assert_int_equal(cache.misses, 0);
    leat_plan_close(&plan);
}

/* --- damage -------------------------------------------------------------------------------------- */

/* Opens with the file as it is: either refused with a message, or every batch is right. */
static void try_damaged(const pipe_parts *parts, uint64_t want, const char *what, size_t at)
{
    leat_plan *plan = cache_plan(parts);
    leat_loader *loader;
    leat_error err;
    const int rc = leat_loader_open(plan, NULL, &loader, &err);
    if (rc >= 0) {
        leat_loader_close(&loader);
        if (digest_of(plan, 1, NULL) != want)
            fail_msg("%s at %zu: another batch", what, at);
    } else if (at >= LEAT_CACHE_HEADER_BYTES || !strstr(err.message, "delete")) {
        fail_msg("%s at %zu: %s", what, at, err.message);
    }
    leat_plan_close(&plan);
}

TEST(no_damage_reaches_a_batch)
{
    pipe_parts parts = { .before = "[shrink]",
                         .after = AFTER,
                         .engine = "{threads: 0, digest: true, reader: pread}" };
    size_t size;
    const uint64_t want = digest_of_parts(&parts, 1, NULL);
    parts.cache = cache_path;
    digest_of_parts(&parts, 1, NULL);
    uint8_t *const good = read_file(&size);
    for (size_t at = 0; at < size; at += at < 200 ? 1 : 23) {
        good[at] ^= (uint8_t)(1 << at % 8);
        write_file(good, size);
        try_damaged(&parts, want, "flip", at);
        good[at] ^= (uint8_t)(1 << at % 8);
    }
    for (size_t at = 1; at < size;) {
        write_file(good, at);
        try_damaged(&parts, want, "cut", at);
        at += at / 100 == LEAT_CACHE_HEADER_BYTES / 100 ? 1 : 61;
    }
    /* Places that point into each other's entries, and beyond. */
    for (uint64_t r = 0; r < N_RECORDS; r++) {
        uint8_t *const place = good + LEAT_CACHE_HEADER_BYTES + r * LEAT_CACHE_PLACE_BYTES;
        uint8_t *const next =
            good + LEAT_CACHE_HEADER_BYTES + (r + 1) % N_RECORDS * LEAT_CACHE_PLACE_BYTES;
        if (r % 3 == 0)
            memcpy(place, next, LEAT_CACHE_PLACE_BYTES);
        else if (r % 3 == 1)
            memset(place, 0xff, LEAT_CACHE_PLACE_BYTES - 1);
    }
    write_file(good, size);
    try_damaged(&parts, want, "places", LEAT_CACHE_HEADER_BYTES);
    free(good);
}

/* A file without room for the rest: what damage takes is not reclaimed, and leat says so. */
TEST(lost_room_is_told)
{
    pipe_parts parts = { .before = "[shrink]", .after = AFTER };
    char text[100];
    size_t size;
    leat_cache_stats cache;
    const uint64_t want = digest_of_parts(&parts, 1, NULL);
    parts.cache = cache_path;
    digest_of_parts(&parts, 1, &cache);
    const uint64_t all = cache.bytes;
    unlink(cache_path);
    snprintf(text, sizeof text, "{file: %s, bytes: %llu}", cache_path, (unsigned long long)all);
    parts.cache = text;
    assert_true(digest_of_parts(&parts, 1, &cache) == want);
    assert_int_equal(cache.entries, N_RECORDS);
    assert_string_equal(cache.note, "");
    uint8_t *const bytes = read_file(&size);
    memset(bytes + size / 2, 0xff, size / 8);
    write_file(bytes, size);
    free(bytes);
    assert_true(digest_of_parts(&parts, 1, &cache) == want);
    assert_true(cache.damaged > 0);
    assert_int_equal(cache.entries, N_RECORDS - cache.damaged);
    assert_true(cache.bytes < all);
    assert_non_null(strstr(cache.note, "delete the file"));
    /* Room that was lost before the file was opened counts too. */
    uint8_t *const places = read_file(&size);
    memset(places + LEAT_CACHE_HEADER_BYTES, 0, N_RECORDS / 2 * LEAT_CACHE_PLACE_BYTES);
    write_file(places, size);
    free(places);
    assert_true(digest_of_parts(&parts, 1, &cache) == want);
    assert_true(cache.entries < N_RECORDS);
    assert_non_null(strstr(cache.note, "delete the file"));
    unlink(cache_path);
    digest_of_parts(&parts, 1, &cache);
    assert_int_equal(cache.entries, N_RECORDS);
    assert_string_equal(cache.note, "");
}

/* --- links ---------------------------------------------------------------------------------------- */

TEST(a_link_of_another_user_is_refused)
{
    struct stat status;
    leat_error err;
    leat_loader *loader = NULL;
    leat_cache_stats cache;
    const uint64_t want = plain_digest(1);
    const pipe_parts parts = parts_with(cache_path);
    if (geteuid() != 0) {
        print_message("skipped: only root can make a link of another user\n");
        skip();
    }
    unlink(in_folder("elsewhere"));
    assert_int_equal(symlink(in_folder("elsewhere"), cache_path), 0);
    assert_true(digest_of_parts(&parts, 1, &cache) == want);
    assert_int_equal(cache.entries, N_RECORDS);
    assert_int_equal(lstat(cache_path, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(unlink(in_folder("elsewhere")), 0);
    assert_int_equal(lchown(cache_path, 54321, 54321), 0);
    leat_plan *plan = cache_plan(&parts);
    assert_int_equal(leat_loader_open(plan, NULL, &loader, &err), LEAT_E_IO);
    assert_non_null(strstr(err.message, "is a symbolic link of another user"));
    assert_int_equal(stat(in_folder("elsewhere"), &status), -1);
    leat_plan_close(&plan);
    unlink(cache_path);
}

TEST_FIXTURE(begin, NULL)
SUITE_FIXTURE(make_data, remove_folder)
