/* SPDX-License-Identifier: MIT
 *
 * file_set.c: the functions of file_set.h, which describes the states of the folder. */
#include "file_set.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "formats/pattern.h"
#include "formats/shard_set.h"
#include "formats/utf8.h"
#include "formats/visible.h"
#include "print/terminal.h"

enum { ATTEMPTS = 100 }; /* to lock a folder that other processes remove */

static const char marker_text[] =
    "leat is renaming the files of this set. If no leat is running, it was stopped before the "
    "end:\n"
    "`leat convert finish -o PREFIX` goes on.\n";

static const char labels_end[] = "-labels.txt";

/* A file of a set. */
struct file {
    char *name, *part, *old; /* its final path, where it is written, and where the old file goes */
    bool is_only_old;        /* the new set has none */
};

/* All of one set. */
struct files {
    struct file *items;
    size_t n;
    struct file labels; /* until it is the last item */
};

/* Returns 1 if there is such a file, 0 if not, and -1 with errno where that cannot be known. */
static int look_for(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 ? 1 : leat_format_is_absent(errno) ? 0 : -1;
}

static bool may_exist(const char *path)
{
    return path && look_for(path) != 0;
}

static int fail_look(const char *path, leat_error *err)
{
    return leat_fail(err, LEAT_E_IO, "%s: %s", path, strerror(errno));
}

char *leat_file_set_inside(const leat_file_set *set, const char *name)
{
    return leat_files_text("%s/%s", set->folder, name);
}

int leat_file_set_glob(const char *path, const char *pattern, glob_t *out, leat_error *err)
{
    leat_format_error why;
    char *const literal = leat_pattern_escape(path);
    char *const whole = literal ? leat_files_text("%s%s", literal, pattern) : NULL;
    *out = (glob_t){ 0 };
    const int rc = !whole                                       ? leat_files_no_memory(err)
                   : leat_pattern_list(whole, 0, out, &why) < 0 ? leat_files_fail(err, &why)
                                                                : LEAT_OK;
    free(literal);
    free(whole);
    return rc;
}

/* Names that would be one in the file, where bytes have escapes: nobody could tell the classes apart. */
static int check_lines(const char *const *names, size_t n, leat_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const size_t end = leat_utf8_is_harmless(names[i]) ? 0 : n;
        for (size_t k = 0; k < end; k++)
            if (strcmp(names[i], names[k]) != 0 && leat_visible_same(names[i], names[k]))
                return leat_fail(
                    err, LEAT_E_DATA,
                    "classes %zu and %zu would both be '%.200s' in the file of labels: "
                    "rename one",
                    i < k ? i : k, i < k ? k : i, leat_terminal_name(names[i]));
    }
    return LEAT_OK;
}

int leat_file_set_write_labels(const leat_file_set *set, leat_convert_part part,
                               const char *const *names, size_t n, char **labels, leat_error *err)
{
    char *text = NULL;
    size_t size = 0;
    *labels = NULL;
    if (!n || part.number > 1)
        return LEAT_OK;
    FILE *const memory = open_memstream(&text, &size);
    char *const path = leat_files_text("%s-labels.txt", set->start);
    *labels = leat_files_text("%s-labels.txt", set->prefix);
    int rc = memory && path && *labels ? check_lines(names, n, err) : leat_files_no_memory(err);
    for (size_t i = 0; i < n && rc == LEAT_OK; i++) {
        fprintf(memory, "%s\n",
                leat_utf8_is_harmless(names[i]) ? names[i] : leat_terminal_name(names[i]));
        if (strpbrk(names[i], "\n\r"))
            rc = leat_fail(err, LEAT_E_DATA, "class %zu has a line break in its name", i);
    }
    if (!leat_files_close_text(memory, &text) && rc == LEAT_OK)
        rc = leat_files_no_memory(err);
    if (rc == LEAT_OK)
        rc = leat_files_write(path, text, size, err);
    free(text);
    free(path);
    return rc;
}

int leat_file_set_fail(const leat_file_set *set, leat_error *err, const leat_format_error *from)
{
    leat_error inner;
    const int code = leat_files_fail(&inner, from);
    const size_t n = strlen(set->folder);
    const int parent = (int)(leat_files_base_name(set->prefix) - set->prefix);
    if (strncmp(inner.message, set->folder, n) || inner.message[n] != '/')
        return leat_fail(err, code, "%s", inner.message);
    return leat_fail(err, code, "%.*s%s", parent, set->prefix, inner.message + n + 1);
}

