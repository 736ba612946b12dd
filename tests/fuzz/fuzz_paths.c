/* SPDX-License-Identifier: MIT
 *
 * fuzz_paths.c: names of files as people write them. A name that exists is found as it is written, whatever special
 * characters it has; an escaped name matches only itself; and without a marker no list of names is an
 * incomplete set. A file that is missing from a set has another name than those that are there. */
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "formats/pattern.h"
#include "formats/shard_gap.h"
#include "formats/shard_set.h"
#include "fuzz_target.h"

enum { NAME_BYTES = 255 };

static char folder[] = "/tmp/leat-fuzz-paths-XXXXXX";

static void remove_all(void)
{
    rmdir(folder);
}

/* A file of this name is what the name finds. */
static void find_itself(const char *name)
{
    char path[sizeof folder + 1 + NAME_BYTES];
    glob_t found;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd < 0) /* not a name of this file system */
        return;
    close(fd);
    EXPECT(leat_pattern_glob(path, 0, &found, NULL) == 0);
    EXPECT(found.gl_pathc == 1 && !strcmp(found.gl_pathv[0], path));
    globfree(&found);
    unlink(path);
    if (leat_pattern_glob(path, 0, &found, NULL) ==
        0) { /* a pattern again: "." and ".." are there */
        EXPECT(found.gl_pathc <= 2);
        globfree(&found);
    }
}

static void match_itself(const char *name)
{
    char *const escaped = leat_pattern_escape(name);
    EXPECT(escaped && fnmatch(escaped, name, 0) == 0);
    free(escaped);
}

static bool asks(const char *path, const void *arg)
{
    EXPECT(*path && arg);
    return true;
}

static void find_gap(char *name)
{
    char *paths[] = { name, name };
    leat_shard_gap gap;
    EXPECT(leat_shard_gap_find(paths, 2, asks, name, &gap) == LEAT_FORMAT_OK);
    EXPECT(!*gap.path || (strcmp(gap.path, name) != 0 && gap.there == 1));
    EXPECT(!*gap.path == !gap.of);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[NAME_BYTES + 1];
    leat_format_error err;
    static bool is_made; /* the name itself may have an X */
    if (!is_made && (!mkdtemp(folder) || atexit(remove_all)))
        abort();
    is_made = true;
    if (size > NAME_BYTES)
        return 0;
    memcpy(name, data, size);
    name[size] = 0;
    match_itself(name);
    char *const paths[] = { name, name };
    EXPECT(leat_shard_set_check(paths, 2, &err) == LEAT_FORMAT_OK);
    find_gap(name);
    if (name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
        find_itself(name);
    return 0;
}
