/* SPDX-License-Identifier: MIT
 *
 * leat synth: draws a labelled set of images, for trying leat without a data set. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "convert/image_encode.h"
#include "files.h"
#include "formats/figure.h"
#include "host.h"
#include "print/json.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "signals.h"

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
    LEAT_OPTION_I64(struct synth_options, classes, "10", 1, LEAT_DRAW_CLASSES,
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
    pthread_mutex_t lock;
    leat_error error; /* [lock] the first */
};

/* --- folders -----------------------------------------------------------------------------------*/

static int make_folder(const char *path, leat_error *err)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_IO, "%s: cannot create the folder: %s", path, strerror(errno));
}

static int make_class_folders(const struct synth *s, const char *split, leat_error *err)
{
    if (s->o->format == FORMAT_CIFAR)
        return LEAT_OK;
    char *top = leat_files_text("%s%s", s->hidden, split);
    int rc = top ? make_folder(top, err) : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    for (int64_t i = 0; i < s->o->classes && rc == LEAT_OK; i++) {
        char *path = leat_files_text("%s/%s", top, leat_draw_class((int)i));
        rc = path ? make_folder(path, err) : leat_fail(err, LEAT_E_NOMEM, "out of memory");
        free(path);
    }
    free(top);
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
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
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

static int write_image(const char *path, const uint8_t *bytes, size_t n, leat_error *err)
{
    FILE *file = fopen(path, "wbx");
    const int bad = !file || fwrite(bytes, 1, n, file) != n;
    const int error = errno;
    if ((file && fclose(file) != 0) || bad)
        return leat_fail(err, LEAT_E_IO, "%s: cannot write: %s", path,
                         strerror(bad ? error : errno));
    return LEAT_OK;
}

/* Writes record i of its file: the label, and a plane for each colour. */
static int write_cifar(struct synth *s, int64_t i, int label, const uint8_t *pixels,
                       leat_error *err)
{
    enum { PIXELS = CIFAR_SIDE * CIFAR_SIDE };
    const int64_t n_train = s->o->n - s->n_test;
    uint8_t record[CIFAR_BYTES] = { (uint8_t)label };
    for (int k = 0; k < 3 * PIXELS; k++)
        record[1 + k % 3 * PIXELS + k / 3] = pixels[k];
    char *path = leat_files_text("%s/%s.bin", s->hidden,
                                 s->n_test == 0 ? "all"
                                 : i < n_train  ? "train"
                                                : "test");
    if (!path)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    const off_t at = (off_t)(i < n_train ? i : i - n_train) * CIFAR_BYTES;
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    size_t written = 0;
    int rc = LEAT_OK;
    for (ssize_t n = 1; fd >= 0 && written < sizeof record && n > 0;
         written += n > 0 ? (size_t)n : 0)
        n = pwrite(fd, record + written, sizeof record - written, at + (off_t)written);
    if (written < sizeof record)
        rc = leat_fail(err, LEAT_E_IO, "%s: cannot write: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    atomic_fetch_add(&s->bytes, CIFAR_BYTES);
    free(path);
    return rc;
}

static int make_image(struct synth *s, int64_t i, uint8_t *pixels, leat_error *err)
{
    const struct synth_options *o = s->o;
    const int size = (int)o->size, label = (int)(i % o->classes);
    const char *class_name = leat_draw_class(label);
    const char *split = s->n_test == 0 ? "" : i < o->n - s->n_test ? "/train" : "/test";
    uint8_t *bytes;
    size_t n;
    leat_draw_picture((uint64_t)o->seed, (uint64_t)i, label, size, pixels);
    if (o->format == FORMAT_CIFAR)
        return write_cifar(s, i, label, pixels, err);
    int rc = o->format == FORMAT_PNG ? leat_image_encode_png(pixels, size, size, &bytes, &n, err)
                                     : leat_image_encode_jpeg(pixels, size, &bytes, &n, err);
    if (rc < 0)
        return rc;
    char *path = leat_files_text("%s%s/%s/%s-%07lld.%s", s->hidden, split, class_name, class_name,
                                 (long long)i, o->format == FORMAT_PNG ? "png" : "jpg");
    rc = path ? write_image(path, bytes, n, err) : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    atomic_fetch_add(&s->bytes, (long long)n);
    free(path);
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
        rc = leat_fail(&err, LEAT_E_NOMEM, "out of memory");
    while (rc == LEAT_OK && !atomic_load(&s->failed)) {
        const int64_t i = atomic_fetch_add(&s->next, 1);
        if (i >= s->o->n)
            break;
        rc = leat_signals_caught() ? leat_fail(&err, LEAT_E_CANCELED, "stopped by a signal")
                                   : make_image(s, i, pixels, &err);
        leat_progress_show(&s->progress, (uint64_t)i);
    }
    free(pixels);
    if (rc < 0 && !atomic_exchange(&s->failed, true)) {
        pthread_mutex_lock(&s->lock);
        s->error = err;
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

static int run_workers(struct synth *s, leat_error *err)
{
    pthread_t *threads = calloc((size_t)s->threads, sizeof *threads);
    int32_t started = 0;
    leat_progress_init(&s->progress, "synth", "images", (uint64_t)s->o->n,
                       s->o->quiet ? LEAT_PROGRESS_OFF : s->o->progress);
    pthread_mutex_init(&s->lock, NULL);
    while (threads && started < s->threads - 1 && !pthread_create(&threads[started], NULL, work, s))
        started++;
    work(s);
    for (int32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    pthread_mutex_destroy(&s->lock);
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
    int rc = s.folder ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "out of memory");
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
