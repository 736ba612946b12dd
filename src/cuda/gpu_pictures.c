/* SPDX-License-Identifier: MIT
 *
 * gpu_pictures.c: see gpu_pictures.h.
 *
 * DESIGN. Pictures lie in one block of device memory, one behind the other, as many as fit; a batch whose
 * pictures do not fit is done in several goes. All is in one stream, so the next go may overwrite the
 * block. Files that the chip's own decoder takes go there, the others to nvJPEG's kernels, each kind in
 * one call. nvJPEG's state of a call may not be used again before its work is done: there are TURNS of
 * them, each with an event, and a go waits for that of its turn, which is done by then unless the GPU is
 * far behind.
 *
 * When a call fails, nvJPEG does not say for which file. The files of that call are then decoded one by
 * one, waiting for each; the first that fails is the bad one, and if none does, nothing is wrong. */
#include "gpu_pictures.h"

#include <stdlib.h>
#include <string.h>

#include "gpu_nvjpeg.h"

enum { TURNS = 3 };
enum { HARDWARE, KERNELS, N_WAYS }; /* ways to decode */

/* The files of one call. */
typedef struct list {
    int n;
    const unsigned char **files;
    size_t *bytes;
    nvjpeg_image *out;
    int64_t *rows;
} list;

typedef struct turn {
    cudaEvent_t done;
    nvjpeg_state *states[N_WAYS]; /* NULL: there is no such way */
    list lists[N_WAYS];
    leat_kernel_picture *pictures; /* pinned, and their copy on the device */
    leat_kernel_picture *on_device;
} turn;

struct leat_gpu_pictures {
    leat_gpu *gpu;
    const leat_gpu_nvjpeg *api;
    leat_device_files files;
    int32_t channels;
    int format;
    int64_t rows;
    nvjpeg_handle *handles[N_WAYS];
    nvjpeg_header *header; /* of the file that is being looked at, for the hardware */
    uint8_t *block;
    int64_t block_bytes;
    turn turns[TURNS];
    int next;
};

