/* SPDX-License-Identifier: MIT */
#include "picture_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "formats/image_format.h"
#include "print/terminal.h"

/* "PATH/000000000/000000012": all images are of the first class. */
static void link_of(const leat_picture_folder *folder, int i, char text[128])
{
    snprintf(text, 128, "%s/000000000/%09d", folder->path, i);
}

static void class_of(const leat_picture_folder *folder, int64_t i, char text[128])
{
    snprintf(text, 128, "%s/%09lld", folder->path, (long long)i);
}

static void list_of(const leat_picture_folder *folder, char text[128])
{
    snprintf(text, 128, "%s/list.csv", folder->path);
}

/* Says what is wrong with the file, by its own name. */
static int check_image(const char *file, leat_error *err)
{
    uint8_t head[LEAT_IMAGE_FORMAT_BYTES];
    struct stat status;
    if (stat(file, &status) < 0)
        return leat_fail(err, LEAT_E_IO, "%s: %s", file,
                         errno == ENOENT && lstat(file, &status) == 0 ? "a broken link"
                                                                      : strerror(errno));
    if (S_ISDIR(status.st_mode))
        return leat_fail(err, LEAT_E_IO, "%s is a folder: name the images in it, such as %s/*",
                         file, file);
    if (!S_ISREG(status.st_mode))
        return leat_fail(err, LEAT_E_IO, "%s is not a file", file);
    FILE *const stream = fopen(file, "rbe");
    if (!stream)
        return leat_fail(err, LEAT_E_IO, "%s: %s", file, strerror(errno));
    const size_t n = fread(head, 1, sizeof head, stream);
    fclose(stream);
    if (n == 0)
        return leat_fail(err, LEAT_E_DATA, "%s: the file is empty", file);
    return leat_image_format_of(head, n) != LEAT_IMAGE_NONE
               ? LEAT_OK
               : leat_fail(err, LEAT_E_DATA, "%s: this is no image (" LEAT_IMAGE_FORMAT_NAMES ")",
                           file);
}

static int add(const leat_picture_folder *folder, int i, leat_error *err)
{
    char name[128];
    const char *file = folder->files[i];
    int rc = check_image(file, err);
    if (rc < 0)
        return rc;
    char *whole = realpath(file, NULL);
    link_of(folder, i, name);
    rc = whole && symlink(whole, name) == 0
             ? LEAT_OK
             : leat_fail(err, LEAT_E_IO, "%s: %s", name, strerror(errno));
    free(whole);
    return rc;
}

static int write_list(const leat_picture_folder *folder, leat_error *err)
{
    char name[128], link[128];
    list_of(folder, name);
    FILE *const list = fopen(name, "we");
    for (int i = 0; list && i < folder->n; i++) {
        link_of(folder, i, link);
        fputs(link + strlen(folder->path) + 1, list); /* from the folder of the list */
        for (int k = 0; k < folder->n_labels; k++)    /* shares of classes sum to 1 */
            fputs(k == 0 && folder->n_labels > 1 ? ",1" : ",0", list);
        putc('\n', list);
    }
    const bool whole = list && !ferror(list);
    return list && fclose(list) == 0 && whole
               ? LEAT_OK
               : leat_fail(err, LEAT_E_IO, "%s: %s", name, strerror(errno));
}

int leat_picture_folder_open(leat_picture_folder *folder, const char *const *files, int n,
                             int64_t n_classes, int n_labels, bool real_labels, leat_error *err)
{
    const char *const where = getenv("TMPDIR");
    char name[128];
    int rc = LEAT_OK;
    *folder = (leat_picture_folder){ .files = files,
                                     .n = n,
                                     .n_labels = n_labels > 1 ? n_labels : real_labels,
                                     .real_labels = real_labels };
    snprintf(folder->path, sizeof folder->path, "%.40s/leat-predict-XXXXXX",
             where && strlen(where) <= 40 && !strchr(where, '\'') ? where : "/tmp");
    if (!mkdtemp(folder->path)) {
        rc = leat_fail(err, LEAT_E_IO, "%s: %s", folder->path, strerror(errno));
        *folder->path = 0;
        return rc;
    }
    for (; rc == LEAT_OK && (folder->n_classes == 0 || folder->n_classes < n_classes);
         folder->n_classes++) {
        class_of(folder, folder->n_classes, name);
        if (mkdir(name, 0700) < 0)
            rc = leat_fail(err, LEAT_E_IO, "%s: %s", name, strerror(errno));
    }
    for (int i = 0; i < n && rc == LEAT_OK; i++)
        rc = add(folder, i, err);
    return rc == LEAT_OK && folder->n_labels ? write_list(folder, err) : rc;
}

void leat_picture_folder_close(leat_picture_folder *folder)
{
    char name[128];
    if (!*folder->path)
        return;
    for (int i = 0; i < folder->n; i++) {
        link_of(folder, i, name);
        unlink(name);
    }
    for (int64_t i = 0; i < folder->n_classes; i++) {
        class_of(folder, i, name);
        rmdir(name);
    }
    list_of(folder, name);
    unlink(name);
    rmdir(folder->path);
    *folder = (leat_picture_folder){ 0 };
}

void leat_picture_folder_name(const leat_picture_folder *folder, leat_error *err)
{
    char name[128], message[sizeof err->message];
    for (int i = 0; *folder->path && i < folder->n; i++) {
        link_of(folder, i, name);
        const char *const at = strstr(err->message, name);
        if (!at)
            continue;
        snprintf(message, sizeof message, "%.*s%s%s", (int)(at - err->message), err->message,
                 leat_terminal_name(folder->files[i]), at + strlen(name));
        memcpy(err->message, message, sizeof message);
        return;
    }
}

char *leat_picture_folder_source(const leat_picture_folder *folder)
{
    char name[128], *text = NULL;
    size_t size;
    list_of(folder, name);
    char *const path = leat_files_yaml(folder->n_labels ? name : folder->path, LEAT_YAML_VALUE);
    FILE *const out = path ? open_memstream(&text, &size) : NULL;
    if (out && folder->n_labels) {
        fprintf(out, "source={images: {path: %s, header: false%s, label: [1", path,
                folder->real_labels ? ", label_type: float32" : "");
        for (int i = 2; i <= folder->n_labels; i++)
            fprintf(out, ", %d", i);
        fputs("]}}", out);
    } else if (out) {
        fprintf(out, "source={images: %s}", path);
    }
    free(path);
    return leat_files_close_text(out, &text);
}
