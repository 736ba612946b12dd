/* SPDX-License-Identifier: MIT
 *
 * jpeg.c: from a JPEG to pixels and to a training tensor, against libjpeg-turbo:
 *
 *     bench/jpeg [DIR] [options]
 *
 * DIR has JPEG files, also in its folders (up to 1000 under a megapixel are read); without it, pictures are
 * drawn. One core, one picture at a time. The tensor is float32 [224, 224, 3] of the box that
 * random_resized_crop would draw, resized with antialiasing, mirrored in half of the cases and
 * normalised; resizing and normalising are the same code in all arms. The index is that of `leat index
 * --jpeg`; LEAT_BENCH_EVERY_MCUS=N sets the MCUs from point to point. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "base/cpu.h"
#include "base/scratch.h"
#include "bench_common.h"
#include "leat/jpeg_probe.h"
#include "leat/rng.h"
#include "ops/jpeg/jpeg_impl.h"
#include "ops/jpeg/jpeg_turbo.h"

enum {
    MOST_FILES = 1000,
    MOST_PIXELS = 1000000,
    MOST_BYTES = 4 << 20,
    SIDE = 224,
    RESTART = 4,
    DRAWN_WIDTH = 500,
    DRAWN_HEIGHT = 375
};

typedef struct picture {
    uint8_t *bytes, *marked; /* as it is; with optimised tables and restart markers */
    uint8_t *table;          /* of bytes, as a side index keeps it */
    size_t n_table;
    size_t n_bytes, n_marked;
    int32_t width, height, is_mirrored;
    leat_image_box box;
} picture;

typedef struct data {
    picture *pictures;
    size_t n, n_refused;
    leat_scratch *scratch;
    uint32_t every_mcus; /* from point to point of the index; 0: as `leat index --jpeg` does */
    uint8_t *pixels;
    float tensor[SIDE * SIDE * 3];
    leat_affine affine;
    struct jpeg_decompress_struct turbo;
    struct jpeg_error_mgr errors;
} data;

typedef struct arm_arg {
    data *d;
    int level;   /* of our decoder */
    int n_steps; /* how far: 1 symbols, 2 pixels, 3 resized, 4 all */
    int is_marked, is_indexed;
} arm_arg;

/* --- the data ------------------------------------------------------------------------------------ */

static size_t add_markers(const picture *p, uint8_t **out)
{
    struct jpeg_decompress_struct in;
    struct jpeg_compress_struct to;
    struct jpeg_error_mgr errors;
    unsigned long n = 0;
    in.err = to.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&in);
    jpeg_create_compress(&to);
    jpeg_mem_src(&in, p->bytes, p->n_bytes);
    jpeg_mem_dest(&to, out, &n);
    jpeg_read_header(&in, TRUE);
    jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&in);
    jpeg_copy_critical_parameters(&in, &to);
    to.optimize_coding = TRUE;
    to.restart_interval = RESTART;
    jpeg_write_coefficients(&to, coefficients);
    jpeg_finish_compress(&to);
    jpeg_finish_decompress(&in);
    jpeg_destroy_compress(&to);
    jpeg_destroy_decompress(&in);
    return n;
}

/* As random_resized_crop draws it: 8 to 100 % of the area, ratio 3:4 to 4:3. */
static void draw_box(picture *p, uint64_t record)
{
    leat_rng rng = leat_rng_make(1, record, 0, 7);
    p->box = (leat_image_box){ 0, 0, p->height, p->width };
    for (int i = 0; i < 10; i++) {
        const double area = p->width * (double)p->height * (double)leat_rng_range(&rng, 0.08f, 1);
        const double ratio = exp((double)leat_rng_range(&rng, -0.28768207f, 0.28768207f));
        const int32_t w = (int32_t)rint(sqrt(area * ratio)), h = (int32_t)rint(sqrt(area / ratio));
        if (w > p->width || h > p->height || w < 1 || h < 1)
            continue;
        p->box =
            (leat_image_box){ (int32_t)leat_rng_below(&rng, (uint32_t)(p->height - h + 1)),
                              (int32_t)leat_rng_below(&rng, (uint32_t)(p->width - w + 1)), h, w };
        break;
    }
    p->is_mirrored = (int32_t)leat_rng_below(&rng, 2);
}

