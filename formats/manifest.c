/* SPDX-License-Identifier: MIT
 *
 * manifest.c: implements manifest.h. DESIGN: jansson reads one value at a time; only the outer object and the list of
 * shards are walked here. So the memory of a million shards is that of their names and numbers. */
#include "manifest.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "atomic_file.h"
#include "grow.h"
#include "tfrecord.h"
#include "utf8.h"
#include "whole_file.h"

typedef unsigned long long ull;

int leat_manifest_is(const char *path)
{
    static const char end[] = "manifest.json";
    const size_t n = strlen(path), n_end = sizeof end - 1;
    return n >= n_end && !strcmp(path + n - n_end, end) &&
           (n == n_end || strchr("/-.", path[n - n_end - 1]));
}

char *leat_manifest_path(const char *manifest, const char *file)
{
    const char *const slash = *file == '/' ? NULL : strrchr(manifest, '/');
    const size_t n = slash ? (size_t)(slash + 1 - manifest) : 0, n_file = strlen(file);
    char *const path = malloc(n + n_file + 1);
    if (path) {
        memcpy(path, manifest, n);
        memcpy(path + n, file, n_file + 1);
    }
    return path;
}

/* --- walking the text --------------------------------------------------------------------------- */

/* A place in the text. */
typedef struct walk {
    const char *begin, *at, *end;
    const char *name; /* of the file */
    leat_format_error *err;
} walk;

static int bad(const walk *w, const char *what)
{
    return leat_format_fail(w->err, LEAT_FORMAT_BAD, (uint64_t)(w->at - w->begin),
                            "%s: no manifest, or a damaged one: byte %llu: %s", w->name,
                            (ull)(w->at - w->begin), what);
}

static char next_char(walk *w)
{
    while (w->at < w->end && strchr(" \t\r\n", *w->at) && *w->at)
        w->at++;
    return w->at < w->end ? *w->at : '\0';
}

static int take_char(walk *w, char wanted)
{
    char what[] = "' ' is missing";
    what[1] = wanted;
    if (next_char(w) != wanted)
        return bad(w, what);
    w->at++;
    return LEAT_FORMAT_OK;
}

/* Reads the next value. NULL: *err says why. */
static json_t *take_value(walk *w)
{
    json_error_t why;
    next_char(w);
    json_t *const value =
        json_loadb(w->at, (size_t)(w->end - w->at),
                   JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &why);
    if (value)
        w->at += why.position;
    else if (json_error_code(&why) == json_error_out_of_memory)
        leat_format_fail(w->err, LEAT_FORMAT_NOMEM, 0, "%s: no memory to read it", w->name);
    else
        bad(w, why.text);
    return value;
}

/* A whole number of 0 or more; UINT64_MAX: it is none. */
static uint64_t count_of(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0
               ? (uint64_t)json_integer_value(value)
               : UINT64_MAX;
}

/* --- shards -------------------------------------------------------------------------------------- */

/* What is read so far. Names move while it grows: until the end `file` is NULL, and name k follows name k - 1. */
typedef struct reading {
    walk walk;
    leat_manifest *out;
    size_t names_used, names_room;
    uint64_t version, bytes, records; /* UINT64_MAX: not given */
    int has_shards;
} reading;

static int no_memory(const reading *r)
{
    return leat_format_fail(r->walk.err, LEAT_FORMAT_NOMEM, 0, "%s: no memory for %zu shards",
                            r->walk.name, r->out->n_shards);
}

static int add_name(reading *r, const char *name)
{
    const size_t n = strlen(name) + 1;
    if (r->names_used + n > r->names_room) {
        const size_t room = 2 * r->names_room + LEAT_MANIFEST_NAME + 1;
        char *const larger = realloc(r->out->names, room);
        if (!larger)
            return no_memory(r);
        r->out->names = larger;
        r->names_room = room;
    }
    memcpy(r->out->names + r->names_used, name, n);
    r->names_used += n;
    return LEAT_FORMAT_OK;
}

