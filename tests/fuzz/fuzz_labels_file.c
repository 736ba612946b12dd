/* SPDX-License-Identifier: MIT
 *
 * fuzz_labels_file.c: any bytes as the labels files of two sets; the first zero byte is between them, and what is behind it
 * is of the second. Names have no line ends, and there are as many as lines; sets with the same lines have the same names. */
#include "formats/labels_file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_target.h"

static char folder[64], paths[2][128];

static void remove_folder(void)
{
    unlink(paths[0]);
    unlink(paths[1]);
    rmdir(folder);
}

static void make_folder(void)
{
    strcpy(folder,
           access("/dev/shm", W_OK) == 0 ? "/dev/shm/leat-fuzz-XXXXXX" : "/tmp/leat-fuzz-XXXXXX");
    EXPECT(mkdtemp(folder));
    for (int i = 0; i < 2; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%c-labels.txt", folder, "ab"[i]);
    atexit(remove_folder);
}

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *const file = fopen(path, "wb");
    EXPECT(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

static size_t count_lines(const uint8_t *bytes, size_t size)
{
    size_t n = size && bytes[size - 1] != '\n';
    for (size_t i = 0; i < size; i++)
        n += bytes[i] == '\n';
    return n;
}

/* Of n_sets sets; returns how many names they have. */
static size_t check_sets(size_t n_sets)
{
    char files[2][160];
    const char *const sets[] = { files[0], files[1] };
    leat_labels_file labels;
    leat_format_error err = { 0 };
    for (int i = 0; i < 2; i++)
        snprintf(files[i], sizeof files[i], "%s/%c-00000-of-00001.tfrecord", folder, "ab"[i]);
    EXPECT(leat_labels_file_read(sets, n_sets, &labels, &err) == LEAT_FORMAT_OK);
    EXPECT(labels.state == LEAT_LABELS_FILE_SAME || (!labels.n && labels.why.text[0]));
    for (size_t i = 0; i < labels.n; i++)
        EXPECT(!strpbrk(labels.names[i], "\r\n"));
    const size_t n = labels.n;
    leat_labels_file_close(&labels);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *const zero = size ? memchr(data, 0, size) : NULL;
    const size_t first = zero ? (size_t)(zero - data) : size, behind = zero ? first + 1 : size;
    const uint8_t *const second = data + behind;
    if (!folder[0])
        make_folder();
    write_file(paths[0], data, first);
    write_file(paths[1], second, size - behind);
    EXPECT(check_sets(1) == count_lines(data, first));
    check_sets(2);
    write_file(paths[1], data, first);
    EXPECT(check_sets(2) == count_lines(data, first));
    return 0;
}
