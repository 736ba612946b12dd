/* SPDX-License-Identifier: MIT
 *
 * source_images.c: a folder per class with image files in it, read directly. Classes are the
 * sub-folders in byte order of their names, labels count from 0; files are in byte order of their
 * paths, so the same tree gives the same records everywhere. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digest.h"
#include "scratch.h"
#include "source.h"

typedef struct images_options {
    leat_string path;
} images_options;

static const leat_option options[] = { LEAT_OPTION_STRING(
                                           images_options, path, NULL,
                                           "folder with one sub-folder of images per class"),
                                       LEAT_OPTION_END };

typedef struct image_file {
    char *path;
    int64_t label;
} image_file;

typedef struct images_source {
    leat_source base;
    image_file *files;
    size_t n_files, room;
} images_source;

static void close_images(leat_source *base)
{
    images_source *const source = (images_source *)base;
    for (size_t i = 0; i < source->n_files; i++)
        free(source->files[i].path);
    free(source->files);
    free(source);
}

static int is_image_name(const char *name)
{
    static const char *const endings[] = { ".jpg", ".jpeg", ".png" };
    const char *const dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (!strcasecmp(dot, endings[i]))
            return 1;
    return 0;
}

static int add_file(images_source *source, const char *folder, const char *name, int64_t label,
                    leat_error *err)
{
    if (source->n_files == source->room) {
        const size_t room = source->room ? source->room * 2 : 1024;
        image_file *files = realloc(source->files, room * sizeof *files);
        if (!files)
            return leat_fail(err, LEAT_E_NOMEM, "%zu image files", room);
        source->files = files;
        source->room = room;
    }
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return leat_fail(err, LEAT_E_NOMEM, "the path of an image file");
    source->files[source->n_files++] = (image_file){ path, label };
    return LEAT_OK;
}

/* Names in a folder in byte order, without those that begin with a dot. */
static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}
static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}
static int list(const char *folder, struct dirent ***names, const leat_node *where, leat_error *err)
{
    const int n = scandir(folder, names, visible, by_bytes);
    if (n < 0)
        return leat_node_fail(where, err, LEAT_E_IO, "cannot read folder %s: %s", folder,
                              strerror(errno));
    return n;
}

static int add_class(images_source *source, const char *folder, int64_t label,
                     const leat_node *where, leat_error *err)
{
    struct dirent **names;
    const int n = list(folder, &names, where, err);
    int rc = n < 0 ? n : LEAT_OK;
    for (int i = 0; i < n; i++) {
        if (rc >= 0 && is_image_name(names[i]->d_name))
            rc = add_file(source, folder, names[i]->d_name, label, err);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return rc;
}

static int add_classes(images_source *source, const char *root, const leat_node *where,
                       leat_error *err)
{
    struct dirent **names;
    const int n = list(root, &names, where, err);
    int rc = n < 0 ? n : LEAT_OK;
    for (int i = 0; i < n; i++) {
        char *folder = NULL;
        struct stat status;
        if (rc >= 0 && asprintf(&folder, "%s/%s", root, names[i]->d_name) < 0) {
            folder = NULL;
            rc = leat_fail(err, LEAT_E_NOMEM, "the path of a class folder");
        }
        if (rc >= 0 && stat(folder, &status) == 0 && S_ISDIR(status.st_mode))
            rc = add_class(source, folder, source->base.n_classes++, where, err);
        free(folder);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return rc;
}

static int open_images(const void *opts, const leat_node *where, leat_source **out, leat_error *err)
{
    extern const leat_source_table leat_source_images;
    const char *const root = ((const images_options *)opts)->path.text;
    images_source *source = calloc(1, sizeof *source);
    if (!source)
        return leat_fail(err, LEAT_E_NOMEM, "images: %zu bytes", sizeof *source);
    source->base.table = &leat_source_images;
    int rc = add_classes(source, root, where, err);
    if (rc >= 0 && source->n_files == 0)
        rc = leat_node_fail(where, err, LEAT_E_DATA,
                            "%s: no image found in %d class folders (expected "
                            "%s/CLASS/NAME.jpg or .png)",
                            root, source->base.n_classes, root);
    if (rc < 0) {
        close_images(&source->base);
        return rc;
    }
    const int64_t bytes = LEAT_UNKNOWN_DIM;
    source->base.n_records = source->n_files;
    source->base.n_features = 2;
    source->base.features[0] = (leat_feature_info){ "image", leat_shape_make(LEAT_U8, 1, &bytes) };
    source->base.features[1] = (leat_feature_info){ "label", leat_shape_make(LEAT_I64, 0, NULL) };
    for (size_t i = 0; i < source->n_files; i++)
        source->base.digest = leat_digest_chain(
            source->base.digest,
            leat_digest_row(source->files[i].path, strlen(source->files[i].path), i));
    *out = &source->base;
    return LEAT_OK;
}

static int load(const leat_source *base, uint64_t record, leat_scratch *scratch,
                leat_view *features, size_t *n_read, leat_error *err)
{
    *n_read = 0;

    const image_file *const file = &((const images_source *)base)->files[record];
    struct stat status;
    const int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0) {
        const int error = errno;
        if (fd >= 0)
            close(fd);
        return leat_fail(err, LEAT_E_IO, "cannot open: %s", strerror(error));
    }
    const size_t size = (size_t)status.st_size;
    uint8_t *const bytes = leat_scratch_take(scratch, size);
    int64_t *const label = leat_scratch_take(scratch, sizeof *label);
    int rc = LEAT_OK;
    if (!bytes || !label)
        rc = leat_fail(err, LEAT_E_NOMEM, "a file of %zu bytes does not fit in scratch", size);
    else
        rc = leat_source_pread(fd, bytes, size, 0, NULL, err);
    close(fd);
    if (rc < 0)
        return rc;
    *n_read = size;
    *label = file->label;
    const int64_t n_bytes = (int64_t)size;
    features[0] = (leat_view){ leat_shape_make(LEAT_U8, 1, &n_bytes), bytes };
    features[1] = (leat_view){ leat_shape_make(LEAT_I64, 0, NULL), label };
    return LEAT_OK;
}

static void describe(const leat_source *base, uint64_t record, char *text, size_t size)
{
    snprintf(text, size, "%s", ((const images_source *)base)->files[record].path);
}

const leat_source_table leat_source_images = {
    .kind = { "images", "a folder per class with JPEG and PNG files, read directly", options },
    .options_size = sizeof(images_options),
    .open = open_images,
    .close = close_images,
    .load = load,
    .describe = describe,
};
