/* SPDX-License-Identifier: MIT
 *
 * cached.c: what `cache` is worth, and what it costs to fill: JPEG files, decoded and resized before it,
 * cropped, mirrored and normalised after it. Each arm runs one epoch: without a cache (the
 * baseline), the first epoch of one, which fills it, and a later one. The file is in the page cache. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jpeglib.h>

#include "bench_common.h"
#include "formats/example.h"
#include "formats/tfrecord.h"
#include "leat/leat.h"

#define N_IMAGES 512
#define SIDE     320 /* of an image, px */

static char folder[] = "/tmp/leat-bench-cache-XXXXXX";

static void die(const char *what)
{
    fprintf(stderr, "cached: %s\n", what);
    exit(1);
}

/* A JPEG of waves and noise; free(). */
static unsigned long draw(uint64_t seed, unsigned char **out)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned long size = 0;
    uint8_t row[SIDE * 3];
    leat_rng rng = leat_rng_make(seed, 0, 0, 0);
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    *out = NULL;
    jpeg_mem_dest(&c, out, &size);
    c.image_width = c.image_height = SIDE;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_start_compress(&c, TRUE);
    for (int y = 0; y < SIDE; y++) {
        JSAMPROW rows = row;
        for (int i = 0; i < SIDE * 3; i++)
            row[i] =
                (uint8_t)((i * (int)(seed % 7 + 1) + y * 3) / 4 + (int)leat_rng_below(&rng, 24));
        jpeg_write_scanlines(&c, &rows, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return size;
}

static void write_images(const char *path)
{
    leat_tfrecord_writer *writer;
    leat_example_builder *builder = leat_example_builder_open();
    if (!builder || leat_tfrecord_writer_open(&writer, path, 0, NULL) < 0)
        die("cannot write to /tmp");
    for (int64_t i = 0; i < N_IMAGES; i++) {
        unsigned char *jpeg;
        const uint8_t *bytes;
        size_t n;
        const unsigned long size = draw((uint64_t)i, &jpeg);
        const int64_t label = i % 10;
        leat_example_builder_clear(builder);
        if (leat_example_add_bytes(builder, "image/encoded", jpeg, size, NULL) < 0 ||
            leat_example_add_int64s(builder, "image/class/label", &label, 1, NULL) < 0 ||
            leat_example_builder_pack(builder, &bytes, &n, NULL) < 0 ||
            leat_tfrecord_writer_write(writer, bytes, n, NULL) < 0)
            die("cannot write to /tmp");
        free(jpeg);
    }
    if (leat_tfrecord_writer_commit(writer, NULL) < 0)
        die("cannot write to /tmp");
    leat_tfrecord_writer_close(&writer);
    leat_example_builder_close(&builder);
}

typedef struct job {
    const char *cache; /* its options; NULL: none */
    const char *file;  /* deleted before an epoch that fills it */
    bool is_first;     /* every run is a first epoch */
    leat_plan *plan;
    leat_loader *loader;
} job;

static void open_job(job *j)
{
    leat_builder *b = leat_builder_open();
    const leat_loader_options options = { .epochs = -1 };
    leat_error err = { 0 };
    char files[100];
    snprintf(files, sizeof files, "%s/images.tfrecord", folder);
    leat_builder_source(b, "tfrecord", files);
    leat_builder_stage(b, "shuffle", NULL);
    leat_builder_stage(b, "map", "[decode_jpeg, {resize: [160, 160]}]");
    if (j->cache)
        leat_builder_stage(b, "cache", j->cache);
    leat_builder_stage(b, "map",
                       "[{random_crop: {size: [128, 128]}}, random_flip, "
                       "{normalize: {mean: [0.5], std: [0.25]}}]");
    leat_builder_stage(b, "batch", "32");
    if (leat_builder_plan(b, &j->plan, &err) < 0 ||
        leat_loader_open(j->plan, &options, &j->loader, &err) < 0)
        die(err.message);
    leat_builder_close(&b);
}

static void close_job(job *j)
{
    leat_loader_close(&j->loader);
    leat_plan_close(&j->plan);
}

static int64_t epoch(void *arg)
{
    job *const j = arg;
    leat_batch *batch;
    if (j->is_first) {
        if (j->file)
            unlink(j->file);
        open_job(j);
    }
    const int64_t start_ns = bench_now_ns();
    for (int i = 0; i < N_IMAGES / 32; i++) {
        if (leat_loader_next(j->loader, &batch, NULL) < 0)
            return -1;
        leat_batch_release(batch);
    }
    const int64_t ns = bench_now_ns() - start_ns;
    if (j->is_first)
        close_job(j);
    return ns;
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "cached");
    char command[100], images[100], first_file[100], later_file[100];
    if (!mkdtemp(folder))
        die("cannot make a folder in /tmp");
    snprintf(images, sizeof images, "%s/images.tfrecord", folder);
    snprintf(first_file, sizeof first_file, "%s/first.cache", folder);
    snprintf(later_file, sizeof later_file, "%s/later.cache", folder);
    write_images(images);
    job jobs[] = { { .cache = NULL },
                   { .cache = "memory", .is_first = true },
                   { .cache = "memory" },
                   { .cache = first_file, .file = first_file, .is_first = true },
                   { .cache = later_file } };
    const char *const names[] = { "no cache", "memory, first epoch", "memory, later epoch",
                                  "file, first epoch", "file, later epoch" };
    bench_arm arms[5];
    for (int i = 0; i < 5; i++) {
        arms[i] = (bench_arm){ names[i], epoch, &jobs[i], N_IMAGES, "samples" };
        if (!jobs[i].is_first)
            open_job(&jobs[i]);
    }
    bench_group(b, "decode, resize | crop, flip, normalize", arms, 5, "no cache");
    for (int i = 0; i < 5; i++)
        if (!jobs[i].is_first)
            close_job(&jobs[i]);
    snprintf(command, sizeof command, "rm -r %s", folder);
    const int rc = bench_close(&b);
    return system(command) || rc;
}
