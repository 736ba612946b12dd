/* SPDX-License-Identifier: MIT
 *
 * digest.h: 64-bit digests that tell whether two runs made the same batches. The digest of a batch is
 * the sum of the digests of its rows, so any thread can finish rows in any order. The digest of a run
 * chains the digests of its batches in order. It does not protect against forgery. */
#ifndef LEAT_DIGEST_H
#define LEAT_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* Returns the digest of n bytes as row `row`; the same bytes in another row have another digest. */
uint64_t leat_digest_row(const void *bytes, size_t n, uint64_t row);
/* Returns the digest `run` (0: empty) with `next` appended. */
uint64_t leat_digest_chain(uint64_t run, uint64_t next);
/* Returns the digest `run` with a text appended. */
uint64_t leat_digest_text(uint64_t run, const char *text);
/* Returns where part i of n begins, if they are spread evenly over `all`: the first at 0, the last ends at the end. n is
 * at least 1, and 1 if `all` is less than a part. */
uint64_t leat_digest_place(uint64_t all, uint64_t part, uint64_t i, uint64_t n);
/* Returns a digest of n rows, one after the other: of up to 1 MiB all bytes, of more those of 64 rows, so that a large
 * mapped file is not read whole; of a row larger than 64 KiB 16 blocks of 4 KiB. Rows and blocks are spread evenly. */
uint64_t leat_digest_sample(const void *rows, size_t row_bytes, uint64_t n);

#endif
