/* SPDX-License-Identifier: MIT
 *
 * test_cuda_partition.c: models of which some layers run on the CPU and others on the fake GPU learn what they learn on the
 * CPU alone, whichever of the two is the run's device. */
#include "fixtures/cuda_train_fixture.h"
#include "train/cpu/onednn.h"

FAKE_GPU

/* @1, @2, @3: where a layer may name its device. */
typedef struct cut_model {
    gpu_model model; /* without text */
    const char *text;
} cut_model;

#define IMAGES .dtype = LEAT_F32, .dims = { 6, 6, 3 }, .batch = 8, .target = LEAT_I64
static const cut_model models[] = {
    { { .name = "dense", .dtype = LEAT_F32, .dims = { 10 }, .batch = 9, .target = LEAT_I64 },
      "optimizer: adam, model: [{dense: {@1 units: 13}}, {relu: {@1}}, {dense: {@2 units: 7}}, "
      "{dropout: {@3 rate: 0.3}}, {dense: {@3 units: 4}}]" },
    { { .name = "convolutions", IMAGES },
      "optimizer: {sgd: {momentum: 0.9, learning_rate: 0.1}}, average: {ema: {decay: 0.8}}, model: "
      "[{conv2d: {@1 filters: 5, kernel: 3}}, {batch_norm: {@2}}, {relu: {@2}}, {conv2d: {filters: "
      "9, kernel: 3}}, {batch_norm: {}}, {relu: {@3}}, {flatten: {@3}}, dense: 4]" },
    { { .name = "accumulated", IMAGES },
      "optimizer: lars, accumulate: 2, model: [{conv2d: {filters: 8, kernel: 3, name: a}}, "
      "{conv2d: {@1 filters: 8, kernel: 3, padding: same, name: b}}, {add: {@1 from: [a, b]}}, "
      "{flatten: {@2}}, {dense: {@3 units: 4}}]" },
    { { .name = "a block, and a batch norm at its start", IMAGES },
      "optimizer: {sgd: {learning_rate: 0.05, momentum: 0.9}}, model: [{conv2d: {filters: 8, "
      "kernel: 3, name: a}}, {batch_norm: {@1 name: b}}, {add: {@1 from: [a, b]}}, {relu: {@1 "
      "name: c}}, {conv2d: {@2 filters: 8, kernel: 1}}, {batch_norm: {@2 name: d}}, {add: {@2 "
      "from: [c, d]}}, {relu: {@2}}, {flatten: {@3}}, {dense: {units: 4}}]" },
    { { .name = "nothing to learn in front", IMAGES },
      "optimizer: adamw, sample_weight: w, model: [{relu: {@1}}, {flatten: {@2}}, {dense: {units: "
      "6}}, {dense: {@3 units: 4}}]" },
};
enum { N_MODELS = sizeof models / sizeof *models, STEPS = 6 };

/* Puts "device: NAME, " at the marks whose bits are in `at`. */
static void fill(const char *from, int at, const char *device, char *to, size_t size)
{
    size_t n = 0;
    for (; *from && n + 1 < size; from++)
        if (*from != '@')
            to[n++] = *from;
        else if (at & 1 << (*++from - '1'))
            n += (size_t)snprintf(to + n, size - n, "device: '%s', ", device);
    to[n] = '\0';
}

static void open_net(gpu_net *net, leat_device *device, const cut_model *m, const char *how, int at,
                     const char *other)
{
    const leat_trainer_feed feed = gpu_feed(&m->model);
    char layers[1024], text[2048];
    leat_error err;
    fill(m->text, at, other, layers, sizeof layers);
    snprintf(text, sizeof text, "train: {micro_batches: 1, loss: softmax_cross_entropy, %s%s}", how,
             layers);
    if (gpu_net_open(net, device, text, &feed, &err) < 0)
        fail_msg("%s: %s", text, err.message);
}

static double loss_of(gpu_net *net)
{
    leat_metrics metrics;
    assert_int_equal(leat_trainer_metrics(net->trainer, &metrics, NULL), LEAT_OK);
    return metrics.loss;
}

enum { CUT, ON_CPU, UNTRAINED, N_NETS };

