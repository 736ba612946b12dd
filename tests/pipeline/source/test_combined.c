/* SPDX-License-Identifier: MIT
 *
 * test_combined.c: concat, mix, interleave and zip through the whole engine: the samples, and the source of
 * each. */
#include <math.h>

#include "fixtures/combined_fixture.h"

/* The ids of one pass, and that x belongs to them. */
static size_t ids_of(const char *source, const char *pipeline, int64_t first_batch, int64_t *ids,
                     size_t most)
{
    leat_plan *plan;
    leat_error err;
    leat_batch *batch;
    size_t n = 0;
    check(combined_try_plan(source, "", pipeline, &plan, &err), &err);
    const int32_t x = leat_plan_tensor_index(plan, "x"), id = leat_plan_tensor_index(plan, "id");
    const leat_loader_options options = { .first_batch = first_batch, .epochs = -1 };
    leat_loader *loader = open_loader(plan, &options);
    const int64_t n_batches = leat_plan_get_info(plan)->n_batches;
    for (int64_t i = 0; i < n_batches; i++) {
        check(leat_loader_next(loader, &batch, &err), &err);
        const leat_view all = leat_batch_tensor(batch, id), rows = leat_batch_tensor(batch, x);
        for (int64_t j = 0; j < all.shape.dims[0]; j++) {
            assert_true(n < most);
            ids[n] = ((const int64_t *)all.data)[j];
            assert_true(((const float *)rows.data)[j * ROW_FLOATS] == (float)ids[n]);
            n++;
        }
        leat_batch_release(batch);
    }
    close_loader_and_plan(&loader, &plan);
    return n;
}

TEST(concat_gives_one_after_another)
{
    int64_t ids[200];
    assert_int_equal(ids_of("{concat: [" XA "}, " XB "}]}", "[{batch: 7}]", 0, ids, 200),
                     N_A + N_B);
    for (int64_t i = 0; i < N_A + N_B; i++)
        assert_int_equal(ids[i], i < N_A ? i : 100 + i - N_A);
    assert_int_equal(ids_of("{concat: {sources: [" XA ", pipeline: [{skip: 30}]}, " XB
                            ", pipeline: [{take: 3}, {repeat: 2}]}]}}",
                            "[{batch: 5}]", 0, ids, 200),
                     16);
    static const int64_t want[] = { 30, 31, 32,  33,  34,  35,  36,  37,
                                    38, 39, 100, 101, 102, 100, 101, 102 };
    assert_memory_equal(ids, want, sizeof want);
}

TEST(shuffled_sources_keep_their_places)
{
    int64_t ids[200];
    uint32_t seen[200] = { 0 };
    size_t moved = 0;
    ids_of("{concat: [" XA ", pipeline: [shuffle]}, " XB ", pipeline: [shuffle]}]}", "[{batch: 7}]",
           0, ids, 200);
    for (int64_t i = 0; i < N_A + N_B; i++) {
        assert_true((i < N_A) == (ids[i] < N_A));
        assert_int_equal(seen[ids[i]]++, 0);
        moved += ids[i] != (i < N_A ? i : 100 + i - N_A);
    }
    assert_true(moved > 40);
}

TEST(mix_holds_its_shares_and_goes_on)
{
    static const char source[] =
        "{mix: {weights: [0.75, 0.25], stop: shortest, sources: [" XA "}, " XB "}]}}";
    int64_t ids[200], next_a = 0, next_b = 0;
    const size_t n = ids_of(source, "[{batch: 4}]", 0, ids, 200);
    assert_in_range(n, 53, 55);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(ids[i], ids[i] < 100 ? next_a : 100 + next_b);
        ids[i] < 100 ? next_a++ : next_b++;
        assert_in_range(4 * (uint64_t)next_a + 3, 3 * (i + 1), 3 * (i + 1) + 6);
    }
    assert_int_equal(next_a, N_A); /* the one that ended the pass */
    /* The second pass goes on in b where the first one stopped. */
    ids_of(source, "[{batch: 4}]", (int64_t)(n + 3) / 4, ids, 200);
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= 100) {
            assert_int_equal(ids[i], 100 + next_b % N_B);
            next_b++;
        }
}

