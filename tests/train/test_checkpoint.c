/* SPDX-License-Identifier: MIT
 *
 * test_checkpoint.c: a run that is killed and resumed ends with the weights of the straight run, bit for bit;
 * damaged checkpoints are passed over, and those of other models refused with what differs. */
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixtures/train_fixture.h"
#include "formats/safetensors.h"

enum {
    RECORDS = 60,
    BATCH = 8,
    EPOCHS = 4,
    PER_EPOCH = 8,
    STEPS = EPOCHS * PER_EPOCH,
    PIXELS = 6 * 6
};

static char folder[64];
static float images[RECORDS * PIXELS * 2];
static int64_t labels[RECORDS];

static const char model_text[] =
    "[conv2d: {filters: 4, name: first}, batch_norm, relu, dropout: 0.3, flatten, dense: 5]";

/* How a run is made. */
typedef struct run {
    int threads, accumulate, every; /* a checkpoint every so many steps; 0: none */
    int kill_after;                 /* steps of the run, counted from its begin; 0: never */
    int64_t keep;
    const char *optimizer, *folder; /* folder NULL: the test's */
    const char *resume;             /* a file or a folder; NULL: from the begin */
} run;

/* An open run. */
typedef struct session {
    fixture f;
    leat_plan *plan;
    leat_loader *loader;
    leat_checkpoint_found found;
} session;

static leat_plan *open_plan(void)
{
    const int64_t dims[] = { 6, 6, 2 };
    const leat_rows rows[] = { { "image", leat_shape_make(LEAT_F32, 3, dims), images },
                               { "label", leat_shape_make(LEAT_I64, 0, NULL), labels } };
    leat_builder *builder = leat_builder_open();
    leat_plan *plan;
    leat_error err;
    leat_builder_rows(builder, RECORDS, rows, 2);
    leat_builder_seed(builder, 7);
    leat_builder_engine(builder, "{threads: 1}");
    leat_builder_stage(builder, "shuffle", NULL);
    leat_builder_stage(builder, "batch", "8");
    if (leat_builder_plan(builder, &plan, &err) < 0)
        fail_msg("%s", err.message);
    leat_builder_close(&builder);
    return plan;
}

static void open_trainer(session *s, const run *r, const char *layers)
{
    char text[512];
    snprintf(text, sizeof text,
             "train: {threads: %d, accumulate: %d, micro_shards: 3, loss: softmax_cross_entropy, "
             "optimizer: %s, model: %s}",
             r->threads, r->accumulate ? r->accumulate : 1, r->optimizer ? r->optimizer : "adam",
             layers);
    memset(s, 0, sizeof *s);
    s->plan = open_plan();
    if (leat_config_parse(text, "test.yaml", &s->f.config, &s->f.err) < 0 ||
        leat_trainer_open_device(s->f.config, &s->f.device, &s->f.err) < 0 ||
        leat_trainer_open(s->f.config, s->plan, s->f.device, &s->f.trainer, &s->f.err) < 0)
        fail_msg("%s", s->f.err.message);
}

static void close_session(session *s)
{
    leat_loader_close(&s->loader);
    fixture_close(&s->f);
    leat_plan_close(&s->plan);
}

static void open_session(session *s, const run *r)
{
    leat_loader_options how = { .epochs = EPOCHS };
    open_trainer(s, r, model_text);
    if (r->resume &&
        leat_checkpoint_resume(s->f.trainer, r->resume, &s->found, &s->f.err) != LEAT_OK)
        fail_msg("%s", s->f.err.message);
    how.state = *s->found.path ? &s->found.state : NULL;
    if (leat_loader_open(s->plan, &how, &s->loader, &s->f.err) < 0)
        fail_msg("%s", s->f.err.message);
}

static void save_if_due(session *s, const run *r, int64_t step)
{
    leat_loader_state state;
    if (!r->every || step % r->every || !leat_checkpoint_ready(s->f.trainer))
        return;
    leat_loader_get_state(s->loader, &state);
    assert_int_equal(state.next_batch, step);
    if (leat_checkpoint_save(s->f.trainer, &state, r->folder ? r->folder : folder, r->keep, NULL,
                             &s->f.err) < 0)
        fail_msg("%s", s->f.err.message);
}

