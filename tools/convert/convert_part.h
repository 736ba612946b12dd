/* SPDX-License-Identifier: MIT
 *
 * convert_part.h: one conversion in several processes, on one machine or on many that share a file system. Part i of n writes
 * the shards s with s mod n = i - 1 to its own folder (file_set.h). When all are complete they get their names
 * together; the files are those of one process. */
#ifndef LEAT_CONVERT_PART_H
#define LEAT_CONVERT_PART_H

#include <stdint.h>

#include "set_manifest.h"

typedef struct leat_convert_part {
    int32_t number, of; /* 1 to `of`; of 0: the conversion is not in parts */
} leat_convert_part;

/* Reads "3/8". NULL: no parts. Returns LEAT_OK or LEAT_E_ARGUMENT. */
int leat_convert_part_parse(const char *text, leat_convert_part *out, leat_error *err);
static inline bool leat_convert_part_has(leat_convert_part part, int32_t shard)
{
    return !part.of || shard % part.of == part.number - 1;
}

/* What all parts must agree in, and what this one has. */
typedef struct leat_convert_part_about {
    leat_convert_part part;
    int32_t n_shards;
    uint64_t digest; /* of the list of files, their order and the options */
    uint64_t n_files, n_classes, images;
} leat_convert_part_about;

/* The files of a part are complete: keeps them with this description and their manifest. */
int leat_convert_part_keep(leat_file_set *set, const leat_convert_part_about *about,
                           const leat_set_manifest *manifest, leat_error *err);

/* Gives the files of all parts of PREFIX their names, with a manifest of all.
 *
 * set      of the whole, open
 * found    receives what the parts agree in, and their images; n_shards 0: there are no parts
 * returns  LEAT_OK; LEAT_E_DATA: parts are missing or differ, with their numbers; LEAT_E_IO; LEAT_E_NOMEM */
int leat_convert_part_finish(leat_file_set *set, leat_convert_part_about *found, leat_error *err);

#endif
