/* SPDX-License-Identifier: MIT
 *
 * test_api_null.c: passes NULL and an index out of range to every public function and checks the answer
 * that api.h promises. No public function is left out. */
#include "fixtures/engine_fixture.h"

#include <dirent.h>

#define REFUSED(call) assert_int_equal((call), LEAT_E_ARGUMENT)

static const int32_t far_off[] = { -1, INT32_MIN, 1000, INT32_MAX };

static float rows[64 * ROW_FLOATS];

static leat_plan *make_plan(void)
{
    leat_builder *b = build_rows(64, rows);
    leat_builder_stage(b, "batch", "8");
    return plan_of_builder(b);
}

/* --- values --------------------------------------------------------------------------------------- */

TEST(values)
{
    const leat_shape shape = leat_shape_make(LEAT_F32, 3, NULL);
    leat_shape wrong = shape;
    leat_meter meter;
    leat_error err = { 0 };
    char text[8] = "x";
    assert_non_null(leat_version());
    assert_string_equal(leat_code_name(77), "LEAT_E_?");
    assert_string_equal(leat_code_text(-77), "unknown code");
    REFUSED(leat_fail(NULL, LEAT_E_ARGUMENT, "x"));
    REFUSED(leat_fail_as(NULL, &(leat_error){ .code = LEAT_E_ARGUMENT }));
    REFUSED(leat_fail_as(NULL, NULL));
    REFUSED(leat_fail_as(&err, NULL));
    assert_int_equal(err.code, LEAT_E_ARGUMENT);
    REFUSED(leat_fail_in(NULL, LEAT_E_ARGUMENT, "x"));
    leat_error_print(NULL, stderr);
    leat_error_print(&(leat_error){ 0 }, NULL);
    assert_string_equal(leat_dtype_name((leat_dtype)99), "?");
    assert_int_equal(leat_dtype_bytes((leat_dtype)99), 0);
    assert_int_equal(leat_dtype_is_float((leat_dtype)99), 0);
    assert_int_equal(leat_dtype_of(NULL), LEAT_N_DTYPES);
    wrong.dtype = LEAT_N_DTYPES;
    assert_int_equal(leat_shape_elements(&wrong), -1);
    assert_int_equal(leat_shape_bytes(&wrong), -1);
    wrong.dtype = LEAT_F32;
    wrong.rank = 1000;
    assert_int_equal(leat_shape_elements(NULL), -1);
    assert_int_equal(leat_shape_elements(&wrong), -1);
    assert_int_equal(leat_shape_bytes(NULL), -1);
    assert_int_equal(leat_shape_bytes(&wrong), -1);
    assert_int_equal(leat_shape_equal(NULL, &shape), 0);
    assert_int_equal(leat_shape_equal(&shape, NULL), 0);
    assert_int_equal(leat_shape_equal(&wrong, &wrong), 0);
    assert_string_equal(leat_shape_text(NULL, text, sizeof text), "");
    assert_null(leat_shape_text(&shape, NULL, 0));
    assert_int_equal(strlen(leat_shape_text(&wrong, text, sizeof text)), sizeof text - 1);
    REFUSED(leat_meter_account(NULL, 1, 10, &meter));
    assert_int_equal(leat_meter_warm(NULL, 5), 5);
}

TEST(lists)
{
    const leat_option *const table = leat_engine_kind(0)->options;
    int64_t options[64];
    char text[8] = "x";
    leat_option_init(NULL, options);
    leat_option_init(table, NULL);
    REFUSED(leat_option_set(NULL, options, "1", NULL));
    REFUSED(leat_option_set(table, NULL, "1", NULL));
    REFUSED(leat_option_set(table, options, NULL, NULL));
    assert_null(leat_option_find(NULL, "x"));
    assert_null(leat_option_find(table, NULL));
    assert_ptr_equal(leat_option_type_text(NULL, text, sizeof text), text);
    assert_null(leat_option_type_text(table, NULL, 0));
    assert_null(leat_nearest(NULL, NULL, 0));
    assert_null(leat_nearest("x", NULL, 0));
    assert_null(leat_op_find(NULL));
    assert_non_null(leat_ops());
    const leat_kind *(*const kinds[])(size_t) = {
        leat_batch_op_kind, leat_stage_kind,    leat_source_kind,    leat_engine_kind,
        leat_layer_kind,    leat_loss_kind,     leat_optimizer_kind, leat_train_kind,
        leat_preset_kind,   leat_schedule_kind, leat_average_kind,   leat_checkpoint_kind,
        leat_cuda_kind,     leat_stop_kind,     leat_weights_kind,   leat_normalize_kind
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        assert_null(kinds[k](1000));
        assert_null(kinds[k](SIZE_MAX));
    }
}

