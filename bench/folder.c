/* SPDX-License-Identifier: MIT
 *
 * folder.c: many small image files, read from their folder: by the workers, and by threads beside them. Cold files
 * are dropped from the page cache before each run. With LEAT_BENCH_COLD=1 (root) the kernel drops names and
 * inodes too, and the caches of everything else. Beside them a bare loop: as many threads that open, read
 * and close files. LEAT_BENCH_IMAGES names a folder of class folders; it must not be in memory (tmpfs). */
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench_common.h"
#include "bench_input.h"

#define WARM_EPOCHS  3
#define BARE_THREADS 64
#define READ_BYTES   (128 << 10)

static const char *folder;
static glob_t files;

typedef struct job {
    const char *engine; /* NULL: the bare loop */
    bool cold;
    double cpu_us; /* out: CPU time of the process per file, of the run that took least */
} job;

static void drop_caches(void)
{
    const int fd = getenv("LEAT_BENCH_COLD") ? open("/proc/sys/vm/drop_caches", O_WRONLY) : -1;
    for (size_t i = 0; i < files.gl_pathc; i++)
        bench_file_cached(files.gl_pathv[i], false);
    if (fd >= 0 && write(fd, "3", 1) < 0)
        perror("drop_caches");
    if (fd >= 0)
        close(fd);
}

/* --- the bare loop -------------------------------------------------------------------------------- */

static _Atomic size_t next_file;

static void *read_files(void *arg)
{
    uint8_t *const bytes = malloc(READ_BYTES);
    const size_t n = *(const size_t *)arg;
    for (size_t i; bytes && (i = atomic_fetch_add(&next_file, 1)) < n;) {
        const int fd = open(files.gl_pathv[i * 7919 % files.gl_pathc], O_RDONLY | O_CLOEXEC);
        if (fd < 0 || read(fd, bytes, READ_BYTES) < 0)
            perror(files.gl_pathv[i % files.gl_pathc]);
        close(fd);
    }
    free(bytes);
    return NULL;
}

static int64_t run_bare(size_t n)
{
    pthread_t threads[BARE_THREADS];
    const int64_t start = bench_now_ns();
    atomic_store(&next_file, 0);
    for (int i = 0; i < BARE_THREADS; i++)
        if (pthread_create(&threads[i], NULL, read_files, &n))
            exit(1);
    for (int i = 0; i < BARE_THREADS; i++)
        pthread_join(threads[i], NULL);
    return bench_now_ns() - start;
}

/* --- leat ----------------------------------------------------------------------------------------- */

static leat_plan *plan_of(const char *engine)
{
    char text[1000];
    snprintf(
        text, sizeof text,
        "source: {images: '%s'}\n"
        "engine: {threads: 2, %s}\n"
        "pipeline: [shuffle: {seed: 1}, map: [decode_image, {random_crop: {size: [32, 32], pad: "
        "4}}, random_flip, {normalize: {mean: 0.5, std: 0.25}}], batch: 128, prefetch: 2]\n",
        folder, engine);
    return bench_plan_open(text);
}

static int64_t run(void *arg)
{
    job *const j = arg;
    leat_plan *plan = j->engine ? plan_of(j->engine) : NULL;
    const size_t epochs = j->cold ? 1 : WARM_EPOCHS, n = epochs * files.gl_pathc;
    if (j->engine && !plan)
        return -1;
    if (j->cold)
        drop_caches();
    const int64_t before = bench_cpu_ns();
    const int64_t ns = plan ? bench_epochs_run(plan, (int64_t)epochs) : run_bare(n);
    const double used = (double)(bench_cpu_ns() - before) / 1e3 / (double)n;
    j->cpu_us = j->cpu_us == 0 || used < j->cpu_us ? used : j->cpu_us;
    leat_plan_close(&plan);
    return ns;
}

static void note_cpu(bench *b, const char *name, const job *j)
{
    char key[80], text[32];
    snprintf(key, sizeof key, "CPU per file, %s, %s", j->cold ? "cold" : "warm", name);
    snprintf(text, sizeof text, "%.1f us", j->cpu_us);
    if (j->cpu_us > 0)
        bench_note(b, key, text);
}

int main(int argc, char **argv)
{
    char pattern[600];
    folder = getenv("LEAT_BENCH_IMAGES");
    snprintf(pattern, sizeof pattern, "%.500s/*/*", folder ? folder : "");
    if (!folder || glob(pattern, 0, NULL, &files)) {
        fprintf(stderr,
                "folder: LEAT_BENCH_IMAGES must name a folder of class folders of images\n");
        return 2;
    }
    bench *b = bench_open(argc, argv, "folder");
    bench_repeats(b, 5);
    for (int cold = 0; cold < 2; cold++) {
        job workers = { "reader: pread", cold, 0 }, threads = { "reader: auto", cold, 0 },
            bare = { NULL, cold, 0 };
        const double n = (double)files.gl_pathc * (cold ? 1 : WARM_EPOCHS);
        const bench_arm arms[] = {
            { "workers read", run, &workers, n, "images" },
            { "threads read", run, &threads, n, "images" },
            { "bare open, read, close", run, &bare, n, "files" },
        };
        bench_group(b, cold ? "cold" : "warm", arms, 3, "workers read");
        note_cpu(b, "workers", &workers);
        note_cpu(b, "threads", &threads);
        note_cpu(b, "bare", &bare);
    }
    globfree(&files);
    return bench_close(&b);
}
