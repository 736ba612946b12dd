/* SPDX-License-Identifier: MIT */
#include "setup.h"

#include <stdlib.h>
#include <string.h>

#include "files.h"

int leat_setup_config(const char *path, const leat_texts *set, leat_config **out, leat_error *err)
{
    *out = NULL;
    int rc = leat_config_load(path, out, err);
    for (int32_t i = 0; i < set->n && rc == LEAT_OK; i++)
        if (leat_config_set(*out, set->values[i], err) < 0) /* says --set and the path */
            rc = leat_fail_in(err, LEAT_E_ARGUMENT, "%s", "");
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

/* A slip of the hand ("--trace x.yaml") must not cost a file: only a former trace, which begins as
 * leat_loader_trace_write begins, or an empty file gives way. */
static int check_target(const char *path, leat_error *err)
{
    static const char begins[] = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    char found[sizeof begins - 1];
    const int rc = leat_files_check(path, err);
    FILE *const file = rc == LEAT_OK ? fopen(path, "rbe") : NULL;
    if (!file)
        return rc;
    const size_t n = fread(found, 1, sizeof found, file);
    fclose(file);
    if (n == 0 || (n == sizeof found && !memcmp(found, begins, n)))
        return LEAT_OK;
    return leat_fail(err, LEAT_E_ARGUMENT,
                     "%s: exists and is not a trace; choose another name, or remove it first",
                     path);
}

int leat_setup_trace(leat_config *config, const char *path, leat_error *err)
{
    char text[64];
    char *end = text;
    if (!path)
        return LEAT_OK;
    int rc = check_target(path, err);
    if (rc == LEAT_OK && leat_config_get(config, "engine.spans", text, sizeof text, NULL) < 0)
        rc = leat_config_set(config, "engine.spans=262144", err);
    else if (rc == LEAT_OK && strtod(text, &end) == 0 && end != text)
        rc = leat_fail(err, LEAT_E_ARGUMENT,
                       "engine.spans is 0, so nothing would be recorded; leave it out, or give it "
                       "the spans to keep of each thread");
    return rc < 0 ? leat_fail_in(err, rc, "--trace: ") : rc;
}