/* --- what is opened ------------------------------------------------------------------------------- */

TEST(configs_and_devices)
{
    leat_config *config, *copy;
    leat_device *device = NULL;
    leat_error err;
    char text[8];
    REFUSED(leat_config_load(NULL, &config, &err));
    REFUSED(leat_config_load("x", NULL, &err));
    REFUSED(leat_config_parse(NULL, "x", &config, &err));
    REFUSED(leat_config_parse("", NULL, &config, &err));
    REFUSED(leat_config_parse("", "x", NULL, NULL));
    check(leat_config_parse("a: 1\n", "x", &config, &err), &err);
    REFUSED(leat_config_set(NULL, "a=1", &err));
    REFUSED(leat_config_set(config, NULL, &err));
    REFUSED(leat_config_set_as(NULL, "a=1", "x", &err));
    REFUSED(leat_config_set_as(config, NULL, "x", &err));
    REFUSED(leat_config_get(NULL, "a", text, sizeof text, &err));
    REFUSED(leat_config_get(config, NULL, text, sizeof text, &err));
    REFUSED(leat_config_get(config, "a", NULL, 8, &err));
    REFUSED(leat_config_copy(NULL, &copy, &err));
    REFUSED(leat_config_copy(config, NULL, &err));
    leat_config_close(&config);
    leat_config_close(&config);
    leat_config_close(NULL);
    REFUSED(leat_device_open(NULL, &device, &err));
    REFUSED(leat_device_open("cpu", NULL, &err));
    assert_int_equal(leat_device_is_gpu(NULL), 0);
    assert_null(leat_device_libraries("cpu", NULL, 0));
    assert_string_equal(leat_device_libraries(NULL, (char[]){ 'x', 0 }, 2), "");
    assert_null(leat_device_get_info(NULL));
    assert_true(leat_devices(NULL, 100) > 0);
    assert_null(leat_device_options(NULL));
    leat_device_close(&device);
    leat_device_close(NULL);
}

TEST(builders)
{
    leat_builder *b = NULL;
    leat_plan *plan;
    leat_error err;
    leat_builder_source(NULL, "x", NULL);
    leat_builder_rows(NULL, 1, NULL, 1);
    leat_builder_stage(NULL, "x", NULL);
    leat_builder_seed(NULL, 1);
    leat_builder_engine(NULL, "{}");
    leat_builder_op(NULL, NULL);
    REFUSED(leat_builder_plan(NULL, &plan, &err));
    leat_builder_close(&b);
    leat_builder_close(NULL);
    for (int what = 0; what < 5; what++) {
        b = leat_builder_open();
        if (what == 0)
            leat_builder_source(b, NULL, NULL);
        if (what == 1)
            leat_builder_rows(b, 1, NULL, 1);
        if (what == 2)
            leat_builder_stage(b, NULL, NULL);
        if (what == 3)
            leat_builder_op(b, NULL);
        leat_builder_engine(b, NULL); /* as if it had not been called */
        REFUSED(leat_builder_plan(b, what < 4 ? &plan : NULL, &err));
        assert_non_null(strstr(err.message, "leat_builder_"));
        leat_builder_close(&b);
    }
}

/* Of several mistakes a builder tells the first. */
TEST(builders_keep_the_first_error)
{
    static const char *const calls[] = { "source", "rows", "stage", "seed", "op" };
    enum { N_CALLS = sizeof calls / sizeof *calls };
    leat_plan *plan;
    leat_error err;
    for (int first = 0; first < N_CALLS; first++) {
        char name[40];
        leat_builder *b = leat_builder_open();
        for (int i = first; i < first + N_CALLS; i++)
            switch (i % N_CALLS) {
            case 0:
                leat_builder_source(b, NULL, NULL);
                break;
            case 1:
                leat_builder_rows(b, 1, NULL, 1);
                break;
            case 2:
                leat_builder_stage(b, NULL, NULL);
                break;
            case 3:
                leat_builder_seed(b, -1);
                break;
            default:
                leat_builder_op(b, NULL);
            }
        REFUSED(leat_builder_plan(b, &plan, &err));
        snprintf(name, sizeof name, "leat_builder_%s:", calls[first]);
        assert_non_null(strstr(err.message, name));
        leat_builder_close(&b);
    }
}

