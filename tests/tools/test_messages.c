/* SPDX-License-Identifier: MIT
 *
 * test_messages.c: mistakes that people make at the command line and in configs, and the words that the message
 * about each must have: what is wrong, where, and what to do. A new mistake is one row. */
#include "fixtures/command_fixture.h"

#define WORDS 4

static const char config[] = "source:\n"
                             "  tfrecord: data/t-*.tfrecord\n"
                             "pipeline:\n"
                             "  - shuffle: {seed: 1}\n"
                             "  - map:\n"
                             "      - decode_jpeg\n"
                             "      - random_crop: {size: [16, 16], pad: 2}\n"
                             "      - normalize: {mean: 0.5, std: 0.2}\n"
                             "  - batch: {size: 16, drop_remainder: true}\n"
                             "  - prefetch: {batches: 2}\n"
                             "train:\n"
                             "  device: cpu\n"
                             "  epochs: 1\n"
                             "  model:\n"
                             "    - flatten\n"
                             "    - dense: {units: 10}\n"
                             "  loss: softmax_cross_entropy\n"
                             "  optimizer: {adam: {learning_rate: 1.0e-3}}\n";

/* The config with one line (or the text in it) changed by sed. */
static const struct {
    const char *change;
    const char *command;
    const char *words[WORDS];
} configs[] = {
    /* slips of YAML */
    { "s/^pipeline:/pipeline/",
      "plan",
      { "c.yaml:3:1: ':' is missing after 'pipeline'", "`pipeline:`" } },
    { "s/epochs: 1/epochs 1/",
      "plan",
      { "c.yaml:13:3: ':' is missing after 'epochs'", "`epochs: VALUE`" } },
    { "s/epochs: 1/epochs:1/", "plan", { "c.yaml:13:3: ':' is missing after 'epochs'", "space" } },
    { "s/^  device: cpu/   device: cpu/",
      "plan",
      { "c.yaml:13:3: this line is indented by 2 spaces and line 12 by 3",
        "the same indentation" } },
    { "s/^  epochs: 1/ epochs: 1/",
      "plan",
      { "c.yaml:13:2: this line is indented by 1 space and line 12 by 2",
        "the same indentation" } },
    { "s/^  epochs: 1/   epochs: 1/",
      "plan",
      { "c.yaml:13:4: this line is indented by 3 spaces, further than line 12 (2)" } },
    { "s/^      - normalize/     - normalize/",
      "plan",
      { "c.yaml:8:6: this line is indented by 5 spaces and line 7 by 6" } },
    { "s/^      - decode_jpeg/     - decode_jpeg/",
      "plan",
      { "c.yaml:7:7: this line is indented by 6 spaces, further than line 6 (5)" } },
    { "s/drop_remainder: true}/drop_remainder: true/",
      "plan",
      { "c.yaml:9:12: this '{' is not closed", "'}' is missing" } },
    { "s/mean: 0.5/mean: [0.5/", "plan", { "c.yaml:8:", "this '[' is not closed" } },
    { "s/^  device/\\tdevice/", "plan", { "c.yaml:12:1: a tab: indent with spaces" } },
    { "s/device: cpu/device: \"cpu/", "plan", { "c.yaml:12:11: this quote is not closed" } },
    { "s/device: cpu/device: @cpu/",
      "plan",
      { "c.yaml:12:11: ", "must not begin with '@'", "quotes" } },
    { "s/data.t/*/", "plan", { "c.yaml:2:13: ", "begins with '*'", "quotes" } },
    { "s/epochs: 1/epochs: 1 seed: 3/", "plan", { "c.yaml:13:", "a second ':' in one entry" } },
    /* things that stand elsewhere, or have another name */
    { "s/units: 10/units: 10, activation: relu/",
      "train",
      { "c.yaml:16:26: ", "has no option 'activation'", "a layer of its own after it",
        "`- relu`" } },
    { "s/units: 10/units: 10, activation: softmax/",
      "train",
      { "leave it out", "softmax_cross_entropy" } },
    { "s/units: 10/out_features: 10/", "train", { "did you mean 'units'" } },
    { "s/learning_rate/lr/", "train", { "c.yaml:18:", "did you mean 'learning_rate'" } },
    { "s/size: 16/batch_size: 16/", "plan", { "c.yaml:9:13: ", "write size" } },
    { "s/decode_jpeg/jpeg/", "plan", { "c.yaml:6:9: ", "did you mean 'decode_jpeg'" } },
    { "s/^pipeline/threads: 2\\npipeline/",
      "plan",
      { "c.yaml:3:1: ", "did you mean 'engine.threads'" } },
    { "s/^pipeline/epochs: 2\\npipeline/",
      "plan",
      { "c.yaml:3:1: ", "did you mean 'train.epochs'" } },
    { "s/^pipeline/batch: 2\\npipeline/",
      "plan",
      { "c.yaml:3:", "'batch' is a stage", "`pipeline`" } },
    { "/- batch/d",
      "plan",
      { "c.yaml:9:5: ", "the pipeline has no batch stage", "add `- batch: 32`" } },
    { "/- batch/d;/- prefetch/d",
      "plan",
      { "the pipeline has no batch stage", "add `- batch: 32`" } },
    { "s/drop_remainder: true/drop_remainder: maybe/",
      "plan",
      { "c.yaml:9:", "true or false", "got 'maybe'" } },
    { "s/- batch: {size: 16,.*/-batch: 16/", "plan", { "c.yaml:9:3: a space is missing after" } },
    { "s/- shuffle: {seed: 1}/shuffle: {seed: 1}/", "plan", { "c.yaml:4:3: ", "as in line 5" } },
    { "s/- normalize.*/- to_tensor/",
      "plan",
      { "c.yaml:8:9: there is no op 'to_tensor'", "`- cast: float32`", "normalize" } },
    { "s/- normalize.*/- ToTensor/", "plan", { "there is no op 'ToTensor'", "`- cast: float32`" } },
    { "s/- normalize.*/- rescale/", "plan", { "there is no op 'rescale'", "`- scale: {factor" } },
    { "s/{adam: {learning_rate: 1.0e-3}}/{learning_rate: 0.1}/",
      "train",
      { "c.yaml:18:14: ", "the name of the optimizer is missing", "`sgd: {learning_rate: " } },
    { "s/- shuffle.*/- on_error: skip/", "plan", { "c.yaml:4:", "did you mean 'mask'?" } },
    { "s/- shuffle.*/- shuffle: 1000/",
      "plan",
      { "c.yaml:4:14: stage 'shuffle': 1000 is a seed or a size", "`shuffle: {seed: 1000}`",
        "`shuffle: {window: 1000}`" } },
    { "s/- shuffle.*/- shuffle: 1000/",
      "plan --set pipeline.shuffle.reshuffle=false",
      { "c.yaml:4:14: stage 'shuffle': 1000 is a seed or a size", "`shuffle: {seed: 1000}`" } },
    { "s/data.t.*/{files: data\\/t-*.tfrecord, features: "
      "{nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn: image\\/encoded}}/",
      "plan",
      { "c.yaml:2:", "the tensor's name 'nnnn", "more than 63 bytes" } },
    { "s/mean: 0.5/mean: [123.7, 116.3, 103.5]/",
      "plan",
      { "uint8 pixels count as 0 to 1", "a mean of 123.7", "divide mean and std by 255" } },
    { "s/epochs: 1/&\\n  average: {ema: {decay: 1}}/",
      "train",
      { "c.yaml:14:", "decay must be between 0 and 0.999999" } },
    { "s/epochs: 1/&\\n  average: {lookahead: {decay: 1}}/",
      "train",
      { "c.yaml:14:", "decay must be between 0 and 0.999999" } },
    { "s/pad: 2/padding: 2/", "plan", { "c.yaml:7:", "did you mean 'pad'" } },
    { "s/1.0e-3/0,001/", "train", { "c.yaml:18:", "as the decimal point" } },
    { "s/^source:/data:/", "plan", { "c.yaml:1:1: ", "did you mean 'source'" } },
    { "s/softmax_cross_entropy/cross_entropy/",
      "train",
      { "did you mean 'softmax_cross_entropy'" } },
    { "s/    - dense: {units: 10}/&\\n    - softmax/",
      "train",
      { "c.yaml:18:", "leave it out", "softmax_cross_entropy includes it" } },
    { "s/device: cpu/device: GPU/", "train", { "c.yaml:12:11: ", "did you mean 'cuda'" } },
    { "s/- flatten/- flatten: {device: sim:h300}/",
      "train",
      { "c.yaml:15:25: layer '0.flatten': device 'sim:h300'", "did you mean 'h100'" } },
    { "s/- flatten/- flatten: {device: sim}/",
      "train --save w.st",
      { "--save: layer '0.flatten' on device sim is simulated" } },
    { "s/- flatten/- flatten: {device: sim}/",
      "train --checkpoint ck",
      { "--checkpoint: layer '0.flatten' on device sim is simulated" } },
    { "s/- flatten/- flatten: {device: sim}/",
      "train --restore ok.st",
      { "layer '0.flatten' on device sim is simulated and computes nothing" } },
    { "s/- flatten/- flatten: {device: sim}/",
      "eval --section train --weights ok.st",
      { "layer '0.flatten' on device sim is simulated and computes nothing" } },
    { "s/epochs: 1/epochs: 1\\n  accumulate: 100/",
      "train",
      { "c.yaml:12:3: ", "100 batches make an update, but the run has 3", "lower it" } },
    { "s/- flatten/- conv2d: 4\\n    - conv2d: {filters: 4, init: whiten}\\n    - flatten/",
      "train",
      { "c.yaml:16:7: conv2d: init: whiten is for a layer that reads the model" } },
    { "s/- flatten/- linear: 3/", "train", { "c.yaml:15:7: ", "did you mean 'dense'" } },
    { "s/^train:/eval:\\n  tfrecord: x\\ntrain:/",
      "train",
      { "c.yaml:12:3: ", "under `source:`" } },
    { "s#^train:#eval:\\n  source: {tfrecord: data/t-*.tfrecord}\\n  pipeline: [{map: "
      "[decode_jpeg, "
      "{center_crop: 16}, {normalize: {mean: 0.5, std: 0.2}}]}, repeat, {batch: 16}]\\ntrain:#",
      "train",
      { "eval: the pipeline repeats without end: leave out repeat" } },
    { "s#^train:#eval:\\n  source: {tfrecord: data/t-*.tfrecord}\\n  pipeline: [{map: "
      "[decode_jpeg, "
      "{center_crop: 16}, {normalize: {mean: 0.5, std: 0.2}}]}, repeat, {batch: 16}]\\ntrain:#",
      "plan",
      { "eval: the pipeline repeats without end: leave out repeat" } },
    { "s/^train:/whiten:\\n  tfrecord: x\\ntrain:/",
      "plan",
      { "c.yaml:12:3: ", "under `source:`" } },
    /* data */
    { "s#data/t-.*#data#",
      "plan",
      { "c.yaml:2:13: ", "is a folder", "data/*.tfrecord", "images: data" } },
    { "s/decode_jpeg/decode_png/",
      "bench",
      { ".tfrecord, record ", "not a PNG", "it is a JPEG", "use decode_jpeg, or decode_image" } },
    { "s#data/t#https://host/t#",
      "plan",
      { "c.yaml:2:13: ", "https://host/t-", "URLs are not supported yet" } },
    { "s#data/t#s3://bucket/t#", "plan", { "URLs are not supported yet", "fetch the files" } },
    { "s#data/t#daat/t#",
      "plan",
      { "c.yaml:2:13: no file matches 'daat/t-*.tfrecord'", "where leat runs" } },
    { "s#tfrecord: .*#tfrecord: {files: data/t-*.tfrecord, features: {image: {key: "
      "image/encoded}, "
      "label: {key: image/class/text}}}#",
      "plan",
      { "tensor 'label'", "if it is text, take a number", "image/class/label" } },
    { "s/^  epochs: 1/  frozen: ['1.dens*']\\n  epochs: 1/",
      "train",
      { "all of train.model is frozen", "leave a layer to train" } },
    { "s/^  epochs: 1/  frozen: ['1.denes.*']\\n  epochs: 1/",
      "plan",
      { "c.yaml:13:11: train.frozen: the model has no '1.denes.*'", "did you mean '1.dense.*'",
        "LAYER.PART, or a pattern such as 'layer1.*'" } },
    { "s/^  epochs: 1/  multipliers: {b*.gain: 2}\\n  epochs: 1/",
      "train",
      { "c.yaml:13:", "train.multipliers: the model trains no 'b*.gain'", "weight, bias" } },
    { "s/^  epochs: 1/  weights: gone.st\\n  epochs: 1/",
      "train",
      { "c.yaml:13:12: train.weights: gone.st: ", "No such file" } },
    { "s/^  epochs: 1/  weights: {file: fit.st, skp: a}\\n  epochs: 1/",
      "train",
      { "c.yaml:13:", "did you mean 'skip'" } },
    { "s/^  epochs: 1/  weights: {skip: a}\\n  epochs: 1/",
      "train",
      { "c.yaml:13:", "train.weights", "'file'" } },
    { "s/units: 10/units: 12/; s/^  epochs: 1/  weights: fit.st\\n  epochs: 1/",
      "train",
      { "c.yaml:13:12: train.weights: fit.st does not fit the model",
        "2 of another shape or type: '1.dense.weight'", "write `skip: [1.dense]`",
        "name the layers as there" } },
    { "s/units: 10/units: 12/; s/^  epochs: 1/  weights: fit.st\\n  epochs: 1/",
      "plan",
      { "c.yaml:13:12: train.weights: fit.st does not fit the model" } },
    { "s/^  epochs: 1/  weights: {file: fit.st, skip: 1.dese}\\n  epochs: 1/",
      "train",
      { "c.yaml:13:12: train.weights: skip: neither the model nor fit.st has a tensor '1.dese'",
        "did you mean '1.dense'?" } },
    { "s/units: 10/units: 1/",
      "train",
      { "the source has 10 classes", "gives 1 value: give it units: 10" } },
    { "/^train:/,$d", "train --epochs 2", { "c.yaml:1:1: ", "no `train` part with a model" } },
    { "/^train:/,$d", "train --checkpoint d", { "c.yaml:1:1: ", "no `train` part" } },
    { "/^train:/,$d", "whatif", { "no `train` part with a model and a loss" } },
    { "/^train:/,$d", "doctor --devices cpu,sim", { "no `train` part with a model and a loss" } },
    { "/^train:/,$d", "tune --device sim", { "no `train` part with a model and a loss" } },
    /* numbers */
    { "s/seed: 1/seed: 99999999999999999999/",
      "plan",
      { "c.yaml:4:21: ", "at most 9223372036854775807" } },
    { "s/seed: 1/seed: -1/", "plan", { "c.yaml:4:21: ", "at least 0" } },
};