TEST(longest_brings_everything)
{
    int64_t ids[400];
    uint32_t seen[200] = { 0 };
    const size_t n =
        ids_of("{mix: [" XA ", pipeline: [shuffle]}, " XB "}]}", "[{batch: 9}]", 0, ids, 400);
    assert_in_range(n, 2 * N_A - 1, 2 * N_A);
    for (size_t i = 0; i < n; i++)
        seen[ids[i]]++;
    for (size_t i = 0; i < N_A; i++)
        assert_int_equal(seen[i], 1);
    for (size_t i = 0; i < N_B; i++)
        assert_in_range(seen[100 + i], 1, 2);
}

TEST(interleave_drops_what_has_ended)
{
    int64_t ids[200];
    assert_int_equal(ids_of("{interleave: {block_length: 2, sources: [" XA
                            ", pipeline: [{take: 7}]}, " XB ", pipeline: [{take: 3}]}]}}",
                            "[{batch: 3}]", 0, ids, 200),
                     10);
    static const int64_t want[] = { 0, 1, 100, 101, 2, 3, 102, 4, 5, 6 };
    assert_memory_equal(ids, want, sizeof want);
}

#define ZIP                                                                                        \
    "{zip: [" XA ", pipeline: [{skip: 1}, {shard: {count: 2, index: 1}}]}, "                       \
    "{tfrecord: {files: 'B', features: {y: {key: x}, id_b: {key: id, shape: []}}}}]}"

TEST(zip_puts_side_by_side)
{
    int64_t ids[200];
    assert_int_equal(ids_of(ZIP, "[{batch: 6}]", 0, ids, 200), 19);
    for (int64_t i = 0; i < 19; i++)
        assert_int_equal(ids[i], 2 + 2 * i);
    leat_plan *plan;
    leat_error err;
    leat_batch *batch;
    check(combined_try_plan(ZIP, "", "[shuffle, {batch: 19}]", &plan, &err), &err);
    assert_int_equal(leat_plan_get_info(plan)->n_tensors, 4);
    leat_loader *loader = open_loader(plan, NULL);
    check(leat_loader_next(loader, &batch, &err), &err);
    const int64_t *const id = leat_batch_tensor(batch, leat_plan_tensor_index(plan, "id")).data;
    const int64_t *const id_b = leat_batch_tensor(batch, leat_plan_tensor_index(plan, "id_b")).data;
    const float *const y = leat_batch_tensor(batch, leat_plan_tensor_index(plan, "y")).data;
    for (int i = 0; i < 19; i++) {
        assert_int_equal(id_b[i], 100 + (id[i] - 2) / 2);
        assert_true(y[i * ROW_FLOATS] == (float)id_b[i]);
    }
    leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
}

static leat_source_info source_of(const char *source)
{
    leat_plan *plan;
    leat_error err;
    leat_source_info info;
    check(combined_try_plan(source, "", "[{take: 4}, {batch: 4}]", &plan, &err), &err);
    leat_plan_source(plan, &info);
    leat_plan_close(&plan);
    return info;
}

static void expect_mean(const char *source, double bytes)
{
    const leat_source_info info = source_of(source);
    if (fabs(info.sample_bytes - bytes) > 1e-6 || fabs((double)info.mean_bytes - bytes) > 1)
        fail_msg("%s: %g and %d, not %g", source, info.sample_bytes, (int)info.mean_bytes, bytes);
}

TEST(a_mean_element_is_of_what_a_pass_takes)
{
    const leat_source_info of_a = source_of("{concat: [" XA "}]}"),
                           of_b = source_of("{concat: [" XB "}]}"), of_zip = source_of(ZIP);
    const double mean_a = of_a.sample_bytes, mean_b = of_b.sample_bytes;
    assert_true(mean_a > 0 && fabs(mean_a * N_A - (double)of_a.n_bytes) < 1e-6);
    assert_true(mean_b > 0 && mean_b < mean_a);
    expect_mean("{mix: {weights: [9, 1], sources: [" XA "}, " XB "}]}}", .9 * mean_a + .1 * mean_b);
    expect_mean("{concat: [" XA "}, " XB "}]}",
                (double)(of_a.n_bytes + of_b.n_bytes) / (N_A + N_B));
    expect_mean("{interleave: {sources: [" XA ", pipeline: [{take: 3}]}, " XB
                ", pipeline: [{take: 1}]}]}}",
                .75 * mean_a + .25 * mean_b);
    expect_mean(ZIP, mean_a + mean_b);
    assert_int_equal(of_zip.n_bytes, of_a.n_bytes + of_b.n_bytes);
    expect_mean("{concat: {sources: [" XA "}, " XB ", pipeline: [repeat]}]}}", 0); /* not known */
}

