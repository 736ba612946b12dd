/* SPDX-License-Identifier: MIT
 *
 * replay.c: runs a fuzz target over every file of its corpus folder, and over every prefix of
 * each (at most 4096 of them), without libFuzzer. Fails when the folder has no file. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return -1;
    fseek(file, 0, SEEK_END);
    const long end = ftell(file);
    rewind(file);
    const size_t size = end > 0 ? (size_t)end : 0;
    uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes || fread(bytes, 1, size, file) != size) {
        free(bytes);
        fclose(file);
        return -1;
    }
    fclose(file);
    const size_t step = size > 4096 ? size / 4096 + 1 : 1;
    for (size_t n = 0; n <= size; n += step) {
        uint8_t *copy = malloc(n ? n : 1); /* exact size, so that over-reads are seen */
        if (!copy)
            break;
        memcpy(copy, bytes, n);
        LLVMFuzzerTestOneInput(copy, n);
        free(copy);
    }
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    return 0;
}

int main(int argc, char **argv)
{
    int n_files = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            fprintf(stderr, "replay: cannot open %s\n", argv[i]);
            return 1;
        }
        for (struct dirent *entry; (entry = readdir(folder));) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            if (replay_file(path)) {
                fprintf(stderr, "replay: cannot read %s\n", path);
                return 1;
            }
            n_files++;
        }
        closedir(folder);
    }
    printf("replayed %d files and their prefixes\n", n_files);
    return n_files ? 0 : 1;
}