/* Runs to the end, or is killed. Weights go to `weights`, the mean loss of the last epoch to *loss. */
static void train(const run *r, const char *weights, double *loss, leat_checkpoint_found *found)
{
    leat_batch *batch;
    leat_metrics metrics;
    session s;
    open_session(&s, r);
    while (leat_loader_next(s.loader, &batch, &s.f.err) == LEAT_OK) {
        const int64_t step = leat_batch_get_info(batch)->number + 1;
        if (leat_trainer_step(s.f.trainer, batch, &s.f.err) < 0)
            fail_msg("%s", s.f.err.message);
        if (step % PER_EPOCH == 0)
            assert_int_equal(leat_trainer_metrics(s.f.trainer, &metrics, &s.f.err), LEAT_OK);
        save_if_due(&s, r, step);
        if (r->kill_after && step == r->kill_after)
            raise(SIGKILL);
    }
    assert_int_equal(s.f.err.code, LEAT_E_END);
    if (leat_trainer_save(s.f.trainer, weights, &s.f.err) < 0)
        fail_msg("%s", s.f.err.message);
    *loss = metrics.loss;
    if (found)
        *found = s.found;
    close_session(&s);
}

static void train_killed(const run *r)
{
    double loss;
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        train(r, "/dev/null", &loss, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* --- files ----------------------------------------------------------------------------------- */

static const char *in_folder(const char *name)
{
    static char paths[4][160];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, 160, "%s/%s", folder, name);
    return path;
}

static const char *step_path(int step)
{
    char name[64];
    snprintf(name, sizeof name, "step-%09d.safetensors", step);
    return in_folder(name);
}

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size + 1);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void write_file(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static bool same_file(const char *a, const char *b)
{
    size_t n, m;
    char *x = read_file(a, &n), *y = read_file(b, &m);
    const bool same = n == m && !memcmp(x, y, n);
    free(x);
    free(y);
    return same;
}

/* In memory if possible, because checkpoints are synced. */
static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/dev/shm/leat-checkpoint-XXXXXX");
    if (mkdtemp(folder))
        return 0;
    strcpy(folder, "/tmp/leat-checkpoint-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

/* --- resuming -------------------------------------------------------------------------------- */

/* 24 runs are killed at random steps and resumed with other numbers of threads, with each optimiser and
 * with accumulation. */
static void killed_and_resumed_is_the_straight_run(void **state)
{
    static const run kinds[] = { { .threads = 2, .optimizer = "adam" },
                                 { .threads = 1, .optimizer = "{sgd: {momentum: 0.9}}" },
                                 { .threads = 3, .accumulate = 3, .optimizer = "adam" },
                                 { .threads = 2, .accumulate = 2, .optimizer = "sgd" },
                                 { .threads = 2, .optimizer = "adam, average: {ema: 0.8}" },
                                 { .threads = 1,
                                   .optimizer = "sgd, average: {lookahead: {every: 3}}, schedule: "
                                                "cosine" } };
    leat_rng rng = leat_rng_make(11, 0, 0, 0);
    (void)state;
    for (int k = 0; k < 6; k++) {
        run straight = kinds[k];
        double loss, again;
        char weights[160], resumed[160];
        snprintf(weights, sizeof weights, "%s", in_folder("straight.st"));
        snprintf(resumed, sizeof resumed, "%s", in_folder("resumed.st"));
        train(&straight, weights, &loss, NULL);
        for (int i = 0; i < 4; i++) {
            run first = kinds[k], second = kinds[k];
            leat_checkpoint_found found;
            first.every = 1 + (int)leat_rng_below(&rng, 4);
            first.kill_after = 1 + (int)leat_rng_below(&rng, STEPS - 1);
            first.keep = 2;
            train_killed(&first);
            second.threads = 1 + i % 3;
            second.resume = folder;
            train(&second, resumed, &again, &found);
            if (!same_file(weights, resumed))
                fail_msg("%s, accumulate %d, killed after %d, resumed from '%s'",
                         kinds[k].optimizer, kinds[k].accumulate, first.kill_after, found.path);
            assert_true(fabs(again - loss) < 1e-9);
            char command[128];
            snprintf(command, sizeof command, "rm -f '%s'/step-*", folder);
            assert_int_equal(system(command), 0);
        }
    }
}

static void keeps_the_newest(void **state)
{
    run r = { .threads = 1, .every = 5, .keep = 3 };
    double loss;
    leat_checkpoint_found found;
    (void)state;
    write_file(in_folder("step-1.safetensors"), "x", 1); /* not a name of ours */
    train(&r, in_folder("a.st"), &loss, NULL);
    for (int step = 5; step <= 30; step += 5)
        assert_int_equal(access(step_path(step), F_OK), step >= 20 ? 0 : -1);
    assert_int_equal(access(in_folder("step-1.safetensors"), F_OK), 0);
    r.resume = folder;
    r.every = 0;
    train(&r, in_folder("b.st"), &loss, &found);
    assert_string_equal(found.path, step_path(30));
    assert_int_equal(found.state.next_batch, 30);
    assert_int_equal(found.updates, 30);
    assert_int_equal(found.n_damaged, 0);
    assert_true(same_file(in_folder("a.st"), in_folder("b.st")));
    r.resume = step_path(20); /* a file by its name */
    train(&r, in_folder("b.st"), &loss, &found);
    assert_int_equal(found.updates, 20);
    assert_true(same_file(in_folder("a.st"), in_folder("b.st")));
    r.resume = in_folder("none"); /* nothing there: from the begin */
    train(&r, in_folder("b.st"), &loss, &found);
    assert_string_equal(found.path, "");
    assert_true(same_file(in_folder("a.st"), in_folder("b.st")));
}

/* Cut at every 7th byte and near the ends of its parts: refused with the byte, and the one before is
 * used. Uses the checkpoints of keeps_the_newest. */
static void a_cut_checkpoint_is_passed_over(void **state)
{
    const run r = { .threads = 1 };
    size_t size;
    char newest[160], *bytes;
    session s;
    (void)state;
    snprintf(newest, sizeof newest, "%s", step_path(30));
    bytes = read_file(newest, &size);
    open_trainer(&s, &r, model_text);
    for (size_t n = 0; n<size; n += n + 80> size || n < 16 ? 1 : 7) {
        char where[32];
        write_file(newest, bytes, n);
        assert_int_equal(leat_checkpoint_resume(s.f.trainer, newest, &s.found, &s.f.err),
                         LEAT_E_DATA);
        snprintf(where, sizeof where, "byte %zu", n);
        if (n && !strstr(s.f.err.message, where))
            fail_msg("cut at %zu: %s", n, s.f.err.message);
        if (leat_checkpoint_resume(s.f.trainer, folder, &s.found, &s.f.err) != LEAT_OK)
            fail_msg("cut at %zu: %s", n, s.f.err.message);
        assert_string_equal(s.found.path, step_path(25));
        assert_int_equal(s.found.n_damaged, 1);
        assert_non_null(strstr(s.found.damaged, newest));
    }
    for (size_t n = 0; n < size; n += 1 + size / 200) { /* any other byte */
        bytes[n] ^= 4;
        write_file(newest, bytes, size);
        bytes[n] ^= 4;
        if (leat_checkpoint_resume(s.f.trainer, newest, &s.found, &s.f.err) == LEAT_OK)
            assert_int_equal(bytes[n], ' '); /* between header and data, where nothing is read */
    }
    write_file(newest, bytes, size);
    free(bytes);
    close_session(&s);
}

static void no_whole_checkpoint_is_an_error(void **state)
{
    const run r = { .threads = 1 };
    session s;
    char only[160];
    (void)state;
    snprintf(only, sizeof only, "%s/only", folder);
    assert_int_equal(mkdir(only, 0777), 0);
    write_file(in_folder("only/step-000000003.safetensors"), "{}", 2);
    open_trainer(&s, &r, model_text);
    assert_int_equal(leat_checkpoint_resume(s.f.trainer, only, &s.found, &s.f.err), LEAT_E_DATA);
    assert_non_null(strstr(s.f.err.message, "has no whole checkpoint"));
    assert_non_null(strstr(s.f.err.message, "byte 2"));
    close_session(&s);
}

/* --- other models ---------------------------------------------------------------------------- */

static void another_model_is_refused_with_what_differs(void **state)
{
    static const struct {
        const char *model, *optimizer, *said;
    } others[] = {
        { "[conv2d: {filters: 4, name: second}, batch_norm, relu, dropout: 0.3, flatten, dense: 5]",
          "adam",
          "it has 'layer first: conv2d from input, gives [4, 4, 4]' where the config has "
          "'layer second: conv2d" },
        { "[conv2d: {filters: 4, name: first}, batch_norm, gelu, dropout: 0.3, flatten, dense: 5]",
          "adam",
          "'layer 2.relu: relu from 1.batch_norm, gives [4, 4, 4]' where the config has "
          "'layer 2.gelu" },
        { "[conv2d: {filters: 6, name: first}, batch_norm, relu, dropout: 0.3, flatten, dense: 5]",
          "adam",
          "gives [4, 4, 4]' where the config has 'layer first: conv2d from input, gives "
          "[4, 4, 6]'" },
        { "[conv2d: {filters: 4, name: first}, batch_norm, relu, dropout: 0.3, flatten]", "adam",
          "'layer 5.dense: dense from 4.flatten, gives [5]' where the config has 'loss" },
        { model_text, "sgd", "it has 'optimizer adam' where the config has 'optimizer sgd'" },
        { "[conv2d: {filters: 4, name: first, bias: false}, batch_norm, relu, dropout: 0.3, "
          "flatten, dense: 5]",
          "adam", "tensors, the run has" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const run r = { .threads = 1, .optimizer = others[i].optimizer };
        session s, untouched;
        open_trainer(&s, &r, others[i].model);
        open_trainer(&untouched, &r, others[i].model);
        assert_int_equal(leat_checkpoint_resume(s.f.trainer, folder, &s.found, &s.f.err),
                         LEAT_E_DATA);
        if (!strstr(s.f.err.message, others[i].said) || !strstr(s.f.err.message, step_path(30)))
            fail_msg("%s", s.f.err.message);
        assert_true(fixture_same_weights(&s.f, &untouched.f));
        close_session(&s);
        close_session(&untouched);
    }
}

/* Settings of a run may change; that is said. */
static void changed_settings_are_told(void **state)
{
    const run r = { .threads = 1, .accumulate = 2 };
    session s;
    (void)state;
    open_trainer(&s, &r, model_text);
    assert_int_equal(leat_checkpoint_resume(s.f.trainer, folder, &s.found, &s.f.err), LEAT_OK);
    assert_string_equal(s.found.changed, "accumulate 2, was accumulate 1");
    close_session(&s);
}

/* Weights alone are no checkpoint; a checkpoint has weights. */
static void a_checkpoint_is_also_a_file_of_weights(void **state)
{
    const run r = { .threads = 1 };
    session s, other;
    (void)state;
    open_trainer(&s, &r, model_text);
    open_trainer(&other, &r, model_text);
    assert_int_equal(leat_trainer_save(s.f.trainer, in_folder("w.st"), &s.f.err), LEAT_OK);
    assert_int_equal(leat_checkpoint_resume(s.f.trainer, in_folder("w.st"), &s.found, &s.f.err),
                     LEAT_E_DATA);
    assert_non_null(strstr(s.f.err.message, "--restore"));
    assert_int_equal(leat_checkpoint_resume(s.f.trainer, folder, &s.found, &s.f.err), LEAT_OK);
    assert_false(fixture_same_weights(&s.f, &other.f));
    if (leat_trainer_restore(other.f.trainer, step_path(30), &other.f.err) < 0)
        fail_msg("%s", other.f.err.message);
    assert_true(fixture_same_weights(&s.f, &other.f));
    /* damage in a value, which the reader of the format cannot see */
    size_t size;
    char *bytes = read_file(step_path(30), &size);
    bytes[size - 3] ^= 4;
    write_file(in_folder("damaged.st"), bytes, size);
    assert_int_equal(leat_trainer_restore(other.f.trainer, in_folder("damaged.st"), &other.f.err),
                     LEAT_E_DATA);
    assert_non_null(strstr(other.f.err.message, "the checkpoint is damaged"));
    assert_true(fixture_same_weights(&s.f, &other.f));
    unlink(in_folder("damaged.st"));
    free(bytes);
    close_session(&s);
    close_session(&other);
}

/* --- writing fails --------------------------------------------------------------------------- */

/* A full disk, here a limit on the size of files: an error, and what was there before stays. */
static void a_full_disk_keeps_the_checkpoint_before(void **state)
{
    int status;
    size_t size;
    (void)state;
    char *before = read_file(step_path(30), &size);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const run r = { .threads = 1, .resume = folder };
        const struct rlimit limit = { size / 2, size / 2 };
        leat_loader_state at;
        session s;
        open_session(&s, &r);
        at = s.found.state;
        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) < 0 ||
            leat_checkpoint_save(s.f.trainer, &at, folder, 1, NULL, &s.f.err) != LEAT_E_IO ||
            !strstr(s.f.err.message, "step-000000030"))
            _exit(1);
        at.next_batch = 31;
        _exit(leat_checkpoint_save(s.f.trainer, &at, folder, 1, NULL, &s.f.err) != LEAT_E_IO);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(access(step_path(31), F_OK), -1);
    assert_int_equal(access(step_path(20), F_OK), 0); /* nothing was deleted either */
    size_t now;
    char *after = read_file(step_path(30), &now);
    assert_true(now == size && !memcmp(before, after, size));
    free(before);
    free(after);
}

static void in_the_middle_of_an_update_it_waits(void **state)
{
    const run r = { .threads = 1, .accumulate = 3 };
    leat_loader_state at;
    leat_batch *batch;
    session s;
    (void)state;
    assert_int_equal(leat_checkpoint_ready(NULL), 0);
    open_session(&s, &r);
    for (int i = 1; i <= 6; i++) {
        assert_int_equal(leat_loader_next(s.loader, &batch, &s.f.err), LEAT_OK);
        assert_int_equal(leat_trainer_step(s.f.trainer, batch, &s.f.err), LEAT_OK);
        leat_loader_get_state(s.loader, &at);
        assert_int_equal(leat_checkpoint_ready(s.f.trainer), i % 3 == 0);
        const int rc = leat_checkpoint_write(s.f.trainer, &at, in_folder("c.st"), &s.f.err);
        assert_int_equal(rc, i % 3 ? LEAT_E_BUSY : LEAT_OK);
    }
    assert_int_equal(leat_checkpoint_write(NULL, &at, "x", &s.f.err), LEAT_E_ARGUMENT);
    assert_int_equal(leat_checkpoint_save(s.f.trainer, NULL, "x", 1, NULL, &s.f.err),
                     LEAT_E_ARGUMENT);
    assert_int_equal(leat_checkpoint_resume(s.f.trainer, NULL, &s.found, &s.f.err),
                     LEAT_E_ARGUMENT);
    close_session(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_and_resumed_is_the_straight_run),
        cmocka_unit_test(keeps_the_newest),
        cmocka_unit_test(a_cut_checkpoint_is_passed_over),
        cmocka_unit_test(no_whole_checkpoint_is_an_error),
        cmocka_unit_test(another_model_is_refused_with_what_differs),
        cmocka_unit_test(changed_settings_are_told),
        cmocka_unit_test(a_checkpoint_is_also_a_file_of_weights),
        cmocka_unit_test(a_full_disk_keeps_the_checkpoint_before),
        cmocka_unit_test(in_the_middle_of_an_update_it_waits),
    };
    leat_rng rng = leat_rng_make(5, 0, 0, 0);
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        images[i] = leat_rng_range(&rng, -1, 1);
    for (int i = 0; i < RECORDS; i++)
        labels[i] = leat_rng_below(&rng, 5);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
