/* SPDX-License-Identifier: MIT
 *
 * fuzz_checkpoint.c: notes of a checkpoint. The first byte ('1' to '8') picks a note and the rest is its text; the file
 * is whole otherwise and its digest right. What is refused has a message and changes nothing; from what is accepted
 * the run can go on. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/run_state.h"
#include "formats/little_endian.h"
#include "fuzz_target.h"
#include "leat/leat.h"
#include "train/checkpoint_parts.h"

enum { N_NOTES = 8, WIDTH = 3, BATCH = 2 };

/* In the order in which the digest chains them. */
static const char *const names[N_NOTES] = { "writer",  "checkpoint", "model",  "steps",
                                            "updates", "sums",       "loader", "decisions" };

static leat_trainer *trainer;
static json_t *header; /* of a sound checkpoint */
static uint8_t *data_of;
static size_t data_bytes;
static uint64_t tensors_digest;

static uint64_t digest_notes(json_t *notes)
{
    uint64_t digest = 0;
    for (int i = 0; i < N_NOTES; i++) {
        json_t *text = json_object_get(notes, names[i]);
        digest = leat_digest_chain(
            digest, leat_digest_row(json_string_value(text), json_string_length(text), 0));
    }
    return digest;
}

/* --- once ------------------------------------------------------------------------------------ */

static void open_trainer(void)
{
    static const char text[] =
        "train: {device: cpu, threads: 1, accumulate: 2, loss: softmax_cross_entropy, optimizer: "
        "adam, "
        "average: {ema: {decay: 0.9}}, stop: {patience: 3}, schedule: plateau, model: [dense: "
        "{units: 2, name: only}]}\neval: {source: none}";
    const int64_t dims[] = { WIDTH };
    const leat_trainer_feed feed = { .input = leat_shape_make(LEAT_F32, 1, dims),
                                     .target = leat_shape_make(LEAT_I64, 0, NULL),
                                     .batch_size = BATCH,
                                     .batches = 4,
                                     .seed = 1 };
    static leat_config *config; /* the trainer borrows both until the program ends */
    static leat_device *device;
    leat_error err = { 0 };
    EXPECT(leat_config_parse(text, "fuzz.yaml", &config, &err) == LEAT_OK);
    EXPECT(leat_trainer_open_device(config, &device, &err) == LEAT_OK);
    EXPECT(leat_trainer_open_feed(config, &feed, device, &trainer, &err) == LEAT_OK);
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    EXPECT(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size);
    EXPECT(bytes && fread(bytes, 1, *size, file) == *size);
    fclose(file);
    return bytes;
}

static void take_sound_file(void)
{
    leat_loader_state state = { 0 };
    char path[] = "/tmp/leat-fuzz-XXXXXX";
    const int fd = mkstemp(path);
    size_t size;
    uint64_t digest;
    leat_run_state_seal(&state);
    EXPECT(fd >= 0 && close(fd) == 0);
    EXPECT(leat_checkpoint_write(trainer, &state, path, NULL) == LEAT_OK);
    uint8_t *bytes = read_file(path, &size);
    unlink(path);
    const size_t header_bytes = (size_t)leat_load_u64(bytes);
    header = json_loadb((const char *)bytes + 8, header_bytes, 0, NULL);
    data_of = bytes + 8 + header_bytes;
    data_bytes = size - 8 - header_bytes;
    json_t *notes = json_object_get(header, "__metadata__");
    EXPECT(sscanf(json_string_value(json_object_get(notes, "digest")), "%" SCNx64, &digest) == 1);
    tensors_digest = digest - digest_notes(notes);
}

/* --- each ------------------------------------------------------------------------------------ */

