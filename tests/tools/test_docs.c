/* SPDX-License-Identifier: MIT
 *
 * test_docs.c: every config that README.md, docs/ and examples/ show is one that this build accepts:
 * its pipelines make plans and its model fits the batches. The data are replaced by a folder of
 * small images, or by small IDX and CSV files, because nobody else has those of the reader. */
#include <stdbool.h>

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixtures/array_files.h"
#include "fixtures/op_test.h"
#include "leat/leat.h"

enum { N_CLASSES = 10, PER_CLASS = 2, SIDE = 80 };

static char folder[] = "/tmp/leat-test-docs-XXXXXX";

static void image_path(char *path, size_t size, int class, int i)
{
    snprintf(path, size, "%s/class%d/%d.jpg", folder, class, i);
}

/* Images of MNIST's and CIFAR's size, and points in two classes. */
static void make_files(void)
{
    enum { N = 20, PIXELS = 28 * 28, POINTS = 3300 };
    uint8_t *const pixels = calloc(N, PIXELS);
    uint8_t labels[N];
    assert_non_null(pixels);
    for (int i = 0; i < N; i++)
        labels[i] = (uint8_t)(i % N_CLASSES);
    put_idx("images.idx", 3, (const uint32_t[]){ N, 28, 28 }, pixels);
    put_idx("labels.idx", 1, (const uint32_t[]){ N }, labels);
    free(pixels);
    uint8_t *const cifar = calloc(N, 3073); /* all of class 0 */
    assert_non_null(cifar);
    put_file("cifar.bin", cifar, N * 3073);
    free(cifar);
    FILE *file = fopen(in_folder("points.csv"), "wb");
    assert_non_null(file);
    fprintf(file, "x,y,ring\n");
    for (int i = 0; i < POINTS; i++)
        fprintf(file, "%d.5,-%d,%s\n", i, i, i % 2 ? "inner" : "outer");
    assert_int_equal(fclose(file), 0);
}

static int make_images(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    make_files();
    char path[128];
    const leat_view image = op_drawing(SIDE, SIDE, 3);
    const leat_view jpeg = op_jpeg(image, (op_jpeg_how){ 0 });
    const size_t size = (size_t)leat_shape_bytes(&jpeg.shape);
    assert_non_null(mkdtemp(folder));
    for (int c = 0; c < N_CLASSES; c++) {
        snprintf(path, sizeof path, "%s/class%d", folder, c);
        assert_int_equal(mkdir(path, 0700), 0);
        for (int i = 0; i < PER_CLASS; i++) {
            image_path(path, sizeof path, c, i);
            FILE *file = fopen(path, "wb");
            assert_non_null(file);
            assert_int_equal(fwrite(jpeg.data, 1, size, file), size);
            assert_int_equal(fclose(file), 0);
        }
    }
    free(image.data);
    free(jpeg.data);
    return 0;
}

static int remove_images(void **state)
{
    remove_folder(state);
    char path[128];
    for (int c = 0; c < N_CLASSES; c++) {
        for (int i = 0; i < PER_CLASS; i++) {
            image_path(path, sizeof path, c, i);
            unlink(path);
        }
        snprintf(path, sizeof path, "%s/class%d", folder, c);
        rmdir(path);
    }
    return rmdir(folder);
}

static void set(leat_config *config, const char *section, const char *path, const char *value,
                const char *where)
{
    char text[300];
    leat_error err;
    snprintf(text, sizeof text, "%s%s=%s", section, path, value);
    if (leat_config_set(config, text, &err))
        fail_msg("%s: %s", where, err.message);
}

static bool has(const leat_config *config, const char *section, const char *path)
{
    char text[100], value[16];
    snprintf(text, sizeof text, "%s%s", section, path);
    return leat_config_get(config, text, value, sizeof value, NULL) == LEAT_OK;
}

/* Points the source of a section at the data; keeps batches small enough for them. */
static void use_images(leat_config *config, const char *section, const char *where)
{
    char images[100];
    snprintf(images, sizeof images, "{images: %s}", folder);
    if (has(config, section, "source.idx")) {
        set(config, section, "source.idx.images", in_folder("images.idx"), where);
        set(config, section, "source.idx.labels", in_folder("labels.idx"), where);
    } else if (has(config, section, "source.cifar")) {
        set(config, section, "source.cifar", in_folder("cifar.bin"), where);
    } else if (has(config, section, "source.csv")) {
        set(config, section, "source.csv.files", in_folder("points.csv"), where);
    } else {
        set(config, section, "source", images, where);
    }
    set(config, section, "pipeline.batch.size", "10", where);
}

