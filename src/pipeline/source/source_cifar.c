/* SPDX-License-Identifier: MIT
 *
 * source_cifar.c: the binary files of CIFAR-10 and CIFAR-100. Each record is one label (CIFAR-10) or a coarse
 * and a fine label (CIFAR-100), a byte each, and 3072 bytes: the red plane of 32 × 32, the green one, the
 * blue one. */
#include "row_files.h"

enum { SIDE = 32, CHANNELS = 3, PIXELS = SIDE * SIDE * CHANNELS, COARSE_CLASSES = 20 };

static const char *const sets[] = { "10", "100", NULL };
enum { SET_10, SET_100 };

typedef struct cifar_options {
    leat_strings files;
    int32_t classes;
} cifar_options;

static const leat_option options[] = {
    LEAT_OPTION_STRINGS(cifar_options, files, NULL,
                        "files, or patterns, such as data_batch_*.bin; read in byte order of their "
                        "names"),
    LEAT_OPTION_ENUM(cifar_options, classes, "10", sets,
                     "10 for CIFAR-10; 100 for CIFAR-100, which also has the feature coarse_label"),
    LEAT_OPTION_END
};

/* Appends a column that begins at this byte of each record. */
static int add_column(leat_row_files *s, const char *name, leat_row_file *file, uint64_t at,
                      int32_t n_classes, leat_error *err)
{
    const size_t record_bytes = s->base.n_classes == 10 ? 1 + PIXELS : 2 + PIXELS;
    const leat_array array = { .type = LEAT_ARRAY_U8,
                               .rank = n_classes ? 1 : 4,
                               .dims = { file->bytes / record_bytes, SIDE, SIDE, CHANNELS } };
    leat_row_column *column;
    const int rc = leat_row_files_column(s, name, &array, file, NULL, &column, err);
    if (rc < 0)
        return rc;
    column->offset = at;
    column->stride = record_bytes;
    column->n_classes = n_classes;
    column->planar = n_classes == 0;
    return LEAT_OK;
}

static int add_file(leat_row_files *s, const void *opts, const char *path, const char *labels,
                    leat_error *err)
{
    const bool ten = ((const cifar_options *)opts)->classes == SET_10;
    const size_t record_bytes = ten ? 1 + PIXELS : 2 + PIXELS,
                 other = ten ? 2 + PIXELS : 1 + PIXELS;
    leat_row_file *file;
    (void)labels;
    s->base.n_classes = ten ? 10 : 100;
    int rc = leat_row_files_file(s, path, &file, err);
    if (rc < 0)
        return rc;
    if (!file->bytes || file->bytes % record_bytes)
        return leat_fail(err, LEAT_E_DATA,
                         "%s has %llu bytes, which is no multiple of the %zu bytes of a record: %s",
                         path, (unsigned long long)file->bytes, record_bytes,
                         file->bytes && file->bytes % other == 0
                             ? ten ? "for CIFAR-100 give `classes: 100`"
                                   : "for CIFAR-10 give `classes: 10`"
                             : "it is truncated, or not a binary file of CIFAR");
    if ((rc = leat_row_files_group(s, file->path, err)) < 0 ||
        (rc = add_column(s, "image", file, ten ? 1 : 2, 0, err)) < 0 ||
        (rc = add_column(s, "label", file, ten ? 0 : 1, s->base.n_classes, err)) < 0 ||
        (!ten && (rc = add_column(s, "coarse_label", file, 0, COARSE_CLASSES, err)) < 0))
        return rc;
    return leat_row_files_end_group(s, err);
}

static int open_cifar(const void *opts, const leat_node *where, const leat_source_setting *setting,
                      leat_source **out, leat_error *err)
{
    extern const leat_source_table leat_source_cifar;
    const cifar_options *const o = opts;
    return leat_row_files_open_all(&leat_source_cifar, setting, &o->files, NULL, add_file, o, where,
                                   out, err);
}

const leat_source_table leat_source_cifar = {
    .kind = { "cifar", "binary files of CIFAR-10 or CIFAR-100", options },
    .options_size = sizeof(cifar_options),
    .open = open_cifar,
    LEAT_ROW_FILES_TABLE,
};