/* Sources that the engine reads, sources that open their own files, and both inside one another:
 * nothing of how it is run changes a byte. */
TEST(any_way_of_running_gives_the_same)
{
    static const char *const sources[] = {
        "{concat: [" XA "}, " XB "}]}",
        "{mix: {weights: [2, 5], sources: [" XA ", pipeline: [shuffle]}, " XB
        ", pipeline: [{repeat: 3}]}]}}",
        "{interleave: {block_length: 3, sources: [" XA "}, {concat: [" XB "}, " XA "}]}]}}",
        "{mix: [{images: 'I'}, {tfrecord: 'C', pipeline: [shuffle]}]}",
        "{concat: [{tfrecord: 'C'}, {mix: [{images: 'I', pipeline: [shuffle]}, {tfrecord: "
        "'C'}]}]}",
        "{interleave: [{images: 'I'}, {images: 'I', pipeline: [{skip: 2}]}]}",
        ZIP,
        "{zip: [" XA "}, {concat: [{tfrecord: {files: 'C', features: {image: {}}}}, {tfrecord: "
        "{files: 'C', features: {image: {}}}}]}]}",
    };
    static const char *const engines[] = { "threads: 0, reader: pread", "threads: 1",
                                           "threads: 3, reader: pread, run: 2",
                                           "threads: 4, read_bytes: 8 KiB",
                                           "threads: 8, fuse: false" };
    for (size_t s = 0; s < sizeof sources / sizeof *sources; s++) {
        const bool raw = strstr(sources[s], "image") && !strstr(sources[s], "zip");
        uint64_t want = 0;
        for (size_t e = 0; e < sizeof engines / sizeof *engines; e++)
            for (int prefetch = 0; prefetch <= 3; prefetch += 3) {
                char pipeline[300];
                leat_plan *plan;
                leat_error err;
                int64_t n;
                snprintf(pipeline, sizeof pipeline, "[%s{batch: 5}, {prefetch: %d}]",
                         raw ? "shuffle, {map: [{decode_raw: {dtype: float32, shape: [24]}}]}, "
                         : strstr(sources[s], "image")
                             ? "{map: {tensor: image, ops: [{decode_raw: {shape: [96]}}]}}, "
                             : "",
                         prefetch);
                check(combined_try_plan(sources[s], engines[e], pipeline, &plan, &err), &err);
                const uint64_t got = digest_and_close(plan, 3, &n);
                assert_true(n > 3);
                if (want && got != want)
                    fail_msg("%s differs with %s, prefetch %d", sources[s], engines[e], prefetch);
                want = got;
            }
    }
}

TEST(weights_are_exact)
{
    leat_plan *plan;
    leat_error err;
    uint64_t want = 0;
    static const char *const same[] = { "[0.7, 0.3]", "[7, 3]", "[700000000, 300000000]",
                                        "['0.700', .3]" };
    for (size_t i = 0; i < 4; i++) {
        char text[600];
        snprintf(text, sizeof text, "{mix: {weights: %s, sources: [" XA "}, " XB "}]}}", same[i]);
        check(combined_try_plan(text, "", "[{batch: 4}]", &plan, &err), &err);
        const uint64_t got = digest_and_close(plan, 0, NULL);
        assert_true(!want || got == want);
        want = got;
    }
}