static leat_plan *open_plan(const leat_config *config, const char *section, const char *where)
{
    leat_plan *plan;
    leat_error err;
    if (leat_plan_open(config, section, &plan, &err))
        fail_msg("%s: %s", where, err.message);
    return plan;
}

/* Plans of both sections, the model, and one step. */
/* Weights that a config begins with are a file of the reader's: its line becomes a comment, when it is clear that the
 * file is all that it lacks. */
static void leave_out_weights(char *text, const char *where)
{
    leat_config *config;
    leat_device *device;
    leat_trainer *trainer;
    leat_plan *plan;
    leat_error err;
    char *const line = strstr(text, "\n  weights: ");
    if (!line)
        return;
    assert_int_equal(leat_config_parse(text, where, &config, &err), LEAT_OK);
    use_images(config, "", where);
    plan = open_plan(config, NULL, where);
    assert_int_equal(leat_device_open("cpu", &device, &err), LEAT_OK);
    assert_int_equal(leat_trainer_open(config, plan, device, &trainer, &err), LEAT_OK);
    assert_true(leat_trainer_load(trainer, &err) < 0);
    assert_non_null(strstr(err.message, "No such file"));
    leat_trainer_close(&trainer);
    leat_device_close(&device);
    leat_plan_close(&plan);
    leat_config_close(&config);
    line[1] = '#';
}

static void run_config(char *text, const char *where)
{
    leat_config *config;
    leat_device *device;
    leat_trainer *trainer;
    leat_loader *loader;
    leat_batch *batch;
    leat_error err;
    char value[16];
    leave_out_weights(text, where);
    if (leat_config_parse(text, where, &config, &err))
        fail_msg("%s", err.message);
    use_images(config, "", where);
    leat_plan *plan = open_plan(config, NULL, where);
    if (!leat_config_get(config, "eval", value, sizeof value, NULL)) {
        use_images(config, "eval.", where);
        leat_plan *eval = open_plan(config, "eval", where);
        leat_plan_close(&eval);
    }
    assert_int_equal(leat_device_open("cpu", &device, &err), LEAT_OK);
    int rc = leat_trainer_open(config, plan, device, &trainer, &err);
    if (rc == LEAT_E_UNSUPPORTED && strstr(err.message, "no bfloat16")) {
        print_message("%s: %s; trained in fp32 here\n", where, err.message);
        set(config, "", "train.precision", "fp32", where);
        rc = leat_trainer_open(config, plan, device, &trainer, &err);
    }
    if (rc || leat_loader_open(plan, NULL, &loader, &err) ||
        leat_loader_next(loader, &batch, &err) || leat_trainer_step(trainer, batch, &err))
        fail_msg("%s: %s", where, err.message);
    leat_loader_close(&loader);
    leat_trainer_close(&trainer);
    leat_device_close(&device);
    leat_plan_close(&plan);
    leat_config_close(&config);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    fclose(file);
    text[size] = '\0';
    return text;
}

/* Runs every fenced block of YAML that is a whole config; returns their number. */
static int run_blocks(const char *name)
{
    static const char fence[] = "\n```yaml\n";
    char path[512];
    int n = 0;
    snprintf(path, sizeof path, "%s/%s", SOURCE_DIR, name);
    char *text = read_file(path);
    for (char *at = strstr(text, fence); at; at = strstr(at, fence)) {
        at += strlen(fence);
        char *end = strstr(at, "\n```");
        assert_non_null(end);
        *end = '\0';
        if (!strncmp(at, "source:", 7)) {
            run_config(at, name);
            n++;
        }
        at = end + 1;
    }
    free(text);
    return n;
}

TEST(documents)
{
    assert_int_equal(run_blocks("README.md"), 1);
    assert_int_equal(run_blocks("docs/config.md"), 2);
    assert_int_equal(run_blocks("docs/first-steps.md"), 1);
}

TEST(examples)
{
    glob_t found;
    assert_int_equal(glob(SOURCE_DIR "/examples/*.yaml", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *text = read_file(found.gl_pathv[i]);
        run_config(text, found.gl_pathv[i]);
        free(text);
    }
    globfree(&found);
}

SUITE_FIXTURE(make_images, remove_images)
