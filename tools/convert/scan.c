/* SPDX-License-Identifier: MIT
 *
 * scan.c: lists the image files of a folder of classes, or of a list (shards.h). */
#include "shards.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "files.h"
#include "formats/folder_list.h"
#include "formats/grow.h"

/* A folder on the current path of the walk, with its parent. */
struct ancestor {
    dev_t device;
    ino_t inode;
    const struct ancestor *up;
};

/* State of the walk over a class. */
struct walk {
    leat_scan *scan;
    const char *top; /* the folder of the command line */
    bool recursive, skip_bad;
    struct ancestor root; /* that folder */
    size_t label;         /* place of the class */
};

static int fail_memory(leat_error *err)
{
    return leat_fail(err, LEAT_E_NOMEM, "out of memory while listing files");
}

static int add_name(leat_paths *names, const char *name, leat_error *err)
{
    return leat_paths_append(names, name, NULL) < 0 ? fail_memory(err) : LEAT_OK;
}

/* Handles a name that is neither file nor folder, in folder `relative` below the top ("": the top): adds it
 * to the list of names left out, or fails. listing: the folder is only looked at, so the list does not
 * change. */
static int take_odd(struct walk *walk, const char *relative, const char *name, const char *why,
                    bool listing, leat_error *err)
{
    const char *const slash = *relative ? "/" : "";
    if (!walk->skip_bad)
        return leat_fail(err, LEAT_E_DATA, "%s/%s%s%s: %s; --skip-bad leaves it out", walk->top,
                         relative, slash, name, why);
    if (listing)
        return LEAT_OK;
    char *const text = leat_files_text("%s%s%s: %s", relative, slash, name, why);
    const int rc = text ? add_name(&walk->scan->left_out, text, err) : fail_memory(err);
    free(text);
    return rc;
}

static int take_entry(struct walk *walk, const char *relative, const char *folder,
                      const struct dirent *entry, leat_paths *folders, leat_paths *files,
                      bool listing, leat_error *err)
{
    char *const path = leat_files_text("%s/%s", folder, entry->d_name);
    if (!path)
        return fail_memory(err);
    const char kind = leat_folder_kind(entry, path);
    const int error = errno;
    free(path);
    if (kind == 'd' || kind == 'f')
        return add_name(kind == 'd' ? folders : files, entry->d_name, err);
    if (!kind && error != ENOENT && error != ELOOP)
        return leat_fail(err, LEAT_E_IO, "%s/%s: cannot look at what may be a whole class: %s",
                         folder, entry->d_name, strerror(error));
    const char *const why = kind == 'x'       ? "neither a file nor a folder"
                            : error == ENOENT ? "a broken link"
                                              : strerror(error);
    return take_odd(walk, relative, entry->d_name, why, listing, err);
}

static char *path_of(const struct walk *walk, const char *relative)
{
    return leat_files_text("%s%s%s", walk->top, *relative ? "/" : "", relative);
}

/* Lists one folder of the top ("" is the top): its sub-folders and its files, each sorted. */
static int list_folder(struct walk *walk, const char *relative, bool listing, leat_paths *folders,
                       leat_paths *files, leat_error *err)
{
    int rc = LEAT_OK;
    struct dirent **entries = NULL;
    char *path = path_of(walk, relative);
    if (!path)
        return fail_memory(err);
    const int n = leat_folder_list(path, &entries);
    if (n < 0)
        rc = leat_fail(err, LEAT_E_IO, "%s: cannot read the folder: %s", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        if (rc == LEAT_OK)
            rc = take_entry(walk, relative, path, entries[i], folders, files, listing, err);
        free(entries[i]);
    }
    free(entries);
    free(path);
    return rc;
}

static int add_file(struct walk *walk, const char *relative, const char *name, leat_error *err)
{
    leat_scan *scan = walk->scan;
    leat_scan_file *files = leat_grow(scan->files, scan->n_files, sizeof *files);
    if (!files)
        return fail_memory(err);
    scan->files = files;
    char *path = leat_files_text("%s/%s", relative, name);
    if (!path)
        return fail_memory(err);
    scan->files[scan->n_files++] = (leat_scan_file){ path, walk->label };
    return LEAT_OK;
}

