/* SPDX-License-Identifier: MIT
 *
 * test_forecast.c: numbers into step times, shares and advice. */
#include "study/doctor/doctor_fill.h"
#include "study/facts_fixture.h"
#include "study/suggest/suggest.h"

/* --- forecasts and shares ---------------------------------------------------------------------- */

TEST(the_slowest_part_is_the_forecast)
{
    leat_facts f = facts_of(10, 4, 3);
    assert_true(fabs(leat_forecast_of(&f).predicted - 4e6) < 1);
    f.copy_ns = 6e6;
    assert_true(fabs(leat_forecast_of(&f).predicted - 6e6) < 1);
    f.loader_cpu_ns = 28e6 / ROWS;
    assert_true(fabs(leat_forecast_of(&f).predicted - 7e6) < 1);
    f.taken = 2; /* half of the cores are gone */
    assert_true(fabs(leat_forecast_of(&f).predicted - 14e6) < 1);
    f.loader_cores = 4; /* although: we did get them */
    assert_true(fabs(leat_forecast_of(&f).predicted - 7e6) < 1);
}

TEST(on_shared_cores_both_are_slower)
{
    leat_facts f =
        facts_of(10, 2, 6); /* the workers want 4 cores for 2 ms, the step 2 cores for 6 ms */
    f.on_host = true;
    f.loader_cpu_ns = 4 * 2e6 / ROWS;
    f.step_cpu_ns = 2 * 6e6 / ROWS;
    /* Each thread of the step shares its core with a worker, so the other workers have the rest of the cores: a batch
     * in 2 * 4/3 ms, and in this time 4/3 of 6 ms of the step. 14/3 ms alone. */
    assert_true(fabs(leat_forecast_of(&f).predicted - 22e6 / 3) < 1);
    f.step_cpu_ns = 0;
    assert_true(fabs(leat_forecast_of(&f).predicted - 6e6) < 1); /* enough cores */
    f.step_cpu_ns = 4 * 6e6 / ROWS; /* both want all cores: one after the other */
    assert_true(fabs(leat_forecast_of(&f).predicted - 8e6) < 1);
    f.on_host = false;
    f.step_cpu_ns = 2 * 6e6 / ROWS;
    assert_true(fabs(leat_forecast_of(&f).predicted - 6e6) < 1);
}

/* Two cores: the times that a step and a batch take beside each other do not depend on which one is slower. */
TEST(a_worker_too_many_takes_turns_with_the_trainer)
{
    leat_facts f = facts_of(10, 3, 6);
    f.on_host = true;
    f.cores = f.threads = 2;
    f.loader_cpu_ns = 2 * 3e6 / ROWS;
    f.step_cpu_ns = 1 * 6e6 / ROWS;
    /* A batch in 3 * 4/3 = 4 ms, 2 of 6 ms of the step meanwhile. */
    assert_true(fabs(leat_forecast_of(&f).predicted - 8e6) < 1);
    f.loader = within(rate_of(12), 0.01);
    f.loader_cpu_ns = 2 * 12e6 / ROWS;
    /* A step in 12 ms, 9 of 12 ms of the batch meanwhile. */
    assert_true(fabs(leat_forecast_of(&f).predicted - 15e6) < 1);
    double last = 12e6; /* workers that want hardly more than one core change hardly anything */
    for (double w = 1; w <= 2; w += 1.0 / 64) {
        f.loader_cpu_ns = w * 12e6 / ROWS;
        const double now = leat_forecast_of(&f).predicted;
        assert_true(now >= last - 1 && now < last + 0.1e6);
        last = now;
    }
    f.step_cpu_ns = 50 * 6e6 / ROWS; /* measured badly: nobody has 50 of 2 cores */
    assert_true(fabs(leat_forecast_of(&f).predicted - 50 * 6e6 / 2 - 12e6) < 1);
}

/* Each 12th batch takes 18 ms, the others 0.5: 1.96 ms on average, and a step 2 ms. */
TEST(slow_samples_hold_up_batches)
{
    static int64_t gaps[240];
    for (int i = 0; i < 240; i++)
        gaps[i] = i % 12 == 6 ? 18000000 : 500000;
    leat_facts f = facts_of(3, (18 + 11 * 0.5) / 12, 2);
    assert_true(fabs(leat_forecast_of(&f).predicted - 2e6) < 1);
    f.gap_ns = gaps;
    f.n_gaps = 240;
    /* Two batches are ready when the slow one begins, so the step waits 13.5 ms of 18: the third is made after the wait. */
    f.window = 2;
    const double few = leat_forecast_of(&f).predicted;
    assert_true(few > 2.8e6 && few < 3.4e6);
    f.copy_ns = 1; /* more are ready in the memory of the device */
    assert_true(leat_forecast_of(&f).predicted < few - 0.2e6);
    assert_true(leat_forecast_of(&f).predicted > 2.1e6);
    f.copy_ns = 0;
    f.window = 24; /* covers it */
    assert_true(fabs(leat_forecast_of(&f).predicted / 2e6 - 1) < 0.05);
    for (int i = 0; i < 20; i++)
        gaps[i] = 2000000;
    for (f.n_gaps = 5; f.n_gaps <= 20; f.n_gaps += 5) /* few batches, as long as a step: even */
        assert_true(fabs(leat_forecast_of(&f).predicted / 2e6 - 1) < 0.01);
    f.n_gaps = 240;
    f.step = within(rate_of(30), 0.01); /* a long step waits for none */
    f.window = 2;
    assert_true(fabs(leat_forecast_of(&f).predicted / 30e6 - 1) < 0.01);
}

