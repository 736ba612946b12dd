/* SPDX-License-Identifier: MIT
 *
 * test_manifest.c: manifests that are written are read back; every wrong text is refused with its place; any order of keys
 * and any white space is read; cut at every byte; memory that runs out. */
#include "fixtures/failing_malloc.h"
#include "fixtures/format_test.h"
#include "formats/manifest.h"

static const char *file_path(void)
{
    return in_folder("x-manifest.json");
}

enum { N_SHARDS = 5 };

static const leat_manifest_shard shards[N_SHARDS] = {
    { "x-00000-of-00002.tfrecord", 4560, 45, 0x0123456789abcdefu, 1 },
    { "folder/a \"b\"\\\n\xc3\xa9.tfrecord", 16, 1, 0, 1 },
    { "/elsewhere/empty", 0, 0, 0, 0 },
    { "\xf0\x9f\x90\x9f", (uint64_t)1 << 62, (uint64_t)1 << 58, UINT64_MAX, 1 },
    { "last", 1, 0, 1, 1 },
};

static void expect_same(const leat_manifest *m)
{
    assert_int_equal(m->n_shards, N_SHARDS);
    uint64_t bytes = 0, records = 0;
    for (size_t i = 0; i < N_SHARDS; i++) {
        assert_string_equal(m->shards[i].file, shards[i].file);
        assert_true(m->shards[i].bytes == shards[i].bytes);
        assert_true(m->shards[i].records == shards[i].records);
        assert_true(m->shards[i].digest == shards[i].digest);
        assert_int_equal(m->shards[i].has_digest, shards[i].has_digest);
        bytes += shards[i].bytes;
        records += shards[i].records;
    }
    assert_true(m->bytes == bytes && m->records == records);
}

TEST(same_after_reading)
{
    leat_format_error err;
    leat_manifest m;
    assert_int_equal(leat_manifest_write(file_path(), shards, N_SHARDS, &err), LEAT_FORMAT_OK);
    assert_int_equal(leat_manifest_read(file_path(), &m, &err), LEAT_FORMAT_OK);
    expect_same(&m);
    leat_manifest_close(&m);
    leat_manifest_close(&m);
    assert_int_equal(leat_manifest_write(file_path(), NULL, 0, &err), LEAT_FORMAT_OK);
    assert_int_equal(leat_manifest_read(file_path(), &m, &err), LEAT_FORMAT_OK);
    assert_int_equal(m.n_shards, 0);
    leat_manifest_close(&m);
    assert_int_equal(leat_manifest_read("/nowhere", &m, &err), LEAT_FORMAT_IO);
    const leat_manifest_shard no_utf8 = { "\xff", 0, 0, 0, 0 };
    assert_int_equal(leat_manifest_write(file_path(), &no_utf8, 1, &err), LEAT_FORMAT_BAD);
}

/* Written by other programs. */
TEST(other_ways_to_write_it)
{
    static const char *const texts[] = {
        "{\"shards\":[{\"records\":2,\"bytes\":40,\"file\":\"a\"}],\"leat_manifest\":1}",
        "\n{ \"leat_manifest\" :\t1 , \"made\" : {\"by\": [1, 2.5e3, null, \"]}\"]},\r\n "
        "\"shards\" : [ "
        "{ \"file\" : \"\\u0061\" , \"bytes\" : 40 , \"records\" : 2 , \"more\" : [[]] } ] } \n",
    };
    leat_format_error err;
    leat_manifest m;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint8_t *const text = copy_of(texts[i], strlen(texts[i]));
        if (leat_manifest_parse((char *)text, strlen(texts[i]), "m", &m, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(m.n_shards, 1);
        assert_string_equal(m.shards[0].file, "a");
        assert_true(m.bytes == 40 && m.records == 2 && !m.shards[0].has_digest);
        leat_manifest_close(&m);
        free(text);
    }
}

#define ONE "{\"leat_manifest\":1,\"shards\":[{\"file\":\"a\",\"bytes\":40,\"records\":2"

TEST(wrong_texts)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        { "", "'{' is missing" },
        { "[]", "byte 0: '{' is missing" },
        { "{}", "\"leat_manifest\" or \"shards\" is missing" },
        { "{\"leat_manifest\":1}", "\"shards\" is missing" },
        { "{\"shards\":[]}", "is missing" },
        { "{\"leat_manifest\":2,\"shards\":[]}", "another version" },
        { "{\"leat_manifest\":-1,\"shards\":[]}", "not a whole number" },
        { "{\"leat_manifest\":1,\"shards\":[],\"shards\":[]}", "twice" },
        { "{\"leat_manifest\":1,\"shards\":{}}", "'[' is missing" },
        { "{\"leat_manifest\":1,\"shards\":[]}x", "something follows the end" },
        { "{\"leat_manifest\":1,\"shards\":[],}", "a key is missing" },
        { "{\"leat_manifest\":1,\"records\":1,\"shards\":[]}", "not the sum" },
        { "{\"leat_manifest\":1,\"bytes\":1,\"shards\":[]}", "not the sum" },
        { "{\"leat_manifest\":1,\"shards\":[1]}", "no \"file\"" },
        { "{\"leat_manifest\":1,\"shards\":[{\"file\":\"\",\"bytes\":1,\"records\":0}]}",
          "no name" },
        { "{\"leat_manifest\":1,\"shards\":[{\"file\":\"a\\u0000b\",\"bytes\":1,\"records\":0}]}",
          "byte " },
        { "{\"leat_manifest\":1,\"shards\":[{\"file\":\"a\",\"records\":0}]}", "no \"bytes\"" },
        { "{\"leat_manifest\":1,\"shards\":[{\"file\":\"a\",\"bytes\":1.5,\"records\":0}]}",
          "no whole number" },
        { "{\"leat_manifest\":1,\"shards\":[{\"file\":\"a\",\"bytes\":31,\"records\":2}]}",
          "more records than fit" },
        { ONE ",\"xxh3\":\"0123\"}]}", "16 hex digits" },
        { ONE ",\"xxh3\":7}]}", "16 hex digits" },
        { ONE ",\"records\":3}]}", "duplicate" },
        { ONE "}", "']' is missing" },
        { ONE "},]}", "byte " },
        { "{\"leat_manifest\":1,\"shards\":[{\"file\":\"a\",\"bytes\":9223372036854775807,"
          "\"records\":0},{\"file\":\"b\",\"bytes\":1,\"records\":0}]}",
          "2^63" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        leat_format_error err = { 0 };
        leat_manifest m;
        const int rc = leat_manifest_parse(wrong[i].text, strlen(wrong[i].text),
                                           "the-manifest.json", &m, &err);
        if (rc != LEAT_FORMAT_BAD || !strstr(err.text, wrong[i].says) ||
            !strstr(err.text, "the-manifest.json: "))
            fail_msg("%s\n%d: %s\nnot: %s", wrong[i].text, rc, err.text, wrong[i].says);
        leat_manifest_close(&m);
    }
}

