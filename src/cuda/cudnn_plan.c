/* SPDX-License-Identifier: MIT
 *
 * cudnn_plan.c: chooses engines and builds, stores and runs plans; see cudnn_plan.h. */
#include "cudnn_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudnn_build.h"
#include "gpu.h"
#include "plan_cache.h"
#include "train_lib.h"

enum {
    MOST_CONFIGS = 128,
    MOST_NOTES = 32, /* cuDNN 9.19 has 10 kinds */
    VERSION_TEXT = 320,
};
static const size_t LARGEST_WORKSPACE = (size_t)1 << 30;

/* cuDNN's plan, which plans of equal specs share. */
typedef struct built {
    void *plan;
    int n_users;
} built;

struct leat_cudnn_plan {
    const leat_cudnn_api *api;
    built *engine;
    void *pack; /* pointers of the last run; NULL: none */
    leat_gpu_lib_args packed;
    int64_t ids[CUDNN_ID_INSIDE];
    int n_ids;
    int64_t workspace;
    float epsilon, zero; /* read by cuDNN when it runs */
    bool was_cached;
};

/* Looking for plans of one spec. */
typedef struct search {
    const leat_cudnn_target *target;
    const leat_gpu_lib_spec *spec;
    leat_cudnn_build build; /* operations and their graph */
    void *graph;
    size_t largest_workspace;
    int most, *n;
    leat_cudnn_plan **out;
    int n_refused;  /* configs that the spec's arithmetic excludes */
    bool no_driver; /* nothing that is compiled can be loaded */
    char trouble[900];
} search;

/* --- devices without a GPU --------------------------------------------------------------------- */