static int parse_digest(const json_t *value, leat_manifest_shard *shard)
{
    const char *const text = json_string_value(value);
    shard->has_digest = value != NULL;
    if (value && (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16))
        return LEAT_FORMAT_BAD;
    shard->digest = value ? strtoull(text, NULL, 16) : 0;
    return LEAT_FORMAT_OK;
}

static int add_shard(reading *r, const json_t *object)
{
    leat_manifest *const out = r->out;
    const char *const file = json_string_value(json_object_get(object, "file"));
    leat_manifest_shard shard = { .bytes = count_of(json_object_get(object, "bytes")),
                                  .records = count_of(json_object_get(object, "records")) };
    if (!file || !*file || strlen(file) > LEAT_MANIFEST_NAME)
        return bad(&r->walk, "the shard before it has no \"file\", or one that is no name");
    if (shard.bytes == UINT64_MAX || shard.records == UINT64_MAX)
        return bad(&r->walk, "the shard before it has no \"bytes\" or \"records\", or one that is "
                             "no whole number");
    if (shard.records > shard.bytes / LEAT_TFRECORD_OVERHEAD)
        return bad(&r->walk, "the shard before it has more records than fit into its bytes");
    if (parse_digest(json_object_get(object, "xxh3"), &shard) < 0)
        return bad(&r->walk, "the shard before it has an \"xxh3\" that is not 16 hex digits");
    if (out->bytes + shard.bytes > INT64_MAX)
        return bad(&r->walk, "the shards up to here have more than 2^63 bytes");
    leat_manifest_shard *const list = leat_grow(out->shards, out->n_shards, sizeof *list);
    if (!list)
        return no_memory(r);
    out->shards = list;
    list[out->n_shards++] = shard;
    out->bytes += shard.bytes;
    out->records += shard.records;
    return add_name(r, file);
}

static int take_shards(reading *r)
{
    walk *const w = &r->walk;
    int rc = take_char(w, '[');
    if (rc < 0 || next_char(w) == ']') {
        w->at += rc == LEAT_FORMAT_OK;
        return rc;
    }
    do {
        json_t *const object = take_value(w);
        if (!object)
            return w->err->code;
        rc = add_shard(r, object);
        json_decref(object);
        if (rc < 0)
            return rc;
    } while (next_char(w) == ',' && w->at++);
    return take_char(w, ']');
}

/* --- the outer object ---------------------------------------------------------------------------- */

static int take_entry(reading *r)
{
    walk *const w = &r->walk;
    if (next_char(w) != '"')
        return bad(w, "a key is missing");
    json_t *const key = take_value(w);
    if (!key)
        return w->err->code;
    const char *const text = json_string_value(key);
    const int is_shards = !strcmp(text, "shards");
    uint64_t *const number = !strcmp(text, "leat_manifest") ? &r->version
                             : !strcmp(text, "bytes")       ? &r->bytes
                             : !strcmp(text, "records")     ? &r->records
                                                            : NULL;
    json_decref(key);
    int rc = take_char(w, ':');
    if (rc < 0)
        return rc;
    if (is_shards && r->has_shards++)
        return bad(w, "\"shards\" is there twice");
    if (is_shards)
        return take_shards(r);
    json_t *const value = take_value(w);
    if (!value)
        return w->err->code;
    if (number && (*number = count_of(value)) == UINT64_MAX)
        rc = bad(w, "the value before it is not a whole number");
    json_decref(value);
    return rc;
}

static int check_whole(reading *r)
{
    walk *const w = &r->walk;
    if (next_char(w) || w->at < w->end)
        return bad(w, "something follows the end");
    if (r->version == UINT64_MAX || !r->has_shards)
        return bad(w, "\"leat_manifest\" or \"shards\" is missing");
    if (r->version != LEAT_MANIFEST_VERSION)
        return bad(w, "a manifest of another version");
    if ((r->bytes != UINT64_MAX && r->bytes != r->out->bytes) ||
        (r->records != UINT64_MAX && r->records != r->out->records))
        return bad(w, "\"bytes\" or \"records\" is not the sum over the shards");
    return LEAT_FORMAT_OK;
}

