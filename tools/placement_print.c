/* SPDX-License-Identifier: MIT */
#include "placement_print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "files.h"

leat_placement *leat_placement_print_find(const leat_plan *plan, const leat_loader_options *options,
                                          leat_error *err)
{
    leat_placement *const placement = malloc(sizeof *placement);
    if (!placement) {
        leat_fail(err, LEAT_E_NOMEM, "out of memory");
    } else if (leat_plan_placement(plan, options, placement, err) < 0) {
        free(placement);
        return NULL;
    }
    return placement;
}

/* --- as text --------------------------------------------------------------------------------------*/

static const char *us_text(double ns, char text[32])
{
    if (ns < 0)
        return "?";
    snprintf(text, 32, "%.2f", ns / 1e3);
    return text;
}

static const char *rate_text(double per_s, char text[32])
{
    if (isinf(per_s))
        return "any";
    return leat_files_count_text((uint64_t)per_s, text);
}

/* ", 62 % of the rows"; "" for all or none. */
static const char *share_text(double share, char text[32])
{
    text[0] = 0;
    if (share > 0 && share < 1)
        snprintf(text, 32, ", %.0f %% of the rows", 100 * share);
    return text;
}

void leat_placement_print_ops(const leat_plan *plan, const leat_placement *p)
{
    char host[32], device[32], bytes[32], share[32];
    for (int32_t i = 0; i < p->n_ops; i++) {
        const leat_op_placement *const one = &p->ops[i];
        printf("placement: %s %s: %s on %s%s: host %s us, device %s us, %s bytes a sample: %s\n",
               one->link < 0 ? "map after batch" : "map", leat_plan_tensor(plan, one->tensor)->name,
               one->op, one->on_device ? p->device : "cpu", share_text(one->share, share),
               us_text(one->host_ns, host), us_text(one->device_ns, device),
               one->bytes < 0 ? "?" : leat_files_count_text((uint64_t)one->bytes, bytes),
               one->reason);
    }
}

void leat_placement_print_again(const leat_plan *plan, leat_loader *loader, leat_placement *p,
                                bool talk)
{
    if (!p)
        return;
    const int64_t before = p->n_again;
    leat_loader_placement(loader, p);
    if (talk && p->n_again != before)
        leat_placement_print_ops(plan, p);
}

/* What the device would begin with. */
static const char *first_op(const leat_placement *p, const leat_placement_choice *c)
{
    for (int32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].tensor == c->tensor && p->ops[i].link == c->link)
            return p->ops[i].op;
    return "(nothing)";
}

void leat_placement_print_choices(const leat_plan *plan, const leat_placement *p)
{
    char host[32], device[32], rates[5][32], bytes[32], share[32], from[120];
    if (!p->measured || !p->n_choices)
        return;
    printf("\nops on %s, measured in %.1f ms: %.0f thread%s, copies of %s/s, the step ", p->device,
           (double)p->took_ns / 1e6, p->threads, p->threads > 1 ? "s" : "",
           leat_files_bytes_text(p->wire_bytes_per_s, bytes));
    if (p->step_ns > 0)
        printf("takes %.2f us a sample\n", p->step_ns / 1e3);
    else
        printf("is not known\n");
    printf("  %-10s %-24s %9s %9s %9s %10s %10s %10s %10s %10s\n", "tensor", "device from op",
           "cpu us", "bytes", "device us", "cpu/s", "copies/s", "device/s", "decoder/s",
           "samples/s");
    for (int32_t i = 0; i < p->n_choices; i++) {
        const leat_placement_choice *const c = &p->choices[i];
        snprintf(from, sizeof from, "%s%s", first_op(p, c), share_text(c->share, share));
        printf("%c %-10s %-24s %9s %9.0f %9s %10s %10s %10s %10s %10s\n", c->chosen ? '*' : ' ',
               leat_plan_tensor(plan, c->tensor)->name, from, us_text(c->host_ns, host), c->bytes,
               us_text(c->device_ns, device), rate_text(c->host_per_s, rates[0]),
               rate_text(c->wire_per_s, rates[1]), rate_text(c->device_per_s, rates[2]),
               rate_text(c->decoder_per_s, rates[3]), rate_text(c->samples_per_s, rates[4]));
    }
}

/* --- as JSON --------------------------------------------------------------------------------------*/

/* Microseconds; null: not measured. */
static void add_us(json_t *object, const char *key, double ns)
{
    leat_json_real(object, key, ns < 0 ? NAN : ns / 1e3);
}

static json_t *op_json(const leat_plan *plan, const leat_placement *p, const leat_op_placement *one)
{
    json_t *const json = json_object();
    leat_json_text(json, "stage", one->link < 0 ? "map after batch" : "map");
    leat_json_text(json, "tensor", leat_plan_tensor(plan, one->tensor)->name);
    leat_json_text(json, "op", one->op);
    leat_json_text(json, "device", one->on_device ? p->device : "cpu");
    leat_json_real(json, "share", one->share);
    add_us(json, "host_us", one->host_ns);
    add_us(json, "device_us", one->device_ns);
    leat_json_int(json, "bytes", one->bytes);
    leat_json_text(json, "reason", one->reason);
    return json;
}

static json_t *choice_json(const leat_plan *plan, const leat_placement *p,
                           const leat_placement_choice *c)
{
    json_t *const json = json_object();
    leat_json_text(json, "tensor", leat_plan_tensor(plan, c->tensor)->name);
    leat_json_int(json, "link", c->link);
    leat_json_text(json, "op", first_op(p, c));
    leat_json_bool(json, "chosen", c->chosen);
    leat_json_real(json, "share", c->share);
    add_us(json, "host_us", c->host_ns);
    add_us(json, "device_us", c->device_ns);
    add_us(json, "decoder_us", c->decoder_ns);
    leat_json_real(json, "bytes", c->bytes);
    leat_json_real(json, "host_per_s", c->host_per_s);
    leat_json_real(json, "wire_per_s", c->wire_per_s);
    leat_json_real(json, "device_per_s", c->device_per_s);
    leat_json_real(json, "decoder_per_s", c->decoder_per_s);
    leat_json_real(json, "samples_per_s", c->samples_per_s);
    return json;
}

json_t *leat_placement_print_json(const leat_plan *plan, const leat_placement *p)
{
    json_t *const json = json_object(), *const ops = json_array(), *const choices = json_array();
    for (int32_t i = 0; i < p->n_ops; i++)
        json_array_append_new(ops, op_json(plan, p, &p->ops[i]));
    for (int32_t i = 0; i < p->n_choices; i++)
        json_array_append_new(choices, choice_json(plan, p, &p->choices[i]));
    leat_json_text(json, "device", p->device);
    leat_json_text(json, "reason", p->reason);
    leat_json_bool(json, "measured", p->measured);
    leat_json_real(json, "took_s", (double)p->took_ns / 1e9);
    leat_json_real(json, "threads", p->threads);
    leat_json_real(json, "wire_bytes_per_s", p->wire_bytes_per_s);
    add_us(json, "step_us", p->step_ns);
    leat_json_int(json, "chosen_again", p->n_again);
    leat_json_int(json, "epoch", p->epoch);
    leat_json_add(json, "ops", ops);
    leat_json_add(json, "choices", choices);
    return json;
}