/* Two nets run the same batches, some short or masked. Their weights differ much less than those of the third. */
static void must_agree(const cut_model *m, gpu_net nets[N_NETS], int at, double most)
{
    const leat_trainer_feed feed = gpu_feed(&m->model);
    gpu_distance d = { 0 }, learned = { 0 };
    leat_error err;
    double loss[2];
    for (int i = 0; i <= STEPS; i++) {
        const int64_t rows = i == 2 ? m->model.batch - 3 : m->model.batch;
        gpu_batch b = gpu_batch_draw(&feed, (uint64_t)i, rows, i % 3 == 1);
        for (int k = CUT; k <= ON_CPU; k++) {
            if (gpu_net_step(&nets[k], &feed, &b, i < STEPS, &err) < 0)
                fail_msg("%s, cut at %d: %s", m->model.name, at, err.message);
            loss[k] = loss_of(&nets[k]);
        }
        gpu_batch_drop(&b);
        if (!(loss[0] - loss[1] <= most && loss[1] - loss[0] <= most))
            fail_msg("%s, cut at %d, step %d: losses %g, %g", m->model.name, at, i, loss[0],
                     loss[1]);
    }
    leat_trainer *const on_cpu = nets[ON_CPU].trainer;
    assert_int_equal(gpu_weights_distance(nets[CUT].trainer, on_cpu, &d, &err), LEAT_OK);
    assert_int_equal(gpu_weights_distance(nets[UNTRAINED].trainer, on_cpu, &learned, &err),
                     LEAT_OK);
    if (!(d.weights <= 10 * most && d.weights < learned.weights / 4))
        fail_msg("%s, cut at %d: %s is %g apart, training moved %s by %g", m->model.name, at,
                 d.where, d.weights, learned.where, learned.weights);
}

/* Opens the nets; the first one is cut, and runs on `device`. */
static void open_nets(gpu_net nets[N_NETS], leat_device *device, leat_device *cpu,
                      const cut_model *m, const char *how, int at, const char *other)
{
    for (int k = 0; k < N_NETS; k++) {
        nets[k] = (gpu_net){ 0 };
        open_net(&nets[k], k == CUT ? device : cpu, m, how, k == CUT ? at : 0, other);
    }
}

static void close_nets(gpu_net nets[N_NETS])
{
    for (int k = 0; k < N_NETS; k++)
        gpu_net_close(&nets[k]);
}

static void check_cuts(leat_device *gpu, bool run_on_gpu, const char *how, double most)
{
    leat_device *cpu;
    assert_int_equal(leat_device_open("cpu", &cpu, NULL), LEAT_OK);
    for (int m = 0; m < N_MODELS; m++)
        for (int at = 1; at < 8; at++) {
            gpu_net nets[N_NETS];
            open_nets(nets, run_on_gpu ? gpu : cpu, cpu, &models[m], how, at,
                      run_on_gpu ? "cpu" : "cuda:0");
            assert_true(leat_trainer_get_info(nets[CUT].trainer)->crossings >= 2);
            must_agree(&models[m], nets, at, most);
            close_nets(nets);
        }
    leat_device_close(&cpu);
}

TEST(layers_on_the_cpu_in_a_run_on_the_gpu)
{
    fake->reset(1);
    leat_device *gpu = open_gpu();
    check_cuts(gpu, true, "", 2e-5);
    leat_device_close(&gpu);
    check_fake(fake);
}

TEST(layers_on_the_gpu_in_a_run_on_the_cpu)
{
    fake->reset(2);
    leat_device *gpu = open_gpu();
    check_cuts(gpu, false, "", 2e-5);
    leat_device_close(&gpu);
    check_fake(fake);
}

TEST(in_bfloat16_nearly_so)
{
    if (!leat_dn_has_bf16())
        skip();
    fake->reset(4);
    leat_device *gpu = open_gpu();
    check_cuts(gpu, true, "precision: bf16, ", 0.05);
    leat_device_close(&gpu);
    check_fake(fake);
}

/* Without a crossing: parts on one GPU, whichever of its names is written. */
TEST(a_model_cut_on_the_gpu_itself)
{
    fake->reset(3);
    leat_device *gpu = open_gpu(), *cpu;
    assert_int_equal(leat_device_open("cpu", &cpu, NULL), LEAT_OK);
    for (int m = 0; m < N_MODELS; m++) {
        gpu_net nets[N_NETS];
        open_nets(nets, gpu, cpu, &models[m], "", 2, m % 2 ? "cuda" : "cuda:0");
        assert_int_equal(leat_trainer_get_info(nets[CUT].trainer)->crossings, 0);
        must_agree(&models[m], nets, 2, 2e-5);
        close_nets(nets);
    }
    leat_device_close(&cpu);
    leat_device_close(&gpu);
    check_fake(fake);
}
