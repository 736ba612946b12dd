/* SPDX-License-Identifier: MIT
 *
 * experiment_data.c: the data sets of the experiments: random numbers in .npy files, and the same pictures as TFRecord
 * files and as a file per picture. An existing set of the wanted size or larger is kept. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "experiment_rows.h"
#include "files.h"

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

static int write_rows(FILE *file, const struct array *array, int64_t rows)
{
    char header[NPY_HEADER];
    const int64_t n = row_bytes(array);
    uint8_t *row = malloc((size_t)n);
    if (!row)
        return -1;
    npy_header(header, array->bytes ? "|u1" : "<f4", rows, array->shape);
    bool good = fwrite(header, NPY_HEADER, 1, file) == 1;
    for (int64_t i = 0; i < rows && good; i++) {
        fill_row(array, i, row, n);
        good = fwrite(row, (size_t)n, 1, file) == 1;
    }
    free(row);
    return good ? 0 : -1;
}

static int write_labels(FILE *file, const struct array *array, int64_t rows)
{
    static const int64_t one[MAX_SHAPE] = { 1 };
    char header[NPY_HEADER];
    npy_header(header, array->yes_or_no ? "<f4" : "<i8", rows, array->yes_or_no ? one : NULL);
    bool good = fwrite(header, NPY_HEADER, 1, file) == 1;
    for (int64_t i = 0; i < rows && good; i++) {
        const int64_t class = i % N_CLASSES;
        const float yes = (float)(i % 2);
        good = array->yes_or_no ? fwrite(&yes, sizeof yes, 1, file) == 1
                                : fwrite(&class, sizeof class, 1, file) == 1;
    }
    return good ? 0 : -1;
}

/* Writes a file under another name, and renames it. */
static int write_file(const char *path, const struct array *array, int64_t rows,
                      int (*write)(FILE *, const struct array *, int64_t), leat_error *err)
{
    char *part = leat_files_text("%s.part", path);
    FILE *file = part ? fopen(part, "wb") : NULL;
    int rc = LEAT_OK;
    if (!part)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    const bool written = file && write(file, array, rows) == 0;
    if (!file || (fclose(file) != 0) || !written || rename(part, path) < 0) {
        rc = leat_fail(err, LEAT_E_IO, "%s: %s", path, strerror(errno));
        unlink(part);
    }
    free(part);
    return rc;
}

static int make_array(const leat_experiment_run *run, const struct array *array, leat_error *err)
{
    const int64_t rows = rows_of(run, array);
    char *path = leat_files_text("%s/%s.npy", run->data_folder, array->name);
    char *labels = leat_files_text("%s/%s-labels.npy", run->data_folder, array->name);
    int rc = path && labels ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    if (rc == LEAT_OK &&
        (size_of(path) < NPY_HEADER + rows * row_bytes(array) || size_of(labels) < 0)) {
        rc = leat_files_make_parents(path, err);
        if (rc == LEAT_OK)
            rc = write_file(labels, array, rows, write_labels, err);
        if (rc == LEAT_OK)
            rc = write_file(path, array, rows, write_rows, err);
    }
    free(path);
    free(labels);
    return rc;
}

/* --- the pictures in other files ------------------------------------------------------------------------ */

/* With this program's own `convert`. */
static int make_records(const leat_experiment_run *run, const struct array *array, leat_error *err)
{
    char *prefix = leat_files_text("%s/%s", run->data_folder, pictures);
    char *first = leat_files_text("%s-00000-of-00004.tfrecord", prefix ? prefix : "");
    char *npy = leat_files_text("{files: '%s.npy', labels: '%s-labels.npy'}", prefix ? prefix : "",
                                prefix ? prefix : "");
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

/* A PPM file: a line, and the pixels. */
static int make_picture(const char *folder, const struct array *array, int64_t i, uint8_t *pixels,
                        leat_error *err)
{
    const int64_t n = row_bytes(array);
    char *path = leat_files_text("%s/class%lld/%06lld.ppm", folder, (long long)(i % N_CLASSES),
                                 (long long)i);
    int rc = path ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    if (rc == LEAT_OK && size_of(path) < n &&
        (rc = leat_files_make_parents(path, err)) == LEAT_OK) {
        FILE *file = fopen(path, "wb");
        fill_row(array, i, pixels, n);
        const bool good = file &&
                          fprintf(file, "P6\n%lld %lld\n255\n", (long long)array->shape[1],
                                  (long long)array->shape[0]) > 0 &&
                          fwrite(pixels, (size_t)n, 1, file) == 1;
        if ((file && fclose(file)) || !good)
            rc = leat_fail(err, LEAT_E_IO, "%s: %s", path, strerror(errno));
    }
    free(path);
    return rc;
}

static int make_files(const leat_experiment_run *run, const struct array *array, leat_error *err)
{
    char *folder = leat_files_text("%s/%s", run->data_folder, pictures);
    uint8_t *pixels = malloc((size_t)row_bytes(array));
    int rc = folder && pixels ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    for (int64_t i = 0; i < rows_of(run, array) && rc == LEAT_OK; i++)
        rc = make_picture(folder, array, i, pixels, err);
    free(folder);
    free(pixels);
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
