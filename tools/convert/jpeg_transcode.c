/* SPDX-License-Identifier: MIT
 *
 * jpeg_transcode.c: DESIGN: three libjpeg objects: `from` reads the file's coefficients, `to` writes
 * them, `again` reads the result; `from` stays open until the comparison is done. They are made for each
 * file, because libjpeg would reuse tables of one file for the next. If reading or writing fails, the file
 * is copied unchanged: only libjpeg knows all odd kinds of files, and an unchanged file is always right. */
#include "shards.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>
#include <stdbool.h>
#include <stdio.h>

#include "formats/exif.h"

/* --- turn ------------------------------------------------------------------------------------- */

/* Turns a picture by moving and mirroring its DCT blocks, so that no sample is
 * decoded and nothing is lost. */

/* Transposed first; then mirrored, in the picture that results. */
typedef struct jpeg_transform {
    bool is_transposed, is_mirrored_x, is_mirrored_y;
} jpeg_transform;

/* What makes a picture of an Exif orientation (1 to 8) upright. */
static jpeg_transform jpeg_transform_upright(int orientation)
{
    static const jpeg_transform table[9] = {
        [2] = { false, true, false }, [3] = { false, true, true }, [4] = { false, false, true },
        [5] = { true, false, false }, [6] = { true, true, false }, [7] = { true, true, true },
        [8] = { true, false, true },
    };
    return table[orientation];
}

/* False where a picture of these coefficients ends inside an MCU at an edge that would become the
 * left or upper one: the samples behind the edge cannot be moved there. */
static bool jpeg_transform_fits(const jpeg_transform *t, const struct jpeg_decompress_struct *from)
{
    /* A scan of one component has MCUs of one block, for any sampling factors. */
    const bool is_alone = from->num_components == 1;
    const JDIMENSION mcu_width = DCTSIZE * (JDIMENSION)(is_alone ? 1 : from->max_h_samp_factor);
    const JDIMENSION mcu_height = DCTSIZE * (JDIMENSION)(is_alone ? 1 : from->max_v_samp_factor);
    const bool is_whole_x = from->image_width % mcu_width == 0;
    const bool is_whole_y = from->image_height % mcu_height == 0;
    return (!t->is_mirrored_x || (t->is_transposed ? is_whole_y : is_whole_x)) &&
           (!t->is_mirrored_y || (t->is_transposed ? is_whole_x : is_whole_y));
}

/* Blocks of a component's result. */
static JDIMENSION jpeg_transform_rows(const jpeg_transform *t, const jpeg_component_info *component)
{
    return t->is_transposed ? component->width_in_blocks : component->height_in_blocks;
}

static JDIMENSION jpeg_transform_columns(const jpeg_transform *t,
                                         const jpeg_component_info *component)
{
    return t->is_transposed ? component->height_in_blocks : component->width_in_blocks;
}

/* Mirroring a picture changes the sign of the cosines that are odd in that direction. */
static void turn_block(const jpeg_transform *t, const JCOEF *in, JCOEF *out)
{
    for (int v = 0; v < DCTSIZE; v++)
        for (int u = 0; u < DCTSIZE; u++) {
            const int value = t->is_transposed ? in[u * DCTSIZE + v] : in[v * DCTSIZE + u];
            const bool is_negated = (t->is_mirrored_x && u % 2) != (t->is_mirrored_y && v % 2);
            out[v * DCTSIZE + u] = (JCOEF)(is_negated ? -value : value);
        }
}

/* The block of a component's result at (row, column), made from the source's coefficients. */
static void jpeg_transform_block(const jpeg_transform *t, struct jpeg_decompress_struct *from,
                                 jvirt_barray_ptr array, int component, JDIMENSION row,
                                 JDIMENSION column, JCOEF out[DCTSIZE2])
{
    const jpeg_component_info *info = &from->comp_info[component];
    const JDIMENSION y = t->is_mirrored_y ? jpeg_transform_rows(t, info) - 1 - row : row;
    const JDIMENSION x = t->is_mirrored_x ? jpeg_transform_columns(t, info) - 1 - column : column;
    JBLOCKARRAY rows = from->mem->access_virt_barray((j_common_ptr)from, array,
                                                     t->is_transposed ? x : y, 1, FALSE);
    turn_block(t, rows[0][t->is_transposed ? y : x], out);
}