/* Takes the bytes if they are a picture for both decoders. */
static void add_picture(data *d, uint8_t *bytes, size_t n_bytes)
{
    picture *p = &d->pictures[d->n];
    leat_jpeg jpeg;
    *p = (picture){ .bytes = bytes, .n_bytes = n_bytes };
    leat_scratch_reset(d->scratch);
    if (leat_jpeg_open(&jpeg, bytes, n_bytes, NULL) || jpeg.width * jpeg.height > MOST_PIXELS ||
        jpeg.n_components != 3 || leat_jpeg_decode(&jpeg, 3, d->pixels, d->scratch, NULL)) {
        d->n_refused++;
        free(bytes);
        return;
    }
    p->width = jpeg.width;
    p->height = jpeg.height;
    draw_box(p, d->n++);
    p->n_marked = add_markers(p, &p->marked);
    const void *table;
    leat_scratch_reset(d->scratch);
    if (leat_jpeg_make_table(bytes, n_bytes, d->every_mcus, d->scratch, &table, &p->n_table, NULL))
        p->n_table = 0;
    p->table = malloc(p->n_table + 1);
    if (p->table && p->n_table)
        memcpy(p->table, table, p->n_table);
}

enum { MOST_LEVELS = 8 }; /* of folders: links may lead in a circle */

/* false: it is no folder, or cannot be opened. */
static bool read_folder(data *d, const char *path, int levels)
{
    DIR *folder = levels ? opendir(path) : NULL;
    if (!folder)
        return false;
    for (struct dirent *entry; (entry = readdir(folder)) && d->n < MOST_FILES;) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || read_folder(d, name, levels - 1))
            continue;
        FILE *file = fopen(name, "rb");
        uint8_t *bytes = file ? malloc(MOST_BYTES) : NULL;
        if (bytes)
            add_picture(d, bytes, fread(bytes, 1, MOST_BYTES, file));
        if (file)
            fclose(file);
    }
    closedir(folder);
    return true;
}

/* Gradients, edges and noise. */
static void draw_row(uint8_t *row, int y, unsigned *state)
{
    for (int i = 0; i < 3 * DRAWN_WIDTH; i++) {
        const int x = i / 3, c = i % 3;
        *state = *state * 1664525u + 1013904223u;
        const int noise = (int)(*state >> 24) / 8;
        row[i] = (uint8_t)(x * (3 + c) / 9 + y / 2 + (x / 39 + y / 27 + c) % 3 * 50 + noise);
    }
}

