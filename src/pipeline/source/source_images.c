/* SPDX-License-Identifier: MIT
 *
 * source_images.c: image files, read directly: a folder per class, or a list of files. The same tree or list gives the
 * same records on every machine; `leat convert` writes them in the same order (images_list.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/scratch.h"
#include "base/working_folder.h"
#include "file_watch.h"
#include "formats/format.h"
#include "formats/image_format.h"
#include "images_list.h"
#include "source_list.h"

#define ATTEMPTS 400   /* to open a file while there are too few descriptors */
#define PAUSE_NS 50000 /* after each of them */

typedef struct images_options {
    leat_string path, root, delimiter, file, suffix, class_from;
    leat_strings label;
    int32_t header, label_type, skip_bad;
} images_options;

static const char *const types[] = { LEAT_LIST_TYPE_WORDS };
static const char *const headers[] = { LEAT_LIST_HEADER_WORDS };

static const leat_option options[] = {
    LEAT_OPTION_STRING(images_options, path, NULL,
                       "folder with one sub-folder of images per class; or a CSV or TSV file with "
                       "paths and labels; or a text file with one path a line"),
    LEAT_OPTION_STRING(images_options, root, "", LEAT_LIST_HELP_ROOT),
    LEAT_OPTION_STRINGS(images_options, label, "[]", LEAT_LIST_HELP_LABEL),
    LEAT_OPTION_ENUM(images_options, label_type, "auto", types, LEAT_LIST_HELP_TYPE),
    LEAT_OPTION_STRING(images_options, class_from, "", LEAT_LIST_HELP_CLASS_FROM),
    LEAT_OPTION_STRING(images_options, file, "", LEAT_LIST_HELP_FILE),
    LEAT_OPTION_STRING(images_options, suffix, "", LEAT_LIST_HELP_SUFFIX),
    LEAT_OPTION_ENUM(images_options, header, "auto", headers, LEAT_LIST_HELP_HEADER),
    LEAT_OPTION_STRING(images_options, delimiter, "auto", LEAT_LIST_HELP_DELIMITER),
    LEAT_OPTION_BOOL(images_options, skip_bad, "false",
                     "leave out files of a list that are no image or cannot be opened, and names "
                     "without a class"),
    LEAT_OPTION_END
};

typedef struct images_source {
    leat_source base;
    leat_images_list list;
    int folder;       /* that relative paths count from; see working_folder.h */
    leat_shape label; /* with n_features 2 */
} images_source;

static void close_images(leat_source *base)
{
    images_source *const source = (images_source *)base;
    leat_images_list_close(&source->list);
    leat_working_folder_release(&source->folder);
    free(source);
}

static leat_view label_of(const images_source *source, uint64_t record)
{
    leat_image_file *const file = &source->list.files[record];
    const leat_file_list *const given = source->list.given;
    leat_view view = { source->label, &file->label, NULL };
    if (given && (source->label.rank || given->labels.floats)) {
        const size_t at = (size_t)file->label * given->labels.n_columns;
        view.data = given->labels.floats ? (void *)(given->labels.floats + at)
                                         : (void *)(given->labels.ints + at);
    }
    return view;
}

/* Of names, sizes and labels: a list that names the files of a folder has the same digest. */
static uint64_t digest_of(const images_source *source)
{
    const leat_images_list *const list = &source->list;
    uint64_t digest = 0;
    for (size_t i = 0; i < list->n_files; i++) {
        const char *const name = leat_images_list_name(list, i);
        digest = leat_digest_chain(digest, leat_digest_row(name, strlen(name), i));
        digest = leat_digest_chain(digest, list->files[i].bytes);
        if (source->base.n_features > 1) {
            const leat_view label = label_of(source, i);
            digest = leat_digest_chain(
                digest, leat_digest_row(label.data, (size_t)leat_shape_bytes(&label.shape), i));
        }
    }
    return digest;
}

/* What file_list.h takes; it points into the options. `labels` has LEAT_OPTION_STRINGS_MAX places. */
static leat_file_list_options list_options(const images_options *o, const char **labels)
{
    for (int32_t i = 0; i < o->label.n; i++)
        labels[i] = o->label.values[i].text;
    return (leat_file_list_options){ .root = o->root.text,
                                     .delimiter = o->delimiter.text,
                                     .file = o->file.text,
                                     .labels = labels,
                                     .n_labels = (size_t)o->label.n,
                                     .suffix = o->suffix.text,
                                     .class_from = o->class_from.text,
                                     .header = o->header,
                                     .type = (leat_list_type)o->label_type,
                                     .skip = o->skip_bad };
}

