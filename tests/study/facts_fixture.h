/* SPDX-License-Identifier: MIT
 *
 * facts_fixture.h: facts of a job from the times of its parts. Each program uses some of it. */
#ifndef FACTS_FIXTURE_H
#define FACTS_FIXTURE_H

#include <math.h>

#include "fixtures/unit.h"
#include "study/facts.h"
#include "study/verdict_rules.h"

enum { ROWS = 32 };

static inline leat_estimate within(double value, double noise)
{
    return (leat_estimate){ value, value * (1 - noise), value * (1 + noise) };
}

static inline double rate_of(double step_ms)
{
    return ROWS / step_ms * 1e3;
}

/* Times per step in ms: the job, the loader alone, the step alone. On 4 quiet cores, 4 workers. */
static inline leat_facts facts_of(double run, double loader, double step)
{
    leat_facts f = { .overlaps = true, .cores = 4, .threads = 4, .rows = ROWS, .step_busy = 1 };
    f.run = within(rate_of(run), 0.01);
    f.loader = within(rate_of(loader), 0.01);
    f.step = within(rate_of(step), 0.01);
    f.of_loader = within(loader / run, 0.01);
    f.of_step = within(step / run, 0.01);
    f.loader_of_step = within(step / loader, 0.01);
    f.meter = (leat_meter){ .busy = step / run, .input_wait = 1 - step / run };
    return f;
}

/* What the stages of the tests do: "read", "image: decode_jpeg", "image: decode_jpeg to cast", "image: resize". */
static inline leat_stage_does does_of(const char *name)
{
    if (!strcmp(name, "read"))
        return LEAT_DOES_READ;
    if (!strstr(name, "decode_"))
        return LEAT_DOES_OPS;
    return strstr(name, " to ") ? LEAT_DOES_DECODE_AND_OPS : LEAT_DOES_DECODE;
}

static inline void set_stage(leat_facts *f, int i, const char *name, double wall_us, double cpu_us)
{
    f->stages[i] = (leat_stage_fact){ .does = does_of(name),
                                      .wall_ns = wall_us * 1e3,
                                      .cpu_ns = cpu_us * 1e3 };
    snprintf(f->stages[i].name, sizeof f->stages[i].name, "%s", name);
    f->n_stages = i + 1;
}

#endif