TEST(plans)
{
    static leat_budget budget;
    leat_plan *plan = make_plan(), *none = NULL;
    leat_source_info source = { .n_records = 7 };
    leat_chain_op_info op;
    leat_error err;
    REFUSED(leat_plan_open(NULL, NULL, &none, &err));
    REFUSED(leat_plan_load(NULL, &none, &err));
    REFUSED(leat_plan_load("x", NULL, &err));
    assert_null(leat_plan_get_info(NULL));
    assert_null(leat_plan_tensor(NULL, 0));
    assert_int_equal(leat_plan_tensor_index(NULL, "x"), -1);
    assert_int_equal(leat_plan_tensor_index(plan, NULL), -1);
    assert_null(leat_plan_note(NULL, 0));
    assert_null(leat_plan_stage(NULL, 0));
    assert_null(leat_plan_on(NULL, NULL));
    assert_ptr_equal(leat_plan_on(plan, NULL), plan);
    leat_plan_source(NULL, &source);
    assert_int_equal(source.n_records, 0);
    leat_plan_source(plan, NULL);
    REFUSED(leat_plan_chain_op(NULL, 0, 0, &op));
    REFUSED(leat_plan_chain_op(plan, 0, 0, NULL));
    for (size_t i = 0; i < sizeof far_off / sizeof *far_off; i++) {
        assert_null(leat_plan_tensor(plan, far_off[i]));
        assert_null(leat_plan_note(plan, far_off[i]));
        assert_null(leat_plan_stage(plan, far_off[i]));
        assert_int_equal(leat_plan_chain_op(plan, far_off[i], 0, &op), LEAT_E_END);
        assert_int_equal(leat_plan_chain_op(plan, 0, far_off[i], &op), LEAT_E_END);
    }
    REFUSED(leat_plan_budget(NULL, NULL, &budget, &err));
    REFUSED(leat_plan_budget(plan, NULL, NULL, &err));
    leat_plan_close(&none);
    leat_plan_close(NULL);
    leat_plan_close(&plan);
    leat_plan_close(&plan);
}

/* --- loaders and batches -------------------------------------------------------------------------- */

TEST(loaders)
{
    static leat_loader_stats_info stats;
    leat_plan *plan = make_plan();
    leat_loader *loader = NULL;
    leat_batch *batch;
    leat_loader_state at;
    leat_decision decision;
    leat_stream *stream;
    leat_row_error bad;
    leat_error err;
    REFUSED(leat_loader_open(NULL, NULL, &loader, &err));
    REFUSED(leat_loader_open(plan, NULL, NULL, &err));
    leat_loader_close(&loader);
    leat_loader_close(NULL);
    loader = open_loader(plan, NULL);
    REFUSED(leat_loader_next(NULL, &batch, &err));
    REFUSED(leat_loader_next(loader, NULL, &err));
    leat_loader_cancel(NULL);
    REFUSED(leat_loader_check_files(NULL, &err));
    assert_null(leat_plan_class(NULL, 0));
    assert_int_equal(leat_plan_n_classes(NULL, "label"), 0);
    assert_int_equal(leat_plan_n_classes(plan, NULL), 0);
    assert_null(leat_plan_tensor_class(NULL, "label", 0));
    assert_null(leat_plan_tensor_class(plan, NULL, 0));
    assert_int_equal(leat_plan_changed_ns(NULL), 0);
    assert_int_equal(leat_plan_stamp(NULL), 0);
    assert_int_equal(leat_plan_fingerprint(NULL), 0);
    assert_int_equal(leat_plan_content(NULL), 0);
    REFUSED(leat_trainer_add_files(NULL, "eval", plan, &err));
    leat_stream_unwrap(NULL);
    REFUSED(leat_stream_wrap(NULL, NULL, &stream, &err));
    REFUSED(leat_stream_follow(NULL, NULL));
    REFUSED(leat_loader_next_within(NULL, 0, &batch, &err));
    REFUSED(leat_loader_next_within(loader, 0, NULL, &err));
    REFUSED(leat_loader_next_within(loader, -5, &batch, NULL));
    memset(&at, 'x', sizeof at);
    leat_loader_get_state(NULL, &at);
    assert_int_equal(at.magic[0], 0);
    leat_loader_get_state(loader, NULL);
    memset(&at, 'x', sizeof at);
    leat_loader_state_at(NULL, 3, &at);
    assert_int_equal(at.magic[0], 0);
    leat_loader_state_at(plan, 3, NULL);
    stats.batches = 7;
    leat_loader_stats(NULL, &stats);
    assert_int_equal(stats.batches, 0);
    leat_loader_stats(loader, NULL);
    assert_int_equal(leat_loader_errors(NULL, &bad, 1), 0);
    assert_int_equal(leat_loader_errors(loader, NULL, 1), 0);
    assert_int_equal(leat_loader_errors(loader, &bad, -1), 0);
    assert_int_equal(leat_loader_decisions(NULL, &decision, 1), 0);
    assert_int_equal(leat_loader_decisions(loader, NULL, 1), 0);
    assert_null(leat_loader_budget(NULL));
    REFUSED(leat_loader_trace_write(NULL, "/nowhere/x", &err));
    REFUSED(leat_loader_trace_write(loader, NULL, &err));
    leat_loader_trace_step(NULL, 0, 0, 1);
    leat_loader_trace_step(loader, -1, 1, 0);
    leat_loader_trace_step(loader, INT64_MAX, INT64_MIN, INT64_MAX);
    check(leat_loader_next(loader, &batch, &err), &err); /* all the same */
    leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
}