static void transpose_table(JQUANT_TBL *table)
{
    for (int v = 0; v < DCTSIZE; v++)
        for (int u = 0; u < v; u++) {
            const UINT16 value = table->quantval[v * DCTSIZE + u];
            table->quantval[v * DCTSIZE + u] = table->quantval[u * DCTSIZE + v];
            table->quantval[u * DCTSIZE + v] = value;
        }
}

/* Between jpeg_copy_critical_parameters() and jpeg_write_coefficients(): size, sampling and
 * quantisation of the result. */
static void jpeg_transform_parameters(const jpeg_transform *t, struct jpeg_compress_struct *to)
{
    if (!t->is_transposed)
        return;
    const JDIMENSION width = to->image_width;
    to->image_width = to->image_height;
    to->image_height = width;
    const UINT16 density = to->X_density;
    to->X_density = to->Y_density;
    to->Y_density = density;
    for (int i = 0; i < to->num_components; i++) {
        jpeg_component_info *component = &to->comp_info[i];
        const int h = component->h_samp_factor;
        component->h_samp_factor = component->v_samp_factor;
        component->v_samp_factor = h;
    }
    for (int i = 0; i < NUM_QUANT_TBLS; i++)
        if (to->quant_tbl_ptrs[i])
            transpose_table(to->quant_tbl_ptrs[i]);
}

static JDIMENSION round_up(JDIMENSION n, int multiple)
{
    const JDIMENSION m = (JDIMENSION)multiple;
    return (n + m - 1) / m * m;
}

/* Memory for the result, of `to`; allocated by jpeg_write_coefficients(). */
static void jpeg_transform_request(const jpeg_transform *t,
                                   const struct jpeg_decompress_struct *from,
                                   struct jpeg_compress_struct *to, jvirt_barray_ptr *arrays)
{
    for (int i = 0; i < from->num_components; i++) {
        const jpeg_component_info *c = &from->comp_info[i];
        const int h = t->is_transposed ? c->v_samp_factor : c->h_samp_factor;
        const int v = t->is_transposed ? c->h_samp_factor : c->v_samp_factor;
        /* Zeroed: the padding rows of the last MCU are read, but not written. */
        arrays[i] = to->mem->request_virt_barray(
            (j_common_ptr)to, JPOOL_IMAGE, TRUE, round_up(jpeg_transform_columns(t, c), h),
            round_up(jpeg_transform_rows(t, c), v), (JDIMENSION)v);
    }
}

/* Fills it. */
static void jpeg_transform_run(const jpeg_transform *t, struct jpeg_decompress_struct *from,
                               jvirt_barray_ptr *from_arrays, struct jpeg_compress_struct *to,
                               jvirt_barray_ptr *to_arrays)
{
    for (int i = 0; i < from->num_components; i++) {
        const JDIMENSION n_rows = jpeg_transform_rows(t, &from->comp_info[i]);
        const JDIMENSION n_columns = jpeg_transform_columns(t, &from->comp_info[i]);
        for (JDIMENSION y = 0; y < n_rows; y++) {
            JBLOCKARRAY row =
                to->mem->access_virt_barray((j_common_ptr)to, to_arrays[i], y, 1, TRUE);
            for (JDIMENSION x = 0; x < n_columns; x++)
                jpeg_transform_block(t, from, from_arrays[i], i, y, x, row[0][x]);
        }
    }
}

enum { MAX_PIXELS = 1 << 28, FIRST_ROOM = 256 << 10 };

struct leat_jpeg_transcoder {
    struct jpeg_decompress_struct from, again;
    struct jpeg_compress_struct to;
    struct jpeg_error_mgr manager; /* of all three */
    struct jpeg_destination_mgr destination;
    jmp_buf back;
    int restart_mcus;
    bool keep_metadata;
    int orientation; /* of the file in `from`; 0: none, or upright */
    bool is_turned;
    jpeg_transform transform;
    jvirt_barray_ptr *coefficients;          /* of `from` */
    jvirt_barray_ptr turned[MAX_COMPONENTS]; /* of `to`, if the picture is rotated */
    uint8_t *bytes;
    size_t size, room;
};

