/* SPDX-License-Identifier: MIT
 *
 * jpeg_turbo.c: decodes with libjpeg-turbo, without heap and without exit(). decode_jpeg and fused_jpeg.c
 * call it.
 *
 * DESIGN: each worker makes one decompressor. After that, all allocations of libjpeg come from the
 * worker's scratch, which is reset after each op. So the tables of the decompressor must not outlive a
 * call: they are unlinked before each image, which also prevents using the tables of the image before.
 * Errors, and warnings unless lenient, longjmp back. */
#include "jpeg_turbo.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

#include "ops/decode/decode.h"

enum { ROWS_AT_ONCE = 16, MOST_SCANS = 500 };

/* libjpeg only passes pointers to these structs. Here an array is always wholly in memory. */
struct jvirt_sarray_control {
    JSAMPARRAY rows;
};
struct jvirt_barray_control {
    JBLOCKARRAY rows;
};

typedef struct decoder {
    struct jpeg_decompress_struct cinfo; /* first: a cinfo pointer is a decoder pointer */
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    leat_scratch *scratch; /* of the current call */
    bool is_ready, is_lenient;
    bool out_of_memory;
} decoder;

static decoder *decoder_of(j_common_ptr cinfo)
{
    return (decoder *)(void *)cinfo;
}

/* --- errors ---------------------------------------------------------------------------------- */

static void on_error(j_common_ptr cinfo)
{
    longjmp(decoder_of(cinfo)->failed, 1);
}

/* Warnings that change no pixel and occur in real data sets: bytes between the end of a scan and the next
 * marker, and odd but unused fields. Extra bytes before a restart marker are not harmless, because a bad
 * code may have ended that interval too early. */
static bool is_harmless(const struct jpeg_error_mgr *errors)
{
    switch (errors->msg_code) {
    case JWRN_EXTRANEOUS_DATA: /* "%u extraneous bytes before marker 0x%02x" */
        return errors->msg_parm.i[1] < JPEG_RST0 || errors->msg_parm.i[1] >= JPEG_RST0 + 8;
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_JFIF_MAJOR:
        return true;
    default:
        return false;
    }
}

static void on_message(j_common_ptr cinfo, int level)
{
    if (level < 0 && !decoder_of(cinfo)->is_lenient && !is_harmless(cinfo->err))
        longjmp(decoder_of(cinfo)->failed, 1);
}

static void on_progress(j_common_ptr cinfo)
{
    /* Many tiny scans of a large image could keep a worker busy for hours. */
    if (decoder_of(cinfo)->cinfo.input_scan_number > MOST_SCANS)
        ERREXIT(cinfo, JERR_BAD_PROGRESSION);
}

/* --- memory: libjpeg's manager on a scratch ------------------------------------------------------ */

static void *take(j_common_ptr cinfo, int pool, size_t bytes)
{
    decoder *d = decoder_of(cinfo);
    void *memory = leat_scratch_take(d->scratch, bytes);
    (void)pool;
    if (!memory) {
        d->out_of_memory = true;
        ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
    }
    return memory;
}

static void **take_rows(j_common_ptr cinfo, size_t row_bytes, JDIMENSION n_rows)
{
    /* Rows are multiples of 64 bytes, because libjpeg's SIMD code may write past a row. */
    const size_t stride = (row_bytes + 63) & ~(size_t)63;
    void **rows = take(cinfo, JPOOL_IMAGE, n_rows * sizeof *rows);
    uint8_t *memory = take(cinfo, JPOOL_IMAGE, stride * n_rows);
    for (JDIMENSION i = 0; i < n_rows; i++)
        rows[i] = memory + i * stride;
    return rows;
}

static JSAMPARRAY take_samples(j_common_ptr cinfo, int pool, JDIMENSION per_row, JDIMENSION n_rows)
{
    (void)pool;
    return (JSAMPARRAY)take_rows(cinfo, per_row * sizeof(JSAMPLE), n_rows);
}

static JBLOCKARRAY take_blocks(j_common_ptr cinfo, int pool, JDIMENSION per_row, JDIMENSION n_rows)
{
    (void)pool;
    return (JBLOCKARRAY)take_rows(cinfo, per_row * sizeof(JBLOCK), n_rows);
}

static jvirt_sarray_ptr request_samples(j_common_ptr cinfo, int pool, boolean zero,
                                        JDIMENSION per_row, JDIMENSION n_rows, JDIMENSION most)
{
    jvirt_sarray_ptr array = take(cinfo, pool, sizeof *array);
    (void)most;
    array->rows = take_samples(cinfo, pool, per_row, n_rows);
    for (JDIMENSION i = 0; zero && i < n_rows; i++)
        memset(array->rows[i], 0, per_row * sizeof(JSAMPLE));
    return array;
}

static jvirt_barray_ptr request_blocks(j_common_ptr cinfo, int pool, boolean zero,
                                       JDIMENSION per_row, JDIMENSION n_rows, JDIMENSION most)
{
    jvirt_barray_ptr array = take(cinfo, pool, sizeof *array);
    (void)most;
    array->rows = take_blocks(cinfo, pool, per_row, n_rows);
    for (JDIMENSION i = 0; zero && i < n_rows; i++)
        memset(array->rows[i], 0, per_row * sizeof(JBLOCK));
    return array;
}

