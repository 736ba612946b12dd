/* SPDX-License-Identifier: MIT */
#include "folder_list.h"

#include <string.h>
#include <sys/stat.h>

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

int leat_folder_list(const char *path, struct dirent ***entries)
{
    return scandir(path, entries, is_visible, by_bytes);
}

char leat_folder_kind(const struct dirent *entry, const char *path)
{
    struct stat status;
    if (entry->d_type == DT_DIR)
        return 'd';
    if (entry->d_type == DT_REG)
        return 'f';
    if (stat(path, &status) < 0)
        return 0;
    return S_ISDIR(status.st_mode) ? 'd' : S_ISREG(status.st_mode) ? 'f' : 'x';
}
