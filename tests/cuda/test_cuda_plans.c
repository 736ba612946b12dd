/* SPDX-License-Identifier: MIT
 *
 * cuDNN's plans of all convolutions of the ready-made models and of those of leat-gpu-check, built for an H200
 * without a GPU. Skipped aloud where there is no cuDNN. */
#include <dlfcn.h>

#include "config/node.h"
#include "cuda/train_lib.h"
#include "cudnn_plan.h"
#include "fixtures/own_folder.h"
#include "gpu/gpu_train.h"
#include "gpu_libs.h"
#include "train/cpu/onednn.h"
#include "train/program.h"

/* Assumed values: a real H200 may describe itself a little differently. */
static const char h200[] =
    "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
    "\"regsPerBlock\":65536,\"multiProcessorCount\":132,\"smCountOrigin\":0,\"warpSize\":32,"
    "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":232448,"
    "\"oversizedSharedMemoryPerBlock\":0,\"reservedSharedMemoryPerBlock\":1024,"
    "\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":32,"
    "\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,\"isTccDriver\":0,"
    "\"supportCoopLaunch\":1,\"totalGlobalMem\":150754820096,\"smClockRateKHz\":1980000,"
    "\"memClockRateKHz\":3201000,\"memoryBusWidth\":6144,\"l2CacheSize\":62914560,\"cudaDeviceId\":"
    "0,\"deviceVer\":900,"
    "\"driverVer\":13000,\"deviceName\":\"NVIDIA H200\"}";

static leat_cudnn_target target;

static void open_target(const char *cache_path)
{
    leat_error err;
    const leat_gpu_libs *const libs = leat_gpu_libs_open(&err);
    if (!libs) {
        printf("SKIPPED: %s\n", err.message);
        skip();
    }
    target = (leat_cudnn_target){ .api = &libs->cudnn, .device = "H200", .cache_path = cache_path };
    target.properties = leat_cudnn_properties(&libs->cudnn, h200, &err);
    if (!target.properties)
        fail_msg("%s", err.message);
}

/* --- models ------------------------------------------------------------------------------------ */

enum { MOST_SPECS = 1000 };

typedef struct specs {
    leat_gpu_lib_spec of[MOST_SPECS];
    int n;
} specs;

static void add_spec(specs *all, const leat_gpu_lib_spec *spec)
{
    for (int i = 0; i < all->n; i++)
        if (memcmp(&all->of[i], spec, sizeof *spec) == 0)
            return;
    assert_true(all->n < MOST_SPECS);
    all->of[all->n++] = *spec;
}

/* Kinds of primitives have the order of the library's. */
static void add_conv(specs *all, const leat_model *model, const leat_prim_op *op)
{
    const leat_sliding *const w = &op->window;
    const leat_model_layer *const layer = &model->layers[op->layer];
    leat_gpu_lib_spec s;
    memset(&s, 0, sizeof s); /* padding too: they are compared */
    s.kind = (leat_gpu_lib_kind)(LEAT_GPU_LIB_CONV + (int)(op->prim - LEAT_PRIM_CONV));
    s.type = model->precision;
    s.deterministic = true;
    s.rows = model->batch_size;
    for (int i = 0; i < 2; i++) {
        s.in[i] = w->in[i];
        s.out[i] = w->out[i];
        s.size[i] = w->size[i];
        s.stride[i] = w->stride[i];
        s.dilation[i] = w->dilation[i];
        s.pad_low[i] = w->pad_low[i];
        s.pad_high[i] = w->pad_high[i];
    }
    s.in[2] = layer->in.dims[2];
    s.groups = ((const leat_conv2d_options *)layer->options)->groups;
    if (s.type == LEAT_PRECISION_BF16 && s.in[2] < 8 && layer->inputs[0] < 0)
        s.in[2] = 8; /* as net_memory.c pads the input */
    s.out[2] = layer->out.dims[2];
    if (s.kind == LEAT_GPU_LIB_CONV) {
        s.relu = op->act == LEAT_ACT_relu;
        s.bias = ((const leat_conv2d_options *)layer->options)->bias || s.relu; /* train_lib.c */
    }
    add_spec(all, &s);
}

static void add_convs(specs *all, const leat_model *model)
{
    leat_program *program = NULL;
    leat_error err;
    if (leat_program_open(model, true, &program, &err) < 0)
        fail_msg("%s", err.message);
    for (int32_t i = 0; i < program->n_ops; i++)
        if (program->ops[i].prim >= LEAT_PRIM_CONV &&
            program->ops[i].prim <= LEAT_PRIM_CONV_GRAD_WEIGHTS)
            add_conv(all, model, &program->ops[i]);
    leat_program_close(&program);
}

