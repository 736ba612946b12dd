/* SPDX-License-Identifier: MIT
 *
 * leat synth: draws a labelled set of images, for trying leat without a data set. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "convert/image_file.h"
#include "files.h"
#include "formats/figure.h"
#include "host.h"
#include "leat/rng.h"
#include "print/json.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "signals.h"

/* --- shapes ------------------------------------------------------------------------------------*/

/* DESIGN: a class is a signed distance: negative inside of a shape of radius about 1 around
 * the origin. Place, size, rotation, colours, ground and noise are drawn at random, so that no single
 * pixel tells the class: a linear model does badly where a small convolutional network does well.
 * The shape is always lighter than its ground; without that the network takes many more epochs.
 * A picture is a function of seed and number on every machine: its arithmetic is integers and IEEE + - * / sqrt. */

typedef float (*distance_fn)(float x, float y);

static float least(float a, float b)
{
    return a < b ? a : b;
}

static float most(float a, float b)
{
    return a > b ? a : b;
}

static float length(float x, float y)
{
    return sqrtf(x * x + y * y);
}

static float bar(float x, float y, float half_width, float half_height)
{
    return most(fabsf(x) - half_width, fabsf(y) - half_height);
}

static float circle(float x, float y)
{
    return length(x, y) - 0.78f;
}

static float square(float x, float y)
{
    return bar(x, y, 0.7f, 0.7f);
}

static float triangle(float x, float y)
{
    return most(fabsf(x) * 0.8660254f + y * 0.5f, -y) - 0.48f;
}

static float ring(float x, float y)
{
    return fabsf(length(x, y) - 0.65f) - 0.2f;
}

static float cross(float x, float y)
{
    return least(bar(x, y, 0.26f, 0.9f), bar(x, y, 0.9f, 0.26f));
}

/* A point is in a five-pointed star if it is outside of at most one of five half-planes: the second
 * largest of their distances decides. */
static float star(float x, float y)
{
    static const float normals[5][2] = { { 0, 1 },
                                         { 0.95105652f, 0.30901699f },
                                         { 0.58778525f, -0.80901699f },
                                         { -0.58778525f, -0.80901699f },
                                         { -0.95105652f, 0.30901699f } };
    float first = -1e9f, second = -1e9f;
    for (int i = 0; i < 5; i++) {
        const float d = normals[i][0] * x + normals[i][1] * y - 0.36f;
        second = most(second, least(first, d));
        first = most(first, d);
    }
    return second;
}

static float stripes(float x, float y)
{
    const float middle = bar(x, y, 0.8f, 0.15f);
    return least(middle, bar(x, fabsf(y) - 0.6f, 0.8f, 0.15f));
}

static float crescent(float x, float y)
{
    return most(length(x, y) - 0.88f, 0.72f - length(x - 0.42f, y));
}

static float frame(float x, float y)
{
    return fabsf(most(fabsf(x), fabsf(y)) - 0.58f) - 0.17f;
}

static float hourglass(float x, float y)
{
    return most(fabsf(y) - 0.8f, (fabsf(x) - fabsf(y)) * 0.70710678f);
}

static const struct {
    const char *name;
    distance_fn distance;
} classes[] = {
    { "circle", circle },       { "square", square },     { "triangle", triangle },
    { "ring", ring },           { "cross", cross },       { "star", star },
    { "stripes", stripes },     { "crescent", crescent }, { "frame", frame },
    { "hourglass", hourglass },
};
enum { N_CLASSES = sizeof classes / sizeof *classes };

/* --- a scene -----------------------------------------------------------------------------------*/

enum { CONTRAST = 180, GROUND_MOST = 160 }; /* of the sum, and of each, of red, green and blue */

struct colour {
    int32_t c[3];
};

struct place {
    float x, y, scale, cosine, sine;
};

struct scene {
    struct place shape, dots[4];
    int n_dots;
    struct colour ground, ground_end, paint, dot;
    float slope_x, slope_y; /* of the ground's change of colour, per pixel */
    int32_t noise;          /* about three standard deviations */
};

/* A random direction without sine and cosine, whose last bits differ between machines. */
static void draw_direction(leat_rng *rng, float *cosine, float *sine)
{
    const float t = leat_rng_range(rng, -1, 1), over = 1 / (1 + t * t);
    const float c = (1 - t * t) * over, s = 2 * t * over;
    const uint32_t quarters = leat_rng_below(rng, 4);
    const float x = quarters & 2 ? -c : c, y = quarters & 2 ? -s : s;
    *cosine = quarters & 1 ? -y : x;
    *sine = quarters & 1 ? x : y;
}