/* The sound file with one other note, in new memory; NULL: no text that JSON can hold. */
static uint8_t *with_note(int at, const uint8_t *text, size_t length, size_t *size)
{
    char digest[24];
    json_t *value = json_stringn((const char *)text, length);
    if (!value)
        return NULL;
    json_t *whole = json_copy(header);
    json_t *notes = json_copy(json_object_get(header, "__metadata__"));
    json_object_set_new(notes, names[at], value);
    snprintf(digest, sizeof digest, "%016" PRIx64, digest_notes(notes) + tensors_digest);
    json_object_set_new(notes, "digest", json_string(digest));
    json_object_set_new(whole, "__metadata__", notes);
    char *line = json_dumps(whole, JSON_COMPACT);
    EXPECT(line);
    const size_t n = strlen(line);
    uint8_t *out = malloc(8 + n + data_bytes);
    EXPECT(out);
    leat_store_u64(out, n);
    memcpy(out + 8, line, n);
    memcpy(out + 8 + n, data_of, data_bytes);
    *size = 8 + n + data_bytes;
    free(line);
    json_decref(whole);
    return out;
}

/* One more update of the weights, and a checkpoint of it. */
static void go_on(const leat_checkpoint_found *found)
{
    static float x[BATCH * WIDTH] = { 1, 2, 3, 4, 5, 6 };
    static int64_t y[BATCH] = { 0, 1 };
    const int64_t dims[] = { BATCH, WIDTH };
    const leat_view xs = { .shape = leat_shape_make(LEAT_F32, 2, dims), .data = x };
    const leat_view ys = { .shape = leat_shape_make(LEAT_I64, 1, dims), .data = y };
    leat_metrics metrics;
    EXPECT(strlen(found->changed) < sizeof found->changed && !strcmp(found->path, "notes"));
    EXPECT(trainer->n_accumulated >= 0 && leat_checkpoint_ready(trainer));
    EXPECT(found->updates >= 0 && trainer->backend->updates(trainer->net) == found->updates);
    for (int i = 0; i < 2; i++)
        EXPECT(leat_trainer_step_views(trainer, &xs, &ys, BATCH, true, NULL) == LEAT_OK);
    EXPECT(trainer->backend->updates(trainer->net) == found->updates + 1);
    EXPECT(leat_trainer_metrics(trainer, &metrics, NULL) == LEAT_OK && isfinite(metrics.loss) &&
           metrics.samples >= 2 * BATCH);
}

static uint64_t state_of_trainer(void)
{
    float values[WIDTH * 2];
    uint64_t digest = leat_digest_row(&trainer->n_accumulated, sizeof trainer->n_accumulated, 0);
    const int64_t updates = trainer->backend->updates(trainer->net);
    digest = leat_digest_chain(digest, leat_digest_row(&updates, sizeof updates, 0));
    for (int which = LEAT_VALUES_WEIGHT; which < LEAT_N_VALUES; which++)
        if (trainer->backend->read(trainer->net, 0, 0, (leat_param_values)which, values, NULL) ==
            LEAT_OK)
            digest = leat_digest_chain(digest, leat_digest_row(values, sizeof values, 0));
    return digest;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n;
    if (!trainer) {
        open_trainer();
        take_sound_file();
    }
    uint8_t *bytes =
        size ? with_note((data[0] - '1' + 256) % N_NOTES, data + 1, size - 1, &n) : NULL;
    if (!bytes)
        return 0;
    leat_checkpoint_found found = { 0 };
    leat_error err = { 0 };
    const uint64_t before = state_of_trainer();
    leat_safetensors *file;
    leat_format_error why;
    if (leat_safetensors_open_memory(&file, bytes, n, &why) < 0) {
        EXPECT(why.text[0]);
        free(bytes);
        return 0;
    }
    const int rc = leat_checkpoint_read_opened(trainer, file, "notes", &found, &err);
    leat_safetensors_close(&file);
    if (rc == LEAT_OK)
        go_on(&found);
    else
        EXPECT(err.code == rc && err.message[0] && state_of_trainer() == before);
    free(bytes);
    return 0;
}
