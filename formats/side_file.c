/* SPDX-License-Identifier: MIT */
#include "side_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* If the path ends so: is there a file of that name without the end? */
static int lies_beside(const char *path, const char *end)
{
    struct stat status;
    const size_t n = strlen(path), n_end = strlen(end);
    if (n <= n_end || strcmp(path + n - n_end, end) != 0)
        return 0;
    char *const file = strndup(path, n - n_end);
    const int is_there = file && stat(file, &status) == 0 && S_ISREG(status.st_mode);
    free(file);
    return is_there;
}

int leat_side_file_is(const char *path)
{
    static const char labels[] = "-labels.txt";
    const size_t n = strlen(path), n_labels = sizeof labels - 1;
    return (n > n_labels && !strcmp(path + n - n_labels, labels)) || lies_beside(path, ".idx") ||
           lies_beside(path, ".jpg.idx");
}
