/* SPDX-License-Identifier: MIT */
#include "doctor_report.h"

#include <stdio.h>
#include <string.h>

#include "files.h"

void leat_setting_shell(const char *set, char *text, size_t size)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/";
    if (!set[strspn(set, plain)]) {
        leat_files_append(text, size, " --set %s", set);
        return;
    }
    leat_files_append(text, size, " --set '");
    for (size_t n; *set; set += n) {
        n = *set == '\'' ? 1 : strcspn(set, "'");
        leat_files_append(text, size, "%.*s", *set == '\'' ? 4 : (int)n,
                          *set == '\'' ? "'\\''" : set);
    }
    leat_files_append(text, size, "'");
}
