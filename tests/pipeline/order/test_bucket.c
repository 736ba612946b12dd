/* SPDX-License-Identifier: MIT
 *
 * test_bucket.c: batches of samples of nearly the same length, against plain lists. */
#include "fixtures/engine_fixture.h"

#include <math.h>
#include <unistd.h>

#include "fixtures/record_file.h"
#include "pipeline/plan/plan_impl.h"

#define N_RECORDS 700
#define MOST      40
#define N_BUCKETS 3

static const int rooms[N_BUCKETS] = { 8, 20, 40 }, sizes[N_BUCKETS] = { 32, 16, 5 };

static int length_of(int r)
{
    return r * 37 % (MOST + 1);
}
static int bucket_of(int r)
{
    int k = 0;
    while (length_of(r) > rooms[k])
        k++;
    return k;
}

static void write_file(bool backwards)
{
    leat_format_error err;
    record_writer to = open_records(path);
    for (int at = 0; at < N_RECORDS; at++) {
        const int r = backwards ? N_RECORDS - 1 - at : at;
        int64_t tokens[MOST];
        float tags[MOST];
        const int64_t id = r;
        for (int i = 0; i < length_of(r); i++) {
            tokens[i] = r * 100 + i;
            tags[i] = (float)(r + i);
        }
        assert_int_equal(leat_example_add_int64s(to.builder, "id", &id, 1, &err), 0);
        assert_int_equal(
            leat_example_add_int64s(to.builder, "tokens", tokens, (size_t)length_of(r), &err), 0);
        assert_int_equal(
            leat_example_add_floats(to.builder, "tags", tags, (size_t)length_of(r), &err), 0);
        put_record(&to);
    }
    close_records(&to);
}

static int make_file(void **state)
{
    if (!make_path())
        return -1;
    write_file(false);
    return 0;
}

static int open_plan(const char *stages, const char *engine, leat_plan **plan, leat_error *err)
{
    char text[2000];
    snprintf(
        text, sizeof text,
        "source: {tfrecord: {files: '%s', features: {id: {shape: []}, tokens: {type: int64, shape: "
        "[-1]}, tags: {type: float, shape: [-1]}}}}\nengine: {%s}\npipeline: [%s]\n",
        path, engine, stages);
    return open_text(text, plan, err);
}

#define BUCKETS                                                                                    \
    "{bucket_by_length: {feature: tokens, boundaries: [8, 20, 40], sizes: [32, 16, 5], values: "   \
    "{tags: -1}}}"

/* Checks a batch's rows, whatever they are, and gives its bucket. */
static int check_batch(leat_batch *batch, int64_t *ids)
{
    const int64_t rows = leat_batch_get_info(batch)->rows;
    const leat_view id = leat_batch_tensor(batch, 0), tokens = leat_batch_tensor(batch, 1),
                    tags = leat_batch_tensor(batch, 2), length = leat_batch_tensor(batch, 3);
    const int k = bucket_of((int)*(const int64_t *)id.data);
    assert_true(tokens.shape.dims[0] == rows && tokens.shape.dims[1] == rooms[k]);
    assert_true(tags.shape.dims[0] == rows && tags.shape.dims[1] == rooms[k]);
    assert_in_range(rows, 1, sizes[k]);
    for (int64_t j = 0; j < rows; j++) {
        const int r = (int)(ids[j] = ((const int64_t *)id.data)[j]);
        assert_int_equal(bucket_of(r), k);
        assert_int_equal(((const int64_t *)length.data)[j], length_of(r));
        for (int i = 0; i < rooms[k]; i++) {
            assert_int_equal(((const int64_t *)tokens.data)[j * rooms[k] + i],
                             i < length_of(r) ? r * 100 + i : 0);
            assert_true(((const float *)tags.data)[j * rooms[k] + i] ==
                        (i < length_of(r) ? (float)(r + i) : -1));
        }
    }
    return k;
}

