/* SPDX-License-Identifier: MIT
 *
 * device_sim_measured.c: takes the figures of copies from a result file of gpu_check. The parser of a
 * simulated device calls it. The file is JSON, which the config parser reads, because it is YAML too. */
#include <math.h>
#include <string.h>

#include "config/node.h"
#include "device_sim.h"

enum { SMALL_BYTES = 4 << 10, LARGE_BYTES = 37632 << 10 };

/* The entry of a list whose `name` is `name`, or NULL. */
static const leat_node *line_of(const leat_node *lines, const char *name)
{
    const leat_node *line = lines ? lines->first : NULL;
    for (; line; line = line->next) {
        const leat_node *const own = leat_node_find(line, "name");
        if (own && own->text && !strcmp(own->text, name))
            return line;
    }
    return NULL;
}

/* Bytes per second of a figure in GB/s. */
static int rate_of(const leat_node *figures, const char *name, const char *path, double *out,
                   leat_error *err)
{
    static const leat_option row = LEAT_OPTION_ROW(
        struct { double value; }, value, F64, NULL, 1e-3, 1e6, NULL, "");
    const leat_node *const figure = leat_node_find(figures, name);
    const leat_node *const value = leat_node_find(figure, "value");
    double gb_s = 0;
    if (!value || !value->text)
        return leat_fail(err, LEAT_E_CONFIG,
                         "%s has no figure '%s' in its line 'copy rates': is it a result file of "
                         "gpu_check, made on a GPU?",
                         path, name);
    const int rc = leat_option_set(&row, &gb_s, value->text, err);
    *out = gb_s * 1e9;
    return rc < 0 ? leat_fail_in(err, rc, "%s: %s: ", path, name) : LEAT_OK;
}

int leat_device_sim_measured(const char *path, leat_sim_options *options, leat_error *err)
{
    leat_config *config = NULL;
    double small = 0, large = 0, pageable = 0;
    int rc = leat_config_load(path, &config, err);
    if (rc < 0)
        return rc;
    const leat_node *const lines = leat_node_find(leat_config_root(config), "lines");
    const leat_node *const figures = leat_node_find(line_of(lines, "copy rates"), "figures");
    if ((rc = rate_of(figures, "pinned_4_kib", path, &small, err)) == LEAT_OK &&
        (rc = rate_of(figures, "pinned_37632_kib", path, &large, err)) == LEAT_OK &&
        (rc = rate_of(figures, "pageable_37632_kib", path, &pageable, err)) == LEAT_OK) {
        /* A small copy takes the latency and its bytes; a large one hardly notices the latency. */
        const double latency_s = SMALL_BYTES / small - SMALL_BYTES / large;
        options->copy_latency_ns = latency_s > 0 ? (int64_t)llround(latency_s * 1e9) : 0;
        options->copy_bytes_per_s =
            LARGE_BYTES / fmax(LARGE_BYTES / large - fmax(latency_s, 0), 1e-9);
        options->pageable_bytes_per_s = pageable;
    }
    leat_config_close(&config);
    return rc;
}
