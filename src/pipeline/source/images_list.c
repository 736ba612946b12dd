/* SPDX-License-Identifier: MIT */
#include "images_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cores.h"
#include "base/pool.h"
#include "formats/format.h"
#include "formats/image_format.h"
#include "source.h"

#define PIECE_FILES 64

/* --- listing the tree -------------------------------------------------------------------------- */

/* Files left out for one reason. */
typedef struct left_out {
    size_t n;
    char first[160]; /* path of the first, cut to fit */
} left_out;

typedef struct walk {
    leat_images_list *list;
    const char *root, *folder; /* of the source; being listed */
    int64_t label;
    char **classes;   /* paths of the n_classes folders */
    left_out outside; /* outside of class folders */
    left_out odd;     /* neither file nor folder */
    const leat_node *where;
    leat_error *err;
} walk;

static void leave_out(left_out *what, const char *path)
{
    if (what->n++ == 0)
        snprintf(what->first, sizeof what->first, "%s", path);
}

/* Called for each entry of a folder. It sets *path to NULL to keep the path. */
typedef int visit_entry(walk *w, char **path, char kind);

/* Skips names that begin with a dot. */
static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}
static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Returns 'd' for a folder, 'f' for a file, 'x' for neither; 0 on error, with errno. Follows links. */
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

static int visit_one(walk *w, const struct dirent *entry, visit_entry *visit)
{
    char *path;
    int rc;
    if (asprintf(&path, "%s/%s", w->folder, entry->d_name) < 0)
        return leat_fail(w->err, LEAT_E_NOMEM, "images: the path of a file");
    const char kind = kind_of(entry, path);
    if (kind == 0)
        rc = leat_node_fail(w->where, w->err, LEAT_E_IO, "%s: %s", path,
                            errno == ENOENT ? "a broken link: remove it, or put back the file that "
                                              "it names"
                                            : strerror(errno));
    else
        rc = visit(w, &path, kind);
    free(path);
    return rc;
}

/* Visits the entries of a folder in byte order of their names. */
static int visit_folder(walk *w, const char *folder, visit_entry *visit)
{
    struct dirent **entries;
    const char *const outer = w->folder;
    int rc = LEAT_OK;
    const int n = scandir(folder, &entries, visible, by_bytes);
    if (n < 0)
        return leat_node_fail(
            w->where, w->err, errno == ENOMEM ? LEAT_E_NOMEM : LEAT_E_IO,
            "cannot read the folder %s: %s%s", folder, strerror(errno),
            errno == ENOTDIR && !outer ? " (record files are read by the source `tfrecord`)" : "");
    w->folder = folder;
    for (int i = 0; i < n; i++) {
        if (rc >= 0)
            rc = visit_one(w, entries[i], visit);
        free(entries[i]);
    }
    w->folder = outer;
    free(entries);
    return rc;
}

static int visit_image(walk *w, char **path, char kind)
{
    leat_images_list *const list = w->list;
    if (kind == 'd')
        return leat_node_fail(w->where, w->err, LEAT_E_DATA,
                              "%s: a folder inside a class folder; images are expected as "
                              "%s/CLASS/NAME.jpg. If %s holds the classes, name that folder",
                              *path, w->root, w->folder);
    if (kind != 'f') {
        leave_out(&w->odd, *path);
        return LEAT_OK;
    }
    if (list->n_files == list->room) {
        const size_t room = list->room ? list->room * 2 : 1024;
        leat_image_file *files = realloc(list->files, room * sizeof *files);
        if (!files)
            return leat_fail(w->err, LEAT_E_NOMEM, "images: %zu files", room);
        list->files = files;
        list->room = room;
    }
    list->files[list->n_files++] = (leat_image_file){ .path = *path, .label = w->label };
    *path = NULL;
    return LEAT_OK;
}

static int visit_class(walk *w, char **path, char kind)
{
    if (kind != 'd') {
        leave_out(&w->outside, *path);
        return LEAT_OK;
    }
    const char *const folder = *path;
    char **const classes = realloc(w->classes, ((size_t)w->list->n_classes + 1) * sizeof *classes);
    if (!classes)
        return leat_fail(w->err, LEAT_E_NOMEM, "images: %d classes", w->list->n_classes);
    w->classes = classes;
    classes[w->list->n_classes] = *path;
    *path = NULL;
    w->label = w->list->n_classes++;
    return visit_folder(w, folder, visit_image);
}

/* --- what is an image --------------------------------------------------------------------------- */

/* What all threads share. */
typedef struct sniffing {
    leat_images_list *list; /* the thread that has a piece writes the sizes of its files */
    bool *is_image;         /* per file; written by the thread that has its piece */
    _Atomic size_t next;    /* first file of the next piece */
    _Atomic int failed;     /* errno of a lack of memory or descriptors; 0: none */
} sniffing;

static bool sniff(leat_image_file *file, int *failed)
{
    struct stat status;
    uint8_t bytes[LEAT_IMAGE_FORMAT_BYTES];
    /* O_NONBLOCK: a pipe may have replaced the file. */
    const int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            *failed = errno;
        return true;
    }
    const ssize_t n = leat_format_pread(fd, bytes, sizeof bytes, 0);
    if (n > 0 && fstat(fd, &status) == 0)
        file->bytes = (uint64_t)status.st_size;
    close(fd);
    return n < 0 || leat_image_format_of(bytes, (size_t)n) != LEAT_IMAGE_NONE;
}

