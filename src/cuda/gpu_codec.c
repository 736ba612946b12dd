/* SPDX-License-Identifier: MIT
 *
 * gpu_codec.c: decodes JPEG files with nvJPEG (gpu_codec.h).
 *
 * DESIGN. The JPEG engine of the GPU decodes only the region that the next op reads. It still reads all
 * entropy-coded bytes, but transforms and writes less. Each picture has memory for the whole picture, so
 * that it can be decoded whole in the same place if a region is refused.
 *
 * nvJPEG does not say which file made a call fail. If the call had regions, it is repeated without. If it
 * still fails, the files are decoded one by one and whole by nvJPEG's kernels, with a wait after each. The first that fails is
 * the damaged one. If none fails, the batch is good. So it is too where the JPEG engine itself fails, which is not
 * used again. */
#include "gpu_codec.h"

#include <stdlib.h>
#include <string.h>

/* Converts a return value of nvJPEG to a code, and stores it for explain(). */
static int code_of(const leat_gpu_codec *codec, int answer, const char *what)
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
    return leat_gpu_trouble(codec->gpu, code, "nvJPEG, %s: %s (%d)", what,
                            leat_gpu_nvjpeg_text(answer), answer);
}

/* --- open -------------------------------------------------------------------------------------- */

/* Asks for interpolated chroma, as libjpeg has it. Old versions refuse the flag. */
static int create(const leat_gpu_codec *codec, int backend, nvjpeg_handle **out)
{
    const int answer = codec->api->nvjpegCreateEx(backend, NULL, NULL, NVJPEG_INTERPOLATE, out);
    return answer == NVJPEG_OK ? answer : codec->api->nvjpegCreateEx(backend, NULL, NULL, 0, out);
}

/* Whether the engine gives memory to a state: a GPU may count one that it cannot use. */
static bool works(const leat_gpu_codec *codec, nvjpeg_handle *hardware)
{
    nvjpeg_state *state = NULL;
    const bool good = codec->api->nvjpegJpegStateCreate(hardware, &state) == NVJPEG_OK &&
                      codec->api->nvjpegDecodeBatchedPreAllocate(
                          hardware, state, 1, 1, 1, NVJPEG_CHROMA_444, codec->format) == NVJPEG_OK;
    if (state)
        codec->api->nvjpegJpegStateDestroy(state);
    return good;
}

/* Opens the JPEG engine, if the GPU has one. */
static void find_hardware(leat_gpu_codec *codec)
{
    unsigned n_engines = 0, n_cores = 0;
    nvjpeg_handle *handle = NULL;
    if (create(codec, NVJPEG_HARDWARE, &handle) == NVJPEG_OK) {
        if (codec->api->nvjpegGetHardwareDecoderInfo(handle, &n_engines, &n_cores) != NVJPEG_OK ||
            n_engines == 0 || !works(codec, handle)) {
            codec->api->nvjpegDestroy(handle);
            handle = NULL;
        }
        codec->handles[LEAT_GPU_HARDWARE] = handle;
    }
    cudaGetLastError(); /* creating HARDWARE may have failed */
}

static int read_environment(bool *regions, leat_error *err)
{
    const char *const word = getenv("LEAT_NVJPEG_REGIONS");
    *regions = !word || !*word;
    return *regions || !strcmp(word, "off")
               ? LEAT_OK
               : leat_gpu_fail(
                     err, LEAT_E_ARGUMENT,
                     "the environment variable LEAT_NVJPEG_REGIONS is '%.40s': write off, "
                     "or leave it out",
                     word);
}

int leat_gpu_codec_open(leat_gpu_codec *codec, leat_gpu *gpu, int channels, leat_error *err)
{
    leat_error inner;
    bool regions;
    *codec = (leat_gpu_codec){ .gpu = gpu };
    if (read_environment(&regions, err) < 0)
        return LEAT_E_ARGUMENT;
    codec->api = leat_gpu_nvjpeg_open(&inner);
    if (!codec->api)
        return leat_gpu_fail(err, inner.code, "decode_jpeg on the GPU needs nvJPEG: %.900s",
                             inner.message);
    codec->channels = channels;
    codec->format = channels == 1 ? NVJPEG_Y : NVJPEG_RGBI;
    find_hardware(codec);
    nvjpeg_handle *const hardware = codec->handles[LEAT_GPU_HARDWARE];
    codec->regions = hardware && codec->api->has_regions && regions;
    int rc = code_of(codec, create(codec, NVJPEG_GPU_HYBRID, &codec->handles[LEAT_GPU_KERNELS]),
                     "starting");
    if (rc == LEAT_OK && hardware)
        rc = code_of(codec, codec->api->nvjpegJpegStreamCreate(hardware, &codec->header),
                     "starting");
    if (rc < 0) {
        char why[256];
        leat_gpu_explain(&gpu->base, why, sizeof why);
        leat_gpu_fail(err, rc, "decode_jpeg on the GPU: %s", why);
    }
    return rc;
}

