/* SPDX-License-Identifier: MIT
 *
 * source_images.c: a folder per class with image files in it, read directly. Classes are the
 * sub-folders in byte order of their names, labels count from 0 (an empty folder is a class too);
 * files are in byte order of their names, so the same tree gives the same records everywhere, and
 * those of its conversion. Names that begin with a dot, files beside the class folders, and files
 * that are not named like an image are left out. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digest.h"
#include "file_id.h"
#include "format.h"
#include "scratch.h"
#include "source.h"
#include "text.h"

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
    _Atomic uint64_t seen; /* digest of size and mtime when it was first read; 0: not yet */
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

static bool is_image_name(const char *name)
{
    static const char *const endings[] = { ".jpg", ".jpeg", ".png" };
    const char *const dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (leat_text_same(dot, endings[i]))
            return true;
    return false;
}

/* --- listing the tree -------------------------------------------------------------------------- */

typedef struct walk {
    images_source *source;
    const char *root, *folder; /* the set's, and the one being listed */
    int64_t label;
    const leat_node *where;
    leat_error *err;
} walk;

/* Looks at one entry of a folder. A visit that keeps the path sets it NULL. */
typedef int visit_entry(walk *w, char **path, char kind);

/* Names in a folder, without those that begin with a dot. */
static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}
static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* 'd' folder, 'f' file, 'x' neither; 0: cannot tell (errno). Links are followed. */
static char kind_of(const struct dirent *entry, const char *path)
{
    struct stat status;
    if (entry->d_type == DT_DIR)
        return 'd';
    if (entry->d_type == DT_REG)
        return 'f';
    if (stat(path, &status) < 0)
        return 0;
    return S_ISDIR(status.st_mode) ? 'd' : S_ISREG(status.st_mode) ? 'f' : 'x';
}

static int look_at(walk *w, const struct dirent *entry, visit_entry *visit)
{
    char *path;
    int rc;
    if (asprintf(&path, "%s/%s", w->folder, entry->d_name) < 0)
        return leat_fail(w->err, LEAT_E_NOMEM, "images: the path of a file");
    const char kind = kind_of(entry, path);
    if (kind == 0)
        rc = leat_node_fail(w->where, w->err, LEAT_E_IO, "%s: %s", path, strerror(errno));
    else
        rc = visit(w, &path, kind);
    free(path);
    return rc;
}

/* Visits what is in a folder, in byte order of the names. */
static int list(walk *w, const char *folder, visit_entry *visit)
{
    struct dirent **entries;
    const char *const outer = w->folder;
    int rc = LEAT_OK;
    const int n = scandir(folder, &entries, visible, by_bytes);
    if (n < 0)
        return leat_node_fail(w->where, w->err, errno == ENOMEM ? LEAT_E_NOMEM : LEAT_E_IO,
                              "cannot read the folder %s: %s", folder, strerror(errno));
    w->folder = folder;
    for (int i = 0; i < n; i++) {
        if (rc >= 0)
            rc = look_at(w, entries[i], visit);
        free(entries[i]);
    }
    w->folder = outer;
    free(entries);
    return rc;
}

static int visit_image(walk *w, char **path, char kind)
{
    images_source *const source = w->source;
    if (kind == 'd')
        return leat_node_fail(w->where, w->err, LEAT_E_DATA,
                              "%s: a folder inside a class folder; images are expected as "
                              "%s/CLASS/NAME.jpg. If %s holds the classes, name that folder",
                              *path, w->root, w->folder);
    if (!is_image_name(*path))
        return LEAT_OK;
    if (kind != 'f')
        return leat_node_fail(w->where, w->err, LEAT_E_DATA, "%s: not a file", *path);
    if (source->n_files == source->room) {
        const size_t room = source->room ? source->room * 2 : 1024;
        image_file *files = realloc(source->files, room * sizeof *files);
        if (!files)
            return leat_fail(w->err, LEAT_E_NOMEM, "images: %zu files", room);
        source->files = files;
        source->room = room;
    }
    source->files[source->n_files++] = (image_file){ .path = *path, .label = w->label };
    *path = NULL;
    return LEAT_OK;
}

static int visit_class(walk *w, char **path, char kind)
{
    if (kind != 'd')
        return LEAT_OK;
    w->label = w->source->base.n_classes++;
    return list(w, *path, visit_image);
}

static int fail_empty(const walk *w)
{
    const int32_t n = w->source->base.n_classes;
    if (n == 0)
        return leat_node_fail(w->where, w->err, LEAT_E_DATA,
                              "%s has no sub-folders; images are expected as %s/CLASS/NAME.jpg",
                              w->root, w->root);
    return leat_node_fail(w->where, w->err, LEAT_E_DATA,
                          "%s: %d class folder%s, but no file in %s is named .jpg, .jpeg or .png",
                          w->root, n, n == 1 ? "" : "s", n == 1 ? "it" : "them");
}

static uint64_t digest_of(const images_source *source, size_t root_length)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < source->n_files; i++) {
        const char *const name = source->files[i].path + root_length;
        digest = leat_digest_chain(digest, leat_digest_row(name, strlen(name), i));
    }
    return digest;
}

