/* SPDX-License-Identifier: MIT
 *
 * test_command_repair.c: `leat repair`, and what `inspect`, `index` and `bench` do with damaged files. */
#include "fixtures/command_fixture.h"
#include "fixtures/sanitized.h"

/* x.tfrecord: 24 records in one file; xd.tfrecord: the same with the length of record `hit` damaged and its
 * end cut, so that the last record is lost too. */
static int64_t lengths_of(int hit, int64_t *offset)
{
    uint64_t length = 0;
    char path[128];
    snprintf(path, sizeof path, "%s/x.tfrecord", folder);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    *offset = 0;
    for (int r = 0; r <= hit; r++) {
        *offset += r ? (int64_t)length + 16 : 0;
        assert_int_equal(fseek(file, (long)*offset, SEEK_SET), 0);
        assert_int_equal(fread(&length, 8, 1, file), 1);
    }
    fclose(file);
    return (int64_t)length + 16;
}

static int make_damaged(void **state)
{
    int64_t at;
    if (command_make_folder(state) < 0 ||
        shell("$L synth set --n 24 --size 16 --seed 7 -q && $L convert images set -o y -q && "
              "mv y-00000-of-00001.tfrecord x.tfrecord && rm -f y*"))
        return -1;
    lengths_of(5, &at);
    return shell(
        "cp x.tfrecord xd.tfrecord && chmod +w xd.tfrecord && truncate -s -7 xd.tfrecord && "
        "printf '\\377' | dd of=xd.tfrecord bs=1 seek=%lld conv=notrunc",
        (long long)at + 2);
}

static int clean_copies(void **state)
{
    return shell("rm -f y*");
}

TEST(repair_writes_what_is_sound)
{
    int64_t at, last;
    const int64_t bytes = lengths_of(5, &at), tail = lengths_of(23, &last) - 7;
    char line[128];
    expect_success(shell("$L repair xd.tfrecord -o y.tfrecord"));
    snprintf(line, sizeof line, "lost: record 5, bytes %lld to %lld (%lld): length CRC is",
             (long long)at, (long long)(at + bytes - 1), (long long)bytes);
    expect_in(out, line);
    snprintf(line, sizeof line, "lost: record 23, bytes %lld to %lld (%lld): truncated",
             (long long)last, (long long)(last + tail - 1), (long long)tail);
    expect_in(out, line);
    expect_in(out, "y.tfrecord: 22 records");
    expect_success(shell("$L index --check y.tfrecord && $L inspect y.tfrecord"));
    expect_in(out, "22 records");
    /* The bytes are those of the sound file without the two. */
    expect_success(shell("{ head -c %lld x.tfrecord; tail -c +%lld x.tfrecord | head -c %lld; } | "
                         "cmp - y.tfrecord",
                         (long long)at, (long long)(at + bytes + 1),
                         (long long)(last - at - bytes)));
    expect_failure(shell("$L repair xd.tfrecord -o y.tfrecord"), 2, "y.tfrecord exists");
    expect_failure(shell("$L repair xd.tfrecord"), 2, "needs -o OUT");
}

TEST(of_two_repairs_at_once_one_fails)
{
    for (int i = 0; i < 5; i++) {
        expect_success(shell("rm -f y.tfrecord*; for n in 1 2; do "
                             "{ $L repair xd.tfrecord -o y.tfrecord -q >y$n; echo $? >y$n.rc; } & "
                             "done; wait; cat y1.rc y2.rc | grep -c '^0'"));
        expect_in(out, "1\n");
        assert_true(strstr(err, "meanwhile") || strstr(err, "y.tfrecord exists"));
    }
}

TEST(repair_as_json)
{
    int64_t at;
    const int64_t bytes = lengths_of(5, &at);
    expect_success(shell("$L repair xd.tfrecord -o y.tfrecord --json -"));
    json_t *const json = parse_out(), *const lost = json_object_get(json, "lost");
    assert_int_equal(number(json, "records"), 22);
    assert_int_equal(json_array_size(lost), 2);
    assert_int_equal(number(json_array_get(lost, 0), "record"), 5);
    assert_int_equal(number(json_array_get(lost, 0), "offset"), at);
    assert_int_equal(number(json_array_get(lost, 0), "bytes"), bytes);
    json_decref(json);
}

TEST(repair_of_what_is_sound_or_nothing)
{
    expect_success(shell("$L repair x.tfrecord -o y.tfrecord && cmp x.tfrecord y.tfrecord"));
    expect_in(out, "in 0 places");
    expect_success(shell("rm y.tfrecord*; seq 1 100000 >ytext"));
    expect_failure(shell("$L repair ytext -o y.tfrecord >yout"), 1, "holds no intact record");
    assert_int_equal(count_files("*y.tfrecord*"), 0);
    expect_failure(shell("$L repair missing -o y.tfrecord"), 1, "missing: No such file");
}

TEST(inspect_goes_past_damage)
{
    assert_int_equal(shell("$L inspect xd.tfrecord"), 1);
    expect_in(out, "22 records");
    expect_in(out, "image/encoded");
    expect_in(err, "2 places are damaged");
    expect_in(err, "leat repair FILE -o OUT");
    expect_in(err, "xd.tfrecord: record 5 at byte");
    assert_int_equal(shell("$L inspect xd.tfrecord --json -"), 1);
    json_t *const json = parse_out();
    assert_int_equal(number(json, "lost_places"), 2);
    json_decref(json);
    expect_success(shell("$L inspect xd.tfrecord --record 6"));
    expect_failure(shell("$L inspect xd.tfrecord --record 5"), 1, "record 5 at byte");
}

/* It may be longer than the memory. */
TEST(inspect_reads_little_of_what_is_lost)
{
#ifdef SANITIZED
    skip(); /* a sanitizer reserves terabytes of address space for its shadow memory */
#else
    expect_success(shell("cp x.tfrecord y.tfrecord && chmod +w y.tfrecord && "
                         "truncate -s +300M y.tfrecord"));
    expect_failure(shell("ulimit -v 200000; $L inspect y.tfrecord --record 24"), 1,
                   "length CRC is 00000000");
#endif
}

TEST(index_goes_past_damage)
{
    expect_success(shell("rm -f xd.tfrecord.idx; $L index xd.tfrecord"));
    expect_in(out, "24 records");
    expect_in(out, "damaged in 2 places");
    expect_failure(shell("$L index --check xd.tfrecord"), 1, "2 places are damaged");
}

TEST(bench_says_what_is_lost)
{
    expect_success(
        shell("cat >y.yaml <<EOF\n"
              "source: {tfrecord: xd.tfrecord}\n"
              "pipeline: [map: [decode_image, resize: [16, 16]], on_error: mask, batch: 8]\n"
              "EOF"));
    expect_success(shell("$L bench y.yaml --epochs 1 --json -"));
    json_t *const json = parse_out();
    assert_true(number(json, "lost_bytes") > 0);
    json_decref(json);
    expect_failure(shell("$L bench y.yaml --set pipeline.on_error=fail"), 1,
                   "xd.tfrecord: record 5 at byte");
    expect_in(err, "leat repair");
}

TEST_FIXTURE(clean_copies, NULL)
SUITE_FIXTURE(make_damaged, command_remove_folder)
