/* SPDX-License-Identifier: MIT
 *
 * pixels.c: what happens to a picture behind its decoder (resize, flip, colour, normalise) at each CPU
 * level, against plain C and, in the same run, against Pillow and NumPy, which do it in the usual
 * Python loaders:
 *
 *     LEAT_BENCH_PYTHON=venv/bin/python bench/pixels [options]
 *
 * One core, a picture of 500 x 375 in memory. Pillow runs in a process of its own, which waits for a
 * line, does the work, and answers with the nanoseconds it took; so nothing but the work is timed, and
 * the arms take turns. Without Pillow it says so and leaves those arms out. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/scratch.h"
#include "bench_common.h"
#include "ops/image/resample.h"
#include "ops/image/taps.h"
#include "ops/jpeg/jpeg_impl.h"

enum {
    WIDE = 500,
    TALL = 375,
    SIDE = 224,
    CHANNELS = 3,
    TIMES = 20,
    VALUES = SIDE * SIDE * CHANNELS
};

/* Reads the picture from stdin, then one line per task; the answer is a line of nanoseconds, or what is
 * missing. "pixels" answers with the resized picture itself. */
static const char worker[] =
    "import sys, time\n"
    "w, h, side, times = (int(x) for x in sys.argv[1:])\n"
    "raw = sys.stdin.buffer.read(w * h * 3)\n"
    "def answer(text):\n"
    "    sys.stdout.buffer.write(text.encode() + b'\\n'); sys.stdout.flush()\n"
    "try:\n"
    "    import PIL\n"
    "    from PIL import Image\n"
    "except ImportError:\n"
    "    answer('no Pillow'); sys.exit()\n"
    "try:\n"
    "    import numpy as np\n"
    "except ImportError:\n"
    "    np = None\n"
    "answer('Pillow ' + PIL.__version__ + (', NumPy ' + np.__version__ if np else ', no NumPy'))\n"
    "image = Image.frombytes('RGB', (w, h), raw)\n"
    "small = image.resize((side, side), Image.BILINEAR)\n"
    "ycc = small.convert('YCbCr')\n"
    "if np:\n"
    "    array = np.asarray(small)\n"
    "    scale = np.array([0.017, 0.018, 0.019], np.float32)\n"
    "    shift = np.array([-2.1, -2.0, -1.8], np.float32)\n"
    "tasks = {\n"
    "    'resize': lambda: image.resize((side, side), Image.BILINEAR),\n"
    "    'flip': lambda: small.transpose(Image.FLIP_LEFT_RIGHT),\n"
    "    'colour': lambda: ycc.convert('RGB'),\n"
    "    'normalize': lambda: array.astype(np.float32) * scale + shift,\n"
    "}\n"
    "for line in sys.stdin.buffer:\n"
    "    name = line.decode().strip()\n"
    "    if name == 'pixels':\n"
    "        sys.stdout.buffer.write(small.tobytes()); sys.stdout.flush(); continue\n"
    "    if name == 'normalize' and not np:\n"
    "        answer('-1'); continue\n"
    "    task = tasks[name]\n"
    "    start = time.perf_counter_ns()\n"
    "    for _ in range(times):\n"
    "        task()\n"
    "    answer(str(time.perf_counter_ns() - start))\n";

typedef struct python {
    pid_t pid;
    FILE *to, *from;
    char version[128]; /* "Pillow 10.0, NumPy 2.0"; "" when it is not there */
} python;

typedef struct data {
    uint8_t pixels[TALL * WIDE * CHANNELS];
    uint8_t small[VALUES + 64], out[VALUES + 64];
    uint8_t planes[CHANNELS][SIDE * SIDE + 64];
    float floats[VALUES];
    leat_affine affine;
    leat_scratch *scratch;
    python python;
} data;

typedef struct arm_arg {
    data *d;
    int level;
    const char *task; /* of Python */
} arm_arg;

/* --- Python ---------------------------------------------------------------------------------------- */

static void run_python(const char *program, int in, int out)
{
    char numbers[4][12];
    const int values[4] = { WIDE, TALL, SIDE, TIMES };
    for (int i = 0; i < 4; i++)
        snprintf(numbers[i], sizeof numbers[i], "%d", values[i]);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    execlp(program, program, "-c", worker, numbers[0], numbers[1], numbers[2], numbers[3], NULL);
    _exit(127);
}

static void close_python(python *p)
{
    if (p->to)
        fclose(p->to);
    if (p->from)
        fclose(p->from);
    if (p->pid > 0)
        waitpid(p->pid, NULL, 0);
    *p = (python){ .pid = 0 };
}