/* Same names and types in another order, and a dim that differs, which then has no fixed size. */
TEST(features_are_matched_by_name)
{
    int64_t ids[200];
    leat_plan *plan;
    leat_error err;
    assert_int_equal(ids_of("{concat: [" XA "}, {tfrecord: {files: 'B', features: {id: {shape: "
                            "[]}, x: {}}}}]}",
                            "[{batch: 7}]", 0, ids, 200),
                     N_A + N_B);
    for (int64_t i = 0; i < N_A + N_B; i++)
        assert_int_equal(ids[i], i < N_A ? i : 100 + i - N_A);
    assert_true(combined_try_plan("{concat: [" XA
                                  "}, {tfrecord: {files: 'B', features: {x: {shape: [24, "
                                  "1]}, id: {shape: []}}}}]}",
                                  "", "[{batch: 7}]", &plan, &err) < 0);
    assert_int_equal(
        combined_try_plan("{concat: [{tfrecord: {files: 'A', features: {x: {shape: [4, 6]}}}}, "
                          "{tfrecord: {files: 'B', features: {x: {shape: [6, 4]}}}}]}",
                          "", "[{batch: 7}]", &plan, &err),
        LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "no fixed shape"));
    check(combined_try_plan("{concat: [{tfrecord: {files: 'A', features: {x: {shape: [4, 6]}}}}, "
                            "{tfrecord: {files: 'B', features: {x: {shape: [6, 4]}}}}]}",
                            "", "[{map: [{reshape: [24]}]}, {batch: 7}]", &plan, &err),
          &err);
    leat_plan_close(&plan);
}

static uint64_t digest_of(const char *source)
{
    leat_plan *plan;
    leat_error err;
    check(combined_try_plan(source, "", "[{batch: 4}]", &plan, &err), &err);
    const uint64_t digest = leat_plan_get_info(plan)->digest;
    leat_plan_close(&plan);
    return digest;
}

/* A state of one of these may not be taken up by another. */
TEST(each_plan_has_its_digest)
{
    static const char *const sources[] = {
        "{concat: [" XA "}, " XB "}]}",
        "{concat: [" XB "}, " XA "}]}",
        "{concat: [" XA "}, " XB ", pipeline: [shuffle]}]}",
        "{concat: [" XA "}, " XB ", pipeline: [{take: 25}]}]}",
        "{mix: [" XA "}, " XB "}]}",
        "{mix: {weights: [2, 1], sources: [" XA "}, " XB "}]}}",
        "{mix: {weights: [2, 1], stop: shortest, sources: [" XA "}, " XB "}]}}",
        "{interleave: [" XA "}, " XB "}]}",
        "{interleave: {block_length: 2, sources: [" XA "}, " XB "}]}}",
        ZIP,
    };
    const size_t n = sizeof sources / sizeof *sources;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            assert_int_equal(digest_of(sources[i]) == digest_of(sources[k]), i == k);
}

/* Which combinations of sources are refused, and that a message about a part (a note
 * or a bad record) names the part. */

static void refused(const char *source, const char *says)
{
    leat_plan *plan;
    leat_error err;
    if (combined_try_plan(source, "", "[{batch: 4}]", &plan, &err) >= 0)
        fail_msg("%s opens", source);
    assert_null(plan);
    if (!strstr(err.message, says) || strncmp(err.message, "c.yaml:1:", 9))
        fail_msg("%s\nsays: %s\nnot: %s", source, err.message, says);
}