TEST(batches)
{
    leat_device *device;
    leat_error err;
    assert_null(leat_batch_get_info(NULL));
    assert_null(leat_batch_tensor(NULL, 0).data);
    assert_null(leat_batch_valid(NULL));
    assert_null(leat_batch_error(NULL, 0));
    REFUSED(leat_batch_wait_on(NULL, NULL));
    REFUSED(leat_batch_release_on(NULL, NULL));
    leat_batch_release(NULL);
    check(leat_device_open("sim", &device, &err), &err);
    for (int on_sim = 0; on_sim < 2; on_sim++) {
        const leat_loader_options options = { .device = on_sim ? device : NULL };
        leat_plan *plan = make_plan();
        leat_loader *loader = open_loader(plan, &options);
        leat_batch *batch;
        check(leat_loader_next(loader, &batch, &err), &err);
        for (size_t i = 0; i < sizeof far_off / sizeof *far_off; i++) {
            assert_null(leat_batch_tensor(batch, far_off[i]).data);
            assert_null(leat_batch_error(batch, far_off[i]));
        }
        assert_non_null(leat_batch_tensor(batch, 0).data);
        assert_int_equal(leat_batch_wait_on(batch, NULL), on_sim ? LEAT_E_ARGUMENT : LEAT_OK);
        assert_int_equal(leat_batch_release_on(batch, NULL), on_sim ? LEAT_E_ARGUMENT : LEAT_OK);
        assert_null(leat_batch_tensor(batch, 0).data); /* it was given back */
        leat_batch_release(batch);
        check(leat_loader_next(loader, &batch, &err), &err);
        leat_batch_release(batch);
        close_loader_and_plan(&loader, &plan);
    }
    leat_device_close(&device);
}

/* --- customers ------------------------------------------------------------------------------------ */