TEST(one_bucket_after_the_other_without_shuffle)
{
    leat_plan *plan;
    leat_batch *batch;
    leat_error err;
    int64_t ids[32], n_batches = 0;
    check(open_plan(BUCKETS, "threads: 2", &plan, &err), &err);
    leat_loader *loader = open_loader(plan, NULL);
    for (int k = 0; k < N_BUCKETS; k++) {
        int r = 0, n = 0;
        for (int i = 0; i < N_RECORDS; i++)
            n += bucket_of(i) == k;
        for (; n > 0; n_batches++) {
            check(leat_loader_next(loader, &batch, &err), &err);
            assert_int_equal(check_batch(batch, ids), k);
            const int rows = (int)leat_batch_get_info(batch)->rows;
            assert_int_equal(rows, n < sizes[k] ? n : sizes[k]);
            for (int j = 0; j < rows; j++, r++) {
                while (bucket_of(r) != k)
                    r++;
                assert_int_equal(ids[j], r);
            }
            n -= rows;
            leat_batch_release(batch);
        }
    }
    assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_END);
    assert_int_equal(leat_plan_get_info(plan)->n_batches, n_batches);
    assert_int_equal(leat_plan_get_info(plan)->batch_size, 32);
    assert_non_null(strstr(leat_plan_note(plan, 0), "all short batches come first"));
    close_loader_and_plan(&loader, &plan);
}

TEST(a_shuffle_mixes_samples_and_batches)
{
    leat_plan *plan;
    leat_batch *batch;
    leat_error err;
    int64_t ids[32], first[2] = { -1, -1 };
    int seen[4][N_RECORDS] = { { 0 } }, changes = 0, last = -1;
    check(open_plan("shuffle, " BUCKETS ", {repeat: 2}", "threads: 2", &plan, &err), &err);
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = 2 });
    const int64_t per_pass = leat_plan_get_info(plan)->n_batches / 2;
    for (int64_t b = 0; b < 4 * per_pass; b++) {
        check(leat_loader_next(loader, &batch, &err), &err);
        const int k = check_batch(batch, ids);
        for (int64_t j = 0; j < leat_batch_get_info(batch)->rows; j++)
            seen[b / per_pass][ids[j]]++;
        changes += k != last;
        last = k;
        if (b % per_pass == 0 && b / per_pass < 2)
            first[b / per_pass] = ids[0];
        leat_batch_release(batch);
    }
    assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_END);
    for (int e = 0; e < 4; e++)
        for (int r = 0; r < N_RECORDS; r++)
            assert_int_equal(seen[e][r], 1);
    assert_true(changes > per_pass); /* of 4 passes: buckets take turns */
    assert_true(first[0] != first[1]);
    close_loader_and_plan(&loader, &plan);
}

/* Sum of the digests of batch b over all ranks, for all batches from `from` on. */
static void collect(const char *stages, const char *engine, int ranks, int64_t from,
                    uint64_t *digests, int64_t *n)
{
    for (int rank = 0; rank < ranks; rank++) {
        char text[200];
        leat_plan *plan;
        leat_batch *batch;
        leat_error err;
        int rc;
        snprintf(text, sizeof text, "%s, digest: true, rank: %d, ranks: %d", engine, rank, ranks);
        check(open_plan(stages, text, &plan, &err), &err);
        leat_loader *loader =
            open_loader(plan, &(leat_loader_options){ .epochs = 2, .first_batch = from });
        while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
            const leat_batch_info *const info = leat_batch_get_info(batch);
            digests[info->number] += info->digest;
            *n = info->number + 1;
            leat_batch_release(batch);
        }
        assert_int_equal(rc, LEAT_E_END);
        close_loader_and_plan(&loader, &plan);
    }
}

