/* SPDX-License-Identifier: MIT
 *
 * jpeg_flat.c: the Huffman loop of jpeg_flat.h in plain C. */
#include "ops/jpeg/jpeg_dsp.h"

#define FLAT_NAME      leat_jpeg_flat_c
#define FLAT_SKIP_NAME leat_jpeg_skip_c
#define FLAT_PAIR_NAME leat_jpeg_pair_c
#include "jpeg_flat.h"

#define SKIM_NAME leat_jpeg_skim_c
#include "jpeg_skim.inc"
