/* SPDX-License-Identifier: MIT
 *
 * gpu_decode_row.c: a row of a chain whose files the device decodes. Called by sample.c in a worker.
 *
 * DESIGN. Of every file the header is read here, so that the random decisions of the ops that follow
 * are drawn with the picture's size, as they are on the CPU. A plain file then goes into the slot, for the
 * device's decoder. What that might not take (progressive files, very large ones, …) is decoded here,
 * and so is what has no room: the op behind decode_jpeg is done too, as its result has one size for
 * all, and the device copies it. So it is with rows beyond the device's share of a batch, which are spread
 * over it evenly. Which files these are depends on nothing but the file, the plan and the row of the batch
 * that all ranks make together. A header that is damaged is an error of its record like any other; what is damaged behind the header
 * is for the device's decoder to find. */
#include <string.h>

#include "journey.h"
#include "ops/jpeg/jpeg_plain.h"
#include "pipeline/plan/gpu_decode.h"

/* Whether a row of the batch of all ranks is one of the device's. */
static bool is_in_share(const leat_chain *chain, uint64_t row)
{
    const uint64_t half = LEAT_GPU_DECODE_ALL_ROWS / 2, before = row * chain->files_share + half;
    return (before + chain->files_share) / LEAT_GPU_DECODE_ALL_ROWS >
           before / LEAT_GPU_DECODE_ALL_ROWS;
}

static bool is_for_device(const leat_chain *chain, const leat_view *file, const leat_shape *picture)
{
    const int64_t height = picture->dims[0], width = picture->dims[1], bytes = file->shape.dims[0];
    return (size_t)bytes <= chain->files.room && height <= LEAT_DEVICE_SIDE_MOST &&
           width <= LEAT_DEVICE_SIDE_MOST && height * width <= chain->files.most_px &&
           leat_jpeg_is_plain(file->data, (size_t)bytes);
}

/* decode_jpeg and the op behind it. */
static int make_here(const leat_sample *j, leat_stopwatch *stopwatch, leat_error *err)
{
    leat_sample own = *j;
    const int rc = leat_chain_run_pair(&own, stopwatch, err);
    if (rc == LEAT_OK)
        memcpy(j->row, own.view.data, (size_t)leat_shape_bytes(&j->chain->files_shape));
    return rc;
}

int leat_gpu_decode_row(const leat_sample *j, uint8_t *slot, uint64_t row, leat_shape *picture,
                        leat_stopwatch *stopwatch, leat_error *err)
{
    const leat_chain *const chain = j->chain;
    leat_device_file *const head = (leat_device_file *)(void *)(slot + chain->files.heads) + row;
    const int rc = leat_chain_measure(j, chain->n_host, picture, err);
    if (rc < 0)
        return rc;
    *head = (leat_device_file){ .height = (int32_t)picture->dims[0],
                                .width = (int32_t)picture->dims[1],
                                .record = j->record };
    leat_trace *const trace = &j->worker->trace;
    const bool is_here =
        !is_in_share(chain, j->worker->first_row + row) || !is_for_device(chain, &j->view, picture);
    leat_trace_add(is_here ? &trace->n_files_here : &trace->n_files, 1);
    if (is_here)
        return make_here(j, stopwatch, err);
    head->bytes = j->view.shape.dims[0];
    memcpy(j->row, j->view.data, (size_t)head->bytes);
    return LEAT_OK;
}
