/* SPDX-License-Identifier: MIT
 *
 * resync.h: finds the next valid record of a TFRecord file after damage. tfrecord_reader.c calls it. */
#ifndef LEAT_RESYNC_H
#define LEAT_RESYNC_H

#include "format.h"

/* Finds the first offset >= `from` of a valid record: both CRCs are right and it ends inside the file.
 * The result depends only on the bytes of the file. If the data of a damaged record is itself a TFRecord
 * file, the records inside are found.
 *
 * fd       open for reading; its position is not used
 * found    the offset, or file_size if there is no valid record
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD: the file became shorter; LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM */
int leat_resync_find(int fd, uint64_t from, uint64_t file_size, uint64_t *found,
                     leat_format_error *err);

#endif
