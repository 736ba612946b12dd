/* SPDX-License-Identifier: MIT
 *
 * test_events.c: event files: byte for byte as TensorBoard's own code writes them, read back, cut at every
 * byte, on a full disk, and by a process that is killed. */
#include <glob.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "fixtures/failing_malloc.h"
#include "fixtures/format_test.h"
#include "formats/events.h"
#include "formats/tfrecord.h"

static const char golden[] = SOURCE_DIR "/tests/golden/events.tfevents";

static leat_event_writer *open_writer(int64_t first_step)
{
    leat_event_writer *writer;
    leat_format_error err;
    const int rc = leat_event_writer_open(&writer, test_folder, 1700000000.25, first_step, &err);
    if (rc < 0)
        fail_msg("%s", err.text);
    return writer;
}

/* The path of the newest event file, or of the one so many before it, which has a lower name. */
static const char *event_file(size_t before)
{
    static char found[512];
    char pattern[128];
    glob_t files;
    snprintf(pattern, sizeof pattern, "%s/events.out.tfevents.*", test_folder);
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    assert_true(files.gl_pathc > before);
    snprintf(found, sizeof found, "%s", files.gl_pathv[files.gl_pathc - 1 - before]);
    globfree(&files);
    return found;
}

/* The events of make_events.py. */
static int write_golden(leat_event_writer *writer, leat_format_error *err)
{
    uint8_t bytes[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    int rc = leat_event_writer_scalar(writer, "step/loss", 50, 1700000001.5, 2.302585, err);
    if (rc == 0)
        rc = leat_event_writer_scalar(writer, "step/loss", (int64_t)1 << 40, 1700000002.5, 0, err);
    if (rc == 0)
        rc = leat_event_writer_scalar(writer,
                                      "step/gr\xc3\xb6\xc3\x9f"
                                      "e",
                                      0, 0, INFINITY, err);
    if (rc == 0)
        rc = leat_event_writer_image(writer, "batch", 40, 1700000003.0, 2, 3, bytes, sizeof bytes,
                                     err);
    return rc;
}

TEST(same_bytes_as_tensorboard)
{
    size_t size, expected_size;
    leat_format_error err;
    leat_event_writer *writer = open_writer(40);
    assert_true(leat_event_is_name(event_file(0)));
    assert_int_equal(write_golden(writer, &err), 0);
    assert_int_equal(leat_event_writer_flush(writer, &err), 0);
    uint8_t *const bytes = read_whole(event_file(0), &size);
    uint8_t *const expected = read_whole(golden, &expected_size);
    assert_non_null(expected);
    assert_int_equal(size, expected_size);
    assert_memory_equal(bytes, expected, size);
    leat_event_writer_close(&writer);
    assert_null(writer);
    leat_event_writer_close(&writer);
    free(bytes);
    free(expected);
}

static void expect(leat_event_reader *reader, int kind, const char *tag, int64_t step, double wall)
{
    leat_summary_value event;
    leat_format_error err;
    const int rc = leat_event_reader_next(reader, &event, &err);
    if (rc < 0)
        fail_msg("%d: %s", rc, err.text);
    assert_int_equal(event.kind, kind);
    if (kind != LEAT_EVENT_START)
        assert_string_equal(event.tag, tag);
    assert_int_equal(event.step, step);
    assert_true(event.wall_s == wall);
}

static void expect_scalar(leat_event_reader *reader, const char *tag, int64_t step, double wall,
                          float value)
{
    leat_summary_value event;
    assert_int_equal(leat_event_reader_next(reader, &event, NULL), 0);
    assert_int_equal(event.kind, LEAT_EVENT_SCALAR);
    assert_string_equal(event.tag, tag);
    assert_int_equal(event.step, step);
    assert_true(event.wall_s == wall && event.value == value);
}

static leat_event_reader *open_reader(const char *path)
{
    leat_event_reader *reader;
    leat_format_error err;
    if (leat_event_reader_open(&reader, path, &err) < 0)
        fail_msg("%s", err.text);
    return reader;
}

TEST(reads_what_it_writes)
{
    leat_summary_value event;
    leat_event_reader *reader = open_reader(golden);
    expect(reader, LEAT_EVENT_START, NULL, 40, 1700000000.25);
    expect_scalar(reader, "step/loss", 50, 1700000001.5, 2.302585f);
    expect_scalar(reader, "step/loss", (int64_t)1 << 40, 1700000002.5, 0);
    expect_scalar(reader,
                  "step/gr\xc3\xb6\xc3\x9f"
                  "e",
                  0, 0, INFINITY);
    assert_int_equal(leat_event_reader_next(reader, &event, NULL), 0);
    assert_int_equal(event.kind, LEAT_EVENT_IMAGE);
    assert_string_equal(event.tag, "batch");
    assert_int_equal(event.image_size, 256);
    assert_int_equal(event.image[255], 255);
    for (int i = 0; i < 2; i++)
        assert_int_equal(leat_event_reader_next(reader, &event, NULL), LEAT_FORMAT_END);
    leat_event_reader_close(&reader);
    assert_null(reader);
}

/* Messages that are neither scalar, image nor start are passed over, wherever they stand. */
TEST(reads_what_others_write)
{
    leat_summary_value event;
    leat_event_reader *reader = open_reader(SOURCE_DIR "/tests/golden/events_other.tfevents");
    expect_scalar(reader, "a", 1, 2, 1);
    expect_scalar(reader, "b", 1, 2, -2.5f);
    expect_scalar(reader, "", 1, 2, 3);
    expect_scalar(reader, "c", -7, 6, 4);
    assert_int_equal(leat_event_reader_next(reader, &event, NULL), LEAT_FORMAT_END);
    leat_event_reader_close(&reader);
}

/* Writers that begin in one second have files of their own, whose names are in order. */
TEST(names_are_new)
{
    leat_summary_value event;
    leat_event_writer *a = open_writer(1), *b = open_writer(2);
    for (int i = 0; i < 2; i++) {
        leat_event_reader *reader = open_reader(event_file((size_t)i));
        assert_non_null(strstr(event_file((size_t)i), "/events.out.tfevents.17000000"));
        assert_int_equal(leat_event_reader_next(reader, &event, NULL), LEAT_FORMAT_OK);
        assert_int_equal(event.step, 2 - i); /* of the writer's first step */
        leat_event_reader_close(&reader);
    }
    leat_event_writer_close(&a);
    leat_event_writer_close(&b);
}

/* A file of n bytes of the golden one gives the events that are whole in it, then END or BAD. */
TEST(cut_at_every_byte)
{
    size_t size;
    leat_format_error err;
    leat_summary_value event;
    uint8_t *const bytes = read_whole(golden, &size);
    int most = 0;
    for (size_t n = 0; n <= size; n++) {
        leat_event_reader *reader;
        int rc, n_events = 0;
        put_file("part.tfevents", bytes, n);
        rc = leat_event_reader_open(&reader, in_folder("part.tfevents"), &err);
        if (rc == 0) {
            while ((rc = leat_event_reader_next(reader, &event, &err)) == 0)
                n_events++;
            assert_in_range(n_events, most, most + 1);
            most = n_events;
            leat_event_reader_close(&reader);
        } else {
            assert_null(reader);
            assert_int_equal(most, 0);
        }
        assert_true(rc == LEAT_FORMAT_END ||
                    (rc == LEAT_FORMAT_BAD && strstr(err.text, "part.tfevents")));
    }
    assert_int_equal(most, 5);
    free(bytes);
}

TEST(other_files_are_refused)
{
    leat_event_reader *reader;
    leat_format_error err;
    assert_int_equal(
        leat_event_reader_open(&reader, SOURCE_DIR "/tests/golden/images.tfrecord", &err),
        LEAT_FORMAT_BAD);
    assert_non_null(strstr(err.text, "images.tfrecord: record 0 at byte 0"));
    assert_int_equal(leat_event_reader_open(&reader, in_folder("none"), &err), LEAT_FORMAT_IO);
    assert_int_equal(
        leat_event_writer_open(&(leat_event_writer *){ 0 }, in_folder("none"), 0, 0, &err),
        LEAT_FORMAT_IO);
    assert_true(leat_event_is_name("a/events.out.tfevents.1"));
    assert_false(leat_event_is_name("a.tfevents/log.jsonl"));
}

/* What was flushed before SIGKILL is all there, whatever came after the flush. */
TEST(killed_after_a_flush)
{
    int status;
    leat_summary_value event;
    leat_event_writer *writer = open_writer(0);
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 1000; i++)
            leat_event_writer_scalar(writer, "x", i, i, i, NULL);
        leat_event_writer_flush(writer, NULL);
        leat_event_writer_scalar(writer, "x", 1000, 0, 0, NULL);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    leat_event_reader *reader = open_reader(event_file(0));
    expect(reader, LEAT_EVENT_START, NULL, 0, 1700000000.25);
    for (int i = 0; i < 1000; i++)
        expect_scalar(reader, "x", i, i, (float)i);
    assert_int_equal(leat_event_reader_next(reader, &event, NULL), LEAT_FORMAT_END);
    leat_event_reader_close(&reader);
    leat_event_writer_close(&writer);
}

