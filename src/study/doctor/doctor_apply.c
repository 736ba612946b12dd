/* SPDX-License-Identifier: MIT
 *
 * doctor_apply.c: writes a suggested change into a config. trial.c runs what it writes, and `leat doctor` shows it. */
#include "leat/doctor.h"

int leat_doctor_apply(const leat_doctor_suggestion *change, leat_config *config, leat_error *err)
{
    int rc = LEAT_OK;
    if (!change || !config)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_doctor_apply: change and config must be given");
    for (int32_t i = 0; i < change->n_set && rc == LEAT_OK; i++)
        if ((rc = leat_stage_name_value(config, change->set[i], err)) == LEAT_OK)
            rc = leat_config_set(config, change->set[i], err);
    return rc;
}
