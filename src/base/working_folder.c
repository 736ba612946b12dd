/* SPDX-License-Identifier: MIT */
#include "working_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX_BYTES 32

int leat_working_folder_keep(int *folder, leat_error *err)
{
    const int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    *folder = fd < 0 ? AT_FDCWD : fd;
    return fd < 0 ? leat_fail(err, LEAT_E_IO, "cannot open the working folder: %s", strerror(errno))
                  : LEAT_OK;
}

void leat_working_folder_release(int *folder)
{
    if (*folder >= 0)
        close(*folder);
    *folder = AT_FDCWD;
}

static void write_prefix(int folder, char out[PREFIX_BYTES])
{
    snprintf(out, PREFIX_BYTES, "/proc/self/fd/%d/", folder);
}

char *leat_working_folder_name(int folder, const char *path)
{
    char prefix[PREFIX_BYTES], *name;
    write_prefix(folder, prefix);
    if (folder < 0 || !leat_working_folder_decides(path) || access(prefix, F_OK) < 0)
        *prefix = '\0';
    return asprintf(&name, "%s%s", prefix, path) < 0 ? NULL : name;
}

void leat_working_folder_shorten(int folder, char *text)
{
    char prefix[PREFIX_BYTES];
    write_prefix(folder, prefix);
    const size_t n = strlen(prefix);
    while (folder >= 0 && (text = strstr(text, prefix)))
        memmove(text, text + n, strlen(text + n) + 1);
}