TEST(trainers)
{
    static leat_compare_result result;
    leat_trainer *trainer = NULL;
    leat_ranks *ranks = NULL;
    leat_device *device = NULL;
    leat_metrics metrics;
    leat_step_times times;
    leat_recorded recorded;
    leat_jpeg_info jpeg;
    const void *table;
    size_t n;
    leat_error err;
    REFUSED(leat_trainer_open(NULL, NULL, NULL, &trainer, &err));
    REFUSED(leat_trainer_open_ranks(NULL, NULL, NULL, NULL, &trainer, &err));
    REFUSED(leat_trainer_open_device(NULL, &device, &err));
    REFUSED(leat_ranks_open(2, NULL, &err));
    REFUSED(leat_ranks_open(0, &ranks, &err));
    REFUSED(leat_ranks_join(NULL, 0, &err));
    assert_int_equal(leat_ranks_agree(NULL, LEAT_E_DATA, NULL, &err), LEAT_E_DATA);
    assert_int_equal(leat_ranks_total(NULL, LEAT_E_DATA, NULL, 1, &err), LEAT_E_DATA);
    assert_int_equal(leat_ranks_same(NULL, LEAT_E_DATA, NULL, &err), LEAT_E_DATA);
    REFUSED(leat_ranks_open_mpi(NULL, NULL, NULL, &err));
    REFUSED(leat_ranks_open_simulated(2, NULL, &err));
    REFUSED(leat_ranks_open_simulated(0, &ranks, &err));
    REFUSED(leat_ranks_network(NULL, 0, 1e9, &err));
    leat_ranks_deadline(NULL, 1);
    leat_ranks_overlap(NULL, 1);
    assert_int_equal(leat_ranks_is_reporter(NULL), 1);
    assert_int_equal(leat_ranks_times(NULL, NULL, 0), 0);
    leat_ranks_close(&ranks);
    leat_ranks_close(NULL);
    REFUSED(leat_trainer_check(NULL, NULL, &err));
    REFUSED(leat_trainer_check_classes(NULL, NULL, 0, &err));
    REFUSED(leat_trainer_check_config(NULL, NULL, NULL, NULL, 0, &err));
    REFUSED(leat_trainer_open_evaluation(NULL, NULL, NULL, &trainer, &err));
    REFUSED(leat_trainer_open_shape(NULL, NULL, 1, NULL, &trainer, &err));
    REFUSED(leat_loader_check(NULL, NULL, &err));
    assert_null(leat_trainer_get_info(NULL));
    assert_string_equal(leat_trainer_graph_failure(NULL), "");
    REFUSED(leat_trainer_step(NULL, NULL, &err));
    REFUSED(leat_trainer_repeat(NULL, NULL, 1, &err));
    leat_trainer_so_far(NULL, NULL);
    REFUSED(leat_trainer_metrics(NULL, &metrics, &err));
    REFUSED(leat_trainer_metrics_within(NULL, &metrics, &err));
    assert_int_equal(leat_trainer_times(NULL, &times, 1), 0);
    REFUSED(leat_trainer_start_at(NULL, 0, &err));
    REFUSED(leat_trainer_whiten(NULL, NULL, &err));
    assert_int_equal(leat_trainer_whitens(NULL), 0);
    REFUSED(leat_trainer_record(NULL, &err));
    leat_trainer_recorded(NULL, 1, &recorded);
    assert_true(recorded.n_steps == 0 && *recorded.why);
    leat_trainer_recorded(NULL, 1, NULL);
    REFUSED(leat_trainer_evaluate(NULL, NULL, &metrics, &err));
    REFUSED(leat_trainer_evaluate_until(NULL, NULL, NULL, NULL, &metrics, &err));
    REFUSED(leat_trainer_decide(NULL, NULL, NULL, &err));
    REFUSED(leat_trainer_decide_unkept(NULL, NULL, &err));
    assert_true(leat_trainer_learning_rate(NULL) <= 0);
    REFUSED(leat_trainer_save(NULL, "x", &err));
    REFUSED(leat_trainer_restore(NULL, "x", &err));
    REFUSED(leat_trainer_load(NULL, &err));
    leat_trainer_close(&trainer);
    leat_trainer_close(NULL);
    REFUSED(leat_compare(NULL, NULL, 0, NULL, &result, &err));
    REFUSED(leat_jpeg_probe(NULL, 0, &jpeg, &err));
    REFUSED(leat_jpeg_probe("x", 1, NULL, &err));
    assert_true(*leat_jpeg_loop(NULL, 0));
    REFUSED(leat_jpeg_make_table(NULL, 0, 0, NULL, &table, &n, &err));
}