TEST(threads_ranks_and_resumes_change_nothing)
{
    static const char *const stages =
        "{filter: {feature: tokens, min_length: 1}}, shuffle, " BUCKETS;
    static const struct {
        const char *engine;
        int ranks;
        int64_t from;
    } runs[] = { { "threads: 0, reader: pread", 1, 0 },
                 { "threads: 3, run: 2", 1, 0 },
                 { "threads: 2", 3, 0 },
                 { "threads: 2", 2, 7 },
                 { "threads: 1", 1, 41 } };
    uint64_t want[256] = { 0 };
    int64_t n_want = 0;
    collect(stages, runs[0].engine, 1, 0, want, &n_want);
    assert_in_range(n_want, 100, 255);
    for (size_t i = 1; i < sizeof runs / sizeof *runs; i++) {
        uint64_t got[256] = { 0 };
        int64_t n = 0;
        collect(stages, runs[i].engine, runs[i].ranks, runs[i].from, got, &n);
        assert_int_equal(n, n_want);
        assert_memory_equal(got + runs[i].from, want + runs[i].from,
                            (size_t)(n - runs[i].from) * sizeof *got);
    }
}

/* Samples that are in other buckets than before are another order. */
TEST(the_digest_is_of_the_buckets)
{
    uint64_t digests[3];
    for (int i = 0; i < 3; i++) {
        leat_plan *plan;
        leat_error err;
        write_file(i == 1);
        check(open_plan(BUCKETS, "threads: 1", &plan, &err), &err);
        digests[i] = leat_plan_get_info(plan)->digest;
        leat_plan_close(&plan);
    }
    assert_true(digests[0] != digests[1]);
    assert_true(digests[0] == digests[2]);
}

TEST(remainders_and_long_samples)
{
    leat_plan *plan;
    leat_batch *batch;
    leat_error err;
    int64_t n = 0;
    check(open_plan("shuffle, {bucket_by_length: {feature: tokens, boundaries: [8, 20], sizes: 16, "
                    "drop_remainder: true, truncate: true}}",
                    "threads: 1", &plan, &err),
          &err);
    leat_loader *loader = open_loader(plan, NULL);
    while (leat_loader_next(loader, &batch, &err) == LEAT_OK) {
        const leat_view tokens = leat_batch_tensor(batch, 1), length = leat_batch_tensor(batch, 3);
        assert_int_equal(leat_batch_get_info(batch)->rows, 16);
        for (int j = 0; j < 16; j++)
            assert_in_range(((const int64_t *)length.data)[j], tokens.shape.dims[1] == 8 ? 0 : 9,
                            tokens.shape.dims[1]);
        n++;
        leat_batch_release(batch);
    }
    int64_t n_short = 0;
    for (int r = 0; r < N_RECORDS; r++)
        n_short += length_of(r) <= 8;
    assert_int_equal(n, n_short / 16 + (N_RECORDS - n_short) / 16);
    close_loader_and_plan(&loader, &plan);
}

/* A slot is as large as the largest bucket's batch, not largest rows times most rows. */
TEST(memory_is_that_of_the_largest_batch)
{
    leat_plan *plan;
    leat_error err;
    check(open_plan(BUCKETS, "", &plan, &err), &err);
    /* 16 rows of 20 are the most: tokens 8 bytes, tags 4; id and two lengths for 32 rows */
    assert_int_equal(plan->slot_bytes, 16 * 20 * 8 + 16 * 20 * 4 + 3 * 32 * 8);
    leat_plan_close(&plan);
}

