/* SPDX-License-Identifier: MIT
 *
 * gpu_decode_row.c: a row of a chain whose files the device decodes. chain.c calls it in a worker.
 *
 * DESIGN. The header of every file is read here, because the ops that follow draw their random decisions with
 * the size of the picture. A plain file is copied into the slot for the device's decoder. Other files
 * (progressive, very large, too long for the slot, without an end) are decoded here, and so are the rows beyond the device's
 * share, which are spread evenly over the batch. For these the op behind decode_jpeg runs here too, since its
 * output has one size. The choice depends only on the file, the plan and the row in the batch of all ranks.
 * A damaged header, or no end marker, is an error of its record. Other damage is found only by the device's decoder, or not
 * at all (upload.c: fail_file). */
#include <string.h>

#include "ops/jpeg/jpeg.h"
#include "pipeline/plan/gpu_decode.h"
#include "sample_impl.h"

/* Whether a row of the batch of all ranks belongs to the device's share. */
static bool is_in_share(const leat_chain *chain, uint64_t row)
{
    const uint64_t half = LEAT_GPU_DECODE_ALL_ROWS / 2, before = row * chain->files_share + half;
    return (before + chain->files_share) / LEAT_GPU_DECODE_ALL_ROWS >
           before / LEAT_GPU_DECODE_ALL_ROWS;
}

/* Whether the file has its end, perhaps with zeros behind it. nvJPEG decodes one that is cut short to some picture, and does
 * not say so. */
static bool is_whole(const leat_view *file)
{
    const uint8_t *const bytes = file->data;
    int64_t n = file->shape.dims[0];
    while (n > 2 && !bytes[n - 1])
        n--;
    return n > 2 && bytes[n - 2] == 0xff && bytes[n - 1] == 0xd9;
}

static bool is_for_device(const leat_chain *chain, const leat_view *file, const leat_shape *picture)
{
    const int64_t height = picture->dims[0], width = picture->dims[1], bytes = file->shape.dims[0];
    return (size_t)bytes <= chain->files.room && height <= LEAT_DEVICE_SIDE_MOST &&
           width <= LEAT_DEVICE_SIDE_MOST && height * width <= chain->files.most_px &&
           leat_jpeg_is_plain(file->data, (size_t)bytes) && is_whole(file);
}

/* Runs decode_jpeg and the op behind it on the CPU. */
static int make_here(const leat_sample *s, leat_stopwatch *stopwatch, leat_error *err)
{
    leat_sample own = *s;
    const int rc = leat_chain_run_pair(&own, stopwatch, err);
    if (rc == LEAT_OK)
        memcpy(s->row, own.view.data, (size_t)leat_shape_bytes(&s->chain->files_shape));
    return rc;
}

int leat_gpu_decode_row(const leat_sample *s, uint8_t *slot, uint64_t row, leat_shape *picture,
                        leat_stopwatch *stopwatch, leat_error *err)
{
    const leat_chain *const chain = s->chain;
    leat_device_file *const head = (leat_device_file *)(void *)(slot + chain->files.heads) + row;
    const int rc = leat_chain_measure(s, chain->n_host, picture, err);
    if (rc < 0)
        return rc;
    *head = (leat_device_file){ .height = (int32_t)picture->dims[0],
                                .width = (int32_t)picture->dims[1],
                                .record = s->record };
    leat_trace *const trace = &s->worker->trace;
    const bool is_here =
        !is_in_share(chain, s->worker->first_row + row) || !is_for_device(chain, &s->view, picture);
    leat_trace_add(is_here ? &trace->n_jpeg_host : &trace->n_jpeg_device, 1);
    if (is_here)
        return make_here(s, stopwatch, err);
    head->bytes = s->view.shape.dims[0];
    memcpy(s->row, s->view.data, (size_t)head->bytes);
    return LEAT_OK;
}