static struct place draw_place(leat_rng *rng, float size, float low, float high)
{
    struct place place;
    const float radius = leat_rng_range(rng, low, high) * size;
    place.scale = radius;
    place.x = leat_rng_range(rng, radius, size - radius);
    place.y = leat_rng_range(rng, radius, size - radius);
    draw_direction(rng, &place.cosine, &place.sine);
    return place;
}

static struct colour draw_colour(leat_rng *rng)
{
    struct colour colour;
    for (int i = 0; i < 3; i++)
        colour.c[i] = (int32_t)leat_rng_below(rng, 256);
    return colour;
}

static int32_t lightness(const struct colour *colour)
{
    return colour->c[0] + colour->c[1] + colour->c[2];
}

/* A colour that is lighter than both ends of the ground. */
static struct colour draw_paint(leat_rng *rng, const struct scene *scene)
{
    for (int attempt = 0; attempt < 64; attempt++) {
        const struct colour drawn = draw_colour(rng);
        if (lightness(&drawn) >= lightness(&scene->ground) + CONTRAST &&
            lightness(&drawn) >= lightness(&scene->ground_end) + CONTRAST)
            return drawn;
    }
    return (struct colour){ { 255, 255, 255 } };
}

/* The other end of the ground is near its first. */
static struct colour draw_near(leat_rng *rng, const struct colour *from)
{
    struct colour colour;
    for (int i = 0; i < 3; i++) {
        const int32_t c = from->c[i] + (int32_t)leat_rng_below(rng, 97) - 48;
        colour.c[i] = c < 0 ? 0 : c > 255 ? 255 : c;
    }
    return colour;
}

static struct scene draw_scene(leat_rng *rng, float size)
{
    struct scene scene;
    scene.shape = draw_place(rng, size, 0.26f, 0.44f);
    draw_direction(rng, &scene.slope_x, &scene.slope_y);
    scene.slope_x /= size;
    scene.slope_y /= size;
    scene.ground = draw_colour(rng);
    for (int i = 0; i < 3; i++)
        scene.ground.c[i] = scene.ground.c[i] * GROUND_MOST / 255;
    scene.ground_end = draw_near(rng, &scene.ground);
    scene.paint = draw_paint(rng, &scene);
    scene.dot = draw_colour(rng);
    scene.n_dots = (int)leat_rng_below(rng, 5);
    for (int i = 0; i < scene.n_dots; i++)
        scene.dots[i] = draw_place(rng, size, 0.02f, 0.07f);
    scene.noise = 8 + (int32_t)leat_rng_below(rng, 41);
    return scene;
}

/* --- pixels ------------------------------------------------------------------------------------*/

/* How much of a pixel a shape covers, 0 … 256. */
static int32_t coverage(distance_fn distance, const struct place *place, float x, float y)
{
    const float dx = (x - place->x) / place->scale, dy = (y - place->y) / place->scale;
    const float u = place->cosine * dx + place->sine * dy;
    const float v = place->cosine * dy - place->sine * dx;
    const float cover = 0.5f - distance(u, v) * place->scale;
    return cover <= 0 ? 0 : cover >= 1 ? 256 : (int32_t)(cover * 256);
}

static void blend(struct colour *under, const struct colour *over, int32_t cover)
{
    for (int i = 0; i < 3; i++)
        under->c[i] += (over->c[i] - under->c[i]) * cover / 256;
}

/* Sum of four uniform bytes: nearly normal, -510 … 510. */
static int32_t draw_noise(leat_rng *rng)
{
    const uint32_t r = leat_rng_u32(rng);
    return (int32_t)((r & 255) + (r >> 8 & 255) + (r >> 16 & 255) + (r >> 24)) - 510;
}

static struct colour pixel_at(const struct scene *scene, distance_fn distance, float x, float y,
                              float size)
{
    const float along = 0.5f + (x - size / 2) * scene->slope_x + (y - size / 2) * scene->slope_y;
    const int32_t share = (int32_t)(least(most(along, 0), 1) * 256);
    struct colour pixel = scene->ground;
    blend(&pixel, &scene->ground_end, share);
    for (int i = 0; i < scene->n_dots; i++)
        blend(&pixel, &scene->dot, coverage(circle, &scene->dots[i], x, y));
    blend(&pixel, &scene->paint, coverage(distance, &scene->shape, x, y));
    return pixel;
}