TEST(cut_at_every_byte)
{
    leat_format_error err;
    leat_manifest m;
    size_t size;
    assert_int_equal(leat_manifest_write(file_path(), shards, N_SHARDS, &err), LEAT_FORMAT_OK);
    uint8_t *const whole = read_whole(file_path(), &size);
    for (size_t n = 0; n + 1 < size; n++) { /* without the last line break it is whole */
        uint8_t *const part = copy_of(whole, n);
        assert_int_equal(leat_manifest_parse((char *)part, n, "m", &m, &err), LEAT_FORMAT_BAD);
        assert_in_range(err.offset, 0, n);
        leat_manifest_close(&m);
        free(part);
    }
    free(whole);
}

TEST(memory_runs_out)
{
    leat_format_error err = { 0 };
    leat_manifest m;
    int rc, n_failed = 0;
    assert_int_equal(leat_manifest_write(file_path(), shards, N_SHARDS, &err), LEAT_FORMAT_OK);
    for (long n = 0;
         failing_malloc_at(n), rc = leat_manifest_read(file_path(), &m, &err), failing_malloc_hit();
         n++) {
        assert_true(rc == LEAT_FORMAT_OK || err.text[0]);
        leat_manifest_close(&m);
        n_failed += rc < 0;
    }
    assert_true(rc == LEAT_FORMAT_OK && n_failed > N_SHARDS);
    leat_manifest_close(&m);
}

/* In byte order, what belongs to a name with it; if some names are absolute, all are. */
TEST(sorted)
{
    static const char *const relative = "c/b a ../z c", *const mixed = "c /~/a b /!/a";
    char text[1000], name[40], *real = realpath(in_folder("."), NULL), wanted[2][1000];
    leat_format_error why;
    snprintf(wanted[0], sizeof wanted[0], "../z 3 a 2 c 4 c/b 1 ");
    snprintf(wanted[1], sizeof wanted[1], "/!/a 4 %s/b 3 %s/c 1 /~/a 2 ", real, real);
    for (int i = 0; i < 2; i++) {
        const char *at = i ? mixed : relative;
        char got[1000] = "";
        leat_manifest m;
        strcpy(text, "{\"leat_manifest\": 1, \"shards\": [");
        for (int k = 1, n = 0; sscanf(at, "%39s%n", name, &n) == 1; k++, at += n)
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     "%s{\"file\": \"%s\", \"bytes\": %d, \"records\": 0}", k > 1 ? ", " : "", name,
                     k);
        strcat(text, "]}");
        assert_int_equal(leat_manifest_parse(text, strlen(text), "m", &m, &why), LEAT_FORMAT_OK);
        for (long n = 0; failing_malloc_at(n), leat_manifest_sort(&m, file_path(), &why) < 0; n++)
            assert_true(failing_malloc_hit() && n < 5);
        failing_malloc_hit();
        for (size_t k = 0; k < m.n_shards; k++)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s %d ", m.shards[k].file,
                     (int)m.shards[k].bytes);
        assert_string_equal(got, wanted[i]);
        assert_int_equal(leat_manifest_sort(&m, "/missing/m", &why), LEAT_FORMAT_OK);
        leat_manifest_close(&m);
    }
    free(real);
}

TEST(names_and_paths)
{
    static const char *const is[] = { "manifest.json", "a/manifest.json", "a-manifest.json",
                                      "a.manifest.json" };
    static const char *const is_not[] = { "", "a.json", "amanifest.json", "manifest.json.idx" };
    static const char *const paths[][3] = { { "a/b/manifest.json", "c", "a/b/c" },
                                            { "manifest.json", "c/d", "c/d" },
                                            { "/manifest.json", "c", "/c" },
                                            { "a/manifest.json", "/c", "/c" } };
    for (size_t i = 0; i < 4; i++) {
        assert_true(leat_manifest_is(is[i]));
        assert_false(leat_manifest_is(is_not[i]));
        char *const path = leat_manifest_path(paths[i][0], paths[i][1]);
        assert_string_equal(path, paths[i][2]);
        free(path);
    }
}

SUITE_FIXTURE(make_folder, remove_folder)