void leat_gpu_codec_close(leat_gpu_codec *codec)
{
    if (codec->header)
        codec->api->nvjpegJpegStreamDestroy(codec->header);
    for (int way = 0; way < LEAT_GPU_WAYS; way++)
        if (codec->handles[way])
            codec->api->nvjpegDestroy(codec->handles[way]);
    *codec = (leat_gpu_codec){ .gpu = codec->gpu };
    cudaGetLastError();
}

static int open_params(const leat_gpu_codec *codec, int64_t rows, leat_gpu_call *call)
{
    nvjpeg_handle *const handle = codec->handles[LEAT_GPU_HARDWARE];
    int rc = LEAT_OK;
    call->params = calloc((size_t)rows + 1, sizeof(nvjpeg_params *)); /* ends with NULL */
    if (!call->params)
        return leat_gpu_trouble(codec->gpu, LEAT_E_NOMEM, "parameters of %lld files",
                                (long long)rows);
    for (int64_t i = 0; i < rows && rc == LEAT_OK; i++) {
        rc = code_of(codec, codec->api->nvjpegDecodeParamsCreate(handle, &call->params[i]),
                     "opening parameters");
        if (rc == LEAT_OK)
            rc = code_of(
                codec,
                codec->api->nvjpegDecodeParamsSetOutputFormat(call->params[i], codec->format),
                "setting parameters");
    }
    return rc;
}

int leat_gpu_codec_open_call(const leat_gpu_codec *codec, int way, int64_t rows,
                             leat_gpu_call *call)
{
    const size_t n = (size_t)rows;
    nvjpeg_handle *const handle = codec->handles[way];
    if (!handle)
        return LEAT_OK;
    call->files = calloc(n, sizeof *call->files);
    call->data = calloc(n, sizeof *call->data);
    call->bytes = calloc(n, sizeof *call->bytes);
    call->out = calloc(n, sizeof *call->out);
    if (!call->files || !call->data || !call->bytes || !call->out)
        return leat_gpu_trouble(codec->gpu, LEAT_E_NOMEM, "lists of %zu files", n);
    int rc =
        code_of(codec, codec->api->nvjpegJpegStateCreate(handle, &call->state), "opening a state");
    if (rc < 0 || way != LEAT_GPU_HARDWARE)
        return rc;
    /* After any such call nvJPEG keeps its memory between batches. */
    rc = code_of(codec,
                 codec->api->nvjpegDecodeBatchedPreAllocate(handle, call->state, 1, 1, 1,
                                                            NVJPEG_CHROMA_444, codec->format),
                 "taking memory");
    return rc == LEAT_OK && codec->regions ? open_params(codec, rows, call) : rc;
}

void leat_gpu_codec_close_call(const leat_gpu_codec *codec, leat_gpu_call *call)
{
    if (call->state)
        codec->api->nvjpegJpegStateDestroy(call->state);
    for (nvjpeg_params **p = call->params; p && *p; p++)
        codec->api->nvjpegDecodeParamsDestroy(*p);
    free(call->params);
    free(call->files);
    free(call->data);
    free(call->bytes);
    free(call->out);
    *call = (leat_gpu_call){ .n = 0 };
}

/* --- which backend ----------------------------------------------------------------------------- */

/* If the region is most of the picture, decoding only the region saves too little. */
static bool is_most(const leat_image_box *part, const leat_kernel_picture *picture)
{
    return 4 * (int64_t)part->height * part->width > 3 * (int64_t)picture->height * picture->width;
}

/* Whether HARDWARE can decode that region of the file in codec->header. */
static bool takes_part(const leat_gpu_codec *codec, nvjpeg_params *params,
                       const leat_image_box *part)
{
    int no = 1;
    return codec->api->nvjpegDecodeParamsSetROI(params, part->x, part->y, part->width,
                                                part->height) == NVJPEG_OK &&
           codec->api->nvjpegDecodeBatchedSupportedEx(codec->handles[LEAT_GPU_HARDWARE],
                                                      codec->header, params, &no) == NVJPEG_OK &&
           !no;
}

static bool hardware_takes(const leat_gpu_codec *codec, const leat_gpu_file *file)
{
    nvjpeg_handle *const hardware = codec->handles[LEAT_GPU_HARDWARE];
    int no = 1;
    return hardware && !codec->hardware_failed &&
           codec->api->nvjpegJpegStreamParseHeader(hardware, file->data, file->bytes,
                                                   codec->header) == NVJPEG_OK &&
           codec->api->nvjpegDecodeBatchedSupported(hardware, codec->header, &no) == NVJPEG_OK &&
           !no;
}

/* Sets the output of file i to a region of its picture. */
static void set_part(const leat_gpu_codec *codec, leat_gpu_call *call, int i,
                     const leat_image_box *part)
{
    const leat_gpu_file *const file = &call->files[i];
    file->picture->y = part->y;
    file->picture->x = part->x;
    file->picture->stride = part->width;
    call->out[i] = (nvjpeg_image){ .channel = { file->to },
                                   .pitch = { (size_t)part->width * (size_t)codec->channels } };
}