TEST(verdicts)
{
    char text[LEAT_VERDICT_DETAILS] = "x";
    for (size_t i = 0; i < sizeof far_off / sizeof *far_off; i++) {
        assert_string_equal(leat_verdict_about((leat_verdict_kind)far_off[i])->name, "");
        assert_string_equal(leat_verdict_part((leat_part)far_off[i])->word, "");
        assert_string_equal(leat_verdict_share((leat_share)far_off[i])->word, "");
        assert_string_equal(leat_verdict_work((leat_worker_time)far_off[i])->word, "");
        assert_string_equal(leat_verdict_severity((leat_severity)far_off[i]), "");
        assert_false(leat_verdict_blames_host((leat_verdict_kind)far_off[i]));
    }
    assert_int_equal(leat_verdict_find(NULL), LEAT_VERDICT_NONE);
    assert_int_equal(leat_verdict_find_part(NULL), LEAT_PART_NONE);
    assert_int_equal(leat_verdict_find_share(NULL), LEAT_N_SHARES);
    assert_int_equal(leat_verdict_find_severity(NULL), LEAT_SEVERITY_NONE);
    assert_string_equal(leat_verdict_label(NULL, text), "");
    assert_string_equal(leat_verdict_details(NULL, text), "");
    for (int given = 0; given < 2; given++) {
        const leat_verdict verdict = { .kind = LEAT_VERDICT_INPUT_BOUND };
        assert_null(leat_verdict_label(given ? &verdict : NULL, NULL));
        assert_null(leat_verdict_details(given ? &verdict : NULL, NULL));
    }
    assert_string_equal(leat_verdict_sentence(NULL, text, sizeof text), "");
    assert_null(leat_verdict_sentence(NULL, NULL, 0));
}

TEST(studies)
{
    static leat_doctor_result doctor;
    static leat_tune_result tune;
    static leat_whatif_result whatif;
    static leat_whatif_ranks_result whatif_ranks;
    static leat_crossover_result crossover;
    static leat_watch_result watch;
    const char *const devices[2] = { "cpu", NULL };
    const leat_sweep_options sweep = { 0 };
    leat_work *work = NULL;
    leat_ceiling ceiling;
    leat_crossing crossing;
    leat_series series;
    leat_error err;
    char text[200];
    size_t length;
    int64_t ns;
    REFUSED(leat_doctor(NULL, NULL, &doctor, &err));
    assert_false(leat_doctor_is_sure(NULL));
    assert_string_equal(leat_doctor_guess(NULL, 0, text, sizeof text), "");
    assert_string_equal(leat_doctor_ranks(NULL, 2, NULL, text, sizeof text), "");
    REFUSED(leat_doctor_observed(NULL, &doctor, &err));
    assert_true(leat_observed_predict(NULL, 1) == 0);
    assert_true(leat_usage_others(NULL, NULL) == 0);
    leat_usage_now(NULL);
    REFUSED(leat_tune(NULL, NULL, &tune, &err));
    REFUSED(leat_tune_apply(NULL, NULL, &err));
    REFUSED(leat_doctor_apply(NULL, NULL, &err));
    REFUSED(leat_stage_name_value(NULL, NULL, &err));
    REFUSED(leat_whatif(NULL, NULL, &whatif, &err));
    REFUSED(leat_whatif_ranks(NULL, NULL, &whatif_ranks, &err));
    REFUSED(leat_watch(NULL, NULL, &watch, &err));
    REFUSED(leat_crossover(NULL, devices, NULL, &crossover, &err));
    REFUSED(leat_work_open(NULL, NULL, &work, &err));
    REFUSED(leat_work_run(NULL, &ns, &err));
    leat_ceiling_measure(NULL, LEAT_PRECISION_FP32, &ceiling);
    assert_true(ceiling.flops_per_s == 0 && *ceiling.why);
    leat_ceiling_measure(NULL, LEAT_PRECISION_FP32, NULL);
    leat_work_close(&work);
    leat_work_close(NULL);
    REFUSED(leat_sweep(NULL, 1, &sweep, NULL, NULL, &err));
    REFUSED(leat_sweep(&series, 1, NULL, NULL, NULL, &err));
    REFUSED(leat_crossing_find(NULL, NULL, &crossing, &err));
    REFUSED(leat_config_text(NULL, text, sizeof text, &length, &err));
    REFUSED(leat_config_edit(NULL, "a: 1", "x", text, sizeof text, &length, &err));
}

