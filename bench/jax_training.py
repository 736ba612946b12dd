#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The training of python_training.py as a loop of JAX, fed by leat and by tf.data.

    PYTHONPATH=... python3 bench/jax_training.py cifar10/train cifar10/test --epochs 3 --turns 3

The same model, optimiser, batch and augmentation; images as height, width, channels. JAX uses all cores that the process
may use; the loaders have two threads.

    leat         leat.Loader over the folder, to="jax"
    tf.data      read_file, decode_jpeg, tf.image; batches become arrays of JAX by DLPack
    step alone   the steps on one batch that is kept: no loader can be faster"""

import time

import python_training as common


def open_leat(folder):
    return common.leat_loader(folder, [{"random_crop": {"size": [32, 32], "pad": 4}}, "random_flip"], to="jax",
                              layout="channels_last", size=common.BATCH, drop_remainder=True)


def open_tf(folder):
    import jax
    import tensorflow as tf

    data = common.tf_data(folder, layout=[0, 1, 2])

    class Batches:
        def __iter__(self):
            for image, label in data:
                yield jax.dlpack.from_dlpack(image), jax.dlpack.from_dlpack(tf.cast(label, tf.int32))

    return Batches()


def open_kept(folder):
    batch = [t.copy() for t in next(iter(open_leat(folder)))]
    return [batch] * 100


OPEN = {"leat": open_leat, "tf.data": open_tf, "step alone": open_kept}


def make_weights(key):
    """Weights of three convolutions with batch norm and a dense layer, and the running statistics."""
    import jax
    import jax.numpy as jnp

    weights, seen, before = [], [], 3
    for n in (32, 64, 128):
        key, use = jax.random.split(key)
        bound = (1 / (9 * before)) ** 0.5  # PyTorch's default
        weights.append({"conv": jax.random.uniform(use, (3, 3, before, n), minval=-bound, maxval=bound),
                        "scale": jnp.ones(n), "shift": jnp.zeros(n)})
        seen.append({"mean": jnp.zeros(n), "variance": jnp.ones(n)})
        before = n
    bound = (1 / (128 * 4 * 4)) ** 0.5
    weights.append({"dense": jax.random.uniform(key, (128 * 4 * 4, 10), minval=-bound, maxval=bound),
                    "bias": jnp.zeros(10)})
    return weights, seen


def logits_of(weights, seen, image, training):
    import jax
    from jax import lax

    after = []
    for layer, s in zip(weights, seen):
        image = lax.conv_general_dilated(image, layer["conv"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        mean, variance = (image.mean((0, 1, 2)), image.var((0, 1, 2))) if training else (s["mean"], s["variance"])
        after.append({"mean": 0.9 * s["mean"] + 0.1 * mean, "variance": 0.9 * s["variance"] + 0.1 * variance})
        image = (image - mean) * lax.rsqrt(variance + 1e-5) * layer["scale"] + layer["shift"]
        image = lax.reduce_window(jax.nn.relu(image), -float("inf"), lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return image.reshape(len(image), -1) @ weights[-1]["dense"] + weights[-1]["bias"], after


def make_step():
    """Adam with a learning rate of 0.002."""
    import jax
    import jax.numpy as jnp

    def loss_of(weights, seen, image, label):
        logits, after = logits_of(weights, seen, image, True)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), label[:, None], axis=1).mean(), after

    @jax.jit
    def step(state, image, label):
        weights, seen, m, v, t = state
        gradient, seen = jax.grad(loss_of, has_aux=True)(weights, seen, image, label)
        t += 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, gradient)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, gradient)
        rate = 2e-3 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
        return jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-8), weights, m, v), seen, m, v, t

    return step


def right_share(weights, seen, folder):
    import jax

    logits = jax.jit(lambda image: logits_of(weights, seen, image, False)[0])
    right = n = 0
    for image, label in common.leat_loader(folder, [{"center_crop": {"size": [32, 32]}}], to="jax",
                                           layout="channels_last", size=250):
        right += int((logits(image).argmax(1) == label).sum())
        n += len(label)
    return right / n


def train(arm, train_folder, test_folder, epochs):
    import jax
    import jax.numpy as jnp

    start = time.monotonic()
    loader = OPEN[arm](train_folder)
    weights, seen = make_weights(jax.random.key(1))
    nothing = jax.tree.map(jnp.zeros_like, weights)
    state, step = (weights, seen, nothing, nothing, 0.0), make_step()
    samples, ends = 0, []
    for epoch in range(epochs):
        for image, label in loader:
            state = step(state, image, label)
            samples += len(label) if epoch else 0
        jax.block_until_ready(state)
        ends.append(time.monotonic())
    return {"samples_per_s": samples / (ends[-1] - ends[0]), "first_epoch_s": ends[0] - start,
            "accuracy": None if arm == "step alone" else right_share(state[0], state[1], test_folder)}


if __name__ == "__main__":
    common.main(__doc__, __file__, OPEN, train)
