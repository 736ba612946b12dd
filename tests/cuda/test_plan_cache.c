/* SPDX-License-Identifier: MIT
 *
 * test_plan_cache.c: a text is stored whole under its name, and nobody can guess the name that it is written under. */
#include "fixtures/own_folder.h"

#include "plan_cache.h"

TEST(a_text_is_kept)
{
    size_t n;
    assert_true(leat_plan_cache_store(in_folder("kept"), "conv", "9.1", "plan", 4));
    assert_true(leat_plan_cache_store(in_folder("kept"), "conv", "9.2", "other", 5));
    assert_null(leat_plan_cache_load(in_folder("kept"), "conv", "9.1", &n));
    char *const text = leat_plan_cache_load(in_folder("kept"), "conv", "9.2", &n);
    assert_non_null(text);
    assert_string_equal(text, "other");
    assert_int_equal(n, 5);
    free(text);
    assert_false(leat_plan_cache_store(in_folder("no/such"), "conv", "9.1", "plan", 4));
}

TEST(a_text_is_kept_in_memory)
{
    size_t n;
    char *const large = calloc(1, 64 << 20);
    assert_non_null(large);
    assert_null(leat_plan_cache_load(NULL, "conv", "9.1", &n));
    assert_true(leat_plan_cache_store(NULL, "conv", "9.1", "plan", 4));
    assert_true(leat_plan_cache_store(NULL, "conv", "9.2", "other", 5));
    assert_false(leat_plan_cache_store(NULL, "conv", "9.3", large, 64 << 20));
    free(large);
    for (int i = 0; i < 2; i++) {
        char *const text = leat_plan_cache_load(NULL, "conv", i ? "9.2" : "9.1", &n);
        assert_non_null(text);
        assert_string_equal(text, i ? "other" : "plan");
        assert_int_equal(n, strlen(text));
        free(text);
    }
    assert_null(leat_plan_cache_load(NULL, "con", "v\n9.1", &n));
}

/* Plants links at the name of the file, and at that name with the number of this process. */
TEST(planted_links_are_not_followed)
{
    char name[80] = "", path[512];
    size_t size;
    assert_true(leat_plan_cache_store(in_folder("cache"), "conv", "9.1", "plan", 4));
    DIR *const dir = opendir(in_folder("cache"));
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (*entry->d_name != '.')
            snprintf(name, sizeof name, "%.70s", entry->d_name);
    closedir(dir);
    put_text("victim", "mine");
    snprintf(path, sizeof path, "%s/%s", in_folder("cache"), name);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("../victim", path), 0);
    snprintf(path, sizeof path, "%s/%s.%ld", in_folder("cache"), name, (long)getpid());
    assert_int_equal(symlink("../victim", path), 0);
    assert_true(leat_plan_cache_store(in_folder("cache"), "conv", "9.1", "plan", 4));
    char *const text = leat_plan_cache_load(in_folder("cache"), "conv", "9.1", &size);
    assert_non_null(text);
    free(text);
    uint8_t *const victim = read_whole(in_folder("victim"), &size);
    assert_int_equal(size, 4);
    assert_memory_equal(victim, "mine", 4);
    free(victim);
}

SUITE_FIXTURE(make_folder, remove_folder)
