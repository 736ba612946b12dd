/* SPDX-License-Identifier: MIT
 *
 * format_test.h: what the tests of formats/ share: CMocka, a folder of their own, whole files,
 * random numbers. */
#ifndef LEAT_FORMAT_TEST_H
#define LEAT_FORMAT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

static char
    test_folder[64]; /* made by make_folder, removed with all that is in it by remove_folder */

UNUSED static int make_folder(void **state)
{
    (void)state;
    snprintf(test_folder, sizeof test_folder, "/tmp/leat-test-XXXXXX");
    return mkdtemp(test_folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

UNUSED static int remove_folder(void **state)
{
    (void)state;
    return nftw(test_folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* FOLDER/name, in one of eight buffers that are used in turn. */
UNUSED static const char *in_folder(const char *name)
{
    static char paths[8][256];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder, name);
    return path;
}

/* Number of entries of the folder. */
UNUSED static int count_in_folder(void)
{
    int n = 0;
    DIR *dir = opendir(test_folder);
    assert_non_null(dir);
    for (struct dirent *file; (file = readdir(dir));)
        n += strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0;
    closedir(dir);
    return n;
}

UNUSED static void write_whole(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* The file's bytes, in a block of exactly that size; free it. NULL when it cannot be opened. */
UNUSED static uint8_t *read_whole(const char *path, size_t *size)
{
    struct stat st;
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    assert_int_equal(fstat(fileno(file), &st), 0);
    *size = (size_t)st.st_size;
    uint8_t *bytes = malloc(*size ? *size : 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

/* A copy in a block of exactly that size, so that sanitizers see every over-read; free it. */
UNUSED static uint8_t *copy_of(const void *bytes, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return copy;
}

static uint64_t random_state = 0x9e3779b97f4a7c15u;

UNUSED static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* 0 … n - 1 */
UNUSED static uint64_t random_below(uint64_t n)
{
    return (next_random() >> 11) % n;
}

UNUSED static void fill_random(void *to, size_t size)
{
    uint8_t *bytes = to;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(next_random() >> 32);
}

#endif
