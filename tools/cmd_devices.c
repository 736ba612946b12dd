/* SPDX-License-Identifier: MIT
 *
 * leat devices: lists the devices for training, and why some are not available. */
#include <stdbool.h>
#include <stdlib.h>

#include "help/help.h"
#include "print/json.h"
#include "print/terminal.h"

struct devices_options {
    const char *json;
};

static const leat_option options[] = { LEAT_ROW_JSON(struct devices_options), LEAT_OPTION_END };

static void add_device(json_t *list, const leat_device_info *info)
{
    json_t *one = leat_json_row(list);
    leat_json_text(one, "name", info->name);
    leat_json_text(one, "text", info->text);
    leat_json_bool(one, "available", info->available);
    leat_json_bool(one, "simulated", info->simulated);
}

static void print_device(const leat_device_info *info)
{
    char head[160];
    snprintf(head, sizeof head, "%-16s %-9s", info->name,
             !info->available  ? "not here"
             : info->simulated ? "simulated"
                               : "ready");
    leat_terminal_entry(stdout, head, 28, info->text);
}

/* The inner loop of decode_jpeg, which depends on the processor. */
static void add_loop(json_t *json, bool prints)
{
    char why[120], text[200];
    const char *const name = leat_jpeg_loop(why, sizeof why);
    json_t *one = leat_json_object(json, "jpeg_loop");
    leat_json_text(one, "name", name);
    leat_json_text(one, "why", why);
    snprintf(text, sizeof text, "loop for Huffman codes: %s%s%s", name, *why ? "; " : "", why);
    if (prints)
        leat_terminal_entry(stdout, "cpu: JPEG", 28, text);
}

/* The libraries of training on a GPU are listed only if there is a GPU: opening them is slow. */
static bool wants_libraries(const leat_device_info *infos, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (infos[i].available && leat_device_is_gpu(infos[i].name))
            return true;
    return false;
}

static void print_options(void)
{
    printf("\n");
    leat_terminal_say(2, "options of simulated devices, in braces: --device "
                         "'sim:h200{launch_ns: 8000}'");
    leat_help_options(leat_device_options("sim"));
}

static int run(const leat_call *call, leat_error *err)
{
    const struct devices_options *o = call->options;
    const bool prints = !leat_json_to_stdout(o->json);
    const size_t n = leat_devices(NULL, 0);
    leat_device_info *infos = calloc(n + 1, sizeof *infos);
    if (!infos)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    leat_devices(infos, n);
    json_t *json = leat_json_open("devices"), *list = json_array();
    for (size_t i = 0; i < n; i++) {
        add_device(list, &infos[i]);
        if (prints)
            print_device(&infos[i]);
    }
    add_loop(json, prints);
    char libraries[4096] = "";
    if (wants_libraries(infos, n))
        leat_device_libraries("cuda", libraries, sizeof libraries);
    if (*libraries && prints)
        leat_terminal_entry(stdout, "cuda: training", 28, libraries);
    if (prints)
        print_options();
    free(infos);
    leat_json_text(json, "cuda_libraries", *libraries ? libraries : NULL);
    leat_json_add(json, "devices", list);
    return leat_json_write(json, o->json, err);
}

const leat_command leat_command_devices = {
    .name = "devices",
    .summary = "list the devices that training can run on",
    .arguments = "",
    .text = "Lists the devices that `train.device` and --device can name, and why some are not "
            "available on this machine. Simulated devices do no arithmetic: they model the time "
            "that an accelerator would take. Also says which inner loop decodes JPEG files on this "
            "processor.",
    LEAT_COMMAND_OPTIONS(struct devices_options),
    .run = run,
};