/* --- advice ------------------------------------------------------------------------------------ */

TEST(advice_follows_from_the_parts)
{
    static leat_doctor_result out;
    leat_verdict_found d;
    leat_arm arm = { .plan = NULL }; /* nowhere to put a cache */
    leat_facts f = facts_of(10, 10, 2);
    const leat_suggest_about about = { .arm = &arm, .facts = &f, .diagnosis = &d };
    f.loader_cores = 3.9;
    set_stage(&f, 0, "image: decode_jpeg", 900, 890);
    set_stage(&f, 1, "image: normalize", 300, 295);
    leat_verdict_decide(&f, &d);
    leat_suggest_advise(&about, &out);
    assert_int_equal(out.n_suggestions, 2);
    assert_true(fabs(leat_suggest_without_decoding(&f, 1) - 2.5e6) < 1);    /* a quarter remains */
    assert_true(fabs(leat_suggest_without_decoding(&f, 0.5) - 6.25e6) < 1); /* half of it is gone */
    assert_true(fabs(out.suggestions[0].predicted_step_ms - 2.5) < 1e-6);
    assert_int_equal(out.suggestions[0].n_set, 0);
    assert_true(fabs(out.suggestions[1].predicted_step_ms - 2) < 1e-6); /* the step */
    assert_non_null(strstr(out.suggestions[1].title, "about 20 cores"));
    f.run = within(rate_of(12),
                   0.01); /* what must shrink is the job, which takes longer than its loader */
    out.n_suggestions = 0;
    leat_suggest_advise(&about, &out);
    assert_true(fabs(out.suggestions[1].gain - 5) < 1e-6);
    assert_non_null(strstr(out.suggestions[1].title, "or leave out 83 % of its work"));
    f.run = within(rate_of(8), 0.01);
    f.step = within(rate_of(4), 0.01); /* and no other input makes the step faster */
    assert_true(fabs(leat_suggest_without_decoding(&f, 1) - 4e6) < 1);
    f.step = within(rate_of(0.01), 0.01); /* no machine has so many cores */
    out.n_suggestions = 0;
    leat_suggest_advise(&about, &out);
    assert_non_null(strstr(out.suggestions[1].title, "Without the input a step would take"));

    f = facts_of(10, 10, 2); /* it waits: neither helps */
    f.loader_cores = 0.1;
    set_stage(&f, 0, "image: sleep", 900, 1);
    leat_verdict_decide(&f, &d);
    out.n_suggestions = 0;
    leat_suggest_advise(&about, &out);
    assert_int_equal(out.n_suggestions, 0);
    assert_true(leat_suggest_without_decoding(&f, 1) == 0);

    f = facts_of(10, 2, 10);
    leat_verdict_decide(&f, &d);
    leat_suggest_advise(&about, &out);
    assert_int_equal(out.n_suggestions, 0);
}

/* Where there was no time to try them. */
TEST(workers_on_idle_cores_are_advised)
{
    static leat_doctor_result out = { .n_no_time = 1 };
    leat_verdict_found d;
    leat_arm arm = { .plan = NULL };
    leat_facts f = facts_of(10, 10, 2);
    const leat_suggest_about about = { .arm = &arm, .facts = &f, .diagnosis = &d };
    f.threads = 1;
    f.loader_cores = 1;
    f.work[LEAT_WORK_COMPUTE] = 1;
    set_stage(&f, 0, "image: resize", 900, 890);
    leat_verdict_decide(&f, &d);
    assert_int_equal(d.verdict.cause, LEAT_CAUSE_SERIAL);
    leat_suggest_advise(&about, &out);
    assert_int_equal(out.n_suggestions, 1);
    assert_string_equal(out.suggestions[0].set[0], "engine.threads=4");
    assert_string_equal(out.suggestions[0].not_tried, "no time (--seconds)");
    assert_true(fabs(out.suggestions[0].predicted_step_ms - 2.5) < 1e-6);
    assert_true(out.suggestions[0].gain_low > 0 && out.suggestions[0].gain_high < 4);
    out = (leat_doctor_result){ .n_no_memory = 1 }; /* perhaps for these */
    leat_suggest_advise(&about, &out);
    assert_int_equal(out.n_suggestions, 0);
    out = (leat_doctor_result){ .n_without_gain = 1, .without_gain = { "engine.threads=4" } };
    leat_suggest_advise(&about, &out);
    assert_int_equal(out.n_suggestions, 0);
    out.n_without_gain = 0;
    f.overlaps = false; /* its loader's time has the copy */
    leat_suggest_advise(&about, &out);
    assert_int_equal(out.n_suggestions, 0);
}

