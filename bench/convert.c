/* SPDX-License-Identifier: MIT
 *
 * convert: many small image files into TFRecord shards (`leat convert images`, with labels, index
 * and sync) against reading them with cat into one file. The files are drawn for it, 50,000 of 32
 * pixels; LEAT_BENCH_IMAGES names a folder of class folders to take instead. LEAT_BENCH_COLD=1
 * drops the page cache before every run (root). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_common.h"

static char folder[] = "/tmp/leat-bench-convert-XXXXXX";
static char command[4096];

/* The command stands one folder above this program. */
static int find_command(void)
{
    const ssize_t n = readlink("/proc/self/exe", command, sizeof command - 16);
    if (n <= 0)
        return -1;
    command[n] = 0;
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(command, '/');
        if (!slash)
            return -1;
        *slash = 0;
    }
    strcat(command, "/leat");
    return access(command, X_OK);
}

static int shell(const char *line)
{
    return system(line) == 0 ? 0 : -1;
}

/* What the lines of shell below speak of. */
static int set_names(void)
{
    char out[64], drawn[64];
    const char *given = getenv("LEAT_BENCH_IMAGES");
    snprintf(out, sizeof out, "%s/out", folder);
    snprintf(drawn, sizeof drawn, "%s/images", folder);
    return setenv("LEAT", command, 1) || setenv("OUT", out, 1) ||
                   setenv("IMAGES", given ? given : drawn, 1)
               ? -1
               : 0;
}

static int make_images(void)
{
    if (set_names() < 0)
        return -1;
    if (getenv("LEAT_BENCH_IMAGES"))
        return 0;
    return shell("$LEAT synth $IMAGES --n 50000 --size 32 -q >/dev/null");
}

static double count_images(void)
{
    char text[32] = "";
    FILE *pipe = popen("find $IMAGES -type f | wc -l", "r");
    if (!pipe)
        return 0;
    const char *got = fgets(text, sizeof text, pipe);
    return pclose(pipe) == 0 && got ? atof(text) : 0;
}

static int prepare(void)
{
    if (shell("rm -f $OUT* && sync -f ${OUT%/*}") < 0)
        return -1;
    return getenv("LEAT_BENCH_COLD") ? shell("sync && echo 3 >/proc/sys/vm/drop_caches") : 0;
}

/* Runs a line of shell; what came before it does not count. */
static int64_t timed(const char *line)
{
    if (prepare() < 0)
        return -1;
    const int64_t start = bench_now_ns();
    return shell(line) < 0 ? -1 : bench_now_ns() - start;
}

static int64_t cat(void *arg)
{
    (void)arg;
    return timed("find $IMAGES -type f -print0 | sort -z | xargs -0 cat >$OUT");
}

static int64_t convert(void *arg)
{
    (void)arg;
    return timed("$LEAT convert images $IMAGES -o $OUT --shards 8 --shuffle 1 -q >/dev/null");
}

static int64_t convert_one_thread(void *arg)
{
    (void)arg;
    return timed(
        "$LEAT convert images $IMAGES -o $OUT --shards 8 --shuffle 1 --threads 1 -q >/dev/null");
}

int main(int argc, char **argv)
{
    char line[128];
    bench *b = bench_open(argc, argv, "convert");
    if (!mkdtemp(folder) || find_command() < 0 || make_images() < 0) {
        fprintf(stderr, "convert: cannot make its images with %s\n", command);
        return 1;
    }
    const double n = count_images();
    const bench_arm arms[] = {
        { .name = "cat", .run = cat, .work = n, .unit = "files" },
        { .name = "leat convert", .run = convert, .work = n, .unit = "files" },
        { .name = "leat convert --threads 1",
          .run = convert_one_thread,
          .work = n,
          .unit = "files" },
    };
    bench_repeats(b, 5);
    bench_note(b, "page cache", getenv("LEAT_BENCH_COLD") ? "cold" : "warm");
    bench_group(b, "small files", arms, sizeof arms / sizeof *arms, "cat");
    snprintf(line, sizeof line, "rm -rf %s", folder);
    return shell(line) < 0 ? 1 : bench_close(&b);
}
