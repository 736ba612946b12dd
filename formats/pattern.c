/* SPDX-License-Identifier: MIT */
#include "pattern.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Copies text and adds a backslash before each special character of the first n bytes. */
static char *escape(const char *text, size_t n)
{
    const size_t length = strlen(text);
    char *const out = malloc(n + length + 1), *to = out;
    if (!out)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (strchr("*?[\\", text[i]))
            *to++ = '\\';
        *to++ = text[i];
    }
    memcpy(to, text + n, length - n + 1);
    return out;
}

char *leat_pattern_escape(const char *text)
{
    return escape(text, strlen(text));
}

/* Returns the length of the longest prefix that exists: the whole pattern or a folder; 0: none. */
static size_t literal_length(const char *pattern)
{
    struct stat status;
    size_t n = strlen(pattern);
    if (lstat(pattern, &status) == 0)
        return n;
    char *const folder = strdup(pattern);
    while (folder && n > 0) {
        const char *const slash = memrchr(folder, '/', n);
        n = slash ? (size_t)(slash - folder) : 0;
        folder[n] = 0;
        if (n && stat(folder, &status) == 0 && S_ISDIR(status.st_mode))
            break;
    }
    free(folder);
    return n;
}

int leat_pattern_glob(const char *pattern, int flags, glob_t *out)
{
    if (!strpbrk(pattern, "*?[\\"))
        return glob(pattern, flags, NULL, out);
    char *const escaped = escape(pattern, literal_length(pattern));
    const int rc = escaped ? glob(escaped, flags, NULL, out) : GLOB_NOSPACE;
    free(escaped);
    return rc;
}
