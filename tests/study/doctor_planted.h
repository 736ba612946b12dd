/* SPDX-License-Identifier: MIT
 *
 * doctor_planted.h: leat_doctor() with a verdict that a test plants, so that the changes it tries do not depend on what else
 * the machine does. It is only a header, because it includes doctor.c. Include it first, in one file of a test. */
#ifndef DOCTOR_PLANTED_H
#define DOCTOR_PLANTED_H

#define leat_verdict_decide double_decide
#define leat_doctor         double_doctor
#define check               check_doctor /* fixtures have these, too */
#define examine             examine_all
#include "study/doctor/doctor.c"
#undef leat_verdict_decide
#undef check
#undef examine

#include "fixtures/unit.h"

void leat_verdict_decide(const leat_facts *facts, leat_verdict_found *out);

/* LEAT_VERDICT_NONE, and with LEAT_TEST_TIMES: as measured. */
static leat_verdict planted_verdict;

void double_decide(const leat_facts *facts, leat_verdict_found *out)
{
    leat_verdict_decide(facts, out);
    if (planted_verdict.kind != LEAT_VERDICT_NONE && !unit_judges_times())
        *out = (leat_verdict_found){ .verdict = planted_verdict, .why = "planted" };
}

#endif
