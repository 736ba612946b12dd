/* SPDX-License-Identifier: MIT
 *
 * arm_device.c: what compare.c asks about an arm's device after the rounds: steps by its own records, and the most
 * that it reaches. */
#include <stdio.h>
#include <string.h>

#include "arm.h"

enum { RECORDED = 50 }; /* steps; a record takes 32 bytes for each kernel and launch */

/* Steps as configured: a batch each. */
static int steps(const leat_arm *arm, leat_loader *loader, int32_t n, leat_error *err)
{
    leat_batch *batch;
    int rc = LEAT_OK;
    for (int32_t i = 0; i < n && rc == LEAT_OK; i++)
        if ((rc = leat_arm_next(loader, &batch, err)) == LEAT_OK)
            rc = leat_trainer_repeat(arm->trainer, batch, 1, err);
    return rc;
}

static int run_recorded(leat_arm *arm, leat_error *why)
{
    const int32_t n = arm->out->steps < RECORDED ? arm->out->steps : RECORDED;
    leat_loader *loader = NULL;
    leat_metrics metrics;
    int rc = leat_trainer_record(arm->trainer, why);
    if (rc < 0)
        return rc;
    if ((rc = leat_arm_loader_open(arm, &loader, why)) == LEAT_OK)
        rc = steps(arm, loader, arm->settle + n, why);
    if (rc == LEAT_OK) /* waits, and so sees what fails late */
        rc = leat_trainer_metrics(arm->trainer, &metrics, why);
    leat_trainer_recorded(arm->trainer, arm->settle, &arm->out->recorded);
    leat_loader_close(&loader);
    return rc;
}

int leat_arm_run_recorded(leat_arm *arm, leat_error *err)
{
    leat_recorded *const out = &arm->out->recorded;
    leat_error why = { 0 };
    *out = (leat_recorded){ 0 };
    const int rc = run_recorded(arm, &why);
    if (rc == LEAT_E_DEVICE)
        return leat_fail(err, rc, "%s", why.message);
    if (rc < 0) { /* the rounds are measured, and this is an extra */
        *out = (leat_recorded){ 0 };
        snprintf(out->why, sizeof out->why, "%.250s", why.message);
    }
    return LEAT_OK;
}

void leat_arm_ceiling(leat_arm *arm, const leat_arm *like)
{
    const leat_trainer_info *const info = leat_trainer_get_info(arm->trainer);
    const leat_precision precision = info->precision;
    if (info->crossings > 0) /* FLOP/s of several devices are no share of one */
        arm->out->ceiling =
            (leat_ceiling){ .precision = precision, .why = "layers run on several devices" };
    else if (like && like->out->ceiling.precision == precision &&
             !strcmp(leat_device_get_info(like->device)->name,
                     leat_device_get_info(arm->device)->name))
        arm->out->ceiling = like->out->ceiling;
    else
        leat_ceiling_measure(arm->device, precision, &arm->out->ceiling);
}
