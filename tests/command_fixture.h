/* SPDX-License-Identifier: MIT
 *
 * command_fixture.h: the `leat` command as its users see it: a child process in a folder of the test's
 * own, its output, its exit code and the files that it leaves. */
#ifndef COMMAND_FIXTURE_H
#define COMMAND_FIXTURE_H

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#ifndef BUILD_DIR
#define BUILD_DIR "."
#endif
#define LEAT BUILD_DIR "/leat"

static char folder[64];
static char out[1 << 20], err[1 << 16]; /* of the last run */

static inline void slurp(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
}

/* Runs a line of shell in the test's folder with $L the command; gives its exit code, or 256 plus
 * the signal that ended it. */
static inline int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline int shell(const char *format, ...)
{
    char line[4096], command[4096 + 256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    snprintf(command, sizeof command, "cd %s && L=%s && { %s\n} >.out 2>.err", folder, LEAT, line);
    const int status = system(command);
    assert_int_not_equal(status, -1);
    snprintf(command, sizeof command, "%s/.out", folder);
    slurp(command, out, sizeof out);
    snprintf(command, sizeof command, "%s/.err", folder);
    slurp(command, err, sizeof err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static inline void expect_in(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

/* The last run must have ended so, with nothing on standard output and this in its message. */
static inline void expect_failure(int code, int expected, const char *part)
{
    if (code != expected)
        fail_msg("exit code %d instead of %d; it said: %s", code, expected, err);
    expect_in(err, part);
    assert_string_equal(out, "");
}

static inline void expect_success(int code)
{
    if (code != 0)
        fail_msg("exit code %d; it said: %s", code, err);
}

/* Names in the test's folder that fit a pattern, hidden ones too. */
static inline int count_files(const char *pattern)
{
    expect_success(shell("find . -maxdepth 1 -name '%s' | wc -l", pattern));
    return atoi(out);
}

static inline json_t *parse_out(void)
{
    json_error_t why;
    json_t *json = json_loads(out, 0, &why);
    if (!json)
        fail_msg("no JSON: %s in:\n%s", why.text, out);
    return json;
}

static inline int64_t number(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    if (!json_is_number(value))
        fail_msg("no number \"%s\"", key);
    return (int64_t)json_number_value(value);
}

/* A folder of the test's own, in memory where that is possible: what is tested here syncs a lot of files. */
static inline int make_folder(void **state)
{
    (void)state;
    /* The models here are tiny; and a thread checker does not see how OpenMP's own threads wait. */
    setenv("OMP_NUM_THREADS", "1", 0);
    strcpy(folder, "/dev/shm/leat-command-XXXXXX");
    if (mkdtemp(folder))
        return 0;
    strcpy(folder, "/tmp/leat-command-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

/* And in it 240 images of ten classes in images/, 60 in test-images/. */
static inline int make_images(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    return shell("$L synth set --n 300 --size 16 --seed 7 --split 0.2 -q && mv set/train images && "
                 "mv set/test test-images");
}

static inline int remove_folder(void **state)
{
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* Takes away what a test made, but the images. */
static inline int clean(void **state)
{
    (void)state;
    return shell("rm -rf x* .x* y* bad");
}

#endif