/* Arguments of the command; c.yaml is the config as it is. */
static const struct {
    const char *line;
    const char *words[WORDS];
} lines[] = {
    { "train c.yaml --device gpu",
      { "there is no 'gpu'", "did you mean 'cuda'", "cpu, sim, cuda" } },
    { "plan c.yaml --set prefetch=2", { "--set prefetch: ", "did you mean 'pipeline.prefetch'" } },
    { "plan c.yaml --set batch.size=2", { "did you mean 'pipeline.batch'" } },
    { "plan c.yaml --set threads=2", { "did you mean 'engine.threads'" } },
    { "train c.yaml --set learning_rate=2",
      { "did you mean 'train.optimizer.adam.learning_rate'" } },
    { "train c.yaml --set train.learning_rate=2",
      { "did you mean 'train.optimizer.adam.learning_rate'" } },
    { "compare c.yaml --vary threads=1,2", { "did you mean 'engine.threads'" } },
    { "compare c.yaml --vary pipeline.batch.size=2,4 --vary pipeline.batch.size=8",
      { "pipeline.batch.size is varied twice: write all its values in one list" } },
    { "compare c.yaml --vary prefetch=0,2", { "did you mean 'pipeline.prefetch'" } },
    { "plan c.yaml --set engine.memory=2G", { "got '2G'", "did you mean '2 GiB'?" } },
    { "plan c.yaml --set engine.memory=1.5m", { "did you mean '1.5 MiB'?" } },
    { "plan c.yaml --set engine.memory=64ki", { "did you mean '64 KiB'?" } },
    { "plan c.yaml --set engine.memory=1",
      { "this pipeline needs at least ", " MB of memory; the limit is 1 B (set by engine.memory)",
        " threads and the consumer); raise engine.memory to ", "or lower batch.size" } },
    { "train c.yaml --restore c.yaml",
      { "c.yaml: this is no safetensors file", "`leat train --save FILE`" } },
    { "train c.yaml --restore data/t-00000-of-00001.tfrecord", { "this is no safetensors file" } },
    { "train c.yaml --restore bad/cat/note.jpg", { "this is no safetensors file" } },
    { "train c.yaml --restore data", { "data is a folder: name a file in it" } },
    { "train c.yaml --resume=nope.st", { "--resume: nope.st: there is no checkpoint" } },
    { "train c.yaml --checkpoint c.yaml", { "--checkpoint: c.yaml" } },
    { "train c.yaml --set 'train.model={vgg11: {classes: 10}}'",
      { "vgg11 needs an image", "of 32 x 32 px or more, got [16, 16, 3]" } },
    { "train c.yaml --set train.target=lable",
      { "gives no tensor 'lable'", "it gives: image, label", "name one of them in train.target" } },
    { "train c.yaml --set 'pipeline=[map: [decode_jpeg, resize: 16], map: {tensor: label, ops: "
      "[cast: float32]}, batch: 4]'",
      { "got float32[]", "`map: {tensor: label, ops: [cast: int64]}`", "mean_squared_error" } },
    { "convert images-of-mine -o x", { "`leat convert images images-of-mine -o PREFIX`" } },
    { "convert images -o x", { "needs images DIR or images LIST", "is missing" } },
    { "convert images bad -o x", { "bad: contains no image" } },
    { "convert images list.csv -o x",
      { "list.csv:2: ./gone.jpg: cannot open: No such file", "--skip-bad leaves" } },
    { "convert images three.csv -o x", { "three.csv:1: there are 3 columns", "`label`" } },
    { "convert images three.csv -o x --label size", { "no column 'size'", "a, b, c" } },
    { "convert images truth.txt -o x",
      { "truth.txt:1: '490' is a number", "paste -d, - truth.txt" } },
    { "convert images list.csv -o x --class-from '(.+?)_'", { "class_from", "character 3" } },
    { "convert images list.csv -o x --class-from '[a-z]+'", { "has no group" } },
    { "convert images set -o x --suffix .jpg", { "'suffix' is for lists", "set is a folder" } },
    { "convert images set/circle -o x --root set --class-from '([a-z]+)'",
      { "'root' is for lists", "set/circle is a folder" } },
    { "convert images gone -o x --root set", { "gone: cannot read the folder: No such file" } },
    { "plan c.yaml --set 'source={images: {path: set/circle, root: set, class_from: "
      "\"([a-z]+)\"}}'",
      { "`root` is for lists", "set/circle is a folder" } },
    { "plan c.yaml --set 'source={images: list.csv}'",
      { "list.csv:2: ./gone.jpg: No such file", "skip_bad" } },
    { "bench c.yaml --json res.txt",
      { "'res.txt' is one argument too many", "--json=res.txt", ".json" } },
    { "train data", { "data is a folder", "not a config (.yaml)", "convert images" } },
    { "train c.yaml more.yaml", { "'more.yaml' is one argument too many", "it takes CONFIG" } },
    { "train c.yaml --batch-size 3", { "--batch-size", "--set pipeline.batch.size=N" } },
    { "train c.yaml --resumed", { "unknown option --resumed; did you mean --resume?" } },
    { "train c.yaml --lr 3", { "unknown option --lr", "--set PATH=VALUE" } },
    { "train c.yaml --set pipeline.batchsize=3", { "did you mean 'batch'" } },
    { "train c.yaml --save d/new --trace ./d/new",
      { "--save and --trace name the same file: ./d/new" } },
    { "bench c.yaml --errors new --json=new", { "--errors and --json name the same file: new" } },
    { "report c.json -o page.html --json=page.html", { "--output and --json name the same file" } },
    { "inspect data", { "data is a folder", "data/*.tfrecord" } },
    { "convert images set -o x/", { "-o x/ is a folder", "-o x/NAME" } },
    { "convert set x", { "`leat convert images set -o PREFIX`" } },
    { "inspect data/t-00000-of-00001.tfrecord --label nope",
      { "--label nope: no record has such a feature" } },
    { "whatif c.yaml --device cpu --rounds 3 --threads 1", { "cpu: ", "leat compare" } },
    { "whatif c.yaml --ranks 2 --threads 1", { "--ranks stands in place of --device" } },
    { "whatif c.yaml --gbit 1", { "--latency-us and --gbit go with --ranks" } },
    { "whatif c.yaml --device sim,sim:h300", { "sim:h300: ", "did you mean 'h100'" } },
    { "whatif c.yaml --ranks 2,0", { "--ranks must be whole numbers from 1 to 256", "'0'" } },
    { "whatif c.yaml --threads 2,x", { "--threads must be whole numbers", "'x'" } },
    { "whatif c.yaml --device sim,", { "--device 'sim,': a value is empty" } },
    { "doctor c.yaml --device sim:h300", { "--device sim:h300: ", "did you mean 'h100'" } },
    { "compare c.yaml --device simm", { "--device simm: ", "did you mean 'sim'" } },
    { "tune c.yaml --device sim:h300", { "--device sim:h300: ", "did you mean 'h100'" } },
    { "predict c.yaml --section train --weights ok.st empty.jpg",
      { "empty.jpg: the file is empty" } },
    { "predict c.yaml --section train --weights ok.st gone.jpg", { "gone.jpg: a broken link" } },
    { "tune c.yaml --seconds 0", { "seconds", "1" } },
    { "tune c.yaml --write c.yaml/x.yaml", { "c.yaml/x.yaml: ", "Not a directory" } },
    { "tune c.yaml --diff --write c.yaml", { "leave out --write or --diff" } },
    { "tune c.yaml --write ok.yaml",
      { "ok.yaml: exists and is not a config that `leat tune` wrote", "choose another name" } },
    { "doctor c.yaml --step-ms 45 --device sim", { "step_ms", "has no device" } },
    { "doctor c.yaml --step-ms 45 --devices cpu,sim", { "--step-ms" } },
    { "doctor c.yaml --step-ms -1", { "step-ms" } },
    { "doctor c.yaml --devices cpu", { "--devices 'cpu': two devices" } },
    { "doctor c.yaml --devices cpu,cpu", { "--devices 'cpu,cpu'", "given twice" } },
    { "doctor c.yaml --devices cpu,sim --verify", { "--verify", "do not go with it" } },
    { "doctor c.yaml --devices cpu,sim --seconds 9", { "--seconds", "do not go with it" } },
    { "doctor c.yaml --devices cpu,sim --anyway", { "--anyway", "do not go with it" } },
    { "inspect c.yaml --label a", { "--label", "not for a config" } },
    { "inspect x.tfrecord --record 0 --text a", { "--text", "one record" } },
    { "experiment prefetch --steps 60001", { "--steps is 60000 at most" } },
    { "experiment list --quick", { "only --json" } },
    { "plan c.yaml --device 'sim:{measured: c.yaml}'", { "copy rates", "gpu_check" } },
    { "plan c.yaml --device sim:{",
      { "a value is missing here, or a '[' or '{' before it is not closed" } },
    { "plan c.yaml --set pipeline.batch=[", { "a '[' or '{' before it is not closed" } },
    { "plan c.yaml --set pipeline.shuffle=1000",
      { "--set pipeline.shuffle: stage 'shuffle': 1000 is a seed or a size",
        "`shuffle: {seed: 1000}`", "`shuffle: {window: 1000}`" } },
    { "plan c.yaml --set pipeline.shuffle=0", { "`shuffle: {seed: 0}`" } },
    { "convert config c.yaml -o x/y", { "leat convert: c.yaml: tensor 'image' has no fixed" } },
    { "compare c.yaml --vary pipeline.batch.size=0,4",
      { "arm 'pipeline.batch.size=0': pipeline.batch.size: stage 'batch': size must be" } },
    { "--version --jsn", { "unknown option --jsn; did you mean --json?" } },
    { "plan c.yaml --set pipeline.prefetch=AUTOTUNE", { "did you mean 'auto'?" } },
    { "plan c.yaml --set 'source={images: data/t-labels.txt}'",
      { "data/t-labels.txt:1: data/", "No such file", "skip_bad" } },
    { "plan c.yaml --set 'source={images: data/t-00000-of-00001.tfrecord}'",
      { "a NUL byte", "the source `tfrecord`" } },
    { "help shuffel", { "did you mean 'shuffle'? leat help --search" } },
    { "inspect https://host/a.tfrecord", { "URLs are not supported yet" } },
};

