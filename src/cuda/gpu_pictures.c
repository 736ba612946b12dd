/* SPDX-License-Identifier: MIT
 *
 * gpu_pictures.c: decodes the JPEG files of a batch to device memory. gpu_ops.c calls it before the first op of a chain that gets files.
 *
 * DESIGN. Pictures are in one block of device memory, one after the other. A batch whose pictures do not
 * fit takes several rounds. All work is in one stream, so the next round may overwrite the block. Each
 * round makes one nvJPEG call per backend (gpu_codec.c). The state of such a call is busy until its work
 * has completed. So there are TURNS states, each with an event. A round waits for the event of its state,
 * which has completed by then unless the GPU is far behind.
 *
 * The JPEG engine needs a stream whose work is done: it writes when it is called, and so over pictures that kernels have not
 * read yet. On an H200 that other programs used, too, 5 to 10 of 1,200 rows were other pictures, and none with a wait of the host; so
 * it was on an H100 (github.com/meta-pytorch/torchcodec/pull/1634), where no wait of another stream helped. A round with files
 * for the engine examines them, and then waits for its stream. */

#include <stdlib.h>

#include "gpu_codec.h"

enum { TURNS = 3 };

typedef struct turn {
    cudaEvent_t done;
    leat_gpu_call calls[LEAT_GPU_WAYS];
    leat_kernel_picture *pictures; /* pinned; on_device is their copy */
    leat_kernel_picture *on_device;
} turn;

/* Consecutive rows that the CPU made. */
typedef struct made_rows {
    int64_t from, n;
} made_rows;

struct leat_gpu_pictures {
    leat_gpu *gpu;
    leat_gpu_codec codec;
    leat_device_files files;
    const leat_kernel_op *op;
    leat_kernel_args args;
    size_t draws; /* offset of the first op's draws in host memory of a batch */
    int64_t rows;
    uint8_t *block;
    int64_t block_bytes;
    turn turns[TURNS];
    int next;
};

static int64_t round_up(int64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* --- open -------------------------------------------------------------------------------------- */

static int open_turn(const leat_gpu_pictures *p, turn *t)
{
    const size_t bytes = (size_t)p->rows * sizeof *t->pictures;
    int rc = leat_gpu_code(
        p->gpu, cudaEventCreateWithFlags(&t->done, cudaEventDisableTiming | cudaEventBlockingSync),
        "opening an event");
    for (int way = 0; way < LEAT_GPU_WAYS && rc == LEAT_OK; way++)
        rc = leat_gpu_codec_open_call(&p->codec, way, p->rows, &t->calls[way]);
    if (rc < 0)
        return rc;
    t->pictures = leat_gpu_pinned_alloc(&p->gpu->base, bytes);
    t->on_device = t->pictures ? leat_gpu_device_alloc(&p->gpu->base, bytes) : NULL;
    return t->on_device ? LEAT_OK : LEAT_E_NOMEM;
}

static int fill(leat_gpu_pictures *p)
{
    int rc = LEAT_OK;
    p->block_bytes = leat_device_files_bytes(&p->files, p->rows, p->args.channels);
    for (int i = 0; i < TURNS && rc == LEAT_OK; i++)
        rc = open_turn(p, &p->turns[i]);
    if (rc == LEAT_OK && !(p->block = leat_gpu_device_alloc(&p->gpu->base, (size_t)p->block_bytes)))
        rc = LEAT_E_NOMEM;
    return rc;
}

int leat_gpu_pictures_open(leat_gpu *gpu, const leat_device_chain *chain, const leat_kernel_op *op,
                           const leat_kernel_args *args, leat_gpu_pictures **out, leat_error *err)
{
    *out = NULL;
    leat_gpu_pictures *p = calloc(1, sizeof *p);
    if (!p)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "pictures: %zu bytes", sizeof *p);
    p->gpu = gpu;
    p->files = *chain->files;
    p->op = op;
    p->args = *args;
    p->draws = chain->draws;
    p->rows = args->n_rows;
    int rc = leat_gpu_check(gpu, cudaSetDevice(gpu->number), "decode_jpeg on the GPU", err);
    if (rc == LEAT_OK)
        rc = leat_gpu_codec_open(&p->codec, gpu, args->channels, err);
    if (rc == LEAT_OK && (rc = fill(p)) < 0) {
        char why[256];
        leat_gpu_explain(&gpu->base, why, sizeof why);
        leat_gpu_fail(err, rc, "decode_jpeg on the GPU: %s%s", why,
                      rc == LEAT_E_NOMEM ? ": lower its max_pixels, or batch.size" : "");
    }
    if (rc < 0)
        leat_gpu_pictures_close(&p);
    *out = p;
    return rc;
}

static void close_turn(const leat_gpu_pictures *p, turn *t)
{
    for (int way = 0; way < LEAT_GPU_WAYS; way++)
        leat_gpu_codec_close_call(&p->codec, &t->calls[way]);
    leat_gpu_pinned_free(&p->gpu->base, t->pictures);
    leat_gpu_device_free(&p->gpu->base, t->on_device);
    if (t->done)
        leat_gpu_code(p->gpu, cudaEventDestroy(t->done), "closing an event");
}

void leat_gpu_pictures_close(leat_gpu_pictures **out)
{
    leat_gpu_pictures *const p = *out;
    *out = NULL;
    if (!p)
        return;
    leat_gpu_use(p->gpu);
    for (int i = 0; i < TURNS; i++)
        close_turn(p, &p->turns[i]);
    leat_gpu_codec_close(&p->codec);
    leat_gpu_device_free(&p->gpu->base, p->block);
    free(p);
}