int leat_file_set_fail_canceled(leat_error *err)
{
    return leat_fail(err, LEAT_E_CANCELED, "stopped by a signal; nothing was left behind");
}

/* --- the folder and its lock --------------------------------------------------------------------- */

/* An open file that was removed, over NFS and FUSE: goes when its last reader closes it. */
static bool is_leftover(const char *name)
{
    return !strncmp(name, ".nfs", 4) || !strncmp(name, ".fuse_hidden", 12);
}

/* Whether leat makes files of this name in the folder: of the set, of the folder itself, or until a file is complete
 * (formats/atomic_file.h). */
static bool is_our_name(const leat_file_set *set, const char *name)
{
    static const char *const names[] = { ".",   "..",    "lock",  "unfinished",
                                         "old", "parts", "about", "manifest" };
    const char *const base = leat_files_base_name(set->prefix);
    const size_t n = strlen(base);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return (!strncmp(name, base, n) && name[n] == '-') ||
           (*name == '.' && leat_files_ends_with(name, ".tmp")) || is_leftover(name);
}

static int check_names(const leat_file_set *set, const char *path, leat_error *err)
{
    const struct dirent *entry;
    DIR *const folder = opendir(path);
    int rc = LEAT_OK;
    if (!folder && !leat_format_is_absent(errno))
        return leat_fail(err, LEAT_E_IO, "%s: cannot list the folder: %s", path, strerror(errno));
    for (errno = 0; folder && rc == LEAT_OK && (entry = readdir(folder)); errno = 0)
        if (!is_our_name(set, entry->d_name))
            rc = leat_fail(err, LEAT_E_ARGUMENT,
                           "%s/%s is no file of leat convert: move it away, or choose another "
                           "PREFIX",
                           path, entry->d_name);
    if (folder && rc == LEAT_OK && errno)
        rc = leat_fail(err, LEAT_E_IO, "%s: cannot list the folder: %s", path, strerror(errno));
    if (folder)
        closedir(folder);
    return rc;
}

/* The mark is replaced and removed. */
static int check_marker(const char *prefix, leat_error *err)
{
    static const leat_output_kind kind = { "a mark of leat convert", "leat is renaming", 0 };
    char *const marker = leat_files_text("%s" LEAT_SHARD_SET_MARKER, prefix);
    int rc = marker ? LEAT_OK : leat_files_no_memory(err);
    struct stat status;
    const bool found = marker && lstat(marker, &status) == 0;
    if (marker && !found && !leat_format_is_absent(errno))
        rc = fail_look(marker, err);
    else if (found && (!S_ISREG(status.st_mode) || !leat_output_kind_may_replace(marker, &kind)))
        rc = leat_fail(err, LEAT_E_ARGUMENT,
                       "%s: exists and is not %s: move it away, or choose another PREFIX", marker,
                       kind.what);
    free(marker);
    return rc;
}

/* A folder that another user made could hold links of theirs; and files of the user in it would be lost. */
static int check_own(const leat_file_set *set, leat_error *err)
{
    struct stat status;
    const bool found = lstat(set->folder, &status) == 0;
    if (!found && !leat_format_is_absent(errno))
        return fail_look(set->folder, err);
    if (found && (!S_ISDIR(status.st_mode) || status.st_uid != geteuid()))
        return leat_fail(
            err, LEAT_E_IO,
            "%s: %s is not a folder of this user: another user is writing files of this "
            "PREFIX, or has stopped; remove it or choose another PREFIX",
            set->prefix, set->folder);
    const int rc = check_names(set, set->folder, err);
    return rc < 0 ? rc : check_names(set, set->old, err);
}

/* The process that held the lock before may have removed the file after open() and before flock(). */
static bool is_still_there(int fd, const char *path)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && lstat(path, &there) == 0 && ours.st_ino == there.st_ino &&
           ours.st_dev == there.st_dev;
}

static int fail_lock(const leat_file_set *set, const char *doing, leat_error *err)
{
    if (errno == EWOULDBLOCK)
        return leat_fail(err, LEAT_E_IO,
                         "%s: another leat is writing files of this PREFIX; wait until it is done "
                         "or choose another PREFIX",
                         set->prefix);
    return leat_fail(err, LEAT_E_IO, "%s: cannot %s %s: %s", set->prefix, doing, set->folder,
                     strerror(errno));
}