TEST(errors_say_what_and_where)
{
    refused("{concat: []}", "sources is a list");
    refused("{concat: {tfrecord: 'A'}}", "option");
    refused("{concat: [7]}", "each entry is a source");
    refused("{concat: [{pipeline: [shuffle]}]}", "each entry is a source");
    refused("{concat: [{tfrecord: 'A', images: 'I'}]}", "own dash");
    refused("{concat: [{tfrecrd: 'A'}]}", "did you mean 'tfrecord'");
    refused("{concat: [" XA ", pipeline: [{batch: 3}]}]}", "batch is not allowed in the pipeline");
    refused("{concat: [" XA ", pipeline: [{map: [cast]}]}]}", "map is not allowed in the pipeline");
    refused("{concat: [" XA ", pipeline: shuffle}]}", "pipeline must be a list");
    refused("{concat: [" XA ", pipeline: [{skip: 99}]}]}", "skip removes all 40");
    refused("{concat: [" XA ", pipeline: [{repeat: forever}]}, " XB "}]}", "never be used");
    refused("{interleave: {cycle_length: 1, sources: [" XA ", pipeline: [repeat]}, " XB "}]}}",
            "never be used");
    refused("{mix: {weights: [1], sources: [" XA "}, " XB "}]}}", "a list of 2 numbers");
    refused("{mix: {weights: [1, 0], sources: [" XA "}, " XB "}]}}",
            "a weight is a number above 0");
    refused("{mix: {weights: [1, -1], sources: [" XA "}, " XB "}]}}", "above 0");
    refused("{mix: {weights: [1, 1e3], sources: [" XA "}, " XB "}]}}", "above 0");
    refused("{mix: {weights: [010, 1], sources: [" XA "}, " XB "}]}}",
            "at most 9 decimals and no zero before other digits; got '010'");
    refused("{mix: {weights: [1, 00], sources: [" XA "}, " XB "}]}}", "above 0");
    refused("{mix: {weights: [1, .], sources: [" XA "}, " XB "}]}}", "above 0");
    refused("{mix: {weights: [1, [2]], sources: [" XA "}, " XB "}]}}", "above 0");
    refused("{mix: {weights: [1, 0.0000000001], sources: [" XA "}, " XB "}]}}", "above 0");
    refused("{mix: {weights: [1, 65536], sources: [" XA "}, " XB "}]}}", "round them");
    refused("{mix: {stop: 0, sources: [" XA "}]}}", "stop");
    refused("{mix: [" XA "}, {tfrecord: {files: 'B', features: {x: {}}}}]}",
            "source 2 (tfrecord: {features: {x: {}}");
    refused("{mix: [" XA "}, {tfrecord: {files: 'B', features: {x: {}}}}]}",
            "and source 1 (tfrecord:");
    refused("{mix: [" XA "}, {tfrecord: {files: 'B', features: {x: {key: id}, id: {shape: []}}}}]}",
            "'x' as int64[] and source 1");
    refused("{zip: [" XA "}, " XB "}]}", "both have a tensor 'x'");
    refused("{zip: [" XA "}, " XB "}]}", "such as `features: {x_2: {key: KEY}}` with its key");
    refused("{zip: [" XA ", pipeline: [shuffle]}]}", "must be the same in every epoch");
    refused("{zip: [" XA ", pipeline: [{repeat: 2}]}]}", "must be the same in every epoch");
    refused("{zip: [{concat: [" XA ", pipeline: [shuffle]}]}]}", "must be the same");
}

/* KEY of `features` is of TFRecord files. */
TEST(advice_of_a_clash_fits_the_source)
{
    char source[600];
    put_text("clash.csv", "v\n1\n");
    snprintf(source, sizeof source, "{zip: [" XA "}, {csv: {files: '%s', features: {x: v}}}]}",
             in_folder("clash.csv"));
    refused(source,
            "both have a tensor 'x': give it another name in one of them under `features:`");
}

/* A label is one class in all parts: names that differ are refused, and the longest list is taken. */
TEST(a_label_is_one_class)
{
    static const char *const kinds[] = { "concat", "mix", "interleave" };
    static const struct {
        const char *one, *other, *message; /* NULL: fine */
        int32_t n;
    } cases[] = {
        { "[cat, dog, owl]", "[cat, owl]", "class 1 of 'label' is 'owl' in source 2 (csv:", 0 },
        { "[cat, owl]", "[cat, dog, owl]", "but 'owl' in source 1 (csv:", 0 },
        { "[cat, dog]", "[cat, dog, owl]", NULL, 3 },
        { "[cat, dog, owl]", "[cat]", NULL, 3 },
    };
    char text[1200];
    leat_plan *plan;
    leat_error err;
    put_text("animals.csv", "animal\ncat\n");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const char *const file = in_folder("animals.csv");
            snprintf(text, sizeof text,
                     "source: {%s: [{csv: {files: '%s', features: {label: {columns: animal, "
                     "classes: %s}}}}, {csv: {files: '%s', features: {label: {columns: animal, "
                     "classes: %s}}}}]}\npipeline: [{batch: 1}]\n",
                     kinds[k], file, cases[i].one, file, cases[i].other);
            const int rc = open_text(text, &plan, &err);
            assert_int_equal(rc, cases[i].message ? LEAT_E_CONFIG : LEAT_OK);
            if (cases[i].message)
                assert_non_null(strstr(err.message, cases[i].message));
            for (int32_t class = 0; class < cases[i].n; class ++)
                assert_non_null(leat_plan_class(plan, class));
            leat_plan_close(&plan);
        }
}