static void realize(j_common_ptr cinfo)
{
    (void)cinfo;
}

static JSAMPARRAY access_samples(j_common_ptr cinfo, jvirt_sarray_ptr array, JDIMENSION row,
                                 JDIMENSION n_rows, boolean writable)
{
    (void)cinfo;
    (void)n_rows;
    (void)writable;
    return array->rows + row;
}

static JBLOCKARRAY access_blocks(j_common_ptr cinfo, jvirt_barray_ptr array, JDIMENSION row,
                                 JDIMENSION n_rows, boolean writable)
{
    (void)cinfo;
    (void)n_rows;
    (void)writable;
    return array->rows + row;
}

static void free_pool(j_common_ptr cinfo, int pool)
{
    (void)cinfo;
    (void)pool;
}

/* Earlier allocations belong to libjpeg's manager, so its self_destruct stays. */
static void use_scratch(struct jpeg_memory_mgr *mem)
{
    mem->alloc_small = take;
    mem->alloc_large = take;
    mem->alloc_sarray = take_samples;
    mem->alloc_barray = take_blocks;
    mem->request_virt_sarray = request_samples;
    mem->request_virt_barray = request_blocks;
    mem->realize_virt_arrays = realize;
    mem->access_virt_sarray = access_samples;
    mem->access_virt_barray = access_blocks;
    mem->free_pool = free_pool;
}

/* --- the bytes ------------------------------------------------------------------------------- */

static void source_nop(j_decompress_ptr cinfo)
{
    (void)cinfo;
}

static boolean source_fill(j_decompress_ptr cinfo)
{
    static const JOCTET end[2] = { 0xff, JPEG_EOI };
    WARNMS(cinfo, JWRN_JPEG_EOF);
    cinfo->src->next_input_byte = end;
    cinfo->src->bytes_in_buffer = sizeof end;
    return TRUE;
}

static void source_skip(j_decompress_ptr cinfo, long n)
{
    struct jpeg_source_mgr *source = cinfo->src;
    if (n <= 0)
        return;
    if ((size_t)n > source->bytes_in_buffer) {
        source_fill(cinfo);
        return;
    }
    source->next_input_byte += n;
    source->bytes_in_buffer -= (size_t)n;
}

/* --- the decompressor ------------------------------------------------------------------------ */

static void fini(void *state)
{
    decoder *d = state;
    if (d->is_ready)
        jpeg_destroy_decompress(&d->cinfo);
}

/* May longjmp. */
static void set_up(decoder *d)
{
    jpeg_create_decompress(&d->cinfo);
    d->is_ready = true;
    use_scratch(d->cinfo.mem);
    d->source = (struct jpeg_source_mgr){
        .init_source = source_nop,
        .fill_input_buffer = source_fill,
        .skip_input_data = source_skip,
        .resync_to_restart = jpeg_resync_to_restart,
        .term_source = source_nop,
    };
    d->progress.progress_monitor = on_progress;
    d->cinfo.src = &d->source;
    d->cinfo.progress = &d->progress;
}

static void forget_tables(struct jpeg_decompress_struct *cinfo)
{
    memset(cinfo->quant_tbl_ptrs, 0, sizeof cinfo->quant_tbl_ptrs);
    memset(cinfo->dc_huff_tbl_ptrs, 0, sizeof cinfo->dc_huff_tbl_ptrs);
    memset(cinfo->ac_huff_tbl_ptrs, 0, sizeof cinfo->ac_huff_tbl_ptrs);
}

/* a * b / 255 to the nearest. */
static uint8_t scale_u8(int a, int b)
{
    return (uint8_t)((a * b + 127) / 255);
}

/* Adobe programs store CMYK inverted (255 = no ink) and add an Adobe marker. */
static void cmyk_to_rgb(uint8_t *out, const uint8_t *in, size_t n_px, bool is_inverted)
{
    const int flip = is_inverted ? 0 : 255;
    for (; n_px; n_px--, in += 4, out += 3)
        for (int c = 0; c < 3; c++)
            out[c] = scale_u8(in[c] ^ flip, in[3] ^ flip);
}

static void read_rows(decoder *d, const leat_view *out)
{
    const size_t stride = (size_t)(out->shape.dims[1] * out->shape.dims[2]);
    JSAMPROW rows[ROWS_AT_ONCE];
    while (d->cinfo.output_scanline < d->cinfo.output_height) {
        const JDIMENSION left = d->cinfo.output_height - d->cinfo.output_scanline;
        const JDIMENSION n = left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE;
        for (JDIMENSION i = 0; i < n; i++)
            rows[i] = (uint8_t *)out->data + (d->cinfo.output_scanline + i) * stride;
        jpeg_read_scanlines(&d->cinfo, rows, n);
    }
}