static int open_images(const void *opts, const leat_node *where, const leat_source_setting *setting,
                       leat_source **out, leat_error *err)
{
    extern const leat_source_table leat_source_images;
    const char *const root = ((const images_options *)opts)->path.text;
    (void)setting;
    images_source *source = calloc(1, sizeof *source);
    if (!source)
        return leat_fail(err, LEAT_E_NOMEM, "images: %zu bytes", sizeof *source);
    source->base.table = &leat_source_images;
    walk w = { .source = source, .root = root, .where = where, .err = err };
    int rc = list(&w, root, visit_class);
    if (rc >= 0 && source->n_files == 0)
        rc = fail_empty(&w);
    if (rc < 0) {
        close_images(&source->base);
        return rc;
    }
    const int64_t bytes = LEAT_UNKNOWN_DIM;
    source->base.memory_bytes = source->room * sizeof *source->files;
    for (size_t i = 0; i < source->n_files; i++) /* and what malloc rounds up to, about */
        source->base.memory_bytes += strlen(source->files[i].path) / 16 * 16 + 32;
    source->base.n_records = source->base.n_files = source->n_files;
    source->base.n_features = 2;
    source->base.features[0] = (leat_feature_info){ "image", leat_shape_make(LEAT_U8, 1, &bytes) };
    source->base.features[1] = (leat_feature_info){ "label", leat_shape_make(LEAT_I64, 0, NULL) };
    source->base.digest = digest_of(source, strlen(root));
    *out = &source->base;
    return LEAT_OK;
}

/* Opens a file that was one when it was listed; O_NONBLOCK: what took its place may be a pipe. */
static int open_file(const char *path, leat_file_id *id, leat_error *err)
{
    struct stat status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return leat_fail(err, LEAT_E_IO, "cannot open: %s", leat_format_open_error(errno));
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || leat_file_id_of(fd, id) < 0) {
        close(fd);
        return leat_fail(err, LEAT_E_IO, "is not a file any more");
    }
    return fd;
}

/* Whether it is the file that was read before, if it was. */
static int recognise(image_file *file, const leat_file_id *id, leat_error *err)
{
    const uint64_t words[] = { id->bytes, (uint64_t)id->mtime_ns };
    const uint64_t now = leat_digest_row(words, sizeof words, 0) | 1;
    uint64_t seen = 0;
    if (atomic_compare_exchange_strong_explicit(&file->seen, &seen, now, memory_order_relaxed,
                                                memory_order_relaxed) ||
        seen == now)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_DATA,
                     "the file was changed since it was first read (it has %llu bytes now); open "
                     "the data anew",
                     (unsigned long long)id->bytes);
}

static int read_file(image_file *file, int fd, const leat_file_id *id, uint8_t *bytes,
                     leat_error *err)
{
    int rc = recognise(file, id, err);
    if (rc >= 0)
        rc = leat_source_pread(fd, bytes, id->bytes, 0, NULL, err);
    return rc < 0 ? rc : leat_file_id_check(id, fd, "", err);
}

static int load(const leat_source *base, uint64_t record, leat_scratch *scratch,
                leat_view *features, size_t *n_read, leat_error *err)
{
    image_file *const file = &((const images_source *)base)->files[record];
    leat_file_id id;
    const int fd = open_file(file->path, &id, err);
    if (fd < 0)
        return fd;
    const size_t size = (size_t)id.bytes;
    uint8_t *const bytes = leat_scratch_take(scratch, size);
    int64_t *const label = leat_scratch_take(scratch, sizeof *label);
    int rc = LEAT_OK;
    if (!bytes || !label)
        rc = leat_fail(err, LEAT_E_NOMEM, "a file of %zu bytes does not fit in scratch", size);
    else
        rc = read_file(file, fd, &id, bytes, err);
    close(fd);
    if (rc < 0)
        return rc;
    *n_read += size;
    *label = file->label;
    const int64_t n_bytes = (int64_t)size;
    features[0] = (leat_view){ leat_shape_make(LEAT_U8, 1, &n_bytes), bytes, NULL };
    features[1] = (leat_view){ leat_shape_make(LEAT_I64, 0, NULL), label, NULL };
    return LEAT_OK;
}

/* The label is that of the folder. */
static int known(const leat_source *base, uint64_t record, int32_t feature, leat_scratch *scratch,
                 leat_view *out)
{
    const images_source *const source = (const images_source *)base;
    (void)scratch;
    if (feature != 1)
        return LEAT_E_UNSUPPORTED;
    *out = (leat_view){ leat_shape_make(LEAT_I64, 0, NULL), &source->files[record].label, NULL };
    return LEAT_OK;
}

static void describe(const leat_source *base, uint64_t record, char *text, size_t size)
{
    snprintf(text, size, "%s", ((const images_source *)base)->files[record].path);
}

static int stamp(const leat_source *base, uint64_t *out, leat_error *err)
{
    const images_source *const source = (const images_source *)base;
    *out = 0;
    for (size_t i = 0; i < source->n_files; i++) {
        struct stat status;
        if (stat(source->files[i].path, &status) < 0)
            return leat_fail(err, LEAT_E_IO, "%s: %s", source->files[i].path, strerror(errno));
        *out = leat_source_stamp(*out, &status);
    }
    return LEAT_OK;
}

const leat_source_table leat_source_images = {
    .kind = { "images", "a folder per class with JPEG and PNG files, read directly", options },
    .options_size = sizeof(images_options),
    .open = open_images,
    .close = close_images,
    .load = load,
    .known = known,
    .stamp = stamp,
    .describe = describe,
};