static void draw_picture(uint64_t seed, uint64_t number, int label, int size, uint8_t *pixels)
{
    leat_rng rng = leat_rng_make(seed, number, 0, 1);
    const struct scene scene = draw_scene(&rng, (float)size);
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            const struct colour pixel = pixel_at(&scene, classes[label].distance, (float)x + 0.5f,
                                                 (float)y + 0.5f, (float)size);
            for (int i = 0; i < 3; i++) {
                const int32_t c = pixel.c[i] + draw_noise(&rng) * scene.noise / 510;
                *pixels++ = (uint8_t)(c < 0 ? 0 : c > 255 ? 255 : c);
            }
        }
}

/* --- options -----------------------------------------------------------------------------------*/

struct synth_options {
    int64_t n, classes, size, seed, threads;
    double split;
    int32_t format, quiet, progress;
    const char *json;
};

enum { FORMAT_JPEG, FORMAT_PNG, FORMAT_CIFAR };
static const char *const formats[] = { "jpeg", "png", "cifar", NULL };
enum { CIFAR_SIDE = 32, CIFAR_BYTES = 1 + 3 * CIFAR_SIDE * CIFAR_SIDE };

static const leat_option options[] = {
    LEAT_OPTION_I64(struct synth_options, n, "10000", 1, 1e9, "number of images"),
    LEAT_OPTION_I64(struct synth_options, classes, "10", 1, N_CLASSES,
                    "number of classes (shapes)"),
    LEAT_OPTION_I64(struct synth_options, size, "64", 8, 4096, "height and width in pixels"),
    LEAT_OPTION_I64(struct synth_options, seed, "1", 0, LEAT_OPTION_I64_MAX,
                    "seed of all pictures"),
    LEAT_OPTION_F64(struct synth_options, split, "0", 0, 0.9,
                    "share of the images for DIR/test, the rest go to DIR/train; 0: all go to DIR"),
    LEAT_OPTION_ENUM(struct synth_options, format, "jpeg", formats,
                     "file format; cifar: all images in DIR/all.bin, or DIR/train.bin and "
                     "DIR/test.bin; needs --size 32"),
    LEAT_ROW_THREADS(struct synth_options),
    LEAT_ROW_PROGRESS(struct synth_options),
    LEAT_ROW_JSON(struct synth_options),
    LEAT_OPTION_END
};

/* One run. The set is made in a temporary folder, which is renamed to DIR when it is complete. */
struct synth {
    const struct synth_options *o; /* [const] */
    char *folder, *hidden;         /* [const] */
    int32_t threads;               /* [const] */
    int64_t n_test;                /* [const] the last images */
    leat_progress progress;
    atomic_llong next, bytes;
    atomic_bool failed;
    leat_error error; /* [who sets `failed`] the first */
};

/* --- folders -----------------------------------------------------------------------------------*/

static int make_class_folders(const struct synth *s, const char *split, leat_error *err)
{
    int rc = LEAT_OK;
    for (int64_t i = 0; s->o->format != FORMAT_CIFAR && i < s->o->classes && rc == LEAT_OK; i++) {
        char *path = leat_files_text("%s%s/%s/", s->hidden, split, classes[i].name);
        rc = path ? leat_files_make_parents(path, err) : leat_files_no_memory(err);
        free(path);
    }
    return rc;
}

/* An existing DIR may be replaced only if it is empty. */
static int remove_empty(const char *folder, leat_error *err)
{
    if (rmdir(folder) == 0 || errno == ENOENT)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_IO, "%s: %s", folder,
                     errno == ENOTEMPTY || errno == EEXIST
                         ? "exists already; remove it or choose another name"
                         : strerror(errno));
}

/* Makes the hidden temporary folder beside DIR; s->hidden stays NULL on error. */
static int make_hidden(struct synth *s, leat_error *err)
{
    char *hidden = leat_files_hidden(s->folder, ".XXXXXX");
    if (!hidden)
        return leat_files_no_memory(err);
    if (!mkdtemp(hidden)) {
        const int rc = leat_fail(err, LEAT_E_IO, "%s: cannot create a folder there: %s", s->folder,
                                 strerror(errno));
        free(hidden);
        return rc;
    }
    const mode_t mask = umask(0);
    umask(mask);
    chmod(hidden, 0777 & ~mask); /* mkdtemp makes private folders */
    s->hidden = hidden;
    return LEAT_OK;
}

