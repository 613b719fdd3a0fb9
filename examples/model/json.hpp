// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "audit.hpp"
#include "difference.hpp"
#include "verdict.hpp"

/// All that an audit found, for programs.
std::string json_of(audit const& a, verdict const& v, bool is_scaled);

/// All that differs between two models.
std::string json_of(difference const& d);