int leat_manifest_parse(const char *text, size_t size, const char *name, leat_manifest *out,
                        leat_format_error *err)
{
    leat_format_error unused;
    reading r = { .walk = { text, text + leat_utf8_mark(text, size), text + size, name,
                            err ? err : &unused },
                  .out = out,
                  .version = UINT64_MAX,
                  .bytes = UINT64_MAX,
                  .records = UINT64_MAX };
    memset(out, 0, sizeof *out);
    int rc = take_char(&r.walk, '{');
    if (rc == LEAT_FORMAT_OK && next_char(&r.walk) != '}')
        do
            rc = take_entry(&r);
        while (rc == LEAT_FORMAT_OK && next_char(&r.walk) == ',' && r.walk.at++);
    if (rc == LEAT_FORMAT_OK)
        rc = take_char(&r.walk, '}');
    if (rc == LEAT_FORMAT_OK)
        rc = check_whole(&r);
    const char *at = out->names;
    for (size_t i = 0; i < out->n_shards && rc == LEAT_FORMAT_OK; i++) {
        out->shards[i].file = at;
        at += strlen(at) + 1;
    }
    return rc;
}

int leat_manifest_read(const char *path, leat_manifest *out, leat_format_error *err)
{
    char *text;
    size_t size;
    memset(out, 0, sizeof *out);
    int rc = leat_whole_file_read(path, LEAT_MANIFEST_BYTES_MOST, &text, &size, err);
    if (rc == LEAT_FORMAT_OK)
        rc = leat_manifest_parse(text, size, path, out, err);
    free(text);
    return rc;
}

/* --- order --------------------------------------------------------------------------------------- */

static int by_file(const void *one, const void *other)
{
    const leat_manifest_shard *const a = one, *const b = other;
    return strcmp(a->file, b->file);
}

/* Puts a folder before all names that are relative. */
static int put_before(leat_manifest *m, const char *folder)
{
    const size_t n_folder = strlen(folder);
    size_t n = 0;
    for (size_t i = 0; i < m->n_shards; i++)
        n += n_folder + 1 + strlen(m->shards[i].file) + 1;
    char *const names = malloc(n), *at = names;
    if (!names)
        return LEAT_FORMAT_NOMEM;
    for (size_t i = 0; i < m->n_shards; i++) {
        const char *const file = m->shards[i].file;
        m->shards[i].file = at;
        at = stpcpy(*file == '/' ? at : stpcpy(stpcpy(at, folder), "/"), file) + 1;
    }
    free(m->names);
    m->names = names;
    return LEAT_FORMAT_OK;
}

int leat_manifest_sort(leat_manifest *m, const char *name, leat_format_error *err)
{
    size_t n_absolute = 0;
    int rc = LEAT_FORMAT_OK;
    for (size_t i = 0; i < m->n_shards; i++)
        n_absolute += *m->shards[i].file == '/';
    if (n_absolute && n_absolute < m->n_shards) {
        char *const folder = leat_manifest_path(name, ".");
        char *const real = folder ? realpath(folder, NULL) : NULL;
        rc = !folder ? LEAT_FORMAT_NOMEM
             : !real ? (errno == ENOMEM ? LEAT_FORMAT_NOMEM : LEAT_FORMAT_IO)
                     : put_before(m, real[1] ? real : "");
        if (rc < 0)
            leat_format_fail(err, rc, 0, "%s: %s", name,
                             strerror(rc == LEAT_FORMAT_NOMEM ? ENOMEM : errno));
        free(folder);
        free(real);
    }
    size_t n = 1;
    while (n < m->n_shards && by_file(&m->shards[n - 1], &m->shards[n]) <= 0)
        n++; /* of millions most are in order */
    if (rc == LEAT_FORMAT_OK && n < m->n_shards)
        qsort(m->shards, m->n_shards, sizeof *m->shards, by_file);
    return rc;
}