/* One attempt. LEAT_E_END: another process removed the folder meanwhile. */
static int try_lock(leat_file_set *set, leat_error *err)
{
    if (mkdir(set->folder, 0700) < 0) {
        if (errno != EEXIST)
            return fail_lock(set, "create the folder", err);
        const int rc = check_own(set, err);
        if (rc < 0)
            return rc;
    }
    set->lock = open(set->lock_file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (set->lock < 0)
        return errno == ENOENT ? LEAT_E_END : fail_lock(set, "create a file in", err);
    /* Some file systems have no locks; a single writer must work there too. */
    int rc = LEAT_OK;
    if (flock(set->lock, LOCK_EX | LOCK_NB) < 0 && errno != ENOSYS && errno != EOPNOTSUPP &&
        errno != ENOLCK) /* NFS without its lock daemon */
        rc = fail_lock(set, "lock", err);
    else if (!is_still_there(set->lock, set->lock_file))
        rc = LEAT_E_END;
    if (rc < 0)
        close(set->lock);
    return rc;
}

static int take_lock(leat_file_set *set, leat_error *err)
{
    int rc = LEAT_E_END;
    for (int i = 0; i < ATTEMPTS && rc == LEAT_E_END; i++)
        rc = try_lock(set, err);
    return rc == LEAT_E_END ? fail_lock(set, "lock", err) : rc;
}

static void free_paths(leat_file_set *set)
{
    free(set->folder);
    free(set->start);
    free(set->lock_file);
    free(set->sign);
    free(set->old);
    *set = (leat_file_set){ 0 };
}

/* Makes this folder, which the set owns from now on, and locks it. */
static int lock_folder(leat_file_set *set, const char *prefix, char *folder, leat_error *err)
{
    *set = (leat_file_set){ .prefix = prefix, .folder = folder };
    if (folder) {
        set->start = leat_file_set_inside(set, leat_files_base_name(prefix));
        set->lock_file = leat_file_set_inside(set, "lock");
        set->sign = leat_file_set_inside(set, "unfinished");
        set->old = leat_file_set_inside(set, "old");
    }
    const bool all = set->start && set->lock_file && set->sign && set->old;
    const int rc = all ? take_lock(set, err) : leat_files_no_memory(err);
    if (rc < 0)
        free_paths(set);
    return rc;
}

char *leat_file_set_part_folder(const char *prefix, int32_t part, int32_t of)
{
    char end[64];
    snprintf(end, sizeof end, ".part-%d-of-%d", (int)part, (int)of);
    return leat_files_hidden(prefix, end);
}

static int lock_part(leat_file_set *set, const char *prefix, int32_t part, int32_t of,
                     leat_error *err)
{
    return lock_folder(set, prefix, leat_file_set_part_folder(prefix, part, of), err);
}

int leat_file_set_lock_parts(leat_file_set *set, int32_t of, leat_error *err)
{
    set->parts = calloc((size_t)of, sizeof *set->parts);
    int rc = set->parts ? LEAT_OK : leat_files_no_memory(err);
    for (int32_t i = 0; i < of && rc == LEAT_OK; i++) {
        leat_file_set *const part = &set->parts[set->n_parts];
        rc = lock_part(part, set->prefix, i + 1, of, err);
        set->n_parts += rc == LEAT_OK;
    }
    return rc;
}

/* Deletes our files in a folder except the lock, the sign that it is unfinished and the folder of old files. False: one is left;
 * errno. */
static bool empty_folder(const leat_file_set *set, const char *path)
{
    const struct dirent *entry;
    int error = 0;
    DIR *const folder = opendir(path);
    if (!folder)
        return errno == ENOENT;
    for (errno = 0; (entry = readdir(folder)); errno = 0) {
        const char *const name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, "lock") ||
            !strcmp(name, "unfinished") || !strcmp(name, "old") || is_leftover(name) ||
            !is_our_name(set, name))
            continue;
        char *const file = leat_files_text("%s/%s", path, name);
        if (!file || unlink(file) < 0)
            error = errno;
        free(file);
    }
    error = error ? error : errno;
    closedir(folder);
    errno = error;
    return !error;
}

/* Also deletes the old files. False: something is left; errno. */
static bool empty_all(const leat_file_set *set)
{
    return empty_folder(set, set->old) &&
           (rmdir(set->old) == 0 || errno == ENOENT || errno == ENOTEMPTY) &&
           empty_folder(set, set->folder);
}