static void sniff_pieces(void *arg, int thread)
{
    sniffing *const s = arg;
    const size_t n = s->list->n_files;
    int failed = 0;
    (void)thread;
    for (size_t first; (first = atomic_fetch_add(&s->next, PIECE_FILES)) < n;)
        for (size_t i = first; i < n && i < first + PIECE_FILES; i++)
            s->is_image[i] = sniff(&s->list->files[i], &failed);
    if (failed)
        atomic_store(&s->failed, failed);
}

/* Returns the number of threads besides the caller. */
static int helpers(size_t n_files, int64_t threads)
{
    const size_t n_pieces = (n_files + PIECE_FILES - 1) / PIECE_FILES;
    const size_t all = threads < 0 ? 4 * (size_t)leat_cores_count() : (size_t)threads;
    return n_pieces < 2 || all < 2 ? 0 : (int)(n_pieces < all ? n_pieces : all) - 1;
}

/* Removes files that are no images from the list. */
static void keep_images(leat_images_list *list, const bool *is_image, left_out *empty,
                        left_out *others)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n_files; i++) {
        if (is_image[i]) {
            list->files[n].path = list->files[i].path;
            list->files[n].bytes = list->files[i].bytes;
            list->files[n++].label = list->files[i].label;
        } else {
            leave_out(list->files[i].bytes ? others : empty, list->files[i].path);
            free(list->files[i].path);
        }
    }
    list->n_files = n;
}

static int sniff_all(leat_images_list *list, int64_t threads, left_out *empty, left_out *others,
                     leat_error *err)
{
    sniffing s = { .list = list, .is_image = calloc(list->n_files + 1, sizeof *s.is_image) };
    leat_pool *pool = NULL;
    if (!s.is_image)
        return leat_fail(err, LEAT_E_NOMEM, "images: %zu files", list->n_files);
    const int n_more = helpers(list->n_files, threads);
    if (n_more) /* if no thread can be started, the caller works alone */
        leat_pool_open(&pool, n_more, "images", sniff_pieces, &s, NULL);
    sniff_pieces(&s, 0);
    leat_pool_close(&pool);
    keep_images(list, s.is_image, empty, others);
    free(s.is_image);
    return s.failed ? leat_fail(err, LEAT_E_IO, "images: cannot open files: %s",
                                leat_format_open_error(s.failed))
                    : LEAT_OK;
}

/* --- open ---------------------------------------------------------------------------------- */

static int note_left_out(leat_images_list *list, const left_out *what, const char *one,
                         const char *more, leat_error *err)
{
    if (what->n == 0)
        return LEAT_OK;
    return leat_source_add_note(&list->notes, err, "images: left out: %zu %s: %s%s", what->n,
                                what->n == 1 ? one : more, what->n == 1 ? "" : "the first is ",
                                what->first);
}

/* Relies on the order of files: by label. */
static int note_empty(const walk *w)
{
    leat_images_list *const list = w->list;
    int32_t n_empty = 0, first = 0;
    size_t i = 0;
    for (int32_t label = 0; label < list->n_classes; label++) {
        const size_t before = i;
        while (i < list->n_files && list->files[i].label == label)
            i++;
        if (i == before && n_empty++ == 0)
            first = label;
    }
    if (n_empty == 0)
        return LEAT_OK;
    return leat_source_add_note(&list->notes, w->err,
                                "images: %d of %d classes %s no image: %s%s (label %d)", n_empty,
                                list->n_classes, n_empty == 1 ? "has" : "have",
                                n_empty == 1 ? "" : "the first is ", w->classes[first], first);
}

static int fail_empty(const walk *w)
{
    const int32_t n = w->list->n_classes;
    if (n == 0)
        return leat_node_fail(w->where, w->err, LEAT_E_DATA,
                              "%s has no sub-folders; images are expected as %s/CLASS/NAME.jpg",
                              w->root, w->root);
    return leat_node_fail(
        w->where, w->err, LEAT_E_DATA,
        "%s: %d class folder%s, but no file in %s is an image (JPEG, PNG, WebP, BMP, PGM "
        "or PPM)",
        w->root, n, n == 1 ? "" : "s", n == 1 ? "it" : "them");
}

static int note_all(const walk *w, const left_out *empty, const left_out *others)
{
    leat_images_list *const list = w->list;
    int rc;
    if ((rc = note_left_out(list, empty, "empty file", "empty files", w->err)) < 0 ||
        (rc = note_left_out(list, others, "file that is no image", "files that are no images",
                            w->err)) < 0 ||
        (rc = note_left_out(list, &w->odd, "name that is neither a file nor a folder",
                            "names that are neither files nor folders", w->err)) < 0 ||
        (rc = note_left_out(list, &w->outside, "file outside of any class folder",
                            "files outside of any class folder", w->err)) < 0)
        return rc;
    return note_empty(w);
}

int leat_images_list_open(const char *root, int64_t threads, const leat_node *where,
                          leat_images_list *out, leat_error *err)
{
    left_out empty = { .n = 0 }, others = { .n = 0 };
    walk w = { .list = out, .root = root, .where = where, .err = err };
    *out = (leat_images_list){ 0 };
    int rc = visit_folder(&w, root, visit_class);
    if (rc >= 0)
        rc = sniff_all(out, threads, &empty, &others, err);
    if (rc >= 0 && out->n_files == 0)
        rc = fail_empty(&w);
    if (rc >= 0)
        rc = note_all(&w, &empty, &others);
    for (int32_t i = 0; i < out->n_classes; i++)
        free(w.classes[i]);
    free(w.classes);
    return rc;
}

void leat_images_list_close(leat_images_list *list)
{
    for (size_t i = 0; i < list->n_files; i++)
        free(list->files[i].path);
    free(list->files);
    free(list->notes);
    *list = (leat_images_list){ 0 };
}
