/* SPDX-License-Identifier: MIT
 *
 * gpu_case_train.c: training on the device gives what training on the CPU gives. */
#include "gpu_train.h"

#include <stdlib.h>
#include <string.h>

#include "leat/leat.h"

/* LEAT_E_UNSUPPORTED at open: the libraries are missing, which is no failure of ours. */
static gpu_verdict refused(gpu_run *run, const char *model, int code, const leat_error *err)
{
    return gpu_say(run, code == LEAT_E_UNSUPPORTED ? GPU_NOT_RUN : GPU_FAILED, "%s: %.300s", model,
                   err->message);
}

static bool trains(gpu_run *run)
{
    if (run->device->table->train)
        return true;
    gpu_say(run, GPU_NOT_RUN, "the device does not train");
    return false;
}

/* All models of a list, each for some steps; keeps the largest distances. One that fails does not hide the
 * others, unless it took the device with it. */
static gpu_verdict compare_all(gpu_run *run, const gpu_model *models, const char *how,
                               const char *cpu_how, int steps, double loss, double weights)
{
    gpu_distance worst = { 0 };
    leat_error first = { 0 };
    const char *failed = NULL;
    char where[160] = "";
    int n = 0, rc = LEAT_OK;
    for (const gpu_model *m = models; m->name && rc != LEAT_E_DEVICE; m++, n++) {
        gpu_distance d;
        leat_error err;
        rc = gpu_train_compare(run->device, m, how, cpu_how, steps, &d, &err);
        gpu_note("%-20s loss %.2g, weights %.2g (%s)%s%s", m->name, d.loss, d.weights, d.where,
                 rc < 0 ? ": " : "", rc < 0 ? err.message : "");
        if (rc < 0 && (!failed || first.code == LEAT_E_UNSUPPORTED)) {
            failed = m->name;
            first = err;
        }
        if (rc < 0)
            continue;
        worst.loss = !(d.loss <= worst.loss) ? d.loss : worst.loss;
        if (!(d.weights <= worst.weights)) {
            worst.weights = d.weights;
            snprintf(where, sizeof where, "%s, %s", m->name, d.where);
        }
    }
    gpu_keep(run, "loss_apart", worst.loss, "");
    gpu_keep(run, "weights_apart", worst.weights, "");
    if (failed)
        return refused(run, failed, first.code, &first);
    const bool ok = worst.loss <= loss && worst.weights <= weights;
    return gpu_say(run, ok ? GPU_PASSED : GPU_FAILED,
                   "%d models, %d steps: losses at most %.2g apart (allowed %.2g), weights %.2g "
                   "(allowed %.2g; %s)",
                   n, steps, worst.loss, loss, worst.weights, weights, where);
}

gpu_verdict gpu_case_train_layers(gpu_run *run)
{
    return trains(run) ? compare_all(run, gpu_small_models, "precision: fp32, ", "", 4, 1e-4, 1e-3)
                       : GPU_NOT_RUN;
}

gpu_verdict gpu_case_train_bf16(gpu_run *run)
{
    return trains(run) ? compare_all(run, gpu_small_models, "precision: bf16, ", gpu_cpu_bf16(), 2,
                                     0.05, 0.1)
                       : GPU_NOT_RUN;
}

gpu_verdict gpu_case_train_curves(gpu_run *run)
{
    return trains(run) ? compare_all(run, gpu_whole_models, "", "", 20, 1e-2, 0.05) : GPU_NOT_RUN;
}

/* --- graphs -------------------------------------------------------------------------------------- */

static int train_some(gpu_run *run, const gpu_model *m, const char *how, int steps, gpu_net *net,
                      leat_error *err)
{
    const leat_trainer_feed feed = gpu_feed(m);
    char text[2048];
    snprintf(text, sizeof text, "train: {%s%s}", how, m->text);
    int rc = gpu_net_open(net, run->device, text, &feed, err);
    for (int i = 0; i < steps && rc == LEAT_OK; i++) {
        gpu_batch b = gpu_batch_draw(&feed, (uint64_t)i, m->batch, i == 4);
        rc = gpu_net_step(net, &feed, &b, true, err);
        gpu_batch_drop(&b);
    }
    return rc;
}

