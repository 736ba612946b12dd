/* SPDX-License-Identifier: MIT */
#include "images_list.h"

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
#include "formats/folder_list.h"
#include "formats/format.h"
#include "formats/image_format.h"
#include "formats/visible.h"
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
    left_out outside; /* outside of class folders */
    left_out odd;     /* neither file nor folder */
    const leat_node *where;
    leat_error *err;
} walk;

static void leave_out(left_out *what, const char *path)
{
    if (what->n++ == 0)
        leat_visible(path, strlen(path), "", what->first, sizeof what->first);
}

/* Called for each entry of a folder. It sets *path to NULL to keep the path. */
typedef int visit_entry(walk *w, char **path, char kind);

static int visit_one(walk *w, const struct dirent *entry, visit_entry *visit)
{
    char *path;
    int rc;
    if (asprintf(&path, "%s/%s", w->folder, entry->d_name) < 0)
        return leat_fail(w->err, LEAT_E_NOMEM, "images: the path of a file");
    const char kind = leat_folder_kind(entry, path);
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
    const int n = leat_folder_list(folder, &entries);
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

/* Adds a file; the list owns the path from then on. */
static int add_file(leat_images_list *list, char *path, int64_t label, leat_error *err)
{
    if (list->n_files == list->room) {
        const size_t room = list->room ? list->room * 2 : 1024;
        leat_image_file *files = realloc(list->files, room * sizeof *files);
        if (!files)
            return leat_fail(err, LEAT_E_NOMEM, "images: %zu files", room);
        list->files = files;
        list->room = room;
    }
    list->files[list->n_files++] = (leat_image_file){ .path = path, .label = label };
    return LEAT_OK;
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
    const int rc = add_file(list, *path, w->label, w->err);
    if (rc < 0)
        return rc;
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
    leat_images_list *const list = w->list;
    char **const classes = realloc(list->classes, ((size_t)list->n_classes + 1) * sizeof *classes);
    if (!classes)
        return leat_fail(w->err, LEAT_E_NOMEM, "images: %d classes", list->n_classes);
    list->classes = classes;
    classes[list->n_classes] = *path;
    *path = NULL;
    w->label = list->n_classes++;
    return visit_folder(w, folder, visit_image);
}

/* --- what is an image --------------------------------------------------------------------------- */

enum { IMAGE, NO_IMAGE, NOT_OPENED }; /* NOT_OPENED and above: plus errno */

/* What all threads share. */
typedef struct sniffing {
    leat_images_list *list; /* the thread that has a piece writes the sizes of its files */
    int *found;             /* per file; written by the thread that has its piece */
    _Atomic size_t next;    /* first file of the next piece */
    _Atomic int failed;     /* errno of a lack of memory or descriptors; 0: none */
} sniffing;

static int sniff(leat_image_file *file, int *failed)
{
    struct stat status;
    uint8_t bytes[LEAT_IMAGE_FORMAT_BYTES];
    /* O_NONBLOCK: a pipe may have replaced the file. */
    const int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            *failed = errno;
        return NOT_OPENED + errno;
    }
    const ssize_t n = leat_format_pread(fd, bytes, sizeof bytes, 0);
    if (n > 0 && fstat(fd, &status) == 0)
        file->bytes = (uint64_t)status.st_size;
    const int error = n < 0 ? errno : 0;
    close(fd);
    return n < 0                                                       ? NOT_OPENED + error
           : leat_image_format_of(bytes, (size_t)n) != LEAT_IMAGE_NONE ? IMAGE
                                                                       : NO_IMAGE;
}

