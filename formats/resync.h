/* SPDX-License-Identifier: MIT
 *
 * resync.h: finds the next sound record of a TFRecord file behind a place that is damaged. */
#ifndef LEAT_RESYNC_H
#define LEAT_RESYNC_H

#include "format.h"

/* Looks for the first offset from `from` on where a record is whole: the CRCs of its length and of its data
 * hold, and it ends within the file. What it finds is a function of the file's bytes alone. A record that
 * holds a TFRecord file as its data and is damaged before it is taken for the records inside.
 *
 * fd       open for reading; its position is not used
 * found    the offset, or file_size where no record is whole
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD: the file became shorter; LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM */
int leat_resync_find(int fd, uint64_t from, uint64_t file_size, uint64_t *found,
                     leat_format_error *err);

#endif