static int64_t round_up(int64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* nvJPEG's answer as a code, kept for explain(). */
static int code_of(const leat_gpu_pictures *p, int answer, const char *what)
{
    int code = LEAT_E_DEVICE;
    if (answer == NVJPEG_OK)
        return LEAT_OK;
    if (answer == NVJPEG_BAD_JPEG || answer == NVJPEG_JPEG_NOT_SUPPORTED ||
        answer == NVJPEG_INCOMPLETE_BITSTREAM)
        code = LEAT_E_DATA;
    else if (answer == NVJPEG_ALLOCATOR_FAILURE)
        code = LEAT_E_NOMEM;
    cudaGetLastError();
    return leat_gpu_trouble(p->gpu, code, "nvJPEG, %s: %s (%d)", what, leat_gpu_nvjpeg_text(answer),
                            answer);
}

/* --- open -------------------------------------------------------------------------------------- */

/* Interpolating chroma is what libjpeg does; versions that do not know it refuse the flag. */
static int create(const leat_gpu_pictures *p, int backend, nvjpeg_handle **out)
{
    const int answer = p->api->nvjpegCreateEx(backend, NULL, NULL, NVJPEG_INTERPOLATE, out);
    return answer == NVJPEG_OK ? answer : p->api->nvjpegCreateEx(backend, NULL, NULL, 0, out);
}

/* The chip's own decoder, if it has one. */
static void find_hardware(leat_gpu_pictures *p)
{
    unsigned n_engines = 0, n_cores = 0;
    nvjpeg_handle *handle = NULL;
    if (create(p, NVJPEG_HARDWARE, &handle) == NVJPEG_OK) {
        if (p->api->nvjpegGetHardwareDecoderInfo(handle, &n_engines, &n_cores) != NVJPEG_OK ||
            n_engines == 0) {
            p->api->nvjpegDestroy(handle);
            handle = NULL;
        }
        p->handles[HARDWARE] = handle;
    }
    cudaGetLastError(); /* it may have asked for what is not there */
}

static int open_handles(leat_gpu_pictures *p)
{
    find_hardware(p);
    int rc = code_of(p, create(p, NVJPEG_GPU_HYBRID, &p->handles[KERNELS]), "starting");
    if (rc == LEAT_OK && p->handles[HARDWARE])
        rc = code_of(p, p->api->nvjpegJpegStreamCreate(p->handles[HARDWARE], &p->header),
                     "starting");
    return rc;
}

static int open_list(const leat_gpu_pictures *p, list *l)
{
    const size_t n = (size_t)p->rows;
    l->files = calloc(n, sizeof *l->files);
    l->bytes = calloc(n, sizeof *l->bytes);
    l->out = calloc(n, sizeof *l->out);
    l->rows = calloc(n, sizeof *l->rows);
    return l->files && l->bytes && l->out && l->rows
               ? LEAT_OK
               : leat_gpu_trouble(p->gpu, LEAT_E_NOMEM, "lists of %zu files", n);
}

static int open_turn(const leat_gpu_pictures *p, turn *t)
{
    const size_t bytes = (size_t)p->rows * sizeof *t->pictures;
    int rc = leat_gpu_code(
        p->gpu, cudaEventCreateWithFlags(&t->done, cudaEventDisableTiming | cudaEventBlockingSync),
        "opening an event");
    for (int way = 0; way < N_WAYS && rc == LEAT_OK; way++) {
        if (!p->handles[way])
            continue;
        rc = code_of(p, p->api->nvjpegJpegStateCreate(p->handles[way], &t->states[way]),
                     "opening a state");
        if (rc == LEAT_OK)
            rc = open_list(p, &t->lists[way]);
    }
    /* Any such call makes it keep its memory from batch to batch. */
    if (rc == LEAT_OK && p->handles[HARDWARE])
        rc = code_of(p,
                     p->api->nvjpegDecodeBatchedPreAllocate(p->handles[HARDWARE],
                                                            t->states[HARDWARE], 1, 1, 1,
                                                            NVJPEG_CHROMA_444, p->format),
                     "taking memory");
    if (rc < 0)
        return rc;
    t->pictures = leat_gpu_pinned_alloc(&p->gpu->base, bytes);
    t->on_device = t->pictures ? leat_gpu_device_alloc(&p->gpu->base, bytes) : NULL;
    return t->on_device ? LEAT_OK : LEAT_E_NOMEM;
}

static int fill(leat_gpu_pictures *p)
{
    p->block_bytes = leat_device_files_bytes(&p->files, p->rows, p->channels);
    int rc = leat_gpu_use(p->gpu);
    if (rc == LEAT_OK)
        rc = open_handles(p);
    for (int i = 0; i < TURNS && rc == LEAT_OK; i++)
        rc = open_turn(p, &p->turns[i]);
    if (rc == LEAT_OK && !(p->block = leat_gpu_device_alloc(&p->gpu->base, (size_t)p->block_bytes)))
        rc = LEAT_E_NOMEM;
    return rc;
}

int leat_gpu_pictures_open(leat_gpu *gpu, const leat_device_chain *chain, int64_t rows,
                           leat_gpu_pictures **out, leat_error *err)
{
    leat_error inner;
    *out = NULL;
    const leat_gpu_nvjpeg *const api = leat_gpu_nvjpeg_open(&inner);
    if (!api)
        return leat_gpu_fail(err, inner.code, "decode_jpeg on the GPU is nvJPEG's work: %.900s",
                             inner.message);
    leat_gpu_pictures *p = calloc(1, sizeof *p);
    if (!p)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "pictures: %zu bytes", sizeof *p);
    p->gpu = gpu;
    p->api = api;
    p->files = *chain->files;
    p->rows = rows;
    p->channels = (int32_t)chain->ops[0].in.dims[2];
    p->format = p->channels == 1 ? NVJPEG_Y : NVJPEG_RGBI;
    const int rc = fill(p);
    if (rc < 0) {
        char why[256];
        leat_gpu_explain(&gpu->base, why, sizeof why);
        leat_gpu_pictures_close(&p);
        return leat_gpu_fail(err, rc, "decode_jpeg on the GPU: %s%s", why,
                             rc == LEAT_E_NOMEM ? ": lower its max_pixels, or batch.size" : "");
    }
    *out = p;
    return LEAT_OK;
}

static void close_turn(const leat_gpu_pictures *p, turn *t)
{
    for (int way = 0; way < N_WAYS; way++) {
        list *const l = &t->lists[way];
        if (t->states[way])
            p->api->nvjpegJpegStateDestroy(t->states[way]);
        free(l->files);
        free(l->bytes);
        free(l->out);
        free(l->rows);
    }
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
    if (p->header)
        p->api->nvjpegJpegStreamDestroy(p->header);
    for (int way = 0; way < N_WAYS; way++)
        if (p->handles[way])
            p->api->nvjpegDestroy(p->handles[way]);
    leat_gpu_device_free(&p->gpu->base, p->block);
    cudaGetLastError();
    free(p);
}

/* --- decode ------------------------------------------------------------------------------------ */

static int way_of(const leat_gpu_pictures *p, const uint8_t *file, size_t bytes)
{
    nvjpeg_handle *const hardware = p->handles[HARDWARE];
    int no = 1;
    if (!hardware ||
        p->api->nvjpegJpegStreamParseHeader(hardware, file, bytes, p->header) != NVJPEG_OK ||
        p->api->nvjpegDecodeBatchedSupported(hardware, p->header, &no) != NVJPEG_OK)
        return KERNELS;
    return no ? KERNELS : HARDWARE;
}