static void add_model(specs *all, const char *name, int64_t size, leat_precision precision)
{
    char text[256];
    leat_config *config;
    leat_error err;
    snprintf(text, sizeof text,
             "{model: {%s: {classes: 10}}, loss: softmax_cross_entropy, optimizer: sgd}", name);
    if (leat_config_parse(text, "test.yaml", &config, &err) < 0)
        fail_msg("%s", err.message);
    const leat_node *const root = leat_config_root(config);
    leat_model model = { .input = leat_shape_make(LEAT_U8, 3, (int64_t[]){ size, size, 3 }),
                         .target = leat_shape_make(LEAT_I64, 0, NULL),
                         .batch_size = 128,
                         .n_micro = 1,
                         .accumulate = 1,
                         .precision = precision };
    const leat_model_nodes nodes = { .owner = root,
                                     .layers = leat_node_find(root, "model"),
                                     .loss = leat_node_find(root, "loss"),
                                     .optimizer = leat_node_find(root, "optimizer") };
    if (leat_model_init(&model, &nodes, &err) < 0)
        fail_msg("%s: %s", name, err.message);
    add_convs(all, &model);
    leat_model_fini(&model);
    leat_config_close(&config);
}

static void build_all(const specs *all)
{
    leat_error err;
    size_t most = 0;
    int n_missing = 0;
    for (int i = 0; i < all->n; i++) {
        leat_cudnn_plan *plan = NULL;
        char text[256];
        int n;
        leat_gpu_lib_spec_text(&all->of[i], text, sizeof text);
        if (leat_cudnn_plans(&target, &all->of[i], 1, &plan, &n, &err) < 0) {
            printf("%s\n", err.message);
            n_missing++;
            continue;
        }
        assert_int_equal(n, 1);
        if (leat_cudnn_plan_workspace(plan) > most) {
            most = leat_cudnn_plan_workspace(plan);
            printf("%8.1f MiB of workspace: %s\n", (double)most / (1 << 20), text);
        }
        leat_cudnn_plan_close(&plan);
    }
    printf("%d plans, %d missing\n", all->n, n_missing);
    assert_int_equal(n_missing, 0);
}

TEST(plans_of_all_models)
{
    static const char *const models[] = { "resnet18", "resnet50", "resnet9", "vgg11", "lenet" };
    static const leat_precision precisions[] = { LEAT_PRECISION_FP32, LEAT_PRECISION_TF32,
                                                 LEAT_PRECISION_BF16 };
    static specs all;
    open_target(NULL);
    for (size_t p = 0; p < 3; p++) {
        all.n = 0;
        for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
            add_model(&all, models[i], 32, precisions[p]);
            add_model(&all, models[i], 224, precisions[p]);
        }
        assert_true(all.n > 60);
        build_all(&all);
    }
    leat_cudnn_properties_close(target.api, &target.properties);
}

/* Those that leat-gpu-check trains, with all rows and fewer: an odd stride, groups, few channels. */
static void add_small_models(specs *all, const gpu_model *models, const char *how)
{
    leat_device *cpu = NULL;
    leat_error err;
    assert_int_equal(leat_device_open("cpu", &cpu, &err), LEAT_OK);
    for (const gpu_model *m = models; m->name; m++) {
        leat_trainer_feed feed = gpu_feed(m);
        const int64_t rows[] = { m->batch, m->batch - 3, 1 };
        char text[2048];
        snprintf(text, sizeof text, "train: {%s, %s}", how, m->text);
        for (int i = 0; i < 3; i++) {
            gpu_net net;
            feed.batch_size = rows[i];
            if (gpu_net_open(&net, cpu, text, &feed, &err) < 0)
                fail_msg("%s: %s", m->name, err.message);
            add_convs(all, &net.trainer->model);
            gpu_net_close(&net);
        }
    }
    leat_device_close(&cpu);
}

TEST(plans_of_small_models)
{
    static const char *const hows[] = { "precision: fp32", "precision: bf16" };
    static specs all;
    open_target(NULL);
    for (int i = 0; i < (leat_dn_has_bf16() ? 2 : 1); i++) {
        all.n = 0;
        add_small_models(&all, gpu_small_models, hows[i]);
        add_small_models(&all, gpu_whole_models, hows[i]);
        assert_true(all.n > 60);
        build_all(&all);
    }
    leat_cudnn_properties_close(target.api, &target.properties);
}