/* --- decode ------------------------------------------------------------------------------------ */

/* The region of a row's picture that the first op reads. */
static leat_image_box part_of(const leat_gpu_pictures *p, const leat_gpu_decoding *work,
                              int64_t row, const leat_kernel_picture *picture)
{
    const leat_image_box whole = { 0, 0, picture->height, picture->width };
    leat_kernel_args args = p->args;
    if (!p->op->region)
        return whole;
    args.pictures = picture;
    args.draws =
        (const leat_draw *)(const void *)(work->host + p->draws) + row * (int64_t)args.draw_stride;
    return p->op->region(&args, 0);
}

/* Copies the rows that the CPU made, and empties the list. */
static int copy_made(const leat_gpu_pictures *p, const leat_gpu_decoding *work, made_rows *made,
                     cudaStream_t stream)
{
    const size_t bytes = (size_t)p->args.out_bytes, room = p->files.room;
    const made_rows now = *made;
    *made = (made_rows){ .n = 0 };
    if (now.n == 0)
        return LEAT_OK;
    return leat_gpu_code(p->gpu,
                         cudaMemcpy2DAsync(work->out + (size_t)now.from * bytes, bytes,
                                           work->host + p->files.at + (size_t)now.from * room, room,
                                           bytes, (size_t)now.n, cudaMemcpyHostToDevice, stream),
                         "copying rows that the CPU made");
}

/* Adds files to the calls row by row, until the block is full. */
static int collect(const leat_gpu_pictures *p, turn *t, cudaStream_t stream,
                   leat_gpu_decoding *work)
{
    const leat_device_file *const heads =
        (const leat_device_file *)(const void *)(work->host + p->files.heads);
    made_rows made = { .n = 0 };
    int64_t at = 0, row;
    int rc = LEAT_OK;
    for (int way = 0; way < LEAT_GPU_WAYS; way++)
        t->calls[way].n = t->calls[way].n_parts = 0;
    for (row = work->from; row < work->rows && rc == LEAT_OK; row++) {
        const leat_device_file *const head = &heads[row];
        leat_kernel_picture *const picture = &t->pictures[row - work->from];
        *picture = (leat_kernel_picture){ .at = 0 };
        if (!head->bytes) {
            if (made.n++ == 0)
                made.from = row;
            continue;
        }
        rc = copy_made(p, work, &made, stream);
        const int64_t bytes = (int64_t)head->width * head->height * p->args.channels;
        if (at + round_up(bytes) > p->block_bytes)
            break;
        *picture = (leat_kernel_picture){ at, head->height, head->width, 0, 0, 0 };
        const leat_image_box part = part_of(p, work, row, picture);
        leat_gpu_codec_add(&p->codec, t->calls,
                           &(leat_gpu_file){ work->host + p->files.at + (size_t)row * p->files.room,
                                             (size_t)head->bytes, p->block + at, picture, row },
                           &part);
        at += round_up(bytes);
    }
    work->to = row;
    if (rc == LEAT_OK)
        rc = copy_made(p, work, &made, stream);
    if (rc == LEAT_OK && row == work->from)
        rc = leat_gpu_trouble(p->gpu, LEAT_E_INTERNAL, "row %lld is too large", (long long)row);
    return rc;
}

/* Asleep: it may last as long as a training step. */
static int wait_for_stream(const leat_gpu_pictures *p, cudaEvent_t event, cudaStream_t stream)
{
    const int rc = leat_gpu_code(p->gpu, cudaEventRecord(event, stream), "marking a stream");
    return rc < 0 ? rc : leat_gpu_code(p->gpu, cudaEventSynchronize(event), "waiting for pictures");
}

int leat_gpu_pictures_decode(leat_gpu_pictures *p, cudaStream_t stream, leat_gpu_decoding *work)
{
    turn *const t = &p->turns[p->next];
    /* An event that was never recorded counts as done. */
    int rc = leat_gpu_code(p->gpu, cudaEventSynchronize(t->done), "waiting for pictures");
    if (rc == LEAT_OK)
        rc = collect(p, t, stream, work);
    if (rc == LEAT_OK && t->calls[LEAT_GPU_HARDWARE].n)
        rc = wait_for_stream(p, t->done, stream);
    for (int way = 0; way < LEAT_GPU_WAYS && rc == LEAT_OK; way++)
        rc = leat_gpu_codec_decode(&p->codec, t->calls, way, stream, &work->bad_row);
    if (rc < 0) {
        cudaEventRecord(t->done, stream); /* some work may be enqueued */
        cudaGetLastError();
        return rc;
    }
    work->pixels = p->block;
    work->pictures = t->on_device;
    const size_t bytes = (size_t)(work->to - work->from) * sizeof *t->pictures;
    return leat_gpu_code(
        p->gpu, cudaMemcpyAsync(t->on_device, t->pictures, bytes, cudaMemcpyHostToDevice, stream),
        "copying the places of pictures");
}

int leat_gpu_pictures_used(leat_gpu_pictures *p, cudaStream_t stream)
{
    turn *const t = &p->turns[p->next];
    p->next = (p->next + 1) % TURNS;
    return leat_gpu_code(p->gpu, cudaEventRecord(t->done, stream), "marking pictures as used");
}