static void sniff_pieces(void *arg, int thread)
{
    sniffing *const s = arg;
    const size_t n = s->list->n_files;
    int failed = 0;
    (void)thread;
    for (size_t first; (first = atomic_fetch_add(&s->next, PIECE_FILES)) < n;)
        for (size_t i = first; i < n && i < first + PIECE_FILES; i++)
            s->found[i] = sniff(&s->list->files[i], &failed);
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

/* Files that were looked at, and are none of the records. */
typedef struct others {
    left_out empty, no_images, missing;
    bool skips; /* leave out what a list names and is no image; otherwise it is an error */
} others;

/* Why a file is none of the records; NULL: it is one. */
static const char *why_left_out(const leat_images_list *list, size_t i, int found)
{
    if (found == NO_IMAGE)
        return list->files[i].bytes ? "no image: not " LEAT_IMAGE_FORMAT_NAMES : "an empty file";
    return found == IMAGE || !list->given ? NULL : leat_format_open_error(found - NOT_OPENED);
}

static int fail_listed(const leat_images_list *list, size_t i, const char *why,
                       const leat_node *where, leat_error *err)
{
    const leat_file_entry *const entry = &list->given->entries[i];
    if (!entry->line)
        return leat_node_fail(where, err, LEAT_E_DATA, "%s: %s; skip_bad leaves out such files",
                              list->files[i].path, why);
    return leat_node_fail(where, err, LEAT_E_DATA, "%s:%zu: %s: %s; skip_bad leaves out such files",
                          list->given->name, entry->line, list->files[i].path, why);
}

/* Removes files that are no images from the list. The first that must not be missing is an error. */
static int keep_images(leat_images_list *list, const int *found, others *out,
                       const leat_node *where, leat_error *err)
{
    size_t n = 0;
    int rc = LEAT_OK;
    for (size_t i = 0; i < list->n_files; i++) {
        const char *const why = why_left_out(list, i, found[i]);
        if (!why) {
            list->files[n].path = list->files[i].path;
            list->files[n].bytes = list->files[i].bytes;
            list->files[n++].label = list->files[i].label;
            continue;
        }
        if (list->given && !out->skips && rc >= 0)
            rc = fail_listed(list, i, why, where, err);
        leave_out(found[i] != NO_IMAGE   ? &out->missing
                  : list->files[i].bytes ? &out->no_images
                                         : &out->empty,
                  list->files[i].path);
        free(list->files[i].path);
    }
    list->n_files = n;
    return rc;
}

static int sniff_all(leat_images_list *list, int64_t threads, others *out, const leat_node *where,
                     leat_error *err)
{
    sniffing s = { .list = list, .found = calloc(list->n_files + 1, sizeof *s.found) };
    leat_pool *pool = NULL;
    int rc = LEAT_OK;
    if (!s.found)
        return leat_fail(err, LEAT_E_NOMEM, "images: %zu files", list->n_files);
    const int n_more = helpers(list->n_files, threads);
    if (n_more) /* if no thread can be started, the caller works alone */
        leat_pool_open(&pool, n_more, "images", sniff_pieces, &s, NULL);
    sniff_pieces(&s, 0);
    leat_pool_close(&pool);
    if (s.failed)
        rc = leat_fail(err, LEAT_E_IO, "images: cannot open files: %s",
                       leat_format_open_error(s.failed));
    else
        rc = keep_images(list, s.found, out, where, err);
    free(s.found);
    return rc;
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

/* Files that were left out between the others. */
static int tell_moved(leat_images_list *list, const others *out, leat_error *err)
{
    const leat_file_list *const given = list->given;
    const size_t n = out->empty.n + out->no_images.n + out->missing.n;
    const size_t all = n + (given ? given->n_unmatched : 0);
    const char *const first = out->empty.n       ? out->empty.first
                              : out->no_images.n ? out->no_images.first
                              : n                ? out->missing.first
                              : all              ? given->first_unmatched
                                                 : "";
    if (all == 0)
        return LEAT_OK;
    return leat_source_add_note(
        &list->moved, err,
        "%zu %s left out (%s%s): mend %s, or remove %s here and %s in the others", all,
        all == 1 ? "file is" : "files are", all == 1 ? "" : "the first: ", first,
        all == 1 ? "it" : "them", all == 1 ? "it" : "them",
        all == 1 ? "its element" : "their elements");
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
                                n_empty == 1 ? "" : "the first is ", list->classes[first], first);
}

static int fail_empty(const walk *w)
{
    const int32_t n = w->list->n_classes;
    if (n == 0)
        return leat_node_fail(w->where, w->err, LEAT_E_DATA,
                              "%s has no sub-folders; images are expected as %s/CLASS/NAME.jpg, or "
                              "give a text file with a path in each line",
                              w->root, w->root);
    return leat_node_fail(
        w->where, w->err, LEAT_E_DATA,
        "%s: %d class folder%s, but no file in %s is an image (" LEAT_IMAGE_FORMAT_NAMES ")",
        w->root, n, n == 1 ? "" : "s", n == 1 ? "it" : "them");
}

static int note_others(leat_images_list *list, const others *out, leat_error *err)
{
    int rc;
    if ((rc = note_left_out(list, &out->empty, "empty file", "empty files", err)) < 0 ||
        (rc = note_left_out(list, &out->no_images, "file that is no image",
                            "files that are no images", err)) < 0 ||
        (rc = tell_moved(list, out, err)) < 0)
        return rc;
    return note_left_out(list, &out->missing, "file that cannot be opened",
                         "files that cannot be opened", err);
}

static int note_all(const walk *w, const others *out)
{
    leat_images_list *const list = w->list;
    int rc;
    if ((rc = note_others(list, out, w->err)) < 0 ||
        (rc = note_left_out(list, &w->odd, "name that is neither a file nor a folder",
                            "names that are neither files nor folders", w->err)) < 0 ||
        (rc = note_left_out(list, &w->outside, "file outside of any class folder",
                            "files outside of any class folder", w->err)) < 0)
        return rc;
    return note_empty(w);
}

static int open_folder(const char *root, int64_t threads, const leat_node *where,
                       leat_images_list *out, leat_error *err)
{
    others found = { .skips = true };
    walk w = { .list = out, .root = root, .where = where, .err = err };
    out->root_length = strlen(root);
    int rc = visit_folder(&w, root, visit_class);
    if (rc >= 0)
        rc = sniff_all(out, threads, &found, where, err);
    if (rc >= 0 && out->n_files == 0)
        rc = fail_empty(&w);
    if (rc >= 0)
        rc = note_all(&w, &found);
    for (int32_t i = 0; i < out->n_classes; i++) { /* from here on without the folder */
        char *const path = out->classes[i];
        memmove(path, path + out->root_length + 1, strlen(path + out->root_length));
    }
    return rc;
}

/* --- a list --------------------------------------------------------------------------------- */

static int add_listed(leat_images_list *out, leat_error *err)
{
    const leat_file_list *const given = out->given;
    const bool is_scalar = given->labels.ints && given->labels.n_columns == 1;
    int rc = LEAT_OK;
    for (size_t i = 0; i < given->n && rc >= 0; i++) {
        const char *const name = given->entries[i].name;
        char *path;
        if ((*name == '/' ? asprintf(&path, "%s", name)
                          : asprintf(&path, "%s/%s", given->root, name)) < 0)
            return leat_fail(err, LEAT_E_NOMEM, "images: the path of a file");
        rc = add_file(out, path, is_scalar ? given->labels.ints[i] : (int64_t)i, err);
        if (rc < 0)
            free(path);
    }
    return rc;
}

static int note_list(leat_images_list *out, leat_error *err)
{
    const leat_file_list *const given = out->given;
    int rc = LEAT_OK;
    if (*given->header)
        rc = leat_source_add_note(&out->notes, err, "images: the first line of %s is a header: %s",
                                  given->name, given->header);
    if (rc >= 0 && given->n_unmatched)
        rc = leat_source_add_note(
            &out->notes, err, "images: left out: %zu %s without a class: %s%s", given->n_unmatched,
            given->n_unmatched == 1 ? "file" : "files",
            given->n_unmatched == 1 ? "" : "the first is ", given->first_unmatched);
    if (rc >= 0 && given->n_repeated)
        rc = leat_source_add_note(
            &out->notes, err, "images: %zu %s listed twice or more: %s%s", given->n_repeated,
            given->n_repeated == 1 ? "file is" : "files are",
            given->n_repeated == 1 ? "" : "the first is ", given->first_repeated);
    return rc;
}

static int code_of(int format_code)
{
    return format_code == LEAT_FORMAT_NOMEM ? LEAT_E_NOMEM
           : format_code == LEAT_FORMAT_IO  ? LEAT_E_IO
                                            : LEAT_E_DATA;
}

static int open_list(const char *path, const leat_file_list_options *options, int64_t threads,
                     const leat_node *where, leat_images_list *out, leat_error *err)
{
    leat_format_error why;
    others found = { .skips = options->skip };
    int rc;
    out->given = calloc(1, sizeof *out->given);
    if (!out->given)
        return leat_fail(err, LEAT_E_NOMEM, "images: %zu bytes", sizeof *out->given);
    if ((rc = leat_file_list_open(out->given, path, options, &why)) < 0)
        return leat_node_fail(where, err, code_of(rc), "%s", why.text);
    out->root_length = strlen(out->given->root);
    out->n_classes = leat_file_list_classes(out->given);
    if ((rc = add_listed(out, err)) < 0 || (rc = sniff_all(out, threads, &found, where, err)) < 0)
        return rc;
    if (out->n_files == 0)
        return leat_node_fail(where, err, LEAT_E_DATA, "%s: no file that it lists is an image",
                              path);
    rc = note_others(out, &found, err);
    return rc < 0 ? rc : note_list(out, err);
}

int leat_images_list_open(const char *root, const leat_file_list_options *options, int64_t threads,
                          const leat_node *where, leat_images_list *out, leat_error *err)
{
    *out = (leat_images_list){ 0 };
    const char *const unused = leat_file_list_unused(root, options);
    if (unused)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "images: `%s` is for lists of files, but %s is a folder", unused,
                              root);
    return leat_file_list_wants(root, options) ? open_list(root, options, threads, where, out, err)
                                               : open_folder(root, threads, where, out, err);
}

void leat_images_list_close(leat_images_list *list)
{
    for (size_t i = 0; i < list->n_files; i++)
        free(list->files[i].path);
    for (int32_t i = 0; list->classes && i < list->n_classes; i++)
        free(list->classes[i]);
    free(list->classes);
    if (list->given)
        leat_file_list_close(list->given);
    free(list->given);
    free(list->files);
    free(list->notes);
    free(list->moved);
    *list = (leat_images_list){ 0 };
}

const char *leat_images_list_name(const leat_images_list *list, size_t file)
{
    const char *const path = list->files[file].path;
    const size_t n = list->root_length;
    return list->given && (strncmp(path, list->given->root, n) != 0 || path[n] != '/')
               ? path
               : path + n + 1;
}