void leat_manifest_close(leat_manifest *manifest)
{
    free(manifest->shards);
    free(manifest->names);
    memset(manifest, 0, sizeof *manifest);
}

int leat_manifest_digest_file(const char *path, uint64_t *bytes, uint64_t *digest,
                              leat_format_error *err)
{
    enum { PART = 1 << 20 };
    XXH3_state_t *const state = XXH3_createState();
    uint8_t *const part = malloc(PART);
    const int fd = leat_format_open(path);
    ssize_t n = fd < 0 ? -1 : 1;
    int rc = LEAT_FORMAT_OK;
    *bytes = 0;
    if (!state || !part) {
        rc = leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory to read it", path);
    } else {
        XXH3_64bits_reset(state);
        while (n > 0 && (n = leat_format_pread(fd, part, PART, *bytes)) > 0) {
            XXH3_64bits_update(state, part, (size_t)n);
            *bytes += (uint64_t)n;
        }
        *digest = XXH3_64bits_digest(state);
        if (n < 0)
            rc = leat_format_fail(err, LEAT_FORMAT_IO, *bytes, "%s: %s", path,
                                  leat_format_open_error(errno));
    }
    if (fd >= 0)
        close(fd);
    free(part);
    XXH3_freeState(state);
    return rc;
}

/* --- writing ------------------------------------------------------------------------------------ */

static int write_shard(leat_atomic_file *file, const leat_manifest_shard *shard, int is_last,
                       leat_format_error *err)
{
    char rest[160];
    json_t *const name = json_string(shard->file);
    char *const quoted = name ? json_dumps(name, JSON_ENCODE_ANY) : NULL;
    json_decref(name);
    if (!quoted)
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0,
                                "%s: a manifest cannot hold a name that is not UTF-8", shard->file);
    int n = snprintf(rest, sizeof rest, ", \"bytes\": %llu, \"records\": %llu", (ull)shard->bytes,
                     (ull)shard->records);
    if (shard->has_digest)
        n += snprintf(rest + n, sizeof rest - (size_t)n, ", \"xxh3\": \"%016llx\"",
                      (ull)shard->digest);
    n += snprintf(rest + n, sizeof rest - (size_t)n, is_last ? "}\n" : "},\n");
    int rc;
    if ((rc = leat_atomic_file_write(file, "{\"file\": ", 9, err)) == LEAT_FORMAT_OK &&
        (rc = leat_atomic_file_write(file, quoted, strlen(quoted), err)) == LEAT_FORMAT_OK)
        rc = leat_atomic_file_write(file, rest, (size_t)n, err);
    free(quoted);
    return rc;
}

int leat_manifest_write(const char *path, const leat_manifest_shard *shards, size_t n_shards,
                        leat_format_error *err)
{
    leat_atomic_file *file;
    char head[160];
    uint64_t bytes = 0, records = 0;
    for (size_t i = 0; i < n_shards; i++) {
        bytes += shards[i].bytes;
        records += shards[i].records;
    }
    const int n =
        snprintf(head, sizeof head,
                 "{\"leat_manifest\": %d, \"records\": %llu, \"bytes\": %llu, \"shards\": [\n",
                 LEAT_MANIFEST_VERSION, (ull)records, (ull)bytes);
    int rc = leat_atomic_file_open(&file, path, 0, err);
    if (rc == LEAT_FORMAT_OK)
        rc = leat_atomic_file_write(file, head, (size_t)n, err);
    for (size_t i = 0; i < n_shards && rc == LEAT_FORMAT_OK; i++)
        rc = write_shard(file, &shards[i], i + 1 == n_shards, err);
    if (rc == LEAT_FORMAT_OK)
        rc = leat_atomic_file_write(file, "]}\n", 3, err);
    if (rc == LEAT_FORMAT_OK)
        rc = leat_atomic_file_commit(file, err);
    leat_atomic_file_close(&file);
    return rc;
}