/* A list without labels has images alone. */
static void add_features(images_source *source)
{
    const leat_file_list *const given = source->list.given;
    const int64_t bytes = LEAT_UNKNOWN_DIM, n = given ? (int64_t)given->labels.n_columns : 1;
    leat_source *const base = &source->base;
    base->features[base->n_features++] =
        (leat_feature_info){ .name = "image", .shape = leat_shape_make(LEAT_U8, 1, &bytes) };
    if (!n)
        return;
    source->label = leat_shape_make(given && given->labels.floats ? LEAT_F32 : LEAT_I64, n > 1, &n);
    base->features[base->n_features++] =
        (leat_feature_info){ .name = "label", .shape = source->label };
}

static uint64_t memory_of(const leat_images_list *list)
{
    const leat_file_list *const given = list->given;
    uint64_t bytes = list->room * sizeof *list->files;
    if (given)
        bytes += given->n * sizeof *given->entries +
                 given->labels.n * (given->labels.floats ? sizeof(float) : sizeof(int64_t));
    for (size_t i = 0; i < list->n_files; i++) /* about what malloc rounds up to */
        bytes += (strlen(list->files[i].path) / 16 * 16 + 32) * (list->given ? 2 : 1);
    return bytes;
}

/* Paths stay as they were given: names of records must not depend on the folder, and millions of them take memory. */
static int keep_folder(images_source *source, leat_error *err)
{
    const leat_images_list *const list = &source->list;
    size_t i = 0;
    while (i < list->n_files && !leat_working_folder_decides(list->files[i].path))
        i++;
    return i < list->n_files ? leat_working_folder_keep(&source->folder, err) : LEAT_OK;
}

static int open_images(const void *opts, const leat_node *where, const leat_source_setting *setting,
                       leat_source **out, leat_error *err)
{
    const images_options *const o = opts;
    const char *labels[LEAT_OPTION_STRINGS_MAX];
    const leat_file_list_options how = list_options(o, labels);
    images_source *source = calloc(1, sizeof *source);
    if (!source)
        return leat_fail(err, LEAT_E_NOMEM, "images: %zu bytes", sizeof *source);
    leat_images_list *const list = &source->list;
    source->base.table = &leat_source_images;
    source->folder = AT_FDCWD;
    int rc = leat_images_list_open(o->path.text, &how, setting->threads, where, list, err);
    if (rc >= 0)
        rc = keep_folder(source, err);
    if (rc < 0) {
        close_images(&source->base);
        return rc;
    }
    source->base.memory_bytes = memory_of(list);
    for (size_t i = 0; i < list->n_files; i++)
        source->base.n_bytes += list->files[i].bytes;
    source->base.n_records = source->base.n_files = list->n_files;
    source->base.n_classes = list->n_classes;
    source->base.class_names =
        list->given ? list->given->labels.classes : list->classes; /* NULL: numbers */
    source->base.notes = list->notes;
    source->base.moved.why = list->moved;
    source->base.moved.n_places = list->moved != NULL; /* nowhere are too many */
    add_features(source);
    source->base.digest = digest_of(source);
    *out = &source->base;
    return LEAT_OK;
}

/* Opens a listed file. O_NONBLOCK: a pipe may have replaced it. *why receives errno. */
static int open_file(const leat_source *base, uint64_t record, leat_file_watch_id *id, int *why,
                     leat_error *err)
{
    const images_source *const source = (const images_source *)base;
    struct stat status;
    const int fd = openat(source->folder, source->list.files[record].path,
                          O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    *why = fd < 0 ? errno : 0;
    if (fd < 0)
        return leat_fail(err, LEAT_E_IO, "cannot open: %s", leat_format_open_error(*why));
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        return leat_fail(err, LEAT_E_IO, "is not a file any more");
    }
    *id = leat_file_watch_id_in(&status);
    return fd;
}

/* Threads that read ahead may have the last descriptors for a moment. */
static int open_patiently(const leat_source *base, uint64_t record, leat_file_watch_id *id,
                          leat_error *err)
{
    int fd, why;
    for (int i = 0; (fd = open_file(base, record, id, &why, err)) < 0 && i < ATTEMPTS; i++) {
        if (why != EMFILE && why != ENFILE)
            break;
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
    }
    if (fd >= 0 || (why != EMFILE && why != ENFILE && why != ENOMEM))
        return fd;
    if (err)
        err->code = LEAT_E_NOMEM; /* not the record's fault: on_error must not leave it out */
    return LEAT_E_NOMEM;
}

/* Checks that the file is unchanged since it was first read. */
static int check_unchanged(leat_image_file *file, const leat_file_watch_id *id, leat_error *err)
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
                     "the data again",
                     (unsigned long long)id->bytes);
}