/* --- libjpeg's errors, and where its output goes -----------------------------------------------*/

static void on_error(j_common_ptr jpeg)
{
    leat_jpeg_transcoder *t = jpeg->client_data;
    longjmp(t->back, 1);
}

static void on_message(j_common_ptr jpeg, int level)
{
    if (level < 0)
        jpeg->err->num_warnings++;
}

static void set_room(leat_jpeg_transcoder *t, size_t used)
{
    t->destination.next_output_byte = t->bytes + used;
    t->destination.free_in_buffer = t->room - used;
}

static void on_output_begin(j_compress_ptr jpeg)
{
    set_room(jpeg->client_data, 0);
}

static boolean on_output_full(j_compress_ptr jpeg)
{
    leat_jpeg_transcoder *t = jpeg->client_data;
    uint8_t *bytes = realloc(t->bytes, t->room * 2);
    if (!bytes)
        ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
    const size_t used = t->room; /* libjpeg asks when all is used, whatever its counter says */
    t->bytes = bytes;
    t->room *= 2;
    set_room(t, used);
    return TRUE;
}

static void on_output_end(j_compress_ptr jpeg)
{
    leat_jpeg_transcoder *t = jpeg->client_data;
    t->size = t->room - t->destination.free_in_buffer;
}

/* May return by longjmp; end() frees a partial state. */
static void begin(leat_jpeg_transcoder *t)
{
    jpeg_create_decompress(&t->from);
    jpeg_create_decompress(&t->again);
    jpeg_create_compress(&t->to);
    jpeg_save_markers(&t->from, JPEG_APP0 + 1, 0xffff); /* Exif, at least */
    for (int i = 0; i < 16 && t->keep_metadata; i++)
        jpeg_save_markers(&t->from, JPEG_APP0 + i, 0xffff);
    if (t->keep_metadata)
        jpeg_save_markers(&t->from, JPEG_COM, 0xffff);
    t->to.dest = &t->destination;
}

static void end(leat_jpeg_transcoder *t)
{
    jpeg_destroy_compress(&t->to);
    jpeg_destroy_decompress(&t->again);
    jpeg_destroy_decompress(&t->from);
}

static void clear(leat_jpeg_transcoder *t)
{
    memset(&t->from, 0, sizeof t->from);
    memset(&t->again, 0, sizeof t->again);
    memset(&t->to, 0, sizeof t->to);
    t->from.err = t->again.err = t->to.err = jpeg_std_error(&t->manager);
    t->manager.error_exit = on_error;
    t->manager.emit_message = on_message;
    t->from.client_data = t->again.client_data = t->to.client_data = t;
    t->orientation = 0;
    t->is_turned = false;
}

leat_jpeg_transcoder *leat_jpeg_transcoder_open(int restart_mcus, bool keep_metadata)
{
    leat_jpeg_transcoder *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->restart_mcus = restart_mcus;
    t->keep_metadata = keep_metadata;
    t->destination = (struct jpeg_destination_mgr){ .init_destination = on_output_begin,
                                                    .empty_output_buffer = on_output_full,
                                                    .term_destination = on_output_end };
    t->bytes = malloc(FIRST_ROOM);
    t->room = FIRST_ROOM;
    if (!t->bytes)
        leat_jpeg_transcoder_close(&t);
    return t;
}

void leat_jpeg_transcoder_close(leat_jpeg_transcoder **transcoder)
{
    if (!*transcoder)
        return;
    free((*transcoder)->bytes);
    free(*transcoder);
    *transcoder = NULL;
}

/* --- reading -----------------------------------------------------------------------------------*/

static int find_orientation(const struct jpeg_decompress_struct *from)
{
    for (jpeg_saved_marker_ptr m = from->marker_list; m; m = m->next)
        if (m->marker == JPEG_APP0 + 1) {
            const int orientation = leat_exif_orientation(m->data, m->data_length);
            if (orientation)
                return orientation > 1 ? orientation : 0;
        }
    return 0;
}

