/* SPDX-License-Identifier: MIT
 *
 * test_whole_file.c: texts of all sizes from files, pipes and devices, and what is no text. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "fixtures/failing_malloc.h"
#include "fixtures/own_folder.h"
#include "formats/whole_file.h"

enum { MOST = 100000 };

static leat_format_error why;

static int read_text(const char *path, char **text, size_t *n)
{
    why = (leat_format_error){ .code = 0 };
    const int rc = leat_whole_file_read(path, MOST, text, n, &why);
    assert_int_equal(rc, why.code);
    assert_int_equal(rc == LEAT_FORMAT_OK, *text != NULL);
    return rc;
}

static void expect(const char *path, int code, const char *words)
{
    char *text;
    size_t n;
    assert_int_equal(read_text(path, &text, &n), code);
    if (!strstr(why.text, path) || !strstr(why.text, words))
        fail_msg("'%s', not '%s'", why.text, words);
}

TEST(files_of_all_sizes)
{
    static const size_t sizes[] = { 0,     1,     16382,    16383, 16384,   16385,
                                    32767, 32768, MOST - 1, MOST,  MOST + 1 };
    static char bytes[MOST + 1];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 % 251);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *text;
        size_t n;
        put_file("t", bytes, sizes[i]);
        if (sizes[i] > MOST) {
            expect(in_folder("t"), LEAT_FORMAT_BAD, "larger than 100000 bytes");
            continue;
        }
        assert_int_equal(read_text(in_folder("t"), &text, &n), LEAT_FORMAT_OK);
        assert_int_equal(n, sizes[i]);
        assert_memory_equal(text, bytes, n);
        assert_int_equal(text[n], 0);
        free(text);
        FILE *const file = fopen(in_folder("t"), "rb");
        assert_int_equal(fgetc(file), sizes[i] ? 0 : EOF);
        assert_int_equal(leat_whole_file_rest(file, "t", MOST, &text, &n, &why), LEAT_FORMAT_OK);
        assert_int_equal(n, sizes[i] ? sizes[i] - 1 : 0);
        fclose(file);
        free(text);
    }
}

TEST(what_is_no_text)
{
    expect("/dev/zero", LEAT_FORMAT_BAD, "larger than 100000 bytes");
    expect(test_folder, LEAT_FORMAT_IO, strerror(EISDIR));
    expect(in_folder("none"), LEAT_FORMAT_IO, strerror(ENOENT));
    expect("/proc/self/mem", LEAT_FORMAT_IO, strerror(EIO));
}

TEST(a_failed_allocation_is_not_the_end)
{
    static char bytes[40000];
    char *text;
    size_t n;
    int rc;
    long at = 0;
    put_file("t", bytes, sizeof bytes);
    const char *const path = in_folder("t");
    while (failing_malloc_at(at++), rc = leat_whole_file_read(path, MOST, &text, &n, &why),
           failing_malloc_hit()) {
        if (rc == LEAT_FORMAT_OK) { /* stdio does without its buffer */
            assert_int_equal(n, sizeof bytes);
            free(text);
        } else
            assert_int_equal(rc, LEAT_FORMAT_NOMEM);
    }
    assert_int_equal(rc, LEAT_FORMAT_OK);
    assert_true(at > 3);
    free(text);
}

static void *write_late(void *path)
{
    usleep(200000);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    usleep(200000);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(write(fd, "cat\n", 4), 4);
        usleep(20000);
    }
    close(fd);
    return NULL;
}

static void *close_late(void *end)
{
    usleep(200000);
    close(*(const int *)end);
    return NULL;
}

/* A pipe whose writer comes late and writes late, one whose writer ends late or has ended, one without. */
TEST(pipes)
{
    char path[100], *text;
    size_t n;
    int ends[2];
    pthread_t thread;
    snprintf(path, sizeof path, "%s", in_folder("pipe"));
    assert_int_equal(mkfifo(path, 0600), 0);
    pthread_create(&thread, NULL, write_late, path);
    assert_int_equal(read_text(path, &text, &n), LEAT_FORMAT_OK);
    pthread_join(thread, NULL);
    assert_string_equal(text, "cat\ncat\ncat\n");
    free(text);
    for (int has_ended = 0; has_ended < 2; has_ended++) { /* as a shell's <(...) */
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], "dog\n", 4), 4);
        if (has_ended)
            close(ends[1]);
        else
            pthread_create(&thread, NULL, close_late, &ends[1]);
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        assert_int_equal(read_text(path, &text, &n), LEAT_FORMAT_OK);
        if (!has_ended)
            pthread_join(thread, NULL);
        assert_string_equal(text, "dog\n");
        free(text);
        close(ends[0]);
    }
    expect(in_folder("pipe"), LEAT_FORMAT_IO, "no program writes to this pipe");
}

/* A pipe does not hold it up, and a file is read as without O_NONBLOCK. */
TEST(opened_without_waiting)
{
    char path[200];
    snprintf(path, sizeof path, "%s/x", test_folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    for (int i = 0; i < 2; i++) {
        const int fd = leat_format_open(path);
        assert_true(fd >= 0);
        assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
        close(fd);
        unlink(path);
        close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
    unlink(path);
    assert_int_equal(leat_format_open(path), -1);
}

SUITE_FIXTURE(make_folder, remove_folder)