static const struct {
    const char *stages, *part;
} wrong[] = {
    { "{bucket_by_length: {feature: tokens, boundaries: [8, 20], sizes: 4}}",
      "and the last boundary is 20: raise it, write truncate: true" },
    { "{bucket_by_length: {feature: id, boundaries: [8], sizes: 4}}",
      "every 'id' has the same length: use batch" },
    { "{bucket_by_length: {feature: token, boundaries: [8], sizes: 4}}", "did you mean 'tokens'?" },
    { "{bucket_by_length: {feature: tokens, boundaries: [20, 8], sizes: 4}}",
      "boundaries ascend, but 8 comes after 20" },
    { "{bucket_by_length: {feature: tokens, boundaries: [], sizes: 4}}",
      "1 to 32 boundaries, got 0" },
    { "{bucket_by_length: {feature: tokens, boundaries: [8, x], sizes: 4}}",
      "boundaries are numbers" },
    { "{bucket_by_length: {feature: tokens, boundaries: [8, 40], sizes: [4]}}",
      "1 sizes for 2 boundaries" },
    { "{bucket_by_length: {feature: tokens, boundaries: [8, 40], sizes: 0}}", "sizes are numbers" },
    { "repeat, {bucket_by_length: {feature: tokens, boundaries: 40, sizes: 4}}",
      "put repeat after it" },
    { "{shuffle: {window: 20}}, {bucket_by_length: {feature: tokens, boundaries: 40, sizes: 4}}",
      "a global shuffle may come before it; put repeat after it" },
    { "{batch: 4}, {bucket_by_length: {feature: tokens, boundaries: 40, sizes: 4}}",
      "a second batch stage" },
    { "{bucket_by_length: {feature: tokens, boundaries: 40, sizes: 900, drop_remainder: true}}",
      "no batch would be full" },
    { "{bucket_by_length: {feature: tokens, bucket_boundaries: 40}}", "write boundaries" },
    /* pairs of rows are of one size; what lies beyond a row's length would be mixed too */
    { BUCKETS ", {map: {tensor: tags, ops: [mixup: {label: none}]}}",
      "mixup mixes rows of one size, and 'tags' is padded" },
    { "{map: {tensor: tags, ops: [{reshape: {shape: [-1, 1, 1]}}]}}, " BUCKETS
      ", {map: {tensor: tags, ops: [cutmix: {label: none}]}}",
      "cutmix mixes rows of one size, and 'tags' is padded" },
    { "{map: {tensor: id, ops: [cast: float32]}}, " BUCKETS
      ", {map: {tensor: id, ops: [mixup: {label: tags}]}}",
      "mixup mixes rows of one size, and 'tags' is padded" },
    { "{padded_batch: 8}, {map: {tensor: tags, ops: [mixup: {label: none}]}}",
      "mixup mixes rows of one size, and 'tags' is padded" },
};

TEST(wrong_configs_say_what_is_right)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        leat_plan *plan;
        leat_error err = { 0 };
        const int rc = open_plan(wrong[i].stages, "", &plan, &err);
        leat_plan_close(&plan);
        if (rc >= 0 || !strstr(err.message, wrong[i].part) || !strstr(err.message, "test.yaml:3:"))
            fail_msg("%s: %s: '%s' lacks '%s'", wrong[i].stages, leat_code_name(rc), err.message,
                     wrong[i].part);
    }
}

/* Tensors that are the same in all buckets may be mixed: every batch with itself, whoever does it. */
TEST(what_has_one_size_may_be_mixed)
{
    static const char mixes[] = "{map: {tensor: id, ops: [cast: float32]}}, shuffle, " BUCKETS
                                ", {map: {tensor: id, ops: [mixup: {label: none, alpha: 1}]}}";
    leat_plan *plan;
    leat_error err;
    uint64_t digests[2];
    for (int threads = 0; threads < 2; threads++) {
        check(open_plan(mixes, threads ? "threads: 3, digest: true" : "threads: 0, digest: true",
                        &plan, &err),
              &err);
        digests[threads] = digest_and_close(plan, 0, NULL);
    }
    assert_true(digests[0] == digests[1]);
    check(open_plan(mixes, "", &plan, &err), &err);
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    bool mixed = false;
    while (leat_loader_next(loader, &batch, &err) == LEAT_OK) {
        const int64_t rows = leat_batch_get_info(batch)->rows;
        const leat_view id = leat_batch_tensor(batch, 0), tokens = leat_batch_tensor(batch, 1);
        const leat_view length = leat_batch_tensor(batch, 3);
        double sum = 0, of_tokens = 0;
        int64_t n_known = 0;
        for (int64_t j = 0; j < rows; j++) {
            const float is = ((const float *)id.data)[j];
            const int64_t first = ((const int64_t *)tokens.data)[j * tokens.shape.dims[1]];
            n_known += ((const int64_t *)length.data)[j] > 0;
            sum += (double)is;
            of_tokens += (double)(first / 100);
            mixed |= is != floorf(is);
        }
        if (n_known == rows) /* a mean of two rows moves nothing between batches */
            assert_true(fabs(sum - of_tokens) < 0.01 * (double)rows);
        leat_batch_release(batch);
    }
    assert_true(mixed);
    close_loader_and_plan(&loader, &plan);
}

