/* SPDX-License-Identifier: MIT
 *
 * leat export: writes a trained model for other programs. */
#include "eval/trained.h"
#include "files.h"
#include "print/json.h"
#include "signals.h"

struct export_options {
    const char *weights, *section, *onnx, *json;
    leat_texts set;
};

static const leat_option options[] = { LEAT_ROW_WEIGHTS(struct export_options),
                                       LEAT_OPTION_STRING(struct export_options, onnx, NULL,
                                                          "the file to write, as ONNX (opset 17)"),
                                       LEAT_ROW_SECTION(struct export_options),
                                       LEAT_ROW_SET(struct export_options),
                                       LEAT_ROW_JSON(struct export_options),
                                       LEAT_OPTION_END };

static int export_all(const leat_call *call, leat_trained *t, leat_error *err)
{
    const struct export_options *const o = call->options;
    const leat_trained_how how = { .call = call,
                                   .path = call->arguments[0],
                                   .section = o->section,
                                   .weights = o->weights,
                                   .device = "cpu",
                                   .threads = -1,
                                   .set = &o->set };
    /* The field of the writer's name. */
    static const leat_output_kind onnx = { "an ONNX file of leat", "\x12\x04leat", 2 };
    if (!o->onnx)
        return leat_fail(err, LEAT_E_ARGUMENT, "needs --onnx FILE");
    int rc = leat_json_check(o->json, err);
    if (rc == LEAT_OK && (rc = leat_files_check(o->onnx, &onnx, err)) < 0)
        return leat_fail_in(err, rc, "--onnx: ");
    if (rc == LEAT_OK)
        rc = leat_trained_open_config(t, &how, err);
    if (rc == LEAT_OK)
        rc = leat_trained_open(t, &how, err);
    return rc < 0 ? rc : leat_trainer_export_onnx(t->trainer, o->onnx, err);
}

static int run(const leat_call *call, leat_error *err)
{
    const struct export_options *const o = call->options;
    leat_trained t = { 0 };
    leat_signals_stop_at_once("export");
    int rc = export_all(call, &t, err);
    if (rc == LEAT_OK && o->json) {
        json_t *json = leat_json_open("export");
        leat_json_text(json, "config", call->arguments[0]);
        leat_json_text(json, "weights", o->weights);
        leat_json_text(json, "onnx", o->onnx);
        leat_json_int(json, "parameters", leat_trainer_get_info(t.trainer)->n_parameters);
        rc = leat_json_write(json, o->json, err);
    }
    leat_trained_close(&t);
    return rc;
}

const leat_command leat_command_export = {
    .name = "export",
    .summary = "write a trained model for other programs",
    .arguments = "CONFIG",
    .text =
        "Writes the model of a config's `train` part, with trained weights, as an ONNX file. Its "
        "input is what the pipeline of the `eval` part gives, float32 [batch, height, width, "
        "channels] or [batch, n]; preparing images, and the views of `train.views`, stay with the "
        "program that runs it.",
    .example =
        "  leat export examples/cifar10.yaml --weights cifar10.safetensors --onnx cifar10.onnx",
    .n_min = 1,
    .n_max = 1,
    LEAT_COMMAND_OPTIONS(struct export_options),
    .run = run,
};
