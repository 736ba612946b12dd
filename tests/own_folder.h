/* SPDX-License-Identifier: MIT
 *
 * own_folder.h: a folder of a test's own and the files in it: make_folder() and remove_folder() are set-up
 * and tear-down of a test or of a group, in_folder() is a path. */
#ifndef OWN_FOLDER_H
#define OWN_FOLDER_H

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

static char test_folder[32];

static inline int make_folder(void **state)
{
    (void)state;
    snprintf(test_folder, sizeof test_folder, "/tmp/leat-test-XXXXXX");
    return mkdtemp(test_folder) ? 0 : -1;
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline int remove_folder(void **state)
{
    (void)state;
    return nftw(test_folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* FOLDER/name, in one of eight buffers that are used in turn. */
static inline const char *in_folder(const char *name)
{
    static char paths[8][256];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder, name);
    return path;
}

/* Number of entries of the folder. */
static inline int count_in_folder(void)
{
    int n = 0;
    DIR *dir = opendir(test_folder);
    assert_non_null(dir);
    for (struct dirent *file; (file = readdir(dir));)
        n += strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static inline void write_whole(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* FOLDER/name with those bytes; folders on the way to it are made. */
static inline void put_file(const char *name, const void *bytes, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    for (char *p = path + strlen(test_folder) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        mkdir(path, 0700);
    }
    write_whole(path, bytes, size);
}

static inline void put_text(const char *name, const char *text)
{
    put_file(name, text, strlen(text));
}

/* The file's bytes, in a block of exactly that size; free it. NULL when it cannot be opened. */
static inline uint8_t *read_whole(const char *path, size_t *size)
{
    struct stat st;
    FILE *file = fopen(path, "rb");
    *size = 0;
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

#endif
