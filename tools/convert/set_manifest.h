/* SPDX-License-Identifier: MIT
 *
 * set_manifest.h: makes and checks the manifest of a set (formats/manifest.h). `leat convert` writes PREFIX-manifest.json with
 * the set; `leat index` writes one for files that are there, and checks them. */
#ifndef LEAT_SET_MANIFEST_H
#define LEAT_SET_MANIFEST_H

#include "file_set.h"
#include "formats/manifest.h"
#include "formats/tfrecord.h"

typedef struct leat_set_manifest {
    leat_manifest_shard *shards; /* names are owned */
    size_t n;
} leat_set_manifest;

/* Adds a file. All zero: an empty list. file: copied. */
int leat_set_manifest_add(leat_set_manifest *manifest, const leat_manifest_shard *shard,
                          leat_error *err);
/* The same with what a writer has written to it, before its commit. */
int leat_set_manifest_add_written(leat_set_manifest *manifest, const char *path,
                                  const leat_tfrecord_writer *writer, leat_error *err);
/* The same with a file that is there: reads it all. at: where the manifest will be. */
int leat_set_manifest_add_file(leat_set_manifest *manifest, const char *path, uint64_t records,
                               const char *at, leat_error *err);
int leat_set_manifest_write(const leat_set_manifest *manifest, const char *path, leat_error *err);
/* Writes PREFIX-manifest.json of a set that has no names yet. */
int leat_set_manifest_write_of(const leat_set_manifest *manifest, const leat_file_set *set,
                               leat_error *err);
void leat_set_manifest_close(leat_set_manifest *manifest);

/* Compares a file with what a manifest says of it. Returns LEAT_OK; LEAT_E_DATA: its size, its index or its bytes are other
 * ones; LEAT_E_IO. */
int leat_set_manifest_check(const char *path, const leat_manifest_shard *shard, leat_error *err);

#endif