/* --- the cache --------------------------------------------------------------------------------- */

static leat_gpu_lib_spec small_conv(void)
{
    return (leat_gpu_lib_spec){ .kind = LEAT_GPU_LIB_CONV,
                                .type = LEAT_PRECISION_BF16,
                                .rows = 8,
                                .in = { 14, 14, 32 },
                                .out = { 14, 14, 64 },
                                .size = { 3, 3 },
                                .stride = { 1, 1 },
                                .dilation = { 1, 1 },
                                .pad_low = { 1, 1 },
                                .pad_high = { 1, 1 },
                                .groups = 1 };
}

/* The file of the one plan in the cache; 0: none. */
static ino_t plan_file(void)
{
    DIR *const folder = opendir(target.cache_path);
    struct stat about = { .st_ino = 0 };
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            assert_int_equal(fstatat(dirfd(folder), entry->d_name, &about, 0), 0);
    if (folder)
        closedir(folder);
    return about.st_ino;
}

/* Whether leat_cudnn_plans() takes the plan from the cache. A plan that it builds is stored, in a new file. */
static bool one_plan(void)
{
    const leat_gpu_lib_spec spec = small_conv();
    const ino_t before = plan_file();
    leat_cudnn_plan *plan = leat_cudnn_plan_cached(&target, &spec);
    leat_error err;
    int n;
    const bool was_cached = plan != NULL;
    leat_cudnn_plan_close(&plan);
    if (leat_cudnn_plans(&target, &spec, 1, &plan, &n, &err) < 0)
        fail_msg("%s", err.message);
    leat_cudnn_plan_close(&plan);
    assert_int_equal(plan_file() == before, was_cached);
    return was_cached;
}

TEST_WITH(plans_are_kept, make_folder, remove_folder)
{
    open_target(in_folder("plans"));
    assert_false(one_plan());
    assert_true(one_plan());
    target.device = "another GPU";
    assert_false(one_plan());
    assert_true(one_plan());
    target.device = "H200"; /* replaced by that one */
    assert_false(one_plan());
    leat_cudnn_properties_close(target.api, &target.properties);
}

/* Without a folder: until the process ends. */
TEST(plans_are_kept_in_memory)
{
    const leat_gpu_lib_spec spec = small_conv();
    leat_cudnn_plan *plan = NULL;
    leat_error err;
    int n;
    open_target(NULL);
    target.device = "kept in memory";
    assert_null(leat_cudnn_plan_cached(&target, &spec));
    if (leat_cudnn_plans(&target, &spec, 1, &plan, &n, &err) < 0)
        fail_msg("%s", err.message);
    const size_t workspace = leat_cudnn_plan_workspace(plan);
    leat_cudnn_plan_close(&plan);
    plan = leat_cudnn_plan_cached(&target, &spec);
    assert_non_null(plan);
    assert_int_equal(leat_cudnn_plan_workspace(plan), workspace);
    leat_cudnn_plan_close(&plan);
    leat_cudnn_properties_close(target.api, &target.properties);
}

/* Plans of one spec share an engine, whichever is closed first. */
TEST_WITH(plans_share_an_engine, make_folder, remove_folder)
{
    const leat_gpu_lib_spec spec = small_conv();
    leat_cudnn_plan *plans[3];
    leat_error err;
    int n;
    open_target(NULL);
    if (leat_cudnn_plans(&target, &spec, 1, &plans[0], &n, &err) < 0)
        fail_msg("%s", err.message);
    plans[1] = leat_cudnn_plan_share(plans[0]);
    plans[2] = leat_cudnn_plan_share(plans[1]);
    const size_t workspace = leat_cudnn_plan_workspace(plans[0]);
    leat_cudnn_plan_close(&plans[0]);
    assert_null(plans[0]);
    target.cache_path = in_folder("shared");
    for (int i = 2; i > 0; i--) {
        assert_int_equal(leat_cudnn_plan_workspace(plans[i]), workspace);
        leat_cudnn_plan_store(&target, &spec, plans[i]); /* asks the engine */
        leat_cudnn_plan *found = leat_cudnn_plan_cached(&target, &spec);
        assert_non_null(found);
        leat_cudnn_plan_close(&found);
        leat_cudnn_plan_close(&plans[i]);
    }
    leat_cudnn_properties_close(target.api, &target.properties);
}