/* Leaves version empty when there is no Pillow. */
static void open_python(python *p, const uint8_t *pixels, size_t size)
{
    const char *program = getenv("LEAT_BENCH_PYTHON");
    int to[2], from[2];
    char line[128] = "";
    if (pipe(to) || pipe(from))
        return;
    signal(SIGPIPE, SIG_IGN);
    fflush(stdout);
    p->pid = fork();
    if (p->pid == 0) {
        close(to[1]);
        close(from[0]);
        run_python(program ? program : "python3", to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    p->to = fdopen(to[1], "w");
    p->from = fdopen(from[0], "r");
    if (p->pid > 0 && p->to && p->from && fwrite(pixels, 1, size, p->to) == size &&
        fflush(p->to) == 0 && fgets(line, sizeof line, p->from) && !strncmp(line, "Pillow", 6)) {
        line[strcspn(line, "\n")] = 0;
        snprintf(p->version, sizeof p->version, "%s", line);
    } else {
        close_python(p);
    }
}

static int64_t in_python(void *arg)
{
    const arm_arg *a = arg;
    python *p = &a->d->python;
    char line[64];
    if (fprintf(p->to, "%s\n", a->task) < 0 || fflush(p->to) || !fgets(line, sizeof line, p->from))
        return -1;
    return strtoll(line, NULL, 10);
}

/* --- ours ------------------------------------------------------------------------------------------ */

static leat_view view_of(void *memory, int64_t height, int64_t width)
{
    return (leat_view){ .shape = leat_shape_make(LEAT_U8, 3,
                                                 (const int64_t[]){ height, width, CHANNELS }),
                        .data = memory };
}

/* As the op does it; the level is that of the whole process. */
static int64_t resize(void *arg)
{
    const arm_arg *a = arg;
    const leat_view in = view_of(a->d->pixels, TALL, WIDE), out = view_of(a->d->out, SIDE, SIDE);
    const leat_image_box whole = { 0, 0, TALL, WIDE };
    leat_cpu_use(a->level);
    for (int i = 0; i < TIMES; i++) {
        leat_scratch_reset(a->d->scratch);
        if (leat_resample(&in, &whole, &out, LEAT_BILINEAR, a->d->scratch, NULL) < 0)
            return -1;
        bench_keep(a->d->out);
    }
    leat_cpu_use(leat_cpu_best());
    return 0;
}

/* As the fused path does it. */
static int64_t resize_fused(void *arg)
{
    const arm_arg *a = arg;
    const leat_jpeg_target target = { .height = SIDE, .width = SIDE, .channels = CHANNELS };
    for (int i = 0; i < TIMES; i++) {
        leat_scratch_reset(a->d->scratch);
        if (leat_jpeg_resize(leat_jpeg_dsp_at(a->level), a->d->pixels, WIDE * CHANNELS, TALL, WIDE,
                             &target, a->d->out, a->d->scratch, NULL) < 0)
            return -1;
        bench_keep(a->d->out);
    }
    return 0;
}

static int64_t flip(void *arg)
{
    const arm_arg *a = arg;
    const leat_dsp_table *dsp = leat_dsp_level(a->level);
    const size_t row = SIDE * CHANNELS;
    for (int i = 0; i < TIMES; i++) {
        for (size_t y = 0; y < SIDE; y++)
            dsp->mirror_row(a->d->out + y * row, a->d->small + y * row, SIDE, CHANNELS);
        bench_keep(a->d->out);
    }
    return 0;
}

static int64_t colour(void *arg)
{
    const arm_arg *a = arg;
    const leat_jpeg_dsp *dsp = leat_jpeg_dsp_at(a->level);
    data *d = a->d;
    for (int i = 0; i < TIMES; i++) {
        for (size_t at = 0; at < SIDE * SIDE; at += SIDE)
            dsp->rgb(d->planes[0] + at, d->planes[1] + at, d->planes[2] + at,
                     d->out + CHANNELS * at, SIDE);
        bench_keep(d->out);
    }
    return 0;
}

static int64_t normalize(void *arg)
{
    const arm_arg *a = arg;
    for (int i = 0; i < TIMES; i++) {
        leat_dsp_level(a->level)->affine_u8(a->d->floats, a->d->small, VALUES, &a->d->affine);
        bench_keep(a->d->floats);
    }
    return 0;
}

/* --- the groups ------------------------------------------------------------------------------------ */

/* Levels that have a loop of their own for it. */
static bool is_new(int64_t (*run)(void *), int level)
{
    if (run == colour || run == resize_fused)
        return true;
    return !level || leat_dsp_level(level) != leat_dsp_level(level - 1);
}

static void run_group(bench *b, data *d, const char *group, int64_t (*run)(void *),
                      const char *task, double pixels)
{
    bench_arm arms[LEAT_N_CPU_LEVELS + 2];
    arm_arg args[LEAT_N_CPU_LEVELS + 2];
    char fused[64];
    size_t n = 0;
    for (int level = 0; level <= leat_cpu_best(); level++) {
        if (!is_new(run, level))
            continue;
        args[n] = (arm_arg){ .d = d, .level = level };
        arms[n] = (bench_arm){ leat_cpu_name(level), run, &args[n], TIMES * pixels, "pixels" };
        n++;
    }
    if (run == resize) {
        snprintf(fused, sizeof fused, "%s, in the fused path", leat_cpu_name(leat_cpu_best()));
        args[n] = (arm_arg){ .d = d, .level = leat_cpu_best() };
        arms[n] = (bench_arm){ fused, resize_fused, &args[n], TIMES * pixels, "pixels" };
        n++;
    }
    const bool is_numpy = run == normalize;
    if (d->python.version[0] && !(is_numpy && strstr(d->python.version, "no NumPy"))) {
        args[n] = (arm_arg){ .d = d, .task = task };
        arms[n] = (bench_arm){ is_numpy ? "NumPy" : "Pillow", in_python, &args[n], TIMES * pixels,
                               "pixels" };
        n++;
    }
    bench_group(b, group, arms, n, leat_cpu_name(LEAT_CPU_C));
}

/* Both resize by the same formula; rounding may differ by one. */
static void note_python(bench *b, data *d)
{
    uint8_t *theirs = malloc(VALUES);
    char text[300];
    if (!d->python.version[0]) {
        bench_note(b, "Pillow",
                   "ABSENT: its arms are left out; `python3 -m venv V && V/bin/pip install pillow "
                   "numpy`, then LEAT_BENCH_PYTHON=V/bin/python");
    } else if (theirs && fprintf(d->python.to, "pixels\n") > 0 && !fflush(d->python.to) &&
               fread(theirs, 1, VALUES, d->python.from) == VALUES) {
        int most = 0, n_other = 0;
        for (int i = 0; i < VALUES; i++) {
            const int apart = abs(theirs[i] - d->small[i]);
            most = apart > most ? apart : most;
            n_other += apart > 0;
        }
        snprintf(text, sizeof text,
                 "%s; its resized pixels differ from ours by %d at most, %.2f %% "
                 "of them at all",
                 d->python.version, most, 100.0 * n_other / VALUES);
        bench_note(b, "Pillow", text);
    }
    free(theirs);
}

/* A picture with shades, edges and noise, and what follows from it. */
static int fill(data *d)
{
    unsigned state = 1;
    for (int i = 0; i < TALL * WIDE * CHANNELS; i++) {
        const int x = i / CHANNELS % WIDE, y = i / CHANNELS / WIDE, c = i % CHANNELS;
        state = state * 1664525u + 1013904223u;
        d->pixels[i] = (uint8_t)(x * (3 + c) / 9 + y / 2 + (x / 39 + y / 27 + c) % 3 * 50 +
                                 (int)(state >> 24) / 8);
    }
    d->affine = (leat_affine){ .n_channels = CHANNELS,
                               .scale = { 0.017f, 0.018f, 0.019f },
                               .shift = { -2.1f, -2.0f, -1.8f } };
    leat_dsp_affine_fill(&d->affine);
    arm_arg once = { .d = d, .level = LEAT_CPU_C };
    if (resize(&once) < 0)
        return -1;
    memcpy(d->small, d->out, VALUES);
    for (int i = 0; i < VALUES; i++)
        d->planes[i % CHANNELS][i / CHANNELS] = d->small[i];
    return 0;
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "pixels");
    data *d = calloc(1, sizeof *d);
    if (!d || leat_scratch_open(&d->scratch, 1 << 26, NULL) || fill(d))
        return 1;
    open_python(&d->python, d->pixels, sizeof d->pixels);
    bench_note(b, "cpu level", leat_cpu_name(leat_cpu_best()));
    note_python(b, d);
    run_group(b, d, "resize 500 x 375 to 224 x 224", resize, "resize", WIDE * TALL);
    run_group(b, d, "flip 224 x 224", flip, "flip", SIDE * SIDE);
    run_group(b, d, "YCbCr to RGB 224 x 224", colour, "colour", SIDE * SIDE);
    run_group(b, d, "normalize 224 x 224", normalize, "normalize", SIDE * SIDE);
    close_python(&d->python);
    leat_scratch_close(&d->scratch);
    free(d);
    return bench_close(&b);
}