/* All words are in what the last run said, and they are not YAML's or the like. */
static void expect_words(int code, const char *const *words, const char *what)
{
    if (code == 0 || code >= 128)
        fail_msg("%s: exit code %d", what, code);
    for (int i = 0; i < WORDS && words[i]; i++)
        if (!strstr(err, words[i]))
            fail_msg("%s: \"%s\" is not in:\n%s", what, words[i], err);
}

TEST(mistakes_in_configs_are_told)
{
    expect_success(shell("$L train ok.yaml --steps 1 --save fit.st"));
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        const int code =
            shell("sed '%s' ok.yaml >c.yaml; $L %s c.yaml", configs[i].change, configs[i].command);
        expect_words(code, configs[i].words, configs[i].change);
    }
}

TEST(mistakes_on_command_lines_are_told)
{
    expect_success(shell("cp ok.yaml c.yaml; mkdir -p bad/cat; echo words >bad/cat/note.jpg; "
                         ": >empty.jpg; ln -s nowhere gone.jpg"));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        expect_words(shell("$L %s", lines[i].line), lines[i].words, lines[i].line);
}

TEST(an_empty_LEAT_CPU_is_none)
{
    expect_success(shell("LEAT_CPU= $L plan ok.yaml"));
    assert_int_not_equal(shell("LEAT_CPU=sse $L plan ok.yaml"), 0);
    expect_in(err, "LEAT_CPU is 'sse'; it is c, avx2 or avx512");
    expect_success(shell("LEAT_JPEG_LOOP= $L plan ok.yaml"));
    assert_int_not_equal(shell("LEAT_JPEG_LOOP=adds $L plan ok.yaml"), 0);
    expect_in(err, "LEAT_JPEG_LOOP is 'adds'; it is shifts or loads");
}

