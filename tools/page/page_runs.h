/* SPDX-License-Identifier: MIT
 *
 * page_runs.h: sections of a page that show several inputs together: timelines of traces, curves of logs. */
#ifndef LEAT_PAGE_RUNS_H
#define LEAT_PAGE_RUNS_H

#include "page.h"

/* Nothing if there are none. Return LEAT_OK or LEAT_E_NOMEM. */
int leat_page_traces(leat_page *page, const leat_input *inputs, int n);
int leat_page_logs(leat_page *page, const leat_input *inputs, int n);

#endif