static size_t draw_picture(unsigned seed, uint8_t **out)
{
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr errors;
    unsigned long n = 0;
    uint8_t row[3 * DRAWN_WIDTH];
    JSAMPROW at = row;
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, out, &n);
    info.image_width = DRAWN_WIDTH;
    info.image_height = DRAWN_HEIGHT;
    info.input_components = 3;
    info.in_color_space = JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, 90, TRUE);
    info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = seed % 4 ? 1 : 2;
    jpeg_start_compress(&info, TRUE);
    for (int y = 0; y < DRAWN_HEIGHT; y++) {
        draw_row(row, y, &seed);
        jpeg_write_scanlines(&info, &at, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    return n;
}

static void draw_pictures(data *d)
{
    for (unsigned i = 0; i < 40; i++) {
        uint8_t *bytes = NULL;
        const size_t n = draw_picture(i, &bytes);
        add_picture(d, bytes, n);
    }
}

/* --- the arms ------------------------------------------------------------------------------------ */

static leat_view view_of(void *memory, int64_t height, int64_t width)
{
    return (leat_view){ leat_shape_make(LEAT_U8, 3, (const int64_t[]){ height, width, 3 }), memory,
                        NULL };
}

static leat_jpeg_target target_of(const arm_arg *a, const picture *p)
{
    return (leat_jpeg_target){
        .height = SIDE,
        .width = SIDE,
        .channels = 3,
        .is_mirrored = p->is_mirrored,
        .affine = a->n_steps < 4 ? NULL : &a->d->affine,
    };
}

/* Steps 3 and 4 for pixels of libjpeg-turbo, rows stride_bytes apart. */
static void finish(const arm_arg *a, const picture *p, const uint8_t *pixels, size_t stride_bytes)
{
    data *d = a->d;
    const leat_jpeg_target target = target_of(a, p);
    if (a->n_steps >= 3)
        leat_jpeg_resize(leat_jpeg_dsp_use(leat_cpu_level()), pixels, stride_bytes, p->box.height,
                         p->box.width, &target, d->tensor, d->scratch, NULL);
    bench_keep(d->tensor);
}

static int64_t turbo_coefficients(void *arg)
{
    data *d = ((const arm_arg *)arg)->d;
    for (size_t i = 0; i < d->n; i++) {
        jpeg_mem_src(&d->turbo, d->pictures[i].bytes, d->pictures[i].n_bytes);
        jpeg_read_header(&d->turbo, TRUE);
        jpeg_read_coefficients(&d->turbo);
        jpeg_abort_decompress(&d->turbo);
    }
    return 0;
}

static int64_t turbo_full(void *arg)
{
    const arm_arg *a = arg;
    data *d = a->d;
    for (size_t i = 0; i < d->n; i++) {
        const picture *p = &d->pictures[i];
        const leat_view pixels = view_of(d->pixels, p->height, p->width);
        leat_scratch_reset(d->scratch);
        if (leat_jpeg_turbo_decode(p->bytes, p->n_bytes, 1, false, &pixels, d->scratch, NULL))
            return -1;
        finish(a, p, d->pixels + 3 * ((size_t)p->box.y * (size_t)p->width + (size_t)p->box.x),
               3 * (size_t)p->width);
    }
    return 0;
}

/* Only the rows and, in steps of its blocks, the columns of the box. */
static int64_t turbo_box(void *arg)
{
    const arm_arg *a = arg;
    data *d = a->d;
    for (size_t i = 0; i < d->n; i++) {
        const picture *p = &d->pictures[i];
        JDIMENSION x = (JDIMENSION)p->box.x, width = (JDIMENSION)p->box.width;
        leat_scratch_reset(d->scratch);
        jpeg_mem_src(&d->turbo, p->bytes, p->n_bytes);
        jpeg_read_header(&d->turbo, TRUE);
        jpeg_start_decompress(&d->turbo);
        jpeg_crop_scanline(&d->turbo, &x, &width);
        jpeg_skip_scanlines(&d->turbo, (JDIMENSION)p->box.y);
        for (int32_t y = 0; y < p->box.height; y++) {
            JSAMPROW row = d->pixels + (size_t)y * width * 3;
            jpeg_read_scanlines(&d->turbo, &row, 1);
        }
        jpeg_abort_decompress(&d->turbo);
        finish(a, p, d->pixels + 3 * ((size_t)p->box.x - x), 3 * (size_t)width);
    }
    return 0;
}

static int scan_all(const leat_jpeg *jpeg, leat_scratch *scratch)
{
    const leat_jpeg_window whole = { .x1 = jpeg->mcus_x, .y1 = jpeg->mcus_y };
    leat_jpeg_scan scan;
    int rc = leat_jpeg_scan_open(&scan, jpeg, &whole, scratch, NULL);
    for (int32_t row = 0; !rc && row < jpeg->mcus_y; row++)
        rc = leat_jpeg_scan_row(&scan, row, NULL);
    return rc;
}

static int64_t ours_full(void *arg)
{
    const arm_arg *a = arg;
    data *d = a->d;
    for (size_t i = 0; i < d->n; i++) {
        const picture *p = &d->pictures[i];
        leat_jpeg jpeg;
        leat_scratch_reset(d->scratch);
        if (leat_jpeg_open(&jpeg, p->bytes, p->n_bytes, NULL))
            return -1;
        jpeg.dsp = leat_jpeg_dsp_use(a->level);
        if (a->n_steps == 1 ? scan_all(&jpeg, d->scratch)
                            : leat_jpeg_decode(&jpeg, 3, d->pixels, d->scratch, NULL))
            return -1;
    }
    return 0;
}

static int64_t ours_box(void *arg)
{
    const arm_arg *a = arg;
    data *d = a->d;
    for (size_t i = 0; i < d->n; i++) {
        const picture *p = &d->pictures[i];
        const leat_jpeg_target target = target_of(a, p);
        leat_jpeg jpeg;
        leat_scratch_reset(d->scratch);
        if (leat_jpeg_open(&jpeg, a->is_marked ? p->marked : p->bytes,
                           a->is_marked ? p->n_marked : p->n_bytes, NULL))
            return -1;
        jpeg.dsp = leat_jpeg_dsp_use(a->level);
        if (a->is_indexed && p->n_table)
            leat_jpeg_use_table(&jpeg, p->table, p->n_table, d->scratch, NULL);
        if (a->n_steps < 3
                ? leat_jpeg_decode_box(&jpeg, &p->box, 3, d->pixels, d->scratch, NULL)
                : leat_jpeg_decode_resized(&jpeg, &p->box, &target, d->tensor, d->scratch, NULL))
            return -1;
        bench_keep(d->tensor);
    }
    return 0;
}

/* --- the groups ---------------------------------------------------------------------------------- */

static void run_levels(bench *b, data *d, const char *group, int n_steps, int64_t (*turbo)(void *))
{
    bench_arm arms[1 + LEAT_N_CPU_LEVELS];
    arm_arg args[1 + LEAT_N_CPU_LEVELS];
    size_t n = 1;
    args[0] = (arm_arg){ .d = d, .n_steps = n_steps };
    arms[0] = (bench_arm){ "libjpeg-turbo", turbo, &args[0], (double)d->n, "images" };
    for (int level = 0; level <= leat_cpu_best(); level++, n++) {
        args[n] = (arm_arg){ .d = d, .level = level, .n_steps = n_steps };
        arms[n] = (bench_arm){ leat_cpu_name(level), ours_full, &args[n], (double)d->n, "images" };
    }
    bench_group(b, group, arms, n, "libjpeg-turbo");
}

static void run_crops(bench *b, data *d, const char *group, int n_steps)
{
    const int best = leat_cpu_level();
    arm_arg args[] = { { .d = d, .n_steps = n_steps },
                       { .d = d, .n_steps = n_steps },
                       { .d = d, .level = best, .n_steps = n_steps },
                       { .d = d, .level = best, .n_steps = n_steps, .is_indexed = 1 },
                       { .d = d, .level = best, .n_steps = n_steps, .is_marked = 1 } };
    const double n = (double)d->n;
    const bench_arm arms[] = {
        { "libjpeg-turbo, whole", turbo_full, &args[0], n, "images" },
        { "libjpeg-turbo, box", turbo_box, &args[1], n, "images" },
        { "box", ours_box, &args[2], n, "images" },
        { "box, index", ours_box, &args[3], n, "images" },
        { "box, restart markers", ours_box, &args[4], n, "images" },
    };
    bench_group(b, group, arms, sizeof arms / sizeof *arms, "libjpeg-turbo, whole");
}

static void note_data(bench *b, const data *d)
{
    char text[200], why[160];
    double bytes = 0, marked = 0, pixels = 0, box = 0, table = 0;
    for (size_t i = 0; i < d->n; i++) {
        const picture *p = &d->pictures[i];
        bytes += (double)p->n_bytes;
        marked += (double)p->n_marked;
        table += (double)p->n_table;
        pixels += p->width * (double)p->height;
        box += p->box.width * (double)p->box.height;
    }
    snprintf(text, sizeof text, "%zu, %zu others left out", d->n, d->n_refused);
    bench_note(b, "images", text);
    snprintf(text, sizeof text, "%.1f kpixel, %.1f kB, %.1f kB with markers every %d MCUs",
             pixels / (double)d->n / 1e3, bytes / (double)d->n / 1e3, marked / (double)d->n / 1e3,
             RESTART);
    bench_note(b, "mean", text);
    snprintf(text, sizeof text, "%.2f kB, %.2f %% of the files", table / (double)d->n / 1e3,
             100 * table / bytes);
    bench_note(b, "index", text);
    snprintf(text, sizeof text, "%.1f %% of the pixels", 100 * box / pixels);
    bench_note(b, "boxes", text);
    bench_note(b, "cpu level", leat_cpu_name(leat_cpu_level()));
    const char *loop = leat_jpeg_loop(why, sizeof why);
    snprintf(text, sizeof text, "%s (%.150s)", loop, why);
    bench_note(b, "huffman loop", text);
}

static void fini(data *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->pictures[i].bytes);
        free(d->pictures[i].marked);
        free(d->pictures[i].table);
    }
    jpeg_destroy_decompress(&d->turbo);
    leat_scratch_close(&d->scratch);
    free(d->pictures);
    free(d->pixels);
    free(d);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
    if (folder)
        argv[1] = argv[0];
    bench *b = bench_open(argc - !!folder, argv + !!folder, "jpeg");
    data *d = calloc(1, sizeof *d);
    if (!d || leat_scratch_open(&d->scratch, 1 << 28, NULL))
        return 1;
    const char *every = getenv("LEAT_BENCH_EVERY_MCUS");
    d->every_mcus = every ? (uint32_t)strtoul(every, NULL, 10) : 0;
    d->pictures = calloc(MOST_FILES, sizeof *d->pictures);
    d->pixels = malloc((size_t)MOST_PIXELS * 3);
    if (!d->pictures || !d->pixels)
        return 1;
    d->affine = (leat_affine){ .n_channels = 3,
                               .scale = { 0.017f, 0.0175f, 0.0174f },
                               .shift = { -2.1f, -2.0f, -1.8f } };
    leat_dsp_affine_fill(&d->affine);
    d->turbo.err = jpeg_std_error(&d->errors);
    jpeg_create_decompress(&d->turbo);
    if (!folder) {
        draw_pictures(d);
    } else if (!read_folder(d, folder, MOST_LEVELS)) {
        fprintf(stderr, "jpeg: cannot open folder %s\n", folder);
        return 2;
    }
    if (!d->n) {
        fprintf(stderr, "jpeg: no pictures in %s and its folders that both decoders know\n",
                folder);
        return 2;
    }
    note_data(b, d);
    run_levels(b, d, "symbols to coefficients", 1, turbo_coefficients);
    run_levels(b, d, "whole picture to RGB", 2, turbo_full);
    run_crops(b, d, "box to RGB", 2);
    run_crops(b, d, "box to 224 x 224", 3);
    run_crops(b, d, "box to tensor", 4);
    fini(d);
    return bench_close(&b);
}