/* The sign comes first: a part that is half emptied is not complete. */
static int begin(leat_file_set *set, leat_error *err)
{
    int rc = leat_files_write(set->sign, "", 0, err);
    if (rc == LEAT_OK && !empty_all(set))
        rc = leat_fail(err, LEAT_E_IO, "%s: cannot empty the folder: %s", set->folder,
                       strerror(errno));
    return rc;
}

/* --- the files ----------------------------------------------------------------------------------- */

static void close_file(struct file *file)
{
    free(file->name);
    free(file->part);
    free(file->old);
}

static void close_files(struct files *files)
{
    for (size_t i = 0; i < files->n; i++)
        close_file(&files->items[i]);
    close_file(&files->labels);
    free(files->items);
}

/* The file PREFIX + end of the set. start: what it is written under is START + end. */
static int name_file(const leat_file_set *set, const char *start, const char *end,
                     struct file *file, leat_error *err)
{
    file->part = leat_files_text("%s%s", start, end);
    file->old = leat_files_text("%s/%s%s", set->old, leat_files_base_name(set->prefix), end);
    file->name = leat_files_text("%s%s", set->prefix, end);
    return file->part && file->old && file->name ? LEAT_OK : leat_files_no_memory(err);
}

/* Adds the files of a folder that are written and have no name, in order. */
static int list_folder(const leat_file_set *set, const char *start, struct files *files,
                       leat_error *err)
{
    glob_t found;
    int rc = leat_file_set_glob(start, "-*", &found, err);
    /* One more for the labels. */
    struct file *const items =
        realloc(files->items, (files->n + found.gl_pathc + 1) * sizeof *items);
    if (items)
        files->items = items;
    else
        rc = leat_files_no_memory(err);
    for (size_t i = 0; i < found.gl_pathc && rc == LEAT_OK; i++) {
        const char *const end = found.gl_pathv[i] + strlen(start);
        struct file *const file = strcmp(end, labels_end) ? &items[files->n++] : &files->labels;
        if (file == &files->labels)
            close_file(file); /* those of an earlier folder */
        *file = (struct file){ 0 };
        rc = name_file(set, start, end, file, err);
    }
    globfree(&found);
    return rc;
}

/* The labels get their name last. So while other files wait for theirs and no new labels do, the new set has none,
 * and those that have the name are of the old set. */
static int list_files(const leat_file_set *set, struct files *files, leat_error *err)
{
    int rc = list_folder(set, set->start, files, err);
    for (int32_t i = 0; i < set->n_parts && rc == LEAT_OK; i++)
        rc = list_folder(set, set->parts[i].start, files, err);
    if (rc < 0 || (!files->n && !files->labels.name))
        return rc;
    if (!files->labels.name) {
        files->labels.is_only_old = true;
        rc = name_file(set, set->start, labels_end, &files->labels, err);
    }
    files->items[files->n++] = files->labels;
    files->labels = (struct file){ 0 };
    return rc;
}

int leat_file_set_check(const char *prefix, const char *end, leat_error *err)
{
    glob_t found;
    int rc = leat_file_set_glob(prefix, "-[0-9]*-of-*.tfrecord", &found, err);
    for (size_t i = 0; i < found.gl_pathc && rc == LEAT_OK; i++)
        if (leat_shard_set_prefix(found.gl_pathv[i]) == strlen(prefix) &&
            !strstr(found.gl_pathv[i] + strlen(prefix), end))
            rc = leat_fail(err, LEAT_E_DATA,
                           "%s belongs to a set with another number of shards, and "
                           "%s-*.tfrecord would mix the two; remove it or choose another PREFIX",
                           found.gl_pathv[i], prefix);
    globfree(&found);
    return rc;
}

/* The files there, if any, must be a set of the same size: other files may have come since the run began. */
static int check_sizes(const leat_file_set *set, const struct files *files, leat_error *err)
{
    for (size_t i = 0; i < files->n; i++) {
        const char *const name = files->items[i].name;
        const size_t prefix = leat_shard_set_prefix(name);
        if (prefix)
            return leat_file_set_check(set->prefix, strstr(name + prefix, "-of-"), err);
    }
    return LEAT_OK;
}

/* Lets go of the folders of the parts; `remove`: their files have names. A folder of which nothing but the lock is
 * left is one that only the lock has made. */
