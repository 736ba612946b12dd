/* SPDX-License-Identifier: MIT
 *
 * leat.h: includes all public headers. */
#ifndef LEAT_LEAT_H
#define LEAT_LEAT_H

#include "leat/api.h"
#include "leat/budget.h"
#include "leat/checkpoint.h"
#include "leat/config.h"
#include "leat/crossover.h"
#include "leat/device.h"
#include "leat/doctor.h"
#include "leat/error.h"
#include "leat/experiment.h"
#include "leat/jpeg_probe.h"
#include "leat/loader.h"
#include "leat/meter.h"
#include "leat/observe.h"
#include "leat/op.h"
#include "leat/option.h"
#include "leat/plan.h"
#include "leat/ranks.h"
#include "leat/rng.h"
#include "leat/score.h"
#include "leat/stats.h"
#include "leat/study.h"
#include "leat/tensor.h"
#include "leat/train.h"
#include "leat/tune.h"
#include "leat/verdict.h"
#include "leat/watch.h"
#include "leat/whatif.h"

#endif
