/* SPDX-License-Identifier: MIT
 *
 * cudnn_plan.h: plans of cuDNN for the primitives of train_lib.h: convolutions and batch norm.
 *
 * DESIGN: a spec becomes a graph of operations (cudnn_ops.c). cuDNN's heuristics list engines for it, best first;
 * those that break the spec's arithmetic are left out; the first that can be built are the plans.
 * A plan can be built without a GPU for any device that is described by a text (DEVICEPROP); then it cannot
 * run. This file needs no CUDA runtime. */
#ifndef LEAT_CUDNN_PLAN_H
#define LEAT_CUDNN_PLAN_H

#include "train_lib.h"

struct leat_cudnn_api;
typedef struct leat_cudnn_plan leat_cudnn_plan;

/* What plans are for. Exactly one of handle and properties is not NULL. */
typedef struct leat_cudnn_target {
    const struct leat_cudnn_api *api;
    void *handle;           /* of cuDNN, on the device */
    void *properties;       /* leat_cudnn_properties() */
    const char *device;     /* one line that tells devices apart whose plans differ */
    const char *cache_path; /* folder of plans from earlier runs; NULL: of this process */
} leat_cudnn_target;

/* Describes a device by cuDNN's JSON text; NULL: cuDNN does not accept it. */
void *leat_cudnn_properties(const struct leat_cudnn_api *api, const char *json, leat_error *err);
void leat_cudnn_properties_close(const struct leat_cudnn_api *api, void **properties);

/* Builds up to `most` plans of different configurations, best first, into out[0 .. *n - 1]. At most 1 GiB of
 * workspace each, unless all need more. With most = 1, a plan of the cache is taken, and a new one stored.
 * LEAT_E_UNSUPPORTED: no engine; the message says for what. */
int leat_cudnn_plans(const leat_cudnn_target *target, const leat_gpu_lib_spec *spec, int most,
                     leat_cudnn_plan **out, int *n, leat_error *err);
/* The same with most = 1 for n specs, in as many threads as there are targets, each for the same device but with a
 * handle of its own, which must live as long as the plans. out[i]: NULL where none was built.
 * device: its number for the CUDA runtime; -1: targets have properties. */
enum { LEAT_CUDNN_BUILDERS = 8 }; /* at most */
void leat_cudnn_plans_ahead(const leat_cudnn_target *targets, int n_targets, int device,
                            const leat_gpu_lib_spec *specs, int n, leat_cudnn_plan **out);
/* Returns the plan of an earlier run, or NULL. */
leat_cudnn_plan *leat_cudnn_plan_cached(const leat_cudnn_target *target,
                                        const leat_gpu_lib_spec *spec);
/* Stores a plan that was chosen among several as the one of its spec. */
void leat_cudnn_plan_store(const leat_cudnn_target *target, const leat_gpu_lib_spec *spec,
                           const leat_cudnn_plan *plan);
size_t leat_cudnn_plan_workspace(const leat_cudnn_plan *plan);
/* Enqueues on the handle's stream. Same arguments as in the run before: nothing is set up again. */
int leat_cudnn_plan_run(leat_cudnn_plan *plan, void *handle, const leat_gpu_lib_args *args,
                        leat_error *err);
/* Another plan of the same spec and handle. A compiled engine takes half a second to build, and ResNet-50 has 53
 * batch norms of 12 shapes. NULL: no memory. */
leat_cudnn_plan *leat_cudnn_plan_share(const leat_cudnn_plan *plan);
void leat_cudnn_plan_close(leat_cudnn_plan **plan);

#endif