static void close_parts(leat_file_set *set, bool remove)
{
    for (int32_t i = 0; i < set->n_parts; i++) {
        leat_file_set *const part = &set->parts[i];
        part->is_kept = !remove;
        leat_file_set_close(part);
    }
    free(set->parts);
    set->parts = NULL;
    set->n_parts = 0;
}

/* --- names --------------------------------------------------------------------------------------- */

static int move_old(const struct file *file, leat_error *err)
{
    struct stat status;
    if (lstat(file->name, &status) < 0)
        return leat_format_is_absent(errno) ? LEAT_OK : fail_look(file->name, err);
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
        return leat_fail(err, LEAT_E_IO, "%s: exists and is not a file", file->name);
    if (rename(file->name, file->old) == 0)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_IO, "%s: cannot be replaced: %s", file->name, strerror(errno));
}

/* Moves all old files away before the first new one comes. */
static int move_all(const leat_file_set *set, const struct files *files, leat_error *err)
{
    int rc = LEAT_OK;
    for (size_t i = 0; i < files->n && rc == LEAT_OK; i++)
        rc = move_old(&files->items[i], err);
    for (size_t i = 0; i < files->n && rc == LEAT_OK; i++)
        if (!files->items[i].is_only_old)
            rc = leat_files_rename(files->items[i].part, files->items[i].name, err);
    return rc == LEAT_OK ? leat_files_sync_folder_of(set->prefix, err) : rc;
}

/* Gives the old files their names again. False: not all of them. */
static bool move_back(const leat_file_set *set, const struct files *files)
{
    bool all = true;
    for (size_t i = files->n; i-- > 0;) {
        const struct file *const file = &files->items[i];
        const int found = file->is_only_old ? 1 : look_for(file->part);
        if (found < 1)
            all = found == 0 && rename(file->name, file->part) == 0 && all;
    }
    for (size_t i = 0; i < files->n && all; i++) {
        const struct file *const file = &files->items[i];
        if (may_exist(file->old))
            all = rename(file->old, file->name) == 0;
    }
    return all && leat_files_sync_folder_of(set->prefix, NULL) == LEAT_OK;
}

static int remove_file(const char *path, leat_error *err)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_IO, "%s: cannot be removed: %s", path, strerror(errno));
}

/* From now on the files are kept, whatever fails. Their names are on disk before that is. */
int leat_file_set_keep(leat_file_set *set, leat_error *err)
{
    if (!may_exist(set->sign))
        return LEAT_OK;
    int rc = leat_files_sync_folder_of(set->sign, err);
    if (rc < 0 || (rc = remove_file(set->sign, err)) < 0)
        return rc;
    set->is_kept = true;
    return leat_files_sync_folder_of(set->sign, err);
}

static int begin_names(const leat_file_set *set, const char *marker, leat_error *err)
{
    int rc = check_marker(set->prefix, err);
    if (rc < 0)
        return rc;
    if (mkdir(set->old, 0700) < 0 && errno != EEXIST)
        return leat_fail(err, LEAT_E_IO, "%s: cannot create the folder: %s", set->old,
                         strerror(errno));
    rc = leat_files_write(marker, marker_text, strlen(marker_text), err);
    if (rc < 0)
        rmdir(set->old); /* unless an earlier process has moved files there */
    return rc;
}

static int replace(const leat_file_set *set, const struct files *files, const char *marker,
                   leat_error *err)
{
    const bool is_first =
        !may_exist(set->old); /* otherwise some new files may have their names already */
    int rc;
    if ((rc = check_sizes(set, files, err)) < 0 || (rc = begin_names(set, marker, err)) < 0)
        return rc;
    if ((rc = move_all(set, files, err)) < 0) {
        if (is_first && move_back(set, files) && unlink(marker) == 0)
            rmdir(set->old);
        return rc;
    }
    if ((rc = remove_file(marker, err)) < 0)
        return rc;
    return leat_files_sync_folder_of(set->prefix, err);
}

static void say_kept(const leat_file_set *set, leat_error *err)
{
    const leat_error inner = *err;
    leat_fail(err, inner.code,
              "%s; the new files are complete and kept in %s: when the cause is removed, `leat "
              "convert finish -o %s` gives them their names",
              inner.message, set->folder, set->prefix);
}

