/* SPDX-License-Identifier: MIT
 *
 * experiment_data.c: the data sets of the experiments: random numbers in .npy files, and the same pictures as TFRecord
 * files and as a file per picture. An existing set of the wanted size or larger is kept. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "experiment_rows.h"
#include "files.h"
#include "formats/atomic_file.h"

enum { N_CLASSES = 10, NPY_HEADER = 128, MAX_SHAPE = 3 };

/* An array of .npy files: NAME.npy and NAME-labels.npy. */
struct array {
    const char *name;
    int64_t rows, quick_rows;
    int64_t shape[MAX_SHAPE]; /* of a row, then 0 */
    bool bytes;               /* uint8, else float32 in -1 … 1 */
    bool yes_or_no;           /* labels are float32 0 or 1, else int64 classes */
};

static const struct array arrays[] = {
    { "rows-1000x100", 1000, 1000, { 100 }, false, false },
    { "rows-100000x100", 100000, 100000, { 100 }, false, false },
    { "rows-10000x128", 10000, 10000, { 128 }, false, true },
    { "images-64px", 10000, 2000, { 64, 64, 3 }, true, false },
    { "images-256px", 1000, 128, { 256, 256, 3 }, true, false },
};
static const char pictures[] = "images-256px", records[] = "records-256px", files[] = "files-256px";

static const struct array *find_array(const char *name)
{
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (!strcmp(arrays[i].name, name))
            return &arrays[i];
    return NULL;
}

static int64_t rows_of(const leat_experiment_run *run, const struct array *array)
{
    return run->quick ? array->quick_rows : array->rows;
}

static int64_t row_bytes(const struct array *array)
{
    int64_t n = array->bytes ? 1 : 4;
    for (int i = 0; i < MAX_SHAPE && array->shape[i]; i++)
        n *= array->shape[i];
    return n;
}

/* Size of a file; -1 if there is none. */
static int64_t size_of(const char *path)
{
    struct stat info;
    return stat(path, &info) < 0 ? -1 : (int64_t)info.st_size;
}

/* --- .npy --------------------------------------------------------------------------------------------- */

/* Version 1.0, padded to 128 bytes. */
static void npy_header(char out[NPY_HEADER], const char *descr, int64_t rows, const int64_t *shape)
{
    char text[NPY_HEADER];
    int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%lld,",
                     descr, (long long)rows);
    for (int i = 0; shape && i < MAX_SHAPE && shape[i]; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, " %lld,", (long long)shape[i]);
    n += snprintf(text + n, sizeof text - (size_t)n, "), }");
    memset(out, ' ', NPY_HEADER);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = NPY_HEADER - 10;
    out[9] = 0;
    memcpy(out + 10, text, (size_t)n);
    out[NPY_HEADER - 1] = '\n';
}

static void fill_row(const struct array *array, int64_t row, uint8_t *out, int64_t n)
{
    leat_rng rng = leat_rng_make(1, (uint64_t)row, 0, 0);
    for (int64_t i = 0; i < n; i += 4) {
        const uint32_t word = leat_rng_u32(&rng);
        const float number = (float)(word >> 8) * 0x1p-23f - 1;
        const size_t left = n - i < 4 ? (size_t)(n - i) : 4;
        memcpy(out + i, array->bytes ? (const void *)&word : (const void *)&number, left);
    }
}

static int write_rows(leat_atomic_file *file, const struct array *array, int64_t rows,
                      leat_format_error *why)
{
    char header[NPY_HEADER];
    const int64_t n = row_bytes(array);
    uint8_t *row = malloc((size_t)n);
    if (!row)
        return leat_format_fail(why, LEAT_FORMAT_NOMEM, 0, "out of memory");
    npy_header(header, array->bytes ? "|u1" : "<f4", rows, array->shape);
    int rc = leat_atomic_file_write(file, header, NPY_HEADER, why);
    for (int64_t i = 0; i < rows && rc == LEAT_FORMAT_OK; i++) {
        fill_row(array, i, row, n);
        rc = leat_atomic_file_write(file, row, (size_t)n, why);
    }
    free(row);
    return rc;
}

static int write_labels(leat_atomic_file *file, const struct array *array, int64_t rows,
                        leat_format_error *why)
{
    static const int64_t one[MAX_SHAPE] = { 1 };
    char header[NPY_HEADER];
    npy_header(header, array->yes_or_no ? "<f4" : "<i8", rows, array->yes_or_no ? one : NULL);
    int rc = leat_atomic_file_write(file, header, NPY_HEADER, why);
    for (int64_t i = 0; i < rows && rc == LEAT_FORMAT_OK; i++) {
        const int64_t class = i % N_CLASSES;
        const float yes = (float)(i % 2);
        rc = array->yes_or_no ? leat_atomic_file_write(file, &yes, sizeof yes, why)
                              : leat_atomic_file_write(file, &class, sizeof class, why);
    }
    return rc;
}

static int refuse(const char *path, leat_error *err)
{
    return leat_fail(err, LEAT_E_ARGUMENT,
                     "%s: exists and is not of an experiment's data; choose another folder for "
                     "--data, or remove it",
                     path);
}

/* Whether a file of `bytes` per row, or none, has its wanted size; one of another size than this command makes, with
 * --quick or without, is somebody else's and is not replaced. */
static int check_size(const leat_experiment_run *run, const struct array *array, const char *path,
                      int64_t bytes, bool *there, leat_error *err)
{
    const int64_t size = size_of(path), rows = (size - NPY_HEADER) / bytes;
    *there = size >= NPY_HEADER + rows_of(run, array) * bytes;
    if (size < 0 ||
        ((size - NPY_HEADER) % bytes == 0 && (rows == array->rows || rows == array->quick_rows)))
        return LEAT_OK;
    return refuse(path, err);
}