static void read_cmyk_rows(decoder *d, const leat_view *out)
{
    const size_t width = d->cinfo.output_width;
    JSAMPROW row = take((j_common_ptr)&d->cinfo, JPOOL_IMAGE, width * 4);
    uint8_t *to = out->data;
    for (; d->cinfo.output_scanline < d->cinfo.output_height; to += width * 3) {
        jpeg_read_scanlines(&d->cinfo, &row, 1);
        cmyk_to_rgb(to, row, width, d->cinfo.saw_Adobe_marker);
    }
}

/* May longjmp. Returns what is wrong with size or channels, or NULL. */
static const char *decode(decoder *d, int32_t scale, const leat_view *out)
{
    struct jpeg_decompress_struct *cinfo = &d->cinfo;
    jpeg_read_header(cinfo, TRUE);
    if (out->shape.dims[0] != leat_jpeg_scaled(cinfo->image_height, scale) ||
        out->shape.dims[1] != leat_jpeg_scaled(cinfo->image_width, scale))
        return "two frame headers that differ";
    const bool is_cmyk = cinfo->num_components == 4;
    if (is_cmyk && out->shape.dims[2] != 3)
        return "CMYK cannot be read as gray: use channels: 3";
    cinfo->out_color_space = is_cmyk ? JCS_CMYK : out->shape.dims[2] == 1 ? JCS_GRAYSCALE : JCS_RGB;
    cinfo->dct_method = JDCT_ISLOW;
    cinfo->scale_num = 1;
    cinfo->scale_denom = (unsigned)scale;
    jpeg_start_decompress(cinfo);
    (is_cmyk ? read_cmyk_rows : read_rows)(d, out);
    jpeg_finish_decompress(cinfo);
    return NULL;
}

static int fail(decoder *d, leat_error *err)
{
    char text[JMSG_LENGTH_MAX];
    d->errors.format_message((j_common_ptr)&d->cinfo, text);
    return d->out_of_memory ? leat_fail(err, LEAT_E_NOMEM, "decode_jpeg: not enough scratch memory")
                            : leat_fail(err, LEAT_E_DATA, "decode_jpeg: %s", text);
}

int leat_jpeg_turbo_decode(const uint8_t *bytes, size_t n_bytes, int32_t scale, bool lenient,
                           const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    static const char key;
    decoder *d = leat_scratch_keep(scratch, &key, sizeof *d, fini);
    if (!d)
        return leat_fail(err, LEAT_E_NOMEM, "decode_jpeg: %zu bytes", sizeof *d);
    d->scratch = scratch;
    d->is_lenient = lenient;
    d->out_of_memory = false;
    d->cinfo.err = jpeg_std_error(&d->errors);
    d->errors.error_exit = on_error;
    d->errors.emit_message = on_message;
    if (setjmp(d->failed)) {
        const int rc = fail(d, err);
        if (d->is_ready)
            jpeg_abort_decompress(&d->cinfo);
        return rc;
    }
    if (!d->is_ready)
        set_up(d);
    forget_tables(&d->cinfo);
    d->source.next_input_byte = bytes;
    d->source.bytes_in_buffer = n_bytes;
    const char *wrong = decode(d, scale, out);
    jpeg_abort_decompress(&d->cinfo);
    return wrong ? leat_fail(err, LEAT_E_DATA, "decode_jpeg: %s", wrong) : LEAT_OK;
}

/* --- the frame header ------------------------------------------------------------------------ */

/* Finds the next marker as libjpeg does, over garbage and fill bytes; 0 at the end. */
static int next_marker(const uint8_t *bytes, size_t n_bytes, size_t *at)
{
    for (; *at + 1 < n_bytes; (*at)++)
        if (bytes[*at] == 0xff && bytes[*at + 1] != 0 && bytes[*at + 1] != 0xff) {
            *at += 2;
            return bytes[*at - 1];
        }
    return 0;
}

static bool is_frame(int marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

static bool has_no_length(int marker)
{
    return marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8);
}

int leat_jpeg_turbo_size(const uint8_t *bytes, size_t n_bytes, leat_jpeg_size *size,
                         leat_error *err)
{
    size_t at = 2;
    if (n_bytes < 2 || bytes[0] != 0xff || bytes[1] != 0xd8)
        return leat_decode_fail_kind("decode_jpeg", "JPEG", "it does not start with FF D8", bytes,
                                     n_bytes, err);
    for (int marker; (marker = next_marker(bytes, n_bytes, &at)) && marker != 0xd9;) {
        if (has_no_length(marker))
            continue;
        if (n_bytes - at < 2)
            break;
        const uint8_t *segment = bytes + at;
        const size_t length = (size_t)segment[0] << 8 | segment[1];
        if (is_frame(marker) && length >= 8 && n_bytes - at >= 8) {
            *size = (leat_jpeg_size){ segment[3] << 8 | segment[4], segment[5] << 8 | segment[6],
                                      segment[7] };
            return size->height && size->width
                       ? LEAT_OK
                       : leat_fail(err, LEAT_E_DATA,
                                   "decode_jpeg: the frame header says %d x %d pixels",
                                   (int)size->height, (int)size->width);
        }
        if (marker == 0xda || length > n_bytes - at)
            break;
        at += length;
    }
    return leat_fail(err, LEAT_E_DATA, "decode_jpeg: no frame header in %zu bytes", n_bytes);
}