TEST(trained_models)
{
    leat_loader_state at = { 0 };
    leat_checkpoint_found found;
    leat_train_memory memory;
    leat_loaded_info loaded;
    leat_layer_info layer;
    leat_score_class one;
    leat_score_info info;
    leat_score *score = NULL;
    char text[8] = "x";
    float values[1];
    leat_error err;
    assert_int_equal(leat_checkpoint_ready(NULL), 0);
    assert_int_equal(leat_checkpoint_is_last(NULL, 0), 0);
    REFUSED(leat_checkpoint_write(NULL, &at, "x", &err));
    REFUSED(leat_checkpoint_save(NULL, &at, "x", 1, NULL, &err));
    REFUSED(leat_checkpoint_resume(NULL, "x", &found, &err));
    assert_int_equal(leat_checkpoint_newest(NULL, NULL, NULL), LEAT_E_ARGUMENT);
    REFUSED(leat_checkpoint_check_best(NULL, "x", &err));
    assert_int_equal(leat_trainer_layer(NULL, 0, &layer), LEAT_E_END);
    assert_int_equal(leat_trainer_loaded(NULL, 0, &loaded), LEAT_E_END);
    assert_string_equal(leat_loaded_name((leat_loaded)77), "?");
    REFUSED(leat_trainer_memory(NULL, &memory, &err));
    REFUSED(leat_trainer_predict(NULL, NULL, values, &err));
    assert_int_equal(leat_trainer_probabilities(NULL, values, 1), 0);
    REFUSED(leat_trainer_export_onnx(NULL, "x", &err));
    assert_int_equal(leat_plan_records(NULL, 0, NULL, 0), 0);
    assert_string_equal(leat_plan_record_text(NULL, 0, text, sizeof text), "");
    assert_null(leat_plan_record_text(NULL, 0, NULL, 0));
    REFUSED(leat_score_open(NULL, 1, &score, &err));
    REFUSED(leat_score_add(NULL, NULL, values, NULL, NULL, &err));
    leat_score_get(NULL, &info);
    assert_int_equal(info.samples, 0);
    leat_score_get_class(NULL, 0, &one);
    assert_int_equal(one.samples, 0);
    assert_int_equal(leat_score_n_evaluated(NULL), 0);
    leat_score_evaluated_class(NULL, 0, &one);
    assert_int_equal(one.samples, 0);
    leat_score_evaluated_class(NULL, 0, NULL);
    leat_score_close(&score);
    leat_score_close(NULL);
}

/* --- nothing is left out -------------------------------------------------------------------------- */

/* These run for every number or sample, and look at nothing; api.h says so. */
static const char trusting[] = "leat_philox leat_rng_make leat_rng_u32 leat_rng_f32 leat_rng_range "
                               "leat_rng_below leat_rng_normal leat_rng_epoch leat_rng_in_epoch "
                               "leat_scratch_take leat_scratch_keep "
                               "leat_scratch_open leat_scratch_close leat_scratch_reset";

static char *read_text(const char *path)
{
    FILE *const file = fopen(path, "re");
    char *const text = calloc(1, 1 << 20);
    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static int count_missing(const char *header, const char *here)
{
    int n_missing = 0;
    char *const text = read_text(header);
    for (const char *at = text; (at = strstr(at, "\nLEAT_API "));) {
        const char *const open = strchr(at + 1, '(');
        const char *name = open;
        assert_non_null(open);
        while (name[-1] == '_' || (name[-1] >= 'a' && name[-1] <= 'z') ||
               (name[-1] >= '0' && name[-1] <= '9'))
            name--;
        char call[80], alone[80];
        snprintf(call, sizeof call, "%.*s(", (int)(open - name), name);
        snprintf(alone, sizeof alone, "%.*s", (int)(open - name), name);
        const bool there = strstr(here, call) || strstr(trusting, alone) ||
                           (strstr(alone, "_kind") && strstr(here, alone));
        if (!there)
            printf("%s: %s is not called here\n", header, alone);
        n_missing += !there;
        at = open;
    }
    free(text);
    return n_missing;
}

TEST(no_function_is_left_out)
{
    static const char folder[] = SOURCE_DIR "/include/leat";
    char *const here = read_text(SOURCE_DIR "/tests/pipeline/test_api_null.c");
    DIR *const dir = opendir(folder);
    int n_missing = 0, n_headers = 0;
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        char path[600];
        if (!strstr(entry->d_name, ".h"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        n_missing += count_missing(path, here);
        n_headers++;
    }
    closedir(dir);
    free(here);
    assert_true(n_headers > 10);
    assert_int_equal(n_missing, 0);
}
