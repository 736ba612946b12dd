/* SPDX-License-Identifier: MIT
 *
 * yaml_words.h: what libyaml found wrong in a text, in words for those who wrote the text, and at the line that
 * has to be changed: libyaml often notices a line late. */
#ifndef LEAT_YAML_WORDS_H
#define LEAT_YAML_WORDS_H

#include <stddef.h>
#include <yaml.h>

typedef struct leat_yaml_fault {
    size_t line, column; /* from 1 */
    char text[400];
} leat_yaml_fault;

/* parser: after it failed, with a scanner's or a parser's error. text: what it read, n bytes. */
leat_yaml_fault leat_yaml_words(const yaml_parser_t *parser, const char *text, size_t n);

#endif