/* The size of a file is known from the list; where it is, only its name tells. */
static int locate(const leat_source *base, uint64_t record, leat_extent *out, leat_error *err)
{
    (void)err;
    *out = (leat_extent){ .fd = -1,
                          .size = (size_t)((const images_source *)base)->list.files[record].bytes };
    return LEAT_OK;
}

static int read_record(const leat_source *base, uint64_t record, uint8_t *to, size_t size, int *fd)
{
    leat_image_file *const file = &((const images_source *)base)->list.files[record];
    leat_file_watch_id id;
    int why, rc;
    if (*fd >= 0) {
        rc = leat_source_pread(*fd, to, size, 0, NULL, NULL);
    } else if ((rc = open_file(base, record, &id, &why, NULL)) < 0) {
        return why == EMFILE || why == ENFILE ? LEAT_E_AGAIN : rc;
    } else {
        *fd = rc;
        rc = id.bytes == size ? check_unchanged(file, &id, NULL) : LEAT_E_DATA;
        if (rc >= 0 && !leat_source_pread_begin(*fd, to, size, 0))
            return LEAT_OK;
    }
    if (rc >= 0 && (rc = leat_file_watch_id_of(*fd, &id)) >= 0) /* changed meanwhile? */
        rc = check_unchanged(file, &id, NULL);
    close(*fd);
    *fd = -1;
    return rc;
}

static int parse(const leat_source *base, uint64_t record, const uint8_t *bytes, size_t size,
                 leat_scratch *scratch, leat_view *features, leat_error *err)
{
    const int64_t n_bytes = (int64_t)size;
    (void)scratch;
    (void)err;
    features[0] = (leat_view){ leat_shape_make(LEAT_U8, 1, &n_bytes), (void *)bytes, NULL };
    if (base->n_features > 1)
        features[1] = label_of((const images_source *)base, record);
    return LEAT_OK;
}

static int load(const leat_source *base, uint64_t record, leat_scratch *scratch,
                leat_view *features, size_t *n_read, leat_error *err)
{
    leat_image_file *const file = &((const images_source *)base)->list.files[record];
    leat_file_watch_id id;
    int rc;
    const int fd = open_patiently(base, record, &id, err);
    if (fd < 0)
        return fd;
    const size_t size = (size_t)id.bytes;
    uint8_t *const bytes = leat_scratch_take(scratch, size);
    if (!bytes)
        rc = leat_fail(err, LEAT_E_NOMEM, "a file of %zu bytes does not fit in scratch", size);
    else if ((rc = check_unchanged(file, &id, err)) >= 0 &&
             (rc = leat_source_pread(fd, bytes, size, 0, NULL, err)) >= 0)
        rc = leat_file_watch_same(&id, fd, "", err);
    close(fd);
    if (rc < 0)
        return rc;
    *n_read += size;
    return parse(base, record, bytes, size, scratch, features, err);
}

/* The label comes from the folder or the list. */
static int peek(const leat_source *base, uint64_t record, int32_t feature, leat_scratch *scratch,
                leat_view *out)
{
    (void)scratch;
    if (feature != 1)
        return LEAT_E_UNSUPPORTED;
    *out = label_of((const images_source *)base, record);
    return LEAT_OK;
}

static void describe(const leat_source *base, uint64_t record, char *text, size_t size)
{
    snprintf(text, size, "%s", ((const images_source *)base)->list.files[record].path);
}

static const char *file_of(const leat_source *base, uint64_t record)
{
    return ((const images_source *)base)->list.files[record].path;
}

static int stamp(const leat_source *base, leat_file_watch_stamp *out, leat_error *err)
{
    const images_source *const source = (const images_source *)base;
    int rc = LEAT_OK;
    for (size_t i = 0; i < source->list.n_files && rc >= 0; i++) {
        const char *const path = source->list.files[i].path;
        struct stat status;
        if (leat_file_watch_stamp_skips(out))
            continue;
        if (fstatat(source->folder, path, &status, 0) < 0)
            return leat_fail(err, LEAT_E_IO, "%s: %s", path, strerror(errno));
        rc = leat_file_watch_stamp_add(out, source->folder, path, -1, &status, err);
    }
    return rc;
}

const leat_source_table leat_source_images = {
    .kind = { "images",
              "image files (" LEAT_IMAGE_FORMAT_NAMES ") of a folder per class or of a list, read "
              "directly",
              options },
    .options_size = sizeof(images_options),
    .open = open_images,
    .close = close_images,
    .locate = locate,
    .read = read_record,
    .parse = parse,
    .load = load,
    .peek = peek,
    .stamp = stamp,
    .describe = describe,
    .file = file_of,
};
