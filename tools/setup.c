/* SPDX-License-Identifier: MIT */
#include "setup.h"

#include "files.h"

int leat_setup_config(const char *path, const leat_texts *set, leat_config **out, leat_error *err)
{
    *out = NULL;
    int rc = leat_config_load(path, out, err);
    for (int32_t i = 0; i < set->n && rc == LEAT_OK; i++)
        if (leat_config_set(*out, set->values[i], err) < 0)
            rc = leat_fail_in(err, LEAT_E_ARGUMENT, "--set %s: ", set->values[i]);
    if (rc < 0)
        leat_config_close(out);
    return rc;
}

int leat_setup_device(const leat_config *config, const char *name, leat_device **out,
                      leat_error *err)
{
    *out = NULL;
    if (!name)
        return leat_trainer_open_device(config, out, err);
    const int rc = leat_device_open(name, out, err);
    return rc < 0 ? leat_fail_in(err, LEAT_E_ARGUMENT, "--device %s: ", name) : rc;
}

int leat_setup_trace(leat_config *config, const char *path, leat_error *err)
{
    char text[64];
    if (!path)
        return LEAT_OK;
    int rc = leat_files_check(path, err);
    if (rc == LEAT_OK && leat_config_get(config, "engine.spans", text, sizeof text, NULL) < 0)
        rc = leat_config_set(config, "engine.spans=262144", err);
    return rc < 0 ? leat_fail_in(err, rc, "--trace: ") : rc;
}