/* A part without names hides those of none: in a combination within one, too. */
TEST(known_names_are_compared_beside_unknown_ones)
{
    static const struct {
        const char *source; /* A and B have the same names in another order, D has none */
        bool is_refused;
    } cases[] = {
        { "{concat: [A, D, B]}", true },
        { "{concat: [A, {concat: [D, B]}]}", true },
        { "{concat: [A, {mix: [B, D]}]}", true },
        { "{mix: [{concat: [D, A]}, {interleave: [D, B]}]}", true },
        { "{interleave: [{concat: [D, {concat: [D, D, B]}]}, D, A]}", true },
        { "{concat: [A, {concat: [D, A]}]}", false },
        { "{concat: [D, {mix: [D, B]}, B]}", false },
    };
    char part[3][300], text[3000];
    leat_plan *plan;
    leat_error err;
    put_text("animals.csv", "animal\ncat\n");
    put_text("numbers.csv", "animal\n1\n");
    for (int i = 0; i < 3; i++)
        snprintf(part[i], sizeof part[i],
                 "{csv: {files: '%s', features: {label: {columns: animal, %s}}}}",
                 in_folder(i < 2 ? "animals.csv" : "numbers.csv"),
                 i == 0   ? "classes: [cat, dog]"
                 : i == 1 ? "classes: [dog, cat]"
                          : "type: int64");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        strcpy(text, "source: ");
        for (const char *at = cases[i].source; *at; at++)
            if (*at == 'A' || *at == 'B' || *at == 'D')
                strcat(text, part[*at == 'D' ? 2 : *at - 'A']);
            else
                strncat(text, at, 1);
        strcat(text, "\npipeline: [{batch: 1}]\n");
        const int rc = open_text(text, &plan, &err);
        if (rc != (cases[i].is_refused ? LEAT_E_CONFIG : LEAT_OK))
            fail_msg("%s: %s", cases[i].source, rc < 0 ? err.message : "accepted");
        if (cases[i].is_refused) {
            assert_non_null(strstr(err.message, "so labels mean other classes"));
            continue;
        }
        /* their number is not known, and the names of all are not */
        assert_int_equal(leat_plan_n_classes(plan, "label"), 0);
        assert_null(leat_plan_class(plan, 0));
        assert_string_equal(leat_plan_tensor_class(plan, "label", 0),
                            strchr(cases[i].source, 'A') ? "cat" : "dog");
        leat_plan_close(&plan);
    }
}

/* Those of the source are of the CSV feature `label`, or of the first one with `classes`, also where another source has a
 * label. Other features have their own. */
TEST(classes_are_of_one_feature)
{
    static const char *const sources[] = {
        "{csv: {files: '%s', features: {kind: {columns: animal, classes: [cat, dog]}, more: "
        "{columns: animal, classes: [dog, owl, cat]}, label: {columns: animal, type: int64, "
        "default: 1}}}}",
        "{csv: {files: '%s', features: {more: {columns: animal, classes: [dog, owl, cat]}, label: "
        "{columns: animal, classes: [cat, dog]}, kind: {columns: animal, classes: [cat]}}}}",
        "{zip: [{csv: {files: '%s', features: {kind: {columns: animal, classes: [cat, dog]}}}}, "
        "{csv: {files: '%s', features: {label: animal}}}]}",
        "{interleave: [{csv: {files: '%s', features: {label: {columns: animal, type: int64, "
        "default: 1}, kind: {columns: animal, classes: [cat, dog]}}}}]}",
    };
    put_text("animals.csv", "animal\ncat\n");
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        char source[800], text[1000];
        leat_plan *plan;
        leat_error err;
        const char *const file = in_folder("animals.csv");
        snprintf(source, sizeof source, sources[i], file, file);
        snprintf(text, sizeof text, "source: %s\npipeline: [{batch: 1}]\n", source);
        check(open_text(text, &plan, &err), &err);
        const bool is_label = i == 1;
        assert_int_equal(leat_plan_get_info(plan)->n_classes, 2);
        assert_int_equal(leat_plan_n_classes(plan, is_label ? "label" : "kind"), 2);
        assert_int_equal(leat_plan_n_classes(plan, is_label ? "kind" : "label"), is_label);
        assert_int_equal(leat_plan_n_classes(plan, "more"), i < 2 ? 3 : 0);
        leat_plan_close(&plan);
    }
}

/* A zip of a source with the classes `kind` and one with those of `label`, in either order. */
static const char *zip_of(bool turned, const char *kind, const char *label, char text[1000])
{
    char first[400], last[400];
    const char *const file = in_folder("animals.csv");
    snprintf(first, sizeof first,
             "{csv: {files: '%s', features: {kind: {columns: animal, classes: %s}}}}", file, kind);
    snprintf(last, sizeof last,
             "{csv: {files: '%s', features: {label: {columns: animal, classes: %s}}}}", file,
             label);
    snprintf(text, 1000, "{zip: [%s, %s]}", turned ? last : first, turned ? first : last);
    return text;
}

