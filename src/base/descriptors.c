/* SPDX-License-Identifier: MIT */
#include "descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <sys/resource.h>

#define SPARE 24 /* descriptors that always stay free: rings, caches, checkpoints, logs */
#define GUESS 16
#define MORE  256 /* beyond the files, where the limit is raised */

/* The number of descriptors in use; without /proc, a guess. limit: how many there may be. */
static int64_t n_in_use(int64_t limit)
{
    int64_t n = 0;
    DIR *const folder = opendir("/proc/self/fd");
    if (!folder)
        return errno == EMFILE ? limit : GUESS;
    for (const struct dirent *entry; (entry = readdir(folder));)
        n += entry->d_name[0] != '.';
    closedir(folder);
    return n - 1; /* without the folder itself */
}

leat_descriptors leat_descriptors_want(uint64_t n_files, int64_t not_open)
{
    struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
    getrlimit(RLIMIT_NOFILE, &limit);
    const int64_t in_use = n_in_use((int64_t)limit.rlim_cur) - not_open;
    const rlim_t wanted = (rlim_t)((int64_t)n_files + in_use + SPARE);
    leat_descriptors out = { .before = limit.rlim_cur, .now = limit.rlim_cur };
    if (limit.rlim_cur < wanted && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = wanted + MORE < limit.rlim_max ? wanted + MORE : limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
            out.now = limit.rlim_cur;
    }
    const int64_t most = out.now < INT64_MAX ? (int64_t)out.now : INT64_MAX;
    out.room = most - in_use - SPARE;
    return out;
}