static void set_whole(const leat_gpu_codec *codec, leat_gpu_call *call, int i)
{
    const leat_kernel_picture *const picture = call->files[i].picture;
    const leat_image_box whole = { 0, 0, picture->height, picture->width };
    set_part(codec, call, i, &whole);
    if (call->params)
        codec->api->nvjpegDecodeParamsSetROI(call->params[i], 0, 0, -1, -1);
}

void leat_gpu_codec_add(const leat_gpu_codec *codec, leat_gpu_call calls[LEAT_GPU_WAYS],
                        const leat_gpu_file *file, const leat_image_box *part)
{
    const int way = hardware_takes(codec, file) ? LEAT_GPU_HARDWARE : LEAT_GPU_KERNELS;
    leat_gpu_call *const call = &calls[way];
    const int i = call->n++;
    call->files[i] = *file;
    call->data[i] = file->data;
    call->bytes[i] = file->bytes;
    if (way == LEAT_GPU_HARDWARE && codec->regions && !is_most(part, file->picture) &&
        takes_part(codec, call->params[i], part)) {
        set_part(codec, call, i, part);
        call->n_parts++;
    } else {
        set_whole(codec, call, i);
    }
}

/* --- decode ------------------------------------------------------------------------------------ */

/* Finds the damaged file of a call that failed. */
static int decode_singly(const leat_gpu_codec *codec, leat_gpu_call calls[LEAT_GPU_WAYS],
                         leat_gpu_call *call, cudaStream_t stream, int64_t *bad_row)
{
    int rc = LEAT_OK;
    for (int i = 0; i < call->n && rc == LEAT_OK; i++) {
        *bad_row = call->files[i].row;
        set_whole(codec, call, i);
        rc = code_of(codec,
                     codec->api->nvjpegDecode(codec->handles[LEAT_GPU_KERNELS],
                                              calls[LEAT_GPU_KERNELS].state, call->data[i],
                                              call->bytes[i], codec->format, &call->out[i], stream),
                     "decoding a file");
        const int waited =
            leat_gpu_code(codec->gpu, cudaStreamSynchronize(stream), "waiting for a picture");
        rc = rc < 0 ? rc : waited;
    }
    return rc;
}

static int enqueue(const leat_gpu_codec *codec, leat_gpu_call *call, int way, cudaStream_t stream)
{
    const leat_gpu_nvjpeg *const api = codec->api;
    nvjpeg_handle *const handle = codec->handles[way];
    const int answer =
        api->nvjpegDecodeBatchedInitialize(handle, call->state, call->n, 1, codec->format);
    if (answer != NVJPEG_OK)
        return answer;
    if (call->n_parts)
        return api->nvjpegDecodeBatchedEx(handle, call->state, call->data, call->bytes, call->out,
                                          call->params, stream);
    return api->nvjpegDecodeBatched(handle, call->state, call->data, call->bytes, call->out,
                                    stream);
}

/* Whether a call may have failed because of its regions. */
static bool may_be_parts(int answer)
{
    return answer == NVJPEG_INVALID_PARAMETER || answer == NVJPEG_JPEG_NOT_SUPPORTED ||
           answer == NVJPEG_IMPLEMENTATION_NOT_SUPPORTED;
}

/* Repeats a call that failed, without regions. */
static int enqueue_whole(leat_gpu_codec *codec, leat_gpu_call *call, int way, cudaStream_t stream,
                         int answer)
{
    codec->regions &= !may_be_parts(answer);
    for (int i = 0; i < call->n; i++)
        set_whole(codec, call, i);
    call->n_parts = 0;
    return enqueue(codec, call, way, stream);
}

static int wait_for(const leat_gpu_codec *codec, cudaStream_t stream)
{
    return leat_gpu_code(codec->gpu, cudaStreamSynchronize(stream), "waiting for a stream");
}

int leat_gpu_codec_decode(leat_gpu_codec *codec, leat_gpu_call calls[LEAT_GPU_WAYS], int way,
                          cudaStream_t stream, int64_t *bad_row)
{
    leat_gpu_call *const call = &calls[way];
    if (call->n == 0)
        return LEAT_OK;
    const int answer = enqueue(codec, call, way, stream);
    int rc = code_of(codec, answer, "decoding a batch");
    if (call->n_parts && (rc == LEAT_E_DATA || may_be_parts(answer))) {
        const int waited = wait_for(codec, stream);
        if (waited < 0)
            return waited;
        rc = code_of(codec, enqueue_whole(codec, call, way, stream, answer), "decoding a batch");
    }
    if (rc == LEAT_E_DEVICE && way == LEAT_GPU_HARDWARE)
        codec->hardware_failed = true;
    else if (rc != LEAT_E_DATA)
        return rc;
    const int waited = wait_for(codec, stream);
    return waited < 0 ? waited : decode_singly(codec, calls, call, stream, bad_row);
}