/* Whichever source is the first in a zip, each of its features keeps its names. */
TEST(a_zip_keeps_the_classes_of_each_feature)
{
    static const char *const kinds[] = { "concat", "interleave", "mix" };
    static const struct {
        const char *kind, *label, *said;
    } cases[] = {
        { "[cat, dog]", "[cat, cow, dog]", NULL },
        { "[cat, dog]", "[cow, cat, dog]", "class 0 of 'label' is 'cow' in source 2" },
        { "[cat, dog]", "[cat, cow, dog, owl]", NULL },
        { "[dog, cat]", "[cat, cow, dog]", "class 0 of 'kind' is 'dog' in source 2" },
    };
    char one[1000], other[1000], text[2200];
    leat_plan *plan;
    leat_error err;
    put_text("animals.csv", "animal\ncat\n");
    for (size_t i = 0; i < 4 * (sizeof cases / sizeof *cases); i++) {
        const size_t at = i / 4;
        zip_of(i & 1, "[cat, dog]", "[cat, cow, dog]", one);
        zip_of(i & 2, cases[at].kind, cases[at].label, other);
        snprintf(text, sizeof text, "source: %s\npipeline: [{batch: 1}]\n", one);
        check(open_text(text, &plan, &err), &err);
        assert_string_equal(leat_plan_class(plan, 1), "cow");
        assert_string_equal(leat_plan_tensor_class(plan, "label", 1), "cow");
        assert_string_equal(leat_plan_tensor_class(plan, "kind", 1), "dog");
        assert_int_equal(leat_plan_n_classes(plan, "kind"), 2);
        leat_plan_close(&plan);
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            snprintf(text, sizeof text, "source: {%s: [%s, %s]}\npipeline: [{batch: 1}]\n",
                     kinds[k], one, other);
            const int rc = open_text(text, &plan, &err);
            assert_int_equal(rc, cases[at].said ? LEAT_E_CONFIG : LEAT_OK);
            if (cases[at].said)
                assert_non_null(strstr(err.message, cases[at].said));
            else
                assert_int_equal(leat_plan_n_classes(plan, "label"), at == 2 ? 4 : 3);
            leat_plan_close(&plan);
        }
    }
}

/* In multiples of 10^-9 these weights sum to 2^64 + 1. */
TEST(weights_do_not_wrap)
{
    char source[4096] = "{mix: {weights: [";
    for (int i = 0; i < 18; i++)
        strcat(source, "1000000000, ");
    strcat(source, "446744073.709551616, 0.000000001], sources: [");
    for (int i = 0; i < 20; i++)
        strcat(source, i < 19 ? XA "}, " : XA "}]}}");
    refused(source, "round them");
}

/* What a source's own pipeline has to say is said with its number. */
TEST(notes_of_the_parts_reach_the_plan)
{
    leat_plan *plan;
    leat_error err;
    check(combined_try_plan("{concat: [" XA "}, {mix: [" XA "}, " XB
                            ", pipeline: [{filter: {feature: id, min: 103}}]}]}]}",
                            "", "[{batch: 4}]", &plan, &err),
          &err);
    assert_non_null(leat_plan_note(plan, 0));
    assert_string_equal(leat_plan_note(plan, 0), "source 2: source 2: filter: keeps 22 of 25 "
                                                 "samples; all of them are read once, at open");
    assert_null(leat_plan_note(plan, 1));
    leat_plan_close(&plan);
}

/* Samples of the part that another config leaves out come in the next epoch. */
TEST(a_part_of_shuffled_sources_is_told)
{
    static const struct {
        const char *source;
        bool is_told;
    } sources[] = {
        { "{concat: [" XA ", pipeline: [shuffle]}]}", true },
        { "{concat: [" XA "}, {concat: [" XB ", pipeline: [shuffle]}]}]}", true },
        { "{concat: [" XA ", pipeline: [{shuffle: {reshuffle: false}}]}]}", false },
    };
    for (size_t i = 0; i < 3; i++) {
        leat_plan *plan;
        leat_error err;
        bool is_told = false;
        check(combined_try_plan(sources[i].source, "", "[{take: 20}, {batch: 4}]", &plan, &err),
              &err);
        for (int32_t k = 0; leat_plan_note(plan, k); k++)
            is_told |= strstr(leat_plan_note(plan, k), "take: keeps different samples") != NULL;
        assert_int_equal(is_told, sources[i].is_told);
        leat_plan_close(&plan);
    }
}

