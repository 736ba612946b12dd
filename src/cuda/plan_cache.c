/* SPDX-License-Identifier: MIT
 *
 * plan_cache.c: see plan_cache.h. A file is
 *     leat-plan 1 DIGEST\n NAME \n VERSION \n TEXT
 * without the spaces around the line ends. DIGEST: 16 hex digits, FNV-1a of all behind its line. */
#include "plan_cache.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = sizeof "leat-plan 1 0123456789abcdef\n" - 1, MOST = 64 << 20 };

/* --- in memory --------------------------------------------------------------------------------- */

typedef struct kept {
    struct kept *next;
    size_t n, n_key; /* bytes of the text and, before it, of the key with its 0 */
    char bytes[];
} kept;

static struct {
    pthread_mutex_t lock;
    kept *first;
    size_t bytes;
} memory = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const kept *find_locked(const char *key)
{
    const kept *k = memory.first;
    while (k && strcmp(k->bytes, key) != 0)
        k = k->next;
    return k;
}

static char *load_kept(const char *key, size_t *n)
{
    char *text = NULL;
    pthread_mutex_lock(&memory.lock);
    const kept *const k = find_locked(key);
    if (k && (text = malloc(k->n + 1))) {
        memcpy(text, k->bytes + k->n_key, k->n);
        text[ *n = k->n] = 0;
    }
    pthread_mutex_unlock(&memory.lock);
    return text;
}

static bool store_kept(const char *key, const char *text, size_t n)
{
    const size_t n_key = strlen(key) + 1, size = sizeof(kept) + n_key + n;
    bool good = false;
    pthread_mutex_lock(&memory.lock);
    kept *const k = memory.bytes + size <= MOST && !find_locked(key) ? malloc(size) : NULL;
    if (k) {
        *k = (kept){ memory.first, n, n_key };
        memcpy(k->bytes, key, n_key);
        memcpy(k->bytes + n_key, text, n);
        memory.first = k;
        memory.bytes += size;
        good = true;
    }
    pthread_mutex_unlock(&memory.lock);
    return good;
}

/* --- on disk ----------------------------------------------------------------------------------- */

static uint64_t digest(const char *bytes, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return h;
}

static void head_of(char head[HEAD + 1], uint64_t sum)
{
    snprintf(head, HEAD + 1, "leat-plan 1 %016" PRIx64 "\n", sum);
}

/* The rest of *at behind that line. */
static bool take_line(const char **at, size_t *n, const char *line)
{
    const size_t length = strlen(line);
    if (*n <= length || memcmp(*at, line, length) != 0 || (*at)[length] != '\n')
        return false;
    *at += length + 1;
    *n -= length + 1;
    return true;
}

bool leat_plan_cache_parse(const char *bytes, size_t n, const char *name, const char *version,
                           const char **text, size_t *n_text)
{
    char head[HEAD + 1];
    if (n < HEAD)
        return false;
    *text = bytes + HEAD;
    *n_text = n - HEAD;
    head_of(head, digest(*text, *n_text));
    return memcmp(bytes, head, HEAD) == 0 && take_line(text, n_text, name) &&
           take_line(text, n_text, version);
}

/* The file of a name: its digest. Two names with one digest replace each other. */
static bool path_of(char *path, size_t size, const char *folder, const char *name, const char *end)
{
    const int n =
        snprintf(path, size, "%s/plan-%016" PRIx64 "%s", folder, digest(name, strlen(name)), end);
    return n > 0 && (size_t)n < size;
}

static char *read_file(const char *path, size_t *n)
{
    FILE *const file = fopen(path, "rbe");
    char *bytes = NULL;
    struct stat about;
    if (file && fstat(fileno(file), &about) == 0 && about.st_size > 0 && about.st_size < MOST) {
        *n = (size_t)about.st_size;
        bytes = malloc(*n + 1);
        if (bytes && fread(bytes, 1, *n, file) != *n) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (file)
        fclose(file);
    return bytes;
}

char *leat_plan_cache_load(const char *folder, const char *name, const char *version, size_t *n)
{
    char path[4096];
    const char *text = NULL;
    if (!folder) {
        snprintf(path, sizeof path, "%s\n%s", name, version);
        return load_kept(path, n);
    }
    char *const bytes = path_of(path, sizeof path, folder, name, "") ? read_file(path, n) : NULL;
    if (!bytes || !leat_plan_cache_parse(bytes, *n, name, version, &text, n)) {
        free(bytes);
        return NULL;
    }
    memmove(bytes, text, *n);
    bytes[*n] = 0;
    return bytes;
}

bool leat_plan_cache_store(const char *folder, const char *name, const char *version,
                           const char *text, size_t n)
{
    char path[4096], next[4096], head[HEAD + 1];
    const size_t size = strlen(name) + strlen(version) + 2 + n;
    if (!folder) {
        snprintf(path, sizeof path, "%s\n%s", name, version);
        return store_kept(path, text, n);
    }
    if (!path_of(path, sizeof path, folder, name, "") ||
        !path_of(next, sizeof next, folder, name, ".XXXXXX"))
        return false;
    char *const body = malloc(size + 1);
    if (!body)
        return false;
    const int lines = snprintf(body, size + 1, "%s\n%s\n", name, version);
    memcpy(body + lines, text, n);
    head_of(head, digest(body, size));
    mkdir(folder, 0777);                      /* perhaps there is one */
    const int fd = mkostemp(next, O_CLOEXEC); /* a name that nobody could plant a link at */
    FILE *const file = fd < 0 ? NULL : fdopen(fd, "wb");
    bool good = file && fwrite(head, 1, HEAD, file) == HEAD && fwrite(body, 1, size, file) == size;
    if (file)
        good = fclose(file) == 0 && good;
    else if (fd >= 0)
        close(fd);
    good = good && rename(next, path) == 0;
    if (fd >= 0 && !good)
        unlink(next);
    free(body);
    return good;
}
