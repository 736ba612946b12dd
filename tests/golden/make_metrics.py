# SPDX-License-Identifier: MIT
"""Precision, recall, F1 and AUC by scikit-learn, of outputs with ties, classes without a sample and classes that are
never predicted. Prints tests/golden/metrics.inc. Means are over the classes that have a sample; of AUC over those that
have one (roc_auc_score is not defined where one of two classes is missing).
Usage: make_metrics.py > tests/golden/metrics.inc (needs numpy and scikit-learn)"""
import numpy
from sklearn import metrics

rng = numpy.random.default_rng(1)
ROWS = 40


def log_softmax(x):
    """In double, and not rounded to 0 where the probability would round to 1."""
    x = x.astype(numpy.float64)
    x -= x.max(1, keepdims=True)
    others = numpy.where(numpy.arange(x.shape[1]) == x.argmax(1)[:, None], 0, numpy.exp(x)).sum(1, keepdims=True)
    return x - numpy.log1p(others)


def one(yes, said, score):
    """Of one class: precision, recall, F1, AUC; NaN: there is none."""
    if not yes.any():
        return [metrics.precision_score(yes, said) if said.any() else numpy.nan, numpy.nan, numpy.nan, numpy.nan]
    auc = metrics.roc_auc_score(yes, score) if not yes.all() else numpy.nan
    if not said.any():
        return [numpy.nan, 0, metrics.f1_score(yes, said, zero_division=0), auc]
    return [metrics.precision_score(yes, said), metrics.recall_score(yes, said), metrics.f1_score(yes, said), auc]


def case(name, config, outputs, targets, kind, yes, said, score):
    """yes, said, score: [rows, classes]."""
    classes = yes.shape[1]
    present = [k for k in range(classes) if yes[:, k].any()]
    table = [one(yes[:, k], said[:, k], score[:, k]) for k in range(classes)]
    means = [numpy.mean([f(yes[:, k], said[:, k], zero_division=0) for k in present])
             for f in (metrics.precision_score, metrics.recall_score, metrics.f1_score)]
    split = [k for k in present if not yes[:, k].all()]
    means.append(numpy.mean([metrics.roc_auc_score(yes[:, k], score[:, k]) for k in split]) if split else numpy.nan)
    numbers = lambda values: ", ".join("NAN" if numpy.isnan(v) else repr(float(v)) for v in values)
    floats = lambda values: ", ".join(f"{v!s}f" for v in numpy.asarray(values, numpy.float32).ravel())
    print(f"static const float {name}_outputs[] = {{ {floats(outputs)} }};")
    print(f"static const {kind} {name}_targets[] = {{ "
          + (floats(targets) if kind == "float" else ", ".join(str(int(t)) for t in targets)) + " };")
    print(f"static const double {name}_classes[] = {{ " + ", ".join(numbers(row) for row in table) + " };")
    cases.append(f'    {{ "{name}", "{config}", {len(outputs)}, {outputs.shape[1]}, {classes}, {name}_outputs, '
                 f"{name}_targets, {int(kind == 'float')}, {{ {numbers(means)} }}, {name}_classes }},")


def classes_case(name, outputs, labels, soft=None):
    n = outputs.shape[1]
    yes = numpy.arange(n) == labels[:, None]
    said = numpy.arange(n) == outputs.argmax(1)[:, None]
    case(name, "softmax_cross_entropy", outputs, labels if soft is None else soft,
         "int64_t" if soft is None else "float", yes, said, log_softmax(outputs))


cases = []
print("/* Made by make_metrics.py. */")
draw = lambda n: rng.normal(size=(ROWS, n)).astype(numpy.float32)
labels = rng.integers(0, 5, ROWS)
classes_case("plain", (draw(5) + 1.5 * numpy.eye(5)[labels]).astype(numpy.float32), labels)
classes_case("two", draw(2), rng.integers(0, 2, ROWS))
# Few different values: many ties. Class 3 has no sample, class 1 is never predicted.
ties = numpy.round(draw(4) * 2) / 2
ties[:, 1] = -9
classes_case("ties", ties.astype(numpy.float32), rng.choice([0, 1, 2], ROWS))
classes_case("one_sample", draw(3), numpy.eye(1, ROWS, 7, dtype=int)[0])
classes_case("all_of_one", draw(3), numpy.full(ROWS, 2))
# Probabilities that round to 1 in float32.
classes_case("large", (draw(3) * 40).astype(numpy.float32), rng.integers(0, 3, ROWS))
soft = rng.dirichlet([0.5] * 4, ROWS).astype(numpy.float32)
classes_case("soft", draw(4), soft.argmax(1), soft)
# No and yes: the AUC of both is that of the one output.
yes, x = rng.integers(0, 2, ROWS), numpy.round(draw(1) * 4) / 4
both = lambda v: numpy.stack([~v, v], 1)
case("binary", "binary_cross_entropy", x.astype(numpy.float32), yes, "float", both(yes > 0), both(x[:, 0] > 0),
     numpy.concatenate([-x, x], 1))
p = (1 / (1 + numpy.exp(-x))).astype(numpy.float32)
case("probability", "{binary_cross_entropy: {with_logits: false}}", p, yes, "float", both(yes > 0), both(p[:, 0] > 0.5),
     numpy.concatenate([-p, p], 1))
# Several yes or no; the third is never yes.
many, tags = draw(4), (rng.random((ROWS, 4)) < [0.5, 0.1, 0, 0.9]).astype(int)
case("labels", "binary_cross_entropy", many, tags, "float", tags > 0, many > 0, many)
print("static const golden cases[] = {\n" + "\n".join(cases) + "\n};")
