/* SPDX-License-Identifier: MIT
 *
 * value_targets.c: what losses with one target per output ask of model and target. */
#include "train/losses.h"
#include "train/nn_text.h"

int leat_loss_check_values(const char *loss, const leat_shape *outputs, const leat_shape *target,
                           leat_error *err)
{
    char got[160], wanted[160];
    if (outputs->rank != 1)
        return leat_fail(err, LEAT_E_CONFIG,
                         "%s needs a vector, the model gives %s: end it with flatten and dense",
                         loss, leat_nn_dims_text(outputs, got, sizeof got));
    if (leat_shape_elements(target) != outputs->dims[0])
        return leat_fail(err, LEAT_E_CONFIG,
                         "%s compares the model's %s with the target's %s: give the last layer as "
                         "many units as a sample has targets",
                         loss, leat_nn_dims_text(outputs, got, sizeof got),
                         leat_nn_dims_text(target, wanted, sizeof wanted));
    if (target->dtype == LEAT_F16 || target->dtype == LEAT_BF16)
        return leat_fail(err, LEAT_E_CONFIG,
                         "%s needs targets of integers or float32, got %s: add the op cast to the "
                         "pipeline",
                         loss, leat_dtype_name(target->dtype));
    return LEAT_OK;
}
