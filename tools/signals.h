/* SPDX-License-Identifier: MIT
 *
 * signals.h: stops a command at SIGINT, SIGTERM or SIGHUP. */
#ifndef LEAT_SIGNALS_H
#define LEAT_SIGNALS_H

/* The signal that asked to stop (SIGINT, SIGTERM, SIGHUP) since leat_signals_catch(), or 0. It may come
 * twice (timeout(1) sends it to the process and to its group), so a second one may be the same. */
void leat_signals_catch(void);
int leat_signals_caught(void);
/* After cleaning up: ends the process by that signal, so that shells see it. Returns if there was none. */
void leat_signals_raise(void);

/* For commands with nothing to clean up: such a signal prints "leat COMMAND: stopped" and ends the
 * process by that signal at once. */
void leat_signals_stop_at_once(const char *command);

/* For commands that have something to save: the first such signal is stored for leat_signals_caught() and
 * reported on a terminal; one that comes half a second later or more ends the process like
 * leat_signals_stop_at_once(). */
void leat_signals_stop_soon(const char *command);
/* The same for SIGUSR1, which batch systems send before they end a job; from now on, also while files are opened. */
void leat_signals_note_usr1(void);

/* A reader of the output that goes away, as `head` does, does not end the process: writing fails. */
void leat_signals_outlive_readers(void);

#endif