/* Two runs with graphs and one without: the same bits. */
gpu_verdict gpu_case_train_graph(gpu_run *run)
{
    static const char *const hows[] = { "graph: false, ", "graph: true, ", "graph: true, " };
    int n = 0;
    if (!trains(run))
        return GPU_NOT_RUN;
    for (int precision = 0; precision < 2; precision++)
        for (const gpu_model *m = gpu_whole_models; m->name; m++, n++) {
            gpu_net nets[3] = { { 0 } };
            gpu_distance d[2] = { { 0 } };
            leat_error err;
            int rc = LEAT_OK;
            for (int k = 0; k < 3 && rc == LEAT_OK; k++) {
                char how[80];
                snprintf(how, sizeof how, "%s%s", hows[k], precision ? "precision: bf16, " : "");
                rc = train_some(run, m, how, 8, &nets[k], &err);
            }
            for (int k = 1; k < 3 && rc == LEAT_OK; k++)
                rc = gpu_weights_distance(nets[k].trainer, nets[0].trainer, &d[k - 1], &err);
            for (int k = 0; k < 3; k++)
                gpu_net_close(&nets[k]);
            if (rc < 0)
                return refused(run, m->name, rc, &err);
            if (d[0].weights > 0 || d[1].weights > 0)
                return gpu_say(run, GPU_FAILED, "%s: a graph changes %s by %g, a second run by %g",
                               m->name, d[0].where, d[0].weights, d[1].weights);
        }
    return gpu_say(run, GPU_PASSED, "%d runs: graph, no graph and a second run give equal bits", n);
}

/* --- leaks --------------------------------------------------------------------------------------- */

/* Many steps take no memory; nets that are opened and closed give theirs back. Judged by the second half: what the
 * driver takes once is no leak. */
gpu_verdict gpu_case_train_leaks(gpu_run *run)
{
    const int steps = 10 + run->effort * 1000, nets = 2 + run->effort / 10;
    const gpu_model *const m = &gpu_whole_models[0];
    const leat_device_table *const t = run->device->table;
    const leat_trainer_feed feed = gpu_feed(m);
    size_t before = 0, after = 0, total;
    leat_error err;
    gpu_net net;
    if (!trains(run))
        return GPU_NOT_RUN;
    gpu_batch b = gpu_batch_draw(&feed, 1, m->batch, false);
    int rc = train_some(run, m, "", 3, &net, &err);
    for (int i = 0; i < steps && rc == LEAT_OK; i++) {
        if (i == steps / 2)
            t->memory_info(run->device, &before, &total);
        rc = gpu_net_step(&net, &feed, &b, true, &err);
    }
    t->memory_info(run->device, &after, &total);
    gpu_net_close(&net);
    const size_t lost = before > after ? before - after : 0;
    before = after = 0;
    for (int i = 0; i < nets && rc == LEAT_OK; i++) {
        rc = train_some(run, &gpu_whole_models[1], "", 3, &net, &err);
        gpu_net_close(&net);
        if (i == (nets - 1) / 2)
            t->memory_info(run->device, &before, &total);
    }
    t->memory_info(run->device, &after, &total);
    gpu_batch_drop(&b);
    if (rc < 0)
        return refused(run, m->name, rc, &err);
    const size_t kept = before > after ? before - after : 0;
    gpu_keep(run, "lost_in_steps", (double)lost, "bytes");
    gpu_keep(run, "lost_by_nets", (double)kept, "bytes");
    return gpu_say(run, lost || kept ? GPU_FAILED : GPU_PASSED,
                   "%d steps took %zu bytes, %d nets opened and closed %zu", steps, lost, nets,
                   kept);
}