/* --- and the trainer ------------------------------------------------------------------------------- */

static const struct {
    const char *stages;
    bool varies;
} trained[] = {
    { "shuffle, " BUCKETS, true },
    { BUCKETS, true },
    { "{take: 200}, {bucket_by_length: {feature: tokens, boundaries: [8, 20, 40], sizes: 400, "
      "drop_remainder: false}}",
      true },
    { "{filter: {feature: tokens, min_length: 21}}, " BUCKETS, false }, /* only the last has any */
    { "{filter: {feature: tokens, max_length: 20}}, " BUCKETS, true },
    { "{bucket_by_length: {feature: tokens, boundaries: 40, sizes: 8}}", false },
    { "{bucket_by_length: {feature: tokens, boundaries: [8, 40], sizes: 8, shapes: {tags: [40]}}}",
      false },
    { "{padded_batch: 8}", false },
};

/* Whether tags come in batches of another shape than the plan says. */
static bool tags_vary(const leat_plan *plan)
{
    const leat_shape *const shape = &leat_plan_tensor(plan, 2)->shape;
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    leat_error err;
    bool varies = false;
    while (leat_loader_next(loader, &batch, &err) == LEAT_OK) {
        varies |= leat_batch_tensor(batch, 2).shape.dims[1] != shape->dims[0];
        leat_batch_release(batch);
    }
    leat_loader_close(&loader);
    return varies;
}

TEST(a_trainer_wants_one_shape)
{
    static const char train[] = "train: {input: tags, target: id, model: [dense: 700], loss: "
                                "softmax_cross_entropy}";
    leat_config *config;
    leat_device *device;
    leat_trainer *trainer, *other = NULL;
    leat_error err = { 0 };
    check(leat_config_parse(train, "train.yaml", &config, &err), &err);
    check(leat_trainer_open_device(config, &device, &err), &err);
    for (size_t i = sizeof trained / sizeof *trained; i-- > 0;) { /* padded_batch first */
        leat_plan *plan;
        check(open_plan(trained[i].stages, "", &plan, &err), &err);
        assert_int_equal(leat_plan_tensor(plan, 2)->varies, trained[i].varies);
        assert_int_equal(leat_plan_tensor(plan, 0)->varies, 0);
        assert_int_equal(leat_plan_tensor(plan, 3)->varies, 0);
        assert_int_equal(tags_vary(plan), trained[i].varies);
        const int rc = leat_trainer_open(config, plan, device, &trainer, &err);
        assert_int_equal(rc, trained[i].varies ? LEAT_E_CONFIG : LEAT_OK);
        if (rc < 0 && (!strstr(err.message, "the length of 'tags' differs between batches") ||
                       !strstr(err.message, "train.yaml:1:")))
            fail_msg("%s", err.message);
        if (other)
            assert_int_equal(leat_trainer_check(other, plan, &err), rc);
        if (!other)
            other = trainer;
        else
            leat_trainer_close(&trainer);
        leat_plan_close(&plan);
    }
    leat_plan *plan;
    check(open_plan("{padded_batch: {size: 8, shapes: {tags: [50]}}}", "", &plan, &err), &err);
    assert_int_equal(leat_trainer_check(other, plan, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "float32[40], but here tensor 2 is 'tags', float32[50]"));
    leat_plan_close(&plan);
    leat_trainer_close(&other);
    leat_device_close(&device);
    leat_config_close(&config);
}

SUITE_FIXTURE(make_file, remove_file)