typedef int write_fn(leat_atomic_file *, const struct array *, int64_t n, leat_format_error *);

/* Not synced: a set can be made again, and pictures are many. */
static int write_file(const char *path, const struct array *array, int64_t n, write_fn *write,
                      leat_error *err)
{
    leat_format_error why;
    leat_atomic_file *file;
    int rc = leat_files_make_parents(path, err);
    if (rc < 0)
        return rc;
    rc = leat_atomic_file_open(&file, path, LEAT_ATOMIC_FILE_NO_SYNC, &why);
    if (rc == LEAT_FORMAT_OK)
        rc = write(file, array, n, &why);
    if (rc == LEAT_FORMAT_OK)
        rc = leat_atomic_file_commit(file, &why);
    leat_atomic_file_close(&file);
    return rc < 0 ? leat_files_fail(err, &why) : LEAT_OK;
}

static int make_array(const leat_experiment_run *run, const struct array *array, leat_error *err)
{
    const int64_t rows = rows_of(run, array);
    char *path = leat_files_text("%s/%s.npy", run->data_folder, array->name);
    char *labels = leat_files_text("%s/%s-labels.npy", run->data_folder, array->name);
    bool has_rows = false, has_labels = false;
    int rc = path && labels ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    if (rc == LEAT_OK)
        rc = check_size(run, array, path, row_bytes(array), &has_rows, err);
    if (rc == LEAT_OK)
        rc = check_size(run, array, labels, array->yes_or_no ? 4 : 8, &has_labels, err);
    if (rc == LEAT_OK && !(has_rows && has_labels)) {
        rc = write_file(labels, array, rows, write_labels, err);
        if (rc == LEAT_OK)
            rc = write_file(path, array, rows, write_rows, err);
    }
    free(path);
    free(labels);
    return rc;
}

/* --- the pictures in other files ------------------------------------------------------------------------ */

/* The options of a source of the pictures and their labels. */
static char *npy_text(const char *prefix)
{
    char *const path = leat_files_text("%s.npy", prefix);
    char *const labels = leat_files_text("%s-labels.npy", prefix);
    char *const a = path ? leat_files_yaml(path, LEAT_YAML_VALUE) : NULL;
    char *const b = labels ? leat_files_yaml(labels, LEAT_YAML_VALUE) : NULL;
    char *const text = a && b ? leat_files_text("{files: %s, labels: %s}", a, b) : NULL;
    free(path);
    free(labels);
    free(a);
    free(b);
    return text;
}

/* With this program's own `convert`. */
static int make_records(const leat_experiment_run *run, const struct array *array, leat_error *err)
{
    char *prefix = leat_files_text("%s/%s", run->data_folder, pictures);
    char *first = leat_files_text("%s-00000-of-00004.tfrecord", prefix ? prefix : "");
    char *npy = prefix ? npy_text(prefix) : NULL;
    int rc = prefix && first && npy ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    if (rc == LEAT_OK && size_of(first) < rows_of(run, array) / 4 * row_bytes(array)) {
        const char *const convert[] = { "convert",  "npy", npy,  "-o", prefix,
                                        "--shards", "4",   "-q", NULL };
        rc = leat_experiment_again(convert, NULL, 0, err);
    }
    free(prefix);
    free(first);
    free(npy);
    return rc;
}

/* Picture i as a PPM file: a line, and the pixels. */
static int write_picture(leat_atomic_file *file, const struct array *array, int64_t i,
                         leat_format_error *why)
{
    char line[64];
    const int64_t n = row_bytes(array);
    uint8_t *const pixels = malloc((size_t)n);
    if (!pixels)
        return leat_format_fail(why, LEAT_FORMAT_NOMEM, 0, "out of memory");
    const int length = snprintf(line, sizeof line, "P6\n%lld %lld\n255\n",
                                (long long)array->shape[1], (long long)array->shape[0]);
    fill_row(array, i, pixels, n);
    int rc = leat_atomic_file_write(file, line, (size_t)length, why);
    if (rc == LEAT_FORMAT_OK)
        rc = leat_atomic_file_write(file, pixels, (size_t)n, why);
    free(pixels);
    return rc;
}

static int make_files(const leat_experiment_run *run, const struct array *array, leat_error *err)
{
    int rc = LEAT_OK;
    for (int64_t i = 0; i < rows_of(run, array) && rc == LEAT_OK; i++) {
        char *const path = leat_files_text("%s/%s/class%lld/%06lld.ppm", run->data_folder, pictures,
                                           (long long)(i % N_CLASSES), (long long)i);
        if (!path)
            rc = leat_fail(err, LEAT_E_NOMEM, "out of memory");
        else if (size_of(path) < 0)
            rc = write_file(path, array, i, write_picture, err);
        else if (size_of(path) < row_bytes(array))
            rc = refuse(path, err);
        free(path);
    }
    return rc;
}

int leat_experiment_data(const leat_experiment_run *run, const char *name, leat_error *err)
{
    const struct array *array = find_array(name);
    if (array)
        return make_array(run, array, err);
    array = find_array(pictures);
    if (!strcmp(name, records))
        return make_records(run, array, err);
    if (!strcmp(name, files))
        return make_files(run, array, err);
    return leat_fail(err, LEAT_E_INTERNAL, "there is no data set '%s'", name);
}