/* In any number of threads the plans are those that are built one by one. */
TEST(plans_in_threads)
{
    enum { N = 23 };
    leat_gpu_lib_spec some[N];
    leat_cudnn_target targets[LEAT_CUDNN_BUILDERS + 1];
    leat_cudnn_plan *plans[N];
    size_t workspace[N];
    leat_error err;
    open_target(NULL);
    for (int i = 0; i < N; i++) {
        some[i] = small_conv();
        some[i].kind = (leat_gpu_lib_kind)(i % 3);
        some[i].rows = 1 + i;
        some[i].out[0] += i == 11; /* no such convolution */
        int n;
        const int rc = leat_cudnn_plans(&target, &some[i], 1, &plans[i], &n, &err);
        assert_int_equal(rc, i == 11 ? LEAT_E_UNSUPPORTED : LEAT_OK);
        workspace[i] = i == 11 ? 0 : leat_cudnn_plan_workspace(plans[i]);
        if (rc == LEAT_OK)
            leat_cudnn_plan_close(&plans[i]);
    }
    for (int n_targets = 0; n_targets <= LEAT_CUDNN_BUILDERS + 1; n_targets++) {
        char device[32]; /* of which the process keeps no plans yet */
        snprintf(device, sizeof device, "in %d threads", n_targets);
        for (int i = 0; i <= LEAT_CUDNN_BUILDERS; i++) {
            targets[i] = target;
            targets[i].device = device;
        }
        leat_cudnn_plans_ahead(targets, n_targets, -1, some, N, plans);
        for (int i = 0; i < N; i++) {
            assert_int_equal(plans[i] != NULL, n_targets > 0 && i != 11);
            if (plans[i])
                assert_int_equal(leat_cudnn_plan_workspace(plans[i]), workspace[i]);
            leat_cudnn_plan_close(&plans[i]);
        }
    }
    leat_cudnn_properties_close(target.api, &target.properties);
}

/* --- arithmetic -------------------------------------------------------------------------------- */

TEST(nothing_for_wrong_shapes)
{
    leat_gpu_lib_spec spec = small_conv();
    leat_cudnn_plan *plan;
    leat_error err;
    int n;
    open_target(NULL);
    spec.out[0] = 15; /* no such convolution */
    assert_int_equal(leat_cudnn_plans(&target, &spec, 1, &plan, &n, &err), LEAT_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "14x14x32 -> 15x14x64, bf16"));
    leat_cudnn_properties_close(target.api, &target.properties);
}

/* Batch norm is compiled at run time. With the toolkit's empty driver all goes well but the loading. */
TEST(norms_are_compiled)
{
    static const struct {
        leat_gpu_lib_kind kind;
        leat_precision type;
        bool add, relu, mask;
    } cases[] = {
        { LEAT_GPU_LIB_NORM, LEAT_PRECISION_BF16, true, true, true },
        { LEAT_GPU_LIB_NORM, LEAT_PRECISION_BF16, true, true, false },
        { LEAT_GPU_LIB_NORM, LEAT_PRECISION_FP32, true, true, false },
        { LEAT_GPU_LIB_NORM, LEAT_PRECISION_FP32, false, true, false },
        { LEAT_GPU_LIB_NORM_GRAD, LEAT_PRECISION_BF16, true, true, false },
        { LEAT_GPU_LIB_NORM_GRAD, LEAT_PRECISION_BF16, false, true, false },
        { LEAT_GPU_LIB_NORM_GRAD, LEAT_PRECISION_FP32, false, false, false },
    };
    /* Its name inside is libcuda.so.1, so cuDNN finds this one. */
    if (!dlopen("/usr/local/cuda/lib64/stubs/libcuda.so", RTLD_NOW | RTLD_GLOBAL)) {
        printf("SKIPPED: %s\n", dlerror());
        skip();
    }
    open_target(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const leat_gpu_lib_spec spec = { .kind = cases[i].kind,
                                         .type = cases[i].type,
                                         .add = cases[i].add,
                                         .relu = cases[i].relu,
                                         .mask = cases[i].mask,
                                         .rows = 64,
                                         .in = { 16, 16, 64 },
                                         .epsilon = 1e-5 };
        leat_cudnn_plan *plan = NULL;
        leat_error err;
        int n;
        const int rc = leat_cudnn_plans(&target, &spec, 1, &plan, &n, &err);
        if (rc < 0 && !strstr(err.message, "cuLibraryLoadData"))
            fail_msg("%s", err.message);
        leat_cudnn_plan_close(&plan);
    }
    leat_cudnn_properties_close(target.api, &target.properties);
}
