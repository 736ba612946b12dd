# SPDX-License-Identifier: MIT
install(TARGETS leat leat_static)
