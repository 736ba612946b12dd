/* SPDX-License-Identifier: MIT */
#include "jpeg_transform.h"

leat_jpeg_transform leat_jpeg_transform_upright(int orientation)
{
    static const leat_jpeg_transform table[9] = {
        [2] = { false, true, false }, [3] = { false, true, true }, [4] = { false, false, true },
        [5] = { true, false, false }, [6] = { true, true, false }, [7] = { true, true, true },
        [8] = { true, false, true },
    };
    return table[orientation];
}

bool leat_jpeg_transform_fits(const leat_jpeg_transform *t,
                              const struct jpeg_decompress_struct *from)
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

JDIMENSION leat_jpeg_transform_rows(const leat_jpeg_transform *t,
                                    const jpeg_component_info *component)
{
    return t->is_transposed ? component->width_in_blocks : component->height_in_blocks;
}

JDIMENSION leat_jpeg_transform_columns(const leat_jpeg_transform *t,
                                       const jpeg_component_info *component)
{
    return t->is_transposed ? component->height_in_blocks : component->width_in_blocks;
}

/* Mirroring a picture changes the sign of the cosines that are odd in that direction. */
static void turn_block(const leat_jpeg_transform *t, const JCOEF *in, JCOEF *out)
{
    for (int v = 0; v < DCTSIZE; v++)
        for (int u = 0; u < DCTSIZE; u++) {
            const int value = t->is_transposed ? in[u * DCTSIZE + v] : in[v * DCTSIZE + u];
            const bool is_negated = (t->is_mirrored_x && u % 2) != (t->is_mirrored_y && v % 2);
            out[v * DCTSIZE + u] = (JCOEF)(is_negated ? -value : value);
        }
}

void leat_jpeg_transform_block(const leat_jpeg_transform *t, struct jpeg_decompress_struct *from,
                               jvirt_barray_ptr array, int component, JDIMENSION row,
                               JDIMENSION column, JCOEF out[DCTSIZE2])
{
    const jpeg_component_info *info = &from->comp_info[component];
    const JDIMENSION y = t->is_mirrored_y ? leat_jpeg_transform_rows(t, info) - 1 - row : row;
    const JDIMENSION x =
        t->is_mirrored_x ? leat_jpeg_transform_columns(t, info) - 1 - column : column;
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

void leat_jpeg_transform_parameters(const leat_jpeg_transform *t, struct jpeg_compress_struct *to)
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

void leat_jpeg_transform_request(const leat_jpeg_transform *t,
                                 const struct jpeg_decompress_struct *from,
                                 struct jpeg_compress_struct *to, jvirt_barray_ptr *arrays)
{
    for (int i = 0; i < from->num_components; i++) {
        const jpeg_component_info *c = &from->comp_info[i];
        const int h = t->is_transposed ? c->v_samp_factor : c->h_samp_factor;
        const int v = t->is_transposed ? c->h_samp_factor : c->v_samp_factor;
        /* Zeroed: the padding rows of the last MCU are read, but not written. */
        arrays[i] = to->mem->request_virt_barray(
            (j_common_ptr)to, JPOOL_IMAGE, TRUE, round_up(leat_jpeg_transform_columns(t, c), h),
            round_up(leat_jpeg_transform_rows(t, c), v), (JDIMENSION)v);
    }
}

void leat_jpeg_transform_run(const leat_jpeg_transform *t, struct jpeg_decompress_struct *from,
                             jvirt_barray_ptr *from_arrays, struct jpeg_compress_struct *to,
                             jvirt_barray_ptr *to_arrays)
{
    for (int i = 0; i < from->num_components; i++) {
        const JDIMENSION n_rows = leat_jpeg_transform_rows(t, &from->comp_info[i]);
        const JDIMENSION n_columns = leat_jpeg_transform_columns(t, &from->comp_info[i]);
        for (JDIMENSION y = 0; y < n_rows; y++) {
            JBLOCKARRAY row =
                to->mem->access_virt_barray((j_common_ptr)to, to_arrays[i], y, 1, TRUE);
            for (JDIMENSION x = 0; x < n_columns; x++)
                leat_jpeg_transform_block(t, from, from_arrays[i], i, y, x, row[0][x]);
        }
    }
}
