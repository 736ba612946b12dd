/* SPDX-License-Identifier: MIT
 *
 * record_file.h: the one TFRecord file of a test, under a name of its own. */
#ifndef RECORD_FILE_H
#define RECORD_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine_fixture.h"

static char path[] = "/tmp/leat-test-XXXXXX.tfrecord";

/* Makes it, empty; false if that does not work. */
static inline bool make_path(void)
{
    const int fd = mkstemps(path, 9);
    return fd >= 0 && close(fd) == 0;
}

/* With records 0 to n - 1; for a set-up of tests. */
static inline int make_record_file(uint64_t n, size_t blob_most)
{
    if (!make_path())
        return -1;
    write_records(path, 0, n, blob_most);
    return 0;
}

/* With its index. */
static inline int remove_file(void **state)
{
    char side[sizeof path + 8];
    (void)state;
    snprintf(side, sizeof side, "%s.idx", path);
    remove(side);
    return remove(path);
}

#endif
