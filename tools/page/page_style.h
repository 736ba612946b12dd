/* SPDX-License-Identifier: MIT
 *
 * page_style.h: the style of the page around the charts. It has no '<' and no '&', so that a page is XML, too. */
#ifndef LEAT_PAGE_STYLE_H
#define LEAT_PAGE_STYLE_H

extern const char leat_page_style[];

#endif