/* Row by row to the lists, until the block is full. */
static int collect(const leat_gpu_pictures *p, turn *t, cudaStream_t stream,
                   leat_gpu_decoding *work)
{
    const leat_device_file *const heads =
        (const leat_device_file *)(const void *)(work->host + p->files.heads);
    int64_t at = 0, row;
    for (int way = 0; way < N_WAYS; way++)
        t->lists[way].n = 0;
    for (row = work->from; row < work->rows; row++) {
        const leat_device_file *const head = &heads[row];
        const uint8_t *const bytes = work->host + p->files.at + (size_t)row * p->files.room;
        leat_kernel_picture *const picture = &t->pictures[row - work->from];
        *picture = (leat_kernel_picture){ .at = 0 };
        if (!head->bytes) {
            const cudaError_t rc = cudaMemcpyAsync(work->out + (size_t)row * work->out_bytes, bytes,
                                                   work->out_bytes, cudaMemcpyHostToDevice, stream);
            if (rc != cudaSuccess)
                return leat_gpu_code(p->gpu, rc, "copying a row that the CPU made");
            continue;
        }
        const int64_t pitch = (int64_t)head->width * p->channels;
        const int64_t next = at + round_up(pitch * head->height);
        if (next > p->block_bytes)
            break;
        list *const l = &t->lists[way_of(p, bytes, (size_t)head->bytes)];
        l->files[l->n] = bytes;
        l->bytes[l->n] = (size_t)head->bytes;
        l->rows[l->n] = row;
        l->out[l->n++] = (nvjpeg_image){ .channel = { p->block + at }, .pitch = { (size_t)pitch } };
        *picture = (leat_kernel_picture){ at, head->height, head->width };
        at = next;
    }
    work->to = row;
    return row > work->from
               ? LEAT_OK
               : leat_gpu_trouble(p->gpu, LEAT_E_INTERNAL, "row %lld is too large", (long long)row);
}

/* All files of a call have been refused together. */
static int decode_singly(const leat_gpu_pictures *p, turn *t, const list *l, cudaStream_t stream,
                         int64_t *bad_row)
{
    int rc = leat_gpu_code(p->gpu, cudaStreamSynchronize(stream), "waiting for a stream");
    for (int i = 0; i < l->n && rc == LEAT_OK; i++) {
        *bad_row = l->rows[i];
        rc = code_of(p,
                     p->api->nvjpegDecode(p->handles[KERNELS], t->states[KERNELS], l->files[i],
                                          l->bytes[i], p->format, &l->out[i], stream),
                     "decoding a file");
        const int waited =
            leat_gpu_code(p->gpu, cudaStreamSynchronize(stream), "waiting for a picture");
        rc = rc < 0 ? rc : waited;
    }
    return rc;
}

static int decode_list(const leat_gpu_pictures *p, turn *t, int way, cudaStream_t stream,
                       int64_t *bad_row)
{
    const list *const l = &t->lists[way];
    if (l->n == 0)
        return LEAT_OK;
    int answer =
        p->api->nvjpegDecodeBatchedInitialize(p->handles[way], t->states[way], l->n, 1, p->format);
    if (answer == NVJPEG_OK)
        answer = p->api->nvjpegDecodeBatched(p->handles[way], t->states[way], l->files, l->bytes,
                                             l->out, stream);
    if (answer == NVJPEG_OK)
        return LEAT_OK;
    const int rc = code_of(p, answer, "decoding a batch");
    cudaGetLastError();
    return rc == LEAT_E_DATA ? decode_singly(p, t, l, stream, bad_row) : rc;
}

int leat_gpu_pictures_decode(leat_gpu_pictures *p, cudaStream_t stream, leat_gpu_decoding *work)
{
    turn *const t = &p->turns[p->next];
    /* An event that was never recorded counts as done. */
    int rc = leat_gpu_code(p->gpu, cudaEventSynchronize(t->done), "waiting for pictures");
    if (rc == LEAT_OK)
        rc = collect(p, t, stream, work);
    for (int way = 0; way < N_WAYS && rc == LEAT_OK; way++)
        rc = decode_list(p, t, way, stream, &work->bad_row);
    if (rc < 0)
        return rc;
    work->pixels = p->block;
    work->pictures = t->on_device;
    const size_t bytes = (size_t)(work->to - work->from) * sizeof *t->pictures;
    return leat_gpu_code(
        p->gpu, cudaMemcpyAsync(t->on_device, t->pictures, bytes, cudaMemcpyHostToDevice, stream),
        "copying where pictures are");
}

int leat_gpu_pictures_used(leat_gpu_pictures *p, cudaStream_t stream)
{
    turn *const t = &p->turns[p->next];
    p->next = (p->next + 1) % TURNS;
    return leat_gpu_code(p->gpu, cudaEventRecord(t->done, stream), "marking pictures as used");
}