/* What includes no gain, or ran in two rounds only, comes last, and of the others what was tried first, however large the gain is. */
TEST(what_likely_gains_comes_first)
{
    static const leat_doctor_suggestion changes[] = {
        { .title = "d", .gain = 9, .n_rounds = 6, .gain_low = -0.1, .gain_high = 20 },
        { .title = "b", .gain = 0.1, .n_rounds = 3, .gain_low = 0.05, .gain_high = 0.2 },
        { .title = "e", .gain = 0.3, .n_rounds = 2, .gain_low = 0.3, .gain_high = 0.4 },
        { .title = "f", .gain = 0.5, .gain_low = 0, .gain_high = 2, .not_tried = "no" },
        { .title = "c", .gain = 3, .gain_low = 1, .gain_high = 4, .not_tried = "no" },
        { .title = "a", .gain = 0.2, .n_rounds = 3, .gain_low = 0.01, .gain_high = 0.3 },
    };
    enum { N = sizeof changes / sizeof *changes };
    for (int from = 0; from < N; from++) {
        static leat_doctor_result out;
        out.n_suggestions = 0;
        for (int i = 0; i < N; i++)
            leat_suggest_insert(&changes[(from + i) % N], &out);
        for (int i = 0; i < N; i++)
            assert_int_equal(out.suggestions[i].title[0], 'a' + i);
    }
}