void *leat_cudnn_properties(const leat_cudnn_api *api, const char *json, leat_error *err)
{
    leat_cudnn_build b = { .api = api };
    void *d = leat_cudnn_make(&b, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    leat_cudnn_set(&b, d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                   (int64_t)strlen(json) + 1, json);
    leat_cudnn_finalize(&b, d);
    if (b.status) {
        leat_gpu_fail(err, LEAT_E_UNSUPPORTED, "cuDNN: %s", b.what);
        leat_cudnn_properties_close(api, &d);
    }
    return d;
}

void leat_cudnn_properties_close(const leat_cudnn_api *api, void **properties)
{
    if (*properties)
        api->cudnnBackendDestroyDescriptor(*properties);
    *properties = NULL;
}

/* --- plans ------------------------------------------------------------------------------------- */

static leat_cudnn_plan *new_plan(const search *s)
{
    leat_cudnn_plan *const p = calloc(1, sizeof *p);
    built *const e = calloc(1, sizeof *e);
    if (!p || !e) {
        free(p);
        free(e);
        return NULL;
    }
    e->n_users = 1;
    p->engine = e;
    p->api = s->target->api;
    p->n_ids = s->build.n_ids;
    memcpy(p->ids, s->build.ids, sizeof p->ids);
    p->epsilon = (float)s->spec->epsilon;
    return p;
}

void leat_cudnn_plan_close(leat_cudnn_plan **plan)
{
    leat_cudnn_plan *const p = *plan;
    *plan = NULL;
    if (!p)
        return;
    if (p->pack)
        p->api->cudnnBackendDestroyDescriptor(p->pack);
    if (--p->engine->n_users == 0) {
        if (p->engine->plan)
            p->api->cudnnBackendDestroyDescriptor(p->engine->plan);
        free(p->engine);
    }
    free(p);
}

leat_cudnn_plan *leat_cudnn_plan_share(const leat_cudnn_plan *plan)
{
    leat_cudnn_plan *const p = malloc(sizeof *p);
    if (!p)
        return NULL;
    *p = *plan;
    p->pack = NULL;
    p->engine->n_users++;
    return p;
}

/* The plan's descriptor for the target's device, without an engine. */
static void *empty_plan(leat_cudnn_build *b, const leat_cudnn_target *t)
{
    void *const d = leat_cudnn_make(b, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    if (t->handle)
        leat_cudnn_set(b, d, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &t->handle);
    else
        leat_cudnn_set_desc(b, d, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, t->properties);
    return d;
}

/* Takes the descriptor out of b if all went well. */
static leat_cudnn_plan *finish_plan(search *s, leat_cudnn_build *b, void *d, bool was_cached)
{
    leat_cudnn_plan *p = b->status ? NULL : new_plan(s);
    int64_t n = 0;
    if (p) {
        const int rc = p->api->cudnnBackendGetAttribute(d, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                                        CUDNN_TYPE_INT64, 1, &n, &p->workspace);
        if (rc != CUDNN_STATUS_SUCCESS || n != 1 || p->workspace < 0)
            leat_cudnn_failed(b, rc, "asking for the workspace");
    }
    if (p && (b->status || (size_t)p->workspace > s->largest_workspace))
        leat_cudnn_plan_close(&p);
    /* Without a GPU an engine that was compiled cannot be loaded: all the others would end so too. */
    s->no_driver |= !s->target->handle && b->status / 1000 == 5;
    if (b->status)
        snprintf(s->trouble, sizeof s->trouble, "%s", b->what);
    else if (!p)
        snprintf(s->trouble, sizeof s->trouble, "its workspace is too large");
    if (p) {
        p->engine->plan = d;
        p->was_cached = was_cached;
        b->n_made = 0; /* it is the only one */
    }
    leat_cudnn_close(b);
    return p;
}

/* --- the cache --------------------------------------------------------------------------------- */

static void version_text(const leat_cudnn_target *t, char text[VERSION_TEXT])
{
    snprintf(text, VERSION_TEXT, "cuDNN %zu for %s", t->api->cudnnGetVersion(), t->device);
}

static leat_cudnn_plan *cached_plan(search *s)
{
    char name[256], version[VERSION_TEXT];
    size_t n = 0;
    leat_cudnn_build b = { .api = s->target->api };
    leat_gpu_lib_spec_text(s->spec, name, sizeof name);
    version_text(s->target, version);
    char *const text = leat_plan_cache_load(s->target->cache_path, name, version, &n);
    if (!text)
        return NULL;
    void *const d = empty_plan(&b, s->target);
    leat_cudnn_set(&b, d, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                   (int64_t)n, text);
    free(text);
    leat_cudnn_finalize(&b, d);
    return finish_plan(s, &b, d, true);
}

void leat_cudnn_plan_store(const leat_cudnn_target *target, const leat_gpu_lib_spec *spec,
                           const leat_cudnn_plan *plan)
{
    char name[256], version[VERSION_TEXT];
    int64_t n = 0;
    if (plan->was_cached)
        return;
    if (plan->api->cudnnBackendGetAttribute(plan->engine->plan,
                                            CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                            CUDNN_TYPE_CHAR, 0, &n, NULL) != 0 ||
        n <= 0)
        return;
    char *const text = malloc((size_t)n);
    leat_gpu_lib_spec_text(spec, name, sizeof name);
    version_text(target, version);
    if (text && plan->api->cudnnBackendGetAttribute(plan->engine->plan,
                                                    CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                                    CUDNN_TYPE_CHAR, n, &n, text) == 0)
        leat_plan_cache_store(target->cache_path, name, version, text, (size_t)n);
    free(text);
}

/* --- engines ----------------------------------------------------------------------------------- */

/* Whether an engine with this note breaks the spec's arithmetic. */
static bool is_refused(const leat_gpu_lib_spec *spec, int note)
{
    switch (note) {
    case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        return spec->deterministic;
    case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        return true;
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
    case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
    case CUDNN_NUMERICAL_NOTE_FFT: /* large tiles cost digits too */
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        return spec->type == LEAT_PRECISION_FP32;
    default:
        return false;
    }
}

static bool is_allowed(const search *s, void *config)
{
    leat_cudnn_build b = { .api = s->target->api };
    int notes[MOST_NOTES];
    int64_t n = 0, n_notes = 0;
    void *engine = leat_cudnn_make(&b, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    int rc = b.status;
    if (!rc)
        rc = b.api->cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &engine);
    if (!rc)
        rc =
            b.api->cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                            CUDNN_TYPE_NUMERICAL_NOTE, MOST_NOTES, &n_notes, notes);
    bool allowed = rc == 0 && n_notes <= MOST_NOTES;
    for (int64_t i = 0; allowed && i < n_notes; i++)
        allowed = !is_refused(s->spec, notes[i]);
    leat_cudnn_close(&b);
    return allowed;
}

static void try_config(search *s, void *config)
{
    leat_cudnn_build b = { .api = s->target->api };
    if (!is_allowed(s, config)) {
        s->n_refused++;
        return;
    }
    void *const d = empty_plan(&b, s->target);
    leat_cudnn_set_desc(&b, d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    leat_cudnn_finalize(&b, d);
    leat_cudnn_plan *const p = finish_plan(s, &b, d, false);
    if (p)
        s->out[(*s->n)++] = p;
}

/* Asks the heuristics; what they say is in `configs`, owned by b. */
static int64_t list_configs(const search *s, leat_cudnn_build *b, int mode,
                            void *configs[MOST_CONFIGS])
{
    int64_t n = 0, room;
    void *const heur = leat_cudnn_make(b, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    leat_cudnn_set_desc(b, heur, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, s->graph);
    leat_cudnn_set_int(b, heur, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    if (s->target->properties)
        leat_cudnn_set_desc(b, heur, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, s->target->properties);
    leat_cudnn_finalize(b, heur);
    int rc = b->status;
    if (!rc)
        rc = b->api->cudnnBackendGetAttribute(heur, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                              CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &n, NULL);
    room = n < MOST_CONFIGS ? n : MOST_CONFIGS;
    for (int64_t i = 0; i < room; i++) {
        configs[i] = NULL;
        if (b->api->cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &configs[i]))
            room = i;
    }
    n = 0;
    if (!rc && room)
        rc = b->api->cudnnBackendGetAttribute(heur, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                              CUDNN_TYPE_BACKEND_DESCRIPTOR, room, &n, configs);
    if (rc)
        leat_cudnn_failed(b, rc, "asking for engines");
    for (int64_t i = rc ? 0 : n; i < room; i++)
        b->api->cudnnBackendDestroyDescriptor(configs[i]);
    return rc ? 0 : n < room ? n : room;
}

static void try_mode(search *s, int mode)
{
    void *configs[MOST_CONFIGS];
    leat_cudnn_build b = { .api = s->target->api };
    const int64_t n = list_configs(s, &b, mode, configs);
    for (int64_t i = 0; i < n; i++) {
        if (*s->n < s->most && !s->no_driver)
            try_config(s, configs[i]);
        s->target->api->cudnnBackendDestroyDescriptor(configs[i]);
    }
    if (b.status)
        snprintf(s->trouble, sizeof s->trouble, "%s", b.what);
    leat_cudnn_close(&b);
}

static void make_graph(search *s)
{
    leat_cudnn_build *const b = &s->build;
    s->graph = leat_cudnn_make(b, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    if (s->target->handle)
        leat_cudnn_set(b, s->graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
                       &s->target->handle);
    leat_cudnn_set(b, s->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                   b->n_ops, b->ops);
    leat_cudnn_finalize(b, s->graph);
}

static int no_engine(const search *s, leat_error *err)
{
    char text[256];
    const char *const why = s->build.status ? s->build.what : s->trouble;
    leat_gpu_lib_spec_text(s->spec, text, sizeof text);
    return leat_gpu_fail(err, LEAT_E_UNSUPPORTED,
                         "cuDNN has no engine for %s (%d left out for their arithmetic)%s%s", text,
                         s->n_refused, *why ? ": " : "", why);
}

int leat_cudnn_plans(const leat_cudnn_target *target, const leat_gpu_lib_spec *spec, int most,
                     leat_cudnn_plan **out, int *n, leat_error *err)
{
    static const int modes[] = { CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK };
    enum { MODES = sizeof modes / sizeof *modes };
    search s = { .target = target,
                 .spec = spec,
                 .build = { .api = target->api },
                 .largest_workspace = LARGEST_WORKSPACE,
                 .most = most,
                 .n = n,
                 .out = out };
    *n = 0;
    if (leat_cudnn_ops(&s.build, spec) == LEAT_OK)
        make_graph(&s);
    if (!s.build.status && most == 1 && (out[0] = cached_plan(&s)) != NULL)
        *n = 1;
    for (int i = 0; i < 2 * MODES && !s.build.status && !s.no_driver; i++) {
        if (*n > 0 && (most == 1 || i >= MODES)) /* to choose among, ask all modes */
            break;
        s.largest_workspace = i < MODES ? LARGEST_WORKSPACE : SIZE_MAX;
        s.most = most == 1 ? 1 : most * (i % MODES + 1) / MODES; /* room for the next modes' */
        try_mode(&s, modes[i % MODES]);
    }
    leat_cudnn_close(&s.build);
    if (*n == 0)
        return no_engine(&s, err);
    if (most == 1)
        leat_cudnn_plan_store(target, spec, out[0]);
    return LEAT_OK;
}

leat_cudnn_plan *leat_cudnn_plan_cached(const leat_cudnn_target *target,
                                        const leat_gpu_lib_spec *spec)
{
    search s = { .target = target,
                 .spec = spec,
                 .build = { .api = target->api },
                 .largest_workspace = SIZE_MAX };
    leat_cudnn_plan *const p = leat_cudnn_ops(&s.build, spec) == LEAT_OK ? cached_plan(&s) : NULL;
    leat_cudnn_close(&s.build);
    return p;
}

size_t leat_cudnn_plan_workspace(const leat_cudnn_plan *plan)
{
    return (size_t)plan->workspace;
}

/* --- running ----------------------------------------------------------------------------------- */

static const void *pointer_of(const leat_cudnn_plan *p, const leat_gpu_lib_args *a, int64_t id)
{
    switch (id) {
#define CUDNN_POINTER(name)                                                                        \
    case CUDNN_ID_##name:                                                                          \
        return a->name;
        CUDNN_TENSORS(CUDNN_POINTER)
#undef CUDNN_POINTER
    case CUDNN_ID_EPSILON:
        return &p->epsilon;
    default:
        return &p->zero;
    }
}

static int pack_pointers(leat_cudnn_plan *p, const leat_gpu_lib_args *args, leat_error *err)
{
    leat_cudnn_build b = { .api = p->api };
    const void *pointers[CUDNN_ID_INSIDE];
    for (int i = 0; i < p->n_ids; i++)
        pointers[i] = pointer_of(p, args, p->ids[i]);
    void *const d = leat_cudnn_make(&b, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    leat_cudnn_set(&b, d, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, p->n_ids, p->ids);
    leat_cudnn_set(&b, d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, p->n_ids,
                   pointers);
    leat_cudnn_set(&b, d, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                   &args->workspace);
    leat_cudnn_finalize(&b, d);
    if (b.status) {
        leat_cudnn_close(&b);
        return leat_gpu_fail(err, LEAT_E_DEVICE, "cuDNN: %s", b.what);
    }
    if (p->pack)
        p->api->cudnnBackendDestroyDescriptor(p->pack);
    p->pack = d;
    p->packed = *args;
    return LEAT_OK;
}

int leat_cudnn_plan_run(leat_cudnn_plan *p, void *handle, const leat_gpu_lib_args *args,
                        leat_error *err)
{
    const bool same = p->pack && memcmp(&p->packed, args, sizeof *args) == 0;
    const int rc = same ? LEAT_OK : pack_pointers(p, args, err);
    if (rc < 0)
        return rc;
    const int status = p->api->cudnnBackendExecute(handle, p->engine->plan, p->pack);
    if (status == CUDNN_STATUS_SUCCESS)
        return LEAT_OK;
    leat_cudnn_build b = { .api = p->api };
    leat_cudnn_failed(&b, status, "running a plan");
    return leat_gpu_fail(err, LEAT_E_DEVICE, "cuDNN: %s", b.what);
}