static int open_hidden(struct synth *s, leat_error *err)
{
    int rc;
    if ((rc = remove_empty(s->folder, err)) < 0 ||
        (rc = leat_files_make_parents(s->folder, err)) < 0 || (rc = make_hidden(s, err)) < 0 ||
        (rc = make_class_folders(s, s->n_test ? "/train" : "", err)) < 0)
        return rc;
    return s->n_test ? make_class_folders(s, "/test", err) : LEAT_OK;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    remove(path);
    return 0;
}

/* --- images ------------------------------------------------------------------------------------*/

/* Frees the path; NULL: out of memory. */
static int write_at(struct synth *s, char *path, int flags, off_t at, const uint8_t *bytes,
                    size_t n, leat_error *err)
{
    if (!path)
        return leat_files_no_memory(err);
    const int fd = open(path, flags | O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    size_t written = 0;
    for (ssize_t more = 1; fd >= 0 && written < n && more > 0;
         written += more > 0 ? (size_t)more : 0)
        more = pwrite(fd, bytes + written, n - written, at + (off_t)written);
    const int error = written < n ? errno : 0;
    int rc = LEAT_OK;
    if ((fd >= 0 && close(fd) < 0) || error)
        rc = leat_fail(err, LEAT_E_IO, "%s: cannot write: %s", path,
                       strerror(error ? error : errno));
    atomic_fetch_add(&s->bytes, (long long)n);
    free(path);
    return rc;
}

/* Writes record i of its file: the label, and a plane for each colour. */
static int write_cifar(struct synth *s, int64_t i, int label, const uint8_t *pixels,
                       leat_error *err)
{
    enum { PIXELS = CIFAR_SIDE * CIFAR_SIDE };
    const int64_t n_train = s->o->n - s->n_test;
    const char *const name = s->n_test == 0 ? "all" : i < n_train ? "train" : "test";
    uint8_t record[CIFAR_BYTES] = { (uint8_t)label };
    for (int k = 0; k < 3 * PIXELS; k++)
        record[1 + k % 3 * PIXELS + k / 3] = pixels[k];
    return write_at(s, leat_files_text("%s/%s.bin", s->hidden, name), 0,
                    (off_t)(i < n_train ? i : i - n_train) * CIFAR_BYTES, record, sizeof record,
                    err);
}

static int make_image(struct synth *s, int64_t i, uint8_t *pixels, leat_error *err)
{
    const struct synth_options *o = s->o;
    const int size = (int)o->size, label = (int)(i % o->classes);
    const char *const class_name = classes[label].name;
    const char *split = s->n_test == 0 ? "" : i < o->n - s->n_test ? "/train" : "/test";
    uint8_t *bytes;
    size_t n;
    draw_picture((uint64_t)o->seed, (uint64_t)i, label, size, pixels);
    if (o->format == FORMAT_CIFAR)
        return write_cifar(s, i, label, pixels, err);
    int rc = o->format == FORMAT_PNG ? leat_image_encode_png(pixels, size, size, &bytes, &n, err)
                                     : leat_image_encode_jpeg(pixels, size, &bytes, &n, err);
    if (rc < 0)
        return rc;
    char *path = leat_files_text("%s%s/%s/%s-%07lld.%s", s->hidden, split, class_name, class_name,
                                 (long long)i, o->format == FORMAT_PNG ? "png" : "jpg");
    rc = write_at(s, path, O_EXCL, 0, bytes, n, err);
    free(bytes);
    return rc;
}

static void *work(void *argument)
{
    struct synth *s = argument;
    leat_error err = { 0 };
    int rc = LEAT_OK;
    uint8_t *pixels = malloc((size_t)s->o->size * (size_t)s->o->size * 3);
    if (!pixels)
        rc = leat_files_no_memory(&err);
    while (rc == LEAT_OK && !atomic_load(&s->failed)) {
        const int64_t i = atomic_fetch_add(&s->next, 1);
        if (i >= s->o->n)
            break;
        rc = leat_signals_caught() ? leat_fail(&err, LEAT_E_CANCELED, "stopped by a signal")
                                   : make_image(s, i, pixels, &err);
        leat_progress_show(&s->progress, (uint64_t)i);
    }
    free(pixels);
    if (rc < 0 && !atomic_exchange(&s->failed, true))
        s->error = err;
    return NULL;
}

static int run_workers(struct synth *s, leat_error *err)
{
    leat_progress_init(&s->progress, "synth", "images", (uint64_t)s->o->n,
                       s->o->quiet ? LEAT_PROGRESS_OFF : s->o->progress);
    leat_host_run(s->threads, work, s);
    leat_progress_fini(&s->progress);
    if (!atomic_load(&s->failed))
        return LEAT_OK;
    *err = s->error;
    return err->code;
}

static int synth(struct synth *s, leat_error *err)
{
    int rc;
    if ((rc = open_hidden(s, err)) == LEAT_OK && (rc = run_workers(s, err)) == LEAT_OK)
        rc = leat_files_rename(s->hidden, s->folder, err);
    if (rc < 0 && s->hidden)
        nftw(s->hidden, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return rc;
}

/* --- the command -------------------------------------------------------------------------------*/

static int report(struct synth *s, double seconds, leat_error *err)
{
    const struct synth_options *o = s->o;
    const int64_t bytes = atomic_load(&s->bytes);
    if (!leat_json_to_stdout(o->json))
        printf("%s image%s of %lld class%s, %lld x %lld, %s, in %s; %.2f s, %s images/s\n",
               leat_figure_count((uint64_t)o->n).text, o->n == 1 ? "" : "s", (long long)o->classes,
               o->classes == 1 ? "" : "es", (long long)o->size, (long long)o->size,
               leat_figure_bytes((double)bytes).text, leat_terminal_name(s->folder), seconds,
               leat_figure_rate((double)o->n / seconds).text);
    json_t *json = leat_json_open("synth");
    leat_json_text(json, "folder", s->folder);
    leat_json_int(json, "images", o->n);
    leat_json_int(json, "test_images", s->n_test);
    leat_json_int(json, "classes", o->classes);
    leat_json_int(json, "size", o->size);
    leat_json_int(json, "seed", o->seed);
    leat_json_int(json, "bytes_out", bytes);
    leat_json_real(json, "seconds", seconds);
    leat_json_real(json, "images_per_s", (double)o->n / seconds);
    return leat_json_write(json, o->json, err);
}

static int run(const leat_call *call, leat_error *err)
{
    const struct synth_options *o = call->options;
    struct synth s = { .o = o };
    const int64_t start = leat_host_now_ns();
    if (o->format == FORMAT_CIFAR && o->size != CIFAR_SIDE)
        return leat_command_misuse("synth", "--format cifar needs --size %d", CIFAR_SIDE);
    s.n_test = (int64_t)((double)o->n * o->split + 0.5);
    if (o->split > 0 && (s.n_test == 0 || s.n_test == o->n))
        return leat_command_misuse("synth",
                                   "--split %g of %lld images leaves one part without any: take "
                                   "more images",
                                   o->split, (long long)o->n);
    atomic_init(&s.next, 0);
    atomic_init(&s.bytes, 0);
    atomic_init(&s.failed, false);
    s.threads = (int32_t)(o->threads < 0 ? leat_host_cores() : o->threads > 0 ? o->threads : 1);
    s.folder = leat_files_cut_slashes(strdup(call->arguments[0]));
    leat_signals_catch();
    int rc = s.folder ? LEAT_OK : leat_files_no_memory(err);
    if (rc == LEAT_OK && o->json) /* the JSON file may be inside DIR, which exists only now */
        rc = leat_files_check_length(o->json, "", err);
    if (rc == LEAT_OK)
        rc = synth(&s, err);
    if (rc == LEAT_OK)
        rc = report(&s, (double)(leat_host_now_ns() - start) * 1e-9, err);
    free(s.folder);
    free(s.hidden);
    return rc;
}

const leat_command leat_command_synth = {
    .name = "synth",
    .summary = "draw a labelled set of images for trying leat",
    .arguments = "DIR",
    .text = "Draws images of shapes (circle, square, triangle, ring, cross, star, stripes, "
            "crescent, frame, hourglass) in random colour, place, size and rotation on a noisy "
            "background, one folder per class, ready for `leat convert images`, or (--format "
            "cifar) files for the source `cifar`. The same seed gives the same pictures. DIR must "
            "not exist or be empty; it appears when it is complete.",
    .example = "  leat synth shapes --n 12000 --size 32 --split 0.2\n"
               "  leat convert images shapes/train -o data/shapes-train --shards 4 --shuffle 1",
    .n_min = 1,
    .n_max = 1,
    LEAT_COMMAND_OPTIONS(struct synth_options),
    .run = run,
};