/* Of a job of 10 ms on 4 cores, with a step of 7 ms. */
TEST(the_host_is_late_for_the_largest_cause)
{
    static const struct {
        bool on_host;
        double run_cores, taken, busy, late; /* the meter's */
        const char *because;                 /* NULL: it is not late */
    } rows[] = {
        { false, 3.7, 0, 0.7, 0.3, "the threads that train had no free core" },
        { false, 2, 1.7, 0.7, 0.3, "the threads that train had no free core" },
        { true, 3.7, 0, 1, 0, "the threads that train had no free core" },
        { true, 2, 0, 1, 0, "a step takes longer than alone, as it shares memory or cores" },
        { true, 2, 0, 0.86, 0.14, "a step takes longer than alone, as it shares memory or cores" },
        { true, 2, 0, 0.84, 0.16, "the thread that trains did something else between steps" },
        { true, 2, 0, 0.7, 0.3, "the thread that trains did something else between steps" },
        { false, 3.5, 0, 0.7, 0.3, "the thread that trains did something else between steps" },
        { false, 3.7, 0, 0.991, 0.009, NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static leat_doctor_result out;
        char want[128];
        leat_facts f = facts_of(10, 2, 7);
        f.on_host = rows[i].on_host;
        f.run_cores = rows[i].run_cores;
        f.taken = rows[i].taken;
        f.meter = (leat_meter){ .busy = rows[i].busy, .other_host = rows[i].late };
        out.n_evidence = out.n_capacities = 0;
        leat_doctor_fill(&f, &(leat_verdict_found){ .why = "" }, &(leat_doctor_loaders){ 0 }, &out);
        int32_t at = 0;
        while (at < out.n_evidence && strcmp(out.evidence[at].name, "host_late") != 0)
            at++;
        assert_true((at < out.n_evidence) == (rows[i].because != NULL));
        snprintf(want, sizeof want, "host is late: %s", rows[i].because ? rows[i].because : "");
        if (rows[i].because)
            assert_string_equal(out.evidence[at].text, want);
    }
}

static double sum(const double *shares)
{
    double all = 0;
    for (int i = 0; i < LEAT_N_SHARES; i++) {
        assert_true(shares[i] >= -1e-12);
        all += shares[i];
    }
    return all;
}

TEST(shares_sum_to_one_whatever_is_known)
{
    srand(1);
    for (int i = 0; i < 20000; i++) {
        double parts[7], all = 0, s[LEAT_N_SHARES];
        for (int k = 0; k < 7; k++)
            all += parts[k] = rand() % 4 ? rand() / (double)RAND_MAX : 0;
        if (all == 0)
            continue;
        leat_facts f = facts_of(10, 1 + rand() % 12, 1 + rand() % 12);
        f.on_host = rand() % 2;
        f.step_busy = rand() % 2 ? 0.5 : 1;
        f.step_free = rand() % 2 ? rate_of(5) : 0;
        f.copy_ns = rand() % 2 ? 1e6 : 0;
        f.run_cores = rand() % 5;
        f.placement_ns = rand() % 2 ? 3e6 : 0;
        f.meter = (leat_meter){ .busy = parts[0] / all,
                                .input_wait = parts[1] / all,
                                .exposed_copy = parts[2] / all,
                                .other_host = parts[3] / all,
                                .other_send = parts[4] / all,
                                .other_start = parts[5] / all,
                                .other_inside = parts[6] / all,
                                .crossing_ns = f.placement_ns / 2,
                                .elsewhere_ns = f.placement_ns / 2 };
        leat_forecast_shares(&f, s);
        assert_true(fabs(sum(s) - 1) < 1e-9);
        for (int k = 0; k < LEAT_N_SHARES; k++) /* nobody reads "5.8e-17 ms" */
            assert_true(s[k] == 0 || s[k] > 1e-12);
        if (f.on_host)
            assert_true(s[LEAT_SHARE_LAUNCH] == 0 && s[LEAT_SHARE_SYNC] == 0 &&
                        s[LEAT_SHARE_UNKNOWN] == 0);
    }
}

TEST(idle_time_gets_the_name_of_its_cause)
{
    double s[LEAT_N_SHARES];
    leat_facts f = facts_of(10, 2, 10); /* of 10 ms: 5 waits, 2 launches, 3 work */
    f.sync_every = 1;
    f.step_free = rate_of(5);
    f.step_busy = 0.6;
    f.meter =
        (leat_meter){ .busy = 0.3, .other_inside = 0.2, .other_host = 0.4, .other_start = 0.1 };
    leat_forecast_shares(&f, s);
    assert_true(fabs(s[LEAT_SHARE_BUSY] - 0.3) < 1e-9);
    assert_true(fabs(s[LEAT_SHARE_LAUNCH] - 0.2) < 1e-9);
    assert_true(fabs(s[LEAT_SHARE_SYNC] - 0.5) < 1e-9);
    assert_true(fabs(s[LEAT_SHARE_UNKNOWN]) < 1e-9);

    f = facts_of(10, 2, 10); /* of 10 ms: 6 on other devices, 1 launches, 3 work */
    f.placement_ns = 5e6;    /* and 1 in waits at crossings */
    f.step_busy = 0.3;
    f.meter = (leat_meter){ .busy = 0.3,
                            .other_inside = 0.7,
                            .elsewhere_ns = 4e6,
                            .crossing_ns = 1e6,
                            .crossings = 4,
                            .launch_p50_ns = 1000000 };
    leat_forecast_shares(&f, s);
    assert_true(fabs(s[LEAT_SHARE_PLACEMENT] - 0.6) < 1e-9);
    assert_true(fabs(s[LEAT_SHARE_LAUNCH] - 0.1) < 1e-9);
    assert_true(fabs(sum(s) - 1) < 1e-9);

    f = facts_of(10, 2, 5); /* gaps inside the step that its runs alone do not have */
    f.meter = (leat_meter){ .busy = 0.5, .other_inside = 0.5 };
    leat_forecast_shares(&f, s);
    assert_true(fabs(s[LEAT_SHARE_UNKNOWN] - 0.5) < 1e-9);
    f.run_cores = 3.9; /* the launching thread had no core */
    leat_forecast_shares(&f, s);
    assert_true(fabs(s[LEAT_SHARE_OTHER_HOST] - 0.5) < 1e-9);

    f = facts_of(10, 2, 5); /* a copy lasts 1 ms; the host was late to enqueue it */
    f.copy_ns = 1e6;
    f.meter = (leat_meter){ .busy = 0.5, .exposed_copy = 0.4, .input_wait = 0.1 };
    leat_forecast_shares(&f, s);
    assert_true(fabs(s[LEAT_SHARE_EXPOSED_COPY] - 0.1) < 1e-9);
    assert_true(fabs(s[LEAT_SHARE_INPUT_WAIT] - 0.4) < 1e-9);

    f = facts_of(10, 2, 5); /* on the CPU a step includes waits for a core */
    f.on_host = true;
    f.meter = (leat_meter){ .busy = 0.9, .other_host = 0.1 };
    leat_forecast_shares(&f, s);
    assert_true(fabs(s[LEAT_SHARE_BUSY] - 0.5) < 1e-9);
    assert_true(fabs(s[LEAT_SHARE_OTHER_HOST] - 0.5) < 1e-9);
}