/* Two seeds that are one as doubles. */
TEST(large_seeds_are_exact)
{
    char first[40];
    expect_success(shell("$L plan ok.yaml --set seed=9007199254740992 --json"));
    expect_in(out, "\"seed\": 9007199254740992,");
    json_t *json = parse_out();
    snprintf(first, sizeof first, "%s", json_string_value(json_object_get(json, "digest")));
    json_decref(json);
    expect_success(shell("$L plan ok.yaml --set seed=9007199254740993 --json"));
    expect_in(out, "\"seed\": 9007199254740993,");
    assert_null(strstr(out, first));
    expect_success(
        shell("$L bench ok.yaml --set pipeline.shuffle.seed=9223372036854775807 --steps 2 -q"));
}

TEST(a_loss_that_is_no_number_has_no_sign)
{
    assert_int_equal(
        shell("$L train ok.yaml --set 'train.model=[flatten, {dense: 99}, {dense: 99}, "
              "{dense: 10}]' --set 'train.optimizer={sgd: {learning_rate: 1e6}}'"),
        1);
    expect_in(err, "learning rate is too high (train.optimizer)");
    assert_null(strstr(out, "-nan"));
}

static int make_set(void **state)
{
    if (command_make_folder(state) < 0)
        return -1;
    expect_success(
        shell("$L synth set --n 60 --size 16 --seed 7 -q && $L convert images set -o data/t -q && "
              "printf 'f,label\\n' >list.csv && printf 'gone.jpg,cat\\n' >>list.csv && "
              "printf 'a,b,c\\n' >three.csv && printf '490\\n361\\n' >truth.txt"));
    char path[128];
    snprintf(path, sizeof path, "%s/ok.yaml", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(config, file);
    fclose(file);
    return 0;
}

SUITE_FIXTURE(make_set, command_remove_folder)