/* A progressive file may end before every coefficient has all its bits. Decoders then smooth the picture; for
 * the same coefficients in a sequential file they would not. */
static bool is_complete(const struct jpeg_decompress_struct *from)
{
    for (int c = 0; from->progressive_mode && c < from->num_components; c++)
        for (int i = 0; i < DCTSIZE2; i++)
            if (from->coef_bits[c][i] != 0)
                return false;
    return true;
}

/* False: copy the file unchanged. */
static bool read_file(leat_jpeg_transcoder *t, const uint8_t *bytes, size_t size)
{
    struct jpeg_decompress_struct *from = &t->from;
    jpeg_mem_src(from, bytes, size);
    jpeg_read_header(from, TRUE);
    t->orientation = find_orientation(from);
    if (from->arith_code || (uint64_t)from->image_height * from->image_width > MAX_PIXELS)
        return false;
    t->coefficients = jpeg_read_coefficients(from);
    return t->manager.num_warnings == 0 && is_complete(from);
}

/* --- writing -----------------------------------------------------------------------------------*/

static bool is_named(const struct jpeg_marker_struct *m, int marker, const char *name)
{
    const size_t n = strlen(name);
    return m->marker == marker && m->data_length >= n && !memcmp(m->data, name, n);
}

/* Copies the markers that libjpeg does not write itself. */
static void copy_metadata(leat_jpeg_transcoder *t)
{
    for (jpeg_saved_marker_ptr m = t->from.marker_list; m; m = m->next) {
        if ((t->to.write_JFIF_header && is_named(m, JPEG_APP0, "JFIF")) ||
            (t->to.write_Adobe_marker && is_named(m, JPEG_APP0 + 14, "Adobe")))
            continue;
        if (m->marker == JPEG_APP0 + 1 && t->is_turned)
            leat_exif_set_orientation(m->data, m->data_length, 1);
        jpeg_write_marker(&t->to, m->marker, m->data, m->data_length);
    }
}

static void write_file(leat_jpeg_transcoder *t)
{
    struct jpeg_compress_struct *to = &t->to;
    jpeg_copy_critical_parameters(&t->from, to);
    jpeg_transform_parameters(&t->transform, to);
    if (to->jpeg_color_space == JCS_CMYK) /* the marker says that the inks are inverted */
        to->write_Adobe_marker = t->from.saw_Adobe_marker;
    to->optimize_coding = TRUE;
    to->restart_interval = (unsigned)t->restart_mcus;
    if (t->is_turned)
        jpeg_transform_request(&t->transform, &t->from, to, t->turned);
    jpeg_write_coefficients(to, t->is_turned ? t->turned : t->coefficients);
    if (t->keep_metadata)
        copy_metadata(t);
    if (t->is_turned)
        jpeg_transform_run(&t->transform, &t->from, t->coefficients, to, t->turned);
    jpeg_finish_compress(to);
}

/* --- comparing ---------------------------------------------------------------------------------*/

static bool is_same_quant(const leat_jpeg_transcoder *t, int component)
{
    const JQUANT_TBL *a = t->from.comp_info[component].quant_table;
    const JQUANT_TBL *b = t->again.comp_info[component].quant_table;
    if (!a || !b)
        return false;
    for (int v = 0; v < DCTSIZE; v++)
        for (int u = 0; u < DCTSIZE; u++)
            if (b->quantval[v * DCTSIZE + u] !=
                a->quantval[t->transform.is_transposed ? u * DCTSIZE + v : v * DCTSIZE + u])
                return false;
    return true;
}