/* A full disk: the file keeps what was flushed before, whole, and every later call says so. */
TEST(full_disk_keeps_whole_records)
{
    leat_summary_value event;
    leat_format_error err = { 0 };
    struct rlimit before, small = { 300, 300 };
    leat_event_writer *writer = open_writer(0);
    assert_int_equal(leat_event_writer_scalar(writer, "x", 1, 2, 3, &err), 0);
    assert_int_equal(leat_event_writer_flush(writer, &err), 0);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 100; i++)
        assert_int_equal(leat_event_writer_scalar(writer, "x", i, 2, 3, &err), 0);
    const int failed = leat_event_writer_flush(writer, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(failed, LEAT_FORMAT_IO);
    assert_non_null(strstr(err.text, "File too large"));
    assert_int_equal(leat_event_writer_flush(writer, &err), LEAT_FORMAT_IO);
    leat_event_reader *reader = open_reader(event_file(0));
    expect(reader, LEAT_EVENT_START, NULL, 0, 1700000000.25);
    expect_scalar(reader, "x", 1, 2, 3);
    assert_int_equal(leat_event_reader_next(reader, &event, NULL), LEAT_FORMAT_END);
    leat_event_reader_close(&reader);
    leat_event_writer_close(&writer);
}

/* More than the buffer holds is written without a flush being asked for. */
TEST(memory_is_bounded)
{
    static uint8_t image[700000];
    struct stat file;
    leat_event_writer *writer = open_writer(0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            leat_event_writer_image(writer, "i", i, 0, 1, 1, image, sizeof image, NULL), 0);
    assert_int_equal(stat(event_file(0), &file), 0);
    assert_in_range(file.st_size, 2 * sizeof image, 2 * sizeof image + 200);
    leat_event_writer_close(&writer);
}

TEST(memory_runs_out)
{
    leat_format_error err;
    leat_summary_value event;
    for (long n = 0;; n++) {
        leat_event_writer *writer;
        leat_event_reader *reader = NULL;
        failing_malloc_at(n);
        int rc = leat_event_writer_open(&writer, test_folder, 1, 5, &err);
        if (rc == 0)
            rc = write_golden(writer, &err);
        leat_event_writer_close(&writer);
        if (rc == 0)
            rc = leat_event_reader_open(&reader, golden, &err);
        while (rc == 0)
            rc = leat_event_reader_next(reader, &event, &err);
        leat_event_reader_close(&reader);
        if (!failing_malloc_hit()) {
            assert_int_equal(rc, LEAT_FORMAT_END);
            break;
        }
        /* protobuf-c does not tell a lack of memory from damage */
        assert_true(rc == LEAT_FORMAT_NOMEM || rc == LEAT_FORMAT_BAD);
        assert_true(n < 200);
    }
}

SUITE_FIXTURE(make_folder, remove_folder)
