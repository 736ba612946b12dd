/* SPDX-License-Identifier: MIT
 *
 * device_sim_preset.c: options, presets and names of simulated accelerators.
 *
 * Peak rates come from data sheets: dense products with sums in float32, in bfloat16 (T4: float16). Real
 * kernels are slower, so a simulated step is the shortest possible one: an input that keeps the simulation
 * busy also keeps the real chip busy. Copies have the PCIe rate of one direction less 12 % for packet
 * headers (x16: 3.0 15.75 GB/s, 4.0 31.5, 5.0 63; x8: half). Data sheets do not give launch time, shortest
 * kernel, copy latency and pageable rate; for NVIDIA chips we assume 4 µs, 2 µs, 5 µs and 6 GB/s. A result
 * file of gpu_check replaces the assumed figures of copies (`measured`).
 *
 * The laptop is a GeForce RTX 4070 Laptop GPU at 115 W: 4608 lanes at 2.175 GHz are 20.05 TFLOP/s in
 * float32, and products in bfloat16 run at twice that on Ada chips (RTX 4090: 165.2 and 82.6). It has 128
 * bits of GDDR6 at 16 Gbit/s and PCIe 4.0 x8.
 *
 * host: eager adds the time that a framework without graphs needs per kernel. PyTorch 2.15 on one core
 * (Zen 5, CPU tensors of one row) needs 9.5 to 18 µs of CPU time per kernel that this simulation counts for
 * the same model, optimiser included (bench/eager_host.py). We take 10 µs. A real GPU adds the call of
 * its driver: launch_ns. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "config/node.h"
#include "device_sim.h"

enum { EAGER_NS = 10000 };

static const char *const hosts[] = { "plain", "eager", NULL };

/* The initial values are those of the default preset. */
const leat_option leat_device_sim_options[] = {
    LEAT_OPTION_F64(leat_sim_options, peak_flops, "200e9", 1, 1e20,
                    "floating-point operations per second"),
    LEAT_OPTION_F64(leat_sim_options, memory_bytes_per_s, "50e9", 1, 1e18,
                    "bytes per second between memory and kernels"),
    LEAT_OPTION_I64(leat_sim_options, launch_ns, "10000", 0, 1e9,
                    "time that the host needs to issue one kernel, ns"),
    LEAT_OPTION_I64(leat_sim_options, kernel_min_ns, "2000", 0, 1e9, "shortest kernel, ns"),
    LEAT_OPTION_F64(leat_sim_options, copy_bytes_per_s, "6e9", 1, 1e18,
                    "bytes per second of copies from and to pinned memory"),
    LEAT_OPTION_F64(leat_sim_options, pageable_bytes_per_s, "2e9", 1, 1e18,
                    "bytes per second of copies from pageable memory"),
    LEAT_OPTION_I64(leat_sim_options, copy_latency_ns, "10000", 0, 1e9,
                    "time before the first byte of a copy, ns"),
    LEAT_OPTION_BOOL(leat_sim_options, copy_data, "true",
                     "copy the bytes; false: only model the time"),
    LEAT_OPTION_ENUM(leat_sim_options, host, "plain", hosts,
                     "who issues kernels; plain: only launch_ns each; eager: a framework that runs "
                     "op by op, 10,000 ns more (PyTorch on one core, a lower bound)"),
    LEAT_OPTION_STRING(leat_sim_options, measured, "",
                       "result file of gpu_check (gpu_check.json) to take the rates and the "
                       "latency of copies from"),
    LEAT_OPTION_I64(leat_sim_options, open_ns, "0", 0, 1e10,
                    "time to open the device, ns: on a GPU its context and libraries; no data "
                    "sheet gives it, so any figure is assumed"),
    LEAT_OPTION_END
};

/* What is assumed of all NVIDIA chips, and three figures of one. */
#define NVIDIA(flops, memory, copy)                                                                \
    {                                                                                              \
        flops, memory, 4000, 2000, copy, 6e9, 5000, 1, LEAT_SIM_PLAIN, { "" }, 0                   \
    }