static bool is_same_frame(const leat_jpeg_transcoder *t)
{
    const struct jpeg_decompress_struct *a = &t->from, *b = &t->again;
    const bool is_transposed = t->transform.is_transposed;
    if (b->image_width != (is_transposed ? a->image_height : a->image_width) ||
        b->image_height != (is_transposed ? a->image_width : a->image_height) ||
        b->num_components != a->num_components || b->jpeg_color_space != a->jpeg_color_space ||
        b->progressive_mode || b->restart_interval != (unsigned)t->restart_mcus ||
        (a->jpeg_color_space == JCS_CMYK && b->saw_Adobe_marker != a->saw_Adobe_marker))
        return false;
    for (int i = 0; i < a->num_components; i++) {
        const jpeg_component_info *x = &a->comp_info[i], *y = &b->comp_info[i];
        if (y->h_samp_factor != (is_transposed ? x->v_samp_factor : x->h_samp_factor) ||
            y->v_samp_factor != (is_transposed ? x->h_samp_factor : x->v_samp_factor) ||
            y->height_in_blocks != jpeg_transform_rows(&t->transform, x) ||
            y->width_in_blocks != jpeg_transform_columns(&t->transform, x))
            return false;
    }
    return true;
}

static bool is_same_component(leat_jpeg_transcoder *t, jvirt_barray_ptr array, int component)
{
    const jpeg_component_info *info = &t->again.comp_info[component];
    JCOEF expected[DCTSIZE2];
    for (JDIMENSION y = 0; y < info->height_in_blocks; y++) {
        JBLOCKARRAY row =
            t->again.mem->access_virt_barray((j_common_ptr)&t->again, array, y, 1, FALSE);
        for (JDIMENSION x = 0; x < info->width_in_blocks; x++) {
            jpeg_transform_block(&t->transform, &t->from, t->coefficients[component], component, y,
                                 x, expected);
            if (memcmp(row[0][x], expected, sizeof expected) != 0)
                return false;
        }
    }
    return true;
}

static bool is_same(leat_jpeg_transcoder *t)
{
    jpeg_mem_src(&t->again, t->bytes, t->size);
    jpeg_read_header(&t->again, TRUE);
    if (!is_same_frame(t))
        return false;
    jvirt_barray_ptr *arrays = jpeg_read_coefficients(&t->again);
    bool same = t->manager.num_warnings == 0;
    for (int i = 0; i < t->from.num_components && same; i++)
        same = is_same_quant(t, i) && is_same_component(t, arrays[i], i);
    return same;
}

/* --- the whole ---------------------------------------------------------------------------------*/

/* True: written. False: copy the file unchanged, or out of memory. */
static bool rewrite(leat_jpeg_transcoder *t, const uint8_t *bytes, size_t size)
{
    if (setjmp(t->back))
        return false;
    begin(t);
    if (!read_file(t, bytes, size))
        return false;
    t->transform = jpeg_transform_upright(t->orientation);
    t->is_turned = t->orientation && jpeg_transform_fits(&t->transform, &t->from);
    if (!t->is_turned)
        t->transform = jpeg_transform_upright(1);
    write_file(t);
    return true;
}

static bool check(leat_jpeg_transcoder *t)
{
    return !setjmp(t->back) && is_same(t);
}

static void describe(const leat_jpeg_transcoder *t, leat_jpeg_transcoded *out)
{
    out->is_turned = !out->is_passed && t->is_turned;
    out->orientation = out->is_turned ? 0 : t->orientation;
    if (out->is_passed)
        return;
    out->bytes = t->bytes;
    out->size = t->size;
    out->height = (int64_t)t->to.image_height;
    out->width = (int64_t)t->to.image_width;
}

int leat_jpeg_transcode(leat_jpeg_transcoder *t, const uint8_t *bytes, size_t size,
                        leat_jpeg_transcoded *out, leat_error *err)
{
    int rc = LEAT_OK;
    clear(t);
    *out = (leat_jpeg_transcoded){ .is_passed = !rewrite(t, bytes, size) };
    if (!out->is_passed && !check(t))
        rc = leat_fail(err, LEAT_E_INTERNAL,
                       "writing it with restart markers did not give the same picture; leave out "
                       "--jpeg, and please report this file");
    /* Out of memory always stops the run: the output must not depend on free memory. */
    if ((out->is_passed || rc < 0) && t->manager.msg_code == JERR_OUT_OF_MEMORY)
        rc = leat_fail(err, LEAT_E_NOMEM, "cannot allocate memory for its coefficients");
    describe(t, out);
    end(t);
    return rc;
}