static int walk_class(struct walk *walk, const char *relative, const struct ancestor *up,
                      leat_error *err);

static int walk_folders(struct walk *walk, const char *relative, const leat_paths *folders,
                        const struct ancestor *is, leat_error *err)
{
    int rc = LEAT_OK;
    if (folders->n && !walk->recursive)
        return leat_fail(
            err, LEAT_E_DATA,
            "%s/%s/%s: a folder inside a class; --recursive adds its files to class '%s'",
            walk->top, relative, folders->items[0], walk->scan->classes[walk->label]);
    for (size_t i = 0; i < folders->n && rc == LEAT_OK; i++) {
        char *inner = leat_files_text("%s/%s", relative, folders->items[i]);
        rc = inner ? walk_class(walk, inner, is, err) : fail_memory(err);
        free(inner);
    }
    return rc;
}

/* Detects a link to a parent folder, which would never end. *is: the folder, searched in `up`. */
static bool is_loop(const struct walk *walk, const char *relative, const struct ancestor *up,
                    struct ancestor *is)
{
    struct stat st = { 0 };
    char *path = path_of(walk, relative);
    const bool known = path && stat(path, &st) == 0;
    free(path);
    *is = (struct ancestor){ st.st_dev, st.st_ino, up };
    for (; known && up; up = up->up)
        if (up->device == is->device && up->inode == is->inode)
            return true;
    return false;
}

static int walk_class(struct walk *walk, const char *relative, const struct ancestor *up,
                      leat_error *err)
{
    leat_paths folders = { 0 }, files = { 0 };
    struct ancestor is;
    if (is_loop(walk, relative, up, &is))
        return take_odd(walk, "", relative, "a link to a folder that contains it", false, err);
    int rc = list_folder(walk, relative, false, &folders, &files, err);
    for (size_t i = 0; i < files.n && rc == LEAT_OK; i++)
        rc = add_file(walk, relative, files.items[i], err);
    if (rc == LEAT_OK)
        rc = walk_folders(walk, relative, &folders, &is, err);
    leat_paths_close(&folders);
    leat_paths_close(&files);
    return rc;
}

/* DIR/train/cat/1.jpg where DIR/cat/1.jpg is expected: a likely mistake, so it gets its own words
 * (and --recursive says that it is none). */
static int check_level(struct walk *walk, const leat_paths *folders, leat_error *err)
{
    const char *const top = walk->top;
    for (size_t i = 0; i < folders->n; i++) {
        leat_paths inner = { 0 }, files = { 0 };
        const int rc = list_folder(walk, folders->items[i], true, &inner, &files, err);
        const bool is_class = files.n || !inner.n;
        leat_paths_close(&inner);
        leat_paths_close(&files);
        if (rc < 0 || is_class)
            return rc;
    }
    return leat_fail(err, LEAT_E_DATA,
                     "%s: its sub-folders hold only folders, no images; did you mean %s/%s? (with "
                     "--recursive '%s' is a class)",
                     top, top, folders->items[folders->n - 1], folders->items[0]);
}

static int scan_classes(struct walk *walk, leat_error *err)
{
    leat_scan *scan = walk->scan;
    int rc = LEAT_OK;
    for (size_t i = 0; i < scan->n_classes && rc == LEAT_OK; i++) {
        walk->label = i;
        rc = walk_class(walk, scan->classes[i], &walk->root, err);
    }
    if (rc == LEAT_OK && scan->n_files == 0)
        rc = leat_fail(err, LEAT_E_DATA, "%s: %zu class folder%s, but no image in %s", walk->top,
                       scan->n_classes, scan->n_classes == 1 ? "" : "s",
                       scan->n_classes == 1 ? "it" : "any of them");
    return rc;
}

