/* SPDX-License-Identifier: MIT
 *
 * manifest.h: one JSON file that lists the TFRecord files of a set, so that a set of very many files opens without a look
 * at each of them. `leat convert` and `leat index --manifest` write it, the source `tfrecord` reads it:
 *
 *     {"leat_manifest": 1, "records": 90, "bytes": 9120, "shards": [
 *     {"file": "train-00000-of-00002.tfrecord", "bytes": 4560, "records": 45, "xxh3": "0123456789abcdef"},
 *     ...
 *     ]}
 *
 * Names are relative to the folder of the manifest, unless they begin with "/". "xxh3" is the XXH3 (64 bits) of all bytes
 * of the file. Other keys have no meaning. */
#ifndef LEAT_MANIFEST_H
#define LEAT_MANIFEST_H

#include "format.h"

typedef struct leat_manifest_shard {
    const char *file; /* as in the text */
    uint64_t bytes, records;
    uint64_t digest;
    int has_digest;
} leat_manifest_shard;

typedef struct leat_manifest {
    leat_manifest_shard *shards; /* in the order of the text */
    size_t n_shards;
    uint64_t bytes, records; /* of all */
    char *names;             /* what `file` points into */
} leat_manifest;

enum {
    LEAT_MANIFEST_VERSION = 1,
    LEAT_MANIFEST_NAME = 4095,            /* bytes of a name, at most */
    LEAT_MANIFEST_BYTES_MOST = 1073741824 /* of the file */
};

/* Whether it is the name of a manifest: "manifest.json", or a name that ends in "-manifest.json" or ".manifest.json". */
int leat_manifest_is(const char *path);

/* Reads a file, or its text.
 *
 * name     of the file, for messages
 * out      leat_manifest_close(), also after an error
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD (text: where and what); LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM */
int leat_manifest_read(const char *path, leat_manifest *out, leat_format_error *err);
int leat_manifest_parse(const char *text, size_t size, const char *name, leat_manifest *out,
                        leat_format_error *err);
void leat_manifest_close(leat_manifest *manifest);

/* Sorts the shards by their names, as sources read them. If some names begin with "/" and others do not, these get the real
 * path of the manifest's folder first.
 *
 * name     of the manifest
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_IO: the folder has no path; LEAT_FORMAT_NOMEM */
int leat_manifest_sort(leat_manifest *manifest, const char *name, leat_format_error *err);

/* The path of a file that a manifest lists, in new memory. NULL: out of memory. */
char *leat_manifest_path(const char *manifest, const char *file);

/* Reads a whole file, for its size and its XXH3. Returns LEAT_FORMAT_OK, LEAT_FORMAT_IO or LEAT_FORMAT_NOMEM. */
int leat_manifest_digest_file(const char *path, uint64_t *bytes, uint64_t *digest,
                              leat_format_error *err);

/* Writes a manifest; it appears whole or not at all (atomic_file.h).
 *
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD: a name is not UTF-8; LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM */
int leat_manifest_write(const char *path, const leat_manifest_shard *shards, size_t n_shards,
                        leat_format_error *err);

#endif