/* Locks the parts that the files are in, if any, and lists the files. After an error they stay as they are. */
static int find_files(leat_file_set *set, struct files *files, const char *marker, leat_error *err)
{
    char *const parts = leat_file_set_inside(set, "parts");
    leat_convert_part_about whole;
    int rc = parts && marker ? LEAT_OK : leat_files_no_memory(err);
    const int in_parts = parts ? look_for(parts) : 0;
    leat_error why = { 0 };
    if (in_parts < 0)
        rc = fail_look(parts, err);
    else if (in_parts && !leat_convert_part_read(set->folder, "parts", &whole, &why))
        rc =
            leat_fail(err, LEAT_E_DATA,
                      "%s cannot be read, or is of another version of leat: remove %s, and run all "
                      "parts again",
                      parts, set->folder);
    if (why.code)
        rc = leat_fail(err, why.code, "%s", why.message);
    const bool goes_on = !set->parts; /* otherwise this `finish` has just read the parts */
    if (rc == LEAT_OK && in_parts && goes_on)
        rc = leat_file_set_lock_parts(set, whole.part.of, err);
    if (rc == LEAT_OK && (rc = list_files(set, files, err)) < 0 && set->is_kept)
        say_kept(set, err); /* this run has written them */
    if (rc == LEAT_OK && in_parts && (files->n || may_exist(marker)))
        rc = leat_convert_part_check_all(set->prefix, &whole, goes_on, err);
    free(parts);
    return rc;
}

/* Names the files there; goes on where an earlier process stopped. */
static int name_files(leat_file_set *set, leat_error *err)
{
    struct files files = { 0 };
    char *const marker = leat_files_text("%s" LEAT_SHARD_SET_MARKER, set->prefix);
    int rc = find_files(set, &files, marker, err);
    set->is_kept = true;
    if (rc == LEAT_OK && (files.n || may_exist(set->old))) {
        if ((files.n || may_exist(marker)) && (rc = replace(set, &files, marker, err)) < 0)
            say_kept(set, err);
        set->is_finished = rc == LEAT_OK;
    }
    close_parts(set, rc == LEAT_OK);
    close_files(&files);
    free(marker);
    set->is_kept = rc < 0;
    return rc;
}

int leat_file_set_commit(leat_file_set *set, leat_error *err)
{
    const int rc = leat_file_set_keep(set, err);
    if (rc < 0 && set->is_kept)
        say_kept(set, err);
    return rc < 0 ? rc : name_files(set, err);
}

/* --- open and close ------------------------------------------------------------------------------ */

static int lock_whole(leat_file_set *set, const char *prefix, leat_error *err)
{
    return lock_folder(set, prefix, leat_files_hidden(prefix, ".part"), err);
}

/* Files of an earlier run, if any, are complete where there is no sign. */
static int go_on(leat_file_set *set, leat_error *err)
{
    const int found = look_for(set->sign);
    return found < 0 ? fail_look(set->sign, err) : found ? LEAT_OK : leat_file_set_commit(set, err);
}

int leat_file_set_open(leat_file_set *set, const char *prefix, leat_convert_part part,
                       leat_error *err)
{
    int rc = check_marker(prefix, err);
    /* A part before it is locked, too: a lock makes a folder that is missing. While it is held no `finish` begins. */
    if (rc == LEAT_OK && part.of)
        rc = leat_convert_part_check_free(prefix, part, err);
    if (rc < 0)
        return rc;
    rc = part.of ? lock_part(set, prefix, part.number, part.of, err) : lock_whole(set, prefix, err);
    if (rc < 0)
        return rc;
    rc = leat_convert_part_check_free(prefix, part, err);
    if (rc == LEAT_OK && !part.of) /* only old files are left, if any */
        rc = go_on(set, err);
    set->is_kept = rc < 0;
    return rc < 0 ? rc : begin(set, err);
}

int leat_file_set_open_finish(leat_file_set *set, const char *prefix, leat_error *err)
{
    int rc = lock_whole(set, prefix, err);
    if (rc == LEAT_OK)
        rc = go_on(set, err);
    return rc < 0 ? rc : begin(set, err);
}

void leat_file_set_close(leat_file_set *set)
{
    if (!set->folder)
        return;
    close_parts(set, false);
    /* The order: files that a kill leaves stay unfinished, and the lock is held until the end. */
    if (!set->is_kept && empty_all(set)) {
        unlink(set->sign);
        unlink(set->lock_file);
        rmdir(set->folder);
    }
    close(set->lock);
    free_paths(set);
}