static int open_folder(leat_scan *out, const leat_convert *how, leat_error *err)
{
    const char *const folder = how->inputs[0];
    leat_paths folders = { 0 };
    struct walk walk = {
        .scan = out, .top = folder, .recursive = how->recursive, .skip_bad = how->skip_bad
    };
    out->root = folder;
    is_loop(&walk, "", NULL, &walk.root);
    int rc = list_folder(&walk, "", false, &folders, &out->outside, err);
    if (rc == LEAT_OK && folders.n == 0)
        rc = leat_fail(err, LEAT_E_DATA,
                       "%s: has no sub-folders%s; images belong in one folder per class, such as "
                       "%s/cat/1.jpg",
                       folder, out->outside.n ? ", only files" : ": it is empty", folder);
    if (rc == LEAT_OK && !walk.recursive)
        rc = check_level(&walk, &folders, err);
    out->classes = folders.items;
    out->n_classes = folders.n;
    return rc < 0 ? rc : scan_classes(&walk, err);
}

/* --- a list --------------------------------------------------------------------------------------*/

/* Names and classes stay the list's. */
static int take_list(leat_scan *out, leat_error *err)
{
    leat_file_list *const given = out->given;
    out->root = given->root;
    if (given->labels.type == LEAT_LIST_CLASS) {
        out->classes = given->labels.classes;
        out->n_classes = given->labels.n_classes;
    }
    out->files = malloc(given->n * sizeof *out->files);
    if (!out->files)
        return fail_memory(err);
    for (; out->n_files < given->n; out->n_files++)
        out->files[out->n_files] =
            (leat_scan_file){ given->entries[out->n_files].name, out->n_files };
    return LEAT_OK;
}

static int open_list(leat_scan *out, const leat_convert *how, leat_error *err)
{
    leat_format_error why = { 0 };
    if (how->recursive)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--recursive is for folders of classes; a list names its files, and "
                         "--class-from takes all files below a folder");
    out->given = calloc(1, sizeof *out->given);
    if (!out->given)
        return fail_memory(err);
    if (leat_file_list_open(out->given, how->inputs[0], &how->list, &why) < 0)
        return leat_files_fail(err, &why);
    return take_list(out, err);
}

int leat_scan_open(leat_scan *out, const leat_convert *how, leat_error *err)
{
    *out = (leat_scan){ 0 };
    const char *const unused = leat_file_list_unused(how->inputs[0], &how->list);
    if (unused)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "the option '%s' is for lists of files, but %s is a folder", unused,
                         how->inputs[0]);
    return leat_file_list_wants(how->inputs[0], &how->list) ? open_list(out, how, err)
                                                            : open_folder(out, how, err);
}

size_t leat_scan_class(const leat_scan *scan, size_t file)
{
    const size_t at = scan->files[file].at;
    return scan->given ? (size_t)scan->given->labels.ints[at] : at;
}

leat_image_label leat_scan_label(const leat_scan *scan, size_t file)
{
    leat_image_label label = { .n = 1 };
    if (scan->given) {
        const leat_list_labels *const given = &scan->given->labels;
        const size_t at = scan->files[file].at * given->n_columns;
        label.n = given->n_columns;
        label.ints = given->ints ? given->ints + at : NULL;
        label.floats = given->floats ? given->floats + at : NULL;
    } else {
        label.place = (int64_t)scan->files[file].at;
    }
    label.text = scan->n_classes ? scan->classes[leat_scan_class(scan, file)] : NULL;
    return label;
}

void leat_scan_place(const leat_scan *scan, size_t file, char *text, size_t size)
{
    const size_t line = scan->given ? scan->given->entries[scan->files[file].at].line : 0;
    const bool is_absolute = *scan->files[file].path == '/';
    const char *const root = is_absolute ? "" : scan->root, *const slash = is_absolute ? "" : "/";
    if (line)
        snprintf(text, size, "%s:%zu: %s%s", scan->given->name, line, root, slash);
    else
        snprintf(text, size, "%s%s", root, slash);
}

void leat_scan_close(leat_scan *scan)
{
    for (size_t i = 0; !scan->given && i < scan->n_classes; i++)
        free(scan->classes[i]);
    for (size_t i = 0; !scan->given && i < scan->n_files; i++)
        free((char *)scan->files[i].path);
    if (scan->given)
        leat_file_list_close(scan->given);
    else
        free(scan->classes);
    free(scan->given);
    free(scan->files);
    leat_paths_close(&scan->left_out);
    leat_paths_close(&scan->outside);
    *scan = (leat_scan){ 0 };
}