static const leat_sim_preset presets[] = {
    { "small",
      "invented: steps of a small CNN take a few milliseconds, so two cores keep up",
      { 200e9, 50e9, 10000, 2000, 6e9, 2e9, 10000, 1, LEAT_SIM_PLAIN, { "" }, 0 } },
    { "laptop", "GeForce RTX 4070 Laptop at 115 W: bf16 dense 40.1 TFLOP/s, 256 GB/s, PCIe 4.0 x8",
      NVIDIA(40.1e12, 256e9, 14e9) },
    { "rtx4090",
      "GeForce RTX 4090, Ada whitepaper: bf16 dense 165.2 TFLOP/s, 1008 GB/s, PCIe 4.0 x16",
      NVIDIA(165.2e12, 1008e9, 28e9) },
    { "t4", "NVIDIA T4 data sheet: fp16 65 TFLOP/s, 320 GB/s, PCIe 3.0 x16",
      NVIDIA(65e12, 320e9, 14e9) },
    { "l4", "NVIDIA L4 data sheet: bf16 dense 121 TFLOP/s, 300 GB/s, PCIe 4.0 x16",
      NVIDIA(121e12, 300e9, 28e9) },
    { "a100", "NVIDIA A100 80GB SXM data sheet: bf16 dense 312 TFLOP/s, 2039 GB/s, PCIe 4.0 x16",
      NVIDIA(312e12, 2039e9, 28e9) },
    { "h100", "NVIDIA H100 SXM data sheet: bf16 dense 989 TFLOP/s, 3.35 TB/s, PCIe 5.0 x16",
      NVIDIA(989e12, 3350e9, 56e9) },
    { "h200", "NVIDIA H200 SXM data sheet: bf16 dense 989 TFLOP/s, 4.8 TB/s, PCIe 5.0 x16",
      NVIDIA(989e12, 4800e9, 56e9) },
};
enum { N_PRESETS = sizeof presets / sizeof *presets };

const leat_sim_preset *leat_device_sim_preset(size_t i)
{
    return i < N_PRESETS ? &presets[i] : NULL;
}

static const leat_sim_preset *find_preset(const char *name, leat_error *err)
{
    const char *names[N_PRESETS];
    char list[128] = "";
    for (size_t i = 0; i < N_PRESETS; i++) {
        names[i] = presets[i].name;
        if (!strcmp(name, names[i]))
            return &presets[i];
        strncat(list, i ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, names[i], sizeof list - strlen(list) - 1);
    }
    const char *near = leat_nearest(name, names, N_PRESETS);
    leat_fail(err, LEAT_E_CONFIG,
              "there is no simulated '%s'%s%s%s; presets are: %s; or give options as "
              "sim:{peak_flops: 1e12}",
              name, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "", list);
    return NULL;
}

/* Sets the options that a flow map names; the others stay as they are. */
static int apply_changes(const char *text, leat_sim_options *options, leat_error *err)
{
    leat_config *config = NULL;
    leat_sim_options checked;
    int rc = leat_config_parse(text, "sim", &config, err);
    if (rc < 0)
        return rc;
    const leat_node *root = leat_config_root(config);
    rc = leat_node_options(root, root, "simulated device", leat_device_sim_options, &checked, err);
    for (const leat_node *entry = root ? root->first : NULL; entry && rc == LEAT_OK;
         entry = entry->next)
        rc = leat_option_set(leat_option_find(leat_device_sim_options, entry->key), options,
                             entry->text, err);
    leat_config_close(&config);
    return rc;
}

int leat_device_sim_parse(const char *spec, leat_sim_options *options, char *text, size_t size,
                          leat_error *err)
{
    char name[64];
    const char *changes = strchr(spec, '{');
    size_t length = changes ? (size_t)(changes - spec) : strlen(spec);
    while (length && spec[length - 1] == ' ')
        length--;
    if (length >= sizeof name)
        return leat_fail(err, LEAT_E_CONFIG, "'%.40s…' is too long for the name of a preset", spec);
    memcpy(name, spec, length);
    name[length] = 0;
    const leat_sim_preset *preset = length ? find_preset(name, err) : &presets[0];
    if (!preset)
        return LEAT_E_CONFIG;
    *options = preset->options;
    int rc = LEAT_OK;
    if (changes && (rc = apply_changes(changes, options, err)) < 0)
        return rc;
    /* Options that the name gives win over the file. */
    if (options->measured.text[0] &&
        ((rc = leat_device_sim_measured(options->measured.text, options, err)) < 0 ||
         (rc = apply_changes(changes, options, err)) < 0))
        return rc;
    if (options->host == LEAT_SIM_EAGER)
        options->launch_ns += EAGER_NS;
    leat_text(text, size,
              "simulated: %.4g TFLOP/s, memory %.4g GB/s, copies %.4g GB/s, launch %.4g us (%s%s)",
              options->peak_flops / 1e12, options->memory_bytes_per_s / 1e9,
              options->copy_bytes_per_s / 1e9, (double)options->launch_ns / 1e3,
              changes ? "changed from " : "", changes ? preset->name : preset->source);
    return LEAT_OK;
}

/* --- copies of a real device ------------------------------------------------------------------ */

/* Takes the figures of copies from a result file of gpu_check. The parser of a
 * simulated device calls it. The file is JSON, which the config parser reads, because it is YAML too. */

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
