# SPDX-License-Identifier: Apache-2.0
# Loss scaling and clipping beside the real torch.amp.GradScaler and torch.nn.utils.clip_grad_norm_.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/torch.cmake)
run_beside_torch(${CMAKE_CURRENT_LIST_DIR}/gradients.cpp
                 ${CMAKE_CURRENT_LIST_DIR}/gradients_test.py)
