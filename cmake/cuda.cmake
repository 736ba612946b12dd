# SPDX-License-Identifier: MIT
# The CUDA plugin: built when a CUDA compiler is there (LEAT_CUDA=AUTO), always (ON) or never (OFF).
# It is a module that libleat opens at run time, so one build runs with and without a GPU.
set(LEAT_HAVE_CUDA OFF)