/* … of every kind of source, and all that a part has to say. */
TEST(every_kind_names_its_parts)
{
    static const char *const kinds[] = { "concat", "mix", "interleave" };
    static const char kept[] = "source 1: filter: keeps 30 of 40 samples; all of them are read "
                               "once, at open";
    char source[600];
    leat_plan *plan;
    leat_error err;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        snprintf(source, sizeof source,
                 "{%s: [" XA ", pipeline: [{filter: {feature: id, min: 10}}, {shuffle: {window: "
                 "8}}]}, " XB ", pipeline: [{shuffle: {window: 6}}]}]}",
                 kinds[k]);
        check(combined_try_plan(source, "", "[{batch: 4}]", &plan, &err), &err);
        assert_string_equal(leat_plan_note(plan, 0), kept);
        assert_ptr_equal(strstr(leat_plan_note(plan, 1), "source 1: shuffle: with a window of 8"),
                         leat_plan_note(plan, 1));
        assert_ptr_equal(strstr(leat_plan_note(plan, 2), "source 2: shuffle: with a window of 6"),
                         leat_plan_note(plan, 2));
        assert_null(leat_plan_note(plan, 3));
        leat_plan_close(&plan);
    }
    check(combined_try_plan(
              "{zip: [{tfrecord: {files: 'A', features: {id: {shape: []}}}, pipeline: "
              "[{filter: {feature: id, min: 10}}, {take: 10}]}, {tfrecord: {files: 'C', features: "
              "{label: {shape: []}}}}]}",
              "", "[{batch: 4}]", &plan, &err),
          &err);
    assert_string_equal(leat_plan_note(plan, 0), kept);
    assert_null(leat_plan_note(plan, 1));
    leat_plan_close(&plan);
}

/* A damaged record is named by its own file and number there. */
TEST(a_bad_record_is_named_by_its_file)
{
    static const struct {
        const char *source, *first;
    } cases[] = {
        { "{concat: [" XA "}, " XB "}]}", NULL },
        { "{mix: [" XA "}, {concat: [" XB "}]}]}", NULL },
        { "{zip: [" XB "}, {tfrecord: {files: 'A', features: {y: {key: x}}}}]}", "a.tfrecord" },
    };
    char bad[80], side[90], command[400];
    snprintf(bad, sizeof bad, "%s/b.good", test_folder);
    snprintf(command, sizeof command, "cp %s %s", b, bad);
    assert_int_equal(system(command), 0);
    leat_plan *plan;
    leat_error err;
    check(combined_try_plan(cases[0].source, "", "[{batch: 4}]", &plan, &err),
          &err); /* makes the index */
    leat_plan_close(&plan);
    FILE *f = fopen(b, "r+b"); /* a byte near the end: in the last record */
    fseek(f, -8, SEEK_END);
    const int byte = fgetc(f);
    fseek(f, -8, SEEK_END);
    fputc(byte ^ 1, f);
    fclose(f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int ahead = 0; ahead < 2; ahead++) {
            leat_batch *batch;
            int rc;
            check(combined_try_plan(cases[i].source, ahead ? "" : "reader: pread", "[{batch: 4}]",
                                    &plan, &err),
                  &err);
            leat_loader *loader = open_loader(plan, NULL);
            while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK)
                leat_batch_release(batch);
            assert_int_equal(rc, LEAT_E_DATA);
            if (!strstr(err.message, "b.tfrecord, record 24"))
                fail_msg("%s", err.message);
            if (cases[i].first && !strstr(err.message, cases[i].first))
                fail_msg("%s", err.message);
            close_loader_and_plan(&loader, &plan);
        }
    snprintf(side, sizeof side, "%s.idx", b);
    snprintf(command, sizeof command, "mv %s %s; rm -f %s", bad, b, side);
    assert_int_equal(system(command), 0);
}

SUITE_FIXTURE(make_files, remove_folder)
